"""Which answers a person labels, as the person sees them, and the lines that are written of the labels.

The method, its confidence, its passages and the labels of others are not shown. Where two methods' answers to a
question are compared, their order is random, and the same whenever they are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from quorum.core.errors import SetupError
from quorum.evaluation.watch.folder import LABELS, WatchFolder
from quorum.evaluation.watch.promise import EQUAL, Promise
from quorum.evaluation.watch.sampled import SampledAnswer, read_sampled
from quorum.evaluation.watch.sampling import format_time

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


def check_labels_of_people(promise: Promise) -> None:
    """Raise `SetupError` if a judge labels the answers of a promise."""
    if promise.labels == "judge":
        raise SetupError(
            f"The answers of {promise.name} are labelled by the judge {describe_judge(promise)}; to label them "
            "yourself, watch the promise under another name without --labels judge."
        )


def describe_judge(promise: Promise) -> str:
    """The name of the model that judges."""
    judge = (promise.judge or {}).get("judge")
    return str(judge.get("model") if isinstance(judge, dict) else judge)


def list_waiting(folder: WatchFolder) -> list[SampledAnswer]:
    """The sampled answers since the last reset that nobody has labelled or skipped, in the order in which they came."""
    promise = folder.read_promise()
    return [answer for answer in read_sampled(folder) if answer.is_waiting(promise)]


def list_tasks(folder: WatchFolder) -> list[LabelTask]:
    """What waits to be labelled. Raises `SetupError` if a judge labels."""
    check_labels_of_people(folder.read_promise())
    salt = folder.read_salt()
    return [
        make_task(answer.id, salt, answer.line["question"], list_answers(answer)) for answer in list_waiting(folder)
    ]


def list_answers(answer: SampledAnswer) -> list[str]:
    """The text of the answer, and of the rival's if there is one."""
    return [str(line["answer"]) for line in (answer.line, answer.rival) if line is not None]


def save_label(folder: WatchFolder, task: LabelTask, right: Sequence[bool] | None, who: str) -> None:
    """Keep one label on the disk. right: of each answer as it is shown; None if it was skipped."""
    promise = folder.read_promise()
    if right is None:
        folder.append(LABELS, make_label(task.id, None, who))
        return
    answer = next(answer for answer in read_sampled(folder) if answer.id == task.id)
    folder.append(LABELS, label_answer(promise, answer, task.sort_by_method(right), who))


def label_answer(promise: Promise, answer: SampledAnswer, right: Sequence[bool], who: str) -> dict[str, object]:
    """The line of a label. right: of the answer, and of the rival's."""
    unknown = [bool(line.get("unknown")) for line in (answer.line, answer.rival) if line is not None]
    return {**make_label(answer.id, promise.compute_z(right, unknown), who), "right": list(right)}


def label_equal_answers(folder: WatchFolder, id_: str) -> None:
    """Where the rival gives the same answer, nothing is lost, whether it is right or not."""
    folder.append(LABELS, make_label(id_, EQUAL, "equal answers"))


def make_label(id_: str, z: float | None, who: str) -> dict[str, object]:
    return {"id": id_, "z": z, "who": who, "time": format_time(datetime.now(UTC))}


def check_who(name: str) -> str:
    """The name of who labels. Raises `SetupError` for one that fits no line."""
    if "\n" in name or len(name) > LONGEST_NAME:
        raise SetupError(f"--who must be a name of at most {LONGEST_NAME} characters on one line.")
    return name
