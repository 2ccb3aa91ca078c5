// The server's API, typed. Every text that says whether, how sure or by whom comes from the server.

export interface Collection {
  id: string;
  state: "ready" | "changing" | "unreadable";
  is_default: boolean;
  is_sample?: boolean;
  passages?: number;
  documents?: number;
  bytes?: number | null;
  changed?: string | null;
  /** "evaluation", "sample", another program; null: the user. */
  made_for?: string | null;
  may_change: boolean;
  may_rename: boolean;
}
export interface Method {
  id: string;
  title: string;
  family: string;
  summary: string;
  paper: string;
  calls: string;
  depth: string;
  svg: string;
}
export interface Model {
  id: string;
  may_choose: boolean;
  is_default: boolean;
}
export interface Effort {
  name: string;
  methods: string[];
  reason: string;
}
export interface Passage {
  id: string;
  title: string;
  text: string;
  place?: string;
  document_id?: string;
  page?: number | null;
}
export interface Citation {
  n: number;
  passage: string;
  start: number | null;
  end: number | null;
  document: string;
  page: number | null;
}
export interface Vote {
  rank: number;
  passage?: string;
  answer: string;
  unknown: boolean;
  weight?: number;
}
export interface Headline {
  text: string;
  more: string | null;
  badge: string;
  badge_text: string;
  quote: string | null;
  quote_heading: string;
  closest: string | null;
  closest_heading: string;
  mark: [number, number] | null;
  place: string;
  passage: string | null;
  start: number | null;
}
export interface Result {
  answer: string;
  unknown: boolean;
  answer_type?: string;
  answer_markdown?: string;
  verdict?: "supported" | "unclear" | "unknown";
  verdict_text?: string;
  headline?: Headline;
  votes_text?: string;
  citations?: Citation[];
  passages: Passage[];
  votes?: Vote[] | null;
  candidates?: string[] | null;
  note?: string | null;
  totals?: { calls: number; input_tokens: number; output_tokens: number };
}
export interface Failure {
  code: string;
  sentence: string;
  remedy: "retry" | "change" | "wait";
}
export interface FailureGroup extends Failure {
  methods: string[];
  /** Whether the reader that needs no model server may answer in its place. */
  may_read_offline: boolean;
}
export interface Group {
  answer: string;
  unknown: boolean;
  methods: string[];
  methods_text: string;
}
/** A passage that methods read; its text is in the results. */
export interface ReadPassage {
  id: string;
  read_by: string[];
  voted_by: { method: string; answer: string }[];
  cited_by: { method: string; start: number; end: number }[];
}
/** A call of a model. */
export interface Call {
  node: string;
  name: string;
  prompt: string;
  reply: string;
  reasoning?: string;
  details?: string[];
  seconds: number | null;
  error?: string;
}
export interface Schema {
  type?: string;
  enum?: string[];
  anyOf?: Schema[];
  description?: string;
  minimum?: number;
  maximum?: number;
}
export interface Setting {
  name: string;
  may_choose: boolean;
  value?: string | number | boolean | null;
  schema: Schema;
}
export interface SettingGroup {
  name: string;
  settings: Setting[];
}
export interface Answer {
  method: string;
  state: "running" | "finished" | "failed";
  text?: string;
  result?: Result;
  seconds?: number;
  error?: Failure;
  reader_text?: string;
}
export interface RunHead {
  id: string;
  title: string;
  asked_at: number;
  question: string;
  methods: string[];
  settings: Record<string, unknown>;
  collection?: string;
  follows?: string;
  state: "running" | "finished";
}
export interface WholeRun extends RunHead {
  answers: Answer[];
  groups: Group[];
  failures: FailureGroup[];
  passages: ReadPassage[];
  passages_text: string;
  answered_text: string;
  last_event: number;
}
export type RunEvent = { n: number; method?: string } & (
  | { type: "run_started"; question: string; methods: string[]; answered_text?: string; reader_text?: string }
  | { type: "node_started"; node: string; inside: string[]; phase?: string }
  | { type: "node_finished"; node: string; inside: string[]; update: Record<string, unknown>; phase?: string }
  | ({ type: "vote" } & Vote)
  | { type: "candidate"; text: string; rank: number }
  | { type: "answer_text"; text: string; replaces: boolean }
  | { type: "retrying"; cause: string; text: string; try: number; tries: number; wait: number }
  | { type: "method_finished"; result: Result; seconds: number | null; groups?: Group[]; answered_text?: string }
  | ({ type: "error" } & Failure)
  | { type: "run_finished"; groups: Group[]; failures?: FailureGroup[]; passages?: ReadPassage[]; passages_text?: string }
);
/** One question to label, and the answers as they are shown: whose they are is not told. */
export interface LabelTask {
  id: string;
  question: string;
  answers: string[];
}
export interface Question {
  question: string;
  methods: string[];
  collection?: string;
  model?: string;
  settings?: Record<string, unknown>;
  follows?: string;
}
interface List<T> {
  data: T[];
  has_more?: boolean;
}

/** What the server refused, in its own sentence. status 0: the server did not answer. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code = "",
  ) {
    super(message);
  }
}

/** What went wrong, in one sentence. */
export const sentenceOf = (error: unknown): string => (error instanceof ApiError ? error.message : String(error));

const UNREACHABLE = "The server does not answer; start it again, or wait: this page goes on by itself.";

export async function send(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Response> {
  const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  let response: Response;
  try {
    response = await fetch(path, { method, ...init, headers: { ...headers, ...(init.headers as Record<string, string>) }, body: body === undefined ? (init.body ?? null) : JSON.stringify(body) });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(UNREACHABLE, 0);
  }
  if (response.ok) return response;
  if (response.status === 401) location.reload(); // the page's guard asks for the token
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message: string; code?: string } };
  throw new ApiError(error?.message ?? `The server answered with the status ${response.status}.`, response.status, error?.code ?? "");
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await send(method, path, body)).json() as Promise<T>;
}

const one = encodeURIComponent;

export const api = {
  listCollections: () => ask<List<Collection> & { may_make: boolean }>("GET", "/v1/collections"),
  listMethods: async () => (await ask<List<Method>>("GET", "/v1/methods")).data,
  listModels: () => ask<List<Model> & { note: string | null }>("GET", "/v1/providers/models"),
  listEfforts: async (collection: string) => (await ask<List<Effort>>("GET", `/v1/efforts?collection=${one(collection)}`)).data,
  listConversations: (q = "", before = "") => ask<List<RunHead>>("GET", `/v1/runs?first=1&q=${one(q)}&before=${one(before)}`),
  readConversation: async (id: string) => (await ask<List<WholeRun>>("GET", `/v1/runs/${one(id)}/conversation`)).data,
  readRun: (id: string) => ask<WholeRun>("GET", `/v1/runs/${one(id)}`),
  ask: (question: Question) => ask<RunHead>("POST", "/v1/runs", question),
  stop: (id: string) => ask<WholeRun>("POST", `/v1/runs/${one(id)}/stop`, {}),
  retry: (id: string, method: string, reader?: "offline") => ask<RunHead>("POST", `/v1/runs/${one(id)}/retry`, { method, ...(reader ? { reader } : {}) }),
  listCalls: async (id: string, method: string) => (await ask<List<Call>>("GET", `/v1/runs/${one(id)}/calls?method=${one(method)}`)).data,
  listQuestions: async (collection: string) => (await ask<List<string>>("GET", `/v1/collections/${one(collection)}/questions`)).data,
  listSettings: async () => (await ask<List<SettingGroup>>("GET", "/v1/settings")).data,
  rename: (id: string, title: string) => ask<unknown>("PATCH", `/v1/runs/${one(id)}`, { title }),
  remove: (id: string) => ask<unknown>("DELETE", `/v1/runs/${one(id)}`),
  listLabels: async () => (await ask<List<{ id: string; waiting: number }>>("GET", "/v1/labels")).data,
  listLabelTasks: (name: string) => ask<List<LabelTask> & { waiting: number }>("GET", `/v1/labels/${one(name)}`),
  saveLabel: async (name: string, task: string, right: boolean[] | null) => (await ask<{ waiting: number }>("POST", `/v1/labels/${one(name)}`, { task, right })).waiting,
  showMethod: (method: string) => ask<Method>("GET", `/v1/methods/${one(method)}`),
  drawMethod: async (method: string) => (await send("GET", `/v1/methods/${one(method)}.svg`)).text(),
};

/** The events of a run after `after`; see followEvents. */
export const readEvents = (id: string, after: number, signal: AbortSignal, onLost?: (isLost: boolean) => void): AsyncGenerator<RunEvent> =>
  followEvents<RunEvent>(`/v1/runs/${one(id)}/events`, "run_finished", after, signal, onLost);

/** The events at an address after number `after`, also those to come. It connects again after sleep, a lost connection or a
 * restart of the server, and ends where the server has no more to tell after an event of type `end` (a run that was asked
 * again has several). onLost: told whether the connection is lost. */
export async function* followEvents<T extends { n: number; type: string }>(address: string, end: T["type"], after: number, signal: AbortSignal, onLost: (isLost: boolean) => void = () => {}): AsyncGenerator<T> {
  let last = after;
  for (let failures = 0; !signal.aborted; ) {
    try {
      const response = await send("GET", address, undefined, { headers: { "last-event-id": String(last) }, signal });
      if (response.status === 204 || !response.body) return;
      onLost(false);
      let isEnded = false;
      for await (const event of parseEvents<T>(response.body)) {
        failures = 0;
        last = event.n;
        isEnded = event.type === end;
        yield event;
      }
      if (isEnded) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
    }
    onLost(true);
    await wait(Math.min(500 * 2 ** failures++, 8000), signal);
  }
}

async function* parseEvents<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").find((line) => line.startsWith("data: "));
        if (data) yield JSON.parse(data.slice(6)) as T;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      document.removeEventListener("visibilitychange", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener("online", end); // after sleep
    document.addEventListener("visibilitychange", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
