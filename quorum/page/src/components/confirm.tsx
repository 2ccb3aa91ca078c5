import { signal } from "@preact/signals";
import { openDialog } from "../state";
import { Dialog } from "./dialog";

interface Question {
  title: string;
  /** What goes, and what stays. */
  sentences: string[];
  action: string;
  run: () => void;
}
const asked = signal<Question | null>(null);

/** Ask before something is removed. */
export function confirm(question: Question): void {
  asked.value = question;
  openDialog.value = "confirm";
}

export function Confirm() {
  return (
    <Dialog name="confirm" title={asked.value?.title ?? ""}>
      {asked.value && <Body question={asked.value} />}
    </Dialog>
  );
}

function Body({ question }: { question: Question }) {
  return (
    <>
      {question.sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p class="tools">
        <button class="pick" autofocus onClick={() => (openDialog.value = "")}>
          Keep
        </button>
        <button
          class="pick wrong"
          onClick={() => {
            openDialog.value = "";
            question.run();
          }}
        >
          {question.action}
        </button>
      </p>
    </>
  );
}
