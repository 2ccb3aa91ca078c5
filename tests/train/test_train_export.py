"""From a checkpoint to the file that the product runs, on a tiny encoder."""

import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tokenizers import Tokenizer

from quorum.core.state import Passage
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.encoder import Encoder, Logits
from quorum.models.embedded.reading import Calibration
from quorum.training import base_folder, calibrate, evaluate, export, reader
from quorum.training.encoder import TwoTowers, load_base, start_from
from quorum.training.examples import EncodedExample, Example, encode
from quorum.training.shared_encoder import hash_encoder

LOW_LAYERS = 2
ExportFolder = Callable[[int], Path]


@pytest.fixture(scope="module")
def checkpoint(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader trained by the command until it can read."""
    out = tmp_path_factory.mktemp("trained") / "reader.safetensors"
    common = ["--base", str(base), "--train", str(data), "--out", str(out), "--low", str(LOW_LAYERS), "--rate", "3e-3"]
    reader.main([*common, "--steps", "250", "--length", "60"])
    return out


@pytest.fixture(scope="module")
def exported(base: Path, checkpoint: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> ExportFolder:
    """A function: number of levels of the weights (0: float weights) -> the folder of an export, laid out as the
    product's.
    """
    folders: dict[int, Path] = {}

    def folder(levels: int) -> Path:
        if levels not in folders:
            folders[levels] = out = tmp_path_factory.mktemp(f"levels{levels}")
            common = [
                "--base",
                str(base),
                "--checkpoint",
                str(checkpoint),
                "--data",
                str(data),
                "--low",
                str(LOW_LAYERS),
            ]
            export.main([*common, "--levels", str(levels), "--out", str(out / "reader.onnx")])
            words = Tokenizer.from_file(str(base / "tokenizer.json")).get_vocab()
            (out / "vocab.txt").write_text("\n".join(sorted(words, key=words.__getitem__)) + "\n", encoding="utf-8")
        return folders[levels]

    return folder


@pytest.fixture(scope="module")
def model(base: Path, checkpoint: Path) -> TwoTowers:
    return start_from(load_base(base, LOW_LAYERS), checkpoint).eval()


@pytest.fixture(scope="module")
def rows(examples: list[Example], tokenizer: Tokenizer) -> list[EncodedExample]:
    """Rows of several lengths."""
    joined = [Example(a.question, f"{a.context} {b.context} {c.context}") for a, b, c in zip(*[iter(examples)] * 3)]  # noqa: B905
    return [encode(tokenizer, example, 100) for example in [*examples[:20], *joined[:12]]]


@torch.no_grad()
def compute_by_torch(model: TwoTowers, row: EncodedExample) -> Logits:
    ids, types = torch.tensor([row.ids]), torch.tensor([row.types])
    span, answerable = model.read(ids, types, torch.ones_like(ids, dtype=torch.bool))
    return Logits(span[0, :, 0].numpy(), span[0, :, 1].numpy(), answerable.item())


@torch.no_grad()
def compute_vectors(model: TwoTowers, texts: list[str], tokenizer: Tokenizer) -> np.ndarray:
    rows = [torch.tensor([tokenizer.encode(text).ids]) for text in texts]
    return np.concatenate([model.embed(ids, torch.ones_like(ids, dtype=torch.bool)).numpy() for ids in rows])


def read_logits(encoder: Encoder, rows: list[EncodedExample]) -> list[Logits]:
    return encoder.read([row.ids for row in rows], [row.types for row in rows])


def flatten_logits(logits: list[Logits]) -> np.ndarray:
    return np.concatenate([np.concatenate([logit.start, logit.end, [logit.answerable]]) for logit in logits])


def test_a_float_export_equals_torch(
    exported: ExportFolder, model: TwoTowers, rows: list[EncodedExample], examples: list[Example], tokenizer: Tokenizer
) -> None:
    encoder = Encoder(exported(0))
    expected = [compute_by_torch(model, row) for row in rows]
    # Word vectors are int8 and positions half precision here too.
    assert np.corrcoef(flatten_logits(read_logits(encoder, rows)), flatten_logits(expected))[0, 1] > 0.9999
    texts = [example.context for example in examples[:20]]
    cosines = (encoder.embed(texts) * compute_vectors(model, texts, tokenizer)).sum(1)
    assert cosines.min() > 0.9999


@pytest.mark.parametrize("levels", [63, 127])
def test_an_int8_export_is_close_to_torch(
    levels: int,
    exported: ExportFolder,
    model: TwoTowers,
    rows: list[EncodedExample],
    examples: list[Example],
    tokenizer: Tokenizer,
) -> None:
    encoder = Encoder(exported(levels))
    outputs, expected = read_logits(encoder, rows), [compute_by_torch(model, row) for row in rows]
    assert np.corrcoef(flatten_logits(outputs), flatten_logits(expected))[0, 1] > 0.99
    agree = [a.start.argmax() == b.start.argmax() for a, b in zip(outputs, expected, strict=True)]
    assert np.mean(agree) > 0.9
    texts = [example.context for example in examples]
    # Without VNNI, products of full 8-bit weights saturate in places.
    assert (encoder.embed(texts) * compute_vectors(model, texts, tokenizer)).sum(1).mean() > (
        0.99 if levels == 63 else 0.95
    )


def are_same(logits: Logits, other_logits: Logits) -> bool:
    exact = np.array_equal(logits.start, other_logits.start) and np.array_equal(logits.end, other_logits.end)
    return exact and logits.answerable == other_logits.answerable


def test_no_output_depends_on_its_batch(
    exported: ExportFolder, rows: list[EncodedExample], examples: list[Example]
) -> None:
    encoder, rng = Encoder(exported(127)), random.Random(0)
    texts = [example.question for example in examples[:20]]
    alone = [encoder.read([row.ids], [row.types])[0] for row in rows]
    single = np.concatenate([encoder.embed([text]) for text in texts])
    for count in (2, 5, 20):
        chosen = rng.choices(range(20), k=count) + [3] * count
        assert all(
            are_same(a, alone[n]) for a, n in zip(read_logits(encoder, [rows[n] for n in chosen]), chosen, strict=True)
        )
        assert np.array_equal(encoder.embed([texts[n] for n in chosen]), single[chosen])


def test_low_layers_are_stored_once_and_folded_when_loaded(exported: ExportFolder, tmp_path: Path) -> None:
    file = exported(127) / "reader.onnx"
    stored = {tensor.name: tensor for tensor in onnx.load(file).graph.initializer}
    for number in range(LOW_LAYERS):
        for name in ("qkv", "o", "inner", "outer"):
            assert stored[f"base.{number}.{name}.weight"].data_type == onnx.TensorProto.INT8
            assert stored[f"base.{number}.{name}.0.A"].data_type == onnx.TensorProto.FLOAT16
            assert f"low.{number}.{name}.weight" not in stored
    assert "tower.0.qkv.weight" in stored
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    loaded = [*find_graphs(onnx.load(tmp_path / "loaded.onnx").graph)]
    names = [tensor.name for graph in loaded for tensor in graph.initializer]
    assert not [name for name in names if name.endswith((".A", ".B"))]
    nodes = [node.op_type for graph in loaded for node in graph.node]
    products = sum(nodes.count(name) for name in ("MatMulIntegerToFloat", "DynamicQuantizeMatMul"))
    assert products == 4 * (3 + 3)  # four a layer: three layers of the encoder, three of the reader


def find_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and the branches in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from find_graphs(attribute.g)


@pytest.mark.parametrize("embeds", [True, False])
def test_a_run_computes_one_tower(embeds: bool, exported: ExportFolder, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(exported(127) / "reader.onnx", options, providers=["CPUExecutionProvider"])
    ids = np.ones((2, 16), np.int64)
    outputs = ["embedding"] if embeds else ["span", "answerable", "hidden"]
    session.run(outputs, {"ids": ids, "types": 0 * ids, "mask": ids, "embeds": np.array(embeds)})
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    computed = [event["args"]["op_name"] for event in events if event["name"].endswith("_kernel_time")]
    assert computed.count("MultiHeadAttention") == 3  # of 3 + 3 layers


def measure_accuracy(encoder: Encoder, records: list[dict[str, Any]]) -> float:
    known = [record for record in records if record["answers"]]
    jobs = [Job(r["question"], [Passage(id="p", title="", text=r["context"])]) for r in known]
    calibration = Calibration.from_manifest(read_manifest())
    spans = [result.reading.spans[0].text for result in read_jobs(jobs, encoder, calibration)]
    return float(np.mean([text == r["answers"][0]["text"] for text, r in zip(spans, known, strict=True)]))


def test_the_product_reads_with_the_exported_model(exported: ExportFolder, records: list[dict[str, Any]]) -> None:
    encoder = Encoder(exported(127))
    assert measure_accuracy(encoder, records) > 0.8
    passages = [Passage(id=r["id"], title="Towns", text=r["context"]) for r in records]
    (result,) = read_jobs([Job(records[0]["question"], passages)], encoder, Calibration.from_manifest(read_manifest()))
    assert len(result.windows) > 2
    for span in result.reading.spans:
        assert passages[span.passage]["text"][span.start : span.end] == span.text


def test_an_export_is_calibrated_and_evaluated(
    exported: ExportFolder, data: Path, negatives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = exported(127)
    calibrate.main(["--folder", str(folder), "--data", str(data), "--negatives", str(negatives)])
    manifest = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    calibration = Calibration.from_manifest(manifest)
    assert 0 < calibration.threshold_one_passage < 1
    assert 0 < calibration.threshold_several_passages < 1
    assert calibration.margin > 0
    capsys.readouterr()
    evaluate.main(["--folder", str(folder), "--reading", str(data)])
    figures = json.loads(capsys.readouterr().out)["reading"]
    assert figures["em"] > 0.8
    assert figures["em"] <= figures["f1"] <= 1
    assert figures["n"] + figures["n_unanswerable"] == len(data.read_text(encoding="utf-8").splitlines())


def test_an_export_that_fails_leaves_the_old_file(base: Path, checkpoint: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "reader.onnx").write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="trained for another encoder"):
        export.export(base, checkpoint, data, tmp_path / "reader.onnx", low=LOW_LAYERS - 1)
    assert (tmp_path / "reader.onnx").read_text(encoding="utf-8") == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_more_levels_lose_less(exported: ExportFolder, model: TwoTowers, rows: list[EncodedExample]) -> None:
    expected = flatten_logits([compute_by_torch(model, row) for row in rows])
    losses = [
        float(np.abs(flatten_logits(read_logits(Encoder(exported(levels)), rows)) - expected).mean())
        for levels in (7, 63, 0)
    ]
    assert all(more > less for more, less in pairwise(losses))


def test_training_goes_on_from_an_exported_file_alone(
    base: Path, exported: ExportFolder, data: Path, tmp_path: Path, examples: list[Example], tokenizer: Tokenizer
) -> None:
    """The folder of the base is written from the file; exported again, the encoder has the same integers."""
    source = exported(63)
    base_folder.write_base_folder(source, tmp_path / "base", heads=4)
    original, rebuilt = load_base(base, LOW_LAYERS), load_base(tmp_path / "base", LOW_LAYERS)
    assert rebuilt.config == {name: original.config[name] for name in rebuilt.config}
    words = [Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab() for folder in (base, tmp_path / "base")]
    assert words[0] == words[1]
    ids, _, mask = reader.pad([encode(tokenizer, example, 60) for example in examples[:16]])
    similarities = (original.eval().embed(ids, mask) * rebuilt.eval().embed(ids, mask)).sum(1)
    assert similarities.min() > 0.99
    assert similarities.max() < 1  # what int8 rounded stays rounded
    checkpoint, again = tmp_path / "reader.safetensors", tmp_path / "reader.onnx"
    common = ["--base", str(tmp_path / "base"), "--low", str(LOW_LAYERS)]
    reader.main(
        [*common, "--train", str(data), "--init", str(source / "reader.onnx"), "--steps", "2", "--out", str(checkpoint)]
    )
    export.main([*common, "--checkpoint", str(checkpoint), "--data", str(data), "--levels", "63", "--out", str(again)])
    before, after = (read_integers(file) for file in (source / "reader.onnx", again))
    assert before
    assert all(np.array_equal(values, after[name]) for name, values in before.items())


def read_integers(file: Path) -> dict[str, np.ndarray[Any, np.dtype[np.int8]]]:
    """The int8 weights of the sentence encoder in an exported file."""
    tensors = {item.name: onnx.numpy_helper.to_array(item) for item in onnx.load(file).graph.initializer}
    return {
        name: values
        for name, values in tensors.items()
        if values.dtype == np.int8 and (name == "words" or (name.startswith("base.") and name.endswith(".weight")))
    }


def test_an_export_may_keep_the_sentence_encoder_of_another_file(
    base: Path, exported: ExportFolder, data: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """After more training, the reader has changed and every vector is the same."""
    source, out = exported(63), tmp_path / "out"
    base_folder.write_base_folder(source, tmp_path / "base", heads=4)
    out.mkdir()
    common = ["--base", str(tmp_path / "base"), "--low", str(LOW_LAYERS)]
    trained = tmp_path / "reader.safetensors"
    reader.main(
        [
            *common,
            "--train",
            str(data),
            "--init",
            str(checkpoint),
            "--steps",
            "20",
            "--rate",
            "1e-3",
            "--out",
            str(trained),
        ]
    )
    options = ["--checkpoint", str(trained), "--data", str(data), "--levels", "63", "--out", str(out / "reader.onnx")]
    export.main([*common, *options, "--encoder-of", str(source / "reader.onnx")])
    assert hash_encoder(out / "reader.onnx") == hash_encoder(source / "reader.onnx")
    (out / "vocab.txt").write_bytes((source / "vocab.txt").read_bytes())
    before, after = Encoder(source), Encoder(out)
    texts = ["Ada lives in Rome.", "Where does Ada live?", "Rome"]
    assert np.array_equal(before.embed(texts), after.embed(texts))
    ids = [before.tokens("Where does Ada live? Ada lives in Rome.").ids]
    types = [[0] * 5 + [1] * (len(ids[0]) - 5)]
    assert not np.array_equal(before.read(ids, types)[0].start, after.read(ids, types)[0].start)


def test_another_encoder_cannot_be_kept(
    base: Path, exported: ExportFolder, data: Path, checkpoint: Path, tmp_path: Path
) -> None:
    common = ["--base", str(base), "--low", str(LOW_LAYERS), "--checkpoint", str(checkpoint), "--data", str(data)]
    with pytest.raises(ValueError, match=r"base\.0\.qkv\.weight differs"):
        export.main(
            [
                *common,
                "--levels",
                "127",
                "--out",
                str(tmp_path / "r.onnx"),
                "--encoder-of",
                str(exported(63) / "reader.onnx"),
            ]
        )
    assert not list(tmp_path.iterdir())
