// Adding documents: dropped anywhere on the page or chosen with a button, into a collection that has them or a new one.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { readChosen, readDrop, type Chosen } from "../dropped";
import { navigate, route } from "../router";
import { collection, collections, mayMakeCollections, openDialog, tell } from "../state";
import { formatBytes, nameCount } from "../upload_view";
import { add, liveUploads } from "../uploads";
import { Dialog } from "./dialog";

const chosen = signal<Chosen | null>(null);
const isDragging = signal(false);
const NAME = "[a-zA-Z0-9][a-zA-Z0-9._\\-]{1,510}[a-zA-Z0-9]";
const openTargets = () => (collections.value ?? []).filter((one) => one.may_change);

/** Ask where files go; without files, ask for them, too. */
export function openAdding(files: Chosen | null = null): void {
  if (!mayMakeCollections.value && !openTargets().length) {
    tell("This server takes no documents: its collection is not to be changed, or you are not its owner.");
    return;
  }
  chosen.value = files;
  openDialog.value = "add";
}

/** The collection that the page shows and that takes files; files go there without a question. */
function findShown(): string {
  const name = route.value.view === "documents" ? route.value.collection : "";
  return openTargets().some((one) => one.id === name) || liveUploads.value.some((upload) => upload.value.collection === name) ? name : "";
}

function take(files: Chosen): void {
  const shown = findShown();
  if (!files.items.length) tell(files.hidden ? "Only hidden files were dropped; they are left out." : "No file was dropped; a folder may be empty.");
  else if (shown) begin(shown, files);
  else openAdding(files);
}

function begin(name: string, files: Chosen): void {
  tell(files.hidden ? `${nameCount(files.hidden, "hidden file")} left out.` : "");
  add(name, files.items);
  navigate(`/documents/${encodeURIComponent(name)}`);
}

/** Takes files that are dropped anywhere, and says so while they are over the page. */
export function DropZone() {
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
      isDragging.value = true;
    };
    const leave = (event: DragEvent) => {
      if (!event.relatedTarget) isDragging.value = false;
    };
    const drop = (event: DragEvent) => {
      isDragging.value = false;
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      void readDrop(event.dataTransfer).then(take);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  if (!isDragging.value) return null;
  const shown = findShown();
  return <div class="drop-zone">{shown ? `Drop to add to ${shown}` : "Drop to add documents"}</div>;
}

/** Buttons that choose files and folders. */
export function FileButtons({ onChosen = take, label = "Choose files" }: { onChosen?: (files: Chosen) => void; label?: string }) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const onChange = (event: Event & { currentTarget: HTMLInputElement }) => {
    if (event.currentTarget.files?.length) onChosen(readChosen(event.currentTarget.files));
    event.currentTarget.value = ""; // the same files may be chosen again
  };
  return (
    <span class="file-buttons">
      <input ref={files} class="file-input" type="file" multiple hidden aria-label="Files" onChange={onChange} />
      <input ref={folder} class="folder-input" type="file" multiple hidden aria-label="Folder" {...{ webkitdirectory: true }} onChange={onChange} />
      <button type="button" class="pick" onClick={() => files.current?.click()}>
        {label} …
      </button>{" "}
      <button type="button" class="pick" onClick={() => folder.current?.click()}>
        Choose a folder …
      </button>
    </span>
  );
}

export function Adding() {
  return (
    <Dialog name="add" title="Add documents">
      <AddForm key={openDialog.value} />
    </Dialog>
  );
}

function AddForm() {
  const targets = openTargets().map((one) => one.id);
  const files = chosen.value;
  const first = targets.find((name) => name === collection.value?.id) ?? (mayMakeCollections.value ? "" : (targets[0] ?? ""));
  const [target, setTarget] = useState(first);
  const [name, setName] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const newName = name ?? suggestName(files?.folder ?? "", targets);
  const bytes = files?.items.reduce((sum, { file }) => sum + file.size, 0) ?? 0;
  useEffect(() => {
    if (files && target) button.current?.focus();
    else input.current?.focus();
  }, [files, target]);
  return (
    <form
      class="adding"
      onSubmit={(event) => {
        event.preventDefault();
        if (!files) return;
        openDialog.value = "";
        begin(target || newName, files);
      }}
    >
      {files ? (
        <p>
          {nameCount(files.items.length, "file")}, {formatBytes(bytes)}
          {files.hidden > 0 && `; ${nameCount(files.hidden, "hidden file")} left out`}
        </p>
      ) : (
        <p>
          <FileButtons onChosen={(more) => (chosen.value = more)} />
        </p>
      )}
      {targets.length > 0 && (
        <p>
          <label>
            Into{" "}
            <select value={target} onChange={(event) => setTarget(event.currentTarget.value)}>
              {targets.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
              {mayMakeCollections.value && <option value="">a new collection</option>}
            </select>
          </label>
        </p>
      )}
      {!target && (
        <p>
          <label>
            Name of the new collection <input ref={input} type="text" autofocus required onFocus={(event) => event.currentTarget.select()} pattern={NAME} title="3 or more of the characters a-z, A-Z, 0-9, . _ and -, with a letter or digit at both ends" value={newName} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        </p>
      )}
      <button ref={button} class="primary" autofocus={!!target} disabled={!files?.items.length}>
        Add {files ? nameCount(files.items.length, "file") : ""}
      </button>
    </form>
  );
}

/** A name that no collection has: that of the folder, as far as a collection can have it. */
function suggestName(folder: string, taken: string[]): string {
  const clean = folder.replace(/[^a-zA-Z0-9._]+|\.\.+/g, "-").replace(/^[._-]+|[._-]+$/g, "");
  const name = clean.length >= 3 && clean !== "sample" ? clean : "my-documents";
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name}-${number}`;
  return free;
}
