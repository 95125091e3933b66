"""Max-margin models of structured outputs, learned in batch, with kernels."""

from skstructured.margin.networks import (
    MaxMinMarginNetwork,
    QuadraticSurrogate,
    StructuralSVM,
)

__all__ = ["MaxMinMarginNetwork", "QuadraticSurrogate", "StructuralSVM"]
