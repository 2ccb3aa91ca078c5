"""Measures, on examples, the ranges of the activations of the reader and the sentence encoder.

`quorum.training.export` quantises the activations to uint8 over these ranges.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from quorum.training.encoder import Layer, TwoTowers
from quorum.training.examples import EncodedExample, encode_example, read_examples
from quorum.training.reader_loss import pad_batch

Batch = tuple[Tensor, Tensor, Tensor]  # ids, segment types, mask


@dataclass
class ActivationRange:
    """The range of the activations at one point of a layer (see `observe_layer`). The range always includes 0. It
    also includes all values of every batch, except the extreme ones that `add_values` leaves out.
    """

    low: float = 0.0
    high: float = 0.0

    def add_values(self, values: Tensor, tail: float) -> None:
        """Widen the range by the values of a batch. tail: the share of extreme values to leave out at each end."""
        flat = values.flatten()
        if tail:
            quantile_rank = max(1, int(flat.numel() * tail))
            low, high = (
                flat.kthvalue(quantile_rank).values.item(),
                flat.kthvalue(flat.numel() - quantile_rank + 1).values.item(),
            )
        else:
            low, high = flat.min().item(), flat.max().item()
        self.low, self.high = min(self.low, low), max(self.high, high)

    def compute_scale(self) -> tuple[float, int]:
        """The uint8 scale and zero point of the range."""
        scale = max((self.high - self.low) / 255, 1e-8)
        return scale, int(np.clip(round(-self.low / scale), 0, 255))


def observe_layer(layer: Layer, x: Tensor, mask: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Compute the layer as `Layer.forward` does, and yield ('out', the layer's output) at the end.

    Before that, yield (point, activations) for the input of each matrix product: 'hidden' (of query, key and value),
    'attended' (of the output projection of attention), 'normed' and 'inner' (of the two layers of the feed-forward
    network).
    """
    batch, length, hidden = x.shape
    yield "hidden", x
    query, key, value = (
        part(x).view(batch, length, layer.heads, -1).transpose(1, 2) for part in (layer.query, layer.key, layer.value)
    )
    attention_output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask[:, None, None, :]
    )
    attention_output = attention_output.transpose(1, 2).reshape(batch, length, hidden)
    yield "attended", attention_output
    x = layer.attended_norm(x + layer.attended(attention_output))
    yield "normed", x
    inner = torch.nn.functional.gelu(layer.inner(x))
    yield "inner", inner
    yield "out", layer.outer_norm(x + layer.outer(inner))


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
