"""Side tasks that chat clients send besides questions: to write a title, tags, follow-up questions or search queries.

Open WebUI begins such a prompt with "### Task:" and puts the chat in <chat_history>; LibreChat asks for a title in
plain words, without such marks. The chat model does side tasks without retrieval. The embedded model cannot do them
and is not asked; `make_fallback_reply` writes a short reply instead.
"""

import json
import re
from collections.abc import Sequence

from quorum.serving.conversation import Message

# Kind of side task -> pattern of the task. The kind is the key of the JSON that the client expects; for an emoji, the
# client expects no JSON.
TASK_PATTERNS = {
    "title": r"\btitle\b",
    "tags": r"\btags\b",
    "follow_ups": r"\bfollow[- ]?ups?\b",
    "queries": r"\bquer(?:y|ies)\b",
    "text": r"\bautocompletion\b|\bcomplet(?:e|ion)\b",
    "prompt": r"\bimage\b",
    "emoji": r"\bemoji\b",
}
# Requests for a title by clients whose prompt does not begin with "### Task:".
TITLE_PATTERNS = (
    r"\bconcise,? (?:5-word-or-less )?title\b.{0,40}\bconversation\b",
    r"\banalyze this conversation and provide\b",
    r"\bgenerate a (?:short|concise) title\b.{0,80}\b(?:conversation|messages)\b",
)
CHAT_HISTORY = re.compile(r"<chat_history>((?:(?!<chat_history>).)*)</chat_history>", re.DOTALL | re.IGNORECASE)
LONGEST_TITLE = 6  # words


def find_task_kind(messages: Sequence[Message]) -> str | None:
    """The kind of side task that the last user message asks for, a key of `TASK_PATTERNS`; None for a question.

    A message that begins with "### Task:" and quotes a chat history is always a side task; its kind is "text" if no
    pattern fits.
    """
    text = find_last_user_message(messages)
    head = text[:400].lower()
    if text.startswith("### Task:") and CHAT_HISTORY.search(text):
        task = head.partition("### guidelines")[0]
        return next((kind for kind, pattern in TASK_PATTERNS.items() if re.search(pattern, task)), "text")
    if any(re.search(pattern, head, re.DOTALL) for pattern in TITLE_PATTERNS) and re.search(
        r"(?m)^(?:User|Human|AI): ", text
    ):
        return "title"
    return "emoji" if re.match(r"your task is to\b.*\bemoji\b", head) and 'message: """' in text.lower() else None


def find_last_user_message(messages: Sequence[Message]) -> str:
    """The last user message, or an empty text."""
    return next((message.text.strip() for message in reversed(messages) if message.role == "user"), "")


def make_fallback_reply(kind: str, text: str) -> str:
    """The reply to a side task without a chat model: for a title, the beginning of the chat's first question; for other
    kinds, an emoji or JSON with an empty value (for tags: "General"). text: the message that asks for the side task.
    """
    if kind == "title":
        title = shorten_title(get_first_question(text))
        return json.dumps({"title": title}, ensure_ascii=False) if "json" in text.lower() else title
    if kind == "emoji":
        return "💬"
    default_value = "" if kind in ("text", "prompt") else ["General"] if kind == "tags" else []
    return json.dumps({kind: default_value})


def get_first_question(text: str) -> str:
    """The first user message in the chat that a side task's text quotes; "Chat" if there is none."""
    history = CHAT_HISTORY.search(text)
    match = re.search(r"(?im)^(?:user|human): *(.+)$", history.group(1) if history else text)
    return match.group(1) if match else "Chat"


def shorten_title(text: str) -> str:
    """The first words of a text, without punctuation after the last of them; "Chat" if nothing is left."""
    return " ".join(text.split()[:LONGEST_TITLE]).rstrip("?!.,;:") or "Chat"
