"""Which answers of a watched promise a person labels, and the lines that are written of the labels."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.shown.label_task import LabelTask, make_task
from quorum.evaluation.watch.folder import LABELS, WatchFolder
from quorum.evaluation.watch.promise import EQUAL, Promise
from quorum.evaluation.watch.sampled import SampledAnswer, read_sampled
from quorum.evaluation.watch.sampling import format_time

JUDGE = "judge "  # a label by a judge names the judge after this


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


def name_judge(promise: Promise) -> str:
    """Who labels, where a judge does."""
    return f"{JUDGE}{describe_judge(promise)}"


def is_by_judge(label: Mapping[str, Any]) -> bool:
    return str(label.get("who", "")).startswith(JUDGE)


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
