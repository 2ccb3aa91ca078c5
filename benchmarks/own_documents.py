"""How well the built-in reader answers from people's own documents: python -m benchmarks.own_documents [--method NAME]

Indexes data/own_documents, asks its questions, and prints a table and a JSON line with these measures:

sentence        the share of answerable questions for which the right sentence is shown
span            the share of answerable questions for which, in addition, what the reader reads there is right
mark            the share of answerable questions for which, in addition, words are marked that are a right answer
sure            the share of answerable questions whose answer is shown without the warning "not sure"
sure and right  the share of the questions counted under "sure" for which the right sentence is shown
nothing         the share of questions without an answer that get "unknown" or an answer with that warning

A question that asks for steps gets them, as people's questions do; --answer-type short measures short answers only.
Intervals are 95% (Clopper and Pearson).
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quorum.algorithms.binomial import clopper_pearson_upper
from quorum.api.documents import index
from quorum.core.context import Context
from quorum.core.text import normalize
from quorum.evaluation.shown.headline import make_headline
from quorum.evaluation.shown.support import ShownResult, add_supporting_statement_and_language_note
from quorum.graphs import DEFAULT_METHOD, answer

FOLDER = Path(__file__).parent.parent / "data" / "own_documents"


@dataclass(frozen=True)
class Outcome:
    """How one question was answered.

    part: "development" or "held_out"; kind: where the answer stands (prose, table, step, heading, code), or "nothing"
    if the documents do not hold it; has_right_sentence, has_right_span, has_right_mark: whether the sentence shown, the
    span that the reader reads in it and the words marked in it are right, None for a question without an answer (no
    words are marked that contradict the answer); is_sure: whether there is an answer without a warning; shown: the
    sentence, with its span in brackets.
    """

    question: str
    part: str
    kind: str
    has_right_sentence: bool | None
    has_right_span: bool | None
    has_right_mark: bool | None
    is_sure: bool
    shown: str


def read_questions() -> list[dict[str, Any]]:
    lines = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def ask_all(method: str, context: Context) -> list[Outcome]:
    """Ask every question, one after the other, and judge the answers."""
    outcomes = []
    for question in read_questions():
        result = await answer(question["question"], method, context)
        outcomes.append(
            judge_answer(
                question, await add_supporting_statement_and_language_note(question["question"], result, context)
            )
        )
    return outcomes


def judge_answer(question: dict[str, Any], result: ShownResult) -> Outcome:
    """Compare the sentence that is shown with the quote in `meta` of the question (the text that holds the answer), and
    the marked span with the accepted answers.
    """
    headline, support, meta = make_headline(result), result["support"], question["meta"]
    statement: Any = {} if support is None else support["closest"] or support
    sentence, start = statement.get("sentence") or "", statement.get("start") or 0
    # `start` and `span` are character offsets in the passage's text.
    span_start, span_end = statement.get("span") or (start, start)
    span = sentence[span_start - start : span_end - start]
    is_sure = headline.is_sure and support is not None
    before, after = sentence[: span_start - start], sentence[span_end - start :]
    shown = f"{before}[[{span}]]{after}" if span else sentence
    if not question["answers"]:
        return Outcome(question["question"], meta["part"], meta["kind"], None, None, None, is_sure, shown)
    has_quote = any(normalize(meta["quote"]) in normalize(text or "") for text in (headline.quote, headline.closest))
    has_span, has_mark = (
        has_quote and normalize(words) in [normalize(answer) for answer in question["answers"]]
        for words in (span, (headline.quote or "")[slice(*(headline.mark or (0, 0)))])
    )
    return Outcome(question["question"], meta["part"], meta["kind"], has_quote, has_span, has_mark, is_sure, shown)


def summarize(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """(hits, questions) of each measure."""
    answerable = [outcome for outcome in outcomes if outcome.has_right_sentence is not None]
    sure = [item for item in answerable if item.is_sure]
    unanswerable = [outcome for outcome in outcomes if outcome.has_right_sentence is None]
    return {
        "sentence": count_hits(item.has_right_sentence for item in answerable),
        "span": count_hits(item.has_right_span for item in answerable),
        "mark": count_hits(item.has_right_mark for item in answerable),
        "sure": count_hits(item.is_sure for item in answerable),
        "sure and right": count_hits(item.has_right_sentence for item in sure),
        "nothing": count_hits(not item.is_sure for item in unanswerable),
    }


def count_hits(flags: Iterable[bool | None]) -> tuple[int, int]:
    hits = [bool(flag) for flag in flags]
    return sum(hits), len(hits)


def measure_method(method: str = DEFAULT_METHOD, answer_type: Literal["auto", "short"] = "auto") -> list[Outcome]:
    """Index the documents into a temporary store and ask all questions."""
    with tempfile.TemporaryDirectory() as store:
        context = Context(store=store, collection="own", answer_type=answer_type)
        index(FOLDER / "documents", collection="own", context=context)
        return asyncio.run(ask_all(method, context))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default=DEFAULT_METHOD, help="the method that answers (default: %(default)s)")
    parser.add_argument("--answer-type", choices=("auto", "short"), default="auto")
    parser.add_argument("--list", action="store_true", help="print what is shown for each question")
    options = parser.parse_args()
    outcomes = measure_method(options.method, options.answer_type)
    if options.list:
        for outcome in outcomes:
            judgement = {True: "right", False: "wrong", None: "nothing"}[outcome.has_right_sentence]
            print(f"{judgement:<8}{'sure' if outcome.is_sure else '':<6}{outcome.question} -> {outcome.shown}")
    parts = {part: [outcome for outcome in outcomes if outcome.part == part] for part in ("development", "held_out")}
    parts["all"] = outcomes
    print(f"{'':<16}" + "".join(f"{name:>22}" for name in parts))
    tables = {name: summarize(part_outcomes) for name, part_outcomes in parts.items()}
    for measure_name in tables["all"]:
        print(f"{measure_name:<16}" + "".join(f"{format_share(*table[measure_name]):>22}" for table in tables.values()))
    print(json.dumps({"method": options.method, **tables}))


def format_share(hits: int, questions: int) -> str:
    if not questions:
        return "-"
    low = 1 - clopper_pearson_upper(questions - hits, questions, 0.025)
    high = clopper_pearson_upper(hits, questions, 0.025)
    return f"{hits}/{questions} {hits / questions:.0%} [{low:.0%}, {high:.0%}]"


if __name__ == "__main__":
    main()
