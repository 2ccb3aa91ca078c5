"""The answer of a result as people read it, and the passages that a long answer cites."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quorum.core.state import Passage
from quorum.core.text import UNKNOWN


@dataclass(frozen=True)
class CitedPassage:
    """A passage that an answer cites. number: its number in the answer's marks; start, end: the first sentence of its
    text that supports a cited one, or None.
    """

    number: int
    passage: Passage
    start: int | None
    end: int | None


def get_shown_answer(result: Mapping[str, Any]) -> str:
    """The word "unknown" for an unknown answer; a long answer or a turn of a conversation with its Markdown and the
    marks of the passages that it cites; any other answer as it is.

    >>> result = {"answer": "Two: a b", "answer_text": "Two:\\n- a [1]\\n- b", "citations": [], "unknown": False}
    >>> print(get_shown_answer(result))
    Two:
    - a [1]
    - b
    """
    if result["unknown"]:
        return UNKNOWN
    is_long = result.get("citations") is not None  # null in the results of other answers
    return str((result.get("answer_text") if is_long else None) or result["answer"])


def list_cited_passages(result: Mapping[str, Any]) -> list[CitedPassage]:
    """The passages that a long answer cites, by their numbers; empty for other answers."""
    passages = {passage["id"]: passage for passage in result.get("passages") or []}
    cited: dict[int, CitedPassage] = {}
    for item in (result.get("citations") or []) if not result["unknown"] else []:
        earlier = cited.get(item["n"])
        if item["passage"] in passages and (earlier is None or earlier.start is None):
            cited[item["n"]] = CitedPassage(item["n"], passages[item["passage"]], item["start"], item["end"])
    return [cited[number] for number in sorted(cited)]
