"""The encoder in ONNX Runtime: it turns token ids into sentence embeddings, or into the reader's logits and
last-layer states.
"""

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

# Rows are padded to a multiple of this many tokens, so that a text's result does not depend on its batch.
BUCKET = 16
# How many tokens of a text are embedded at most, [CLS] and [SEP] included: the limit that the base model's authors set.
MAX_EMBEDDED_TOKENS = 256
# How many rows have their last-layer states remembered (0.4 MB a row): the sentence filter and the yes/no head need the
# states of rows that the reader may just have read.
REMEMBERED_STATES = 64
LONG_LINE = 30  # characters; `Encoder.count_tokens` counts each line of at least this length by itself
LONGEST_REMEMBERED_TEXT = 4_000  # characters; each text is kept with its count: 4,096 of this length take 16 MB
# The input of the ONNX graph that chooses what the graph computes: sentence embeddings, or the reader's logits and
# states.
EMBEDDING_MODE, READING_MODE = {"embeds": np.array(True)}, {"embeds": np.array(False)}
LOADING_LOCK = threading.Lock()


@dataclass(frozen=True)
class Logits:
    """One window's start and end logits, each of shape (length,), and its answerability logit.

    A start and end at position 0, the token [CLS], mean that the window has no answer.
    """

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

    def tokenize(self, text: str) -> Encoding:
        """The text's token ids and their character offsets, without special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has.

        No token reaches over the end of a line. Therefore each long line, such as a passage that many prompts show, is
        counted by itself. All short lines, which are often the same in many prompts, are counted together. The counts
        are remembered.
        """
        lines = text.split("\n")
        short_lines = "\n".join(line for line in lines if len(line) < LONG_LINE)
        long_lines = [line for line in lines if len(line) >= LONG_LINE]
        return self.count_with_cache(short_lines) + sum(map(self.count_with_cache, long_lines))

    def count_with_cache(self, text: str) -> int:
        """How many tokens a text has. The counts of the 4,096 texts used last are remembered, except for texts of more
        than LONGEST_REMEMBERED_TEXT characters.
        """
        count = self.counts.get(text)
        if count is None:
            count = len(self.tokenize(text).ids)
            if len(text) <= LONGEST_REMEMBERED_TEXT:
                self.counts.put(text, count)
        return count

    def embed(self, texts: Sequence[str]) -> Floats:
        """-> (n, 384) normalised sentence embeddings of the first 254 tokens of each text."""
        max_ids = MAX_EMBEDDED_TOKENS - 2
        encoded_texts = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        rows = [[self.cls, *item.ids[:max_ids], self.sep] for item in encoded_texts]
        out = np.zeros((len(rows), self.sessions.embedding_size), np.float32)
        types = [[0] * len(row) for row in rows]
        for row_indexes, (vectors,) in self.run(["embedding"], rows, types, EMBEDDING_MODE):
            out[row_indexes] = vectors
        return out

    def run(
        self, outputs: list[str], rows: Sequence[list[int]], types: Sequence[list[int]], mode: Inputs
    ) -> Iterator[tuple[list[int], list[NDArray[Any]]]]:
        """Run the rows of token ids in batches. Yields for each batch the indexes of its rows in `rows`, and the named
        outputs for these rows.

        types: the segment types of each row; mode: EMBEDDING_MODE or READING_MODE.
        """
        batches = make_batches(rows, types, self.sessions.count_rows_per_run(len(rows)))
        inputs = [{"ids": ids, "types": batch_types, "mask": mask} | mode for _, ids, batch_types, mask in batches]
        row_indexes_of_batches = [row_indexes for row_indexes, *_ in batches]
        return zip(row_indexes_of_batches, self.sessions.run(outputs, inputs), strict=True)

    def read(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Logits]:
        """One `Logits` for each row of token ids with its segment types, in order. Remembers the last-layer states of
        the rows for `get_hidden_states`.
        """
        out: list[Logits | None] = [None] * len(rows)
        for row_indexes, outputs in self.run(["span", "answerable", "hidden"], rows, types, READING_MODE):
            span, answerable, states = outputs
            for place_in_batch, index in enumerate(row_indexes):
                length = len(rows[index])
                start, end = span[place_in_batch, :length, 0], span[place_in_batch, :length, 1]
                out[index] = Logits(start, end, float(answerable[place_in_batch]))
                row_states = states[place_in_batch, :length].copy()
                self.recent_hidden_states.put(make_row_key(rows[index], types[index]), row_states)
        return [logits for logits in out if logits is not None]

    def get_hidden_states(self, rows: Sequence[list[int]], types: Sequence[list[int]]) -> list[Floats]:
        """The reader's last-layer states of each row of token ids with its segment types: (length, 384), in order.
        Remembered states are not computed again.
        """
        keys = [make_row_key(row, row_types) for row, row_types in zip(rows, types, strict=True)]
        out = [self.recent_hidden_states.get(key) for key in keys]
        missing_indexes = [index for index, states in enumerate(out) if states is None]
        missing_rows = [rows[index] for index in missing_indexes]
        missing_types = [types[index] for index in missing_indexes]
        for missing_places, (new_states,) in self.run(["hidden"], missing_rows, missing_types, READING_MODE):
            for place_in_batch, missing_place in enumerate(missing_places):
                index = missing_indexes[missing_place]
                out[index] = states = new_states[place_in_batch, : len(rows[index])].copy()
                self.recent_hidden_states.put(keys[index], states)
        return [states for states in out if states is not None]


def make_row_key(row: list[int], types: list[int]) -> RowKey:
    return tuple(row), tuple(types)


def make_batches(
    rows: Sequence[list[int]], types: Sequence[list[int]], rows_per_run: int = ROWS_PER_RUN
) -> list[tuple[list[int], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Batches of at most `rows_per_run` rows of the same padded length: (indexes in `rows`, ids, types, mask).

    Each array has the shape (rows in the batch, padded length).
    """
    indexes_by_length: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        indexes_by_length[-(-len(row) // BUCKET) * BUCKET].append(index)
    batches = []
    for length, indexes in sorted(indexes_by_length.items()):
        for begin in range(0, len(indexes), rows_per_run):
            batch_indexes = indexes[begin : begin + rows_per_run]
            ids, batch_types, mask = (np.zeros((len(batch_indexes), length), np.int64) for _ in range(3))
            for place, index in enumerate(batch_indexes):
                size = len(rows[index])
                ids[place, :size], batch_types[place, :size], mask[place, :size] = rows[index], types[index], 1
            batches.append((batch_indexes, ids, batch_types, mask))
    return batches


@cache
def load_encoder() -> Encoder:
    return Encoder()


def is_encoder_loaded() -> bool:
    """Whether `get_encoder` returns at once."""
    return load_encoder.cache_info().currsize > 0


def get_encoder() -> Encoder:
    """The process's one encoder. The first call loads it, which takes about a fifth of a second."""
    with LOADING_LOCK:
        return load_encoder()
