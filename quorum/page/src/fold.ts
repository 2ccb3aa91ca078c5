// What the events of a run amount to: a value that the views show. It is the same after a reload, because the server
// keeps the events.
import type { Answer, FailureGroup, Group, ReadPassage, RunEvent, Vote, WholeRun } from "./api";
import { nameOf } from "./names";

export interface NodeCount {
  started: number;
  finished: number;
}
export interface MethodView extends Answer {
  phase: string;
  retrying: string;
  nodes: Record<string, NodeCount>;
  votes: Vote[];
  candidates: string[];
}
export interface RunView {
  id: string;
  question: string;
  title: string;
  collection: string;
  askedAt: number;
  methods: string[];
  state: "running" | "finished";
  answers: Record<string, MethodView>;
  groups: Group[];
  failures: FailureGroup[];
  passages: ReadPassage[];
  passagesText: string;
  answeredText: string;
  lastEvent: number;
}

const NEW = { state: "running", phase: "", retrying: "", nodes: {}, votes: [], candidates: [] } as const;

function begin(method: string, readerText = ""): MethodView {
  return { ...NEW, method, nodes: {}, votes: [], candidates: [], ...(readerText ? { reader_text: readerText } : {}) };
}

/** A run as GET /v1/runs/ID describes it. That says nothing about nodes; its events do. */
export function describe(run: WholeRun): RunView {
  const answers = Object.fromEntries(
    run.answers.map((answer) => [
      answer.method,
      { ...begin(answer.method), ...answer, votes: answer.result?.votes ?? [], candidates: answer.result?.candidates ?? [] },
    ]),
  );
  const { state, groups, failures, passages } = run;
  return { ...empty(run), state, answers, groups, failures, passages, passagesText: run.passages_text, answeredText: run.answered_text, lastEvent: run.last_event };
}

/** A run before its first event. */
export function empty(run: { id: string; question: string; title: string; asked_at: number; methods: string[]; collection?: string }): RunView {
  return {
    id: run.id,
    question: run.question,
    title: run.title,
    collection: run.collection ?? "",
    askedAt: run.asked_at,
    methods: run.methods,
    state: "running",
    answers: Object.fromEntries(run.methods.map((method) => [method, begin(method)])),
    groups: [],
    failures: [],
    passages: [],
    passagesText: "",
    answeredText: "",
    lastEvent: 0,
  };
}

/** A run after one more event. Events that are known already, and kinds that are not, change nothing. */
export function apply(run: RunView, event: RunEvent): RunView {
  if (event.n <= run.lastEvent) return run;
  const next = { ...run, lastEvent: event.n };
  if (event.type === "run_started") {
    const begun = Object.fromEntries(event.methods.map((method) => [method, begin(method, event.reader_text)]));
    const failures = run.failures.map((item) => ({ ...item, methods: item.methods.filter((one) => !event.methods.includes(one)) }));
    return { ...next, state: "running", answeredText: event.answered_text ?? "", answers: { ...run.answers, ...begun }, failures: failures.filter((item) => item.methods.length) };
  }
  if (event.type === "run_finished") return { ...next, state: "finished", groups: event.groups, failures: event.failures ?? [], passages: event.passages ?? [], passagesText: event.passages_text ?? "" };
  const answer = run.answers[event.method ?? ""];
  if (!answer) return next;
  const groups = event.type === "method_finished" && event.groups ? event.groups : run.groups;
  const answeredText = event.type === "method_finished" && event.answered_text ? event.answered_text : run.answeredText;
  return { ...next, groups, answeredText, answers: { ...run.answers, [answer.method]: change(answer, event) } };
}

function change(answer: MethodView, event: RunEvent): MethodView {
  switch (event.type) {
    case "node_started":
    case "node_finished": {
      const isInTurn = event.inside[0] === nameOf(answer.method); // a follow-up question runs the method inside a turn
      const path = [...event.inside.slice(isInTurn ? 1 : 0), event.node].join("/");
      const count = answer.nodes[path] ?? { started: 0, finished: 0 };
      const nodes = { ...answer.nodes, [path]: event.type === "node_started" ? { ...count, started: count.started + 1 } : { ...count, finished: count.finished + 1 } };
      return { ...answer, nodes, phase: event.phase ?? answer.phase, retrying: event.type === "node_finished" ? "" : answer.retrying };
    }
    case "vote":
      return { ...answer, votes: [...answer.votes, event] };
    case "candidate":
      return { ...answer, candidates: event.rank ? [...answer.candidates, event.text] : [event.text] };
    case "answer_text":
      return { ...answer, text: event.replaces ? event.text : (answer.text ?? "") + event.text, retrying: "" };
    case "retrying":
      return { ...answer, retrying: event.text };
    case "method_finished": {
      const { result, seconds } = event;
      return { ...answer, state: "finished", retrying: "", phase: "", result, ...(seconds === null ? {} : { seconds }), votes: result.votes ?? answer.votes, candidates: result.candidates ?? answer.candidates };
    }
    case "error":
      return { ...answer, state: "failed", retrying: "", phase: "", error: { code: event.code, sentence: event.sentence, remedy: event.remedy } };
    default:
      return answer;
  }
}
