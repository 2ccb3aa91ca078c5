"""The promises that a server watches: it samples answers for a label, says in /metrics how each stands, and may
withhold the answers of a method whose promise is refuted.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quorum.cascades.composed_file import take_best_method
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.watch.anchors import FEWEST_ANCHORS
from quorum.evaluation.watch.folder import EVENTS, LABELS, WatchFolder, count_watched, find_watch_root
from quorum.evaluation.watch.promise import Labeller, Promise, read_promise
from quorum.evaluation.watch.sampling import Sampler
from quorum.evaluation.watch.standing import Standing, compute_standing
from quorum.evaluation.watch.watch_judge import WatchJudge, make_watch_judge
from quorum.nodes.abstain import UNCOMPARED_SETTINGS, check_calibration, read_calibration
from quorum.nodes.describe_settings import describe_settings
from quorum.serving.served_methods import ServedCascade, check_measured_settings
from quorum.serving.watch_account import WatchAccount
from quorum.serving.watch_worker import GivenAnswer, Watched, WatchWorker


@dataclass(frozen=True)
class WatchOptions:
    """targets: [NAME=]FILE of `quorum calibrate` or `quorum compose`, or [NAME=]METHOD with `score_at_least`.
    label_share: the share of the answers to be labelled. labels: who labels; judge: the spec of the model that labels,
    or, if people label, that says which answers look doubtful; anchors: how many answers tell whether the judge
    changes. withholds: whether the answers of a method are withheld once its promise is refuted.
    """

    targets: tuple[str, ...] = ()
    score_at_least: float | None = None
    label_share: float = 0.05
    labels: Labeller = "people"
    judge: str | None = None
    anchors: int = FEWEST_ANCHORS
    withholds: bool = False


@dataclass
class RefutedState:
    """Whether a promise is refuted, as of the files' sizes."""

    sizes: tuple[int, int] | None = None
    standing: Standing | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Watches:
    """Samples the answers of a server for the promises that it watches.

    Only answers of a promise's method under the server's own settings count: a client that chooses other settings gets
    answers of which nothing was promised. What is asked and written comes after the reply, so that no client waits.
    cascades: those that the server serves, by name.
    """

    def __init__(
        self,
        options: WatchOptions,
        server_context: Context,
        account: WatchAccount,
        cascades: Mapping[str, ServedCascade] | None = None,
        own_systems: Mapping[str, str] | None = None,
    ) -> None:
        self.options, self.server_context, self.cascades = options, server_context, cascades or {}
        self.server_settings = describe_settings(server_context, UNCOMPARED_SETTINGS)
        self.judge = None if options.judge is None else make_watch_judge(options.judge, server_context)
        self.withheld: Counter[str] = Counter()
        self.watched = [self.begin(target, own_systems or {}) for target in options.targets]
        self.refuted = {item.promise.name: RefutedState() for item in self.watched}
        self.worker = WatchWorker(
            account,
            self.judge,
            flags=options.labels == "people",
            server_context=replace(server_context, calibration=None),
        )

    def begin(self, target: str, own_systems: Mapping[str, str]) -> Watched:
        """Watch a promise. Raises `SetupError` if that is not possible."""
        promise, rival = self.read_promise(target), None
        if promise.kind == "loss":
            rival = self.make_rival(target, promise, own_systems)
        folder = WatchFolder(find_watch_root(self.server_context.store) / promise.name)
        folder.begin(promise)
        return Watched(promise, Sampler(folder, self.options.label_share), rival)

    def read_promise(self, target: str) -> Promise:
        """The promise, with the settings under which the server answers. Raises `SetupError` unless the server answers
        as was promised.
        """
        promise, file = read_promise(target, self.options.score_at_least), target.rpartition("=")[2].strip()
        if promise.kind == "wrong":
            own_file = self.server_context.calibration
            if own_file is None or hash_file(own_file) != promise.file_hash:
                raise SetupError(
                    f"--watch {target} watches answers that the calibration {file} withholds or lets through, and this "
                    f"server does not apply it; add: --set calibration={file}"
                )
            check_calibration(read_calibration(own_file), promise.method, self.server_context)
        if promise.kind == "loss":
            promise = replace(promise, method=self.find_cascade(target, promise))
        if self.options.labels == "judge":
            if self.judge is None:
                raise SetupError("--labels judge needs a judge; name the model with --judge, such as openai:gpt-4o.")
            promise = replace(
                promise, labels="judge", judge=self.judge.describe_settings(), anchors=self.options.anchors
            )
        return replace(promise, settings=self.server_settings)

    def find_cascade(self, target: str, promise: Promise) -> str:
        """The name under which the cascade of a promise is served. Raises `SetupError` if it is not."""
        for name, served in self.cascades.items():
            if served.cascade.hash == promise.file_hash:
                return name
        file = target.rpartition("=")[2].strip()
        raise SetupError(f"--watch {target} watches a cascade that is not served; add: --composed {file}")

    def make_rival(self, target: str, promise: Promise, own_systems: Mapping[str, str]) -> ServedCascade:
        """The best single method, which is asked the sampled questions, too."""
        from quorum.graphs.composed import build_graph

        served = self.cascades[promise.method]
        alone = take_best_method(served.cascade)
        if alone is None:
            raise SetupError(
                f"--watch {target}: the file does not say how {promise.rival}, the best single method, was asked; "
                "compose again, with results of quorum compare."
            )
        rival = ServedCascade(served.method, build_graph(alone, own_systems))
        check_measured_settings(rival, self.server_context)
        return rival

    def observe(
        self, method: str, context: Context, question: str, result: Mapping[str, Any], conversation: str = ""
    ) -> None:
        """Take note of an answer that a client has got. conversation: what all questions of a conversation share."""
        if "refuted_promise" in result:
            return
        watched = [
            item
            for item in self.watched
            if item.promise.method == method
            and (item.promise.kind != "wrong" or not result.get("unknown"))
            and self.has_own_settings(context)
        ]
        if watched:
            self.worker.start(self.watched)
            asked = str(result.get("question") or question)
            self.worker.add(GivenAnswer(watched, context, asked, dict(result), conversation))

    def has_own_settings(self, context: Context) -> bool:
        own_collection = self.server_context.collection
        return own_collection in (None, context.collection) and (
            describe_settings(context, UNCOMPARED_SETTINGS) == self.server_settings
        )

    async def find_refuted(self, method: str, context: Context) -> Standing | None:
        """The standing of a refuted promise about what would be answered now, if such answers are withheld."""
        if not self.options.withholds:
            return None
        for item in self.watched:
            if item.promise.method == method and self.has_own_settings(context):
                standing = await self.read_refuted(item)
                if standing is not None and standing.state == "refuted":
                    self.withheld[item.promise.name] += 1
                    return standing
        return None

    async def read_refuted(self, watched: Watched) -> Standing | None:
        """How a promise stands. It is computed anew only if there are new labels or events: an answer refutes none."""
        state = self.refuted[watched.promise.name]
        async with state.lock:
            sizes = await asyncio.to_thread(lambda: (watched.folder.size(LABELS), watched.folder.size(EVENTS)))
            if sizes != state.sizes:
                with suppress(SetupError, OSError, ValueError):
                    state.standing = await asyncio.to_thread(self.compute, watched)
                    state.sizes = sizes
            return state.standing

    def compute(self, watched: Watched) -> Standing:
        return compute_standing(watched.folder, count_watched(self.server_context.store))

    def list_standings(self) -> list[Standing]:
        """How each promise stands; one whose folder cannot be read is left out. The call reads the files, so async
        callers run it in a thread.
        """
        standings = []
        for item in self.watched:
            with suppress(SetupError, OSError, ValueError):
                standings.append(self.compute(item))
        return standings


def hash_file(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def list_judged_models(judge: WatchJudge | None) -> list[Any]:
    """The models that a watch asks besides the server's."""
    return [] if judge is None else [judge.context.model]
