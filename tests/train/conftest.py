"""A tiny random encoder, in a folder laid out like that of the published BERT sentence encoder from which the reader is
trained, and small data that it can learn to read.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from exported_readers import LOW_RANK_LAYER_COUNT, GetExport, list_options
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from torch import Tensor

from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out
from training import export, reader
from training.two_towers import LINEAR_NAMES

os.environ["HF_HUB_OFFLINE"] = "1"  # never ask the hub for a missing model; huggingface_hub reads it when imported
torch.set_num_threads(1)  # a model as small as this gains nothing from more threads

PEOPLE = [
    first + last for first in ("an", "be", "ca", "di", "el", "fa") for last in ("ra", "ro", "mi", "to", "lu", "no")
]
TOWNS = ["rome", "oslo", "lima", "bonn", "cork", "kiel", "nice", "york", "linz", "bari"]
VERBS = ["lives", "works", "sings", "sleeps"]
WORDS = [*PEOPLE, *TOWNS, *VERBS, "live", "work", "sing", "sleep", "where", "does", "in", "since", "##s", ".", "?", ":"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz1234567890"]
CONFIG = {
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}


def draw_weights() -> dict[str, Tensor]:
    """Random values for all tensors of a BERT encoder, under their published names."""
    torch.manual_seed(7)
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    sizes = {"word": "vocab_size", "position": "max_position_embeddings", "token_type": "type_vocab_size"}
    weights = {
        f"embeddings.{name}_embeddings.weight": torch.randn(CONFIG[size], hidden) for name, size in sizes.items()
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(CONFIG["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name in LINEAR_NAMES:
            rows = inner if name == "intermediate.dense" else hidden
            columns = inner if name == "output.dense" else hidden
            weights[f"{layer}.{name}.weight"] = torch.randn(rows, columns) / columns**0.5
            weights[f"{layer}.{name}.bias"] = torch.randn(rows) / 10
    for name in norms:
        weights[f"{name}.weight"] = 1 + torch.randn(hidden) / 10
        weights[f"{name}.bias"] = torch.randn(hidden) / 10
    return weights


def write_base(folder: Path, weights: dict[str, Tensor]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    save_file(weights, folder / "model.safetensors")
    ids = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(VOCABULARY[:5])
    ends = [(name, ids[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def weights() -> dict[str, Tensor]:
    return draw_weights()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, Tensor]) -> Path:
    """The folder of the tiny encoder."""
    return write_base(tmp_path_factory.mktemp("models") / "base", weights)


@pytest.fixture(scope="session")
def tokenizer(base: Path) -> Tokenizer:
    return Tokenizer.from_file(str(base / "tokenizer.json"))


def make_question(person: str, verb: str) -> str:
    return f"Where does {person} {verb.removesuffix('s')}?"


def make_context(person: str, verb: str) -> tuple[str, str]:
    """A passage and the town it names."""
    town = TOWNS[(PEOPLE.index(person) * 3 + VERBS.index(verb) * 7) % len(TOWNS)]
    return f"{person} {verb} in {town} since 19{PEOPLE.index(person):02}.", town


@pytest.fixture(scope="session")
def records() -> list[dict[str, Any]]:
    """Records of reading comprehension; every fifth question has a passage that does not answer it."""
    records_so_far = []
    for number, (person, verb) in enumerate((person, verb) for person in PEOPLE for verb in VERBS):
        text, town = make_context(person, verb)
        record = {"id": f"r{number}", "question": make_question(person, verb), "source": "people"}
        answers = [{"text": town, "start": text.index(town)}]
        if number % 5 == 4:
            text, answers = f"{person} and rome: {text.replace(town, 'a')}", []
        records_so_far.append(record | {"context": text, "answers": answers})
    held_out_values = {is_held_out(Example(record["question"], ""), CALIBRATION_PERCENT) for record in records_so_far}
    assert held_out_values == {True, False}  # some records are held out for calibration, and some are not
    return records_so_far


@pytest.fixture(scope="session")
def examples(records: list[dict[str, Any]]) -> list[Example]:
    """The records as examples."""
    return [
        Example(r["question"], r["context"], tuple((a["start"], a["start"] + len(a["text"])) for a in r["answers"]))
        for r in records
    ]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> Path:
    """The records of reading comprehension as a file."""
    path = tmp_path_factory.mktemp("data") / "reading.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def negatives(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> Path:
    """Five wrong passages for each question, as training.negatives writes them."""
    path = tmp_path_factory.mktemp("data") / "negatives.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            wrong_texts = [records[(number + 11 * step) % len(records)]["context"] for step in range(1, 6)]
            # " in " is replaced, because a passage with the words "in TOWN" would seem to answer the question.
            wrong_passages = [{"title": "", "text": text.replace(" in ", " a ")} for text in wrong_texts]
            line = {"id": record["id"], "question": record["question"], "negatives": wrong_passages}
            file.write(json.dumps(line) + "\n")
    return path


@pytest.fixture(scope="session")
def base_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny base models: seq2seq (t5), causal (llama, gpt2), and causal with a chat template (chat)."""
    import tiny_language_models as tiny  # imports transformers, which reads HF_HUB_OFFLINE

    folder = tmp_path_factory.mktemp("bases")
    folders = {"t5": tiny.write_t5(folder / "t5"), "llama": tiny.write_llama(folder / "llama")}
    return folders | {"chat": tiny.write_llama(folder / "chat", chat=True), "gpt2": tiny.write_gpt2(folder / "gpt2")}


@pytest.fixture(scope="session")
def checkpoint(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader trained by the command until it can read."""
    out = tmp_path_factory.mktemp("trained") / "reader.safetensors"
    reader.main(list_options(base=base, train=data, out=out, low=LOW_RANK_LAYER_COUNT, rate=3e-3, steps=250, length=60))
    return out


@pytest.fixture(scope="session")
def get_export(base: Path, checkpoint: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> GetExport:
    """A function from weight_limit to the folder of an export whose weights are integers from -weight_limit to
    weight_limit (0: float weights). The folder is laid out like quorum/models/embedded, from which Quorum loads its
    reader.
    """
    folders: dict[int, Path] = {}

    def get_folder(weight_limit: int) -> Path:
        if weight_limit not in folders:
            folders[weight_limit] = out = tmp_path_factory.mktemp(f"weight_limit{weight_limit}")
            common_options = list_options(base=base, checkpoint=checkpoint, data=data, low=LOW_RANK_LAYER_COUNT)
            export.main([*common_options, "--weight-limit", str(weight_limit), "--out", str(out / "reader.onnx")])
            token_ids = Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab()
            (out / "vocab.txt").write_text("\n".join(sorted(token_ids, key=token_ids.__getitem__)) + "\n", "utf-8")
        return folders[weight_limit]

    return get_folder
