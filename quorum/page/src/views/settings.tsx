import { useEffect, useState } from "preact/hooks";
import { api, type Schema, type Setting } from "../api";
import { Dialog } from "../components/dialog";
import { attemptRead, choice, choose, models, openDialog, settings } from "../state";

type Value = string | number | boolean;

/** The model and the settings that the server lets a visitor choose. What is left alone is as the server says. */
export function Settings() {
  const isOpen = openDialog.value === "settings";
  const [words, setWords] = useState("");
  useEffect(() => {
    if (isOpen && !settings.value.length) void attemptRead("settings", api.listSettings, (list) => (settings.value = list));
  }, [isOpen]);
  const chosen = choice.value.settings;
  const set = (name: string, value: Value | undefined) => {
    const { [name]: _, ...others } = chosen;
    choose({ settings: value === undefined ? others : { ...others, [name]: value } });
  };
  const isShown = (one: Setting) => one.may_choose && one.name !== "model" && `${one.name} ${one.schema.description ?? ""}`.toLowerCase().includes(words.toLowerCase());
  return (
    <Dialog name="settings" title="Settings of the next question">
      <p class="tools">
        <input type="search" aria-label="Search settings" placeholder="Search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        <button class="pick" disabled={!Object.keys(chosen).length && !choice.value.model} onClick={() => choose({ settings: {}, model: "" })}>
          All as the server says
        </button>
      </p>
      <label class="setting">
        <b>model</b>
        <select value={choice.value.model || models.value.find((one) => one.is_default)?.id} onChange={(event) => choose({ model: event.currentTarget.value })}>
          {models.value.map((one) => (
            <option key={one.id} value={one.id} disabled={!one.may_choose}>
              {one.id}
              {one.may_choose ? "" : " (not allowed; see quorum serve --allow-models)"}
            </option>
          ))}
        </select>
        <span class="soft">The chat model that answers.</span>
      </label>
      {settings.value.map((group) => {
        const shown = group.settings.filter(isShown);
        return (
          shown.length > 0 && (
            <fieldset key={group.name}>
              <legend>{group.name}</legend>
              {shown.map((one) => (
                <label key={one.name} class={`setting${one.name in chosen ? " changed" : ""}`}>
                  <b>{one.name}</b>
                  <Field setting={one} value={chosen[one.name]} onSet={(value) => set(one.name, value)} />
                  <span class="soft">{one.schema.description}</span>
                </label>
              ))}
            </fieldset>
          )
        );
      })}
    </Dialog>
  );
}

/** The field of a setting. Empty, or as the server has it: not sent. */
function Field({ setting, value, onSet }: { setting: Setting; value: Value | undefined; onSet: (value: Value | undefined) => void }) {
  const { schema } = setting;
  const kind = schema.type ?? schema.anyOf?.find((one) => one.type !== "null")?.type;
  const choices = listChoices(schema);
  const own = setting.value === null || setting.value === undefined ? "" : String(setting.value);
  if (choices)
    return (
      <select value={value === undefined ? own : String(value)} onChange={(event) => onSet(read(event.currentTarget.value, own, kind))}>
        {[...(choices.includes(own) ? [] : [own]), ...choices].map((one) => (
          <option key={one} value={one}>
            {one || "as the server says"}
          </option>
        ))}
      </select>
    );
  if (kind === "integer" || kind === "number")
    return (
      <input
        type="number"
        value={value === undefined ? own : String(value)}
        min={schema.minimum}
        max={schema.maximum}
        step={kind === "integer" ? 1 : "any"}
        onChange={(event) => onSet(read(event.currentTarget.value, own, kind))}
      />
    );
  return <input type="text" value={value === undefined ? "" : String(value)} placeholder={own || "as the server says"} onChange={(event) => onSet(read(event.currentTarget.value, own, kind))} />;
}

function listChoices(schema: Schema): string[] | null {
  if (schema.type === "boolean") return ["true", "false"];
  return schema.enum ?? schema.anyOf?.find((one) => one.enum)?.enum ?? null;
}

function read(text: string, own: string, kind: string | undefined): Value | undefined {
  if (!text.trim() || text === own) return undefined;
  if (kind === "boolean") return text === "true";
  return kind === "integer" || kind === "number" ? Number(text) : text.trim();
}
