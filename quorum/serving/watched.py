"""The promises that a server watches: it samples answers for people to label, and says in /metrics how each stands."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.watch.folder import WatchFolder, find_watch_root, list_folders
from quorum.evaluation.watch.promise import Promise, read_promise
from quorum.evaluation.watch.sampling import Sampler
from quorum.evaluation.watch.standing import Standing, compute_standing
from quorum.nodes.abstain import UNCOMPARED_SETTINGS, check_calibration, read_calibration
from quorum.nodes.describe_settings import describe_settings


@dataclass(frozen=True)
class WatchOptions:
    """targets: [NAME=]FILE of `quorum calibrate`, or [NAME=]METHOD with `score_at_least`. label_share: the share of the
    answers that people will label.
    """

    targets: tuple[str, ...] = ()
    score_at_least: float | None = None
    label_share: float = 0.05


class Watches:
    """Samples the answers of a server for the promises that it watches.

    Only answers of a promise's method under the server's own settings count: a client that chooses other settings gets
    answers of which nothing was promised. The files are written by one thread, so that no answer waits for the disk.
    """

    def __init__(self, options: WatchOptions, server_context: Context) -> None:
        self.server_context = server_context
        self.server_settings = describe_settings(server_context, UNCOMPARED_SETTINGS)
        self.samplers: list[tuple[Promise, Sampler]] = []
        for target in options.targets:
            promise = self.read_promise(target, options.score_at_least)
            folder = WatchFolder(find_watch_root(server_context.store) / promise.name)
            folder.begin(promise)
            self.samplers.append((promise, Sampler(folder, options.label_share)))
        self.writer = ThreadPoolExecutor(1, thread_name_prefix="quorum-watch")
        self.has_warned = False

    def read_promise(self, target: str, score_at_least: float | None) -> Promise:
        """The promise, with the settings under which the server answers. Raises `SetupError` unless the server answers
        as was promised.
        """
        promise = read_promise(target, score_at_least)
        if promise.kind == "wrong":
            file, own_file = target.rpartition("=")[2].strip(), self.server_context.calibration
            if own_file is None or hash_file(own_file) != promise.file_hash:
                raise SetupError(
                    f"--watch {target} watches answers that the calibration {file} withholds or lets through, and this "
                    f"server does not apply it; add: --set calibration={file}"
                )
            check_calibration(read_calibration(own_file), promise.method, self.server_context)
        return replace(promise, settings=self.server_settings)

    def observe(self, method: str, context: Context, question: str, result: Mapping[str, Any]) -> None:
        """Take note of an answer that a client has got."""
        self.writer.submit(self.write, method, context, question, dict(result))

    def write(self, method: str, context: Context, question: str, result: Mapping[str, Any]) -> None:
        """Let the samplers see an answer. What cannot be written stops no answers; it is said once."""
        try:
            self.sample(method, context, question, result)
        except Exception as error:  # noqa: BLE001  nobody waits for this thread
            if not self.has_warned:
                self.has_warned = True
                print(f"quorum: answers are not sampled for the watched promises ({error}).", file=sys.stderr)

    def sample(self, method: str, context: Context, question: str, result: Mapping[str, Any]) -> None:
        for promise, sampler in self.samplers:
            is_counted = promise.kind == "score" or not result.get("unknown")
            if is_counted and method == promise.method and self.has_own_settings(context):
                sampler.observe(question, result)

    def has_own_settings(self, context: Context) -> bool:
        return describe_settings(context, UNCOMPARED_SETTINGS) == self.server_settings

    def list_standings(self) -> list[Standing]:
        """How each promise stands; one whose folder cannot be read is left out. The call reads the files, so async
        callers run it in a thread.
        """
        promise_count = len(list_folders(self.server_context.store))
        standings = []
        for _, sampler in self.samplers:
            with suppress(SetupError, OSError, ValueError):
                standings.append(compute_standing(sampler.folder, promise_count))
        return standings


def hash_file(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def format_watch_metrics(standings: Sequence[Standing]) -> str:
    """The standings in Prometheus's text format; empty without any."""
    gauges: dict[str, tuple[str, list[tuple[str, float]]]] = {
        "quorum_watch_capital": ("Highest capital of the bets against a promise; refuted at quorum_watch_alarm_at", []),
        "quorum_watch_alarm_at": ("The capital that refutes a promise", []),
        "quorum_watch_refuted": ("1 if a promise is refuted since its last reset", []),
        "quorum_watch_confirmed_labels": ("Labels of the last confirmation; 0 without one", []),
        "quorum_watch_labels": ("Sampled answers with a label, and those that wait for one", []),
        "quorum_watch_wrong_low": ("Lower end of the interval for the share of broken answers", []),
        "quorum_watch_wrong_high": ("Upper end of that interval", []),
    }
    for standing in standings:
        label = f'promise="{standing.promise.name}"'
        for name, value in (
            ("capital", standing.capital),
            ("alarm_at", standing.alarm_at),
            ("refuted", float(standing.refuted_at is not None)),
            ("confirmed_labels", float(standing.confirmed_labels)),
            ("wrong_low", standing.broken[0]),
            ("wrong_high", standing.broken[1]),
        ):
            gauges[f"quorum_watch_{name}"][1].append((label, value))
        gauges["quorum_watch_labels"][1].append((f'{label},state="done"', standing.done))
        gauges["quorum_watch_labels"][1].append((f'{label},state="waiting"', standing.waiting))
    lines = []
    for name, (description, values) in gauges.items():
        if values:
            lines += [f"# HELP {name} {description}", f"# TYPE {name} gauge"]
            lines += [f"{name}{{{label}}} {value:.10g}" for label, value in values]
    return "".join(f"{line}\n" for line in lines)
