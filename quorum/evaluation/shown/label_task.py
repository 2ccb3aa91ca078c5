"""What a person who labels answers sees, and what is hidden: the method, its confidence, the labels of others.

Where answers of several methods to a question are shown, their order is random, and the same whenever they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from quorum.core.errors import SetupError

LONGEST_NAME = 100  # characters of who labels


@dataclass(frozen=True)
class LabelTask:
    """One thing to label: are these answers to a question right?

    id: of the sampled answer or the question; answers: as they are shown; order: for each of them, which method's it
    is, by its number from 0.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    order: tuple[int, ...]

    def sort_by_method(self, right: Sequence[bool]) -> list[bool]:
        """What was said of the answers as they are shown, in the order of the methods."""
        return [bool(right[self.order.index(number)]) for number in range(len(self.order))]


def make_task(id_: str, salt: str, question: str, answers: Sequence[str]) -> LabelTask:
    """The task with its answers in an order that the id and the salt draw.

    >>> make_task("7", "salt", "Who?", ["Ada", "Bo"]).answers
    ('Bo', 'Ada')
    """
    order = sorted(range(len(answers)), key=lambda number: sha256(f"{salt}{id_}{number}".encode()).digest())
    return LabelTask(id_, question, tuple(answers[number] for number in order), tuple(order))


def check_who(name: str) -> str:
    """The name of who labels. Raises `SetupError` for one that fits no line."""
    if "\n" in name or len(name) > LONGEST_NAME:
        raise SetupError(f"--who must be a name of at most {LONGEST_NAME} characters on one line.")
    return name
