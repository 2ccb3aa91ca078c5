"""The encoder in ONNX Runtime: token ids in, embeddings or reading logits out."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from quorum.models.embedded import FOLDER
from quorum.models.embedded.encoder_sessions import ROWS_PER_RUN, EncoderSessions, Inputs
from quorum.models.embedded.recent_items import RecentItems

Floats = NDArray[np.float32]

RowKey = tuple[tuple[int, ...], tuple[int, ...]]  # token ids and segment types

BUCKET = 16  # lengths are padded to a multiple of this, so that a text's result does not depend on its batch
# The most tokens of an embedded text, with [CLS] and [SEP], as the base model's authors set it.
MAX_EMBEDDED_TOKENS = 256
REMEMBERED_STATES = 64  # rows of last-layer states, of 0.4 MB each: a sentence filter reads the same rows as the reader
LONG_LINE = 30  # characters
LONGEST_REMEMBERED_TEXT = 4_000  # characters: the counts of 4,096 such texts take 16 MB
# The graph's input that chooses what it computes: sentence embeddings, or the reader's logits and states.
EMBEDDING_MODE, READING_MODE = {"embeds": np.array(True)}, {"embeds": np.array(False)}
LOADING_LOCK = threading.Lock()


@dataclass(frozen=True)
class Logits:
    """One window's start and end logits (length,), where position 0 is no answer, and its answerability logit."""

    start: Floats
    end: Floats
    answerable: float


class Encoder:
    """Runs the file `reader.onnx` in `folder`. Safe to use from several threads."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.sessions = EncoderSessions(folder / "reader.onnx")
        words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        vocabulary = {word: number for number, word in enumerate(words)}
        self.tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
        self.tokenizer.normalizer = BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = BertPreTokenizer()
        self.cls, self.sep = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self.counts: RecentItems[str, int] = RecentItems(4096)
        self.recent_hidden_states: RecentItems[RowKey, Floats] = RecentItems(REMEMBERED_STATES)

    def tokens(self, text: str) -> Encoding:
        """Token ids and character offsets, without special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def count(self, text: str) -> int:
        """How many tokens a text has.

        No token reaches over the end of a line. Therefore each long line, such as a passage that many prompts show, is
        counted by itself, and the short lines, which a prompt often shares with others, together. Both are remembered.
        """
        lines = text.split("\n")
        short_lines = "\n".join(line for line in lines if len(line) < LONG_LINE)
        return self.count_once(short_lines) + sum(self.count_once(line) for line in lines if len(line) >= LONG_LINE)

    def count_once(self, text: str) -> int:
        """How many tokens a text has. The counts of the last texts are remembered, except those of very long ones."""
        count = self.counts.get(text)
        if count is None:
            count = len(self.tokens(text).ids)
            if len(text) <= LONGEST_REMEMBERED_TEXT:
                self.counts.put(text, count)
        return count

    def embed(self, texts: Sequence[str]) -> Floats:
        """-> (n, 384) normalised sentence embeddings of the first 254 tokens of each text."""
        max_ids = MAX_EMBEDDED_TOKENS - 2
        encoded_texts = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        rows = [[self.cls, *item.ids[:max_ids], self.sep] for item in encoded_texts]
        out = np.zeros((len(rows), self.sessions.embedding_size), np.float32)
        for members, (vectors,) in self.run(["embedding"], rows, [[0] * len(row) for row in rows], EMBEDDING_MODE):
            out[members] = vectors
        return out

    def run(
        self, outputs: list[str], rows: Sequence[list[int]], types: Sequence[list[int]], mode: Inputs
    ) -> Iterator[tuple[list[int], list[NDArray[Any]]]]:
        """Run the rows of token ids in batches. For each batch: the indexes of its rows in `rows`, and the outputs for
        these rows.

        mode: EMBEDDING_MODE or READING_MODE.
        """
        batches = make_batches(rows, types, self.sessions.count_rows_per_run(len(rows)))
        inputs = [{"ids": ids, "types": kinds, "mask": mask} | mode for _, ids, kinds, mask in batches]
        members = [places for places, *_ in batches]
        return zip(members, self.sessions.run(outputs, inputs), strict=True)

    def read(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Logits]:
        """One `Logits` for each row of token ids with its segment types, in order. Keeps their states for `hidden`."""
        out: list[Logits | None] = [None] * len(rows)
        for members, outputs in self.run(["span", "answerable", "hidden"], rows, types, READING_MODE):
            span, answerable, states = outputs
            for place, member in enumerate(members):
                length = len(rows[member])
                start, end = span[place, :length, 0], span[place, :length, 1]
                out[member] = Logits(start, end, float(answerable[place]))
                self.recent_hidden_states.put(make_row_key(rows[member], types[member]), states[place, :length].copy())
        return [logits for logits in out if logits is not None]

    def hidden(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Floats]:
        """The reader's last-layer states of each row of token ids with its segment types: (length, 384), in order."""
        keys = [make_row_key(row, kinds) for row, kinds in zip(rows, types, strict=True)]
        out = [self.recent_hidden_states.get(key) for key in keys]
        missing_places = [place for place, states in enumerate(out) if states is None]
        missing_rows = [rows[place] for place in missing_places]
        missing_types = [types[place] for place in missing_places]
        for members, (new_states,) in self.run(["hidden"], missing_rows, missing_types, READING_MODE):
            for row, member in enumerate(members):
                place = missing_places[member]
                out[place] = states = new_states[row, : len(rows[place])].copy()
                self.recent_hidden_states.put(keys[place], states)
        return [states for states in out if states is not None]


def make_row_key(row: list[int], types: list[int]) -> RowKey:
    return tuple(row), tuple(types)


def make_batches(
    rows: Sequence[list[int]], types: Sequence[list[int]], rows_per_run: int = ROWS_PER_RUN
) -> list[tuple[list[int], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Rows grouped by padded length: (places of the rows, ids, types, mask), each array (rows, padded length)."""
    groups: dict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups[-(-len(row) // BUCKET) * BUCKET].append(place)
    batches = []
    for length, places in sorted(groups.items()):
        for begin in range(0, len(places), rows_per_run):
            members = places[begin : begin + rows_per_run]
            ids, kinds, mask = (np.zeros((len(members), length), np.int64) for _ in range(3))
            for number, place in enumerate(members):
                size = len(rows[place])
                ids[number, :size], kinds[number, :size], mask[number, :size] = rows[place], types[place], 1
            batches.append((members, ids, kinds, mask))
    return batches


@cache
def load_encoder() -> Encoder:
    return Encoder()


def is_encoder_loaded() -> bool:
    """Whether `get_encoder` returns at once."""
    return load_encoder.cache_info().currsize > 0


def get_encoder() -> Encoder:
    """The process's one encoder; loading takes about a fifth of a second."""
    with LOADING_LOCK:
        return load_encoder()
