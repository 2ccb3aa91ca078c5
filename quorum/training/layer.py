"""One layer of a transformer, in plain torch."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ADAPTER_SCALE, RANK = 2.0, 32


def round_weights(weight: Tensor, weight_limit: int) -> Tensor:
    """Round the weight to int8 precision, with one scale per output and integers from -weight_limit to weight_limit.

    Gradients pass unchanged.
    """
    scale = weight.detach().abs().amax(1, keepdim=True).clamp_min(1e-8) / weight_limit
    return weight + ((weight / scale).round() * scale - weight).detach()


def round_activations(x: Tensor) -> Tensor:
    """Round activations to uint8 precision over their range; gradients pass unchanged."""
    low, high = x.detach().aminmax()
    scale = (high - low).clamp_min(1e-8) / 255
    return x + (((x - low) / scale).round() * scale + low - x).detach()


class Layer(nn.Module):
    """One post-norm transformer layer: (batch, length, hidden) -> the same shape.

    If `weight_limit` is not 0, weights and activations are rounded as in the exported file: quantisation-aware training
    (Jacob et al. 2018). `attended` is the output projection of attention, `inner` and `outer` are the two layers of the
    feed-forward network. A checkpoint of `training.reader` uses the names of these attributes.
    """

    def __init__(self, hidden: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.attended = nn.Linear(hidden, hidden)
        self.attended_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.inner = nn.Linear(hidden, inner)
        self.outer = nn.Linear(inner, hidden)
        self.outer_norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor, weight_limit: int = 0) -> Tensor:
        batch, length, hidden = x.shape

        def multiply(linear: nn.Linear, x: Tensor) -> Tensor:
            return F.linear(
                x, round_weights(linear.weight, weight_limit) if weight_limit else linear.weight, linear.bias
            )

        def round_if_quantised(x: Tensor) -> Tensor:
            return round_activations(x) if weight_limit else x

        rounded_input = round_if_quantised(x)
        query, key, value = (
            multiply(part, rounded_input).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        attention = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        attention = attention.transpose(1, 2).reshape(batch, length, hidden)
        x = self.attended_norm(x + multiply(self.attended, round_if_quantised(attention)))
        inner = round_if_quantised(F.gelu(multiply(self.inner, round_if_quantised(x))))
        normed: Tensor = self.outer_norm(x + multiply(self.outer, inner))
        return normed


class Update(nn.Module):
    """A low-rank change of one linear layer: weight + ADAPTER_SCALE * B A."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.A = nn.Parameter(torch.randn(RANK, linear.in_features) / RANK)
        self.B = nn.Parameter(torch.zeros(linear.out_features, RANK))

    def forward(self) -> Tensor:
        return ADAPTER_SCALE * self.B @ self.A
