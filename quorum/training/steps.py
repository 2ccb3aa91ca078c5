"""Trains a seq2seq or causal model on prompts and targets. A killed run continues when it is started again.

AdamW without weight decay, linear decay of the learning rate to 0 and gradients clipped at 1 are choices of this
project: FILCO (section 3.3) states only learning rate, epochs, batch and length.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

IGNORED = -100  # a label that adds no loss


class ReportStep(Protocol):
    """A function that receives a stage, the number of steps done, and the number of all steps (None if unknown)."""

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


@dataclass(frozen=True)
class TokenizedExample:
    """One example as token ids."""

    prompt: list[int]
    target: list[int]


@dataclass(frozen=True)
class Plan:
    """The settings of a training run.

    rate: the initial learning rate; batch: examples in a step; at_once: examples in one pass through the model, which
    changes the memory but not the result; save_every: seconds between checkpoints.
    """

    rate: float
    epochs: int
    batch: int
    at_once: int
    seed: int
    save_every: float = 300.0


def collate_examples(items: Sequence[TokenizedExample], seq2seq: bool, pad: int, device: Any) -> dict[str, Tensor]:
    """The model's arguments input_ids, attention_mask and labels.

    Each is a tensor of shape (number of examples, length of the longest row); its rows are padded at the end. pad: the
    id of the padding token.
    """
    inputs = [item.prompt if seq2seq else item.prompt + item.target for item in items]
    labels = [item.target if seq2seq else [IGNORED] * len(item.prompt) + item.target for item in items]

    def pad_rows(rows: Sequence[list[int]], filler: int) -> Tensor:
        longest = max(map(len, rows))
        return torch.tensor([row + [filler] * (longest - len(row)) for row in rows], device=device)

    mask = pad_rows([[1] * len(row) for row in inputs], 0)
    return {"input_ids": pad_rows(inputs, pad), "attention_mask": mask, "labels": pad_rows(labels, IGNORED)}


def make_batches(count: int, plan: Plan, epoch: int) -> list[list[int]]:
    """Batches of example numbers for an epoch; each epoch has its own order."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(plan.seed * 1000 + epoch)).tolist()
    return [order[start : start + plan.batch] for start in range(0, count, plan.batch)]


class Training:
    """One model under training. items: the examples; pad: the id of the padding token; checkpoint: the file that `save`
    writes and from which `run` continues.
    """

    def __init__(
        self, model: Any, pad: int, seq2seq: bool, items: Sequence[TokenizedExample], plan: Plan, checkpoint: Path
    ) -> None:
        self.model, self.pad, self.seq2seq, self.items, self.plan = model, pad, seq2seq, items, plan
        self.checkpoint = checkpoint
        self.trainable_weights = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self.optimiser = torch.optim.AdamW(list(self.trainable_weights.values()), lr=plan.rate, weight_decay=0.0)
        self.steps_per_epoch = -(-len(items) // plan.batch)
        self.total = self.steps_per_epoch * plan.epochs
        self.step = 0
        self.losses = [0.0] * plan.epochs  # the mean loss of a step, for each epoch

    def run(self, report: ReportStep) -> list[float]:
        """Train to the end, from the checkpoint if there is one; return each epoch's mean loss (nats per token)."""
        torch.manual_seed(self.plan.seed)
        if self.checkpoint.exists():
            self.resume()
        self.model.train()
        saved_at = time.monotonic()
        while self.step < self.total:
            epoch, steps_done_in_epoch = divmod(self.step, self.steps_per_epoch)
            for numbers in make_batches(len(self.items), self.plan, epoch)[steps_done_in_epoch:]:
                self.losses[epoch] += self.optimise([self.items[number] for number in numbers]) / self.steps_per_epoch
                self.step += 1
                if time.monotonic() - saved_at >= self.plan.save_every or self.step % self.steps_per_epoch == 0:
                    self.save()
                    saved_at = time.monotonic()
                report("train", self.step, self.total)
        self.model.eval()
        return self.losses

    def optimise(self, batch: Sequence[TokenizedExample]) -> float:
        """Do one step on a batch and return the mean loss per target token.

        The loss of each pass is weighted by its share of the target tokens, so the step does not depend on `at_once`.
        """
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = self.plan.rate * (1 - self.step / self.total)
        tokens, total_loss, device = sum(len(item.target) for item in batch), 0.0, self.model.device
        for start in range(0, len(batch), self.plan.at_once):
            part = batch[start : start + self.plan.at_once]
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = self.model(**collate_examples(part, self.seq2seq, self.pad, device)).loss
            weighted_loss = loss.float() * (sum(len(item.target) for item in part) / tokens)
            weighted_loss.backward()
            total_loss += weighted_loss.item()
        torch.nn.utils.clip_grad_norm_(list(self.trainable_weights.values()), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return total_loss

    def save(self) -> None:
        """Save weights, optimiser, random state, step and losses. If the process is killed meanwhile, the old file
        stays.
        """
        state = {
            "weights": {name: value.detach() for name, value in self.trainable_weights.items()},
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "random_gpu": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
            "step": self.step,
            "losses": self.losses,
        }
        unfinished_file = self.checkpoint.with_suffix(".part")
        torch.save(state, unfinished_file)
        unfinished_file.replace(self.checkpoint)

    def resume(self) -> None:
        """Restore what `save` wrote."""
        state = torch.load(self.checkpoint, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, value in self.trainable_weights.items():
                value.copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"])
        if state["random_gpu"] is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["random_gpu"])
        self.step, self.losses = state["step"], state["losses"]


def encode_examples(
    makers: Sequence[Callable[[int], tuple[str, str]]], counts: Sequence[int], codec: Any, length: int, output: int
) -> tuple[list[TokenizedExample], int]:
    """Return the examples that fit, and how many of them lost passages.

    makers: for each example, a function from a number n to (prompt, target) with the first n passages; counts: how many
    passages each example has; codec: turns prompts and targets into token ids (`Codec`).

    The lowest-ranked passages are dropped until the prompt has at most `length` tokens, as at run time, and the target
    at most `output`. An example that does not fit even with one passage is left out.
    """
    items, shortened_count = [], 0
    for make, count in zip(makers, counts, strict=True):
        for passage_count in range(count, 0, -1):
            prompt, target = make(passage_count)
            item = TokenizedExample(codec.encode_prompt(prompt), codec.encode_target(target))
            if len(item.prompt) <= length and len(item.target) <= output:
                items.append(item)
                shortened_count += passage_count < count
                break
    return items, shortened_count
