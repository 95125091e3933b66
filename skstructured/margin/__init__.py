"""Max-margin models of structured outputs, learned in batch, with kernels."""

from skstructured.margin.networks import MaxMinMarginNetwork, StructuralSVM
from skstructured.margin.quadratic import QuadraticSurrogate

__all__ = ["MaxMinMarginNetwork", "QuadraticSurrogate", "StructuralSVM"]
