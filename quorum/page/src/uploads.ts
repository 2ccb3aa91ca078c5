// Uploads: files on their way to the server, and what it makes of each. The server keeps their events, so that a page which
// is loaded anew shows them as they are.
import { computed, signal, type Signal } from "@preact/signals";
import { ApiError, followEvents, send } from "./api";
import { announcement, attempt, choose, isConnectionLost, notice, refreshCollections } from "./state";

export interface Dropped {
  file: File;
  /** With the folders that were dropped. */
  path: string;
}
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
interface KeptFile {
  file: number;
  path: string;
  size?: number;
  outcome?: FileView["outcome"];
  reason?: string;
}
interface KeptUpload {
  id: string;
  collection: string;
  state: UploadView["state"];
  files: KeptFile[];
}
type UploadEvent = { n: number } & (
  | { type: "upload_started" | "upload_received" | "indexing_started" }
  | { type: "file_receiving" | "file_received"; file: number; path: string; bytes: number }
  | { type: "file_progress"; file: number; path: string; bytes: number; size: number; passages: number }
  | { type: "file_finished"; file: number; path: string; outcome: FileView["outcome"]; reason?: string; notes?: string[]; passages?: number }
  | { type: "upload_finished"; state: UploadView["state"]; sentence?: string }
);
export interface Document {
  id: string;
  state: "ready" | "failed";
  name: string;
  path: string | null;
  passages?: number;
  pages?: number | null;
  modified?: string | null;
  is_upload?: boolean;
  has_original?: boolean;
  reason?: string;
  upload?: string;
}

const one = encodeURIComponent;
const documentsOf = (collection: string) => `/v1/collections/${one(collection)}/documents`;
export const addressOf = (collection: string, document: string) => `${documentsOf(collection)}/${one(document)}`;
export const isOver = (upload: UploadView) => !["sending", "receiving", "waiting", "indexing"].includes(upload.state);
export const countFiles = (upload: UploadView, outcome: FileView["outcome"]) => upload.files.filter((file) => file.outcome === outcome).length;

/** Uploads that go on, and those that ended while the page was open. */
export const uploads = signal<Signal<UploadView>[]>([]);
/** Files that were being sent when the page was left. */
export const unsent = signal<{ collection: string; paths: string[] } | null>(null);
/** The documents of the collection that is shown are to be read again when this changes. */
export const documentChanges = signal(0);
export const liveUploads = computed(() => uploads.value.filter((upload) => !isOver(upload.value)));

const UNSENT = "quorum.sending";
const SECONDS_BETWEEN_VIEWS = 0.15; // a file of an upload ends up to some hundred times a second
const requests = new Map<number, XMLHttpRequest>();
const cancelled = new Set<number>();
let limits = { file_bytes: Infinity, upload_bytes: Infinity, upload_files: Infinity };
let lastKey = 0;
let sending: Promise<void> = Promise.resolve();

/** The documents of a collection, first the files that could not be read. Of a collection of which no file could be read,
 * these files alone. */
export async function listDocuments(collection: string): Promise<Document[]> {
  try {
    return ((await (await send("GET", documentsOf(collection))).json()) as { data: Document[] }).data;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    const failed = (await listUploads(collection)).flatMap((upload) => upload.files.filter((file) => file.outcome && file.outcome !== "indexed").map((file) => describeFailure(upload.id, file)));
    if (failed.length || liveUploads.value.some((upload) => upload.value.collection === collection)) return failed;
    throw error;
  }
}

function describeFailure(upload: string, file: KeptFile): Document {
  const name = file.path.split("/").at(-1) ?? file.path;
  return { id: `${upload}:${file.file}`, state: "failed", name, path: file.path, upload, ...(file.reason ? { reason: file.reason } : {}) };
}

async function listUploads(collection = ""): Promise<KeptUpload[]> {
  const listed = (await (await send("GET", `/v1/uploads${collection && `?collection=${one(collection)}`}`)).json()) as { data: KeptUpload[]; limits: typeof limits };
  limits = listed.limits;
  return listed.data;
}

export async function removeDocument(collection: string, document: string): Promise<void> {
  await attempt(() => send("DELETE", addressOf(collection, document)));
  changed();
}

/** Forget that files of these uploads could not be read. */
export async function forgetUploads(ids: string[]): Promise<void> {
  for (const id of new Set(ids)) await attempt(() => send("DELETE", `/v1/uploads/${one(id)}`));
  changed();
}

export async function reindex(collection: string, document: string): Promise<void> {
  const kept = await attempt(async () => (await send("POST", `${addressOf(collection, document)}/reindex`)).json() as Promise<KeptUpload>);
  if (kept) show(kept);
}

/** Rename a collection. Gives whether the server did. */
export async function renameCollection(name: string, newName: string): Promise<boolean> {
  const response = await attempt(() => send("PATCH", `/v1/collections/${one(name)}`, { name: newName }));
  if (response) await refreshCollections();
  return response !== undefined;
}

export async function deleteCollection(name: string): Promise<boolean> {
  const response = await attempt(() => send("DELETE", `/v1/collections/${one(name)}`));
  if (response) await refreshCollections();
  return response !== undefined;
}

function changed(): void {
  documentChanges.value++;
  void refreshCollections();
}

/** Show what is being indexed, and the files that the page was sending when it was left. */
export async function startUploads(): Promise<void> {
  try {
    unsent.value = JSON.parse(sessionStorage.getItem(UNSENT) ?? "null");
    sessionStorage.removeItem(UNSENT);
  } catch {
    // a browser may forbid it
  }
  addEventListener("beforeunload", (event) => {
    if (requests.size) event.preventDefault();
  });
  const kept = await attempt(() => listUploads());
  for (const upload of kept ?? []) if (["waiting", "indexing"].includes(upload.state)) show(upload);
}

function show(kept: KeptUpload): void {
  const files = kept.files.map((file) => ({ path: file.path, size: file.size ?? 0, done: 0, passages: 0 }));
  const upload = signal<UploadView>({ key: ++lastKey, id: kept.id, collection: kept.collection, state: kept.state, sent: 0, files, sentence: "" });
  uploads.value = [...uploads.value, upload];
  void follow(upload);
}

/** Send files to a collection, which is made if there is none. More than one upload takes goes into several, one after the other. */
export function add(collection: string, dropped: Dropped[]): void {
  const fitting = dropped.filter(({ file }) => file.size <= limits.file_bytes);
  const tooLarge = dropped.filter(({ file }) => file.size > limits.file_bytes).map(({ file, path }): FileView => ({ path, size: file.size, done: 0, passages: 0, outcome: "not_read", reason: `it is larger than ${formatBytes(limits.file_bytes)}` }));
  const batches = split(fitting);
  const rest = batches.length ? batches : [[]];
  rest.forEach((batch, index) => {
    const files = batch.map(({ file, path }): FileView => ({ path, size: file.size, done: 0, passages: 0 }));
    const refused = index === rest.length - 1 ? tooLarge : [];
    const upload = signal<UploadView>({ key: ++lastKey, id: "", collection, state: batch.length ? "sending" : "failed", sent: 0, files: [...files, ...refused], sentence: batch.length ? "" : "No file was sent." });
    uploads.value = [...uploads.value, upload];
    if (batch.length) sending = sending.then(() => sendBatch(upload, batch));
  });
  announcement.value = `Sending ${dropped.length === 1 ? "one file" : `${dropped.length} files`} to ${collection}`;
}

function split(dropped: Dropped[]): Dropped[][] {
  const batches: Dropped[][] = [];
  let bytes = Infinity;
  for (const item of dropped) {
    const size = item.file.size + 1000; // with the head of its part
    const batch = batches.at(-1);
    if (!batch || bytes + size > limits.upload_bytes * 0.95 || batch.length >= limits.upload_files) {
      batches.push([item]);
      bytes = size;
    } else {
      batch.push(item);
      bytes += size;
    }
  }
  return batches;
}

async function sendBatch(upload: Signal<UploadView>, batch: Dropped[]): Promise<void> {
  const { key, collection } = upload.value;
  if (cancelled.has(key)) return;
  keep({ collection, paths: batch.map((item) => item.path) });
  try {
    const kept = await post(upload, batch);
    upload.value = { ...upload.value, id: kept.id, state: kept.state };
    void follow(upload);
  } catch (error) {
    const sentence = error instanceof ApiError ? error.message : String(error);
    const isCancelled = cancelled.has(key);
    const reason = isCancelled ? "The upload was cancelled before this file was sent." : sentence;
    const files = upload.value.files.map((file): FileView => (file.outcome ? file : { ...file, outcome: isCancelled ? "cancelled" : "not_read", reason }));
    upload.value = { ...upload.value, state: isCancelled ? "cancelled" : "failed", sentence: isCancelled ? "" : sentence, files };
    announcement.value = summarize(upload.value);
    changed();
  } finally {
    keep(null);
  }
}

function keep(value: unknown): void {
  try {
    if (value) sessionStorage.setItem(UNSENT, JSON.stringify(value));
    else sessionStorage.removeItem(UNSENT);
  } catch {
    // a browser may forbid it, or the names may be too many
  }
}

/** Send files; fetch would not say how many bytes are sent. */
function post(upload: Signal<UploadView>, batch: Dropped[]): Promise<KeptUpload> {
  const body = new FormData();
  for (const { file, path } of batch) body.append("files", file, path);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    requests.set(upload.value.key, request);
    request.upload.onprogress = (event) => (upload.value = { ...upload.value, sent: event.loaded });
    request.onloadend = () => {
      requests.delete(upload.value.key);
      if (request.status === 0) return reject(new ApiError("The files did not reach the server: it does not answer, or a file was changed or removed meanwhile; drop them again.", 0));
      try {
        const answer = JSON.parse(request.responseText);
        if (request.status === 202) return resolve(answer as KeptUpload);
        reject(new ApiError(answer.error.message, request.status, answer.error.code ?? ""));
      } catch {
        reject(new ApiError(`The server answered with the status ${request.status}.`, request.status));
      }
    };
    request.open("POST", documentsOf(upload.value.collection));
    request.send(body);
  });
}

/** End an upload. Files that are indexed already stay. */
export async function cancel(upload: Signal<UploadView>): Promise<void> {
  const { id, key, collection } = upload.value;
  if (id) {
    await attempt(() => send("POST", `/v1/uploads/${one(id)}/cancel`));
    return;
  }
  cancelled.add(key);
  const files = upload.value.files.map((file): FileView => (file.outcome ? file : { ...file, outcome: "cancelled", reason: "The upload was cancelled before this file was sent." }));
  const request = requests.get(key);
  if (!request) {
    upload.value = { ...upload.value, state: "cancelled", files };
    return;
  }
  // The server is told, so that it does not take this for a lost connection.
  const receiving = (await listUploads(collection).catch(() => [])).find((kept) => kept.state === "receiving");
  if (receiving) void send("POST", `/v1/uploads/${one(receiving.id)}/cancel`).catch(() => {});
  request.abort();
}

export function dismiss(upload: Signal<UploadView>): void {
  uploads.value = uploads.value.filter((other) => other !== upload);
}

/** Read the events of an upload until it ends. */
async function follow(upload: Signal<UploadView>): Promise<void> {
  const never = new AbortController().signal;
  const local = upload.value.files.filter((file) => file.outcome);
  const view: UploadView = { ...upload.value, files: upload.value.files.filter((file) => !file.outcome) };
  let shownAt = 0;
  try {
    for await (const event of followEvents<UploadEvent>(`/v1/uploads/${one(view.id)}/events`, "upload_finished", 0, never, (isLost) => (isConnectionLost.value = isLost))) {
      apply(view, event);
      const now = performance.now();
      if (now - shownAt < SECONDS_BETWEEN_VIEWS * 1000 && !isOver(view)) continue;
      shownAt = now;
      upload.value = { ...view, files: [...view.files, ...local] };
      announceProgress(upload.value);
      await new Promise(requestAnimationFrame); // lets the page draw, and answer keys
    }
  } catch (error) {
    notice.value = error instanceof ApiError ? error.message : String(error);
    dismiss(upload);
  }
  changed();
  if (view.files.some((file) => file.outcome === "indexed")) choose({ collection: view.collection });
}

function apply(upload: UploadView, event: UploadEvent): void {
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

let announcedQuarter = -1;
/** Tells a screen reader the beginning, each quarter and the end. */
function announceProgress(upload: UploadView): void {
  const quarter = Math.floor(shareOf(upload) * 4);
  if (isOver(upload)) announcement.value = summarize(upload);
  else if (quarter !== announcedQuarter) announcement.value = `${upload.collection}: ${summarize(upload)}`;
  announcedQuarter = quarter;
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
