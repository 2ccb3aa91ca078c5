"""A conversation: its turns, and the input, state and output of the graph that answers follow-up questions."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from quorum.core.errors import SetupError
from quorum.core.state import Passage, Result, State

# "human" and "ai" are LangChain's words for "user" and "assistant".
SPEAKER_OF_ROLE = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}

# What `quorum serve` adds to an answer: words before an unsure answer; then, after the answer, a note about the
# question's language or kind, what was searched for the answer unknown, a quotation, whether no passage contains it,
# and the sources.
UNSURE_PREFIX = "Not sure. Perhaps: "
UNSURE_NOTE = "(Not sure.)"  # after an answer that was streamed while it was written
NO_PASSAGE_CONTAINS = "No passage contains the answer."
LANGUAGE_NOTE_START = "The question looks like "
TYPE_NOTE_START = "The question asks for "
WINDOW_NOTE_START = "Left out of the prompt for want of room: "
SEARCHED_START = "Searched: "
CLOSEST_SENTENCE_HEADING = "The closest sentence:"
STATED_HEADING = "Where the passages say it:"  # above the sentence of an unsure answer, if another one is closer
CLOSEST_WITHOUT_HEADING = "The closest sentence, which does not say it:"
SOURCES_HEADING = "\n\nSources:\n"
READ_HEADING = "\n\nPassages read:\n"  # in place of SOURCES_HEADING, below the answer unknown
# A quotation without a heading is taken for an addition only if the sources follow it: a model's own answer may end
# with a quotation.
ANY_HEADING = f"(?:{SOURCES_HEADING}|{READ_HEADING})"
QUOTE_HEADING = f"(?:{CLOSEST_SENTENCE_HEADING}|{STATED_HEADING}|{CLOSEST_WITHOUT_HEADING})"
TEXT_AFTER_ANSWER = re.compile(
    rf"(?:\n\n{re.escape(UNSURE_NOTE)})?"
    rf"(?:\n\n(?:{LANGUAGE_NOTE_START}|{TYPE_NOTE_START}|{WINDOW_NOTE_START})[^\n]*)?"
    rf"(?:\n\n{SEARCHED_START}[^\n]*)?"
    rf"(?:(?:\n\n{QUOTE_HEADING}\n> [^\n]*){{1,2}}|\n\n> [^\n]*(?={ANY_HEADING}))?"
    rf"(?:\n\n{re.escape(NO_PASSAGE_CONTAINS)}(?={ANY_HEADING}|\Z))?"
    rf"(?:{ANY_HEADING}.*)?\Z",
    re.DOTALL,
)


class Turn(TypedDict):
    """One message of a conversation. role: "user" or "assistant"; content: its text."""

    role: str
    content: str


class ConversationInput(TypedDict, total=False):
    """The input of the graph.

    messages: the conversation, whose last user message is the question. On a thread of a checkpointer, which keeps the
    earlier messages, send only the new one. given: passages to answer from in place of retrieved ones; gold_answers:
    the accepted answers, which only filter_mode=silver reads.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    given: list[Passage] | None
    gold_answers: list[str] | None


class ConversationResult(Result, total=False):
    """A method's result.

    question: the stand-alone question that was answered. messages: the conversation, which now ends with the answer.
    """

    question: str
    messages: Annotated[list[AnyMessage], add_messages]


class ConversationState(State, total=False):
    """The graph's state. messages: the whole conversation; history: the turns before the question, oldest first."""

    messages: Annotated[list[AnyMessage], add_messages]
    history: list[Turn]


def read_history(history: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The turns of a history that a caller gives. Raises `SetupError` for an item that is not a turn.

    >>> read_history([{"role": "human", "content": "Who built it?"}])
    [{'role': 'user', 'content': 'Who built it?'}]
    """
    for number, item in enumerate(history, start=1):
        role, content = (item.get("role"), item.get("content")) if isinstance(item, Mapping) else (None, None)
        if not (isinstance(role, str) and role in SPEAKER_OF_ROLE and isinstance(content, str)):
            raise SetupError(
                f"Item {number} of the history is not a turn ({item!r:.80}); give {{'role': 'user' or 'assistant', "
                "'content': text}."
            )
    return [Turn(role=SPEAKER_OF_ROLE[item["role"]], content=str(item["content"])) for item in history]


def remove_served_additions(text: str) -> str:
    """An answer of `quorum serve` without what the server added to it.

    >>> remove_served_additions('Not sure. Perhaps: 1931\\n\\n> Built in **1931**.\\n\\nSources:\\n1. Towers: "Built"')
    '1931'
    """
    return TEXT_AFTER_ANSWER.sub("", text).removeprefix(UNSURE_PREFIX)
