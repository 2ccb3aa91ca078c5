import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Group, Result } from "../api";
import { Markdown } from "../components/markdown";
import { Marked } from "../components/marked";
import { MethodDetails } from "../components/method_details";
import { MethodTable } from "../components/method_table";
import { Passages, SourceButton } from "../components/passages";
import type { MethodView, RunView } from "../fold";
import { retry, stop, titleOf } from "../state";

/** A question with its answers. */
export function Turn({ turn }: { turn: Signal<RunView> }) {
  const run = turn.value;
  const [opened, setOpened] = useState("");
  const [isDifferent, setDifferent] = useState(false);
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
            <p class="tools">
              <button class="pick" onClick={() => void retry(turn, failure.methods)}>
                Retry
              </button>
              {failure.may_read_offline && (
                <button class="pick" onClick={() => void retry(turn, failure.methods, "offline")}>
                  Use the offline reader
                </button>
              )}
            </p>
          </div>
        ))}
      {isMany && run.groups.length > 1 && (
        <label class="switch">
          <input type="checkbox" checked={isDifferent} onChange={(event) => setDifferent(event.currentTarget.checked)} /> Only differences
        </label>
      )}
      {isMany && <MethodTable run={run} isDifferent={isDifferent && run.groups.length > 1} opened={opened} onOpen={(name) => setOpened(name === opened ? "" : name)} />}
      {opened && run.answers[opened] && <MethodDetails turn={turn} answer={run.answers[opened]} onClose={() => setOpened("")} />}
      <Passages run={run} isDifferent={isDifferent && run.groups.length > 1} />
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
  const phase = run.methods.length === 1 ? (running[0]?.phase ?? "") : run.answeredText;
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
  const only = run.answers[run.methods[0] ?? ""];
  const facts = [result.votes_text, only?.reader_text].filter(Boolean).join(" · ");
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
          {group.methods_text}: {group.methods.map((name) => <Chip key={name} name={name} onOpen={onOpen} />)}
        </p>
      ) : (
        facts && <p class="by">{facts}</p>
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
      {headline.closest && (
        <>
          <p class="soft">{headline.closest_heading}</p>
          <blockquote>{headline.closest}</blockquote>
        </>
      )}
    </>
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
