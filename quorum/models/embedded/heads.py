"""Two heads on the reader's last-layer states: which sentences help, and whether the answer is yes or no.

`sentences.onnx`, the sentence filter, has one transformer layer and gives each sentence a score. `verdict.json` is a
linear classifier.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from quorum.core.errors import SetupError
from quorum.core.files import open_regular, read_regular
from quorum.core.forks import PerProcess
from quorum.models.embedded import FOLDER, get_weights_hash
from quorum.models.embedded.encoder import BUCKET, Floats

WINDOWS_PER_RUN = 16


@dataclass(frozen=True)
class SentenceTokens:
    """Which tokens of one window belong to which sentence.

    tokens: an array (sentences, length of the window) with 1 where a token belongs to a sentence, else 0.
    """

    tokens: Floats


class SentenceHead:
    """Runs `sentences.onnx` in `folder`. Raises SetupError for a head that was trained on another reader.

    reader: the name of the weights on which the head must have been trained; None: those of the installed reader.
    """

    def __init__(self, folder: Path = FOLDER, reader: str | None = None) -> None:
        manifest = json.loads(read_regular(folder / "sentences.json"))
        # Raises an error if the file is a named pipe: the runtime would wait on it for ever.
        open_regular(folder / "sentences.onnx").close()
        reader_name = get_weights_hash() if reader is None else reader
        if manifest["reader"] != reader_name:
            raise SetupError(
                f"The sentence filter in {folder} was trained for the reader {manifest['reader']}, and the present "
                f"reader is {reader_name}; train it again: quorum filter train --base embedded."
            )
        self.threshold = float(manifest["threshold"])
        self.session = PerProcess(partial(load_session, folder / "sentences.onnx"))
        self.session.get()

    def compute_probabilities(
        self, states: Sequence[Floats], sentence_tokens: Sequence[SentenceTokens]
    ) -> list[Floats]:
        """For each window, an array with the probability that each of its sentences helps.

        states: for each window, the states of its tokens (length, hidden). A sentence without a token in the window
        gets 0.
        """
        results: list[Floats | None] = [None] * len(states)
        places_by_length: dict[int, list[int]] = defaultdict(list)  # padded length -> indexes of windows
        for place, window_states in enumerate(states):
            places_by_length[-(-len(window_states) // BUCKET) * BUCKET].append(place)
        for length, places in sorted(places_by_length.items()):
            for begin in range(0, len(places), WINDOWS_PER_RUN):
                batch = places[begin : begin + WINDOWS_PER_RUN]
                inputs = pad_windows(
                    length, [states[place] for place in batch], [sentence_tokens[place].tokens for place in batch]
                )
                (logits,) = self.session.get().run(["helps"], inputs)
                for row, place in enumerate(batch):
                    window_tokens = sentence_tokens[place].tokens
                    chances = 1 / (1 + np.exp(-np.clip(logits[row, : len(window_tokens)], -60, 60)))
                    results[place] = np.where(window_tokens.any(1), chances, 0).astype(np.float32)
        return [chances for chances in results if chances is not None]


def pad_windows(length: int, states: Sequence[Floats], sentence_tokens: Sequence[Floats]) -> dict[str, NDArray[Any]]:
    """The inputs of one run of `sentences.onnx` over windows that are padded to `length` tokens.

    sentence_tokens: for each window, the array in its `SentenceTokens`.
    """
    most_sentences = max(1, *(len(tokens) for tokens in sentence_tokens))
    padded_states = np.zeros((len(states), length, states[0].shape[1]), np.float32)
    mask = np.zeros((len(states), length), np.int64)
    padded_sentence_tokens = np.zeros((len(states), most_sentences, length), np.float32)
    for row, (window_states, tokens) in enumerate(zip(states, sentence_tokens, strict=True)):
        padded_states[row, : len(window_states)], mask[row, : len(window_states)] = window_states, 1
        padded_sentence_tokens[row, : tokens.shape[0], : tokens.shape[1]] = tokens
    return {"states": padded_states, "mask": mask, "sentences": padded_sentence_tokens}


@dataclass(frozen=True)
class Verdict:
    """The probabilities that the passages say yes, say no, or do not settle the question. They add up to 1."""

    yes: float
    no: float
    unknown: float


class VerdictHead:
    """Computes a verdict as the softmax of three linear scores. Reads their weights from `verdict.json` in `folder`.

    Raises SetupError for a head that was trained on another reader than the installed one.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        manifest = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        if manifest["reader"] != get_weights_hash():
            raise SetupError(
                f"The yes/no head in {folder} was trained for the reader {manifest['reader']}, and the present reader "
                f"is {get_weights_hash()}; train it again: python -m training.verdict."
            )
        self.weights = np.array(manifest["weights"], np.float32)  # (3, features + 1); the last column is the bias
        self.mean, self.spread = np.array(manifest["mean"], np.float32), np.array(manifest["spread"], np.float32)

    def compute_verdict(self, features: Floats) -> Verdict:
        """The verdict on a question and its passages. features: from `pool_states`."""
        scores = self.weights[:, :-1] @ ((features - self.mean) / self.spread) + self.weights[:, -1]
        exponentials = np.exp(scores - scores.max())
        yes, no, unknown = exponentials / exponentials.sum()
        return Verdict(float(yes), float(no), float(unknown))


def pool_states(states: Sequence[Floats]) -> Floats:
    """The features from which a verdict is computed, from the states of each window.

    A window gives the state of its first token, followed by the mean of all its states. The features are the mean of
    these vectors over the windows.
    """
    rows: Floats = np.stack([np.concatenate([state[0], state.mean(0)]) for state in states])
    return np.asarray(rows.mean(0), np.float32)


def load_session(file: Path) -> onnxruntime.InferenceSession:
    """A head's file, loaded in ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


@cache
def get_sentence_head(folder: Path = FOLDER) -> SentenceHead:
    """The built-in sentence filter, or the one in a folder that `quorum filter train` wrote."""
    if not (folder / "sentences.json").is_file():
        raise SetupError(
            f"There is no sentence filter in {folder}; give the folder that quorum filter train --base embedded wrote."
        )
    return SentenceHead(folder)


@cache
def get_verdict_head() -> VerdictHead:
    return VerdictHead()
