"""Draws demonstrations for few-shot runs from a file of the user's examples."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from quorum.core.errors import SetupError
from quorum.core.text import normalize
from quorum.datasets.records import preview_value, read_json_lines
from quorum.evaluation.run.dataset import DataSet


def draw_shots(
    examples_file: Path, dataset: DataSet, folder: Path, *, shots: Sequence[int], draws: int
) -> list[tuple[str, str]]:
    """Write random sets of examples to `folder`: for each size in `shots`, `draws` sets of this size.

    Returns (label, file) for each set, such as ("shots=4;draw=0", "FOLDER/shots-4-0.jsonl").

    examples_file: JSON lines with a `question`, and with an `answer` or a list of `answers`, whose first item is used.
    Examples whose question is in the data set are left out; raises `SetupError` if too few remain. The draws are
    repeatable: the same arguments always give the same sets. A smaller set is the beginning of each larger set of the
    same draw.
    """
    asked_questions = {normalize(record["question"]) for record in dataset.read_records()}
    pairs = [pair for pair in read_examples(examples_file) if normalize(pair["question"]) not in asked_questions]
    if len(pairs) < max(shots):
        raise SetupError(
            f"{examples_file} has {len(pairs)} examples that are not questions of the data set; give a file with "
            f"{max(shots)} or more."
        )
    labels_and_files = []
    for size in shots:
        for draw in range(draws):
            file = folder / f"shots-{size}-{draw}.jsonl"
            drawn_pairs = random.Random(draw).sample(pairs, max(shots))[:size]
            file.write_text("".join(json.dumps(pair) + "\n" for pair in drawn_pairs), encoding="utf-8")
            labels_and_files.append((f"shots={size};draw={draw}", str(file)))
    return labels_and_files


def read_examples(examples_file: Path) -> Iterator[dict[str, str]]:
    """The question and the answer of each line.

    Skips a line without an answer, and a line with "keep": false, by which a reviewer rejects a question.
    """
    for number, value in read_json_lines(examples_file):
        answers = value.get("answers", [value.get("answer")])
        if not isinstance(value.get("question"), str) or not isinstance(answers, list):
            raise SetupError(
                f"{examples_file}, line {number}: expected a question and its answer, found {preview_value(value)}; "
                'write {"question": "...", "answer": "..."}.'
            )
        if answers and isinstance(answers[0], str) and value.get("keep") is not False:
            yield {"question": value["question"], "answer": answers[0]}
