// Uploads: files on their way to the server, and what it makes of each. The server keeps their events, so that a page which
// is loaded anew shows them as they are.
import { computed, effect, signal, type Signal } from "@preact/signals";
import { ApiError, followEvents, send, sentenceOf } from "./api";
import { applyEvent, formatBytes, isOver, shareOf, summarize, type FileView, type UploadEvent, type UploadView } from "./upload_view";
import { announcement, attempt, attemptEach, attemptRead, choose, collections, isConnectionLost, mayMakeCollections, refreshCollections, tell } from "./state";

export interface Dropped {
  file: File;
  /** With the folders that were dropped. */
  path: string;
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
  /** Of the request that brought the files. */
  request_id?: string;
  collection: string;
  state: UploadView["state"];
  files: KeptFile[];
}
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

/** Uploads that go on, and those that ended while the page was open. */
export const uploads = signal<Signal<UploadView>[]>([]);
/** Files that were being sent when the page was left. */
export const unsent = signal<{ collection: string; paths: string[] } | null>(null);
/** The documents of the collection that is shown are to be read again when this changes. */
export const documentChanges = signal(0);
export const liveUploads = computed(() => uploads.value.filter((upload) => !isOver(upload.value)));

const UNSENT = "quorum.sending";
const SECONDS_BETWEEN_VIEWS = 0.15; // a file of an upload ends up to some hundred times a second
const requests = new Map<number, { request: XMLHttpRequest; id: string }>();
const cancelled = new Set<number>();
let limits = { file_bytes: Infinity, upload_bytes: Infinity, upload_files: Infinity };
let lastKey = 0;
let sending: Promise<void> = Promise.resolve();

/** The documents of a collection, first the files that could not be read. isThere: whether the server has the collection; if
 * no file for it could be read, there are these files alone. */
export async function listDocuments(collection: string, isThere: boolean): Promise<Document[]> {
  if (isThere || !mayMakeCollections.value) return ((await (await send("GET", documentsOf(collection))).json()) as { data: Document[] }).data;
  const kept = await listUploads(collection);
  return kept.flatMap((upload) => upload.files.filter((file) => file.outcome && file.outcome !== "indexed").map((file) => describeFailure(upload.id, file)));
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
  await attemptEach(new Set(ids), (id) => send("DELETE", `/v1/uploads/${one(id)}`));
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
  await new Promise<void>((isKnown) => effect(() => void (collections.value && isKnown())));
  // Only who may add files may see uploads.
  if (!mayMakeCollections.value && !collections.value?.some((one) => one.may_change)) return;
  const kept = await attemptRead("uploads", () => listUploads());
  const own = uploads.value.map((upload) => upload.value); // files may have been dropped meanwhile
  const isOwn = (upload: KeptUpload) => own.some(({ id, collection }) => id === upload.id || (!id && collection === upload.collection));
  for (const upload of kept ?? []) if (["waiting", "indexing"].includes(upload.state) && !isOwn(upload)) show(upload);
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
    const sentence = sentenceOf(error);
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
    // by which cancel finds this upload among those of other tabs
    const id = `page-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
    requests.set(upload.value.key, { request, id });
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
    request.setRequestHeader("x-request-id", id);
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
  const sent = requests.get(key);
  if (!sent) {
    upload.value = { ...upload.value, state: "cancelled", files };
    return;
  }
  // The server is told, so that it does not take this for a lost connection.
  const receiving = (await listUploads(collection).catch(() => [])).find((kept) => kept.state === "receiving" && kept.request_id === sent.id);
  if (upload.value.id) {
    await attempt(() => send("POST", `/v1/uploads/${one(upload.value.id ?? "")}/cancel`)); // it has arrived meanwhile
    return;
  }
  if (receiving) void send("POST", `/v1/uploads/${one(receiving.id)}/cancel`).catch(() => {});
  sent.request.abort();
}

export function dismiss(upload: Signal<UploadView>): void {
  uploads.value = uploads.value.filter((other) => other !== upload);
}

/** Read the events of an upload until it ends. */
async function follow(upload: Signal<UploadView>): Promise<void> {
  const never = new AbortController().signal;
  const local = upload.value.files.filter((file) => file.outcome);
  const view: UploadView = { ...upload.value, files: upload.value.files.filter((file) => !file.outcome) };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    clearTimeout(timer);
    timer = undefined;
    upload.value = { ...view, files: [...view.files, ...local] };
    announceProgress(upload.value);
  };
  try {
    for await (const event of followEvents<UploadEvent>(`/v1/uploads/${one(view.id)}/events`, "upload_finished", 0, never, (isLost) => (isConnectionLost.value = isLost))) {
      applyEvent(view, event);
      if (isOver(view)) draw();
      else timer ??= setTimeout(draw, SECONDS_BETWEEN_VIEWS * 1000); // also the last event of a burst is shown
    }
  } catch (error) {
    tell(sentenceOf(error));
    dismiss(upload);
  }
  changed();
  if (view.files.some((file) => file.outcome === "indexed")) choose({ collection: view.collection });
}

let announcedQuarter = -1;
/** Tells a screen reader the beginning, each quarter and the end. */
function announceProgress(upload: UploadView): void {
  const quarter = Math.floor(shareOf(upload) * 4);
  if (isOver(upload)) announcement.value = summarize(upload);
  else if (quarter !== announcedQuarter) announcement.value = `${upload.collection}: ${summarize(upload)}`;
  announcedQuarter = quarter;
}
