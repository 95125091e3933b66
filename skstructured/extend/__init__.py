"""What a space, regularizer, loss, optimiser, decoder or learner of one's own derives from."""

from skstructured._base.component import Component, resolve
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import (
    Comparison,
    ExpertComparison,
    Losses,
    OnlineLearner,
    Rounds,
)
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.extend.regularizer import Regularizer
from skstructured.extend.surrogate import Surrogate

__all__ = [
    "Comparison",
    "Component",
    "Decoder",
    "ExpertComparison",
    "Geometry",
    "Losses",
    "OnlineLearner",
    "OnlineOptimizer",
    "OutputSpace",
    "Regularizer",
    "Rounds",
    "Surrogate",
    "resolve",
]
