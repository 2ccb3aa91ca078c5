"""The answer "unknown" of a server in place of one whose promise is refuted (`quorum serve --on-refuted withhold`)."""

from typing import Any, cast

from quorum.core.text import UNKNOWN
from quorum.evaluation.shown.support import ShownResult
from quorum.evaluation.watch.standing import Standing


def make_withheld_result(standing: Standing) -> ShownResult:
    """The result, whose note says why; no model was called. It has one more key, `refuted_promise`."""
    promise, day = standing.promise, str(standing.refuted_at)[:10]
    note = (
        f'The answers of {promise.method} are withheld here: "{promise.sentence}" was promised, and refuted on {day}. '
        "Whoever runs this server can begin anew with a new certificate."
    )
    refuted: dict[str, Any] = {"name": promise.name, "sentence": promise.sentence, "refuted_at": standing.refuted_at}
    result: dict[str, Any] = {
        "answer": UNKNOWN,
        "answer_text": None,
        "unknown": True,
        "confidence": None,
        "evidence": [],
        "passages": [],
        "usage": {},
        "withheld": None,
        "support": None,
        "note": note,
        "search_note": None,
        "refuted_promise": refuted,
    }
    return cast(ShownResult, result)
