"""Training the reader, on a tiny encoder of three layers.

`low_layer_count` is how many of the reader's lowest layers use the sentence encoder's weights with low-rank updates.
The other layers, the "tower", have weights of their own.
"""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from quorum.training.examples import Example
from quorum.training.layer import ADAPTER_SCALE, RANK
from training.examples import EncodedExample, encode_example
from training.reader import Mixture, main, train_reader
from training.reader_loss import compute_loss, mark_allowed_positions, pad_batch
from training.two_towers import LINEAR_NAMES, TwoTowers, load_base, load_reader_weights

Batch = tuple[Tensor, Tensor, Tensor]


@pytest.fixture
def encoded_examples(examples: list[Example], tokenizer: Tokenizer) -> list[EncodedExample]:
    return [encode_example(tokenizer, example, 60) for example in examples[:32]]


@pytest.fixture
def batch(encoded_examples: list[EncodedExample]) -> Batch:
    return pad_batch(encoded_examples)


def compute_bert_states(weights: dict[str, Tensor], ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
    """The hidden states of a BERT with these weights, by torch's own transformer layers."""
    parts = {name: weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
    x = parts["word"][ids] + parts["position"][: ids.shape[1]] + parts["token_type"][types]
    norm = "embeddings.LayerNorm"
    x = nn.functional.layer_norm(x, x.shape[-1:], weights[f"{norm}.weight"], weights[f"{norm}.bias"], eps=1e-12)
    for number in range(3):
        prefix = f"encoder.layer.{number}"
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", 1e-12, batch_first=True)
        bert_names = {
            "self_attn.out_proj": "attention.output.dense",
            "linear1": "intermediate.dense",
            "linear2": "output.dense",
            "norm1": "attention.output.LayerNorm",
            "norm2": "output.LayerNorm",
        }
        layer_weights = {
            f"{torch_name}.{kind}": weights[f"{prefix}.{name}.{kind}"]
            for torch_name, name in bert_names.items()
            for kind in ("weight", "bias")
        }
        for kind in ("weight", "bias"):
            joined = [weights[f"{prefix}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            layer_weights[f"self_attn.in_proj_{kind}"] = torch.cat(joined)
        layer.load_state_dict(layer_weights)
        x = layer(x, src_key_padding_mask=~mask)
    return x


def check_same_logits(
    left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor], mask: Tensor, exact: bool = False
) -> None:
    """Check that two results of `TwoTowers.read` agree: span logits at the tokens in `mask`, answerability logits."""
    tolerances = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(left[0][mask], right[0][mask], **tolerances)
    torch.testing.assert_close(left[1], right[1], **tolerances)


@torch.no_grad()
def test_the_embedding_is_that_of_the_base_model(base: Path, weights: dict[str, Tensor], batch: Batch) -> None:
    ids, types, mask = batch
    hidden = compute_bert_states(weights, ids, torch.zeros_like(types), mask)
    pooled = torch.stack([row[mask_row].mean(0) for row, mask_row in zip(hidden, mask, strict=True)])
    expected = nn.functional.normalize(pooled, dim=-1)
    for low_layer_count in (0, 2, 3):
        torch.testing.assert_close(load_base(base, low_layer_count).embed(ids, mask), expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_the_reader_begins_as_the_base_model(base: Path, weights: dict[str, Tensor], batch: Batch) -> None:
    ids, types, mask = batch
    hidden = compute_bert_states(weights, ids, types, mask)
    for low_layer_count in (0, 1, 9):  # a number above 3 means all three layers
        model = load_base(base, low_layer_count)
        expected = model.span(hidden), model.answerable(hidden[:, 0]).squeeze(-1)
        check_same_logits(model.read(ids, types, mask), expected, mask)


def add_prefix(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"bert.{name}": value for name, value in weights.items()}


def test_weight_names_may_have_a_prefix(base: Path, weights: dict[str, Tensor], tmp_path: Path, batch: Batch) -> None:
    (tmp_path / "config.json").write_bytes((base / "config.json").read_bytes())
    save_file(add_prefix(weights), tmp_path / "model.safetensors")
    assert torch.equal(load_base(tmp_path, 1).embed(batch[0], batch[2]), load_base(base, 1).embed(batch[0], batch[2]))


def draw_adapters(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Random low-rank adapters (A, B) of all linear layers, and a span head, under the names that `load_reader_weights`
    expects in a file of adapters.
    """
    torch.manual_seed(3)
    tensors = {"span.weight": torch.randn(2, 32), "span.bias": torch.randn(2)}
    for number in range(3):
        for name in LINEAR_NAMES:
            rows, columns = weights[f"encoder.layer.{number}.{name}.weight"].shape
            tensors[f"enc.encoder.layer.{number}.{name}.A.weight"] = torch.randn(RANK, columns) / 20
            tensors[f"enc.encoder.layer.{number}.{name}.B.weight"] = torch.randn(rows, RANK) / 20
    return tensors


@torch.no_grad()
@pytest.mark.parametrize("low_layer_count", [0, 1, 3])
def test_adapters_are_merged(
    low_layer_count: int, base: Path, weights: dict[str, Tensor], tmp_path: Path, batch: Batch
) -> None:
    ids, types, mask = batch
    adapters = draw_adapters(weights)
    save_file(adapters, tmp_path / "adapter.safetensors")
    merged_weights = dict(weights)
    for number in range(3):
        for name in LINEAR_NAMES:
            a, b = (adapters[f"enc.encoder.layer.{number}.{name}.{side}.weight"] for side in "AB")
            merged_weights[f"encoder.layer.{number}.{name}.weight"] = (
                weights[f"encoder.layer.{number}.{name}.weight"] + ADAPTER_SCALE * b @ a
            )
    model = load_reader_weights(load_base(base, low_layer_count), tmp_path / "adapter.safetensors")
    span = compute_bert_states(merged_weights, ids, types, mask) @ adapters["span.weight"].T + adapters["span.bias"]
    torch.testing.assert_close(model.read(ids, types, mask)[0][mask], span[mask], rtol=1e-3, atol=1e-3)
    assert torch.equal(
        model.embed(ids, mask), load_base(base, low_layer_count).embed(ids, mask)
    )  # the embedding is unchanged


def test_the_loss_falls_and_training_continues_from_its_checkpoint(
    base: Path, examples: list[Example], tokenizer: Tokenizer, encoded_examples: list[EncodedExample], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, out = load_base(base, 1), tmp_path / "reader.safetensors"
    frozen_weights = {
        name: value.clone() for name, value in model.state_dict().items() if name not in model.get_reader_weights()
    }
    mixture = Mixture(examples, {}, tokenizer, 60, seed=0)
    loss_before = compute_loss(model, encoded_examples).item()
    figures = train_reader(model, mixture, out, minutes=0, steps=60, rate=3e-3, batch=16)
    loss_after = compute_loss(model, encoded_examples).item()
    assert loss_after < 0.7 * loss_before
    assert (figures["steps"], figures["examples"]) == (60, 960)
    for name, value in frozen_weights.items():
        assert torch.equal(model.state_dict()[name], value), name
    ids, types, mask = pad_batch(encoded_examples)
    loaded_model = load_reader_weights(load_base(base, 1), out)
    check_same_logits(loaded_model.read(ids, types, mask), model.read(ids, types, mask), mask, exact=True)
    assert compute_loss(loaded_model, encoded_examples).item() == loss_after
    train_reader(loaded_model, mixture, out, minutes=0, steps=60, rate=3e-3, batch=16)
    assert compute_loss(loaded_model, encoded_examples).item() < loss_after
    assert set(load_file(out)) == set(loaded_model.get_reader_weights())
    assert not list(tmp_path.glob("*.part"))


def test_a_checkpoint_of_another_encoder_is_refused(base: Path, tmp_path: Path) -> None:
    save_file(load_base(base, 2).get_reader_weights(), tmp_path / "two.safetensors")
    with pytest.raises(ValueError, match="trained for another encoder"):
        load_reader_weights(load_base(base, 1), tmp_path / "two.safetensors")


def test_answers_stand_in_the_context_only(encoded_examples: list[EncodedExample]) -> None:
    ids, types, mask = pad_batch(encoded_examples[:4])
    is_allowed = mark_allowed_positions(types, mask)  # position 0 is [CLS], which stands for no answer
    for row, item in enumerate(encoded_examples[:4]):
        length = len(item.ids)
        assert mask[row].tolist() == [True] * length + [False] * (ids.shape[1] - length)
        assert is_allowed[row].tolist() == [n == 0 or (n < length and item.types[n] == 1) for n in range(ids.shape[1])]


def test_the_loss_takes_every_gold_span(base: Path) -> None:
    """The loss is half the negative log likelihood of the gold spans, plus the loss of answerability.

    Without a gold span the likelihood is that of [CLS]; with two it is the sum of the spans' likelihoods.
    """
    model = load_base(base, 1)
    item = EncodedExample([2, 50, 3, 60, 61, 62, 3], [0, 0, 0, 1, 1, 1, 1], [])
    ids, types, mask = pad_batch([item])
    span, answerable = model.read(ids, types, mask)
    span = span.masked_fill(~mark_allowed_positions(types, mask)[..., None], -1e4)
    starts, ends = span[0, :, 0].softmax(0), span[0, :, 1].softmax(0)
    for spans in ([], [(3, 4)], [(3, 4), (5, 5)]):
        likelihood = sum(starts[a] * ends[b] for a, b in spans or [(0, 0)])
        is_answerable = torch.full((1,), float(bool(spans)))
        answerable_loss = nn.functional.binary_cross_entropy_with_logits(answerable, is_answerable)
        expected = -torch.log(torch.as_tensor(likelihood)) / 2 + answerable_loss
        loss = compute_loss(model, [EncodedExample(item.ids, item.types, spans)], answerable_weight=1.0)
        torch.testing.assert_close(loss, expected)


def test_keep_low_leaves_the_low_layers_unchanged(base: Path, data: Path, negatives: Path, tmp_path: Path) -> None:
    first_checkpoint, second_checkpoint = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    common = ["--base", str(base), "--train", str(data), "--steps", "3", "--rate", "1e-3"]
    # */none=2: examples without an answer, of any data source, have the weight 2.
    main(
        [*common, "--negatives", str(negatives), "--weights", "negatives=0.5,*/none=2", "--out", str(first_checkpoint)]
    )
    main([*common, "--init", str(first_checkpoint), "--keep-low", "--out", str(second_checkpoint)])
    first_tensors, second_tensors = load_file(first_checkpoint), load_file(second_checkpoint)
    changed_parts = {
        name.split(".")[0] for name in first_tensors if not torch.equal(first_tensors[name], second_tensors[name])
    }
    assert changed_parts == {"tower", "span", "answerable"}


def test_low_layers_have_updates_that_begin_at_zero(base: Path) -> None:
    model = TwoTowers(load_base(base, 2).config, 2)
    assert len(model.updates) == 2
    assert len(model.tower) == 1
    assert all(value.abs().sum() == 0 for name, value in model.updates.named_parameters() if name.endswith(".B"))
