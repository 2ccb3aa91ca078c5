"""Finds the statement that supports an answer, for people to read: a sentence, a list item, a row, a line of code."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from quorum.algorithms.question_language import find_foreign_language
from quorum.core.context import Context
from quorum.core.conversation import LANGUAGE_NOTE_START
from quorum.core.state import Passage, Result
from quorum.core.statements import find_statement
from quorum.evaluation.searched import describe_searched
from quorum.nodes.evidence import find_span, is_unquotable

OR_WORD = re.compile(r"\bor\b", re.IGNORECASE)  # the question "A or B?" contains its answer
HOW_QUESTION = re.compile(r"\s*how (?:do|can|could|should|to)\b", re.IGNORECASE)
SHELL_COMMAND = re.compile(r"[a-z$./_-][\w./$-]*(?: \S+){1,11}(?<![.!?:])")

if TYPE_CHECKING:
    from quorum.models.embedded.statements import Statement


class Support(TypedDict):
    """The statement of a passage that is shown with an answer. If `is_certain` is false, the statement is only the one
    that fits the question best, and perhaps does not contain the answer.

    passage: the passage's id; start, end: where the statement stands in the passage's text (characters [start, end));
    sentence: the statement's text; span: [start, end] of the words in the passage's text that answer the question, or
    null. certainty: the probability (0..1) that the statement contains the answer, by the embedded reader's
    calibration; null with other models, and for answers that are not short. is_certain: whether the answer can be shown
    without a warning.
    """

    passage: str
    start: int
    end: int
    sentence: str
    span: list[int] | None
    certainty: float | None
    is_certain: bool


class ShownResult(Result, total=False):
    """A result as people see it: with the statement that supports the answer (`support`), a sentence about the
    question (`note`), for example that the built-in reader reads English only, and, with the answer unknown, a sentence
    that says what was searched (`search_note`). Each is null if there is nothing to show.
    """

    support: Support | None
    note: str | None
    search_note: str | None


async def add_supporting_statement_and_language_note(
    question: str, result: Result, context: Context, given: Sequence[Passage] | None = None
) -> ShownResult:
    """The result with the statement that supports the answer (`support`), the note about the question (`note`), and
    what was searched (`search_note`). given: the passages that the question brought.

    For a follow-up question, the first two are found for its rewritten form.
    """
    question_asked = str(result.get("question") or question)
    return {
        **result,
        "support": await find_support(question_asked, result, context),
        "note": make_language_note(question_asked, context),
        "search_note": await describe_searched(result, context, given) if result["unknown"] else None,
    }


def make_language_note(question: str, context: Context) -> str | None:
    """A sentence to show if the built-in reader cannot read the question, because it is not English; else None."""
    language = find_foreign_language(question) if context.model == "embedded" else None
    if language is None:
        return None
    return (
        f"{LANGUAGE_NOTE_START}{language}, and the built-in reader reads English only; ask in English, or choose a "
        "chat model, for example --model openai:NAME."
    )


async def find_support(question: str, result: Result, context: Context) -> Support | None:
    """The statement to show with a result; None if no passage has one.

    For a short answer of the embedded reader, this ranks the statements of all passages and takes the best; the support
    is certain if that statement contains the answer and its certainty is high enough. For any other answer, it takes
    the statement around the first evidence.
    """
    passages = result.get("passages") or []
    if context.model != "embedded" or context.answer_type != "short":
        return find_evidence_statement(result)
    if not result["unknown"] and is_unquotable(result["answer"]):
        return None  # no statement contains such an answer, for example yes
    from quorum.models.embedded.statements import (
        find_certainty,
        get_lowest_sure_certainty,
        rank_statements,
        repeats_question,
    )

    ranked_statements = await rank_statements(question, passages)
    if not ranked_statements:
        return None
    best, passage = ranked_statements[0], passages[ranked_statements[0].passage]
    answer_span = None if result["unknown"] else find_answer_span(result["answer"], best, passage)
    if not OR_WORD.search(question) and repeats_question(result["answer"], question):
        answer_span = None  # only a question "A or B?" can be answered with its own words
    certainty = find_certainty(ranked_statements, agrees=answer_span is not None)
    span = answer_span or ((best.span.start, best.span.end) if best.span else None)
    if HOW_QUESTION.match(question) and is_command(passage["text"][best.start : best.end]):
        span = (best.start, best.end)
    is_certain = answer_span is not None and certainty >= get_lowest_sure_certainty()
    return make_support(passage, (best.start, best.end), span, certainty, is_certain)


def find_evidence_statement(result: Result) -> Support | None:
    """The statement around the first evidence for which a statement is found; None if there is no such evidence."""
    passages = {passage["id"]: passage for passage in result.get("passages") or []}
    for item in result.get("evidence") or []:
        start, end = item["start"], item["end"]
        if start is None or end is None or item["passage"] not in passages:
            continue
        passage = passages[item["passage"]]
        # Passages with places in files were unwrapped when the files were read, so no line of theirs is wrapped.
        statement_span = find_statement(passage["text"], start, end, may_wrap=not passage.get("places"))
        if statement_span is not None:
            return make_support(passage, statement_span, (start, end), None, not result["unknown"])
    return None


def find_answer_span(answer: str, statement: "Statement", passage: Passage) -> tuple[int, int] | None:
    """(start, end) in the passage's text of the answer inside the statement; None if the statement lacks it."""
    span = find_span(answer, passage["text"][statement.start : statement.end])
    return None if span is None else (statement.start + span[0], statement.start + span[1])


def is_command(statement: str) -> bool:
    """Whether a statement looks like a command or a line of code, which answers "How do I ...?" as a whole."""
    return SHELL_COMMAND.fullmatch(statement) is not None


def make_support(
    passage: Passage,
    statement_span: tuple[int, int],
    answer_span: tuple[int, int] | None,
    certainty: float | None,
    is_certain: bool,
) -> Support:
    """The `Support` that shows this statement. The part of `answer_span` outside the statement is cut off."""
    start, end = statement_span
    cut_span = None if answer_span is None else (max(start, answer_span[0]), min(end, answer_span[1]))
    return Support(
        passage=passage["id"],
        start=start,
        end=end,
        sentence=passage["text"][start:end],
        span=[*cut_span] if cut_span is not None and cut_span[0] < cut_span[1] else None,
        certainty=None if certainty is None else round(certainty, 3),
        is_certain=is_certain,
    )


def is_unsure(result: ShownResult) -> bool:
    """Whether the embedded reader is too uncertain of the answer to show it without a warning."""
    support = result.get("support")
    return support is not None and not support["is_certain"] and not result["unknown"]
