"""Models in files: checkpoints that go on learning."""

from skstructured.checkpoints.files import load_checkpoint, save_checkpoint

__all__ = ["load_checkpoint", "save_checkpoint"]
