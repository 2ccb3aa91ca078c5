"""Measures of what was retrieved: recall, hit, MRR and their intervals."""

import json
from pathlib import Path

import pytest
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.evaluation.metrics.statistics import compute_mean_interval
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.retrievers.index import index_passages

PARTS = ("hinge", "lever", "spring", "bolt", "wheel", "valve")
CONTEXT = Context(model="embedded", retriever="bm25", k=1, shorten="off")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six questions about six passages, two for each of three documents. The gold passage of the last one is the second
    that is found.
    """
    passages: list[Passage] = [
        {"id": part, "title": part, "text": f"The {part} costs {number} crowns."} for number, part in enumerate(PARTS)
    ]
    index_passages(passages, collection="parts")
    file = tmp_path / "data.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number, part in enumerate(PARTS):
            gold = part if part != "valve" else "wheel"
            question = f"What does the {part}{' valve wheel' if part == 'valve' else ''} cost?"
            record = {"id": part, "question": question, "answers": [str(number)], "gold": [gold]}
            lines.write(json.dumps(record | {"meta": {"document": str(number // 2)}}) + "\n")
    return file


async def test_measures_of_passages_have_the_intervals_of_answers(data: Path, quorum: Quorum) -> None:
    out = data.parent / "out"
    scores = await evaluate(
        Options(data=data, out=out, methods="concat,concat[k=2]", context=CONTEXT, collection="parts")
    )
    one, two = scores.summary.values()
    documents = [number // 2 for number in range(6)]
    for row, values in ((one, [1, 1, 1, 1, 1, 0]), (two, [1, 1, 1, 1, 1, 1])):
        for measure in ("recall", "hit"):
            interval = [row[measure], row[f"{measure}_low"], row[f"{measure}_high"]]
            assert interval == pytest.approx(list(compute_mean_interval(values, documents)), abs=1e-6)
    expected = compute_mean_interval([1, 1, 1, 1, 1, 0.5], documents)
    assert [two["mrr"], two["mrr_low"], two["mrr_high"]] == pytest.approx(list(expected), abs=1e-6)
    differences = read_json_file(out / "comparison.json")[0]["methods"]["concat[k=2]"]
    assert differences["hit"]["difference"] == pytest.approx(1 / 6, abs=1e-6)
    shown = quorum("show", str(out)).out
    assert all(title in shown for title in ("recall", "hit", "MRR"))
    assert f"{100 * one['recall']:.1f} [" in shown
