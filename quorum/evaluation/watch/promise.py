"""What is promised of a server's answers: few are wrong, their mean score is at least so much, or they lose little
against the best single method.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from quorum.cascades.composed_file import FILE_KIND as COMPOSED_FILE_KIND
from quorum.core.errors import SetupError
from quorum.core.files import read_regular
from quorum.graphs.find_method import find_method
from quorum.nodes.abstain import CALIBRATION_FILE_KIND

Kind = Literal["wrong", "score", "loss"]
Labeller = Literal["people", "judge"]
FAILURE = 0.05  # d: the largest probability of a false alarm, ever
EQUAL = 0.5  # z of an answer that is the rival's, too


@dataclass(frozen=True)
class Promise:
    """One promise that is watched.

    name: of its folder. kind: "wrong" (of the answers that are not withheld at most `limit` are wrong), "score" (the
    mean of 1 - score over all answers is at most `limit`) or "loss" (the mean of (1 + loss) / 2 is at most `limit`, the
    loss being what `rival` scores more). method: whose answers it speaks of. settings: those that the answers were
    promised for, as `describe_settings` gives them. file_hash: the SHA-256 hash of the file that promises; None for
    "score". rival: for "loss", the best single method; wrong_cost: what a wrong answer costs there, if a right one is
    worth 1. labels: who says which answers are right; judge: with "judge", the settings on which its verdicts depend;
    anchors: with "judge", how many answers are kept to ask it again whether it has changed.
    """

    name: str
    kind: Kind
    limit: float
    method: str
    file_hash: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rival: str | None = None
    wrong_cost: float = 0.0
    labels: Labeller = "people"
    judge: Mapping[str, Any] | None = None
    anchors: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Promise":
        """A field that the version that wrote it did not know has its default."""
        return cls(**{item.name: value[item.name] for item in fields(cls) if item.name in value})

    @property
    def sentence(self) -> str:
        """'At most 5% of the answers of post_fusion are wrong': the promise in words."""
        if self.kind == "wrong":
            return f"At most {100 * self.limit:g}% of the answers of {self.method} are wrong"
        if self.kind == "loss":
            points = f"{100 * self.largest_loss:.6g} points"
            return f"The answers of {self.method} lose at most {points} against {self.rival}"
        return f"The answers of {self.method} score {1 - self.limit:g} or more on average"

    @property
    def judge_labels(self) -> bool:
        return self.labels == "judge"

    @property
    def largest_loss(self) -> float:
        """For "loss": the loss that is promised, in the unit of the measure."""
        return (2 * self.limit - 1) * (1 + self.wrong_cost)

    def compute_z(self, right: Sequence[bool], unknown: Sequence[bool]) -> float:
        """By how much an answer breaks the promise, from 0 to 1. right, unknown: of the answer, and with a rival of the
        rival's answer. A person may call an unknown answer right, where nothing answers the question: it is worth as
        much as any right one. (A judge is not asked about one.)

        >>> Promise("c", "loss", 0.525, "c", rival="sure").compute_z([False, True], [False, False])
        1.0
        """
        if self.kind != "loss":
            return float(not right[0])
        worth = [
            1.0 if is_right else 0.0 if is_unknown else -self.wrong_cost
            for is_right, is_unknown in zip(right, unknown, strict=True)
        ]
        return (1 + (worth[1] - worth[0]) / (1 + self.wrong_cost)) / 2


def read_promise(target: str, score_at_least: float | None = None) -> Promise:
    """The promise that a text names: [NAME=]FILE of `quorum calibrate` or `quorum compose`, or a method together with
    `score_at_least`. The method of a cascade is called as the server calls it, which is not known here.

    Raises `SetupError` if there is no such promise.
    """
    if " --" in target:
        raise SetupError(f"--watch {target!r} holds options within its quotes; write it without them: --watch {target}")
    given_name, equals, file = target.partition("=")
    name, file = (given_name.strip(), file.strip()) if equals else ("", target.strip())
    if score_at_least is not None:
        if not 0 < score_at_least < 1:
            raise SetupError(
                f"--score-at-least {score_at_least:g} does not fit; give a score between 0 and 1, such as 0.7."
            )
        method = find_method(file).name
        return Promise(check_name(name or method), "score", round(1 - score_at_least, 12), method)
    path = Path(file)
    try:
        content = read_regular(path)
        value = json.loads(content)
        if value["kind"] == COMPOSED_FILE_KIND:
            return read_loss_promise(check_name(name or path.stem), file, value, sha256(content).hexdigest())
        if value["kind"] != CALIBRATION_FILE_KIND:
            raise ValueError(value["kind"])
        return Promise(
            check_name(name or path.stem),
            "wrong",
            float(value["wrong_at_most"]),
            str(value["method"]),
            sha256(content).hexdigest(),
        )
    except OSError as error:
        if (named := find_method_or_none(file)) is not None:
            raise SetupError(f"{named} is a method; add --score-at-least 0.7 (the score that is promised).") from None
        raise SetupError(
            f"The promise {file} cannot be read ({error.strerror}); give a file of quorum calibrate or quorum compose, "
            "or a method with --score-at-least."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SetupError(
            f"{file} holds no calibration and no cascade; write one with quorum calibrate RESULTS --wrong-at-most 5%, "
            "or give a method with --score-at-least."
        ) from None


def find_method_or_none(name: str) -> str | None:
    try:
        return find_method(name).name
    except SetupError:
        return None


def read_loss_promise(name: str, file: str, value: Mapping[str, Any], file_hash: str) -> Promise:
    """The promise of a cascade's certificate. Raises `SetupError` if it has none."""
    certificate = value["certificate"]
    if certificate is None:
        raise SetupError(
            f"The cascade in {file} has no certificate, so nothing is promised of it; compose one that is certified, "
            "or watch its score: --watch METHOD --score-at-least S."
        )
    wrong_cost = float(certificate.get("wrong_cost") or 0.0)
    limit = round((1 + float(certificate["lose_at_most"]) / (1 + wrong_cost)) / 2, 12)
    rival = str(value["expected"]["best"])
    return Promise(name, "loss", limit, Path(file).stem, file_hash, rival=rival, wrong_cost=wrong_cost)


def check_name(name: str) -> str:
    """The name of a promise's folder. Raises `SetupError` for one that is no name of a folder."""
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name.startswith(".") or len(name) > 64:
        raise SetupError(
            f"A promise cannot be called {name[:80]!r}; give it a name of letters, digits, '_', '.' or '-': NAME=FILE."
        )
    return name
