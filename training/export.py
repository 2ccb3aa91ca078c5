"""Export the sentence encoder and the reader, the two towers of the model, to one ONNX file:
python -m training.export --help (extra `train`).

Inputs `ids`, `types`, `mask` (batch, length) int64; outputs `embedding` (batch, hidden), `span` (batch, length, 2),
`answerable` (batch), and `hidden` (batch, length, hidden): the reader's last layer, which further heads read. The input
`embeds` (bool) chooses the tower: True computes `embedding` alone, False the other outputs (see
`training.reader_graph`).

Word vectors are int8 with one scale for each word; layers are written by `quorum.training.export`, over ranges of
activations that are measured on the examples of --data.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer

from quorum.training.export import MICROSOFT_DOMAIN, Exporter, quantise_weight, to_array
from training.activation_ranges import make_range_batches, measure_activation_ranges
from training.reader_graph import add_tower_branches
from training.shared_encoder import replace_encoder
from training.two_towers import TwoTowers, load_base, load_reader_weights


class ReaderExporter(Exporter):
    """Writes the two towers into one graph. ranges: what `measure_activation_ranges` returns."""

    def embed_tokens(self, model: TwoTowers) -> str:
        """Add the nodes that compute what `TwoTowers.embed_tokens` does, with int8 word vectors."""
        graph = self.graph
        words, scales = quantise_weight(to_array(model.words.weight).T, 127)
        quantised = graph.add_node("Gather", graph.add_constant("words", words.T), "ids")
        scale = graph.add_node("Gather", graph.add_constant("words.scales", scales[:, None]), "ids")
        word_vectors = graph.add_node("Mul", graph.add_node("Cast", quantised, to=TensorProto.FLOAT), scale)
        length = graph.add_node("Shape", "ids", start=1, end=2)
        zero = graph.add_constant("zero", np.array([0], np.int64))
        one = graph.add_constant("one", np.array([1], np.int64))
        table = graph.add_constant("positions", to_array(model.positions.weight).astype(np.float16))
        position_rows = graph.add_node("Slice", table, zero, length, zero, one)
        positions = graph.add_node("Cast", position_rows, to=TensorProto.FLOAT)
        types = graph.add_node("Gather", graph.add_constant("segments", to_array(model.types.weight)), "types")
        summed = graph.add_node("Add", graph.add_node("Add", word_vectors, types), positions)
        norm = model.embedded_norm
        gamma = graph.add_constant("embedded.gamma", to_array(norm.weight))
        beta = graph.add_constant("embedded.beta", to_array(norm.bias))
        return graph.add_node("LayerNormalization", summed, gamma, beta, axis=-1, epsilon=float(norm.eps))

    def export(self, model: TwoTowers) -> onnx.ModelProto:
        """The ONNX model of both towers, with the inputs and outputs that this module's docstring names."""
        graph = self.graph
        graph.nodes.append(helper.make_node("Cast", ["mask"], ["mask32"], to=TensorProto.INT32))
        x = self.embed_tokens(model)
        token_embeddings = x
        for number, layer in enumerate(model.base):
            x = self.add_layer(x, f"base.{number}", layer)
        # Pool with a MatMul for each text. ReduceSum would add in another order if the batch is one text, and the text
        # would get another embedding than in a larger batch.
        middle_axis = graph.add_constant("middle", np.array([1]))
        weights = graph.add_node("Unsqueeze", graph.add_node("Cast", "mask", to=TensorProto.FLOAT), middle_axis)
        total = graph.add_node("Squeeze", graph.add_node("MatMul", weights, x), middle_axis)
        mean = graph.add_node(
            "Div", total, graph.add_node("ReduceSum", weights, graph.add_constant("last", np.array([-1])), keepdims=0)
        )
        graph.nodes.append(helper.make_node("LpNormalization", [mean], ["embedding"], axis=-1, p=2))
        x = token_embeddings
        for number, updates in enumerate(model.updates):
            x = self.add_layer(x, f"base.{number}", model.base[number], updates)
        for number, layer in enumerate(model.tower):
            x = self.add_layer(x, f"tower.{number}", layer)
        graph.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
        head = graph.add_constant("span.weight", to_array(model.span.weight).T)
        logits = graph.add_node("MatMul", x, head)
        graph.nodes.append(
            helper.make_node("Add", [logits, graph.add_constant("span.bias", to_array(model.span.bias))], ["span"])
        )
        first_token = graph.add_node("Gather", x, graph.add_constant("first", np.array(0, np.int64)), axis=1)
        answerable_product = graph.add_node(
            "MatMul", first_token, graph.add_constant("answerable.weight", to_array(model.answerable.weight)[0])
        )
        bias = graph.add_constant("answerable.bias", to_array(model.answerable.bias)[0])
        graph.nodes.append(helper.make_node("Add", [answerable_product, bias], ["answerable"]))
        hidden = model.config["hidden_size"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("ids", "types", "mask")
        ]
        outputs = [
            helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", hidden]),
            helper.make_tensor_value_info("span", TensorProto.FLOAT, ["batch", "length", 2]),
            helper.make_tensor_value_info("answerable", TensorProto.FLOAT, ["batch"]),
            helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "length", hidden]),
        ]
        onnx_graph = helper.make_graph(graph.nodes, "reader", inputs, outputs, graph.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT_DOMAIN, 1)]
        return add_tower_branches(
            helper.make_model(onnx_graph, opset_imports=opsets, ir_version=10, producer_name="quorum")
        )


def export_reader(
    base: Path,
    checkpoint: Path,
    data: Path,
    out: Path,
    *,
    low_layer_count: int = 2,
    count: int = 400,
    tail: float = 0.0,
    weight_limit: int = 127,
    encoder_of: Path | None = None,
) -> None:
    """Measure activation ranges on `count` examples of `data`, quantise, and write the file `out` atomically.

    base: folder of the sentence encoder; checkpoint: the reader's weights; low_layer_count: how many of the reader's
    lowest layers use the encoder's weights with low-rank updates; tail, weight_limit: as in the command's help.
    encoder_of: an exported file whose sentence encoder is kept bit for bit; raises ValueError if `base` holds another
    encoder.
    """
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    model = load_reader_weights(load_base(base, low_layer_count), checkpoint).eval()
    ranges = measure_activation_ranges(model, *make_range_batches(tokenizer, data, count, 256), tail)
    graph = ReaderExporter(ranges, weight_limit).export(model)
    if encoder_of is not None:
        replace_encoder(graph, onnx.load(encoder_of))
    onnx.checker.check_model(graph)
    part = out.with_suffix(".part")
    onnx.save(graph, part)
    part.replace(out)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--checkpoint", type=Path, required=True, help="the weights that training.reader wrote")
    parser.add_argument(
        "--data", type=Path, required=True, help="file of examples on which to measure activation ranges"
    )
    parser.add_argument("--out", type=Path, required=True, help="the ONNX file to write")
    parser.add_argument(
        "--low",
        type=int,
        default=2,
        help="how many of the reader's lowest layers use the encoder's weights with low-rank updates; give the value "
        "that was used in training",
    )
    parser.add_argument(
        "--tail", type=float, default=0.0, help="share of extreme activations to clip at each end of a range"
    )
    parser.add_argument(
        "--weight-limit",
        type=int,
        default=127,
        help="weights are integers from -LIMIT to LIMIT (0: layers in float); 63 avoids saturation on CPUs without "
        "VNNI",
    )
    parser.add_argument(
        "--encoder-of",
        type=Path,
        help="keep the sentence encoder of this exported file bit for bit, so that collections stay as they are",
    )
    options = parser.parse_args(arguments)
    export_reader(
        options.base,
        options.checkpoint,
        options.data,
        options.out,
        low_layer_count=options.low,
        tail=options.tail,
        weight_limit=options.weight_limit,
        encoder_of=options.encoder_of,
    )
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
