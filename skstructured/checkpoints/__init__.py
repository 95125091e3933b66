"""Models in files: checkpoints that go on learning, and exports that predict with numpy alone."""

from skstructured.checkpoints.files import load_checkpoint, save_checkpoint
from skstructured.checkpoints.plain import NumpyModel, to_numpy

__all__ = ["NumpyModel", "load_checkpoint", "save_checkpoint", "to_numpy"]
