"""Draws demonstrations for few-shot runs from a pool of the user's examples."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from quorum.core.errors import SetupError
from quorum.core.text import normalize
from quorum.datasets.records import preview_value, read_json_lines
from quorum.evaluation.run.dataset import DataSet


def draw_shots(
    pool: Path, dataset: DataSet, folder: Path, *, shots: Sequence[int], draws: int
) -> list[tuple[str, str]]:
    """For each number of examples in `shots`, write `draws` random sets to `folder`. Returns (label, file) of each set.

    pool: JSON lines of question and answer, or of question and answers, of which the first is used. Questions of the
    data set are left out; raises `SetupError` if too few remain. The same pool always gives the same sets, and a
    smaller set is the beginning of the larger set of the same draw.
    """
    asked_questions = {normalize(record["question"]) for record in dataset.read_records()}
    pairs = [pair for pair in read_examples(pool) if normalize(pair["question"]) not in asked_questions]
    if len(pairs) < max(shots):
        raise SetupError(
            f"{pool} has {len(pairs)} examples that are not questions of the data set; give a file with {max(shots)} "
            "or more."
        )
    labels_and_files = []
    for size in shots:
        for draw in range(draws):
            file = folder / f"shots-{size}-{draw}.jsonl"
            drawn_pairs = random.Random(draw).sample(pairs, max(shots))[:size]
            file.write_text("".join(json.dumps(pair) + "\n" for pair in drawn_pairs), encoding="utf-8")
            labels_and_files.append((f"shots={size};draw={draw}", str(file)))
    return labels_and_files


def read_examples(pool: Path) -> Iterator[dict[str, str]]:
    """Question and answer of each line; questions without an answer, or with keep: false, are skipped."""
    for number, value in read_json_lines(pool):
        answers = value.get("answers", [value.get("answer")])
        if not isinstance(value.get("question"), str) or not isinstance(answers, list):
            raise SetupError(
                f"{pool}, line {number}: expected a question and its answer, found {preview_value(value)}."
            )
        if answers and isinstance(answers[0], str) and value.get("keep") is not False:
            yield {"question": value["question"], "answer": answers[0]}
