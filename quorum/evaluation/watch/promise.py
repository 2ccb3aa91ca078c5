"""What is promised of a server's answers: few are wrong, or their mean score is at least so much."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from quorum.core.errors import SetupError
from quorum.core.files import read_regular
from quorum.graphs.find_method import find_method
from quorum.nodes.abstain import CALIBRATION_FILE_KIND

Kind = Literal["wrong", "score"]
FAILURE = 0.05  # d: the largest probability of a false alarm, ever


@dataclass(frozen=True)
class Promise:
    """One promise that is watched.

    name: of its folder. kind: "wrong" (of the answers that are not withheld at most `limit` are wrong) or "score" (the
    mean of 1 - score over all answers is at most `limit`). method: whose answers it speaks of. settings: those that the
    answers were promised for, as `describe_settings` gives them. file_hash: the SHA-256 hash of the calibration; None
    for "score".
    """

    name: str
    kind: Kind
    limit: float
    method: str
    file_hash: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def sentence(self) -> str:
        """'At most 5% of the answers of post_fusion are wrong': the promise in words."""
        if self.kind == "wrong":
            return f"At most {100 * self.limit:g}% of the answers of {self.method} are wrong"
        return f"The answers of {self.method} score {1 - self.limit:g} or more on average"


def read_promise(target: str, score_at_least: float | None = None) -> Promise:
    """The promise that a text names: [NAME=]FILE of `quorum calibrate`, or a method together with `score_at_least`.

    Raises `SetupError` if there is no such promise.
    """
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
        raise SetupError(
            f"The promise {file} cannot be read ({error.strerror}); give a file of quorum calibrate, or a method with "
            "--score-at-least."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SetupError(
            f"{file} holds no calibration; write one with quorum calibrate RESULTS --wrong-at-most 5%, or give a "
            "method with --score-at-least."
        ) from None


def check_name(name: str) -> str:
    """The name of a promise's folder. Raises `SetupError` for one that is no name of a folder."""
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name.startswith(".") or len(name) > 64:
        raise SetupError(
            f"A promise cannot be called {name[:80]!r}; give it a name of letters, digits, '_', '.' or '-': NAME=FILE."
        )
    return name
