"""What a small, wordy model's replies are worth, as Quorum reads them: python -m benchmarks.small_model DATA

Asks the first questions of a data file, with the passages that they bring, by several methods, of a running server
that speaks the OpenAI protocol (OPENAI_BASE_URL; docs/recipes.md serves a GGUF file on this machine), and prints exact
match, F1, how often the reply contains an accepted answer, and how many answers are unknown, all in percent.

The model's answers are mostly wrong, and the methods cannot be ranked by it. The figures are for comparing two versions
of Quorum: with one --journal, equal prompts get equal replies, so that only what changed in Quorum changes the figures.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import quorum
from benchmarks.harness import report

MEASURES = {"em": "EM", "f1": "F1", "contains": "contains", "unknown": "%unknown", "malformed": "malformed"}


def format_value(value: float | int | None) -> str:
    """A share as a percentage; a count as it is."""
    return "-" if value is None else str(value) if isinstance(value, int) else f"{100 * value:.1f}"


def main(command_line: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a file of questions with passages (docs/data.md)")
    parser.add_argument("--model", default="openai:small", help="the model's name, after openai:")
    parser.add_argument("--methods", default="concat,cot,post_fusion")
    parser.add_argument("--questions", type=int, default=50, help="how many questions to ask, from the first")
    parser.add_argument("--k", type=int, default=3, help="how many passages of each question to read")
    parser.add_argument("--journal", help="keep the replies in this file; without it, none are kept")
    arguments = parser.parse_args(command_line)
    context = quorum.Context(
        model=arguments.model, k=arguments.k, journal=arguments.journal or "off", timeout=900, concurrency=1
    )
    with tempfile.TemporaryDirectory() as folder:
        evaluation = quorum.evaluate(
            arguments.data,
            arguments.methods,
            context=context,
            limit=arguments.questions,
            out=Path(folder) / "results",
            concurrency=1,
            progress=lambda stage, done, total: print(f"\r{stage}: {done} of {total}", end="", flush=True),
        )
    print()
    rows = [(row["method"], *(format_value(row[name]) for name in MEASURES)) for row in evaluation.table]
    figures = {row["method"]: {name: row[name] for name in MEASURES} for row in evaluation.table}
    report(
        f"{evaluation.table[0]['n']} questions, k = {arguments.k}, {arguments.model}",
        ("method", *MEASURES.values()),
        rows,
        methods=figures,
    )


if __name__ == "__main__":
    main()
