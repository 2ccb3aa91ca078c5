import { useState } from "preact/hooks";
import type { MethodView, RunView } from "../fold";
import { titleOf } from "../state";

type Value = string | number;
const COLUMNS: readonly (readonly [string, (one: MethodView) => Value])[] = [
  ["Method", (one) => one.method],
  ["Answer", (one) => [one.result?.headline?.text, one.reader_text].filter(Boolean).join(", ") || (one.error ? (one.error.code === "stopped" ? "stopped" : "failed") : one.retrying || one.phase)],
  ["Votes", (one) => one.result?.votes_text ?? ""],
  ["Calls", (one) => one.result?.totals?.calls ?? -1],
  ["Tokens", (one) => (one.result?.totals ? one.result.totals.input_tokens + one.result.totals.output_tokens : -1)],
  ["Seconds", (one) => one.seconds ?? -1],
];

/** All methods of a run, sortable. A row opens its method. isDifferent: without those that agree with the most. */
export function MethodTable({ run, isDifferent, opened, onOpen }: { run: RunView; isDifferent: boolean; opened: string; onOpen: (name: string) => void }) {
  const [sorted, setSorted] = useState<{ column: number; isDown: boolean } | null>(null);
  const rows = run.methods.flatMap((name) => (isDifferent && run.groups[0]?.methods.includes(name) ? [] : (run.answers[name] ?? [])));
  const value = sorted && COLUMNS[sorted.column]?.[1];
  if (sorted && value)
    rows.sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      return sorted.isDown ? -order : order;
    });
  const sort = (column: number) => setSorted({ column, isDown: sorted?.column === column && !sorted.isDown });
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Methods of this question">
      <table>
        <thead>
          <tr>
            {COLUMNS.map(([name], column) => (
              <th key={name} scope="col" aria-sort={sorted?.column === column ? (sorted.isDown ? "descending" : "ascending") : "none"}>
                <button onClick={() => sort(column)}>
                  {name}
                  {sorted?.column === column ? (sorted.isDown ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.method} class={`${one.state}${one.method === opened ? " opened" : ""}`}>
              {COLUMNS.map(([name, read], column) => {
                const shown = read(one);
                return (
                  <td key={name} class={typeof shown === "number" ? "number" : ""}>
                    {column === 0 ? (
                      <button class="link" title={titleOf(one.method)} aria-expanded={one.method === opened} onClick={() => onOpen(one.method)}>
                        {shown}
                      </button>
                    ) : typeof shown === "string" ? (
                      shown
                    ) : shown < 0 ? (
                      one.state === "running" ? "…" : ""
                    ) : name === "Seconds" ? (
                      shown.toFixed(1)
                    ) : (
                      shown.toLocaleString()
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
