"""Exports a checkpoint of a tiny encoder to the file that Quorum runs; compares its outputs with those of PyTorch."""

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from exported_readers import LOW_RANK_LAYER_COUNT, GetExport
from tokenizers import Tokenizer

from quorum.core.state import Passage
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.encoder import Encoder, Logits
from quorum.models.embedded.reading import Calibration
from quorum.training.examples import Example
from training import calibrate, evaluate, export
from training.examples import EncodedExample, encode_example
from training.two_towers import TwoTowers, load_base, load_reader_weights


@pytest.fixture(scope="module")
def model(base: Path, checkpoint: Path) -> TwoTowers:
    return load_reader_weights(load_base(base, LOW_RANK_LAYER_COUNT), checkpoint).eval()


@pytest.fixture(scope="module")
def encoded_examples(examples: list[Example], tokenizer: Tokenizer) -> list[EncodedExample]:
    """Examples of several lengths, as token ids."""
    joined_examples = [
        Example(a.question, f"{a.context} {b.context} {c.context}")
        for a, b, c in zip(*[iter(examples)] * 3)  # noqa: B905
    ]
    return [encode_example(tokenizer, example, 100) for example in [*examples[:20], *joined_examples[:12]]]


@torch.no_grad()
def compute_by_torch(model: TwoTowers, example: EncodedExample) -> Logits:
    ids, types = torch.tensor([example.ids]), torch.tensor([example.types])
    span, answerable = model.read(ids, types, torch.ones_like(ids, dtype=torch.bool))
    return Logits(span[0, :, 0].numpy(), span[0, :, 1].numpy(), answerable.item())


@torch.no_grad()
def compute_vectors(model: TwoTowers, texts: list[str], tokenizer: Tokenizer) -> np.ndarray:
    ids_of_texts = [torch.tensor([tokenizer.encode(text).ids]) for text in texts]
    return np.concatenate([model.embed(ids, torch.ones_like(ids, dtype=torch.bool)).numpy() for ids in ids_of_texts])


def read_logits(encoder: Encoder, encoded_examples: list[EncodedExample]) -> list[Logits]:
    return encoder.read([example.ids for example in encoded_examples], [example.types for example in encoded_examples])


def flatten_logits(logits: list[Logits]) -> np.ndarray:
    return np.concatenate([np.concatenate([logit.start, logit.end, [logit.answerable]]) for logit in logits])


def test_a_float_export_equals_torch(
    get_export: GetExport,
    model: TwoTowers,
    encoded_examples: list[EncodedExample],
    examples: list[Example],
    tokenizer: Tokenizer,
) -> None:
    encoder = Encoder(get_export(weight_limit=0))
    expected = [compute_by_torch(model, example) for example in encoded_examples]
    # Not exactly equal: even in a float export, word vectors are int8 and position vectors have half precision.
    assert np.corrcoef(flatten_logits(read_logits(encoder, encoded_examples)), flatten_logits(expected))[0, 1] > 0.9999
    texts = [example.context for example in examples[:20]]
    cosines = (encoder.embed(texts) * compute_vectors(model, texts, tokenizer)).sum(1)
    assert cosines.min() > 0.9999


@pytest.mark.parametrize("weight_limit", [63, 127])
def test_an_int8_export_is_close_to_torch(
    weight_limit: int,
    get_export: GetExport,
    model: TwoTowers,
    encoded_examples: list[EncodedExample],
    examples: list[Example],
    tokenizer: Tokenizer,
) -> None:
    encoder = Encoder(get_export(weight_limit=weight_limit))
    outputs = read_logits(encoder, encoded_examples)
    expected = [compute_by_torch(model, example) for example in encoded_examples]
    assert np.corrcoef(flatten_logits(outputs), flatten_logits(expected))[0, 1] > 0.99
    agreements = [a.start.argmax() == b.start.argmax() for a, b in zip(outputs, expected, strict=True)]
    assert np.mean(agreements) > 0.9
    texts = [example.context for example in examples]
    # On a CPU without VNNI (8-bit instructions), some sums of products with weights up to 127 overflow and are cut off.
    assert (encoder.embed(texts) * compute_vectors(model, texts, tokenizer)).sum(1).mean() > (
        0.99 if weight_limit == 63 else 0.95
    )


def are_same(logits: Logits, other_logits: Logits) -> bool:
    exact = np.array_equal(logits.start, other_logits.start) and np.array_equal(logits.end, other_logits.end)
    return exact and logits.answerable == other_logits.answerable


def test_no_output_depends_on_the_other_inputs_of_its_batch(
    get_export: GetExport, encoded_examples: list[EncodedExample], examples: list[Example]
) -> None:
    encoder, rng = Encoder(get_export(weight_limit=127)), random.Random(0)
    texts = [example.question for example in examples[:20]]
    single_logits = [encoder.read([example.ids], [example.types])[0] for example in encoded_examples]
    single_vectors = np.concatenate([encoder.embed([text]) for text in texts])
    for count in (2, 5, 20):
        numbers = rng.choices(range(20), k=count) + [3] * count
        batch_logits = read_logits(encoder, [encoded_examples[n] for n in numbers])
        assert all(are_same(logits, single_logits[n]) for logits, n in zip(batch_logits, numbers, strict=True))
        assert np.array_equal(encoder.embed([texts[n] for n in numbers]), single_vectors[numbers])


def test_the_lowest_layers_are_stored_once_and_low_rank_updates_are_added_at_load(
    get_export: GetExport, tmp_path: Path
) -> None:
    file = get_export(weight_limit=127) / "reader.onnx"
    stored_tensors = {tensor.name: tensor for tensor in onnx.load(file).graph.initializer}
    product_names = ("qkv", "o", "inner", "outer")
    for number in range(LOW_RANK_LAYER_COUNT):
        for name in product_names:
            assert stored_tensors[f"base.{number}.{name}.weight"].data_type == onnx.TensorProto.INT8
            assert stored_tensors[f"base.{number}.{name}.0.A"].data_type == onnx.TensorProto.FLOAT16
    for name in product_names:
        stored_weights = [tensor_name for tensor_name in stored_tensors if tensor_name.endswith(f".{name}.weight")]
        # all three layers of the encoder, but only those of the reader's three layers that have no low-rank updates
        assert len(stored_weights) == 3 + (3 - LOW_RANK_LAYER_COUNT)
    assert "tower.0.qkv.weight" in stored_tensors
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    loaded_graphs = [*find_graphs(onnx.load(tmp_path / "loaded.onnx").graph)]
    names = [tensor.name for graph in loaded_graphs for tensor in graph.initializer]
    assert not [name for name in names if name.endswith((".A", ".B"))]
    nodes = [node.op_type for graph in loaded_graphs for node in graph.node]
    products = sum(nodes.count(name) for name in ("MatMulIntegerToFloat", "DynamicQuantizeMatMul"))
    assert products == 4 * (3 + 3)  # four a layer: three layers of the encoder, three of the reader


def find_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph, and the graphs of the branches of its If nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from find_graphs(attribute.g)


@pytest.mark.parametrize("embeds", [True, False])
def test_an_embedding_and_a_reading_each_compute_one_tower(embeds: bool, get_export: GetExport, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(
        get_export(weight_limit=127) / "reader.onnx", options, providers=["CPUExecutionProvider"]
    )
    ids = np.ones((2, 16), np.int64)
    outputs = ["embedding"] if embeds else ["span", "answerable", "hidden"]
    session.run(outputs, {"ids": ids, "types": 0 * ids, "mask": ids, "embeds": np.array(embeds)})
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    operators = [event["args"]["op_name"] for event in events if event["name"].endswith("_kernel_time")]
    assert operators.count("MultiHeadAttention") == 3  # of 3 + 3 layers


def measure_accuracy(encoder: Encoder, records: list[dict[str, Any]]) -> float:
    """The share of answerable questions whose best span equals the first gold answer."""
    answerable_records = [record for record in records if record["answers"]]
    jobs = [Job(r["question"], [Passage(id="p", title="", text=r["context"])]) for r in answerable_records]
    calibration = Calibration.from_manifest(read_manifest())
    spans = [result.reading.spans[0].text for result in read_jobs(jobs, encoder, calibration)]
    golds = [record["answers"][0]["text"] for record in answerable_records]
    return float(np.mean([span == gold for span, gold in zip(spans, golds, strict=True)]))


def test_quorum_reads_with_the_exported_model(get_export: GetExport, records: list[dict[str, Any]]) -> None:
    encoder = Encoder(get_export(weight_limit=127))
    assert measure_accuracy(encoder, records) > 0.8
    passages = [Passage(id=r["id"], title="Towns", text=r["context"]) for r in records]
    (result,) = read_jobs([Job(records[0]["question"], passages)], encoder, Calibration.from_manifest(read_manifest()))
    assert len(result.windows) > 2
    for span in result.reading.spans:
        assert passages[span.passage]["text"][span.start : span.end] == span.text


def test_an_export_is_calibrated_and_evaluated(
    get_export: GetExport, data: Path, negatives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = get_export(weight_limit=127)
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
        export.export_reader(base, checkpoint, data, tmp_path / "reader.onnx", low_layer_count=LOW_RANK_LAYER_COUNT - 1)
    assert (tmp_path / "reader.onnx").read_text(encoding="utf-8") == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_finer_weights_bring_the_outputs_closer_to_those_of_torch(
    get_export: GetExport, model: TwoTowers, encoded_examples: list[EncodedExample]
) -> None:
    expected = flatten_logits([compute_by_torch(model, example) for example in encoded_examples])
    differences = [
        float(
            np.abs(
                flatten_logits(read_logits(Encoder(get_export(weight_limit=weight_limit)), encoded_examples)) - expected
            ).mean()
        )
        for weight_limit in (7, 63, 0)  # 0: the weights are floats
    ]
    assert all(larger > smaller for larger, smaller in pairwise(differences))
