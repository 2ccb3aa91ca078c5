"""How well Quorum finds the sentence that supports an answer: python -m benchmarks.support [--part NAME] [--list]

Judges the 220 answers in data/support (its README.md says what they are) by the statement of the passages that supports
each, and prints a table and a JSON line for each part (the two halves of the first 160, and the later ones):

precision  of the answers that are said to be supported, the share for which this is right and the sentence is, too
recall     of the supported answers, the share that are said to be supported, by the right sentence

Intervals are 95% (Clopper and Pearson). --list also prints the answers that were judged wrongly.
"""

import argparse
import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.algorithms.binomial import clopper_pearson_upper
from quorum.core.state import Passage, Place
from quorum.models.embedded.support import find_support_in_passages

FOLDER = Path(__file__).parent.parent / "data" / "support"
PARTS = ("first", "second", "later")
FILES = (("passages.jsonl", "cases.jsonl"), ("later_passages.jsonl", "later_cases.jsonl"))


@dataclass(frozen=True)
class Case:
    """An answer to judge. quotes: parts of the sentences that support it; empty if none does."""

    id: str
    kind: str
    question: str
    answer: str
    quotes: list[str]
    miss: str | None
    passages: list[Passage]
    is_later: bool = False

    @property
    def part(self) -> str:
        return "later" if self.is_later else PARTS[hashlib.sha256(self.id.encode()).digest()[0] % 2]


@dataclass(frozen=True)
class Judged:
    """sentence: the one that is said to support the answer, or None; is_right: whether it does."""

    case: Case
    sentence: str | None
    is_right: bool


def read_cases(part: str | None = None) -> list[Case]:
    """The cases of one part, or all."""
    cases = [case for files in FILES for case in read_file(*files)]
    return [case for case in cases if part in (None, case.part)]


def read_file(passages_file: str, cases_file: str) -> list[Case]:
    passages: dict[str, list[Passage]] = {}
    for item in read_lines(FOLDER / passages_file):
        # A place, as passages of indexed files have: their lines are not wrapped.
        place = Place(file=f"{item['id']}.md")
        passage = Passage(id=item["id"], title=item["title"], text=item["text"], places=[place])
        passages.setdefault(item["group"], []).append(passage)
    return [
        Case(
            **{name: item[name] for name in ("id", "kind", "question", "answer", "quotes", "miss")},
            passages=passages[item["group"]],
            is_later=cases_file.startswith("later"),
        )
        for item in read_lines(FOLDER / cases_file)
    ]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def judge(case: Case) -> Judged:
    best = (await find_support_in_passages(case.question, case.answer, case.passages)).best
    if best is None:
        return Judged(case, None, is_right=False)
    sentence = case.passages[best.passage]["text"][best.start : best.end]
    return Judged(case, sentence, is_right=any(quote in sentence for quote in case.quotes))


async def judge_all(cases: Sequence[Case]) -> list[Judged]:
    return [await judge(case) for case in cases]


def summarize(judged: Sequence[Judged]) -> dict[str, tuple[int, int]]:
    """(hits, cases) of each measure."""
    said = [item for item in judged if item.sentence is not None]
    supported = [item for item in judged if item.case.quotes]
    return {
        "precision": (sum(item.is_right for item in said), len(said)),
        "recall": (sum(item.is_right for item in supported), len(supported)),
    }


def format_share(hits: int, cases: int) -> str:
    if not cases:
        return "-"
    low = 1 - clopper_pearson_upper(cases - hits, cases, 0.025)
    return f"{hits}/{cases} {hits / cases:.1%} [{low:.0%}, {clopper_pearson_upper(hits, cases, 0.025):.0%}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="judge only this part")
    parser.add_argument("--list", action="store_true", help="print the answers that were judged wrongly")
    options = parser.parse_args()
    for part in [options.part] if options.part else PARTS:
        begin = time.perf_counter()
        judged = asyncio.run(judge_all(read_cases(part)))
        seconds = (time.perf_counter() - begin) / len(judged)
        if options.list:
            for item in judged:
                if item.is_right != bool(item.case.quotes) or (item.sentence and not item.is_right):
                    print(f"{item.case.id:<16}{item.case.question} | {item.case.answer} | {item.sentence}")
        counts = summarize(judged)
        print(f"{part:<8}" + "".join(f"{name} {format_share(*count):<28}" for name, count in counts.items()))
        print(json.dumps({"part": part, "seconds_per_answer": round(seconds, 3), **counts}))


if __name__ == "__main__":
    main()
