"""Cases for calibrating the reader's confidence: questions held out of its training, with and without their gold
passage.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quorum.core.state import Passage
from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out
from training.examples import read_records

WRONG_PASSAGE_COUNT = 4  # in a case of several passages, the wrong ones beside the gold one
# The name of a data source ends with this text if its examples pair an answerable question with a wrong passage. No
# case is made of such an example.
WRONG_PASSAGE_SOURCE_ENDING = "xneg"
# The help of the option --data of the commands that make cases.
HELD_OUT_DATA_HELP = "the files given to the reader's training; only the questions that it left out are used"


@dataclass(frozen=True)
class Case:
    """A question, its passages and its accepted answers. Without answers, unknown is right."""

    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]


def make_passage(text: str, title: str = "") -> Passage:
    return Passage(id="", title=title, text=text)


def make_cases(
    examples: Iterable[Example], wrong_passages_by_question: dict[str, list[Passage]], seed: int = 0
) -> tuple[list[Case], list[Case]]:
    """(cases over one passage, cases over several). In each list, a held-out question with enough wrong passages has
    a case with the gold passage and a case without it. A question that the data mark as unanswerable has one case, over
    one passage.
    """
    rng, one_passage_cases, several_passage_cases, seen_questions = random.Random(seed), [], [], set()
    for example in examples:
        if not is_held_out(example, CALIBRATION_PERCENT) or example.question in seen_questions:
            continue
        if not example.spans and not example.source.endswith(WRONG_PASSAGE_SOURCE_ENDING):
            seen_questions.add(example.question)
            one_passage_cases.append(Case(example.question, (), (make_passage(example.context),)))
            continue
        wrong_passages = wrong_passages_by_question.get(example.question, [])
        if not example.spans or len(wrong_passages) <= WRONG_PASSAGE_COUNT:
            continue
        seen_questions.add(example.question)
        answers = tuple(dict.fromkeys(example.context[start:end] for start, end in example.spans))
        gold = make_passage(example.context)
        one_passage_cases += [
            Case(example.question, answers, (gold,)),
            Case(example.question, (), (wrong_passages[0],)),
        ]
        mixed_passages = [gold, *wrong_passages[:WRONG_PASSAGE_COUNT]]
        rng.shuffle(mixed_passages)
        several_passage_cases += [
            Case(example.question, answers, tuple(mixed_passages)),
            Case(example.question, (), tuple(wrong_passages[: WRONG_PASSAGE_COUNT + 1])),
        ]
    return one_passage_cases, several_passage_cases


def read_wrong_passages(path: Path) -> dict[str, list[Passage]]:
    """Question -> the wrong passages that `training.negatives` mined for it and wrote to the file."""
    return {r["question"]: [make_passage(p["text"], p["title"]) for p in r["negatives"]] for r in read_records(path)}
