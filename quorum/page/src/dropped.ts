// Files and folders that a visitor drops on the page, or chooses.
import type { Dropped } from "./uploads";

export interface Chosen {
  items: Dropped[];
  /** How many hidden files of folders are left out, as `quorum index` does. */
  hidden: number;
  /** The name of the only folder, else empty. */
  folder: string;
}

/** What was dropped, folders with all that is in them. The transfer is empty after the event, so its entries are taken at once. */
export async function readDrop(transfer: DataTransfer): Promise<Chosen> {
  const files = [...transfer.files];
  const entries = [...transfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() ?? null);
  const found: Dropped[] = [];
  for (const entry of entries) if (entry) await readEntry(entry, "", found);
  return sort(found.length || entries.some(Boolean) ? found : files.map((file) => ({ file, path: file.name })));
}

async function readEntry(entry: FileSystemEntry, above: string, found: Dropped[]): Promise<void> {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File | null>((resolve) => (entry as FileSystemFileEntry).file(resolve, () => resolve(null)));
    found.push({ file: file ?? new File([], entry.name), path }); // one that cannot be opened is sent empty, and told as not read
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!some.length) return;
    for (const inner of some) await readEntry(inner, `${path}/`, found);
  }
}

/** What was chosen with a button. */
export function readChosen(list: FileList): Chosen {
  return sort([...list].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
}

function sort(all: Dropped[]): Chosen {
  const items = all.filter(({ path }) => !path.split("/").slice(1).some((part) => part.startsWith(".") || part.startsWith("~$")));
  const tops = new Set(items.map(({ path }) => (path.includes("/") ? (path.split("/")[0] ?? "") : "")));
  return { items, hidden: all.length - items.length, folder: tops.size === 1 ? ([...tops][0] ?? "") : "" };
}
