"""The offline default: one small encoder that embeds, reads and judges relevance, run by ONNX Runtime.

README.md in this folder describes the weights, their training data, their scores and their limits.
"""

import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@cache
def read_manifest() -> dict[str, Any]:
    """reader.json: the weights' sha256 and the reader's calibration."""
    found: dict[str, Any] = json.loads((FOLDER / "reader.json").read_text(encoding="utf-8"))
    return found


def get_weights_hash() -> str:
    """The first 12 hex digits of the weights' sha256: names the model in collections."""
    return str(read_manifest()["sha256"])[:12]


def make_reader_name(made_of: Mapping[str, Any], code: bytes) -> str:
    """The reader's name in journals: a hash of weights, calibration and code, which all change its replies."""
    rest = sha256(json.dumps(made_of["calibration"], sort_keys=True).encode() + code)
    return f"{str(made_of['sha256'])[:12]}-{rest.hexdigest()[:8]}"


@cache
def get_reader_name() -> str:
    """The name of the installed reader. The first call reads the disk."""
    code = [*(FOLDER / name for name in ("reading.py", "heads.py", "judging.py")), *sorted(FOLDER.glob("replies*.py"))]
    heads = [path for name in ("sentences.json", "verdict.json") if (path := FOLDER / name).exists()]
    return make_reader_name(read_manifest(), b"".join(path.read_bytes() for path in [*code, *heads]))
