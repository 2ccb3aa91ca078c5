import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Group, Passage, Result } from "../api";
import { Markdown } from "../components/markdown";
import { Marked } from "../components/marked";
import { MethodDetails } from "../components/method_details";
import { MethodTable } from "../components/method_table";
import type { MethodView, RunView } from "../fold";
import { retry, source, stop, titleOf } from "../state";

/** A question with its answers. */
export function Turn({ turn }: { turn: Signal<RunView> }) {
  const run = turn.value;
  const [opened, setOpened] = useState("");
  const isMany = run.methods.length > 1;
  const running = Object.values(run.answers).filter((one) => one.state === "running");
  useEffect(() => {
    const element = document.getElementById(run.id);
    if (location.hash === `#${run.id}` || run.state === "running") element?.scrollIntoView({ block: "start" });
  }, [run.id]);
  return (
    <section class="turn" id={run.id} aria-label={run.question}>
      <h2>{run.question}</h2>
      {run.groups.map((group, index) => (
        <GroupView key={group.methods[0]} run={run} group={group} isFirst={index === 0} isMany={isMany} onOpen={setOpened} />
      ))}
      {running.length > 0 && <Running run={run} running={running} onStop={() => void stop(turn)} />}
      {run.state === "finished" &&
        run.failures.map((failure) => (
          <div key={failure.sentence} class="failure" role="alert">
            <p>{failure.sentence}</p>
            {isMany && <p class="by">{failure.methods.map((name) => <Chip key={name} name={name} onOpen={setOpened} />)}</p>}
            <button class="pick" onClick={() => void retry(turn, failure.methods)}>
              Retry
            </button>
          </div>
        ))}
      {isMany && <MethodTable run={run} opened={opened} onOpen={(name) => setOpened(name === opened ? "" : name)} />}
      {opened && run.answers[opened] && <MethodDetails turn={turn} answer={run.answers[opened]} onClose={() => setOpened("")} />}
      <Passages run={run} isMany={isMany} />
      {run.state === "finished" && <Footer run={run} isMany={isMany} onOpen={() => setOpened(opened ? "" : (run.methods[0] ?? ""))} isOpen={opened !== ""} />}
    </section>
  );
}

function Chip({ name, onOpen }: { name: string; onOpen: (name: string) => void }) {
  return (
    <button class="chip" title={titleOf(name)} onClick={() => onOpen(name)}>
      {name}
    </button>
  );
}

/** What is running: its phase, and a text that is being written. */
function Running({ run, running, onStop }: { run: RunView; running: MethodView[]; onStop: () => void }) {
  const retrying = running.find((one) => one.retrying);
  const writing = running.find((one) => one.text);
  const phase = running.length === 1 ? (running[0]?.phase ?? "") : `${run.methods.length - running.length} of ${run.methods.length} methods have answered`;
  return (
    <div class="running">
      {writing && <Markdown text={writing.text ?? ""} />}
      <p class={retrying ? "retrying" : "phase"}>
        <span class="spinner" aria-hidden="true" /> {retrying ? retrying.retrying : `${phase || "starting"} …`}{" "}
        <button class="link" onClick={onStop}>
          Stop
        </button>
      </p>
    </div>
  );
}

/** One distinct answer, with the sentence that it comes from and the methods that gave it. */
function GroupView({ run, group, isFirst, isMany, onOpen }: { run: RunView; group: Group; isFirst: boolean; isMany: boolean; onOpen: (name: string) => void }) {
  const result = run.answers[group.methods[0] ?? ""]?.result;
  if (!result) return null;
  const headline = result.headline;
  const text = result.answer_markdown ?? result.answer;
  const isLong = text.length > 120 || text.includes("\n");
  return (
    <div class={`group${isFirst ? "" : " other"}`}>
      {result.verdict === "unknown" ? (
        <p class="answer unknown">{result.verdict_text}</p>
      ) : (
        <>
          {isLong ? <Markdown text={text} /> : <p class="answer">{text}</p>}
          {result.verdict_text && <p class="warning">{result.verdict_text}</p>}
          {headline?.more && <Markdown text={headline.more} />}
        </>
      )}
      <Quote run={run} result={result} />
      {result.note && <p class="soft">{result.note}</p>}
      {isMany ? (
        <p class="by">
          {group.methods.length} of {run.methods.length}: {group.methods.map((name) => <Chip key={name} name={name} onOpen={onOpen} />)}
        </p>
      ) : (
        result.votes_text && <p class="by">{result.votes_text}</p>
      )}
    </div>
  );
}

function Quote({ run, result }: { run: RunView; result: Result }) {
  const headline = result.headline;
  const passage = result.passages.find((one) => one.id === headline?.passage);
  if (!headline?.quote || !passage) return null;
  const start = headline.start ?? 0;
  const mark: [number, number] = [start, start + headline.quote.length];
  return (
    <>
      {headline.quote_heading && <p class="soft">{headline.quote_heading}</p>}
      <blockquote>
        <Marked text={headline.quote} mark={result.verdict === "supported" ? headline.mark : null} />{" "}
        <SourceButton run={run} passage={passage} mark={mark} />
      </blockquote>
    </>
  );
}

function SourceButton({ run, passage, mark }: { run: RunView; passage: Passage; mark: [number, number] | null }) {
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

interface ReadPassage {
  passage: Passage;
  readers: string[];
  cited: { method: string; mark: [number, number] }[];
}

/** The passages that were read, each once: with several methods, who read and who cited it. */
function collect(run: RunView): ReadPassage[] {
  const found = new Map<string, ReadPassage>();
  for (const method of run.methods) {
    const result = run.answers[method]?.result;
    for (const passage of result?.passages ?? []) {
      const item = found.get(passage.id) ?? { passage, readers: [], cited: [] };
      item.readers.push(method);
      for (const citation of result?.citations ?? [])
        if (citation.passage === passage.id && citation.start !== null && citation.end !== null) item.cited.push({ method, mark: [citation.start, citation.end] });
      found.set(passage.id, item);
    }
  }
  return [...found.values()].sort((one, other) => other.cited.length - one.cited.length);
}

function Passages({ run, isMany }: { run: RunView; isMany: boolean }) {
  const all = collect(run);
  if (!all.length) return null;
  return (
    <details class="passages">
      <summary>
        {all.length} {all.length === 1 ? "passage" : "passages"} read{isMany ? `, by ${run.methods.length} methods` : ""}
      </summary>
      <ol>
        {all.map(({ passage, readers, cited }) => (
          <li key={passage.id} class={cited.length ? "cited" : ""}>
            <b>{passage.title}</b> <SourceButton run={run} passage={passage} mark={cited[0]?.mark ?? null} />
            {isMany && (
              <span class="by">
                {" "}
                {cited.length > 0 && <>cited by {[...new Set(cited.map((one) => one.method))].join(", ")}; </>}read by {readers.length === run.methods.length ? "all" : readers.join(", ")}
              </span>
            )}
            <p>
              <Marked text={passage.text} mark={cited[0]?.mark} />
            </p>
          </li>
        ))}
      </ol>
    </details>
  );
}

function Footer({ run, isMany, onOpen, isOpen }: { run: RunView; isMany: boolean; onOpen: () => void; isOpen: boolean }) {
  const [copied, setCopied] = useState(false);
  const first = run.answers[run.groups[0]?.methods[0] ?? ""]?.result;
  const only = isMany ? undefined : run.answers[run.methods[0] ?? ""];
  const copy = async () => {
    const quote = first?.headline?.quote ? `\n\n> ${first.headline.quote}\n> (${first.headline.place})` : "";
    await navigator.clipboard.writeText(`${first?.answer_markdown ?? ""}${quote}\n`);
    setCopied(true);
  };
  return (
    <p class="footer">
      {only?.seconds !== undefined && (
        <span title={titleOf(only.method)}>
          {only.method} · {only.seconds.toFixed(1)} s{" "}
        </span>
      )}
      {!isMany && (
        <button class="link" aria-expanded={isOpen} onClick={onOpen}>
          How it was found
        </button>
      )}
      {first && (
        <button class="link" onClick={() => void copy()}>
          {copied ? "Copied" : "Copy"}
        </button>
      )}
      <a href={`/v1/runs/${run.id}.md`} download>
        Markdown
      </a>
      <a href={`/v1/runs/${run.id}.json`} download>
        JSON
      </a>
    </p>
  );
}
