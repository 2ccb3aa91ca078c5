"""Demonstrations for few-shot prompts, from a file of the user's own."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from quorum.core.errors import SetupError
from quorum.core.state import Passage, Step
from quorum.datasets.records import as_passage, lines_of, list_of, shown


class Example(TypedDict):
    """One demonstration. `rationale`: the reasoning before the answer; `passages`: what it was read from; `steps`: for
    methods that search more than once, what was asked on the way, each with what was found and the answer to it.
    """

    question: str
    answer: str
    rationale: NotRequired[str]
    passages: NotRequired[list[Passage]]
    steps: NotRequired[list[Step]]


def read_examples(path: str) -> tuple[Example, ...]:
    """The demonstrations of a file of JSON lines {"question", "answer", "rationale", "passages", "steps"}.

    The last three may be missing; a step is {"query", "answer", "thought", "passages"}. Read again when the file has
    changed. A broken line, or a file without any, is a `SetupError`.
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
        if steps := list_of(value, "steps", where):
            example["steps"] = [as_step(step, where) for step in steps]
        found.append(example)
    if not found:
        raise SetupError(f"There are no examples in {path}; give JSON lines of question and answer.")
    return tuple(found)


def as_step(value: Any, where: str) -> Step:
    """A step of a demonstration, checked."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("query", "answer")):
        raise SetupError(f'{where}: expected a step {{"query": text, "answer": text}}, found {shown(value)}.')
    passages = [as_passage(passage, where) for passage in list_of(value, "passages", where)]
    thought = value.get("thought")
    return Step(
        thought=thought if isinstance(thought, str) else "",
        query=value["query"],
        passages=passages,
        answer=value["answer"],
    )
