import { useEffect, useRef, useState } from "preact/hooks";
import { ask, choice, chosenMethods, choose, collection, collections, conversationKey, drafts, efforts, models, openDialog, turns } from "../state";

const count = (number: number | undefined, word: string) => (number === undefined ? "" : `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`);

/** The box: the question, the collection, how carefully, by which methods, by which model. */
export function Composer({ isLarge = false }: { isLarge?: boolean }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const [isSending, setSending] = useState(false);
  const key = conversationKey.value;
  const draft = drafts.value[key] ?? "";
  const write = (text: string) => {
    const { [key]: _, ...others } = drafts.value;
    drafts.value = text ? { ...others, [key]: text } : others;
  };
  useEffect(() => box.current?.focus({ preventScroll: true }), [key]);
  useEffect(() => {
    const element = box.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.rows = Math.min(12, draft.split("\n").length);
  }, [draft]);
  const send = async () => {
    const text = draft.trim();
    if (!text || isSending) return;
    setSending(true);
    write("");
    const isAsked = await ask(text);
    if (!isAsked) write(text);
    setSending(false);
    box.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void send();
    } else if (event.key === "ArrowUp" && !draft) {
      const last = turns.value.at(-1)?.value.question;
      if (last) {
        event.preventDefault();
        write(last);
      }
    }
  };
  const names = choice.value.methods;
  const changed = Object.keys(choice.value.settings).length;
  return (
    <form
      class={`composer${isLarge ? " large" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label class="hidden" for="question">
        Question
      </label>
      <textarea id="question" ref={box} rows={1} value={draft} placeholder={turns.value.length ? "Ask a follow-up …" : "Ask your documents …"} onInput={(event) => write(event.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="bar">
        <select aria-label="Collection" value={collection.value?.id ?? ""} onChange={(event) => choose({ collection: event.currentTarget.value })}>
          {(collections.value ?? []).map((one) => (
            <option key={one.id} value={one.id}>
              {one.is_sample ? "the sample" : one.id} · {one.state === "unreadable" ? "cannot be read" : count(one.documents, "document")}
            </option>
          ))}
        </select>
        <span class="segments" role="radiogroup" aria-label="Effort">
          {efforts.value.map((one) => (
            <label key={one.name} title={`${one.methods.join(", ")}: ${one.reason}`}>
              <input type="radio" name="effort" checked={!names.length && choice.value.effort === one.name} onChange={() => choose({ effort: one.name, methods: [] })} />
              <span>{one.name}</span>
            </label>
          ))}
        </span>
        <button type="button" class="pick" aria-haspopup="dialog" onClick={() => (openDialog.value = "methods")}>
          Methods{names.length ? ` · ${names.length}` : " …"}
        </button>
        {models.value.filter((one) => one.may_choose).length > 1 && (
          <select aria-label="Model" value={choice.value.model || models.value.find((one) => one.is_default)?.id} onChange={(event) => choose({ model: event.currentTarget.value })}>
            {models.value.map((one) => (
              <option key={one.id} value={one.id} disabled={!one.may_choose}>
                {one.id}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="pick" aria-haspopup="dialog" onClick={() => (openDialog.value = "settings")}>
          Settings{changed ? ` · ${changed}` : " …"}
        </button>
        <span class="grow" />
        <button class="send" aria-label="Ask" disabled={!draft.trim() || isSending || !chosenMethods.value.length}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M8 14V3M3 7.5 8 2.5l5 5" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" />
          </svg>
        </button>
      </div>
    </form>
  );
}
