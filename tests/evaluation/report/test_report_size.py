"""The report of 500 questions and all methods stays small enough to send around."""

import random
import re
from pathlib import Path
from typing import Any

from report_folder import make_decision, make_detail

from quorum.evaluation.report.questions import QUESTIONS_PER_CHUNK
from quorum.evaluation.report.write import write_report

LARGEST, QUESTIONS = 2_000_000, 500
# The report of those 50 real questions, scaled in the same way, has 1.756 MB, and the one made here 1.467 MB: real rows
# have more measures, votes and candidates.
REAL = 1.756 / 1.467
CORPUS = Path(__file__).parents[3] / "data" / "sample" / "corpus"
PASSAGE_CHARACTERS, SHORT = 474, 30  # methods agree on replies that are shorter than this
# Of each method's answers to 50 questions of the sample with the built-in model: calls, different replies, and the
# characters of all replies together.
REPLIES = {
    "concat": (1, 1, 15), "post_fusion": (5, 2, 55), "pruning": (1, 1, 113), "summary": (1, 1, 396),
    "concat_pf": (2, 1, 20), "pf_concat": (6, 2, 70), "no_retrieval": (1, 1, 7), "base": (1, 1, 11),
    "rerank": (5, 2, 55), "replug": (5, 2, 55), "zero_shot_cot": (1, 1, 136), "selection_inference": (6, 2, 882),
    "self_verification": (8, 2, 747), "filco": (1, 1, 15), "blendfilter": (11, 6, 1076), "direct": (1, 1, 11),
    "cot": (1, 1, 121), "react": (2, 2, 289), "self_ask": (2, 2, 14), "iter_retgen": (2, 1, 243),
    "sure": (7, 6, 308), "mcq": (2, 2, 48), "sum_and_pred": (2, 2, 372), "hyde": (2, 2, 22),
}  # fmt: skip


TEXT = " ".join(path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.md")))


def make_real_detail(number: int, method: str, _: str) -> dict[str, Any]:
    """A line of details.jsonl with passages of the sample, and with replies as long and as different as real ones,
    which repeat what the passages say.
    """
    chooser = random.Random(number)  # the same passages for all methods
    starts = [chooser.randrange(len(TEXT) - PASSAGE_CHARACTERS) for _ in range(5)]
    texts = [TEXT[start : start + PASSAGE_CHARACTERS] for start in starts]
    passages = [{"id": f"p{number}-{rank}", "title": text[:12], "text": text} for rank, text in enumerate(texts)]
    answers = [chooser.randrange(PASSAGE_CHARACTERS // 2) for _ in texts]
    own = random.Random(f"{number} {method}")
    calls, different, characters = REPLIES[method]
    length = max(1, characters // calls)
    starts = answers if length < SHORT else [own.randrange(PASSAGE_CHARACTERS // 2) for _ in texts]
    replies = [texts[rank % 5][starts[rank % 5] :][: length + own.randrange(8)] for rank in range(different)]
    detail = make_detail(number, method, "")
    [call] = detail["calls"]
    sent = [
        call | {"name": f"step {place}", "reply": replies[place % different], "seconds": own.uniform(0.1, 3)}
        for place in range(calls)
    ]
    return detail | {"passages": passages, "rationale": replies[0], "evidence": [], "votes": None, "calls": sent}


def test_the_report_of_500_questions_and_all_methods_stays_below_two_megabytes(tmp_path: Path) -> None:
    decision = make_decision(tmp_path, QUESTIONS_PER_CHUNK, "", None, tuple(REPLIES), make_real_detail)
    page = write_report(decision).read_text(encoding="utf-8")
    index, chunk = re.findall(r'<script type="text/plain"[^>]*>(.*?)</script>', page, re.DOTALL)
    growing = len(index) + len(chunk)
    scaled = len(page.encode()) - growing + growing * QUESTIONS // QUESTIONS_PER_CHUNK
    assert scaled * REAL < LARGEST, f"{scaled * REAL:,.0f} bytes"
