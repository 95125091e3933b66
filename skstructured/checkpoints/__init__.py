"""Checkpoints: a fitted estimator in a file that is whole at any moment, and runs no code."""

from skstructured.checkpoints.files import load_checkpoint, save_checkpoint

__all__ = ["load_checkpoint", "save_checkpoint"]
