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
# The files of the two heads (heads.py), which read the encoder's output: the sentence filter and the yes/no classifier.
HEAD_FILES = ("sentences.json", "sentences.onnx", "verdict.json")


@cache
def read_manifest() -> dict[str, Any]:
    """The content of reader.json. sha256: the hash of reader.onnx. calibration: the fields of `reading.Calibration`,
    such as the thresholds below which the reader says unknown. certainty: the coefficients by which we compute how
    certain an answer is (`statements.measure_signals` explains their names), and the certainty below which an answer is
    shown with a warning.

    Two more keys are optional: `weights` names the reader's weights, and `embeddings` the sentence encoder. Without
    `weights`, the name is the beginning of the sha256; without `embeddings`, the encoder has the name of the weights.
    """
    manifest: dict[str, Any] = json.loads((FOLDER / "reader.json").read_text(encoding="utf-8"))
    return manifest


def get_weights_hash() -> str:
    """The name of the reader's weights: 12 hex digits.

    The name stays the same if `training.reader_graph` rewrites the ONNX graph. The files of the heads that were
    trained on these weights (sentences.json, verdict.json) store it.
    """
    return name_weights(read_manifest())


def name_weights(manifest: Mapping[str, Any]) -> str:
    """The name of the weights that a manifest describes: its "weights", else the beginning of reader.onnx's sha256."""
    return str(manifest.get("weights", manifest["sha256"]))[:12]


def get_encoder_name() -> str:
    """The name of the sentence encoder, which collections store.

    If a new reader.onnx has the same encoder, bit for bit, `training.calibrate` writes the old name into its
    reader.json, so that stored collections stay valid.
    """
    return str(read_manifest().get("embeddings", get_weights_hash()))


def make_reader_name(manifest: Mapping[str, Any], code_and_heads: bytes) -> str:
    """The reader's name in journals: the name of its weights, then 8 hex digits of a hash.

    The hash is over the sha256 of reader.onnx, the calibration, and `code_and_heads`: the bytes of the files that hold
    the reader's code and its heads.
    """
    manifest_bytes = json.dumps([manifest["sha256"], manifest["calibration"]], sort_keys=True).encode()
    return f"{name_weights(manifest)}-{sha256(manifest_bytes + code_and_heads).hexdigest()[:8]}"


@cache
def get_reader_name() -> str:
    """The name of the installed reader in journals. The first call reads the disk.

    The name changes with reader.onnx, the calibration, the heads, and the code that reads, judges and replies. It does
    not change with other code that a reply depends on, such as batching.py and the rules for comparisons in
    `quorum.algorithms`.
    """
    code = [*(FOLDER / name for name in ("reading.py", "heads.py", "judging.py")), *sorted(FOLDER.glob("replies*.py"))]
    heads = [path for name in HEAD_FILES if (path := FOLDER / name).exists()]
    return make_reader_name(read_manifest(), b"".join(path.read_bytes() for path in [*code, *heads]))
