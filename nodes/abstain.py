"""Answers that are not sure enough, by a file of `quorum calibrate`, become unknown."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Result, Suppressed
from quorum.core.text import UNKNOWN
from quorum.nodes.describe_settings import HOW, describe_settings

KIND = "quorum calibration"
OF_THE_RUN = HOW | {"collection", "answer_type", "calibration"}


@dataclass(frozen=True)
class Calibration:
    """What a file of `quorum calibrate` says: the method, from which confidence on it answers, and its settings."""

    file: str
    method: str
    answer_from: float
    settings: dict[str, Any]


def read_calibration(file: str) -> Calibration:
    """The calibration in a file; a `SetupError` where there is none."""
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        if found["kind"] != KIND:
            raise ValueError(found["kind"])
        return Calibration(file, str(found["method"]), float(found["answer_from"]), dict(found["settings"]))
    except OSError as error:
        raise SetupError(
            f"The calibration {file} cannot be read ({error.strerror}); write one with: quorum calibrate RESULTS."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SetupError(f"{file} holds no calibration; write one with: quorum calibrate RESULTS.") from None


def check_calibration(calibration: Calibration, method: str, context: Context) -> None:
    """A promise holds for the method and the settings that it was made for: anything else is a `SetupError`."""
    if calibration.method != method:
        raise SetupError(
            f"{calibration.file} was made for {calibration.method}, not for {method}; give that method, or calibrate "
            f"{method}."
        )
    now = describe_settings(context, OF_THE_RUN)
    for name, recorded in calibration.settings.items():
        if name in now and name not in OF_THE_RUN and now[name] != recorded:
            raise SetupError(
                f"{calibration.file} was made with {name}={shown(recorded)}, and it is {shown(now[name])} now; give "
                "what it was made with, or calibrate again."
            )


def shown(value: Any) -> str:
    return f"{value['provider']}:{value['model']}" if isinstance(value, dict) and "model" in value else str(value)


def suppress_unsure(result: Result, calibration: Calibration) -> Result:
    """The result, unknown where its confidence is below the threshold, or where it states none."""
    confidence = result.get("confidence")
    if result["unknown"] or (confidence is not None and confidence >= calibration.answer_from):
        return result
    kept = Suppressed(answer=result["answer"], confidence=confidence, answer_from=calibration.answer_from)
    return {**result, "answer": UNKNOWN, "unknown": True, "evidence": [], "suppressed": kept}
