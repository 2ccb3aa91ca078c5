import { useState } from "preact/hooks";
import type { RunHead } from "../api";
import { conversationKey, conversationQuery, conversations, hasMoreConversations, isDrawerOpen, mayLabel, openDialog, refreshConversations, removeConversation, renameConversation } from "../state";

/** The left column: earlier conversations, searched, renamed, deleted, exported. */
export function Conversations() {
  const close = () => (isDrawerOpen.value = false);
  let day = "";
  return (
    <nav class="conversations" aria-label="Conversations">
      <a class="brand" href="/" onClick={close}>
        Quorum
      </a>
      <a class="new" href="/" onClick={close}>
        New question
      </a>
      <input
        type="search"
        aria-label="Search conversations"
        placeholder="Search conversations"
        value={conversationQuery}
        onInput={(event) => {
          conversationQuery.value = event.currentTarget.value;
          void refreshConversations();
        }}
      />
      <ul>
        {conversations.value.map((one) => {
          const heading = nameDay(one.asked_at);
          const isNew = heading !== day;
          day = heading;
          return [isNew && <li key={heading} class="day">{heading}</li>, <Item key={one.id} run={one} onFollow={close} />];
        })}
      </ul>
      {!conversations.value.length && <p class="soft">{conversationQuery.value ? "No conversation has these words." : "No conversations yet."}</p>}
      {hasMoreConversations.value && (
        <button class="link" onClick={() => void refreshConversations(true)}>
          Earlier ones
        </button>
      )}
      <span class="grow" />
      <a href="/documents" onClick={close}>
        Documents
      </a>
      {mayLabel.value && (
        <a href="/label" onClick={close}>
          Label answers
        </a>
      )}
      <button class="plain" onClick={() => (openDialog.value = "find")}>
        Find <kbd>Ctrl K</kbd>
      </button>
      <button class="plain" onClick={() => (openDialog.value = "help")}>
        Keys <kbd>?</kbd>
      </button>
    </nav>
  );
}

function Item({ run, onFollow }: { run: RunHead; onFollow: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isOpen, setOpen] = useState(false);
  if (isEditing)
    return (
      <li>
        <input
          aria-label="Title"
          defaultValue={run.title}
          ref={(element) => element?.focus()}
          onBlur={() => setEditing(false)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setEditing(false);
            if (event.key !== "Enter" || !event.currentTarget.value.trim()) return;
            void renameConversation(run.id, event.currentTarget.value.trim());
            setEditing(false);
          }}
        />
      </li>
    );
  return (
    <li class="item">
      <a href={`/c/${run.id}`} title={run.title} aria-current={conversationKey.value === run.id ? "page" : undefined} onClick={onFollow}>
        {run.title}
      </a>
      <button class="more" aria-label={`More for ${run.title}`} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        ⋯
      </button>
      {isOpen && (
        <div class="actions">
          <button class="link" onClick={() => (setOpen(false), setEditing(true))}>
            Rename
          </button>
          <button class="link" onClick={() => void removeConversation(run.id)}>
            Delete
          </button>
          <a href={`/v1/runs/${run.id}.md`} download>
            Markdown
          </a>
          <a href={`/v1/runs/${run.id}.json`} download>
            JSON
          </a>
        </div>
      )}
    </li>
  );
}

function nameDay(seconds: number): string {
  const date = new Date(seconds * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 1) return days <= 0 ? "Today" : "Yesterday";
  return date.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
}
