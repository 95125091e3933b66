"""Base classes for custom spaces, regularizers, losses, optimizers, decoders and learners."""

import importlib
from typing import Any

from skstructured._base.component import Component, resolve
from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state  # noqa: F401
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import (
    Batch,
    Comparison,
    ExpertComparison,
    Losses,
    Model,
    OnlineLearner,
)
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
    "Model",
    "OnlineEstimator",
    "OnlineLearner",
    "OnlineOptimizer",
    "OutputSpace",
    "Regularizer",
    "Surrogate",
    "kernel",
    "new_state",
    "resolve",
]


def __getattr__(name: str) -> Any:
    """Import `OnlineEstimator` at its first use: its module imports this one."""
    if name == "OnlineEstimator":
        return importlib.import_module("skstructured._learners.online").OnlineEstimator
    raise AttributeError(f"module 'skstructured.extend' has no attribute {name!r}")
