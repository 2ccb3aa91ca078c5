"""Heads on the reader's last-layer states: which sentences help, and whether the passages say yes or no.

`sentences.onnx` is one transformer layer and a score for each sentence; `verdict.json` a linear classifier.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from quorum.core.errors import SetupError
from quorum.core.files import open_regular, read_regular
from quorum.models.embedded import FOLDER, get_weights_hash
from quorum.models.embedded.encoder import BUCKET, Floats

WINDOWS_PER_RUN = 16


@dataclass(frozen=True)
class SentenceTokens:
    """Which tokens of one window belong to which sentence: (sentences, length), 1 where the token does, else 0."""

    tokens: Floats


class SentenceHead:
    """Runs `sentences.onnx` in `folder`. Raises SetupError for a head that was trained on another reader."""

    def __init__(self, folder: Path = FOLDER, reader: str | None = None) -> None:
        manifest = json.loads(read_regular(folder / "sentences.json"))
        # Raises an error if the file is a named pipe: the runtime would wait on it for ever.
        open_regular(folder / "sentences.onnx").close()
        wanted = get_weights_hash() if reader is None else reader
        if manifest["reader"] != wanted:
            raise SetupError(
                f"The sentence filter in {folder} was trained for the reader {manifest['reader']}, and this one is "
                f"{wanted}; train it again: quorum filter train --base embedded."
            )
        self.threshold = float(manifest["threshold"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            folder / "sentences.onnx", options, providers=["CPUExecutionProvider"]
        )

    def probabilities(self, states: Sequence[Floats], sentence_tokens: Sequence[SentenceTokens]) -> list[Floats]:
        """For each window, given its states (length, hidden), the chance that each of its sentences helps, in 0..1.

        A sentence without a token in the window gets 0.
        """
        out: list[Floats | None] = [None] * len(states)
        groups: dict[int, list[int]] = defaultdict(list)
        for place, state in enumerate(states):
            groups[-(-len(state) // BUCKET) * BUCKET].append(place)
        for length, places in sorted(groups.items()):
            for begin in range(0, len(places), WINDOWS_PER_RUN):
                group = places[begin : begin + WINDOWS_PER_RUN]
                feed = pad_windows(
                    length, [states[place] for place in group], [sentence_tokens[place].tokens for place in group]
                )
                (logits,) = self.session.run(["helps"], feed)
                for row, place in enumerate(group):
                    own_tokens = sentence_tokens[place].tokens
                    chances = 1 / (1 + np.exp(-np.clip(logits[row, : len(own_tokens)], -60, 60)))
                    out[place] = np.where(own_tokens.any(1), chances, 0).astype(np.float32)
        return [chances for chances in out if chances is not None]


def pad_windows(length: int, states: Sequence[Floats], sentence_tokens: Sequence[Floats]) -> dict[str, NDArray[Any]]:
    """The inputs of one run over windows padded to `length` tokens."""
    sentences = max(1, *(len(own) for own in sentence_tokens))
    padded = np.zeros((len(states), length, states[0].shape[1]), np.float32)
    mask = np.zeros((len(states), length), np.int64)
    padded_sentence_tokens = np.zeros((len(states), sentences, length), np.float32)
    for row, (state, own) in enumerate(zip(states, sentence_tokens, strict=True)):
        padded[row, : len(state)], mask[row, : len(state)] = state, 1
        padded_sentence_tokens[row, : own.shape[0], : own.shape[1]] = own
    return {"states": padded, "mask": mask, "sentences": padded_sentence_tokens}


@dataclass(frozen=True)
class Verdict:
    """The chances that the passages say yes, say no, or do not settle the question; they add up to 1."""

    yes: float
    no: float
    unknown: float


class VerdictHead:
    """Reads `verdict.json` in `folder`: three linear scores over the pooled states."""

    def __init__(self, folder: Path = FOLDER) -> None:
        manifest = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        if manifest["reader"] != get_weights_hash():
            raise SetupError(
                f"The yes/no head in {folder} was trained for the reader {manifest['reader']}, and this one is "
                f"{get_weights_hash()}; train it again: python -m quorum.training.verdict."
            )
        self.weights = np.array(manifest["weights"], np.float32)  # (3, features + 1), the last column the bias
        self.mean, self.spread = np.array(manifest["mean"], np.float32), np.array(manifest["spread"], np.float32)

    def verdict(self, features: Floats) -> Verdict:
        """The verdict over pooled states (features,), see `pool_states`."""
        scores = self.weights[:, :-1] @ ((features - self.mean) / self.spread) + self.weights[:, -1]
        exponentials = np.exp(scores - scores.max())
        yes, no, unknown = exponentials / exponentials.sum()
        return Verdict(float(yes), float(no), float(unknown))


def pool_states(states: Sequence[Floats]) -> Floats:
    """The features of a verdict: the first token's state and the mean of all states, averaged over the windows."""
    rows: Floats = np.stack([np.concatenate([state[0], state.mean(0)]) for state in states])
    return np.asarray(rows.mean(0), np.float32)


@cache
def get_sentence_head(folder: Path = FOLDER) -> SentenceHead:
    """The reader's built-in filter, or the one in a folder that `quorum filter train` wrote."""
    if not (folder / "sentences.json").is_file():
        raise SetupError(
            f"There is no sentence filter in {folder}; give the folder that quorum filter train --base embedded wrote."
        )
    return SentenceHead(folder)


@cache
def get_verdict_head() -> VerdictHead:
    return VerdictHead()
