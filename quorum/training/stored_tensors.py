"""The tensors of an exported reader, read back in float32."""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor


class StoredTensors:
    """The tensors in an exported file, by name."""

    def __init__(self, file: Path) -> None:
        self.arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(file).graph.initializer}

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def read(self, name: str) -> Tensor:
        return torch.from_numpy(self.arrays[name].astype(np.float32))

    def read_weight(self, name: str) -> Tensor:
        """A layer's weight as float32, (out, in). The file stores it as (in, out), usually in int8 with a scale for
        each output.
        """
        scales = self.arrays.get(f"{name}.scales", np.float32(1))
        return torch.from_numpy((self.arrays[f"{name}.weight"].astype(np.float32) * scales).T.copy())
