"""Reads demonstrations (answered questions) for few-shot prompts from a user's file."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from quorum.core.errors import SetupError
from quorum.core.state import Passage, Step
from quorum.datasets.records import get_list, parse_passage, preview_value, read_json_lines


class Example(TypedDict):
    """One demonstration.

    rationale: the reasoning before the answer; passages: the passages that hold the answer; steps: the searches on the
    way to the answer, for methods that search more than once.
    """

    question: str
    answer: str
    rationale: NotRequired[str]
    passages: NotRequired[list[Passage]]
    steps: NotRequired[list[Step]]


def read_examples(path: str) -> tuple[Example, ...]:
    """Read the demonstrations in a file of JSON lines {"question", "answer", "rationale", "passages", "steps"}.

    "question" and "answer" are required. A step is {"query", "answer", "thought", "passages"}, of which "query" and
    "answer" are required. The result is cached until the file changes. Raises `SetupError` for a broken line or an
    empty file.
    """
    file = Path(path)
    change_time = file.stat().st_mtime_ns if file.is_file() else 0
    return read_examples_cached(path, change_time)


@lru_cache(maxsize=32)
def read_examples_cached(path: str, change_time: int) -> tuple[Example, ...]:
    """Read the demonstrations in a file. change_time: the time when the file was last changed. It is only a part of the
    cache's key, so that a changed file is read again.
    """
    examples = []
    for number, value in read_json_lines(Path(path)):
        where = f"{path}, line {number}"
        question, answer, rationale = value.get("question"), value.get("answer"), value.get("rationale")
        if not isinstance(question, str) or not isinstance(answer, str):
            raise SetupError(f'{where}: expected {{"question": text, "answer": text}}, found {preview_value(value)}.')
        example = Example(question=question, answer=answer)
        if isinstance(rationale, str):
            example["rationale"] = rationale
        if passages := get_list(value, "passages", where):
            example["passages"] = [parse_passage(passage, where) for passage in passages]
        if steps := get_list(value, "steps", where):
            example["steps"] = [parse_step(step, where) for step in steps]
        examples.append(example)
    if not examples:
        raise SetupError(f"There are no examples in {path}; give JSON lines of question and answer.")
    return tuple(examples)


def parse_step(value: Any, where: str) -> Step:
    """Check one step of a demonstration and return it. where: the file and the line, which a `SetupError` names."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("query", "answer")):
        raise SetupError(f'{where}: expected a step {{"query": text, "answer": text}}, found {preview_value(value)}.')
    passages = [parse_passage(passage, where) for passage in get_list(value, "passages", where)]
    thought = value.get("thought")
    return Step(
        thought=thought if isinstance(thought, str) else "",
        query=value["query"],
        passages=passages,
        answer=value["answer"],
    )
