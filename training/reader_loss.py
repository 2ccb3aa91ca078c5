"""The loss of the embedded reader. Its three parts train the reader to find the gold spans in a passage, to tell
whether the passage answers the question, and to rank the gold spans above all other spans of the passages in a group.

The class `TwoTowers` is one network that holds the sentence encoder and the reader; its method `read` runs the reader.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from training.examples import EncodedExample
from training.two_towers import TwoTowers


def pad_batch(batch: list[EncodedExample]) -> tuple[Tensor, Tensor, Tensor]:
    """-> token ids, segment types and mask (true where a token is), each (batch, longest)."""
    longest = max(len(item.ids) for item in batch)
    ids = torch.tensor([item.ids + [0] * (longest - len(item.ids)) for item in batch])
    types = torch.tensor([item.types + [0] * (longest - len(item.types)) for item in batch])
    mask = torch.tensor([[True] * len(item.ids) + [False] * (longest - len(item.ids)) for item in batch])
    return ids, types, mask


def mark_allowed_positions(types: Tensor, mask: Tensor) -> Tensor:
    """True where an answer may start or end: at context tokens and the [SEP] after them, and at [CLS] (no answer)."""
    is_allowed = (types == 1) & mask
    is_allowed[:, 0] = True
    return is_allowed


def compute_loss(
    model: TwoTowers,
    batch: list[EncodedExample],
    group_sizes: Sequence[int] = (),
    *,
    answerable_weight: float = 0.5,
    weight_limit: int = 0,
    bf16: bool = False,
) -> Tensor:
    """Half the mean negative log likelihood of the gold spans ([CLS] for an example without any), plus
    `answerable_weight` times the cross-entropy of answerability.

    `group_sizes`: the batch consists of consecutive groups of these sizes, each with passages for one question. If some
    group has two or more passages, half the mean of `compute_group_losses` is added.

    `weight_limit`: round weights and activations as in an exported file whose weights are integers from -weight_limit
    to weight_limit (0: do not round). `bf16`: multiply in bfloat16, which a CPU with AVX-512 BF16 or AMX does twice as
    fast.
    """
    ids, types, mask = (part.to(model.words.weight.device) for part in pad_batch(batch))
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=bf16):
        span_logits, answerability_logits = model.read(ids, types, mask, weight_limit)
    span_logits = span_logits.float().masked_fill(~mark_allowed_positions(types, mask)[..., None], -1e4)
    starts, ends = F.log_softmax(span_logits[..., 0], dim=1), F.log_softmax(span_logits[..., 1], dim=1)
    losses = []
    for row, item in enumerate(batch):
        gold = torch.tensor(item.spans or [(0, 0)], device=ids.device)
        losses.append(-torch.logsumexp(starts[row, gold[:, 0]] + ends[row, gold[:, 1]], dim=0))
    has_answer = torch.tensor([float(bool(item.spans)) for item in batch], device=ids.device)
    answerable_loss = F.binary_cross_entropy_with_logits(answerability_logits.float(), has_answer)
    loss = torch.stack(losses).mean() / 2 + answerable_weight * answerable_loss
    group_losses = compute_group_losses(span_logits, batch, group_sizes)
    return loss + torch.stack(group_losses).mean() / 2 if group_losses else loss


def compute_group_losses(span_logits: Tensor, batch: list[EncodedExample], group_sizes: Sequence[int]) -> list[Tensor]:
    """For each group of two or more passages, the negative log likelihood of its gold spans among all its spans and
    "no answer". In a group without gold spans, "no answer" takes their place. The score of a span is the one by which
    the reader ranks: the logits of its start and end, less those of [CLS]. The score of "no answer" is 0.
    """
    no_answer = span_logits[:, 0].sum(-1)
    # For each passage, the logsumexp of the scores of all its spans: all pairs of a start and an end.
    all_spans = torch.logsumexp(span_logits[:, 1:], 1).sum(-1) - no_answer
    losses, begin = [], 0
    for size in group_sizes:
        rows = range(begin, begin + size)
        begin += size
        gold_scores = [
            span_logits[row, first, 0] + span_logits[row, last, 1] - no_answer[row]
            for row in rows
            for first, last in batch[row].spans
        ]
        if size > 1:
            all_scores = torch.logsumexp(torch.cat([all_spans[rows.start : rows.stop], all_spans.new_zeros(1)]), 0)
            losses.append(all_scores - torch.logsumexp(torch.stack(gold_scores), 0) if gold_scores else all_scores)
    return losses
