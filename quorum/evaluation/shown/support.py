"""Finds the statement that supports an answer, for people to read: a sentence, a list item, a row, a line of code."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.algorithms.codes import find_missing_codes
from quorum.algorithms.question_language import find_foreign_language
from quorum.core.context import Context
from quorum.core.conversation import LANGUAGE_NOTE_START, TYPE_NOTE_START, WINDOW_NOTE_START
from quorum.core.shown_answer import list_cited_passages
from quorum.core.state import Evidence, Passage, Result
from quorum.core.statements import find_statement, find_statements
from quorum.evaluation.shown.certainty import judge_embedded_answer
from quorum.evaluation.shown.searched import describe_searched
from quorum.evaluation.shown.shown_support import (
    Support,
    SupportState,
    holds_answer,
    make_shown_statement,
    make_support,
    quotes,
)
from quorum.nodes.answer_types import get_answer_type
from quorum.nodes.evidence import find_span, list_evidence
from quorum.nodes.fit_window import DEFAULT_WINDOW, find_known_window

if TYPE_CHECKING:
    from quorum.models.embedded.support import Findings


class ShownResult(Result, total=False):
    """A result as people see it. Each of its own keys is null if there is nothing to show."""

    support: Support | None
    """What the passages say about the answer."""
    note: str | None
    """A sentence about the question, for example that the built-in reader reads English only."""
    search_note: str | None
    """With the answer unknown, a sentence that says what was searched."""


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
        "note": make_language_note(question_asked, context) or make_answer_type_note(question_asked, result, context),
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


def make_answer_type_note(question: str, result: Result, context: Context) -> str | None:
    """A sentence to show if the method gave a short answer to a question that asks for an explanation or for steps,
    because it gives no longer ones; else None.
    """
    if result.get("answer_type") != "short" or get_answer_type(context, question) != "long":
        return None
    return (
        f"{TYPE_NOTE_START}an explanation or steps, and this method answers short; for a paragraph, choose another "
        "method, for example concat."
    )


async def make_window_note(result: Result, context: Context) -> str | None:
    """A sentence to show if passages were left out of a prompt because of a window that is only assumed; else None.

    For those who do not see the program's log, which says so, too.
    """
    count = result.get("dropped") or 0
    if not count or await find_known_window(context, context.model) is not None:
        return None
    passages = "1 passage" if count == 1 else f"{count:,} passages"
    return (
        f"{WINDOW_NOTE_START}{passages}; nothing says how many tokens the model reads, so {DEFAULT_WINDOW:,} are "
        "assumed; set context_window to the size of its window."
    )


async def find_support(question: str, result: Result, context: Context) -> Support | None:
    """What the passages of a result say about its answer, by the embedded reader and encoder, whatever model answered.

    An unknown answer has no support; with the embedded reader, `closest` holds the statement that answers best. None if
    nothing can be said: no passage was read, or the answer of a chat model stands in none as it is, and the question
    is not English, so that the reader cannot find it in other words.
    """
    from quorum.models.embedded.support import find_support_in_passages

    passages, is_unknown = result.get("passages") or [], result["unknown"]
    is_embedded = context.model == "embedded"
    if not passages and not is_unknown:
        return None
    if not passages or (is_unknown and not is_embedded):
        return make_support("none")
    evidence = [] if is_unknown else list_evidence(result["answer"], passages)
    if evidence and not is_embedded:  # no model is needed to see that the answer stands there
        support = find_stated_answer(question, result["answer"], evidence, passages)
        support["is_certain"] = names_codes_of_question(question, support, passages)
        return support
    cited = find_cited_statement(result, passages)  # where a long answer cites a passage, its sentence was found
    if cited and not is_embedded:
        return {**cited, "is_certain": names_codes_of_question(question, cited, passages)}
    said = "" if is_unknown else str(result.get("answer_text") or result["answer"])
    findings = await find_support_in_passages(question, said, passages, ranks=is_embedded)
    if evidence:
        support = find_stated_answer(question, result["answer"], evidence, passages)
    else:
        support = cited or make_match_support(findings, passages)
    if is_embedded:
        support = judge_embedded_answer(question, result, support, findings, context)
    elif support["state"] == "none" and find_foreign_language(question):
        return None
    else:
        support["is_certain"] = not is_unknown
    if support["is_certain"] and not names_codes_of_question(question, support, passages):
        support["is_certain"] = False
    return support


def find_cited_statement(result: Result, passages: Sequence[Passage]) -> Support | None:
    """The support of a long answer by the first sentence that supports a cited one; None if none does, or if less than
    half of its marks cite a sentence that supports what they mark.
    """
    marks = [item["start"] is not None for item in result.get("citations") or [] for _ in item["at"]]
    if 2 * marks.count(True) < len(marks):
        return None
    by_id = {passage["id"]: passage for passage in passages}
    for cited in list_cited_passages(result):
        if cited.start is not None and cited.end is not None:
            statement = make_shown_statement(by_id[cited.passage["id"]], (cited.start, cited.end), None)
            state: SupportState = "stated" if quotes(result, statement["sentence"]) else "by_content"
            return {**make_support(state, is_certain=True), **statement}
    return None


def find_stated_answer(
    question: str, answer: str, evidence: Sequence[Evidence], passages: Sequence[Passage]
) -> Support:
    """The statement in which a known answer stands; of several, the one with most words of the question."""
    from quorum.models.embedded.statements import describe_headings, measure_word_shares

    by_id = {passage["id"]: passage for passage in passages}
    candidates = [
        (by_id[item["passage"]], bounds)
        for item in evidence
        for bounds in find_statements(by_id[item["passage"]]["text"], may_wrap=may_wrap(by_id[item["passage"]]))
        if holds_answer(answer, by_id[item["passage"]]["text"][slice(*bounds)])
    ]
    if not candidates:  # the answer stands in a title, or reaches over the end of a statement
        return make_evidence_support(evidence, by_id)
    texts = [f"{describe_headings(passage)}: {passage['text'][start:end]}" for passage, (start, end) in candidates]
    shares = measure_word_shares(question, texts)
    passage, (start, end) = candidates[max(range(len(candidates)), key=lambda index: shares[index])]
    span = find_span(answer, passage["text"][start:end])
    shown_span = None if span is None else (start + span[0], start + span[1])
    return {**make_support("stated"), **make_shown_statement(passage, (start, end), shown_span)}


def make_evidence_support(evidence: Sequence[Evidence], passages: Mapping[str, Passage]) -> Support:
    """The support of an answer that no statement holds: the statement around its first place, or only the passage."""
    for item in evidence:
        passage, start, end = passages[item["passage"]], item["start"], item["end"]
        if start is not None and end is not None:
            bounds = find_statement(passage["text"], start, end, may_wrap=may_wrap(passage))
            if bounds is not None:
                return {**make_support("stated"), **make_shown_statement(passage, bounds, (start, end))}
    return make_support("stated", passage=evidence[0]["passage"])


def make_match_support(findings: "Findings", passages: Sequence[Passage]) -> Support:
    """The support by the statement that says the answer in other words, if there is one."""
    best = findings.best
    if best is None:
        return make_support("none")
    statement = make_shown_statement(passages[best.passage], (best.start, best.end), None)
    return {**make_support("by_content"), **statement, "score": round(best.score, 3)}


def names_codes_of_question(question: str, support: Support, passages: Sequence[Passage]) -> bool:
    """Whether the sentence, the title and the headings above it name every code in the question, such as E-4021."""
    passage = next((passage for passage in passages if passage["id"] == support["passage"]), None)
    if passage is None:
        return not find_missing_codes(question, "")
    headings = [heading for place in passage.get("places") or [] for heading in place.get("headings", [])]
    return not find_missing_codes(question, "\n".join([support["sentence"] or "", passage["title"], *headings]))


def may_wrap(passage: Passage) -> bool:
    """Whether a sentence of the passage may continue in the next line.

    Passages with places in files were unwrapped when the files were read.
    """
    return not passage.get("places")
