"""Measures the embedded reader: python -m training.evaluate --help. Prints one JSON object.

It needs no torch. EM and F1 are computed on the reader's best span, even where the reader would say unknown. AUROC is
the chance that a passage with the answer has a higher calibrated score than a passage without it.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.state import Passage
from quorum.core.text import squad_exact_match, squad_f1
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.encoder import Encoder
from quorum.models.embedded.reading import Calibration, Reading
from training.examples import read_records


def compute_auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a random positive scores above a random negative; a tie counts as half."""
    p, n = np.asarray(positive), np.asarray(negative)
    _, ranks = np.unique(np.concatenate([p, n]), return_inverse=True)
    counts = np.bincount(ranks)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2  # tied scores share their mean rank
    total = mean_ranks[ranks[: len(p)]].sum()
    return float((total - len(p) * (len(p) + 1) / 2) / (len(p) * len(n)))


def read_job_batches(model: Encoder, calibration: Calibration, jobs: Sequence[Job]) -> list[Reading]:
    return [
        result.reading
        for begin in range(0, len(jobs), 64)
        for result in read_jobs(jobs[begin : begin + 64], model, calibration)
    ]


def score_readings(readings: Sequence[Reading], answers: Sequence[list[str]]) -> dict[str, float]:
    """The number of readings (n), and the mean EM and F1 of their best spans.

    answers: for each reading, the accepted answers.
    """
    texts = [reading.spans[0].text if reading.spans else "" for reading in readings]
    return {
        "n": len(texts),
        "em": float(np.mean([squad_exact_match(text, gold) for text, gold in zip(texts, answers, strict=True)])),
        "f1": float(np.mean([squad_f1(text, gold) for text, gold in zip(texts, answers, strict=True)])),
    }


def evaluate_reading(model: Encoder, calibration: Calibration, path: Path) -> dict[str, Any]:
    """Measure the reader on reading comprehension data, and return the figures.

    They are: the number of answerable questions (n) with their EM and F1, the number of unanswerable questions, and how
    well the reader's score separates the answerable questions from the unanswerable ones (auroc).
    """
    records = list(read_records(path))
    readings = read_job_batches(
        model, calibration, [Job(r["question"], [Passage(id="", title="", text=r["context"])]) for r in records]
    )
    answerable = [
        (reading, [a["text"] for a in r["answers"]])
        for reading, r in zip(readings, records, strict=True)
        if r["answers"]
    ]
    unanswerable_scores = [reading.score for reading, r in zip(readings, records, strict=True) if not r["answers"]]
    figures: dict[str, Any] = score_readings([reading for reading, _ in answerable], [gold for _, gold in answerable])
    return figures | {
        "auroc": compute_auroc([reading.score for reading, _ in answerable], unanswerable_scores),
        "n_unanswerable": len(unanswerable_scores),
    }


def evaluate_gold(model: Encoder, calibration: Calibration, path: Path) -> dict[str, Any]:
    """Measure the reader on question answering data, and return the figures.

    They are: the number of questions (n), EM and F1 if the reader sees only the first gold passage of each question,
    and how well its score separates these passages from the best-ranked passages that are not gold (auroc).
    """
    records = list(read_records(path))
    gold_passages = [next(p for p in r["passages"] if p["id"] in r["gold"]) for r in records]
    wrong_passages = [next(p for p in r["passages"] if p["id"] not in r["gold"]) for r in records]
    gold_readings = read_job_batches(
        model, calibration, [Job(r["question"], [p]) for r, p in zip(records, gold_passages, strict=True)]
    )
    wrong_readings = read_job_batches(
        model, calibration, [Job(r["question"], [p]) for r, p in zip(records, wrong_passages, strict=True)]
    )
    figures: dict[str, Any] = score_readings(gold_readings, [r["answers"] for r in records])
    return figures | {"auroc": compute_auroc([r.score for r in gold_readings], [r.score for r in wrong_readings])}


def compute_recall(
    vectors: NDArray[np.float32], query_vectors: NDArray[np.float32], gold_rows: Sequence[int], k: int = 5
) -> float:
    """The share of questions whose gold passage is among the k nearest passages.

    gold_rows: for each question, the row of its gold passage in `vectors`.
    """
    hits = 0
    for query_vector, gold_row in zip(query_vectors, gold_rows, strict=True):
        similarities = vectors @ query_vector
        hits += int((similarities > similarities[gold_row]).sum() < k)
    return hits / len(gold_rows)


def evaluate_embeddings(
    model: Encoder, reference: Encoder, corpus: Path, questions: Path, min_sample_size: int
) -> dict[str, Any]:
    """Compare the vectors of the int8 model with those of the float model, and return the figures.

    They are: the number of passages, and of questions whose first gold passage is in the corpus; recall@5 of each model
    on these questions over the whole corpus; the mean and the lowest cosine between the two vectors of a passage, over
    a sample of the passages; and the size of this sample (cosine_n).

    reference: the float model. min_sample_size: the sample is every n-th passage of the corpus, where n is the number
    of passages divided by min_sample_size, rounded down, but at least 1.
    """
    passages = list(read_records(corpus))
    row_of_id = {p["id"]: number for number, p in enumerate(passages)}
    texts = [f"{p['title']}\n{p['text']}" for p in passages]
    questions_with_gold = [r for r in read_records(questions) if r["gold"] and r["gold"][0] in row_of_id]
    gold_rows = [row_of_id[r["gold"][0]] for r in questions_with_gold]
    figures: dict[str, Any] = {"passages": len(texts), "questions": len(questions_with_gold)}
    vectors = {}
    for name, encoder in (("int8", model), ("fp32", reference)):
        vectors[name] = encoder.embed(texts)
        figures[f"recall@5 {name}"] = compute_recall(
            vectors[name], encoder.embed([r["question"] for r in questions_with_gold]), gold_rows
        )
    step = max(1, len(texts) // min_sample_size)
    cosines = (vectors["int8"] * vectors["fp32"]).sum(1)[::step]
    return figures | {"cosine": float(cosines.mean()), "cosine_lowest": float(cosines.min()), "cosine_n": len(cosines)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where reader.onnx, reader.json and vocab.txt are")
    parser.add_argument(
        "--reading", type=Path, help="file of reading comprehension records (question, context, answers)"
    )
    parser.add_argument("--gold", type=Path, help="question answering data with gold passages")
    parser.add_argument(
        "--reference", type=Path, help="folder of the same model in float (quorum.training.export --weight-limit 0)"
    )
    parser.add_argument("--corpus", type=Path, help="passages to embed (with --reference and --questions)")
    parser.add_argument("--questions", type=Path, help="questions over the corpus, with their gold passages")
    options = parser.parse_args(arguments)
    manifest = json.loads((options.folder / "reader.json").read_text(encoding="utf-8"))
    model, calibration = Encoder(options.folder), Calibration.from_manifest(manifest)
    figures: dict[str, Any] = {}
    if options.reading:
        figures["reading"] = evaluate_reading(model, calibration, options.reading)
    if options.gold:
        figures["gold"] = evaluate_gold(model, calibration, options.gold)
    if options.reference and options.corpus and options.questions:
        figures["embeddings"] = evaluate_embeddings(
            model, Encoder(options.reference), options.corpus, options.questions, 1000
        )
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
