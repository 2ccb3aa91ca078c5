"""The last node of every method: withholds answers whose confidence is below that of a file of `quorum calibrate`."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.core.state import State, WithheldAnswer
from quorum.core.text import UNKNOWN
from quorum.nodes.describe_settings import (
    SETTINGS_THAT_CHANGE_NO_ANSWER,
    add_unset_silver_settings,
    describe_settings,
    format_setting,
)

CALIBRATION_FILE_KIND = "quorum calibration"
# A calibration may be used although these settings have changed.
UNCOMPARED_SETTINGS = SETTINGS_THAT_CHANGE_NO_ANSWER | {"collection", "answer_type", "calibration"}


async def abstain(state: State, runtime: Runtime[Context]) -> State:
    """answer, unknown, confidence -> answer (unknown if the calibration says that it is not sure enough), withheld."""
    file = get_context(runtime).calibration
    if not file:
        return {}
    return suppress_unsure_answer(state, await asyncio.to_thread(read_calibration, file))


@dataclass(frozen=True)
class Calibration:
    """A file of `quorum calibrate`: the method, its settings, and the lowest confidence at which it answers."""

    file: str
    method: str
    lowest_confidence: float
    settings: dict[str, Any]


def read_calibration(file: str) -> Calibration:
    """Read a calibration file. Raises `SetupError` for a file that holds no calibration."""
    try:
        value = json.loads(Path(file).read_text(encoding="utf-8"))
        if value["kind"] != CALIBRATION_FILE_KIND:
            raise ValueError(value["kind"])
        return Calibration(file, str(value["method"]), float(value["lowest_confidence"]), dict(value["settings"]))
    except OSError as error:
        raise SetupError(
            f"The calibration {file} cannot be read ({error.strerror}); write one with: quorum calibrate RESULTS."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SetupError(f"{file} holds no calibration; write one with: quorum calibrate RESULTS.") from None


def check_calibration(calibration: Calibration, method: str, context: Context) -> None:
    """Raise a `SetupError` unless the calibration was made for this method and these settings.

    Settings that the file does not hold are not compared. The exceptions, with filter_mode=silver, are silver_measure
    and scorer: if the file does not hold one of them, it was not set, and is compared as None.
    """
    if calibration.method != method:
        raise SetupError(
            f"{calibration.file} was made for {calibration.method}, not for {method}; choose the method "
            f"{calibration.method}, or calibrate {method}."
        )
    present_settings = add_unset_silver_settings(describe_settings(context, UNCOMPARED_SETTINGS))
    for name, recorded_value in add_unset_silver_settings(calibration.settings).items():
        if name in present_settings and name not in UNCOMPARED_SETTINGS and present_settings[name] != recorded_value:
            raise SetupError(
                f"{calibration.file} was made with {name}={format_setting(recorded_value)}, but {name} is "
                f"{format_setting(present_settings[name])} now; set {name} as it was, or calibrate again."
            )


def suppress_unsure_answer(state: State, calibration: Calibration) -> State:
    """The update that makes the answer unknown if its confidence is missing or below the threshold of the calibration;
    else an empty one. `withheld` then holds the answer that is not shown.
    """
    confidence = state.get("confidence")
    if state["unknown"] or (confidence is not None and confidence >= calibration.lowest_confidence):
        return {}
    withheld_answer = WithheldAnswer(
        answer=state["answer"], confidence=confidence, lowest_confidence=calibration.lowest_confidence
    )
    return State(answer=UNKNOWN, answer_text=None, unknown=True, evidence=[], citations=None, withheld=withheld_answer)
