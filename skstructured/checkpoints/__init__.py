"""Models in files: checkpoints that go on learning, and exports that predict with numpy alone."""

from skstructured.checkpoints.files import load_checkpoint, save_checkpoint

__all__ = ["load_checkpoint", "save_checkpoint"]
