"""Online optimizers: the updates of the weights."""

from skstructured._base.component import resolve
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.optimizers.adaptive import AdaptiveGradientDescent
from skstructured.optimizers.coin_betting import ParameterFree
from skstructured.optimizers.gradient_descent import GradientDescent
from skstructured.optimizers.pistol import CoordinatePiSTOL, PiSTOL
from skstructured.optimizers.step_mixture import StepMixture

__all__ = [
    "AdaptiveGradientDescent",
    "CoordinatePiSTOL",
    "GradientDescent",
    "OnlineOptimizer",
    "ParameterFree",
    "PiSTOL",
    "StepMixture",
]

OPTIMIZERS = {**StepMixture.single_optimizers, "mixture": StepMixture}


def resolve_optimizer(optimizer):
    """Optimizer of a short name or instance; see `skstructured._base.component.resolve`."""
    return resolve("optimizer", optimizer, OPTIMIZERS, OnlineOptimizer)
