import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, ApiError, sentenceOf, type LabelTask } from "../api";
import { attemptRead } from "../state";
import { Heading } from "./collections";

/** Lists of answers that wait for a label, or the answers of one, one after another. */
export function Label({ name }: { name: string }) {
  return name ? <OneList key={name} name={name} /> : <AllLists />;
}

function AllLists() {
  const [lists, setLists] = useState<{ id: string; waiting: number }[] | null>(null);
  useEffect(() => void attemptRead("lists of answers", api.listLabels, setLists), []);
  return (
    <div class="page-view">
      <Heading>Label answers</Heading>
      {lists?.map((one) => (
        <p key={one.id}>
          <a href={`/label/${encodeURIComponent(one.id)}`}>{one.id}</a> <span class="soft">{one.waiting} waiting</span>
        </p>
      ))}
      {lists && !lists.length && <p>There is nothing to label here. Begin with quorum serve --watch FILE, or --label RESULTS.</p>}
    </div>
  );
}

function OneList({ name }: { name: string }) {
  const [tasks, setTasks] = useState<LabelTask[] | null>(null);
  const [waiting, setWaiting] = useState(0);
  const [right, setRight] = useState<boolean[]>([]);
  const [problem, setProblem] = useState("");
  const busy = useRef(false);
  const load = () =>
    api.listLabelTasks(name).then(
      (list) => (setTasks(list.data), setWaiting(list.waiting)),
      (error) => setProblem(sentenceOf(error)),
    );
  useEffect(() => void load(), [name]);
  const task = tasks?.[0];
  const save = async (verdicts: boolean[] | null) => {
    if (!task || busy.current) return;
    busy.current = true;
    try {
      setWaiting(await api.saveLabel(name, task.id, verdicts));
      setRight([]);
      setProblem("");
      const rest = (tasks ?? []).slice(1);
      if (rest.length) setTasks(rest);
      else await load();
    } catch (error) {
      setProblem(sentenceOf(error));
      if (error instanceof ApiError && error.status === 404) await load();
    } finally {
      busy.current = false;
    }
  };
  const say = (isRight: boolean) => {
    if (!task) return;
    const verdicts = [...right, isRight];
    if (verdicts.length < task.answers.length) setRight(verdicts);
    else void save(verdicts);
  };
  // At once, not after the next picture: a key that comes sooner would be said of the answer before.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.target instanceof HTMLElement && event.target.matches("input, textarea, select")) return;
      if (event.key === "y" || event.key === "n") say(event.key === "y");
      else if (event.key === "s") void save(null);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <div class="page-view label">
      <p class="soft">
        <a href="/label">Label answers</a>
      </p>
      <Heading>{name}</Heading>
      <p class="soft" role="status">
        {tasks && (task ? `${waiting} waiting` : "All are labelled or skipped.")}
      </p>
      {problem && <p class="wrong">{problem}</p>}
      {task && (
        <>
          <h2>{task.question}</h2>
          {task.answers.map((answer, place) => (
            <div key={`${task.id} ${place}`} class={`labelled${place === right.length ? " current" : ""}`}>
              <p class="answer">{answer}</p>
              {place === right.length && (
                <p class="choices">
                  <button class="pick" onClick={() => say(true)}>
                    Right <kbd>y</kbd>
                  </button>{" "}
                  <button class="pick" onClick={() => say(false)}>
                    Wrong <kbd>n</kbd>
                  </button>{" "}
                  <button class="pick" onClick={() => void save(null)}>
                    Skip <kbd>s</kbd>
                  </button>
                </p>
              )}
              {place < right.length && <p class="soft">{right[place] ? "right" : "wrong"}</p>}
            </div>
          ))}
        </>
      )}
    </div>
  );
}
