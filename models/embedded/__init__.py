"""The offline default: one small encoder that embeds, reads and judges relevance, run by ONNX Runtime.

The weights, what they were trained on, what they score and what they cannot do: README.md in this folder.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@cache
def manifest() -> dict[str, Any]:
    """reader.json: the weights' sha256 and the reader's calibration."""
    found: dict[str, Any] = json.loads((FOLDER / "reader.json").read_text(encoding="utf-8"))
    return found


def weights_hash() -> str:
    """The first 12 hex digits of the weights' sha256: names the model in journals and collections."""
    return str(manifest()["sha256"])[:12]
