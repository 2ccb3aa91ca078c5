"""Writes layers of PyTorch as nodes of an ONNX graph, with integer weights.

Weights are int8 with one scale for each output channel. Activations are uint8 with *fixed* ranges, which were measured
before. A dynamic range would cover the whole batch, and a text's result would depend on the other texts of its batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from quorum.training.activation_ranges import ActivationRange
from quorum.training.layer import ADAPTER_SCALE, Layer, Update

MICROSOFT_DOMAIN = "com.microsoft"  # ONNX Runtime's own operators


@dataclass
class Graph:
    """An ONNX graph under construction. count: how many nodes `add_node` has added; the name of a node's output
    contains this number.
    """

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    count: int = 0

    def add_constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Store an array under a name; return the name. If the name is already stored, its array stays."""
        if any(constant.name == name for constant in self.constants):
            return name
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def add_node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: object) -> str:
        """Add a node; return the name of its output, or the names of several `outputs`, separated by spaces."""
        self.count += 1
        names = [f"v{self.count}" if number == 0 else f"v{self.count}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else " ".join(names)


def to_array(value: Tensor) -> NDArray[np.float32]:
    return value.detach().cpu().numpy().astype(np.float32)


def quantise_weight(weight: NDArray[np.float32], weight_limit: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """(in, out) weights -> int8 from -weight_limit to weight_limit, and the scale per output channel."""
    scale = np.maximum(np.abs(weight).max(0), 1e-8) / weight_limit
    return np.clip(np.round(weight / scale), -weight_limit, weight_limit).astype(np.int8), scale.astype(np.float32)


class Exporter:
    """Writes layers into one graph.

    ranges: those of their activations, by layer and point ("head.hidden"). weight_limit: layer weights are integers
    from -weight_limit to weight_limit; 0: layers in float. quantised_inputs: (tensor, its key in `ranges`) -> (the
    tensor in uint8, its scale, its zero point). Tensors are given and returned by their names in the graph.
    """

    def __init__(self, ranges: dict[str, ActivationRange], weight_limit: int) -> None:
        self.ranges, self.weight_limit = ranges, weight_limit
        self.graph = Graph()
        self.quantised_inputs: dict[tuple[str, str], tuple[str, str, str]] = {}

    def add_product(
        self, x: str, name: str, range_name: str, weight: Tensor, bias: Tensor, updates: Sequence[Update] = ()
    ) -> str:
        """Add x W + b with 8-bit operands and a float result; all in float if `weight_limit` is 0. name: how the names
        of its stored arrays begin; range_name: the key of x in `self.ranges`; updates: the low-rank changes of W, one
        for each linear layer whose weights W joins (query, key and value, or a single layer).
        """
        graph = self.graph
        if not self.weight_limit:
            if updates:
                weight, name = weight + torch.cat([update() for update in updates]), f"{name}.updated"
            product = graph.add_node("MatMul", x, graph.add_constant(f"{name}.weight", to_array(weight).T))
            return graph.add_node("Add", product, graph.add_constant(f"{name}.bias", to_array(bias)))
        scale, zero_point = self.ranges[range_name].compute_scale()
        if (x, range_name) not in self.quantised_inputs:
            scale_name = graph.add_constant(f"{range_name}.scale", np.array(scale, np.float32))
            zero_name = graph.add_constant(f"{range_name}.zero", np.array(zero_point, np.uint8))
            quantised = graph.add_node("QuantizeLinear", x, scale_name, zero_name)
            self.quantised_inputs[x, range_name] = (quantised, scale_name, zero_name)
        quantised, scale_name, zero_name = self.quantised_inputs[x, range_name]
        values, scales = quantise_weight(to_array(weight).T, self.weight_limit)
        weight_constant = graph.add_constant(f"{name}.weight", values)
        scales_constant = graph.add_constant(f"{name}.scales", scales)
        if updates:
            weight_constant, scales_constant = self.add_updates(weight_constant, scales_constant, name, weight, updates)
        zeros = graph.add_constant(f"zeros.{values.shape[1]}", np.zeros(values.shape[1], np.int8))
        inputs = (
            quantised,
            weight_constant,
            scale_name,
            scales_constant,
            zero_name,
            zeros,
            graph.add_constant(f"{name}.bias", to_array(bias)),
        )
        return graph.add_node("MatMulIntegerToFloat", *inputs, domain=MICROSOFT_DOMAIN)

    def add_updates(
        self, stored_weight: str, scales: str, name: str, weight: Tensor, updates: Sequence[Update]
    ) -> tuple[str, str]:
        """Add the nodes that compute the stored weight plus its low-rank updates; return the int8 sum and its scales.

        ONNX Runtime computes the sum once, when it loads the file. stored_weight, scales: the int8 weight in the graph
        and its scales; weight: the same weight in float.
        """
        graph = self.graph
        products = []
        for number, update in enumerate(updates):
            halves = {"A": to_array(update.A), "B": to_array(ADAPTER_SCALE * update.B)}
            matrices = [
                graph.add_constant(f"{name}.{number}.{side}", part.T.astype(np.float16))
                for side, part in halves.items()
            ]
            products.append(
                graph.add_node("MatMul", *(graph.add_node("Cast", matrix, to=TensorProto.FLOAT) for matrix in matrices))
            )
        update_product = graph.add_node("Concat", *products, axis=1) if len(products) > 1 else products[0]
        base_weight = graph.add_node("Mul", graph.add_node("Cast", stored_weight, to=TensorProto.FLOAT), scales)
        full_weight = to_array(weight + torch.cat([update() for update in updates])).T
        new_scales = graph.add_constant(f"{name}.updated.scales", quantise_weight(full_weight, self.weight_limit)[1])
        steps = graph.add_node(
            "Round", graph.add_node("Div", graph.add_node("Add", base_weight, update_product), new_scales)
        )
        limits = [
            graph.add_constant(f"limit.{sign}", np.array(sign * self.weight_limit, np.float32)) for sign in (-1, 1)
        ]
        return graph.add_node("Cast", graph.add_node("Clip", steps, *limits), to=TensorProto.INT8), new_scales

    def add_norm(self, x: str, skip: str, name: str, norm: torch.nn.LayerNorm) -> str:
        """Add the layer norm of x + skip."""
        gamma = self.graph.add_constant(f"{name}.gamma", to_array(norm.weight))
        beta = self.graph.add_constant(f"{name}.beta", to_array(norm.bias))
        total = self.graph.add_node("Add", x, skip)
        return self.graph.add_node("LayerNormalization", total, gamma, beta, axis=-1, epsilon=float(norm.eps))

    def add_layer(self, x: str, name: str, layer: Layer, updates: nn.ModuleDict | None = None) -> str:
        """Add a layer. With `updates`, it is a low layer of the reader: the encoder's layer plus the updates."""
        graph, range_prefix = self.graph, name if updates is None else name.replace("base", "low")

        def select_updates(*names: str) -> list[Update]:
            return [] if updates is None else [updates[part] for part in names]

        weight = torch.cat([layer.query.weight, layer.key.weight, layer.value.weight])
        bias = torch.cat([layer.query.bias, layer.key.bias, layer.value.bias])
        qkv = self.add_product(
            x, f"{name}.qkv", f"{range_prefix}.hidden", weight, bias, select_updates("query", "key", "value")
        )
        query, key, value = graph.add_node("Split", qkv, outputs=3, axis=-1, num_outputs=3).split()
        attention_output = graph.add_node(
            "MultiHeadAttention", query, key, value, "", "mask32", domain=MICROSOFT_DOMAIN, num_heads=layer.heads
        )
        linear = layer.attended
        out = self.add_product(
            attention_output,
            f"{name}.o",
            f"{range_prefix}.attended",
            linear.weight,
            linear.bias,
            select_updates("attended"),
        )
        x = self.add_norm(out, x, f"{name}.norm1", layer.attended_norm)
        linear = layer.inner
        inner = self.add_product(
            x, f"{name}.inner", f"{range_prefix}.normed", linear.weight, linear.bias, select_updates("inner")
        )
        inner, linear = graph.add_node("Gelu", inner, domain=MICROSOFT_DOMAIN), layer.outer
        out = self.add_product(
            inner, f"{name}.outer", f"{range_prefix}.inner", linear.weight, linear.bias, select_updates("outer")
        )
        return self.add_norm(out, x, f"{name}.norm2", layer.outer_norm)
