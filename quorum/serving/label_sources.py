"""Where answers to label come from: watched promises, and differing answers of compared methods."""

from collections.abc import Sequence
from typing import Protocol

from quorum.core.errors import SetupError
from quorum.evaluation.decisions.answer_labels import LabelledPair, read_pair
from quorum.evaluation.shown.label_task import LabelTask
from quorum.evaluation.watch.folder import WatchFolder
from quorum.evaluation.watch.labelling import list_tasks, save_label
from quorum.serving.watched import Watches


class LabelSource(Protocol):
    """Where answers to label come from, and where their labels go."""

    def list_tasks(self) -> Sequence[LabelTask]: ...

    def save(self, task: LabelTask, right: Sequence[bool] | None, who: str) -> None: ...


class WatchLabels:
    """The sampled answers of a promise."""

    def __init__(self, folder: WatchFolder) -> None:
        self.folder = folder

    def list_tasks(self) -> Sequence[LabelTask]:
        return list_tasks(self.folder)

    def save(self, task: LabelTask, right: Sequence[bool] | None, who: str) -> None:
        save_label(self.folder, task, right, who)


class ResultLabels:
    """The differing answers of two methods in recorded results."""

    def __init__(self, pair: LabelledPair) -> None:
        self.pair = pair

    def list_tasks(self) -> Sequence[LabelTask]:
        self.pair.read_labels()
        return self.pair.list_tasks()

    def save(self, task: LabelTask, right: Sequence[bool] | None, who: str) -> None:
        self.pair.save(task.id, None if right is None else task.sort_by_method(right), who)


def find_sources(watches: Watches | None, results: Sequence[str]) -> dict[str, LabelSource]:
    """{name: source}. results: FOLDER, or FOLDER:METHOD,FOLDER:METHOD, of each pair of methods. Raises `SetupError`."""
    sources: dict[str, LabelSource] = {}
    for item in watches.watched if watches is not None else ():
        if not item.promise.judge_labels:
            sources[item.promise.name] = WatchLabels(item.folder)
    for text in results:
        pair = read_pair([part.strip() for part in text.split(",")])
        name = pair.new.folder.name
        if name in sources:
            raise SetupError(f"--label {text}: {name} is labelled already; give each folder once, or rename one.")
        sources[name] = ResultLabels(pair)
    return sources
