"""Reads composed.json, a cascade of methods that `quorum compose` wrote. Its path may be given as a method's name."""

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast, get_args

from quorum.core.errors import SetupError
from quorum.core.files import read_regular

FILE_KIND = "quorum composed"
TestName = Literal["known", "confidence", "same", "certified"]


@dataclass(frozen=True)
class Acceptance:
    """An answer is accepted if it is known and passes `test` (see `quorum.algorithms.cascades.AcceptanceTest`).

    at_least: the lowest confidence that the test "confidence" accepts; None for the other tests.
    """

    test: TestName
    at_least: float | None = None

    @property
    def description(self) -> str:
        """The test in words: 'known', 'confidence 0.6 or more', 'certified', or 'same as before' (an earlier stage gave
        the same answer).
        """
        if self.test == "confidence":
            return f"confidence {self.at_least:g} or more"
        return "same as before" if self.test == "same" else self.test


@dataclass(frozen=True)
class ComposedStage:
    """One stage of a cascade.

    name: the stage's column in the results. method: the name of the method or system. accept: the test that the answer
    must pass; None for the last stage, whose answer is final. settings: the settings with which the stage was measured,
    as the evaluation's config.json describes them. prompts: the versions of the prompts that the stage sent.
    own_system_hash: if the stage is a user's own system, a hash of the text that says where the system is, for example
    "http://HOST/v1#MODEL"; None if the stage is a method. The file holds this hash under the key `system`.
    """

    name: str
    method: str
    accept: Acceptance | None
    settings: dict[str, Any]
    prompts: dict[str, str] = field(default_factory=dict)
    own_system_hash: str | None = None


@dataclass(frozen=True)
class ComposedCascade:
    """The content of a composed.json file, or a cascade that a user wrote by hand (`quorum.cascades.written_cascade`).

    file: the path of the file, or the text that the user wrote. hash: the SHA-256 hash of the file's content.
    certificate: the statistical guarantee that `quorum compose` computed for the cascade, or None. collection: the name
    and revision of the searched collection, or None if the passages came from a corpus or with the questions.
    is_written: the user wrote it by hand. Nothing was measured, so a stage's settings are those of its brackets alone.
    best: the best single method when it was composed, or None if the file does not say how that was measured. measured:
    further stages with whose settings the answers of this cascade may be asked.
    """

    file: str
    hash: str
    stages: tuple[ComposedStage, ...]
    certificate: dict[str, Any] | None
    collection: dict[str, str | None] | None = None
    is_written: bool = False
    best: ComposedStage | None = None
    measured: tuple[ComposedStage, ...] = ()

    @property
    def graph_name(self) -> str:
        """The name of the cascade's graph: the text that the user wrote, or the file's name and the beginning of its
        hash, such as "composed-1a2b3c".
        """
        if self.is_written:
            return self.file
        return f"{Path(self.file).stem.replace('.', '_')}-{self.hash[:6]}"


def is_composed_file_name(name: str) -> bool:
    """Whether a method's name is the path of a composed.json file."""
    return name.strip().endswith(".json")


def read_composed_cascade(file: str) -> ComposedCascade:
    """The cascade in a composed.json file. Raises `SetupError` if the file holds no cascade."""
    path = Path(file.strip())
    try:
        content = read_regular(path)
    except OSError as error:
        raise SetupError(
            f"The composed method {path} cannot be read ({error.strerror}); write one with: quorum compose RESULTS."
        ) from None
    try:
        value = json.loads(content)
        if value["kind"] != FILE_KIND:
            raise ValueError(value["kind"])
        stages = tuple(read_stage(stage) for stage in value["stages"])
        if not stages or stages[-1].accept is not None or any(stage.accept is None for stage in stages[:-1]):
            raise ValueError("stages")
        best = value.get("best_method")
        return ComposedCascade(
            str(path),
            sha256(content).hexdigest(),
            stages,
            value.get("certificate"),
            value.get("collection"),
            best=None if best is None else read_stage(best),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SetupError(f"{path} holds no composed method; write one with: quorum compose RESULTS.") from None


def take_best_method(cascade: ComposedCascade) -> ComposedCascade | None:
    """The best single method as a cascade of one stage, asked as it was measured; None if the file does not say how."""
    if cascade.best is None:
        return None
    return replace(cascade, stages=(cascade.best,), certificate=None, best=None, measured=cascade.stages)


def read_stage(value: dict[str, Any]) -> ComposedStage:
    accept = value["accept"]
    if accept is not None and accept["test"] not in get_args(TestName):
        raise ValueError(accept["test"])
    return ComposedStage(
        name=str(value["name"]),
        method=str(value["method"]),
        accept=None if accept is None else Acceptance(cast(TestName, accept["test"]), accept.get("at_least")),
        settings=dict(value["settings"]),
        prompts={str(name): str(version) for name, version in (value.get("prompts") or {}).items()},
        own_system_hash=None if value.get("system") is None else str(value["system"]),
    )
