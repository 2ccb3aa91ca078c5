import { useState } from "preact/hooks";
import { api, type Call } from "../api";
import { attempt } from "../state";

/** The prompts that a method sent, with the replies. They are fetched when a visitor opens them. */
export function Calls({ run, method }: { run: string; method: string }) {
  const [calls, setCalls] = useState<Call[] | null>(null);
  const load = () => void attempt(async () => setCalls(await api.listCalls(run, method)));
  return (
    <details class="calls" onToggle={(event) => event.currentTarget.open && load()}>
      <summary>Prompts and replies</summary>
      {calls && !calls.length && <p class="soft">No call of a model was kept.</p>}
      {calls?.map((call, index) => (
        <details key={index}>
          <summary>
            {index + 1}. {call.node || call.name}{" "}
            <span class="soft">{[call.name, ...(call.details ?? []), call.seconds === null ? "" : `${call.seconds.toFixed(1)} s`].filter(Boolean).join(" · ")}</span>
          </summary>
          <h5>Prompt</h5>
          <pre tabIndex={0}>{call.prompt}</pre>
          {call.reasoning && (
            <>
              <h5>Thoughts</h5>
              <pre tabIndex={0}>{call.reasoning}</pre>
            </>
          )}
          <h5>Reply</h5>
          <pre tabIndex={0}>{call.error ?? call.reply}</pre>
        </details>
      ))}
    </details>
  );
}
