"""Hosted fine-tuning: exports silver data in the chat format of OpenAI and similar services, and checks such files."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.datasets.records import read_json_lines
from quorum.datasets.silver import SilverLine
from quorum.models.token_estimate import estimate_tokens
from quorum.training.pairs import NO_PIECES, TrainingTask

FEWEST_EXAMPLES = 10  # fewest examples that a service accepts
ROLES = ("system", "user", "assistant")
MAX_LISTED_PROBLEMS = 20  # how many problems `quorum filter check` lists one by one


@dataclass
class CheckResult:
    """What `check_file` finds in a file of training examples.

    examples: how many the file has; problems: mistakes that a service would reject or that a model would learn; notes:
    remarks on what need not be a mistake. The other numbers leave out examples with broken messages: tokens, longest:
    the estimated tokens of all examples and of the longest one; none_replies: how many have the reply "None".
    """

    examples: int = 0
    tokens: int = 0
    longest: int = 0
    none_replies: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def export_examples(task: TrainingTask, lines: Sequence[SilverLine], out: Path) -> int:
    """Write one example per line, with the prompt that Quorum sends at run time. Return the number of examples.

    The write is atomic.
    """
    if out.exists():
        raise SetupError(f"{out} is there already; name another file with --out, or remove it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        for line in lines:
            pair = task.make_pair(line, len(task.select_passages(line)))
            messages = [{"role": "user", "content": pair.prompt}, {"role": "assistant", "content": pair.target}]
            file.write(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")
    part.replace(out)
    return len(lines)


def check_file(path: Path, window: int = 16384) -> CheckResult:
    """Read a file in the chat format and list its problems. window: how many tokens an example can have at most.

    Raises SetupError for a file that is not JSON lines at all.
    """
    report = CheckResult()
    first_uses: dict[str, tuple[int, str]] = {}  # prompt -> (line, reply)
    for number, value in read_json_lines(path):
        report.examples += 1
        messages = value.get("messages")
        mistakes = list(find_mistakes(messages))
        report.problems += [f"line {number}: {problem}" for problem in mistakes]
        if mistakes or not isinstance(messages, list):
            continue
        *prompt_parts, reply = [message["content"] for message in messages]
        length = sum(map(estimate_tokens, [*prompt_parts, reply]))
        report.tokens, report.longest = report.tokens + length, max(report.longest, length)
        report.none_replies += reply.strip() == NO_PIECES
        if length > window:
            report.problems.append(
                f"line {number}: about {length} tokens, more than the window of {window}; make the silver data "
                "with fewer passages (quorum filter silver --k N)."
            )
        report.problems += find_repetition(number, "\n".join(prompt_parts), reply, first_uses)
    return add_whole_file_problems(report)


def find_mistakes(messages: Any) -> Iterator[str]:
    """The problems in the messages of one example."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield 'expected {"messages": [{"role": ..., "content": ...}, ...]}.'
        return
    roles = [message.get("role") for message in messages]
    for role in roles:
        if role not in ROLES:
            yield f"the role {role!r} is unknown; use {', '.join(ROLES)}."
    if "user" not in roles or roles[-1:] != ["assistant"]:
        yield "expected a message with the role user, and a last message with the role assistant."
    for role, message in zip(roles, messages, strict=True):
        content = message.get("content")
        if not isinstance(content, str):
            yield f"the content of the message with the role {role} is not a text."
        elif not content.strip():
            yield f"the content of the message with the role {role} is empty" + (
                f"; write {NO_PIECES} where no sentence helps." if role == "assistant" else "."
            )


def find_repetition(number: int, prompt: str, reply: str, first_uses: dict[str, tuple[int, str]]) -> Iterable[str]:
    """Yield a problem if an earlier line has the same prompt; otherwise add this prompt to `first_uses`.

    number: the number of the example's line.
    """
    first_line, first_reply = first_uses.setdefault(prompt, (number, reply))
    if first_line != number:
        relation = "repeats" if first_reply == reply else "contradicts"
        yield f"line {number}: {relation} line {first_line}; keep one of them."


def add_whole_file_problems(report: CheckResult) -> CheckResult:
    """Add the problems and notes about the file as a whole."""
    if report.examples < FEWEST_EXAMPLES:
        report.problems.append(
            f"{report.examples} examples; a fine-tuning service requires at least {FEWEST_EXAMPLES}."
        )
    if report.none_replies and report.none_replies > 0.9 * report.examples:
        report.notes.append(
            f"{report.none_replies} of {report.examples} replies are {NO_PIECES}; the model may learn nothing else."
        )
    return report
