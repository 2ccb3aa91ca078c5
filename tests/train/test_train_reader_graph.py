"""The command `training.reader_graph` rewrites an older export of the reader as a graph with two branches, one
for embedding and one for reading, and all outputs stay the same.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from quorum.core.errors import SetupError
from training import reader_graph

WIDTH = 4
OUTPUT_SHAPES = {
    "embedding": ["batch", WIDTH],
    "span": ["batch", WIDTH],
    "answerable": ["batch"],
    "hidden": ["batch", WIDTH],
}


def make_model_without_branches() -> onnx.ModelProto:
    """A small model with the structure of older exports: each run computes all outputs, and layer norms are fused."""
    rng = np.random.default_rng(0)
    constants = [
        numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
        for name, shape in (("shared", (WIDTH, WIDTH)), ("upper", (WIDTH, WIDTH)), ("gamma", WIDTH), ("beta", WIDTH))
    ]
    constants.append(numpy_helper.from_array(np.array([1]), "last_axis"))
    norm_attributes = {"domain": "com.microsoft", "epsilon": 1e-6}
    nodes = [
        helper.make_node("Cast", ["ids"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "shared"], ["y"]),
        helper.make_node("SkipLayerNormalization", ["y", "x", "gamma", "beta"], ["low"], **norm_attributes),
        helper.make_node("Identity", ["low"], ["embedding"]),
        helper.make_node("MatMul", ["low", "upper"], ["z"]),
        helper.make_node("SkipLayerNormalization", ["z", "low", "gamma", "beta"], ["top"], **norm_attributes),
        helper.make_node("Identity", ["top"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["span"]),
        helper.make_node("ReduceSum", ["hidden", "last_axis"], ["answerable"], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", WIDTH])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in OUTPUT_SHAPES.items()]
    graph = helper.make_graph(nodes, "reader", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the model of an older export and its manifest, reader.json."""
    onnx.save(make_model_without_branches(), tmp_path / "reader.onnx")
    digest = hashlib.sha256((tmp_path / "reader.onnx").read_bytes()).hexdigest()
    manifest = {"sha256": digest, "calibration": {"window": 256}}
    (tmp_path / "reader.json").write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path


def run_model(file: Path, output_names: list[str], **inputs: np.ndarray) -> list[np.ndarray]:  # type: ignore[type-arg]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return list(session.run(output_names, {"ids": np.arange(12).reshape(3, WIDTH), **inputs}))


def test_both_branches_compute_what_the_older_graph_did(folder: Path) -> None:
    manifest_before = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    expected = dict(zip(OUTPUT_SHAPES, run_model(folder / "reader.onnx", list(OUTPUT_SHAPES)), strict=True))
    reader_graph.main(["--folder", str(folder)])
    for embeds, names in ((True, reader_graph.EMBEDDING), (False, reader_graph.READING)):
        outputs = run_model(folder / "reader.onnx", list(names), embeds=np.array(embeds))
        for name, values in zip(names, outputs, strict=True):
            assert np.allclose(values, expected[name], atol=1e-5), name
    manifest = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256((folder / "reader.onnx").read_bytes()).hexdigest()
    assert manifest["sha256"] == digest != manifest_before["sha256"]
    # the rewritten file has the same weights, so their name still comes from the older file's digest
    assert manifest["weights"] == manifest_before["sha256"][:12]
    assert manifest["calibration"] == manifest_before["calibration"]
    assert not list(folder.glob("*.part"))  # no half-written file is left


def test_a_rewritten_graph_stays_as_it_is(folder: Path) -> None:
    reader_graph.main(["--folder", str(folder)])
    rewritten_bytes = (folder / "reader.onnx").read_bytes()
    reader_graph.main(["--folder", str(folder)])
    assert (folder / "reader.onnx").read_bytes() == rewritten_bytes


def test_a_manifest_of_another_file_is_refused(folder: Path) -> None:
    (folder / "reader.onnx").write_bytes((folder / "reader.onnx").read_bytes() + b"\0")
    with pytest.raises(SetupError, match=r"belongs to another reader.onnx"):
        reader_graph.main(["--folder", str(folder)])
