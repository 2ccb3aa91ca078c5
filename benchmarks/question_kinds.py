"""How often the kind of a question is recognised: python -m benchmarks.question_kinds [--data FILE ...] [--list]

Prints, for the questions in benchmarks/question_kinds_data (their README says where they come from), how many are
recognised as what they are labelled: short, yes_no or long. For every file of questions with answers that is given with
--data, prints how many of the questions answered yes or no are recognised as such, and how many of the others are not
taken as short. Among these, questions with "why" and "how" are counted apart: they ask for a paragraph, although the
data have a short answer. --list prints the questions that are not recognised.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quorum.algorithms.question_kind import find_question_kind
from quorum.core.files import open_unpacked
from quorum.core.text import normalize

QUESTIONS = Path(__file__).parent / "question_kinds_data" / "questions.jsonl"
EXPLANATION = re.compile(r"\b(?:why|how)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Labelled:
    """A question, the kind that it is labelled with, and the part that it belongs to."""

    question: str
    kind: str
    part: str

    @property
    def found_kind(self) -> str:
        return find_question_kind(self.question)


def read_labelled_questions() -> list[Labelled]:
    """The questions of benchmarks/question_kinds_data; part: "development" or "held_out"."""
    records = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [Labelled(record["question"], record["kind"], record["half"]) for record in records]


def read_answered_questions(path: Path) -> list[Labelled]:
    """The questions of a data file: yes_no if every accepted answer is yes or no, else short."""
    with open_unpacked(path) as file:
        records = [json.loads(line) for line in file if line.strip()]
    return [
        Labelled(
            record["question"],
            "yes_no" if {normalize(answer) for answer in record["answers"]} <= {"yes", "no"} else "short",
            path.parent.name,
        )
        for record in records
    ]


def format_share(hits: int, total: int) -> str:
    return f"{hits} of {total} ({100 * hits / total:.1f}%)" if total else "-"


def describe_labelled(questions: Sequence[Labelled]) -> list[str]:
    """A line for each half and for both."""
    parts = {part: [item for item in questions if item.part == part] for part in ("development", "held_out")}
    return [
        f"{part:<14}right {format_share(sum(item.found_kind == item.kind for item in items), len(items))}"
        for part, items in {**parts, "both": list(questions)}.items()
    ]


def describe_answered(questions: Sequence[Labelled]) -> str:
    """One line about a data file."""
    verdicts = [item for item in questions if item.kind == "yes_no"]
    others = [item for item in questions if item.kind == "short"]
    not_short = [item for item in others if item.found_kind != "short"]
    explanations = [item for item in not_short if item.found_kind == "long" and EXPLANATION.search(item.question)]
    found = sum(item.found_kind == "yes_no" for item in verdicts)
    return (
        f"{questions[0].part:<14}yes_no {format_share(found, len(verdicts))}; "
        f"others not short {format_share(len(not_short), len(others))}, of these {len(explanations)} with why or how"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="files of questions with answers")
    parser.add_argument("--list", action="store_true", help="print the questions that are not recognised")
    options = parser.parse_args()
    labelled = read_labelled_questions()
    print("\n".join(describe_labelled(labelled)))
    files = [read_answered_questions(path) for path in options.data]
    for questions in files:
        print(describe_answered(questions))
    if len(files) > 1:
        together = [Labelled(item.question, item.kind, "together") for questions in files for item in questions]
        print(describe_answered(together))
    if options.list:
        for item in [item for questions in (labelled, *files) for item in questions]:
            if item.found_kind != item.kind:
                print(f"{item.part}: {item.found_kind}, not {item.kind}: {item.question}")


if __name__ == "__main__":
    main()
