import { Dialog } from "./dialog";

const KEYS = [
  ["Enter", "ask"],
  ["Shift Enter", "a new line"],
  ["↑", "in an empty box: the last question again"],
  ["Esc", "close what is open, or stop"],
  ["Ctrl K", "find conversations, documents, methods"],
  ["1 to 9", "open a source of the last answer"],
  ["/", "to the question"],
  ["y, n, s", "where answers are labelled: right, wrong, skip"],
  ["?", "this list"],
] as const;

export function Help() {
  return (
    <Dialog name="help" title="Keys">
      <dl class="keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
