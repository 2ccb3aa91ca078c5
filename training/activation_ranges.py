"""Measures, on examples, the ranges of the activations of the reader and the sentence encoder."""

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from quorum.training.activation_ranges import ActivationRange, observe_layer
from quorum.training.layer import Layer
from training.examples import EncodedExample, encode_example, read_examples
from training.reader_loss import pad_batch
from training.two_towers import TwoTowers

Batch = tuple[Tensor, Tensor, Tensor]  # ids, segment types, mask


@torch.no_grad()
def measure_activation_ranges(
    model: TwoTowers,
    reading_batches: Iterable[Batch],
    embedding_batches: Iterable[Batch],
    tail: float,
) -> dict[str, ActivationRange]:
    """The activation ranges of the reader over reading_batches, and of the sentence encoder over embedding_batches.

    Keys: 'base.N.POINT' for layer N of the sentence encoder; 'low.N.POINT' for the reader's layers that are the
    encoder's plus low-rank updates, and 'tower.N.POINT' for the reader's own layers above them (see `TwoTowers`).
    POINT: as in `observe_layer`. tail: the share of extreme values to leave out at each end, in every batch.
    """
    ranges: dict[str, ActivationRange] = {}

    def add_batches(batches: Iterable[Batch], named_layers: list[tuple[str, Layer]]) -> None:
        """Run the batches through the layers, one after the other, and widen the ranges by their activations."""
        for ids, types, mask in batches:
            x = model.embed_tokens(ids, types)
            for name, layer in named_layers:
                for point, values in observe_layer(layer, x, mask):
                    if point == "out":
                        x = values
                    else:
                        ranges.setdefault(f"{name}.{point}", ActivationRange()).add_values(values[mask], tail)

    base: list[tuple[str, Layer]] = [(f"base.{n}", layer) for n, layer in enumerate(model.base)]
    tower: list[tuple[str, Layer]] = [(f"tower.{n}", layer) for n, layer in enumerate(model.tower)]
    add_batches(embedding_batches, base)
    add_batches(reading_batches, [(f"low.{n}", layer) for n, layer in enumerate(make_low_layers(model))] + tower)
    return ranges


def make_low_layers(model: TwoTowers) -> list[Layer]:
    """The reader's low layers: copies of the sentence encoder's lowest layers plus the reader's low-rank updates."""
    layers = []
    for number in range(model.low_layer_count):
        layer: Layer = copy.deepcopy(model.base[number])
        layer.load_state_dict(layer.state_dict() | model.merge_updates(number))
        layers.append(layer)
    return layers


def make_text_batches(texts: Sequence[str], tokenizer: Tokenizer, batch_size: int = 16) -> list[Batch]:
    """Padded batches of the texts, the shortest first. Each text is cut to 256 tokens, the sentence encoder's limit."""
    token_ids = sorted((tokenizer.encode(text).ids[:256] for text in texts), key=len)
    return [
        pad_batch([EncodedExample(ids, [0] * len(ids), []) for ids in token_ids[i : i + batch_size]])
        for i in range(0, len(token_ids), batch_size)
    ]


def make_range_batches(tokenizer: Tokenizer, data: Path, count: int, length: int) -> tuple[list[Batch], list[Batch]]:
    """(batches for the reader, batches for the sentence encoder), made from `count` examples of the file `data`.

    The examples are taken at equal distances. length: the most tokens that the reader reads of an example.
    """
    examples = read_examples(data)
    examples = examples[:: max(1, len(examples) // count)][:count]
    encoded_examples = sorted(
        (encode_example(tokenizer, example, length) for example in examples), key=lambda item: len(item.ids)
    )
    reading_batches = [pad_batch(encoded_examples[i : i + 16]) for i in range(0, len(encoded_examples), 16)]
    # The sentence encoder reads questions as well as passages.
    texts = [example.question if n % 3 == 0 else example.context for n, example in enumerate(examples)]
    return reading_batches, make_text_batches(texts, tokenizer)
