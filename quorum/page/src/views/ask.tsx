import { FileButtons } from "../components/adding";
import { Composer } from "../components/composer";
import { ask, collection, isLoading, mayMakeCollections, questions, turns } from "../state";
import { Turn } from "./thread";

/** The start, or a conversation with the box below it. */
export function Ask() {
  if (isLoading.value) return <p class="hero waiting">Opening the conversation …</p>;
  if (!turns.value.length) return <Start />;
  return (
    <>
      <div class="thread">
        {turns.value.map((turn) => (
          <Turn key={turn.value.id} turn={turn} />
        ))}
      </div>
      <Composer />
    </>
  );
}

function Start() {
  const one = collection.value;
  return (
    <div class="hero">
      <h1>Ask your documents</h1>
      <p>Every answer shows the sentence it comes from.</p>
      <Composer isLarge />
      <div class="examples">
        {questions.value.map((question) => (
          <button key={question} onClick={() => void ask(question)}>
            {question}
          </button>
        ))}
      </div>
      {one?.is_sample && <p class="soft">This is a sample.</p>}
      {(mayMakeCollections.value || one?.may_change) && (
        <p class="add">
          {one && !one.is_sample ? "Add documents" : "Add your own documents"}: drop files or a folder anywhere, or <FileButtons label="Choose files" />
        </p>
      )}
    </div>
  );
}
