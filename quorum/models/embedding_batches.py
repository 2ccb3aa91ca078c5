"""Sends texts to embeddings in requests that their server takes.

A request that the server refuses is halved until it is taken, and the size that worked is remembered for the server and
model. A text that is refused alone is too long: it is cut into pieces, and its vector is the mean of theirs. A text
that is refused for another reason, such as a moderation, is left out and named.
"""

import logging
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import Any

import numpy as np

from quorum.core.errors import CallError, QuorumError
from quorum.models.failures import Failure, classify_error
from quorum.models.refused_access import is_prompt_refused

LOG = logging.getLogger("quorum")
MOST_TEXTS = 200  # in a request: vectors of 4,096 numbers then stay within the bound of a response
SHORTEST_PIECE = 64  # characters; a text that is refused in shorter pieces is not refused for its length
PLAIN_TEXT = "text"  # shows whether the server embeds anything
REFUSED_STATUSES = (None, 400, 403, 413, 422)  # of a request that may hold too much; None: its reply is too large
SIZE_WORDS = re.compile(
    r"batch|too (?:many|long|large|big)|at most|maximum|\bmax|limit|length|larger|longer|less than|tokens|exceed", re.I
)
Vectors = list[list[float]]


@dataclass
class BatchSizes:
    """What one server and model takes. limit: texts in a request, as the setting embedding_batch says; found: as the
    server's refusals have shown; piece: characters of a text that was too long as a whole.
    """

    limit: int | None = None
    found: int | None = None
    piece: int | None = None
    has_warned: bool = False

    @property
    def texts(self) -> int:
        """The most texts in a request."""
        return min(self.limit or MOST_TEXTS, self.found or MOST_TEXTS)


SIZES: dict[Hashable, BatchSizes] = {}


def find_sizes(model: object) -> BatchSizes:
    """The sizes of a model of embeddings: those of its server, or of the object itself if it names none."""
    key = getattr(model, "server_and_model", None) or ("object", id(model))
    return SIZES.setdefault(key, BatchSizes())


def limit_batches(model: object, texts: int | None) -> None:
    """Send at most `texts` texts in a request to the model's server; None changes nothing."""
    if texts is not None:
        find_sizes(model).limit = texts


class TextsRefused(CallError):  # noqa: N818  the name says it without "Error"
    """Texts that a server refused, while it took others. reasons: text -> why; vectors: text -> its vector, for those
    that it took.
    """

    def __init__(self, subject: str, reasons: Mapping[str, str], vectors: Mapping[str, list[float]]) -> None:
        [(text, reason), *others] = reasons.items()
        more = f" (and {len(others)} more texts)" if others else ""
        super().__init__(f"{subject} refuse a text ({reason}){more}; it begins with {text[:40]!r}.")
        self.reasons, self.vectors = dict(reasons), dict(vectors)


@dataclass
class TextEmbedder:
    """Embeds the texts of one call. embed: sends one request, and returns its checked vectors; subject: the embeddings
    in messages.

    vectors: those so far; reasons: text -> why it was refused; largest: texts of the largest request that was taken.
    """

    embed: Callable[[list[str]], Vectors]
    sizes: BatchSizes
    subject: str
    vectors: dict[int, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    largest: int = 0
    last_refusal: Exception | None = None

    def embed_all(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts. Raises TextsRefused if some were refused; if the server refuses every text, what
        the client raised.
        """
        begin, size = 0, self.sizes.texts
        is_halved, has_odd_text = False, False
        while begin < len(texts):
            batch = list(texts[begin : begin + size])
            failure = self.try_batch(batch, begin)
            if failure is None:
                begin += len(batch)
            elif len(batch) > 1:
                if not is_halved and not says_size(failure):
                    self.try_plain_text()
                size, is_halved = (len(batch) + 1) // 2, True
            elif failure.status is None and failure.kind == "refused" and self.last_refusal is not None:
                raise self.last_refusal  # the reply to one text is too large
            else:
                self.embed_odd_text(batch[0], begin, failure)
                begin, size, has_odd_text = begin + 1, self.largest or self.sizes.texts, True
        if is_halved and not has_odd_text:
            self.sizes.found = self.largest
        if self.reasons:
            taken = {texts[place]: vector for place, vector in self.vectors.items()}
            raise TextsRefused(self.subject, self.reasons, taken)
        return [self.vectors[place] for place in range(len(texts))]

    def try_batch(self, batch: list[str], begin: int) -> Failure | None:
        """Embed a batch, whose first text is number `begin`; returns the failure if the server refuses its size."""
        vectors, failure = self.try_request(batch)
        if failure is None:
            self.vectors |= enumerate(vectors, start=begin)
            self.largest = max(self.largest, len(batch))
        return failure

    def try_request(self, batch: list[str]) -> tuple[Vectors, Failure | None]:
        """(vectors, None), or ([], the failure) if the server refuses the request. Other failures are raised."""
        try:
            return self.embed(batch), None
        except QuorumError:
            raise
        except Exception as error:
            failure = classify_error(error, time())
            if not is_refusal(failure):
                raise
            self.last_refusal = error
            return [], failure

    def try_plain_text(self) -> None:
        """Raise the last refusal if the server refuses a plain text, too: then the reason is neither size nor text."""
        refusal = self.last_refusal
        _, failure = self.try_request([PLAIN_TEXT])
        if failure is not None and refusal is not None:
            raise refusal

    def embed_odd_text(self, text: str, place: int, failure: Failure) -> None:
        """Embed a text that was refused alone in pieces, or note why it cannot be embedded."""
        if not self.vectors:
            self.try_plain_text()
        is_long = len(text) >= 2 * SHORTEST_PIECE and failure.status != 403
        vector = None if not is_long or is_prompt_refused(failure.message, set()) else self.embed_pieces(text)
        if vector is None:
            self.reasons[text] = failure.message
            return
        self.vectors[place] = vector
        if not self.sizes.has_warned:
            self.sizes.has_warned = True
            what = f"no text of {len(text):,} characters ({failure.message[:200]})"
            LOG.warning("%s take %s; such texts are embedded in pieces.", self.subject, what)

    def embed_pieces(self, text: str) -> list[float] | None:
        """The mean of the vectors of a text's pieces, which are halved until the server takes them; None if it takes
        none.
        """
        length = min(self.sizes.piece or len(text), (len(text) + 1) // 2)
        while length >= SHORTEST_PIECE:
            pieces = cut(text, length)
            results = [self.try_request([piece]) for piece in pieces[:1]]
            for piece in pieces[1:]:
                if results[-1][1] is not None:
                    break
                results.append(self.try_request([piece]))
            if all(failure is None for _, failure in results):
                self.sizes.piece = length
                return average([vectors[0] for vectors, _ in results], list(map(len, pieces)))
            length //= 2
        return None


def embed_in_batches(
    embed: Callable[[list[str]], Vectors], texts: Sequence[str], sizes: BatchSizes, subject: str
) -> Vectors:
    """The vectors of texts, in requests that the server takes; see `TextEmbedder`."""
    return TextEmbedder(embed, sizes, subject).embed_all(texts)


def is_refusal(failure: Failure) -> bool:
    """Whether a smaller request may be taken."""
    return failure.kind == "too_long" or (failure.kind == "refused" and failure.status in REFUSED_STATUSES)


def says_size(failure: Failure) -> bool:
    """Whether a refusal says that the request holds too much."""
    is_size = failure.kind == "too_long" or failure.status in (None, 413)
    return is_size or bool(SIZE_WORDS.search(failure.message))


def cut(text: str, length: int) -> list[str]:
    """The text in pieces of at most `length` characters, cut at a space where the second half of a piece has one.

    >>> cut("one two three", 8)
    ['one two', 'three']
    """
    pieces = []
    while len(text) > length:
        space = text.rfind(" ", length // 2, length + 1)
        end = space if space > 0 else length
        pieces.append(text[:end])
        text = text[end:].lstrip()
    return [*pieces, text] if text.strip() else pieces


def average(vectors: Vectors, weights: Sequence[int]) -> list[float]:
    """The weighted mean of vectors, scaled to the mean of their lengths."""
    numbers: Any = np.asarray(vectors, dtype=np.float64)
    mean = np.average(numbers, axis=0, weights=weights)
    norm = float(np.linalg.norm(mean))
    if norm < 1e-9:  # the pieces point in opposite directions
        return vectors[0]
    scale = float(np.average(np.linalg.norm(numbers, axis=1), weights=weights)) / norm
    scaled: list[float] = (mean * scale).tolist()
    return scaled
