"""The questions of report.html: an index with a row for each, and the details that the page shows of an opened one."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.shown_answer import list_cited_passages
from quorum.core.state import Evidence, Passage
from quorum.documents.places import describe_place
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.tasks import RETRIEVAL_TASKS
from quorum.evaluation.shown.headline import make_headline

QUESTIONS_PER_CHUNK = 25  # questions packed together: opening one of them unpacks them all
ROW_KEYS = (  # of results.jsonl
    "error",
    "confidence",
    "calls",
    "input_tokens",
    "output_tokens",
    "malformed",
    "wordy_answers",
    "dropped",
)
SCORE_KEYS = ("em", "f1", "contains", "accuracy", "rouge_l", "str_em", "recall", "hit", "mrr", "answer_in_passages")


def list_questions(results: LineIndex, dataset: DataSet) -> list[str]:
    """The ids of all questions, in the order of their file; those that it does not hold come last. If the file is gone
    or was broken since the questions were asked, they come in the order of their first answers.
    """
    ids = list(dict.fromkeys(id_ for _, id_ in results.offset_of_key))
    try:
        place = {record["id"]: number for number, record in enumerate(dataset.read_in_file_order())}
    except (SetupError, OSError):
        return ids
    return sorted(ids, key=lambda id_: place.get(id_, len(place)))


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
    if value is None and row.get("task") in RETRIEVAL_TASKS:
        return [None, "", None]  # the question names no passages to find
    score = 0.0 if value is None else float(value)
    mark = "u" if row["unknown"] else "r" if score > 0.999 else "w" if score < 0.001 else "p"
    return [round(score, 3), mark, row.get("confidence")]


def collect_details(
    id_: str, results: LineIndex, details: LineIndex, methods: Sequence[str], verdicts: LineIndex | None = None
) -> dict[str, Any]:
    """What the page shows of one opened question: {"answers": ..., "passages": ..., "texts": ...}.

    "answers" has an object for each method, or null if the method was not asked. "passages" has the passages of all
    methods, and "texts" the replies, summaries and rationales, each once; an answer names them by their indexes in
    these lists. What an answer lacks is left out of its object. verdicts: the lines of judged.jsonl.
    """
    shared = SharedTexts()
    answers = [
        None
        if row is None
        else shared.pack_answer(
            row, details.get(method, id_) or {}, None if verdicts is None else verdicts.get(method, id_)
        )
        for method, row in results.list_by_method(id_, methods)
    ]
    return {"answers": answers, "passages": list(shared.passages), "texts": list(shared.texts)}


@dataclass
class SharedTexts:
    """The passages (id, title, text, place) and other texts of a question, each with its index."""

    passages: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)

    def find_passage(self, passage: Passage) -> int:
        key = (passage["id"], passage["title"], passage["text"], describe_place(passage))
        return self.passages.setdefault(key, len(self.passages))

    def find_text(self, text: str | None) -> int | None:
        return None if text is None else self.texts.setdefault(text, len(self.texts))

    def pack_answer(
        self, row: dict[str, Any], detail: Mapping[str, Any], verdict: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """What the page shows of one answer."""
        headline = make_headline({**row, **detail})
        passages = [(passage["id"], self.find_passage(passage)) for passage in detail.get("passages") or []]
        summaries, rationale = detail.get("summaries") or [], detail.get("rationale")
        answer = {
            **{name: row.get(name) for name in ROW_KEYS},
            "seconds": round(row["seconds"], 2),
            "scores_by_measure": collect_scores(row, verdict),
            **{name: detail.get(name) for name in ("candidates", "validity", "scores")},
            "headline": headline.shown_text,
            "badge": headline.badge,
            "path": list_path(detail.get("steps") or []),
            "votes": count_votes(detail.get("votes") or []),
            "summaries": [self.find_text(summary) for summary in summaries],
            "rationale": None if rationale in summaries else self.find_text(rationale),
            "passages": [number for _, number in passages],
            **pack_evidence(row, detail, dict(passages)),
            "replies": [
                [
                    call["name"],
                    self.find_text(call["reply"]),
                    call["input_tokens"],
                    call["output_tokens"],
                    round(call["seconds"], 2),
                    int(call["reused"]),
                ]
                for call in detail.get("calls") or []
            ],
        }
        return {name: value for name, value in answer.items() if not (value is None or value is False or value == [])}


def pack_evidence(row: Mapping[str, Any], detail: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    """The evidence as [passage, start, end], and the passages that voted for the answer without holding it. numbers:
    the index of each passage that the method read.
    """
    cited = list_cited_evidence(row, detail)
    places = [
        [numbers[item["passage"]], item["start"], item["end"]]
        for item in cited or detail.get("evidence") or []
        if item["passage"] in numbers
    ]
    voters = [numbers[id_] for id_ in detail.get("voters_without_evidence") or [] if id_ in numbers]
    return {"evidence": places, "has_citations": bool(cited), "voters_without_evidence": voters}


def list_path(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """The nodes of the method itself, without those of its subgraphs; repetitions in one round are one entry.

    >>> step = {"enclosing_step": None, "round": 3}
    >>> list_path([{"node": "begin", **step}, {"node": "answer", **step}, {"node": "answer", **step}])
    ['answer ×2']
    """
    own = [step for step in steps if step["enclosing_step"] is None and step["node"] != "begin"]
    groups = groupby(own, key=lambda step: (step["node"], step["round"]))
    counts = [(node, sum(1 for _ in group)) for (node, _), group in groups]
    return [f"{node} ×{count}" if count > 1 else node for node, count in counts]


def count_votes(votes: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """[answer, number of votes, ranks of the passages that voted for it, from 1], the most votes first.

    >>> count_votes([{"rank": rank, "answer": "Rome", "unknown": rank == 1} for rank in range(3)])
    [['Rome', 2, '1, 3'], ['unknown', 1, '2']]
    """
    ranks: dict[str, list[int]] = {}
    for vote in votes:
        ranks.setdefault("unknown" if vote["unknown"] else vote["answer"], []).append(vote["rank"] + 1)
    return [
        [answer, len(list_), ", ".join(map(str, dict.fromkeys(list_)))]
        for answer, list_ in sorted(ranks.items(), key=lambda item: -len(item[1]))
    ]


def list_cited_evidence(row: Mapping[str, Any], detail: Mapping[str, Any]) -> list[Evidence]:
    """The passages that the answer cites; empty if it cites none."""
    return [
        Evidence(passage=item.passage["id"], start=item.start, end=item.end)
        for item in list_cited_passages({**row, **detail, "unknown": bool(row.get("unknown"))})
    ]


def collect_scores(row: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> dict[str, float]:
    """The answer's score in each measure that it has, and the judge's verdict."""
    scores = {name: round(row[name], 4) for name in SCORE_KEYS if row.get(name) is not None}
    judged_right = None if verdict is None else verdict["judged"]
    return scores if judged_right is None else scores | {"judged": judged_right}


def pack_details(
    ids: Sequence[str],
    results: LineIndex,
    details: LineIndex,
    methods: Sequence[str],
    verdicts: LineIndex | None = None,
) -> Iterator[str]:
    """The details of the questions in chunks of QUESTIONS_PER_CHUNK: each a list, packed."""
    for start in range(0, len(ids), QUESTIONS_PER_CHUNK):
        chunk = [
            collect_details(id_, results, details, methods, verdicts)
            for id_ in ids[start : start + QUESTIONS_PER_CHUNK]
        ]
        yield pack(chunk)


def pack(value: Any) -> str:
    """Compact JSON, compressed by gzip and encoded in base64: it has no characters of markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


def open_results(folder: Path) -> tuple[LineIndex, LineIndex]:
    """Open results.jsonl and details.jsonl."""
    return LineIndex(folder / "results.jsonl"), LineIndex(folder / "details.jsonl")
