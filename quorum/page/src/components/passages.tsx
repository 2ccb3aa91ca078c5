import type { Passage, ReadPassage } from "../api";
import type { RunView } from "../fold";
import { source, titleOf } from "../state";
import { Marked } from "./marked";

/** Opens the source of a passage beside the thread. */
export function SourceButton({ run, passage, mark }: { run: RunView; passage: Passage; mark: [number, number] | null }) {
  return (
    <button
      class="source"
      onClick={() => {
        source.value = {
          collection: run.collection,
          title: passage.place || passage.title || passage.id,
          text: passage.text,
          mark,
          document: passage.document_id ?? null,
          page: passage.page ?? null,
        };
      }}
    >
      {passage.place || passage.title || passage.id}
    </button>
  );
}

/** The passages that were read, each once: with several methods, who read it, voted by it and cited it. */
export function Passages({ run, isDifferent }: { run: RunView; isDifferent: boolean }) {
  const isMany = run.methods.length > 1;
  const shown = isDifferent ? run.passages.filter((one) => one.read_by.length < run.methods.length) : run.passages;
  if (!run.passages.length) return null;
  return (
    <details class="passages">
      <summary>{run.passagesText}</summary>
      {isDifferent && !shown.length && <p class="soft">All methods read the same passages.</p>}
      <ol>
        {shown.map((item) => (
          <Item key={item.id} run={run} item={item} isMany={isMany} />
        ))}
      </ol>
    </details>
  );
}

function Item({ run, item, isMany }: { run: RunView; item: ReadPassage; isMany: boolean }) {
  const passage = run.answers[item.read_by[0] ?? ""]?.result?.passages.find((one) => one.id === item.id);
  if (!passage) return null;
  const [cited] = item.cited_by;
  const mark: [number, number] | null = cited ? [cited.start, cited.end] : null;
  return (
    <li class={cited ? "cited" : ""}>
      <b>{passage.title}</b> <SourceButton run={run} passage={passage} mark={mark} />
      {isMany && (
        <p class="by">
          <Chips words="cited" item={item} names={item.read_by.filter((name) => isCited(item, name))} />
          <Chips words="voted" item={item} names={item.read_by.filter((name) => !isCited(item, name) && findVote(item, name) !== undefined)} />
          <Chips words="read" item={item} names={item.read_by.filter((name) => !isCited(item, name) && findVote(item, name) === undefined)} />
        </p>
      )}
      <p>
        <Marked text={passage.text} mark={mark} />
      </p>
    </li>
  );
}

const isCited = (item: ReadPassage, name: string) => item.cited_by.some((one) => one.method === name);
const findVote = (item: ReadPassage, name: string) => item.voted_by.find((one) => one.method === name)?.answer;

/** Methods that did no more with a passage than the words say; with a vote, its answer. */
function Chips({ words, item, names }: { words: string; item: ReadPassage; names: string[] }) {
  if (!names.length) return null;
  return (
    <span class="chips">
      {words}{" "}
      {names.map((name) => {
        const vote = findVote(item, name);
        return (
          <span key={name} class="chip" title={titleOf(name)}>
            {name}
            {vote === undefined ? "" : `: ${vote}`}
          </span>
        );
      })}
    </span>
  );
}
