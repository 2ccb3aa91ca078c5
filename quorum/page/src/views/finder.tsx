import { useEffect, useState } from "preact/hooks";
import { openAdding } from "../components/adding";
import { Dialog } from "../components/dialog";
import { api, type RunHead } from "../api";
import { navigate } from "../router";
import { attemptRead, choose, collections, methods, openDialog } from "../state";

interface Hit {
  kind: string;
  text: string;
  run: () => void;
}

/** Ctrl-K: conversations, collections, methods and commands by their words. */
export function Finder() {
  const isOpen = openDialog.value === "find";
  const [words, setWords] = useState("");
  const [found, setFound] = useState<RunHead[]>([]);
  useEffect(() => {
    if (!isOpen) return;
    void attemptRead(
      "found conversations",
      () => api.listConversations(words),
      ({ data }) => setFound(data.slice(0, 8)),
    );
  }, [isOpen, words]);
  const has = (text: string) => text.toLowerCase().includes(words.toLowerCase());
  const hits: Hit[] = [
    ...found.map((one) => ({ kind: "conversation", text: one.title, run: () => navigate(`/c/${one.id}`) })),
    ...(collections.value ?? []).filter((one) => has(one.id)).map((one) => ({ kind: "documents", text: one.id, run: () => navigate(`/documents/${encodeURIComponent(one.id)}`) })),
    ...(words ? methods.value.filter((one) => has(`${one.id} ${one.title}`)).map((one) => ({ kind: "ask by", text: `${one.id}: ${one.title}`, run: () => choose({ methods: [one.id] }) })) : []),
    ...[
      { kind: "command", text: "New question", run: () => navigate("/") },
      { kind: "command", text: "Documents", run: () => navigate("/documents") },
      { kind: "command", text: "Add documents", run: () => setTimeout(() => openAdding()) },
      { kind: "command", text: "Choose methods", run: () => setTimeout(() => (openDialog.value = "methods")) },
      { kind: "command", text: "Keys", run: () => setTimeout(() => (openDialog.value = "help")) },
    ].filter((one) => has(one.text)),
  ];
  const follow = (hit: Hit | undefined) => {
    if (!hit) return;
    openDialog.value = "";
    setWords("");
    hit.run();
  };
  return (
    <Dialog name="find" title="Find">
      <input type="search" aria-label="Find" placeholder="Conversations, documents, methods, commands" value={words} onInput={(event) => setWords(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && follow(hits[0])} />
      <ul class="hits">
        {hits.map((hit) => (
          <li key={`${hit.kind} ${hit.text}`}>
            <button class="plain" onClick={() => follow(hit)}>
              <span class="soft">{hit.kind}</span> {hit.text}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
