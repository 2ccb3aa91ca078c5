"""The questions of report.html: an index with a row for each, and the details that the page shows of an opened one."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quorum.core.shown_answer import list_cited_passages
from quorum.core.state import Evidence
from quorum.documents.places import describe_place
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.shown.headline import make_headline

QUESTIONS_PER_CHUNK = 25  # questions packed together: opening one of them unpacks them all
COST_KEYS = ("calls", "input_tokens", "output_tokens", "seconds")
ROW_KEYS = ("answer", "error", "confidence", *COST_KEYS, "malformed", "wordy_answers", "dropped")  # of results.jsonl
DETAIL_KEYS = (  # of details.jsonl
    "rationale",
    "candidates",
    "summaries",
    "validity",
    "scores",
    "votes",
    "evidence",
    "voters_without_evidence",
    "steps",
)
SCORE_KEYS = ("em", "f1", "contains", "accuracy", "rouge_l", "str_em")


def list_questions(results: LineIndex) -> list[str]:
    """The ids of all questions, in the order of their first answers."""
    return list(dict.fromkeys(id_ for _, id_ in results.offset_of_key))


def make_index_row(id_: str, results: LineIndex, methods: Sequence[str], measure: str) -> list[Any]:
    """[id, question, gold answers, then a cell [score, mark, confidence] for each method].

    The mark is "r" (right), "w" (wrong), "p" (partly right), "u" (unknown), "e" (error), or "" if the method was not
    asked. measure: the measure whose value is the score.
    """
    question, gold, cells = "", [], []
    for _, row in results.list_by_method(id_, methods):
        if row is not None:
            question, gold = row["question"], row["gold"]
        cells.append(make_index_cell(row, measure))
    return [id_, question, gold, *cells]


def make_index_cell(row: dict[str, Any] | None, measure: str) -> list[Any]:
    if row is None:
        return [None, "", None]
    if row["error"] is not None:
        return [None, "e", None]
    value = row.get(measure)
    score = 0.0 if value is None else float(value)
    mark = "u" if row["unknown"] else "r" if score > 0.999 else "w" if score < 0.001 else "p"
    return [round(score, 3), mark, row.get("confidence")]


def collect_details(
    id_: str, results: LineIndex, details: LineIndex, methods: Sequence[str], verdicts: LineIndex | None = None
) -> dict[str, Any]:
    """What the page shows of one opened question: {"answers": ..., "passages": ...}.

    "answers" has an object for each method, or null if the method was not asked. "passages" has the passages of all
    methods, each once; an answer names its passages by their indexes in this list. verdicts: the lines of judged.jsonl.
    """
    passages: dict[tuple[str, str, str, str], int] = {}  # id, title, text, where it stands
    answers: list[dict[str, Any] | None] = []
    for method, row in results.list_by_method(id_, methods):
        if row is None:
            answers.append(None)
            continue
        detail = details.get(method, id_) or {}
        passage_numbers = [
            passages.setdefault(
                (passage["id"], passage["title"], passage["text"], describe_place(passage)),
                len(passages),
            )
            for passage in detail.get("passages") or []
        ]
        headline = make_headline({**row, **detail})
        answers.append(
            {name: row.get(name) for name in ROW_KEYS}
            | {"scores_by_measure": collect_scores(row, None if verdicts is None else verdicts.get(method, id_))}
            | {name: detail.get(name) for name in DETAIL_KEYS}
            | {"headline": headline.shown_text, "badge": headline.badge}
            | describe_citations(row, detail)
            | {"replies": detail.get("calls"), "passages": passage_numbers, "unknown": row.get("unknown")}
        )
    return {"answers": answers, "passages": list(passages)}


def describe_citations(row: Mapping[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    """As evidence the passages that the answer cites; {} if it cites none."""
    cited = [
        Evidence(passage=item.passage["id"], start=item.start, end=item.end)
        for item in list_cited_passages({**row, **detail, "unknown": bool(row.get("unknown"))})
    ]
    return {"evidence": cited, "has_citations": True} if cited else {}


def collect_scores(row: dict[str, Any], verdict: dict[str, Any] | None) -> dict[str, float]:
    """The answer's score in each measure that it has, and the judge's verdict."""
    scores = {name: row[name] for name in SCORE_KEYS if row.get(name) is not None}
    judged_right = None if verdict is None else verdict["judged"]
    return scores if judged_right is None else scores | {"judged": judged_right}


def pack_details(
    ids: Sequence[str],
    results: LineIndex,
    details: LineIndex,
    methods: Sequence[str],
    verdicts: LineIndex | None = None,
) -> Iterator[str]:
    """The details of the questions in chunks of QUESTIONS_PER_CHUNK. Each chunk is a JSON list, compressed by gzip and
    encoded in base64, so that it contains no characters of markup.
    """
    for start in range(0, len(ids), QUESTIONS_PER_CHUNK):
        chunk = [
            collect_details(id_, results, details, methods, verdicts)
            for id_ in ids[start : start + QUESTIONS_PER_CHUNK]
        ]
        packed_chunk = gzip.compress(json.dumps(chunk, ensure_ascii=False).encode("utf-8", "replace"), 6, mtime=0)
        yield base64.b64encode(packed_chunk).decode()


def open_results(folder: Path) -> tuple[LineIndex, LineIndex]:
    """Open results.jsonl and details.jsonl."""
    return LineIndex(folder / "results.jsonl"), LineIndex(folder / "details.jsonl")


def escape_script_json(value: Any) -> str:
    """JSON that is safe in a script element: nothing in it ends the element or opens a comment."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
