"""Base classes for custom spaces, regularizers, losses, optimizers, decoders and learners."""

from skstructured._base.component import Component, resolve
from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state  # noqa: F401
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison, ExpertComparison, Losses, OnlineLearner
from skstructured.extend.optimizer import CoordinateOptimizer, OnlineOptimizer
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.extend.surrogate import ORACLES, Oracle, Regularizer, Surrogate  # noqa: F401

__all__ = [
    "Batch",
    "Comparison",
    "Component",
    "CoordinateOptimizer",
    "Decoder",
    "ExpertComparison",
    "Geometry",
    "Losses",
    "OnlineLearner",
    "OnlineOptimizer",
    "OutputSpace",
    "Regularizer",
    "Surrogate",
    "kernel",
    "new_state",
    "resolve",
]
