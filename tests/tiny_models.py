"""Tiny random encoders in the layouts in which the real ones are published, written to a folder."""

import json
from pathlib import Path
from typing import Any

WORDS = "the river rhine danube volga basel vienna kazan flows through which a tiger hunts deer in forest query passage"
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused0]",
    "[unused1]",
    *WORDS.split(),
    ".",
    ",",
    "?",
    ":",
]
SIZES: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}


def write_tokenizer(folder: Path) -> None:
    from transformers import BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)


def write_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT encoder as transformers saves it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    BertModel(BertConfig(**SIZES)).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def write_cross_encoder(folder: Path, labels: int = 1, seed: int = 0) -> Path:
    """A BERT that gives a pair of texts `labels` numbers."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    BertForSequenceClassification(BertConfig(**SIZES, num_labels=labels)).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def write_dpr(folder: Path, for_passages: bool, seed: int = 0) -> Path:
    """A DPR encoder in its own layout: the encoder of passages, or that of questions."""
    import torch
    from transformers import DPRConfig, DPRContextEncoder, DPRQuestionEncoder

    torch.manual_seed(seed)
    encoder_class = DPRContextEncoder if for_passages else DPRQuestionEncoder
    encoder_class(DPRConfig(**SIZES)).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def write_colbert(folder: Path, seed: int = 0, dimension: int = 16) -> Path:
    """A late-interaction encoder in Stanford's layout: BERT and a linear projection in one file of weights."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    config = BertConfig(**SIZES)
    weights = {f"bert.{name}": value.contiguous() for name, value in BertModel(config).state_dict().items()}
    weights["linear.weight"] = torch.randn(dimension, config.hidden_size)
    write_tokenizer(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"architectures": ["HF_ColBERT"]}))
    (folder / "artifact.metadata").write_text(json.dumps({"query_maxlen": 12, "doc_maxlen": 40}))
    return folder
