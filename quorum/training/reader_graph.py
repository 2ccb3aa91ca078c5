"""Rewrites an exported graph so that ONNX Runtime runs it fast: python -m quorum.training.reader_graph --help

The runtime computes every node of a graph, whichever outputs a run asks for. So the two towers become the branches of
one `If`, and the input `embeds` (bool) chooses: a run computes only its own tower. Both branches use the same stored
weights, so the file does not grow. And `SkipLayerNormalization` becomes `Add` and `LayerNormalization`, because the
runtime's kernel for the fused operator takes ten times as long as the other two together (ONNX Runtime 1.31).

`quorum.training.export` calls `rewrite_graph`. The command rewrites the file of an older export. The weights stay the
same, so their name stays the same, too. It is `weights` in reader.json: the beginning of the sha256 that reader.onnx
had before its first rewrite. The files of the heads that use the reader (sentences.json, verdict.json) store this name.
Collections store the name of the sentence encoder: `embeddings` in reader.json, or the name of the weights if there is
no `embeddings`.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quorum.core.errors import SetupError

EMBEDDING, READING = ("embedding",), ("span", "answerable", "hidden")  # the outputs of each tower
TOWER_INPUT = "embeds"  # the input: True for the embedding, False for reading


def rewrite_graph(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with plain layer norms and one branch for each tower.

    A graph that already has the branches is returned unchanged.
    """
    graph = model.graph
    if any(graph_input.name == TOWER_INPUT for graph_input in graph.input):
        return model
    nodes = split_layer_norms(graph.node)
    embedding, reading = find_needed_places(nodes, EMBEDDING), find_needed_places(nodes, READING)
    shared_nodes = select_nodes(nodes, embedding & reading)
    embedding_branch = make_branch("embed", select_nodes(nodes, embedding - reading), EMBEDDING, graph.output)
    reading_branch = make_branch("read", select_nodes(nodes, reading - embedding), READING, graph.output)
    names = [output.name for output in graph.output]
    choice = helper.make_node("If", [TOWER_INPUT], names, then_branch=embedding_branch, else_branch=reading_branch)
    inputs = [*graph.input, helper.make_tensor_value_info(TOWER_INPUT, TensorProto.BOOL, [])]
    rewritten_graph = helper.make_graph([*shared_nodes, choice], graph.name, inputs, graph.output, graph.initializer)
    return helper.make_model(
        rewritten_graph,
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
        producer_name=model.producer_name,
    )


def split_layer_norms(nodes: Iterable[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes, in order, with `Add` and `LayerNormalization` in place of each `SkipLayerNormalization`."""
    new_nodes = []
    for node in nodes:
        if node.op_type != "SkipLayerNormalization":
            new_nodes.append(node)
            continue
        x, skip, gamma, beta = node.input
        epsilon = next(attribute.f for attribute in node.attribute if attribute.name == "epsilon")
        total = f"{node.output[0]}.sum"
        new_nodes.append(helper.make_node("Add", [x, skip], [total]))
        new_nodes.append(
            helper.make_node("LayerNormalization", [total, gamma, beta], [node.output[0]], axis=-1, epsilon=epsilon)
        )
    return new_nodes


def find_needed_places(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> set[int]:
    """The places of the nodes that these outputs need. The nodes are in the order in which they run."""
    values, needed = set(outputs), set()
    for place in range(len(nodes) - 1, -1, -1):
        if values.intersection(nodes[place].output):
            needed.add(place)
            values.update(nodes[place].input)
    return needed


def select_nodes(nodes: Sequence[onnx.NodeProto], places: set[int]) -> list[onnx.NodeProto]:
    """The nodes at these places, in order."""
    return [nodes[place] for place in sorted(places)]


def make_branch(
    name: str, nodes: Sequence[onnx.NodeProto], own_outputs: Sequence[str], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.GraphProto:
    """A branch of the `If`. It has all outputs, as every branch must; those of the other tower are empty."""
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    for node in copies:
        for values in (node.input, node.output):
            values[:] = [f"{name}.{value}" if value in own_outputs else value for value in values]
    for output in outputs:
        if output.name not in own_outputs:
            sizes = [size.dim_value for size in output.type.tensor_type.shape.dim]  # 0 where it varies
            empty_output = numpy_helper.from_array(np.zeros(sizes, np.float32))
            copies.append(helper.make_node("Constant", [], [f"{name}.{output.name}"], value=empty_output))
    branch_outputs = [
        helper.make_tensor_value_info(f"{name}.{output.name}", TensorProto.FLOAT, None) for output in outputs
    ]
    return helper.make_graph(copies, name, [], branch_outputs)


def rewrite_folder(folder: Path) -> None:
    """Rewrite `reader.onnx` in the folder, and its sha256 in `reader.json`; both are replaced atomically.

    Raises SetupError if the manifest belongs to another file.
    """
    file, manifest = folder / "reader.onnx", json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    content = file.read_bytes()
    if sha256(content).hexdigest() != manifest["sha256"]:
        raise SetupError(f"{folder / 'reader.json'} names another file than {file}; copy the folder whole.")
    model = rewrite_graph(onnx.load_from_string(content))
    onnx.checker.check_model(model)
    new_content = model.SerializeToString(deterministic=True)
    weights = manifest.get("weights", manifest["sha256"][:12])
    new_manifest = manifest | {"sha256": sha256(new_content).hexdigest(), "weights": weights}
    for path, data in (
        (file, new_content),
        (folder / "reader.json", (json.dumps(new_manifest, indent=2) + "\n").encode()),
    ):
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.replace(path)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m quorum.training.reader_graph",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, required=True, help="folder with reader.onnx and reader.json")
    options = parser.parse_args(arguments)
    rewrite_folder(options.folder)
    print(f"{options.folder / 'reader.onnx'}: {(options.folder / 'reader.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
