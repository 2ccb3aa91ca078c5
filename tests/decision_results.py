"""Writes invented result folders for the tests of `quorum compose`, `quorum calibrate` and `quorum gate`."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.nodes.describe_settings import SETTINGS_THAT_CHANGE_NO_ANSWER, describe_settings
from quorum.prompts import BUILT_IN, get_version

CALLS_OF_METHOD = {"concat": 1, "concat_pf": 3, "post_fusion": 2, "sure": 7}


def write_results(
    folder: Path,
    accuracies: Mapping[str, float],
    *,
    questions: int = 240,
    seed: int = 1,
    unknown_probability_if_not_right: float = 0.5,
    context: Context | None = None,
    shared_difficulty_probability: float = 0.85,
    **config_fields: Any,
) -> Path:
    """Write a folder of results as `quorum compare` does, and return it.

    accuracies: each method's share of right answers; unknown_probability_if_not_right: the probability that an
    answer that is not right is "unknown"; shared_difficulty_probability: the probability that an answer is decided by
    its question's difficulty, which all methods share; any other answer is decided by a random number of its own;
    config_fields: fields of config.json. A right answer has a confidence of 0.5 or more, a wrong one of less than 0.7.
    The answers of concat and the answers "unknown" have no confidence.
    """
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    settings = describe_settings(
        context or Context(model="openai:test", k=2), SETTINGS_THAT_CHANGE_NO_ANSWER | {"retriever", "collection"}
    )
    config = {
        "quorum": "0",
        "data": {"file": "questions.jsonl", "sha256": "1" * 64, "limit": questions},
        "source": {"passages": "given"},
        "prompts": {name: get_version(name) for name in BUILT_IN},
        "methods": {name: {"method": name, **settings} for name in accuracies},
        **config_fields,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with (folder / "results.jsonl").open("w") as results, (folder / "details.jsonl").open("w") as details:
        for number in range(questions):
            difficulty = rng.random()
            for method, accuracy in accuracies.items():
                is_right = (difficulty if rng.random() < shared_difficulty_probability else rng.random()) < accuracy
                says_unknown = not is_right and rng.random() < unknown_probability_if_not_right
                row = make_row(number, method, is_right, says_unknown, rng)
                results.write(json.dumps(row) + "\n")
                details.write(json.dumps(make_detail(number, method, row["answer"])) + "\n")
    return folder


def group_questions(folder: Path, size: int) -> Path:
    """Put `size` questions that follow one another into each group, as if they were about the same document."""
    file = folder / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    grouped_rows = (row | {"group": f"document {int(row['id'][1:]) // size}"} for row in rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in grouped_rows))
    return folder


def make_row(number: int, method: str, is_right: bool, says_unknown: bool, rng: random.Random) -> dict[str, Any]:
    """A line of results.jsonl: the method's answer to the question with this number."""
    calls = CALLS_OF_METHOD[method]
    confidence = rng.randint(5, 10) / 10 if is_right else rng.randint(1, 6) / 10
    return {
        "id": f"q{number}",
        "method": method,
        "question": f"What is {number}?",
        "task": "short",
        "answer": f"right {number}" if is_right else "unknown" if says_unknown else f"wrong {number} {method}",
        "gold": [f"right {number}"],
        "em": float(is_right),
        "f1": float(is_right),
        "unknown": says_unknown,
        "confidence": None if method == "concat" or says_unknown else confidence,
        "calls": calls,
        "input_tokens": 100 * calls,
        "output_tokens": 2 * calls,
        "malformed": 0,
        "dropped": 0,  # passages left out of prompts, to fit the model's window
        "seconds": 0.5,
        "error": None,
    }


def make_detail(number: int, method: str, answer: str) -> dict[str, Any]:
    """A line of details.jsonl: the calls behind the answer. concat and concat_pf make the same first call."""
    calls = [
        {
            "step": 1,
            "name": "answer" if call == 0 and method.startswith("concat") else f"{method}: {call}",
            "reply": answer if call else f"first {number}",
            "input_tokens": 100,
            "output_tokens": 2,
            "seconds": 0.1,
            "reused": False,
        }
        for call in range(CALLS_OF_METHOD[method])
    ]
    return {
        "id": f"q{number}",
        "method": method,
        "votes": None,
        "usage": {
            "answer": {"calls": CALLS_OF_METHOD[method], "input_tokens": 100, "output_tokens": 2, "cached_tokens": 0}
        },
        "calls": calls,
    }
