"""What reading whole documents changes: python -m benchmarks.whole_documents CORPUS QUESTIONS [--questions 100]
[--methods concat,full_documents,...] [--windows 8192,65536] [--store FOLDER] [--out FOLDER]

CORPUS is a file of passages, one a line, of which those with the same title are one document in the order of the file;
QUESTIONS are asked of it with the embedded reader (the first N). Prints a row for each method, in percent: exact match
with its 95% interval, F1, answers that are unknown, exact matches among the others; then calls and tokens a question.
Methods that read documents are asked once for each window. Below, calls and depth of the methods that were not asked.

With --store the index, and with --out the answers, are kept: the same command goes on after an interruption.
"""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import quorum
from benchmarks.harness import report
from quorum.core.context import Context
from quorum.graphs import METHODS
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import open_store

COLLECTION = "whole-documents"
READ_DOCUMENTS = ("full_documents", "self_route")
# The embedded reader can neither decompose a question, nor write queries, nor remember: with it these methods run, but
# their answers say nothing about them.
NOT_SERVED = ("no_retrieval", "blendfilter", "react", "self_ask", "hyde")


def make_columns(methods: Sequence[str], windows: Sequence[int]) -> list[str]:
    """The methods, those that read documents once for each window."""
    return [
        f"{method}[context_window={window}]" if method in READ_DOCUMENTS else method
        for method in methods
        for window in (windows if method in READ_DOCUMENTS else windows[:1])
    ]


def make_row(scores: dict[str, Any]) -> list[str]:
    """A method's line of the table."""
    known = 1 - scores["unknown"]
    shares = (scores["f1"], scores["unknown"], scores["em"] / known if known else 0.0)
    exact_match, *others = (f"{100 * share:.0f}" for share in (scores["em"], *shares))
    interval = f"{100 * scores['em_low']:.0f} to {100 * scores['em_high']:.0f}"
    tokens = scores["input_tokens"] + scores["output_tokens"]
    return [scores["method"], f"{exact_match} ({interval})", *others, f"{scores['calls']:.2f}", f"{tokens:,.0f}"]


def main(command_line: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--methods", default=",".join(name for name in METHODS if name not in NOT_SERVED))
    parser.add_argument("--windows", default="8192,65536", help="values of context_window, separated by commas")
    parser.add_argument("--store", help="a folder that keeps the index")
    parser.add_argument("--out", help="a folder that keeps the answers")
    options = parser.parse_args(command_line)
    methods = options.methods.split(",")
    with tempfile.TemporaryDirectory() if options.store is None else nullcontext(options.store) as store:
        info = open_store(store).find_info(COLLECTION)
        if info is None or info.is_being_changed:
            index_documents([options.corpus], collection=COLLECTION, store=store)
        evaluation = quorum.evaluate(
            options.data,
            make_columns(methods, [int(window) for window in options.windows.split(",")]),
            context=Context(store=str(store)),
            collection=COLLECTION,
            limit=options.questions,
            out=options.out,
            concurrency=2,
        )
    header = ("method", "exact match", "F1", "unknown", "right if known", "calls", "tokens")
    rows = [make_row(scores) for scores in evaluation.table]
    report("whole documents", header, rows, measured=rows)
    others = [[name, method.calls, method.depth] for name, method in METHODS.items() if name not in methods]
    report("methods that were not asked", ("method", "calls", "depth"), others, measured=others)


if __name__ == "__main__":
    main()
