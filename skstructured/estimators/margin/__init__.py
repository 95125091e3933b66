"""Max-margin models of structured outputs, learned in batch, with kernels."""

from skstructured.estimators.margin.networks import MaxMinMarginNetwork, StructuralSVM
from skstructured.estimators.margin.quadratic import QuadraticSurrogate

__all__ = ["MaxMinMarginNetwork", "QuadraticSurrogate", "StructuralSVM"]
