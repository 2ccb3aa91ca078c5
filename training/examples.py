"""Training examples of the embedded reader: reads them from files and turns them into tokens."""

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from quorum.training.examples import Example

SEPARATOR = ": "  # between a passage's title and its text, in training and at run time


@dataclass(frozen=True)
class EncodedExample:
    """Token ids and segment types of one example, with its gold spans as (first, last) positions in `ids`."""

    ids: list[int]
    types: list[int]
    spans: list[tuple[int, int]]


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl or .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def find_occurrences(context: str, answers: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """All places of all answers in the context, as whole words, ignoring case."""
    occurrences = {
        match.span()
        for answer in answers
        if answer.strip()
        for match in re.finditer(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", context, flags=re.IGNORECASE)
    }
    return tuple(sorted(occurrences))


def add_title(title: str, text: str) -> str:
    """A passage as the reader gets it: the title, if there is one, then the text."""
    return f"{title}{SEPARATOR}{text}" if title else text


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a file. Each record has one of two forms, recognised by its fields.

    Reading data, {question, context, answers: [{text, start}]}: each record is an example. Question answering data,
    {question, answers, passages, gold}: each gold passage in which an answer stands is an example.
    """
    examples: list[Example] = []
    for record in read_records(path):
        if "context" in record:
            spans = tuple(sorted({(a["start"], a["start"] + len(a["text"])) for a in record["answers"]}))
            examples.append(Example(record["question"], record["context"], spans, record.get("source", path.stem)))
            continue
        for passage in record["passages"]:
            context = add_title(passage.get("title", ""), passage["text"])
            spans = find_occurrences(context, record["answers"])
            if spans and passage["id"] in record["gold"]:
                examples.append(Example(record["question"], context, spans, record.get("source", path.stem)))
    return examples


def read_negatives(path: Path) -> list[Example]:
    """Read a file of mined wrong passages ({question, negatives: [{title, text}]}).

    Each passage becomes an example without an answer.
    """
    return [
        Example(record["question"], add_title(passage["title"], passage["text"]), (), "negatives")
        for record in read_records(path)
        for passage in record["negatives"]
    ]


def join_contexts(example: Example, other: str, rng: random.Random) -> Example:
    """The example with a context that joins its own and another passage, `other`, in a random order.

    So the model also learns from several passages in one window: the yes/no head reads such windows (see
    `quorum.models.embedded.judging`).
    """
    if rng.random() < 0.5:
        return replace(example, context=f"{example.context}\n{other}")
    shift = len(other) + 1
    spans = tuple((start + shift, end + shift) for start, end in example.spans)
    return replace(example, context=f"{other}\n{example.context}", spans=spans)


def encode_example(
    tokenizer: Tokenizer, example: Example, length: int, rng: random.Random | None = None
) -> EncodedExample:
    """[CLS] question [SEP] context [SEP], at most `length` tokens.

    The question is cut to a third of `length`. A context that does not fit is cut to a window of whole tokens. With
    `rng` the window is random; if the context has gold spans, it lies around one of them. Without `rng` the window is
    the beginning of the context. Spans that are not wholly in the window are dropped.
    """
    question = tokenizer.encode(example.question, add_special_tokens=False).ids[: length // 3]
    context = tokenizer.encode(example.context, add_special_tokens=False)
    room = length - len(question) - 3
    token_spans = [
        (first, last)
        for start, end in example.spans
        for first, last in [find_token_range(context.offsets, start, end)]
        if first <= last
    ]
    begin = 0
    if len(context.ids) > room and rng is not None:
        low, high = 0, len(context.ids) - room
        if token_spans:
            first, last = rng.choice(token_spans)
            low, high = max(0, min(last + 1 - room, high)), max(0, min(first, high))
        begin = rng.randint(min(low, high), max(low, high))
    window = context.ids[begin : begin + room]
    cls, sep = get_special_id(tokenizer, "[CLS]"), get_special_id(tokenizer, "[SEP]")
    offset = len(question) + 2 - begin
    return EncodedExample(
        [cls, *question, sep, *window, sep],
        [0] * (len(question) + 2) + [1] * (len(window) + 1),
        [(a + offset, b + offset) for a, b in token_spans if begin <= a and b < begin + len(window)],
    )


def get_weight(example: Example, weights: dict[str, float]) -> float:
    """The example's weight: the value of the longest key in `weights` that fits its source, or 1 if no key fits.

    A key fits if the source begins with it; a key "*END" fits if the source ends with END. For an example without an
    answer, "/none" is first added to the source.
    """
    source = example.source + ("" if example.spans else "/none")
    fitting_keys = [
        key for key in weights if source.startswith(key) or (key.startswith("*") and source.endswith(key[1:]))
    ]
    return weights[max(fitting_keys, key=len)] if fitting_keys else 1.0


def get_special_id(tokenizer: Tokenizer, name: str) -> int:
    """The id of a special token."""
    token_id = tokenizer.token_to_id(name)
    if token_id is None:
        raise ValueError(f"the tokenizer has no {name}; expected BERT's vocabulary")
    return int(token_id)


def find_token_range(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The positions of the first and last token that overlap the characters [start, end); first > last if none does."""
    inside = [number for number, (low, high) in enumerate(offsets) if high > start and low < end]
    return (inside[0], inside[-1]) if inside else (1, 0)
