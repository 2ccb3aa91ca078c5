"""Log-probabilities by a model of the transformers library (extra `train`)."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from quorum.core.errors import SetupError
from quorum.models.pretrained import PretrainedModel, load_pretrained

TOKENS_AT_ONCE = 8192  # in one pass through the model, padding included


class TransformersScorer:
    """Scores continuations by a seq2seq or a causal model.

    The encoder of a seq2seq model reads the prompt; a causal model reads the prompt and then the continuation.

    The end-of-sequence token is not part of a continuation. The model is loaded when the first texts are scored.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.pretrained: PretrainedModel | None = None

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (prompt, continuation) the summed log-probabilities of the continuation's tokens, in nats."""
        return await asyncio.to_thread(self.score, pairs)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """As `log_probabilities`, but blocking. Batches of texts of similar length run one after the other."""
        with self.lock:
            if self.pretrained is None:
                self.pretrained = load_pretrained(self.folder)
            codec = self.pretrained.codec
            encoded_pairs = [(codec.encode_prompt(prompt), codec.encode_target(text)[:-1]) for prompt, text in pairs]
            self.check_lengths(encoded_pairs)
            scores = [0.0] * len(pairs)
            for batch in make_batches([len(prompt) + len(target) for prompt, target in encoded_pairs]):
                batch_scores = score_batch(self.pretrained, [encoded_pairs[index] for index in batch])
                for index, score in zip(batch, batch_scores, strict=True):
                    scores[index] = score
        return scores

    def check_lengths(self, encoded_pairs: Sequence[tuple[list[int], list[int]]]) -> None:
        """Raise a SetupError if the longest input does not fit into the model's window."""
        assert self.pretrained is not None
        seq2seq, config = self.pretrained.codec.seq2seq, self.pretrained.model.config
        longest = max((len(p) if seq2seq else len(p) + len(t) for p, t in encoded_pairs), default=0)
        limit = getattr(config, "max_position_embeddings", None)
        if limit and longest > limit:
            raise SetupError(
                f"A text of {longest} tokens does not fit the scorer 'transformers:{self.folder}', which reads "
                f"at most {limit}; split the passages, or choose a scorer with a longer window."
            )


def make_batches(lengths: Sequence[int]) -> list[list[int]]:
    """Batches of indices, longest texts first, each of at most TOKENS_AT_ONCE padded tokens. A text that is longer than
    this has a batch of its own.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= TOKENS_AT_ONCE:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def score_batch(pretrained_model: PretrainedModel, batch: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    """The score of each (prompt, continuation) of a batch, by one pass through the model."""
    import torch

    model, pad = pretrained_model.model, pretrained_model.codec.tokenizer.pad_token_id

    def pad_rows(rows: Sequence[list[int]], filler: int) -> Any:
        longest = max(map(len, rows))
        return torch.tensor([row + [filler] * (longest - len(row)) for row in rows], device=model.device)

    seq2seq = pretrained_model.codec.seq2seq
    inputs = [prompt if seq2seq else prompt + target for prompt, target in batch]
    start_tokens = [model.config.decoder_start_token_id] if seq2seq else []
    with torch.inference_mode():
        model_inputs = {
            "input_ids": pad_rows(inputs, pad),
            "attention_mask": pad_rows([[1] * len(row) for row in inputs], 0),
        }
        if seq2seq:
            model_inputs["decoder_input_ids"] = pad_rows([start_tokens + target[:-1] for _, target in batch], pad)
        logits = model(**model_inputs).logits
        scores = []
        for row, (prompt, target) in enumerate(batch):
            first = 0 if seq2seq else len(prompt) - 1  # the position that predicts the target's first token
            log_probabilities = logits[row, first : first + len(target)].float().log_softmax(-1)
            target_scores = log_probabilities.gather(
                -1, torch.tensor(target, dtype=torch.long, device=model.device)[:, None]
            )
            scores.append(float(target_scores.sum()))
    return scores
