"""Write the sentence encoder of an exported reader as a folder: python -m training.base_folder --help.

So training can continue from the shipped file alone: the folder holds what `training.reader --base` needs
(config.json, model.safetensors, tokenizer.json). The weights in the folder are those of the exported file, which are
rounded to int8. If they are exported again, they give the same integers.
"""

import argparse
import json
from pathlib import Path

from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from quorum.models.embedded import FOLDER
from training.stored_tensors import StoredTensors

ATTENTION_HEADS = 12  # of all-MiniLM-L6-v2; the exported file does not hold this number


def read_base(file: Path) -> tuple[dict[str, Tensor], dict[str, int]]:
    """(weights of the sentence encoder in an exported file, by BERT's names; its sizes, as in config.json)."""
    stored_tensors = StoredTensors(file)
    weights = {
        "embeddings.word_embeddings.weight": stored_tensors.read("words") * stored_tensors.read("words.scales"),
        "embeddings.position_embeddings.weight": stored_tensors.read("positions"),
        "embeddings.token_type_embeddings.weight": stored_tensors.read("segments"),
        "embeddings.LayerNorm.weight": stored_tensors.read("embedded.gamma"),
        "embeddings.LayerNorm.bias": stored_tensors.read("embedded.beta"),
    }
    depth = 0
    while f"base.{depth}.qkv.bias" in stored_tensors:
        stored_layer, bert_layer = f"base.{depth}", f"encoder.layer.{depth}"
        qkv = (
            stored_tensors.read_weight(f"{stored_layer}.qkv").chunk(3),
            stored_tensors.read(f"{stored_layer}.qkv.bias").chunk(3),
        )
        for name, values, bias in zip(("query", "key", "value"), *qkv, strict=True):
            weights[f"{bert_layer}.attention.self.{name}.weight"] = values.contiguous()
            weights[f"{bert_layer}.attention.self.{name}.bias"] = bias.contiguous()
        for stored_part, name in {"o": "attention.output", "inner": "intermediate", "outer": "output"}.items():
            weights[f"{bert_layer}.{name}.dense.weight"] = stored_tensors.read_weight(f"{stored_layer}.{stored_part}")
            weights[f"{bert_layer}.{name}.dense.bias"] = stored_tensors.read(f"{stored_layer}.{stored_part}.bias")
        for stored_part, name in {"norm1": "attention.output", "norm2": "output"}.items():
            weights[f"{bert_layer}.{name}.LayerNorm.weight"] = stored_tensors.read(
                f"{stored_layer}.{stored_part}.gamma"
            )
            weights[f"{bert_layer}.{name}.LayerNorm.bias"] = stored_tensors.read(f"{stored_layer}.{stored_part}.beta")
        depth += 1
    sizes = {
        "vocab_size": len(stored_tensors.arrays["words"]),
        "max_position_embeddings": len(stored_tensors.arrays["positions"]),
        "type_vocab_size": len(stored_tensors.arrays["segments"]),
        "hidden_size": len(stored_tensors.arrays["embedded.gamma"]),
        "intermediate_size": len(stored_tensors.arrays["base.0.inner.bias"]),
        "num_hidden_layers": depth,
    }
    return weights, sizes


def write_base_folder(source: Path, out: Path, attention_heads: int = ATTENTION_HEADS) -> None:
    """Write the encoder of the folder `source` (reader.onnx, vocab.txt) to the folder `out`."""
    weights, sizes = read_base(source / "reader.onnx")
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "model.safetensors")
    config = json.dumps(sizes | {"num_attention_heads": attention_heads}, indent=2) + "\n"
    (out / "config.json").write_text(config, encoding="utf-8")
    BertWordPieceTokenizer(str(source / "vocab.txt"), lowercase=True).save(str(out / "tokenizer.json"))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.base_folder", description=__doc__)
    parser.add_argument(
        "--source", type=Path, default=FOLDER, help="folder of the exported reader (default: the shipped one)"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write, outside the repository")
    options = parser.parse_args(arguments)
    write_base_folder(options.source, options.out)


if __name__ == "__main__":
    main()
