"""A BERT encoder in plain torch with two towers: the frozen sentence encoder and the reader, which starts as its copy.

The reader shares the word vectors with the sentence encoder. Its lowest `low_layer_count` layers are the encoder's plus
low-rank updates, which need little room in the file; the other layers are its own. The exported file holds both
towers; its input `embeds` chooses which of them a run computes.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from quorum.training.layer import ADAPTER_SCALE, Layer, Update
from training.stored_tensors import StoredTensors

OWN_WEIGHTS = ("updates.", "tower.", "span.", "answerable.")  # how the names of the reader's own weights begin
LINEAR_NAMES = {  # name of a linear layer in BERT's checkpoints -> its name in `Layer`
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attended",
    "intermediate.dense": "inner",
    "output.dense": "outer",
}


class TwoTowers(nn.Module):
    """Token ids (batch, length) -> sentence embedding, or span and answerability logits.

    `base`: the layers of the sentence encoder; `updates`: what the reader adds to the lowest `low_layer_count` of them;
    `tower`: the reader's own layers above; `span`, `answerable`: the reader's heads. A checkpoint of
    `training.reader` holds the weights of all these except `base`, under the same names.

    `config` holds the BERT sizes: vocab_size, max_position_embeddings, type_vocab_size, hidden_size,
    intermediate_size, num_hidden_layers, num_attention_heads.
    """

    def __init__(self, config: dict[str, int], low_layer_count: int) -> None:
        super().__init__()
        hidden, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
        depth = config["num_hidden_layers"]
        self.config, self.low_layer_count = config, min(low_layer_count, depth)
        self.words = nn.Embedding(config["vocab_size"], hidden)
        self.positions = nn.Embedding(config["max_position_embeddings"], hidden)
        self.types = nn.Embedding(config["type_vocab_size"], hidden)
        self.embedded_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.base = nn.ModuleList([Layer(hidden, inner, heads) for _ in range(depth)])
        self.updates = nn.ModuleList(
            [
                nn.ModuleDict({name: Update(layer.get_submodule(name)) for name in LINEAR_NAMES.values()})
                for layer in self.base[: self.low_layer_count]
            ]
        )
        self.tower = nn.ModuleList([Layer(hidden, inner, heads) for _ in range(depth - self.low_layer_count)])
        self.span = nn.Linear(hidden, 2)
        self.answerable = nn.Linear(hidden, 1)

    def embed_tokens(self, ids: Tensor, types: Tensor) -> Tensor:
        """The common input of both towers: the embeddings, summed and normalised."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        normed: Tensor = self.embedded_norm(self.words(ids) + self.positions(positions) + self.types(types))
        return normed

    def read(self, ids: Tensor, types: Tensor, mask: Tensor, weight_limit: int = 0) -> tuple[Tensor, Tensor]:
        """-> span logits (batch, length, 2: start, end) and answerability logits (batch).

        `weight_limit`: round weights and activations as in an exported file whose weights are integers from
        -weight_limit to weight_limit; 0: do not round.
        """
        x = self.embed_tokens(ids, types)
        for number in range(self.low_layer_count):
            x = torch.func.functional_call(self.base[number], self.merge_updates(number), (x, mask, weight_limit))
        for layer in self.tower:
            x = layer(x, mask, weight_limit)
        return self.span(x), self.answerable(x[:, 0]).squeeze(-1)

    def merge_updates(self, number: int) -> dict[str, Tensor]:
        """The weights of the reader's low layer `number` that differ from the sentence encoder's."""
        layer, updates = self.base[number], self.updates[number]
        return {f"{name}.weight": layer.get_submodule(name).weight + update() for name, update in updates.items()}

    @torch.no_grad()
    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """-> mean-pooled, normalised sentence embeddings (batch, hidden), as the base model defines them."""
        x = self.embed_tokens(ids, torch.zeros_like(ids))
        for layer in self.base:
            x = layer(x, mask)
        weights = mask[..., None].to(x.dtype)
        return F.normalize((x * weights).sum(1) / weights.sum(1), dim=-1)

    def get_reader_weights(self) -> dict[str, Tensor]:
        """The reader's own weights, without those of the encoder: the weights whose names begin as in OWN_WEIGHTS.

        The low-rank updates are among them even if the option `--keep-low` kept them from being trained.
        """
        return {
            name: value.detach().contiguous()
            for name, value in self.state_dict().items()
            if name.startswith(OWN_WEIGHTS)
        }


def load_base(folder: Path, low_layer_count: int, config: dict[str, int] | None = None) -> TwoTowers:
    """Both towers, from the published sentence encoder in `folder`, of which the reader starts as a copy.

    low_layer_count: how many of the reader's lowest layers use the encoder's weights with low-rank updates.
    """
    model = TwoTowers(config or json.loads((folder / "config.json").read_text(encoding="utf-8")), low_layer_count)
    weights = load_file(folder / "model.safetensors")
    weights = {name.removeprefix("bert."): value for name, value in weights.items()}
    renamed_weights: dict[str, Tensor] = {}
    for name, bert_name in {
        "words": "word_embeddings",
        "positions": "position_embeddings",
        "types": "token_type_embeddings",
    }.items():
        renamed_weights[f"{name}.weight"] = weights[f"embeddings.{bert_name}.weight"]
    norms = {"attended_norm": "attention.output.LayerNorm", "outer_norm": "output.LayerNorm"}
    for kind in ("weight", "bias"):
        renamed_weights[f"embedded_norm.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
        for number in range(len(model.base)):
            prefix = f"encoder.layer.{number}"
            for bert_name, name in LINEAR_NAMES.items():
                renamed_weights[f"base.{number}.{name}.{kind}"] = weights[f"{prefix}.{bert_name}.{kind}"]
            for name, bert_name in norms.items():
                renamed_weights[f"base.{number}.{name}.{kind}"] = weights[f"{prefix}.{bert_name}.{kind}"]
    for name, value in list(renamed_weights.items()):
        if name.startswith("base."):
            layer_number, rest = name.removeprefix("base.").split(".", 1)
            if int(layer_number) >= model.low_layer_count:
                renamed_weights[f"tower.{int(layer_number) - model.low_layer_count}.{rest}"] = value.clone()
    missing_names, unexpected_names = model.load_state_dict(renamed_weights, strict=False)
    missing_base_weights = [name for name in missing_names if not name.startswith(("updates.", "span.", "answerable."))]
    if missing_base_weights or unexpected_names:
        raise ValueError(
            f"{folder} does not hold the expected encoder: missing {missing_base_weights}, unexpected "
            f"{unexpected_names}"
        )
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(OWN_WEIGHTS))
    return model


def read_export(model: TwoTowers, file: Path) -> dict[str, Tensor]:
    """The reader's own weights, read from an exported file, under the names that `model` gives them.

    The export has rounded the weights of the linear layers in `tower` to int8, and the low-rank updates to float16.
    """
    stored_tensors = StoredTensors(file)
    # Name in the exported file -> names in `Layer`. The file stores query, key and value as one matrix.
    linear_names = {"qkv": ("query", "key", "value"), "o": ("attended",), "inner": ("inner",), "outer": ("outer",)}
    tensors = {"span.weight": stored_tensors.read("span.weight").T, "span.bias": stored_tensors.read("span.bias")}
    tensors |= {
        "answerable.weight": stored_tensors.read("answerable.weight")[None],
        "answerable.bias": stored_tensors.read("answerable.bias").reshape(1),
    }
    for number in range(model.low_layer_count):  # the file holds each B already multiplied by ADAPTER_SCALE
        for stored_name, names in linear_names.items():
            for index, name in enumerate(names):
                adapter = f"base.{number}.{stored_name}.{index}"
                tensors[f"updates.{number}.{name}.A"] = stored_tensors.read(f"{adapter}.A").T
                tensors[f"updates.{number}.{name}.B"] = stored_tensors.read(f"{adapter}.B").T / ADAPTER_SCALE
    for number in range(len(model.tower)):
        for stored_name, names in linear_names.items():
            weights = stored_tensors.read_weight(f"tower.{number}.{stored_name}").chunk(len(names))
            biases = stored_tensors.read(f"tower.{number}.{stored_name}.bias").chunk(len(names))
            for name, value, bias in zip(names, weights, biases, strict=True):
                tensors |= {f"tower.{number}.{name}.weight": value, f"tower.{number}.{name}.bias": bias}
        for stored_name, name in {"norm1": "attended_norm", "norm2": "outer_norm"}.items():
            tensors[f"tower.{number}.{name}.weight"] = stored_tensors.read(f"tower.{number}.{stored_name}.gamma")
            tensors[f"tower.{number}.{name}.bias"] = stored_tensors.read(f"tower.{number}.{stored_name}.beta")
    return {name: value.contiguous() for name, value in tensors.items()}


def load_reader_weights(model: TwoTowers, file: Path) -> TwoTowers:
    """Load the reader's own weights from `file` (.safetensors, or an exported .onnx) into `model`, and return it.

    Instead of these weights, a .safetensors file can hold low-rank adapters (A, B) of all layers and a span head. The
    adapters of the low layers are copied; those of the other layers are merged into the weights of the reader's own
    layers. Such a file has no answerability head, so this head is made from the span head.
    """
    weights = read_export(model, file) if file.suffix == ".onnx" else load_file(file)
    if any(name.endswith(".A.weight") for name in weights):
        with torch.no_grad():
            for number in range(model.low_layer_count):
                for bert_name, name in LINEAR_NAMES.items():
                    for side in ("A", "B"):
                        low_rank_matrix = model.updates[number].get_submodule(name).get_parameter(side)
                        low_rank_matrix.copy_(weights[f"enc.encoder.layer.{number}.{bert_name}.{side}.weight"])
            for number, layer in enumerate(model.tower, start=model.low_layer_count):
                for bert_name, name in LINEAR_NAMES.items():
                    prefix = f"enc.encoder.layer.{number}.{bert_name}"
                    update = weights[f"{prefix}.B.weight"] @ weights[f"{prefix}.A.weight"]
                    layer.get_submodule(name).weight.add_(ADAPTER_SCALE * update)
            model.span.weight.copy_(weights["span.weight"])
            model.span.bias.copy_(weights["span.bias"])
            # The higher the span logits of the first token, the less likely it is that the text holds an answer.
            model.answerable.weight.copy_(-(weights["span.weight"].sum(0, keepdim=True)) / 4)
            model.answerable.bias.zero_()
    else:
        unexpected_names = model.load_state_dict(weights, strict=False).unexpected_keys
        if unexpected_names:
            raise ValueError(f"{file} was trained for another encoder: unexpected {unexpected_names[:3]}")
    return model
