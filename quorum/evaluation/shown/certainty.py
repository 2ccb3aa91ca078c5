"""Decides whether an answer of the embedded reader can be shown without a warning."""

import re
from typing import TYPE_CHECKING

from quorum.core.context import Context
from quorum.core.state import Passage, Result
from quorum.evaluation.shown.shown_support import Support, make_shown_statement, quotes
from quorum.nodes.answer_types import get_answer_type
from quorum.nodes.evidence import find_span, is_unquotable

if TYPE_CHECKING:
    from quorum.models.embedded.statements import Statement
    from quorum.models.embedded.support import Findings

HOW_QUESTION = re.compile(r"\s*how (?:do|can|could|should|to)\b", re.IGNORECASE)
SHELL_COMMAND = re.compile(r"[a-z$./_-][\w./$-]*(?: \S+){1,11}(?<![.!?:])")


def judge_embedded_answer(
    question: str, result: Result, support: Support, findings: "Findings", context: Context
) -> Support:
    """The support of an answer of the embedded reader, with its certainty.

    Its yes or no is certain only if a rule for questions that compare two things gives it: its own verdict is little
    better than a guess.
    """
    from quorum.models.embedded.replies_compare import answer_by_rule

    answer_type, is_unknown = result.get("answer_type") or get_answer_type(context, question), result["unknown"]
    if answer_type in ("long", "dialogue") and not is_unknown:
        return judge_quotation(question, result, support, findings)
    if answer_type in ("short", "long") and (is_unknown or not is_unquotable(result["answer"])):
        return judge_reading(question, result, support, findings)
    rule_answer = answer_by_rule({"question": question, "passages": result.get("passages")})
    return {**support, "is_certain": not is_unknown and rule_answer == result["answer"]}


def judge_quotation(question: str, result: Result, support: Support, findings: "Findings") -> Support:
    """The support of an answer in which the embedded reader quotes sentences or steps, with its certainty.

    The answer is certain if it quotes the statement that answers the question best, and its certainty is high enough.
    """
    from quorum.models.embedded.statements import find_certainty, get_lowest_sure_certainty

    if not findings.ranked:
        return {**support, "is_certain": False}
    best, passage = findings.ranked[0], result["passages"][findings.ranked[0].passage]
    has_best_span = best.span_score >= max(statement.span_score for statement in findings.ranked)
    certainty = find_certainty(findings.ranked, agrees=has_best_span)
    statement = make_shown_statement(passage, (best.start, best.end), find_words_to_mark(question, best, passage))
    is_quoted = quotes(result, statement["sentence"])
    shown: Support = {**support, **statement} if is_quoted else support
    return {
        **shown,
        "certainty": round(certainty, 3),
        "is_certain": is_quoted and certainty >= get_lowest_sure_certainty(),
        "closest": None if is_quoted else statement,
    }


def judge_reading(question: str, result: Result, support: Support, findings: "Findings") -> Support:
    """The support of a short answer of the embedded reader, with its certainty.

    The answer is certain if the statement that answers the question best contains it, and its certainty is high enough.
    """
    from quorum.models.embedded.question_words import is_no_answer
    from quorum.models.embedded.statements import find_certainty, get_lowest_sure_certainty

    if not findings.ranked:
        return support
    best, passage = findings.ranked[0], result["passages"][findings.ranked[0].passage]
    answer_span = None if result["unknown"] else find_answer_span(result["answer"], best, passage)
    if is_no_answer(result["answer"], question):
        answer_span = None
    certainty = find_certainty(findings.ranked, agrees=answer_span is not None)
    support["certainty"] = round(certainty, 3)
    span = find_words_to_mark(question, best, passage, answer_span)
    statement = make_shown_statement(passage, (best.start, best.end), span)
    if answer_span is None:
        return {**support, "closest": statement}
    is_certain = certainty >= get_lowest_sure_certainty()
    return {**support, **statement, "state": "stated", "is_certain": is_certain}


def find_answer_span(answer: str, statement: "Statement", passage: Passage) -> tuple[int, int] | None:
    """(start, end) in the passage's text of the answer inside the statement; None if the statement lacks it."""
    span = find_span(answer, passage["text"][statement.start : statement.end])
    return None if span is None else (statement.start + span[0], statement.start + span[1])


def find_words_to_mark(
    question: str, best: "Statement", passage: Passage, answer_span: tuple[int, int] | None = None
) -> tuple[int, int] | None:
    """(start, end) in the passage's text of what answers: a whole command, else the answer or the reader's span."""
    if HOW_QUESTION.match(question) and is_command(passage["text"][best.start : best.end]):
        return best.start, best.end
    return answer_span or ((best.span.start, best.span.end) if best.span else None)


def is_command(statement: str) -> bool:
    """Whether a statement looks like a command or a line of code, which answers "How do I ...?" as a whole."""
    return SHELL_COMMAND.fullmatch(statement) is not None
