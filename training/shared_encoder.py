"""Keeps the sentence encoder of an exported file in a new export, so that stored vectors and collections stay valid."""

import re
from hashlib import sha256
from pathlib import Path

import onnx
from onnx import numpy_helper

# The names of the tensors that embeddings are computed from: word vectors, and the layers of the base model without the
# low-rank updates that only the reader uses.
ENCODER_TENSOR = re.compile(
    r"words(\.scales)?|positions|segments|embedded\.\w+|base\.\d+\.(?!.*updated)(?!.*\.[AB]$).+"
)


def replace_encoder(model: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """Replace the tensors of the sentence encoder in `model` by those of `source`.

    The weights of the layers must be equal already. Other tensors may differ, such as the scales of the activations,
    which every export measures anew.

    Raises ValueError if the two encoders have tensors of different names or shapes, or if the weights of their layers
    differ.
    """
    source_tensors = {item.name: item for item in source.graph.initializer if ENCODER_TENSOR.fullmatch(item.name)}
    names = {item.name for item in model.graph.initializer if ENCODER_TENSOR.fullmatch(item.name)}
    if names != source_tensors.keys():
        raise ValueError(f"the encoders have different tensors: {sorted(names ^ source_tensors.keys())[:3]}")
    for item in model.graph.initializer:
        if item.name not in source_tensors:
            continue
        values, source_values = numpy_helper.to_array(item), numpy_helper.to_array(source_tensors[item.name])
        if values.shape != source_values.shape or (item.name.endswith(".weight") and (values != source_values).any()):
            raise ValueError(f"{item.name} differs; train from the base that training.base_folder writes")
        item.CopyFrom(source_tensors[item.name])


def hash_encoder(file: Path) -> str:
    """The sha256 of the encoder's tensors in an exported file."""
    digest = sha256()
    for item in sorted(onnx.load(file).graph.initializer, key=lambda item: item.name):
        if ENCODER_TENSOR.fullmatch(item.name):
            digest.update(item.name.encode() + numpy_helper.to_array(item).tobytes())
    return digest.hexdigest()
