import type { Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api";
import type { MethodView, RunView } from "../fold";
import { nameOf } from "../names";
import { attemptRead, loadDetails, titleOf } from "../state";
import { Calls } from "./calls";

/** One method of a run: its graph, coloured by what its nodes do, its votes and its candidates. */
export function MethodDetails({ turn, answer, onClose }: { turn: Signal<RunView>; answer: MethodView; onClose: () => void }) {
  useEffect(() => void loadDetails(turn), [turn]);
  return (
    <section class="details" aria-label={`How ${answer.method} answered`}>
      <header>
        <h3>
          {titleOf(answer.method)} <span class="soft">{answer.method}</span>
        </h3>
        <button aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      <Graph answer={answer} />
      {answer.votes.length > 0 && (
        <table class="votes">
          <caption>Votes {answer.result?.votes_text && <span class="soft">{answer.result.votes_text}</span>}</caption>
          <tbody>
            {answer.votes.map((vote) => (
              <tr key={vote.rank} class={vote.unknown ? "soft" : ""}>
                <td class="number">{vote.rank + 1}</td>
                <td>{vote.answer}</td>
                <td class="soft">{answer.result?.passages.find((one) => one.id === vote.passage)?.place ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {answer.candidates.length > 0 && (
        <>
          <h4>Candidates</h4>
          <ol>
            {answer.candidates.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ol>
        </>
      )}
      {answer.state !== "running" && <Calls key={answer.method} run={turn.value.id} method={answer.method} />}
    </section>
  );
}

/** The server's drawing. It is parsed as SVG, and only its elements of shapes and words are shown. */
function Graph({ answer }: { answer: MethodView }) {
  const place = useRef<HTMLDivElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  const name = nameOf(answer.method);
  useEffect(() => {
    void attemptRead(`drawing of ${name}`, async () => {
      const drawing = new DOMParser().parseFromString(await api.drawMethod(name), "image/svg+xml").documentElement;
      if (drawing.localName !== "svg") return;
      place.current?.replaceChildren(document.importNode(drawing, true));
      setDrawn(true);
    });
  }, [name]);
  useEffect(() => {
    for (const node of place.current?.querySelectorAll<SVGGElement>("[data-node]") ?? []) {
      const count = answer.nodes[node.dataset.node ?? ""];
      const isEnd = node.dataset.node === "__end__" && answer.state === "finished";
      const isStart = node.dataset.node === "__start__" && Object.keys(answer.nodes).length > 0;
      const state = count ? (count.started > count.finished && answer.state === "running" ? "active" : "done") : isEnd || isStart ? "done" : "";
      node.dataset.state = state;
    }
  }, [answer, isDrawn]);
  return <div class="graph" ref={place} />;
}
