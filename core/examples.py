"""Demonstrations for few-shot prompts, from a file of the user's own."""

from functools import lru_cache
from pathlib import Path
from typing import NotRequired, TypedDict

from core.data import as_passage, lines_of, list_of, shown
from core.errors import SetupError
from core.state import Passage


class Example(TypedDict):
    """One demonstration. `rationale`: the reasoning before the answer; `passages`: what it was read from."""

    question: str
    answer: str
    rationale: NotRequired[str]
    passages: NotRequired[list[Passage]]


def read_examples(path: str) -> tuple[Example, ...]:
    """The demonstrations of a file of JSON lines {"question", "answer", "rationale", "passages"}; the last two may be
    missing. Read again when the file has changed. A broken line, or a file without any, is a `SetupError`.
    """
    file = Path(path)
    stamp = file.stat().st_mtime_ns if file.is_file() else 0
    return parsed(path, stamp)


@lru_cache(maxsize=32)
def parsed(path: str, stamp: int) -> tuple[Example, ...]:
    found = []
    for number, value in lines_of(Path(path)):
        where = f"{path}, line {number}"
        question, answer, rationale = value.get("question"), value.get("answer"), value.get("rationale")
        if not isinstance(question, str) or not isinstance(answer, str):
            raise SetupError(f'{where}: expected {{"question": text, "answer": text}}, found {shown(value)}.')
        example = Example(question=question, answer=answer)
        if isinstance(rationale, str):
            example["rationale"] = rationale
        if passages := list_of(value, "passages", where):
            example["passages"] = [as_passage(passage, where) for passage in passages]
        found.append(example)
    if not found:
        raise SetupError(f"There are no examples in {path}; give JSON lines of question and answer.")
    return tuple(found)
