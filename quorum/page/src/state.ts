// What the whole page shares: signals that the views read, and the actions that change them.
import { batch, computed, effect, signal, type Signal } from "@preact/signals";
import { api, readEvents, sentenceOf, type Collection, type Effort, type Method, type Model, type RunHead, type SettingGroup } from "./api";
import { apply, describe, empty, type RunView } from "./fold";
import { nameOf, stepsOf } from "./names";
import { navigate, route } from "./router";

export interface Source {
  collection: string;
  title: string;
  text: string;
  /** The span of the text to mark; null: nothing is marked. */
  mark: [number, number] | null;
  document: string | null;
  page: number | null;
}
export interface Choice {
  collection: string;
  effort: string;
  /** Methods chosen one by one; empty: those of the effort. */
  methods: string[];
  model: string;
  /** Settings that differ from the server's. */
  settings: Record<string, string | number | boolean>;
}

function load<T>(key: string, fallback: T): T {
  try {
    return { ...fallback, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as T) };
  } catch {
    return fallback;
  }
}
function save(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // a browser may forbid it
  }
}

export const collections = signal<Collection[] | null>(null);
/** Whether the server takes files into a collection that there is not yet. */
export const mayMakeCollections = signal(false);
/** Whether there are lists of answers that this visitor may label. */
export const mayLabel = signal(false);
export const methods = signal<Method[]>([]);
export const models = signal<Model[]>([]);
export const efforts = signal<Effort[]>([]);
export const settings = signal<SettingGroup[]>([]);
/** Questions that the collection answers, to begin with. */
export const questions = signal<string[]>([]);
export const choice = signal<Choice>(load("quorum.choice", { collection: "", effort: "Careful", methods: [], model: "", settings: {} }));
export const drafts = signal<Record<string, string>>(load("quorum.drafts", {}));
/** Sets of methods that the visitor has saved. */
export const savedSets = signal<Record<string, string[]>>(load("quorum.sets", {}));
effect(() => save("quorum.choice", choice.value));
effect(() => save("quorum.sets", savedSets.value));
effect(() => save("quorum.drafts", drafts.value));

export const conversations = signal<RunHead[]>([]);
export const hasMoreConversations = signal(false);
export const conversationQuery = signal("");
export const turns = signal<Signal<RunView>[]>([]);
export const isLoading = signal(false);
export const source = signal<Source | null>(null);
export const isDrawerOpen = signal(false);
export type DialogName = "methods" | "find" | "help" | "settings" | "add" | "confirm";
export const openDialog = signal<"" | DialogName>("");
/** What a screen reader is told. */
export const announcement = signal("");
/** What went wrong outside a run, in one sentence. */
export const notice = signal("");
/** What the page could not read by itself, which the notice tells; "": the notice is about what the visitor did. */
let unread = "";
export const isConnectionLost = signal(false);

export const collection = computed(() => {
  const all = collections.value ?? [];
  return all.find((one) => one.id === choice.value.collection) ?? all.find((one) => one.is_default) ?? all[0] ?? null;
});
export const chosenMethods = computed(() => {
  if (choice.value.methods.length) return choice.value.methods;
  const effort = efforts.value.find((one) => one.name === choice.value.effort) ?? efforts.value[0];
  return effort?.methods ?? [];
});
export const conversationKey = computed(() => (route.value.view === "conversation" ? route.value.id : "new"));
export const titleOf = (method: string): string => {
  const titles = stepsOf(method).map((step) => methods.value.find((one) => one.id === nameOf(step))?.title ?? step);
  return titles.length > 1 ? titles.join("; if unknown: ") : (titles[0] ?? method);
};

export function choose(change: Partial<Choice>): void {
  choice.value = { ...choice.value, ...change };
}

/** Tell one sentence, in place of the one before. about: what the page could not read by itself, if that is it. */
export function tell(sentence: string, about = ""): void {
  unread = about;
  notice.value = sentence;
}

/** Run an action of the visitor; what the server refuses is told in its own sentence, until the next action or until the visitor closes it. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
  tell("");
  try {
    return await action();
  } catch (error) {
    tell(sentenceOf(error));
    return undefined;
  }
}

/** Run an action of the visitor on each item, whether or not an earlier one was refused; the first refusal is told. */
export async function attemptEach<T>(items: Iterable<T>, action: (item: T) => Promise<unknown>): Promise<void> {
  await attempt(async () => {
    const refusals: unknown[] = [];
    for (const item of items) await action(item).catch((error: unknown) => refusals.push(error));
    if (refusals.length) throw refusals[0];
  });
}

let lastRead = 0;
/** The number of the latest read that was taken, by what was read. */
const takenReads = new Map<string, number>();

/**
 * Read what the page needs, unasked, and take it, unless a later read of the same was taken already: replies may overtake each other.
 * A failure is told until the same is read; what is told of anything else stays.
 */
export async function attemptRead<T>(what: string, read: () => Promise<T>, take?: (value: T) => void): Promise<T | undefined> {
  const number = ++lastRead;
  const isOvertaken = () => number < (takenReads.get(what) ?? 0);
  try {
    const value = await read();
    if (isOvertaken()) return value;
    takenReads.set(what, number);
    take?.(value);
    if (unread === what) tell("");
    return value;
  } catch (error) {
    if (!isOvertaken()) tell(sentenceOf(error), what);
    return undefined;
  }
}

export async function refreshCollections(): Promise<void> {
  await attemptRead("collections", api.listCollections, ({ data, may_make }) =>
    batch(() => {
      collections.value = data;
      mayMakeCollections.value = may_make;
    }),
  );
}

export async function refreshConversations(more = false): Promise<void> {
  const before = more ? (conversations.value.at(-1)?.id ?? "") : "";
  await attemptRead(
    "conversations",
    () => api.listConversations(conversationQuery.value, before),
    (found) => {
      conversations.value = more ? [...conversations.value, ...found.data] : found.data;
      hasMoreConversations.value = found.has_more ?? false;
    },
  );
}

/** What the page needs once: collections, methods, models, conversations. */
export async function start(): Promise<void> {
  // Collections are read again and again: what depends on one is asked anew only if another is chosen, or its documents changed.
  const content = computed(() => collection.value && JSON.stringify([collection.value.id, collection.value.changed]));
  effect(() => {
    const name = content.value && collection.peek()?.id;
    if (!name) return;
    void attemptRead("efforts", () => api.listEfforts(name), (list) => (efforts.value = list));
    questions.value = [];
    const found = api.listQuestions(name).catch(() => []); // the page goes without them
    void found.then((list) => collection.peek()?.id === name && (questions.value = list));
  });
  effect(() => void showConversation(conversationKey.value));
  await Promise.all([
    refreshCollections(),
    refreshConversations(),
    attemptRead("methods", api.listMethods, (list) => (methods.value = list)),
    attemptRead("models", api.listModels, ({ data }) => (models.value = data)),
    attemptRead("labels", api.listLabels, (list) => (mayLabel.value = list.length > 0)),
  ]);
}

let following = new AbortController();
let shownKey = "";

/** Other tabs of this browser, which show the same conversations. */
const otherTabs = new BroadcastChannel("quorum");
otherTabs.onmessage = () => void catchUp();
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void catchUp());

/** Show what was asked, asked again, named or deleted elsewhere: in another tab, or on another machine. */
async function catchUp(): Promise<void> {
  void refreshConversations();
  const key = shownKey;
  if (key === "" || key === "new" || isLoading.value) return;
  const runs = await api.readConversation(key).catch(() => null); // the notice is for what the visitor does
  if (!runs || shownKey !== key) return;
  const known = new Map(turns.value.map((turn) => [turn.value.id, turn]));
  for (const run of runs) {
    const turn = known.get(run.id);
    if (turn && (turn.value.state === "running" || turn.value.lastEvent >= run.last_event)) continue;
    const shown = turn ?? signal(empty(run));
    if (run.state === "finished") shown.value = describe(run);
    else void follow(shown);
    if (!turn) turns.value = [...turns.value, shown];
  }
}

/** Show a conversation as the server keeps it, and follow what is still running. */
async function showConversation(key: string): Promise<void> {
  if (key === shownKey) return;
  shownKey = key;
  following.abort();
  following = new AbortController();
  source.value = null;
  turns.value = [];
  if (unread === "conversation") tell("");
  if (key === "new") return;
  isLoading.value = true;
  const runs = await attemptRead("conversation", () => api.readConversation(key));
  if (shownKey !== key) return;
  isLoading.value = false;
  turns.value = (runs ?? []).map((run) => signal(run.state === "running" ? empty(run) : describe(run)));
  for (const turn of turns.value) if (turn.value.state === "running") void follow(turn);
}

/** Read the events of a run until it ends. */
export async function follow(turn: Signal<RunView>): Promise<void> {
  const { signal: aborted } = following;
  await attemptRead(`run ${turn.value.id}`, async () => {
    for await (const event of readEvents(turn.value.id, turn.value.lastEvent, aborted, (isLost) => (isConnectionLost.value = isLost))) {
      turn.value = apply(turn.value, event);
      announce(turn.value, event.type);
    }
  });
  if (!aborted.aborted) void refreshConversations();
}

let announcedPhase = "";
function announce(run: RunView, type: string): void {
  const answers = Object.values(run.answers);
  if (type === "run_finished") {
    const first = run.groups[0] && run.answers[run.groups[0].methods[0] ?? ""]?.result;
    announcement.value = first ? [first.headline?.text ?? first.answer, first.verdict_text].filter(Boolean).join(". ") : (run.failures[0]?.sentence ?? "");
    return;
  }
  const phase = answers.map((one) => one.retrying || one.phase.replace(/ \d.*/, "")).find(Boolean) ?? "";
  if (phase !== announcedPhase) announcement.value = announcedPhase = phase;
}

/** Ask a question, in the conversation that is shown or in a new one. */
export async function ask(question: string): Promise<boolean> {
  const last = turns.value.at(-1)?.value;
  const chosen = collection.value?.id ?? choice.value.collection;
  const model = models.value.some((one) => one.id === choice.value.model) ? choice.value.model : "";
  const changed = choice.value.settings;
  const optional = { ...(chosen ? { collection: chosen } : {}), ...(model ? { model } : {}), ...(Object.keys(changed).length ? { settings: changed } : {}), ...(last ? { follows: last.id } : {}) };
  const run = await attempt(() => api.ask({ question, methods: chosenMethods.value, ...optional }));
  if (!run) return false;
  const turn = signal(empty(run));
  if (last) {
    turns.value = [...turns.value, turn];
  } else {
    following.abort();
    following = new AbortController();
    shownKey = run.id;
    turns.value = [turn];
    navigate(`/c/${run.id}`);
  }
  announcement.value = "asking";
  otherTabs.postMessage(run.id);
  void refreshConversations();
  void follow(turn);
  return true;
}

export async function stop(turn: Signal<RunView>): Promise<void> {
  await attempt(() => api.stop(turn.value.id));
}

/** Ask methods again. reader "offline": by the reader that needs no model server. */
export async function retry(turn: Signal<RunView>, names: string[], reader?: "offline"): Promise<void> {
  const wasRunning = turn.value.state === "running";
  await attemptEach(names, (name) => api.retry(turn.value.id, name, reader));
  otherTabs.postMessage(turn.value.id);
  if (!wasRunning) void follow(turn);
}

/** Read what the nodes of a finished run did, which its description does not say. */
export async function loadDetails(turn: Signal<RunView>): Promise<void> {
  const run = turn.value;
  if (run.state === "running" || Object.values(run.answers).some((one) => Object.keys(one.nodes).length)) return;
  await attemptRead(`run ${run.id}`, async () => {
    let replayed: RunView = { ...empty({ ...run, asked_at: run.askedAt }) };
    for await (const event of readEvents(run.id, 0, following.signal)) replayed = apply(replayed, event);
    turn.value = replayed;
  });
}

export async function removeConversation(id: string): Promise<void> {
  await attempt(async () => {
    const runs = await api.readConversation(id);
    for (const run of runs.reverse()) await api.remove(run.id);
  });
  otherTabs.postMessage(id);
  if (conversationKey.value === id) navigate("/");
  await refreshConversations();
}

export async function renameConversation(id: string, title: string): Promise<void> {
  await attempt(() => api.rename(id, title));
  otherTabs.postMessage(id);
  await refreshConversations();
}
