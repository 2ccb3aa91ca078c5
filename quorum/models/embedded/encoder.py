"""The encoder in ONNX Runtime: token ids in, embeddings or reading logits out."""

import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from quorum.models.embedded import FOLDER

Floats = NDArray[np.float32]

BUCKET = 16  # lengths are padded to a multiple of this, so that a text's result does not depend on its batch
ROWS = 16  # rows in one run
EMBEDDED_TOKENS = 256  # of a text, as the base model's authors set it
SLOWER = ["SkipLayerNormFusion"]  # a rewrite by the runtime whose kernel takes ten times as long
EMBED, READ = {"embeds": np.array(True)}, {"embeds": np.array(False)}  # the input that chooses the tower to compute
LOADING = threading.Lock()


@dataclass(frozen=True)
class Logits:
    """One window's start and end logits (length,), where position 0 is no answer, and its answerability logit."""

    start: Floats
    end: Floats
    answerable: float


class Encoder:
    """Runs the file `reader.onnx` in `folder`. Safe to use from several threads."""

    def __init__(self, folder: Path = FOLDER) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4, 8)
        options.add_session_config_entry("session.force_spinning_stop", "1")  # its threads must not spin between runs
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            folder / "reader.onnx", options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
        words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        vocabulary = {word: number for number, word in enumerate(words)}
        self.tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
        self.tokenizer.normalizer = BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = BertPreTokenizer()
        self.cls, self.sep = vocabulary["[CLS]"], vocabulary["[SEP]"]

    def tokens(self, text: str) -> Encoding:
        """Token ids and character offsets, without special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.tokens(text).ids)

    def embed(self, texts: Sequence[str]) -> Floats:
        """-> (n, 384) normalised sentence embeddings of the first 254 tokens of each text."""
        room = EMBEDDED_TOKENS - 2
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        rows = [[self.cls, *item.ids[:room], self.sep] for item in encoded]
        out = np.zeros((len(rows), self.session.get_outputs()[0].shape[1]), np.float32)
        for members, ids, types, mask in make_batches(rows, [[0] * len(row) for row in rows]):
            (vectors,) = self.session.run(["embedding"], {"ids": ids, "types": types, "mask": mask} | EMBED)
            out[members] = vectors
        return out

    def read(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Logits]:
        """One `Logits` for each row of token ids with its segment types, in order."""
        out: list[Logits | None] = [None] * len(rows)
        for members, ids, kinds, mask in make_batches(rows, types):
            feed = {"ids": ids, "types": kinds, "mask": mask} | READ
            span, answerable = self.session.run(["span", "answerable"], feed)
            for place, member in enumerate(members):
                length = len(rows[member])
                start, end = span[place, :length, 0], span[place, :length, 1]
                out[member] = Logits(start, end, float(answerable[place]))
        return [logits for logits in out if logits is not None]

    def hidden(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Floats]:
        """The reader's last states of each row of token ids with its segment types: (length, 384), in order."""
        out: list[Floats | None] = [None] * len(rows)
        for members, ids, kinds, mask in make_batches(rows, types):
            (states,) = self.session.run(["hidden"], {"ids": ids, "types": kinds, "mask": mask} | READ)
            for place, member in enumerate(members):
                out[member] = states[place, : len(rows[member])]
        return [states for states in out if states is not None]


def make_batches(
    rows: Sequence[list[int]], types: Sequence[list[int]]
) -> list[tuple[list[int], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Rows grouped by padded length: (places of the rows, ids, types, mask), each array (rows, padded length)."""
    groups: dict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups[-(-len(row) // BUCKET) * BUCKET].append(place)
    made = []
    for length, places in sorted(groups.items()):
        for begin in range(0, len(places), ROWS):
            members = places[begin : begin + ROWS]
            ids, kinds, mask = (np.zeros((len(members), length), np.int64) for _ in range(3))
            for number, place in enumerate(members):
                size = len(rows[place])
                ids[number, :size], kinds[number, :size], mask[number, :size] = rows[place], types[place], 1
            made.append((members, ids, kinds, mask))
    return made


@cache
def load_encoder() -> Encoder:
    return Encoder()


def get_encoder() -> Encoder:
    """The process's one encoder; loading takes about a fifth of a second."""
    with LOADING:
        return load_encoder()
