"""The embedded encoder: its file, its tokens, its embeddings."""

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quorum.models.embedded import FOLDER, get_encoder_name, get_weights_hash, read_manifest
from quorum.models.embedded.embeddings import RECENT_VECTORS, EmbeddedEmbeddings, embed_without_memory
from quorum.models.embedded.encoder import MAX_EMBEDDED_TOKENS, get_encoder

ROOT = Path(__file__).parents[3]

# Ids from the base model's published tokenizer. A special token that is written in a text counts as plain text.
TOKENS = [
    ("Who led the first expedition?", [2040, 2419, 1996, 2034, 5590, 1029]),
    ("Café Müller, naïve façade", [7668, 12304, 1010, 15743, 8508]),
    ("Ångström and Łódź", [17076, 15687, 1998, 17814]),
    ("e\u0301te\u0301", [3802, 2063]),
    ("東京タワーは1958年", [1879, 1755, 1709, 30262, 30265, 30198, 16147, 27814, 1840]),
    ("Tokyo(東京)タワー", [5522, 1006, 1879, 1755, 1007, 1709, 30262, 30265]),
    ("Привет мир", [1194, 16856, 10325, 25529, 15290, 22919, 1191, 10325, 16856]),
    ("हिन्दी भाषा", [1339, 29877, 29863, 29861, 29878, 1330, 29876, 29873, 29876]),
    ("각 한국어", [1455, 30006, 30020, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
    ("👩‍🚀 on the 🌕!", [100, 2006, 1996, 100, 999]),
    ("don't-stop; it's 3.5%", [2123, 1005, 1056, 1011, 2644, 1025, 2009, 1005, 1055, 1017, 1012, 1019, 1003]),
    ("$3,000–4,000 “quoted” …", [1002, 1017, 1010, 2199, 1516, 1018, 1010, 2199, 1523, 9339, 1524, 1529]),
    ("[CLS] a [SEP]", [1031, 18856, 2015, 1033, 1037, 1031, 19802, 1033]),
    ("[MASK] [PAD] [UNK]", [1031, 7308, 1033, 1031, 11687, 1033, 1031, 4895, 2243, 1033]),
    ("tab\tnew\nline\u00a0nbsp\u200bzero", [21628, 2047, 2240, 1050, 5910, 2361, 6290, 2080]),
    ("İstanbul ẞ ﬁ ǅ", [9960, 1096, 1984, 100]),
    ("\u0000nul \ufffd", [16371, 2140]),
    ("ab\u2028cd\u0085ef", [11113, 3729, 12879]),
    ("unaffable", [14477, 20961, 3468]),
    ("x" * 120, [100]),
    ("   ", []),
    ("", []),
]
WORDS = [
    "the",
    "tower",
    "stood",
    "by",
    "a",
    "river",
    "for",
    "90",
    "years",
    "until",
    "storms",
    "of",
    "1931",
    "broke",
    "it",
]


@pytest.mark.parametrize(("text", "ids"), TOKENS)
def test_tokens_are_those_of_the_base_model(text: str, ids: list[int]) -> None:
    assert get_encoder().tokenize(text).ids == ids
    assert get_encoder().count_tokens(text) == len(ids)
    # [CLS] and [SEP], which mark where the model's input and its parts begin and end
    special_tokens = {get_encoder().cls, get_encoder().sep}
    assert not special_tokens & set(ids)  # no text can contain them


def test_offsets_point_into_the_text() -> None:
    text = "Café-au-lait\u00a0cost 3½ £, said “Zoë”…\n東京 🌕 ok"
    pieces = [text[start:end] for start, end in get_encoder().tokenize(text).offsets]
    assert "".join(pieces) == "".join(text.split())
    assert pieces[:3] == ["Café", "-", "au"]


def test_the_model_file_matches_its_manifest() -> None:
    file = FOLDER / "reader.onnx"
    assert file.stat().st_size <= 32_000_000
    assert hashlib.sha256(file.read_bytes()).hexdigest() == read_manifest()["sha256"]
    assert get_weights_hash() == read_manifest()["sha256"][:12] == "43231f59aeb0"
    # Collections store this name: while it stays the same, they need not be indexed again.
    assert get_encoder_name() == "cd28d82320d8"
    assert get_encoder().tokenizer.get_vocab_size() == 30522


def draw_texts(count: int) -> list[str]:
    rng = random.Random(3)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 120))) for _ in range(count)]


def test_embeddings_are_normalised_and_in_order() -> None:
    model, texts = EmbeddedEmbeddings(), ["A bridge of iron.", "", "Jupiter's moons", "An iron bridge"]
    RECENT_VECTORS.clear()
    vectors = np.array(model.embed_documents(texts))
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert [embed_without_memory([text])[0] for text in texts] == vectors.tolist()
    assert [model.embed_query(text) for text in texts] == vectors.tolist()
    assert vectors[0] @ vectors[3] > 0.7 > 0.4 > vectors[0] @ vectors[2]
    assert model.embed_documents([]) == []


async def test_embeddings_are_the_same_on_the_event_loop() -> None:
    model = EmbeddedEmbeddings()
    RECENT_VECTORS.clear()
    assert [await model.aembed_query("a river")] == embed_without_memory(["a river"])
    RECENT_VECTORS.clear()
    assert await model.aembed_documents(["a river", "b"]) == embed_without_memory(["a river", "b"])


def test_an_embedding_does_not_depend_on_its_batch() -> None:
    texts = draw_texts(20)
    alone = np.concatenate([get_encoder().embed([text]) for text in texts])
    for other_count in (0, 1, 16):
        batch = texts + [texts[2]] * other_count
        order = random.Random(other_count).sample(range(len(batch)), len(batch))
        together = get_encoder().embed([batch[index] for index in order])
        for index, vector in zip(order, together, strict=True):
            assert np.array_equal(vector, alone[index if index < len(texts) else 2])


def test_only_the_first_tokens_of_a_text_are_embedded() -> None:
    word, max_words = "river ", MAX_EMBEDDED_TOKENS - 2  # one token for each word, and two special tokens
    longest, too_long = get_encoder().embed([word * max_words, word * (max_words + 50)])
    assert np.array_equal(longest, too_long)
    assert not np.array_equal(longest, get_encoder().embed([word * (max_words - 1)])[0])


def run_script(script: str) -> str:
    """What a new process prints when it runs the script."""
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", script]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.mark.long  # a process that loads its models
def test_the_encoder_runs_without_torch_or_transformers_and_the_event_loop_opens_no_file() -> None:
    script = """
import asyncio, sys, threading
from langchain_core.messages import HumanMessage
from quorum.models.embedded.chat import EmbeddedReader
from quorum.prompts.post_fusion import ANSWER
inputs = {"question": "Where was Joseph Haydn born?",
          "passages": [{"id": "h", "title": "Joseph Haydn", "text": "Joseph Haydn was born in Rohrau in 1732."}]}
message = HumanMessage("ask", additional_kwargs={"quorum": {"prompt": "answer", "inputs": inputs}})
opened_files, is_watching = [], threading.Event()

def watch(event, args):
    if event == "open" and is_watching.is_set() and threading.current_thread() is threading.main_thread():
        opened_files.append(args[0])

async def main():
    model = await asyncio.to_thread(EmbeddedReader)
    is_watching.set()
    reply = await model.ainvoke([message])
    is_watching.clear()
    return reply.text

sys.addaudithook(watch)
answer = asyncio.run(main())
from quorum.models.embedded.embeddings import EmbeddedEmbeddings
EmbeddedEmbeddings().embed_query("a")
unwanted = {"torch", "transformers", "onnx", "safetensors"} & set(sys.modules)
opened = [name for name in opened_files if not str(name).endswith((".py", ".pyc"))]
print("Rohrau" in answer, sorted(unwanted), opened)
"""
    assert run_script(script) == "True [] []"
