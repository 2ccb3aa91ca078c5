"""Measures the ranges of a layer's activations, over which `quorum.training.export` quantises them to uint8."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from quorum.training.layer import Layer


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
