"""Rewrites an exported graph so that ONNX Runtime runs it fast: python -m training.reader_graph --help

The graph of reader.onnx has two towers of layers: one computes sentence embeddings, the other reads. The runtime
computes every node of a graph, whichever outputs a run asks for. So the two towers become the branches of one `If`, and
the new input `embeds` (bool) chooses one of them: a run computes only the tower that it needs. The branches use the
stored weights of the old graph, so the file does not grow. And `SkipLayerNormalization` becomes `Add` and
`LayerNormalization`, because the runtime's kernel for the fused operator takes ten times as long as the other two
together (ONNX Runtime 1.31).

`quorum.training.export` calls `add_tower_branches`. The command does the same to the file of an older export. The
weights stay the same, so their name stays the same, too: the beginning of the sha256 that reader.onnx had before its
first rewrite, stored as `weights` in reader.json. The files of the heads that use the reader (sentences.json,
verdict.json) store this name. Collections store the name of the sentence encoder: `embeddings` in reader.json, or the
name of the weights if there is no `embeddings`.
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

EMBEDDING, READING = ("embedding",), ("span", "answerable", "hidden")  # the outputs of the two towers
TOWER_INPUT = "embeds"  # name of an input of the graph: True for embedding, False for reading


def add_tower_branches(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with `LayerNormalization` in place of `SkipLayerNormalization`, and one branch for each tower.

    A graph that already has the branches is returned unchanged.
    """
    graph = model.graph
    if any(graph_input.name == TOWER_INPUT for graph_input in graph.input):
        return model
    nodes = split_layer_norms(graph.node)
    embedding_places, reading_places = find_needed_places(nodes, EMBEDDING), find_needed_places(nodes, READING)
    shared_nodes = select_nodes(nodes, embedding_places & reading_places)
    embedding_nodes = select_nodes(nodes, embedding_places - reading_places)
    reading_nodes = select_nodes(nodes, reading_places - embedding_places)
    if_node = helper.make_node(
        "If",
        [TOWER_INPUT],
        [output.name for output in graph.output],
        then_branch=make_branch("embed", embedding_nodes, EMBEDDING, graph.output),
        else_branch=make_branch("read", reading_nodes, READING, graph.output),
    )
    inputs = [*graph.input, helper.make_tensor_value_info(TOWER_INPUT, TensorProto.BOOL, [])]
    rewritten_graph = helper.make_graph([*shared_nodes, if_node], graph.name, inputs, graph.output, graph.initializer)
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
        x, skip, gamma, beta = node.input  # the operator adds x and skip, then normalises the sum
        epsilon = next(attribute.f for attribute in node.attribute if attribute.name == "epsilon")
        sum_name = f"{node.output[0]}.sum"
        new_nodes.append(helper.make_node("Add", [x, skip], [sum_name]))
        new_nodes.append(
            helper.make_node("LayerNormalization", [sum_name, gamma, beta], [node.output[0]], axis=-1, epsilon=epsilon)
        )
    return new_nodes


def find_needed_places(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> set[int]:
    """The indexes in `nodes` of the nodes that the outputs with these names depend on.

    `nodes` are in the order in which they run.
    """
    needed_values, needed_places = set(outputs), set()
    for place in range(len(nodes) - 1, -1, -1):
        if needed_values.intersection(nodes[place].output):
            needed_places.add(place)
            needed_values.update(nodes[place].input)
    return needed_places


def select_nodes(nodes: Sequence[onnx.NodeProto], places: set[int]) -> list[onnx.NodeProto]:
    """The nodes at these indexes, in the order of `nodes`."""
    return [nodes[place] for place in sorted(places)]


def make_branch(
    name: str, nodes: Sequence[onnx.NodeProto], own_outputs: Sequence[str], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.GraphProto:
    """A branch of the `If`, with the nodes of one tower, whose outputs are `own_outputs`.

    Every branch must have all outputs of the graph; in this branch those of the other tower are empty arrays. Within
    the branch, an output's name begins with the name of the branch and a dot.
    """
    copied_nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    for node in copied_nodes:
        for value_names in (node.input, node.output):
            value_names[:] = [f"{name}.{value}" if value in own_outputs else value for value in value_names]
    for output in outputs:
        if output.name not in own_outputs:
            sizes = [size.dim_value for size in output.type.tensor_type.shape.dim]  # 0 if it varies
            empty_output = numpy_helper.from_array(np.zeros(sizes, np.float32))
            copied_nodes.append(helper.make_node("Constant", [], [f"{name}.{output.name}"], value=empty_output))
    branch_outputs = [
        helper.make_tensor_value_info(f"{name}.{output.name}", TensorProto.FLOAT, None) for output in outputs
    ]
    return helper.make_graph(copied_nodes, name, [], branch_outputs)


def rewrite_folder(folder: Path) -> None:
    """Rewrite `reader.onnx` in the folder, and its sha256 in `reader.json`; each file is replaced atomically.

    Raises SetupError if the sha256 in `reader.json` is not that of `reader.onnx`.
    """
    model_file, manifest_file = folder / "reader.onnx", folder / "reader.json"
    manifest = json.loads(manifest_file.read_text(encoding="utf-8"))
    content = model_file.read_bytes()
    if sha256(content).hexdigest() != manifest["sha256"]:
        raise SetupError(
            f"{manifest_file} belongs to another reader.onnx: the sha256 in it is not that of {model_file}; copy both "
            "files from the same export."
        )
    model = add_tower_branches(onnx.load_from_string(content))
    onnx.checker.check_model(model)
    new_content = model.SerializeToString(deterministic=True)
    weights = manifest.get("weights", manifest["sha256"][:12])
    new_manifest = manifest | {"sha256": sha256(new_content).hexdigest(), "weights": weights}
    for path, data in (
        (model_file, new_content),
        (manifest_file, (json.dumps(new_manifest, indent=2) + "\n").encode()),
    ):
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.replace(path)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.reader_graph",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, required=True, help="folder with reader.onnx and reader.json")
    options = parser.parse_args(arguments)
    rewrite_folder(options.folder)
    print(f"{options.folder / 'reader.onnx'}: {(options.folder / 'reader.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
