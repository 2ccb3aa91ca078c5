"""Train the embedded reader: python -m training.reader --help (extra `train`).

The model is a small frozen encoder, all-MiniLM-L6-v2, with a reader tower that starts as its copy. The tower gives span
logits, where position 0 ([CLS]) stands for "no answer", and an answerability logit. Training writes a checkpoint every
few minutes and can continue from it. `quorum.training.export` makes the file that Quorum runs.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out
from training.examples import EncodedExample, encode_example, get_weight, join_contexts, read_examples, read_negatives
from training.groups import Batch, Groups
from training.reader_loss import compute_loss
from training.two_towers import TwoTowers, load_base, load_reader_weights

MULTI_PASSAGE_SHARE = 0.15  # share of the examples whose context is joined with that of another example
MULTI_PASSAGE_LENGTH = 1.4  # how many times as long such an example may be as an example with one passage


class Mixture:
    """Draws examples without end, by the weight of their data source; each batch holds examples of similar length.

    weights: by data source (see `get_weight`). length: the most tokens of an example with one passage.
    """

    def __init__(
        self, examples: list[Example], weights: dict[str, float], tokenizer: Tokenizer, length: int, seed: int
    ) -> None:
        self.examples = examples
        self.weights = [get_weight(example, weights) for example in examples]
        self.other_contexts = [example.context for example in examples if 80 < len(example.context) < 900]
        self.tokenizer, self.length, self.rng = tokenizer, length, random.Random(seed)

    def draw_batches(self, rows_per_batch: int, batch_count: int) -> list[list[EncodedExample]]:
        """Draw the examples of all batches, sort them by length, split them into batches, and shuffle the batches."""
        drawn_examples = self.rng.choices(self.examples, self.weights, k=rows_per_batch * batch_count)
        rows = [self.encode_example(example) for example in drawn_examples]
        rows.sort(key=lambda row: len(row.ids))
        batches = [rows[i : i + rows_per_batch] for i in range(0, len(rows), rows_per_batch)]
        self.rng.shuffle(batches)
        return batches

    def encode_example(self, example: Example) -> EncodedExample:
        """Encode the example. With probability MULTI_PASSAGE_SHARE its context is first joined with another."""
        length = self.length
        if self.other_contexts and self.rng.random() < MULTI_PASSAGE_SHARE:
            example, length = (
                join_contexts(example, self.rng.choice(self.other_contexts), self.rng),
                int(self.length * MULTI_PASSAGE_LENGTH),
            )
        return encode_example(self.tokenizer, example, length, self.rng)


def train_reader(
    model: TwoTowers,
    mixture: Mixture,
    out: Path,
    *,
    minutes: float,
    rate: float,
    batch: int = 32,
    steps: int | None = None,
    save_every: float = 300.0,
    average: float = 0.995,
    weight_limit: int = 0,
    weight_limit_from: float = 0.0,
    bf16: bool = False,
    groups: Groups | None = None,
    group_share: float = 0.0,
) -> dict[str, float]:
    """Train by AdamW with warm-up and linear decay over `minutes` (or over `steps`, if given).

    Writes the running average of the weights to `out` every `save_every` seconds and at the end; at the end the model
    gets these weights, too.

    `rate`: the highest learning rate. `batch`: how many examples a batch has. `average`: the decay of the running
    average. `weight_limit`: train for an exported file whose weights are integers from -weight_limit to weight_limit
    (0: floats). `weight_limit_from`: the share of the training after which `weight_limit` applies. `groups`:
    questions, each with its right passage and some wrong ones in one batch (see `Groups`). `group_share`: the share of
    the batches that come from `groups`; the others come from the mixture. Returns the number of examples,
    steps and minutes.
    """
    trained_weights = {name: value for name, value in model.named_parameters() if value.requires_grad}
    vectors = [value for name, value in trained_weights.items() if value.ndim < 2]
    matrices = [value for name, value in trained_weights.items() if value.ndim >= 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}], lr=rate
    )
    average_weights = {name: value.detach().clone() for name, value in trained_weights.items()}
    started_at = saved_at = time.monotonic()
    progress, step, example_count, running_loss = 0.0, 0, 0, 0.0
    while progress < 1:
        for drawn_batch in draw_batches(mixture, groups, batch, 64, group_share):
            elapsed_minutes = (time.monotonic() - started_at) / 60
            progress = step / steps if steps else elapsed_minutes / minutes
            if progress >= 1:
                break
            for parameters in optimiser.param_groups:
                parameters["lr"] = rate * min(1.0, (step + 1) / 100) * max(0.01, 1 - progress)
            loss = compute_loss(
                model,
                drawn_batch.rows,
                drawn_batch.sizes,
                weight_limit=weight_limit if progress >= weight_limit_from else 0,
                bf16=bf16,
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(trained_weights.values()), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            step, example_count = step + 1, example_count + len(drawn_batch.rows)
            decay = min(average, step / (step + 10))
            with torch.no_grad():
                for name, value in trained_weights.items():
                    average_weights[name].lerp_(value, 1 - decay)
            running_loss += (loss.item() - running_loss) * max(0.01, 1 / step)
            if step % 50 == 0:
                print(
                    f"{elapsed_minutes:.1f} min, {example_count} examples, loss {running_loss:.3f}",
                    file=sys.stderr,
                    flush=True,
                )
            if time.monotonic() - saved_at > save_every:
                saved_at = time.monotonic()
                write_weights(model.get_reader_weights() | average_weights, out)
    write_weights(model.get_reader_weights() | average_weights, out)
    with torch.no_grad():
        for name, value in trained_weights.items():
            value.copy_(average_weights[name])
    return {"examples": example_count, "steps": step, "minutes": (time.monotonic() - started_at) / 60}


def draw_batches(
    mixture: Mixture, groups: Groups | None, rows_per_batch: int, batch_count: int, group_share: float
) -> list[Batch]:
    """About `batch_count` batches in random order. The share `group_share` comes from the groups, the rest from the
    mixture.
    """
    group_batch_count = round(batch_count * group_share) if groups else 0
    mixture_batches = mixture.draw_batches(rows_per_batch, batch_count - group_batch_count)
    batches = [Batch(rows, [1] * len(rows)) for rows in mixture_batches]
    if groups and group_batch_count:
        batches += groups.draw_batches(rows_per_batch, group_batch_count)
        mixture.rng.shuffle(batches)
    return batches


def write_weights(weights: dict[str, Tensor], out: Path) -> None:
    """Write the weights to the file `out`, which is replaced only when the new one is complete."""
    part = out.with_suffix(".part")
    save_file({name: value.contiguous() for name, value in weights.items()}, part)
    part.replace(out)


def parse_weights(text: str) -> dict[str, float]:
    """'qamr=0.3,negatives=1' -> {'qamr': 0.3, 'negatives': 1.0}."""
    pairs = (item.split("=", 1) for item in text.split(",") if item.strip())
    return {name.strip(): float(weight) for name, weight in pairs}


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.reader", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument(
        "--train",
        type=Path,
        nargs="+",
        required=True,
        help="questions with one context each (reading data), or with passages and the ids of those that answer them",
    )
    parser.add_argument(
        "--negatives", type=Path, nargs="*", default=[], help="wrong passages, mined by training.negatives"
    )
    parser.add_argument("--out", type=Path, required=True, help="checkpoint (.safetensors), outside the repository")
    parser.add_argument(
        "--init",
        type=Path,
        help="begin with the weights of this file: a checkpoint, an exported reader (.onnx), or low-rank adapters",
    )
    parser.add_argument("--minutes", type=float, default=90, help="how long to train")
    parser.add_argument("--steps", type=int, help="how many steps to train, instead of --minutes")
    parser.add_argument("--rate", type=float, default=1.5e-4, help="highest learning rate")
    parser.add_argument("--length", type=int, default=168, help="the most tokens of a question with its context")
    parser.add_argument(
        "--low",
        type=int,
        default=2,
        help="how many of the reader's lowest layers use the encoder's weights with low-rank updates",
    )
    parser.add_argument("--keep-low", action="store_true", help="do not train the low-rank updates (a quarter faster)")
    parser.add_argument(
        "--weights",
        type=parse_weights,
        default={},
        help="SOURCE=WEIGHT,...: the weight of the examples whose source begins with SOURCE. SOURCE/none=WEIGHT: of "
        "those without an answer whose source is SOURCE. */none=WEIGHT: of all without an answer. If several of these "
        "fit an example, the one with the longest text before = counts",
    )
    parser.add_argument(
        "--weight-limit",
        type=int,
        default=0,
        help="train for an export with the same --weight-limit (quantisation-aware; 0: in float)",
    )
    parser.add_argument(
        "--weight-limit-from", type=float, default=0.0, help="share of the training after which --weight-limit applies"
    )
    parser.add_argument(
        "--bf16", action="store_true", help="multiply in bfloat16: twice as fast if the CPU supports it"
    )
    parser.add_argument(
        "--group-share",
        type=float,
        default=0.0,
        help="share of the batches that hold whole groups, in which right and wrong passages of a question compete",
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


def main(arguments: list[str] | None = None) -> None:
    parser = make_parser()
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    model = load_base(options.base, options.low)
    if options.init:
        load_reader_weights(model, options.init)
    model.updates.requires_grad_(not options.keep_low)
    if torch.cuda.is_available():
        model.cuda()
    examples = [example for path in options.train for example in read_examples(path)]
    examples += [example for path in options.negatives for example in read_negatives(path)]
    training_examples = [example for example in examples if not is_held_out(example, CALIBRATION_PERCENT)]
    training_examples = [example for example in training_examples if get_weight(example, options.weights) > 0]
    print(f"{len(training_examples)} of {len(examples)} examples in the mixture", file=sys.stderr)
    arguments_of_both = (training_examples, options.weights, tokenizer, options.length, options.seed)
    mixture, groups = Mixture(*arguments_of_both), Groups(*arguments_of_both) if options.group_share else None
    if groups and not groups.right_examples:
        parser.error(
            "--group-share needs questions with a passage that answers and one that does not, and there are none; "
            "add --negatives with a file that training.negatives has written"
        )
    totals = train_reader(
        model,
        mixture,
        options.out,
        minutes=options.minutes,
        rate=options.rate,
        steps=options.steps,
        weight_limit=options.weight_limit,
        weight_limit_from=options.weight_limit_from,
        bf16=options.bf16,
        groups=groups,
        group_share=options.group_share,
    )
    print(f"done: {totals}", file=sys.stderr)


if __name__ == "__main__":
    main()
