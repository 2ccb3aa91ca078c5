"""Makes questions with passages from reading comprehension data: python -m training.silver_questions --help.

`quorum filter silver` makes silver data from these questions, and `quorum filter train --base embedded` trains the
sentence filter on the silver data. Making the questions does not need torch.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.examples import read_examples, read_records


def make_questions_from_reading(reading: Path, negatives: Path, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Turn reading comprehension data into question answering records.

    The passages of a record are the context, which holds the answer, and then the wrong passages that
    training.negatives mined for the question. An example is left out if it has no answer or no wrong passages,
    or if its source begins with none of `sources`.
    """
    negatives_by_question = {record["question"]: record["negatives"] for record in read_records(negatives)}
    for number, example in enumerate(read_examples(reading)):
        wrong_passages = negatives_by_question.get(example.question)
        if not wrong_passages or not example.spans or not example.source.startswith(tuple(sources)):
            continue
        passages = [{"id": f"r{number}", "title": "", "text": example.context}]
        passages += [{"id": f"r{number}-{place}", **passage} for place, passage in enumerate(wrong_passages)]
        answers = list(dict.fromkeys(example.context[start:end] for start, end in example.spans))
        yield {"id": f"r{number}", "question": example.question, "answers": answers, "passages": passages}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.silver_questions", description=__doc__)
    parser.add_argument(
        "--reading",
        type=Path,
        required=True,
        help="file of reading comprehension records (question, context, answers)",
    )
    parser.add_argument("--negatives", type=Path, required=True, help="wrong passages mined by training.negatives")
    parser.add_argument(
        "--sources",
        nargs="*",
        default=[""],
        help="take only records whose source begins with one of these (default: all)",
    )
    parser.add_argument("--out", type=Path, required=True, help="the file of questions to write: .jsonl")
    options = parser.parse_args(arguments)
    with options.out.open("w", encoding="utf-8") as file:
        for record in make_questions_from_reading(options.reading, options.negatives, options.sources):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
