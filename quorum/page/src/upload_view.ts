// What the events of an upload amount to, and how that is said.

export interface FileView {
  path: string;
  size: number;
  /** Bytes that are indexed. */
  done: number;
  passages: number;
  outcome?: "indexed" | "not_read" | "cancelled" | "interrupted";
  reason?: string;
  notes?: string[];
}
export interface UploadView {
  key: number;
  /** Empty as long as the files are being sent. */
  id: string;
  collection: string;
  state: "sending" | "receiving" | "waiting" | "indexing" | "finished" | "cancelled" | "interrupted" | "failed";
  /** Bytes that are sent. */
  sent: number;
  files: FileView[];
  sentence: string;
}
export type UploadEvent = { n: number } & (
  | { type: "upload_started" | "upload_received" | "indexing_started" }
  | { type: "file_receiving" | "file_received"; file: number; path: string; bytes: number }
  | { type: "file_progress"; file: number; path: string; bytes: number; size: number; passages: number }
  | { type: "file_finished"; file: number; path: string; outcome: FileView["outcome"]; reason?: string; notes?: string[]; passages?: number }
  | { type: "upload_finished"; state: UploadView["state"]; sentence?: string }
);
export const isOver = (upload: UploadView) => !["sending", "receiving", "waiting", "indexing"].includes(upload.state);
export const countFiles = (upload: UploadView, outcome: FileView["outcome"]) => upload.files.filter((file) => file.outcome === outcome).length;

export function applyEvent(upload: UploadView, event: UploadEvent): void {
  if ("file" in event) {
    const file = (upload.files[event.file - 1] ??= { path: event.path, size: 0, done: 0, passages: 0 });
    file.path = event.path;
    if (event.type === "file_progress") Object.assign(file, { done: event.bytes, size: event.size, passages: event.passages });
    else if (event.type === "file_finished") Object.assign(file, { done: file.size, outcome: event.outcome, reason: event.reason, notes: event.notes ?? [], passages: event.passages ?? 0 });
    else file.size = Math.max(file.size, event.bytes);
  } else if (event.type === "upload_received") upload.state = "waiting";
  else if (event.type === "indexing_started") upload.state = "indexing";
  else if (event.type === "upload_finished") Object.assign(upload, { state: event.state, sentence: event.sentence ?? "" });
}

/** How much of what goes on is done, from 0 to 1: of the sending, then of the indexing. */
export function shareOf(upload: UploadView): number {
  const total = upload.files.reduce((sum, file) => sum + file.size, 0) || 1;
  return Math.min(1, (upload.state === "sending" ? upload.sent : upload.files.reduce((sum, file) => sum + (file.outcome ? file.size : file.done), 0)) / total);
}

/** Where an upload stands, in a sentence. */
export function summarize(upload: UploadView): string {
  const all = upload.files.length;
  const total = upload.files.reduce((sum, file) => sum + file.size, 0);
  const passages = upload.files.reduce((sum, file) => sum + file.passages, 0);
  const indexed = countFiles(upload, "indexed");
  const ended = upload.files.filter((file) => file.outcome).length;
  if (upload.state === "sending" || upload.state === "receiving") return `Sending ${nameCount(all, "file")}: ${formatBytes(Math.min(upload.sent, total))} of ${formatBytes(total)}`;
  if (upload.state === "waiting") return `${nameCount(all, "file")} received, waiting to be indexed`;
  if (upload.state === "indexing") return `Indexing: ${ended.toLocaleString()} of ${nameCount(all, "file")}, ${formatBytes(shareOf(upload) * total)} of ${formatBytes(total)}, ${nameCount(passages, "passage")}`;
  const head = `${indexed === all ? nameCount(all, "file") : `${indexed.toLocaleString()} of ${nameCount(all, "file")}`} indexed, ${nameCount(passages, "passage")}.`;
  const tail = { finished: "", cancelled: " The upload was cancelled.", interrupted: " The server ended before all were indexed.", failed: ` ${upload.sentence}` }[upload.state];
  return head + tail;
}

export const nameCount = (number: number, word: string) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`;
}
