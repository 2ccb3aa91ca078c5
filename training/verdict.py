"""Train the yes/no head of the embedded reader: python -m training.verdict --help. Needs no torch.

The head is a multinomial logistic regression on the pooled states of the reader's last layer, with the classes yes, no
and unknown. Every question is read with its own passages (its class is the answer, yes or no) and with the passages of
another question (its class is unknown).
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import Record
from quorum.models.embedded import FOLDER, get_weights_hash, read_manifest
from quorum.models.embedded.encoder import Encoder, Floats
from quorum.models.embedded.heads import pool_states
from quorum.models.embedded.reading import make_windows

VERDICT_CLASSES = ("yes", "no", "unknown")
MAX_PASSAGES = 10  # at most this many passages of each question are read
FOLDS = 5
RIDGE_PENALTIES = (0.01, 0.03, 0.1, 0.3)


def make_examples(records: Sequence[Record], seed: int = 0) -> list[tuple[str, list[Passage], int]]:
    """(question, passages, number of the class in VERDICT_CLASSES): up to four examples for each yes/no question.

    In two examples the class is the answer: one has the question's passages, the other only the gold ones among them.
    In two examples the class is unknown: one has the passages of another question, the other only a few of these. An
    example with gold passages only is left out if no passage is gold, or all are. The examples of class unknown are
    left out if the two questions share a passage.
    """
    rng = random.Random(seed)
    yes_no_records = [record for record in records if get_answer(record) in VERDICT_CLASSES[:2] and record["passages"]]
    shuffled_passage_lists = [record["passages"][:MAX_PASSAGES] for record in yes_no_records]
    rng.shuffle(shuffled_passage_lists)
    examples = []
    for record, other_passages in zip(yes_no_records, shuffled_passage_lists, strict=True):
        given_passages = record["passages"][:MAX_PASSAGES]
        label = VERDICT_CLASSES.index(get_answer(record))
        examples.append((record["question"], given_passages, label))
        gold = [passage for passage in given_passages if passage["id"] in record["gold"]]
        if gold and len(gold) < len(given_passages):
            examples.append((record["question"], gold, label))
        if {p["id"] for p in other_passages}.isdisjoint(p["id"] for p in given_passages):
            examples.append((record["question"], other_passages, 2))
            few_passages = rng.sample(other_passages, rng.randint(1, min(3, len(other_passages))))
            examples.append((record["question"], few_passages, 2))
    return examples


def get_answer(record: Record) -> str:
    """The first accepted answer in lower case; empty if there is none."""
    return record["answers"][0].strip().lower() if record["answers"] else ""


def compute_features(model: Encoder, examples: Sequence[tuple[str, list[Passage], int]]) -> Floats:
    """An array of shape (examples, features): each row holds the pooled states of a question read with its passages.

    The passages are read in windows of the installed reader's size.
    """
    size, rows = read_manifest()["calibration"]["window"], []
    for question, passages, _ in examples:
        windows = make_windows(model, question, passages, size, packed=True)
        rows.append(
            pool_states(
                model.get_hidden_states([window.ids for window in windows], [window.types for window in windows])
            )
        )
    return np.stack(rows)


def fit_softmax_regression(
    x: NDArray[np.float64], labels: NDArray[np.int64], ridge: float, steps: int = 200
) -> NDArray[np.float64]:
    """The weights, an array of shape (classes, features + 1) with the bias last, by gradient descent with momentum.

    The loss is the negative log-likelihood plus the ridge penalty on all weights except the biases.
    """
    with_bias = np.hstack([x, np.ones((len(x), 1))])
    truth = np.eye(len(VERDICT_CLASSES))[labels]
    weights = np.zeros((len(VERDICT_CLASSES), with_bias.shape[1]))
    # The rate is the inverse of an estimate of the gradient's Lipschitz constant.
    velocity, rate = np.zeros_like(weights), 1.0 / (0.25 * np.linalg.norm(with_bias, 2) ** 2 / len(with_bias) + ridge)
    for _ in range(steps):
        scores = with_bias @ weights.T
        exponentials = np.exp(scores - scores.max(1, keepdims=True))
        gradient = (exponentials / exponentials.sum(1, keepdims=True) - truth).T @ with_bias / len(with_bias)
        gradient[:, :-1] += ridge * weights[:, :-1]
        velocity = 0.9 * velocity - rate * gradient
        weights = weights + velocity
    return weights


def compute_accuracy(weights: NDArray[np.float64], x: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Of the rows whose class is yes or no: the share for which the likelier of these two classes is right."""
    is_yes_no = labels < 2
    scores = x[is_yes_no] @ weights[:, :-1].T + weights[:, -1]
    return float((scores[:, :2].argmax(1) == labels[is_yes_no]).mean())


def choose_ridge_and_fit(
    x: NDArray[np.float64], labels: NDArray[np.int64], questions: NDArray[np.int64], seed: int = 0
) -> tuple[NDArray[np.float64], float, float]:
    """(weights, ridge, accuracy): the weights are fitted on all rows, with the ridge penalty whose cross-validated
    accuracy is the highest; accuracy is this cross-validated accuracy.

    questions: the number of each row's question. All rows of a question are in one fold.
    """
    folds = np.random.default_rng(seed).permutation(questions.max() + 1)[questions] % FOLDS
    accuracies = []
    for ridge in RIDGE_PENALTIES:
        fold_accuracies = [
            compute_accuracy(
                fit_softmax_regression(x[folds != fold], labels[folds != fold], ridge),
                x[folds == fold],
                labels[folds == fold],
            )
            for fold in range(FOLDS)
        ]
        accuracies.append((float(np.mean(fold_accuracies)), ridge))
    accuracy, ridge = max(accuracies)
    return fit_softmax_regression(x, labels, ridge), ridge, accuracy


def train_head(data: Sequence[Path], out: Path, folder: Path = FOLDER) -> dict[str, float]:
    """Fit the head on the yes/no questions of the files and write verdict.json to the folder `out`.

    `folder` holds the reader whose states are used. The window size, and the hash of the weights that verdict.json
    stores as "reader", are always those of the installed reader. Returns the numbers that the command prints;
    "majority" is the share of the more frequent answer among the examples whose class is yes or no.
    """
    records = [record for path in data for record in read_questions(path)]
    examples = make_examples(records)
    x, labels = compute_features(Encoder(folder), examples), np.array([label for _, _, label in examples])
    mean, spread = x.mean(0), x.std(0) + 1e-6
    _, questions = np.unique([question for question, _, _ in examples], return_inverse=True)
    weights, ridge, accuracy = choose_ridge_and_fit(((x - mean) / spread).astype(np.float64), labels, questions)
    head = {
        "reader": get_weights_hash(),
        "mean": np.round(mean, 4).tolist(),
        "spread": np.round(spread, 4).tolist(),
        "weights": np.round(weights, 5).tolist(),
    }
    (out / "verdict.json").write_text(json.dumps(head) + "\n", encoding="utf-8")
    counts = np.bincount(labels, minlength=3)
    return {
        "questions": float(questions.max() + 1),
        "rows": float(len(labels)),
        "majority": float(counts[:2].max() / counts[:2].sum()),
        "cross-validated accuracy": accuracy,
        "ridge": ridge,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.verdict", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        help="files of questions, some of them yes/no questions (formats: docs/data.md)",
    )
    parser.add_argument(
        "--out", type=Path, default=FOLDER, help="folder for verdict.json (default: that of the installed reader)"
    )
    options = parser.parse_args(arguments)
    print(json.dumps(train_head(options.data, options.out), indent=2))


if __name__ == "__main__":
    main()
