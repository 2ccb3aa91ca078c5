import { useState } from "preact/hooks";
import { api, type Method } from "../api";
import { Dialog } from "../components/dialog";
import { stepsOf } from "../names";
import { attempt, choice, choose, methods, savedSets, titleOf } from "../state";

/** A cascade that the visitor has chosen, as the list shows it. */
const cascade = (id: string): Method => ({ id, title: titleOf(id), family: "Cascades", summary: "", paper: "", calls: "", depth: "", svg: "" });

/** The picker: methods by family, with plain names, search, all, saved sets. */
export function Methods() {
  const [words, setWords] = useState("");
  const [written, setWritten] = useState("");
  const chosen = choice.value.methods;
  const cascades = chosen.filter((name) => stepsOf(name).length > 1).map(cascade);
  const shown = [...cascades, ...methods.value].filter((one) => `${one.id} ${one.title} ${one.summary} ${one.family}`.toLowerCase().includes(words.toLowerCase()));
  const families = new Map<string, Method[]>();
  for (const one of shown) families.set(one.family, [...(families.get(one.family) ?? []), one]);
  const toggle = (name: string) => choose({ methods: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name] });
  const add = (text: string) =>
    attempt(async () => {
      const { id } = await api.showMethod(text);
      if (!chosen.includes(id)) choose({ methods: [...chosen, id] });
      setWritten("");
    });
  return (
    <Dialog name="methods" title="Methods">
      <p class="tools">
        <input type="search" aria-label="Search methods" placeholder="Search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        <button class="pick" onClick={() => choose({ methods: shown.map((one) => one.id) })}>
          All
        </button>
        <button class="pick" onClick={() => choose({ methods: [] })}>
          None
        </button>
        <span class="soft">{chosen.length ? `${chosen.length} chosen` : "as the effort says"}</span>
      </p>
      <Sets />
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          const text = event.currentTarget.querySelector("input")?.value.trim(); // the state may be a moment behind
          if (text) void add(text);
        }}
      >
        <input
          type="text"
          aria-label="Cascade"
          placeholder="A cascade: concat > post_fusion"
          title="If one method's answer is unknown, the next is asked; at most three."
          value={written}
          onInput={(event) => setWritten(event.currentTarget.value)}
        />
        <button class="pick" type="submit">
          Add
        </button>
      </form>
      {[...families].map(([family, items]) => (
        <fieldset key={family}>
          <legend>{family}</legend>
          {items.map((one) => (
            <label key={one.id} class="method">
              <input type="checkbox" checked={chosen.includes(one.id)} onChange={() => toggle(one.id)} />
              <span>
                {one.title}{" "}
                <span class="soft">{[one.id, one.calls && `${one.calls} calls`, one.paper.split(",")[0]].filter(Boolean).join(" · ")}</span>
              </span>
            </label>
          ))}
        </fieldset>
      ))}
      {!shown.length && <p class="soft">{words ? "No method has these words." : "The methods are not read yet."}</p>}
    </Dialog>
  );
}

/** Sets of methods that the visitor has saved in this browser. */
function Sets() {
  const [name, setName] = useState("");
  const chosen = choice.value.methods;
  const save = (event: Event) => {
    event.preventDefault();
    if (!name.trim() || !chosen.length) return;
    savedSets.value = { ...savedSets.value, [name.trim()]: chosen };
    setName("");
  };
  const forget = (set: string) => {
    const { [set]: _, ...others } = savedSets.value;
    savedSets.value = others;
  };
  return (
    <form class="tools" onSubmit={save}>
      {Object.entries(savedSets.value).map(([set, names]) => (
        <span key={set} class="saved-set">
          <button type="button" class="link" title={names.join(", ")} onClick={() => choose({ methods: names.filter((one) => methods.value.some((method) => method.id === one)) })}>
            {set} ({names.length})
          </button>
          <button type="button" aria-label={`Forget the set ${set}`} onClick={() => forget(set)}>
            ×
          </button>
        </span>
      ))}
      {chosen.length > 0 && (
        <>
          <input type="text" aria-label="Name of the set" placeholder="Name of this set" value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <button class="pick" disabled={!name.trim()}>
            Save the set
          </button>
        </>
      )}
    </form>
  );
}
