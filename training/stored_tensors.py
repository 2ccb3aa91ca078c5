"""Reads the tensors of an exported reader (an ONNX file) as float32 tensors for PyTorch."""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor


class StoredTensors:
    """The constant tensors of an exported file. arrays: by name, in the types in which the file stores them."""

    def __init__(self, file: Path) -> None:
        self.arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(file).graph.initializer}

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def read(self, name: str) -> Tensor:
        """The stored values as float32. Values in int8 are not multiplied by their scales."""
        return torch.from_numpy(self.arrays[name].astype(np.float32))

    def read_weight(self, name: str) -> Tensor:
        """The weight of the layer `name` as float32, in the shape (outputs, inputs). The file stores it in the shape
        (inputs, outputs), usually in int8 with a scale for each output.
        """
        scales = self.arrays.get(f"{name}.scales", np.float32(1))
        return torch.from_numpy((self.arrays[f"{name}.weight"].astype(np.float32) * scales).T.copy())
