"""Train the embedded sentence filter on silver data: quorum filter train --base embedded (extra `train`).

The filter is a head on the reader: one transformer layer, which takes the reader's last-layer states and gives two
scores for each token. A sentence's score is the maximum of its tokens' first scores plus the mean of their second
scores. The reader does not change, so its states are computed once.
"""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from torch import Tensor, nn

from quorum.core.errors import SetupError
from quorum.models.embedded import FOLDER, name_weights
from quorum.models.embedded.encoder import Encoder
from quorum.models.embedded.heads import SentenceHead
from quorum.models.embedded.judging import score_sentences_blocking
from quorum.training.activation_ranges import ActivationRange, observe_layer
from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out
from quorum.training.export import Exporter, to_array
from quorum.training.layer import Layer
from quorum.training.sentence_cases import IGNORED, LabelledWindow, SilverCase, make_labelled_windows, read_cases

ATTENTION_HEADS, INNER_SIZE = 12, 1536
LARGEST_INTEGER_WEIGHT = 63  # of the exported head, whose weights are rounded to integers
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))


class Head(nn.Module):
    """States (batch, length, hidden) -> a logit for each sentence (batch, sentences).

    mask: true where a token is (batch, length); sentences: 1 where a token belongs to the sentence, else 0 (batch,
    sentences, length); weight_limit: the largest integer weight of quantisation-aware training, 0 without it (see
    `Layer`).
    """

    def __init__(self, hidden: int, heads: int = ATTENTION_HEADS, inner: int = INNER_SIZE) -> None:
        super().__init__()
        self.layer = Layer(hidden, inner, heads)
        self.scores = nn.Linear(hidden, 2)

    def forward(self, states: Tensor, mask: Tensor, sentences: Tensor, weight_limit: int = 0) -> Tensor:
        scores = self.scores(self.layer(states, mask, weight_limit))
        best = (scores[..., 0][:, None] + (sentences - 1) * 1e4).amax(-1)
        mean = (scores[..., 1][:, None] * sentences).sum(-1) / sentences.sum(-1).clamp_min(1)
        total: Tensor = best + mean
        return total


def collate_windows(batch: Sequence[LabelledWindow]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pad the windows to one length: (states, mask, members, labels).

    mask: true where a token is; members: (batch, sentences, length), 1 where a token is in the sentence; labels:
    (batch, sentences), the label of each sentence, but IGNORED for a sentence without a token in the window and for
    padding.
    """
    length, max_sentences = max(len(item.states) for item in batch), max(1, *(len(item.labels) for item in batch))
    states = torch.zeros(len(batch), length, batch[0].states.shape[1])
    mask = torch.zeros(len(batch), length, dtype=torch.bool)
    members, labels = torch.zeros(len(batch), max_sentences, length), torch.full((len(batch), max_sentences), IGNORED)
    for row, item in enumerate(batch):
        size, count = len(item.states), len(item.labels)
        states[row, :size] = torch.from_numpy(item.states.astype(np.float32))
        mask[row, :size] = True
        members[row, :count, :size] = torch.from_numpy(item.members)
        has_tokens = torch.from_numpy(item.members.any(1))
        labels[row, :count] = torch.where(has_tokens, torch.tensor(item.labels), torch.tensor(IGNORED))
    return states, mask, members, labels


def fit_head(
    head: Head,
    data: list[LabelledWindow],
    *,
    epochs: int,
    rate: float,
    batch: int,
    seed: int,
    report: Callable[[str], None],
) -> None:
    """Train the head by AdamW, quantisation-aware; a batch holds windows of similar length.

    rate: the learning rate, with a linear warm-up over 50 steps and linear decay; batch: windows per batch. After each
    epoch, `report` gets a line with the mean loss of the epoch's last 100 batches.
    """
    rng = random.Random(seed)
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.01)
    total, step = epochs * -(-len(data) // batch), 0
    for epoch in range(epochs):
        order = sorted(range(len(data)), key=lambda index: (len(data[index].states) // 16, rng.random()))
        batches = [order[begin : begin + batch] for begin in range(0, len(order), batch)]
        rng.shuffle(batches)
        losses: list[float] = []
        for indexes in batches:
            states, mask, members, labels = collate_windows([data[index] for index in indexes])
            has_label = labels >= 0
            for parameters in optimiser.param_groups:
                parameters["lr"] = rate * min(1.0, (step + 1) / 50) * max(0.01, 1 - step / total)
            step += 1
            if not has_label.any():
                continue
            logits = head(states, mask, members, LARGEST_INTEGER_WEIGHT)
            loss = F.binary_cross_entropy_with_logits(logits[has_label], labels[has_label])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            losses.append(loss.item())
        shown_losses = losses[-100:] or [0.0]
        report(f"epoch {epoch + 1} of {epochs}: {step} steps, loss {sum(shown_losses) / len(shown_losses):.4f}")


@torch.no_grad()
def export_head(head: Head, sample: Sequence[LabelledWindow]) -> onnx.ModelProto:
    """The head as one ONNX graph: `states`, `mask`, `sentences` -> `helps`, a logit for each sentence.

    It computes in int8; the ranges of the activations are measured on `sample`.
    """
    ranges: dict[str, ActivationRange] = {}
    for begin in range(0, len(sample), 16):
        states, mask, _, _ = collate_windows(sample[begin : begin + 16])
        for point, values in observe_layer(head.layer, states, mask):
            if point != "out":  # the layer's output, which is not quantised
                ranges.setdefault(f"head.{point}", ActivationRange()).add_values(values[mask], tail=0.0)
    exporter = Exporter(ranges, LARGEST_INTEGER_WEIGHT)
    graph = exporter.graph
    graph.nodes.append(helper.make_node("Cast", ["mask"], ["mask32"], to=TensorProto.INT32))
    x = exporter.add_layer("states", "head", head.layer)
    scores = graph.add_node("MatMul", x, graph.add_constant("scores.weight", to_array(head.scores.weight).T))
    scores = graph.add_node("Add", scores, graph.add_constant("scores.bias", to_array(head.scores.bias)))
    scores = graph.add_node("Transpose", scores, perm=[0, 2, 1])
    maximum_part, mean_part = graph.add_node("Split", scores, outputs=2, axis=1, num_outputs=2).split()
    one, far = graph.add_constant("one", np.array(1, np.float32)), graph.add_constant("far", np.array(1e4, np.float32))
    outside = graph.add_node("Mul", graph.add_node("Sub", "sentences", one), far)
    last = graph.add_constant("last", np.array([-1]))
    best = graph.add_node("ReduceMax", graph.add_node("Add", outside, maximum_part), last, keepdims=0)
    summed = graph.add_node("ReduceSum", graph.add_node("Mul", "sentences", mean_part), last, keepdims=0)
    count = graph.add_node("Max", graph.add_node("ReduceSum", "sentences", last, keepdims=0), one)
    graph.nodes.append(helper.make_node("Add", [best, graph.add_node("Div", summed, count)], ["helps"]))
    hidden = head.scores.in_features
    inputs = [
        helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", hidden]),
        helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "length"]),
        helper.make_tensor_value_info("sentences", TensorProto.FLOAT, ["batch", "count", "length"]),
    ]
    outputs = [helper.make_tensor_value_info("helps", TensorProto.FLOAT, ["batch", "count"])]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx_graph = helper.make_graph(graph.nodes, "sentences", inputs, outputs, graph.constants)
    return helper.make_model(onnx_graph, opset_imports=opsets, ir_version=10, producer_name="quorum")


def evaluate_sentence_filter(
    cases: Sequence[SilverCase], model: Encoder, head: SentenceHead, thresholds: Iterable[float] = THRESHOLDS
) -> dict[str, float]:
    """F1, precision and recall of the kept sentences against silver, without the sentences labelled IGNORED.

    `threshold`: the one of `thresholds` with the best F2, which weighs recall twice as much as precision: a generator
    can ignore a sentence that does not help, but it never sees one that was dropped. `share_kept`: the share of all
    sentences, also the ignored ones, that are kept. `sentences`, `questions`: how many were scored.
    """
    scores, labels = [], []
    for case in cases:
        for case_scores, case_labels in zip(
            score_sentences_blocking(case.question, case.passages, model, head), case.labels, strict=True
        ):
            scores += [probability for _, _, probability in case_scores]
            labels += case_labels
    probabilities, truth = np.array(scores), np.array(labels)
    has_label = truth >= 0
    best: dict[str, float] = {}
    best_f2 = -1.0
    for threshold in thresholds:
        kept_sentences = (probabilities >= threshold) & has_label
        kept_silver = float((kept_sentences & (truth == 1)).sum())
        precision, recall = kept_silver / max(1, kept_sentences.sum()), kept_silver / max(1, (truth == 1).sum())
        f1 = 2 * precision * recall / max(1e-9, precision + recall)
        f2 = 5 * precision * recall / max(1e-9, 4 * precision + recall)
        if f2 > best_f2:
            best_f2 = f2
            best = {
                "threshold": threshold,
                "f1": f1,
                "precision": precision,
                "recall": recall,
                "share_kept": float((probabilities >= threshold).mean()),
            }
    return best | {"sentences": float(has_label.sum()), "questions": float(len(cases))}


def train_sentence_filter(
    silver: Sequence[Path],
    out: Path,
    *,
    folder: Path = FOLDER,
    epochs: int = 3,
    rate: float = 5e-4,
    batch: int = 64,
    limit: int | None = None,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> dict[str, float]:
    """Train on the silver files and write sentences.onnx and sentences.json (reader, threshold) to the folder `out`.

    `folder` holds the reader; rate, batch: as in `fit_head`; limit: train on at most so many questions.
    CALIBRATION_PERCENT of the questions are held out (see `is_held_out`): half of them choose the threshold, the other
    half give the returned scores (those of `evaluate_sentence_filter`).
    """
    model, window_size = Encoder(folder), read_reader_manifest(folder)["calibration"]["window"]
    all_cases = list(read_cases(silver))
    held_out = [case for case in all_cases if is_held_out(Example(case.question, ""), CALIBRATION_PERCENT)]
    training_cases = [case for case in all_cases if not is_held_out(Example(case.question, ""), CALIBRATION_PERCENT)]
    random.Random(seed).shuffle(training_cases)
    training_cases = training_cases[:limit]
    if not training_cases or len(held_out) < 2:
        raise SetupError(
            f"{len(all_cases)} questions are too few to train on and to hold some out; give more silver data."
        )
    report(f"{len(training_cases)} questions to train on, {len(held_out)} held out; reading the passages")
    data = [
        item
        for begin in range(0, len(training_cases), 32)
        for item in make_labelled_windows(model, training_cases[begin : begin + 32], window_size)
    ]
    report(f"{len(data)} windows")
    torch.manual_seed(seed)
    hidden = data[0].states.shape[1]
    head = Head(hidden, ATTENTION_HEADS if hidden % ATTENTION_HEADS == 0 else 4, 4 * hidden)
    fit_head(head, data, epochs=epochs, rate=rate, batch=batch, seed=seed, report=report)
    exported_head = export_head(head.eval(), data[:: max(1, len(data) // 400)][:400])
    onnx.checker.check_model(exported_head)
    out.mkdir(parents=True, exist_ok=True)
    unfinished_file = out / "sentences.part"
    onnx.save(exported_head, unfinished_file)
    unfinished_file.replace(out / "sentences.onnx")
    reader_name = name_weights(read_reader_manifest(folder))
    # SentenceHead needs the file. The threshold in it may be any number, because scoring does not use the threshold.
    write_filter_manifest(out, reader_name, 0.5)
    trained_head = SentenceHead(out, reader_name)
    threshold = evaluate_sentence_filter(held_out[::2], model, trained_head)["threshold"]
    write_filter_manifest(out, reader_name, threshold)
    return evaluate_sentence_filter(held_out[1::2], model, trained_head, [threshold])


def write_filter_manifest(out: Path, reader_name: str, threshold: float) -> None:
    text = json.dumps({"reader": reader_name, "threshold": threshold}, indent=2) + "\n"
    (out / "sentences.json").write_text(text, encoding="utf-8")


def read_reader_manifest(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    return value
