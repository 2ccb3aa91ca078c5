"""Converts examples of a LangSmith data set: inputs with a question, and outputs with the accepted answers."""

from collections.abc import Mapping
from typing import Any

from quorum.datasets.formats.convert import Format, UnusableRecord, make_record
from quorum.datasets.records import Record, parse_passage

QUESTION_KEYS = ("question", "input", "query", "prompt", "user_input")
ANSWER_KEYS = (
    *("answers", "answer", "output", "reference", "reference_answer", "expected", "expected_output", "expected_answer"),
    *("ground_truth", "ground_truths", "label", "response"),
)
USER_ROLES = ("user", "human")
TASKS = ("short", "yes_no", "label", "dialogue", "long")


def convert_example(value: dict[str, Any], where: str) -> Record:
    """The record of an example. `meta.metadata` are its metadata; a task among them, which Quorum's own upload writes,
    is the question's.
    """
    inputs, outputs = value["inputs"], value.get("outputs", value.get("reference_outputs"))
    metadata = dict(value.get("metadata") or {})
    task = metadata.pop("task", None)
    passages = [parse_passage(item, where) for item in inputs.get("passages") or []]
    return make_record(
        value.get("id"),
        find_question(inputs),
        find_answers(outputs),
        passages,
        metadata=metadata,
        answer_type=task if task in TASKS else None,
    )


def find_question(inputs: Mapping[str, Any]) -> str:
    """The question: the first of QUESTION_KEYS, else the only text there is, or the user's only message.

    >>> find_question({"input": "Who built it?"}), find_question({"messages": [{"role": "user", "content": "Who?"}]})
    ('Who built it?', 'Who?')
    """
    lowered = {str(key).lower(): item for key, item in inputs.items()}
    for key in QUESTION_KEYS:
        if isinstance(lowered.get(key), str):
            return str(lowered[key])
    messages = lowered.get("messages", lowered.get("input"))
    if isinstance(messages, list):
        return find_only_message(messages)
    texts = [item for item in inputs.values() if isinstance(item, str)]
    if len(texts) == 1:
        return texts[0]
    raise UnusableRecord(
        f"its inputs have the keys {list_names(inputs)}, of which none is a question; name it question, input or query"
    )


def find_only_message(messages: list[Any]) -> str:
    """The text of the user's message in a conversation that has only one."""
    asked = [text for message in messages if (text := read_message(message, USER_ROLES)) is not None]
    if len(asked) != 1:
        raise UnusableRecord(f"its inputs are a conversation with {len(asked)} messages of the user; give questions")
    return asked[0]


def read_message(value: Any, roles: tuple[str, ...] = ()) -> str | None:
    """The text of a message as LangSmith stores it; None for another role, or for what is no message."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("kwargs", value.get("data", value))  # LangChain's serialised messages
    fields = {**value, **inner} if isinstance(inner, Mapping) else dict(value)
    role, content = str(fields.get("role") or fields.get("type") or ""), fields.get("content")
    return content if isinstance(content, str) and (not roles or role in roles) else None


def find_answers(outputs: Any) -> list[str]:
    """The accepted answers: the first of ANSWER_KEYS, else the only value there is. An empty list says that "unknown"
    is right.
    """
    if not isinstance(outputs, Mapping) or not outputs:
        raise UnusableRecord("it has no outputs, so its answer cannot be scored")
    lowered = {str(key).lower(): item for key, item in outputs.items()}
    key = next((key for key in ANSWER_KEYS if lowered.get(key) is not None), None)
    if key is None and len(lowered) == 1:
        [key] = lowered
    if key is None:
        raise UnusableRecord(
            f"its outputs have the keys {list_names(outputs)}, of which none is an answer; name it answer or answers"
        )
    found = lowered[key]
    items = found if isinstance(found, list) else [found]
    answers = [text for item in items if (text := read_answer(item)) is not None]
    if len(answers) < len(items):
        raise UnusableRecord(f"its output {key!r} is neither a text nor a list of texts")
    return answers


def read_answer(value: Any) -> str | None:
    """A value as an answer: a text, a number, yes or no for true or false, or a message's text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else read_message(value)


def list_names(values: Mapping[str, Any]) -> str:
    return ", ".join(map(str, list(values)[:10])) or "(none)"


LANGSMITH = Format(
    "a LangSmith example",
    'a LangSmith example {"inputs": {"question"}, "outputs": {"answer"}}',
    lambda value: isinstance(value.get("inputs"), dict) and ("outputs" in value or "reference_outputs" in value),
    convert_example,
)
