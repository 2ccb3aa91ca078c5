"""Write the sentence encoder of an exported reader as a folder: python -m quorum.training.base_folder --help.

Training can continue from the shipped file alone: the folder holds what `quorum.training.reader --base` needs
(config.json, model.safetensors, tokenizer.json). Its weights are those of the file, rounded to int8. Another export
gives the same integers.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from quorum.models.embedded import FOLDER

ATTENTION_HEADS = 12  # of all-MiniLM-L6-v2; the file does not hold the number


def read_base(file: Path) -> tuple[dict[str, Tensor], dict[str, int]]:
    """The weights of the sentence encoder in `file`, by BERT's names, and its sizes."""
    stored = {item.name: numpy_helper.to_array(item) for item in onnx.load(file).graph.initializer}

    def tensor(values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values.astype(np.float32)))

    def weight(name: str) -> NDArray[np.float32]:  # stored (in, out), a scale for each output
        scales = stored.get(f"{name}.scales", np.float32(1))
        product: NDArray[np.float32] = (stored[f"{name}.weight"].astype(np.float32) * scales).T
        return product

    weights = {
        "embeddings.word_embeddings.weight": tensor(stored["words"].astype(np.float32) * stored["words.scales"]),
        "embeddings.position_embeddings.weight": tensor(stored["positions"]),
        "embeddings.token_type_embeddings.weight": tensor(stored["segments"]),
        "embeddings.LayerNorm.weight": tensor(stored["embedded.gamma"]),
        "embeddings.LayerNorm.bias": tensor(stored["embedded.beta"]),
    }
    depth = 0
    while f"base.{depth}.qkv.bias" in stored:
        ours, theirs = f"base.{depth}", f"encoder.layer.{depth}"
        joined, biases = np.split(weight(f"{ours}.qkv"), 3), np.split(stored[f"{ours}.qkv.bias"], 3)
        for name, values, bias in zip(("query", "key", "value"), joined, biases, strict=True):
            weights[f"{theirs}.attention.self.{name}.weight"] = tensor(values)
            weights[f"{theirs}.attention.self.{name}.bias"] = tensor(bias)
        for short, name in {"o": "attention.output", "inner": "intermediate", "outer": "output"}.items():
            weights[f"{theirs}.{name}.dense.weight"] = tensor(weight(f"{ours}.{short}"))
            weights[f"{theirs}.{name}.dense.bias"] = tensor(stored[f"{ours}.{short}.bias"])
        for short, name in {"norm1": "attention.output", "norm2": "output"}.items():
            weights[f"{theirs}.{name}.LayerNorm.weight"] = tensor(stored[f"{ours}.{short}.gamma"])
            weights[f"{theirs}.{name}.LayerNorm.bias"] = tensor(stored[f"{ours}.{short}.beta"])
        depth += 1
    sizes = {
        "vocab_size": len(stored["words"]),
        "max_position_embeddings": len(stored["positions"]),
        "type_vocab_size": len(stored["segments"]),
        "hidden_size": len(stored["embedded.gamma"]),
        "intermediate_size": len(stored["base.0.inner.bias"]),
        "num_hidden_layers": depth,
    }
    return weights, sizes


def write_base_folder(source: Path, out: Path, heads: int = ATTENTION_HEADS) -> None:
    """Write the encoder of the folder `source` (reader.onnx, vocab.txt) to the folder `out`."""
    weights, sizes = read_base(source / "reader.onnx")
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "model.safetensors")
    config = json.dumps(sizes | {"num_attention_heads": heads}, indent=2) + "\n"
    (out / "config.json").write_text(config, encoding="utf-8")
    BertWordPieceTokenizer(str(source / "vocab.txt"), lowercase=True).save(str(out / "tokenizer.json"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m quorum.training.base_folder", description=__doc__)
    parser.add_argument("--source", type=Path, default=FOLDER, help="folder of the exported reader (the shipped one)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, outside the repository")
    options = parser.parse_args(arguments)
    write_base_folder(options.source, options.out)


if __name__ == "__main__":
    main()
