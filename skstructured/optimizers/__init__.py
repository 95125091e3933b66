"""Online optimisers: how the weights move."""

from skstructured.base import OnlineOptimizer, resolve
from skstructured.optimizers.gradient_descent import GradientDescent

__all__ = ["GradientDescent", "OnlineOptimizer"]

OPTIMIZERS = {"ogd": GradientDescent}


def resolve_optimizer(optimizer):
    """Optimiser of a short-cut or instance; see `skstructured.base.resolve`."""
    return resolve("optimizer", optimizer, OPTIMIZERS, OnlineOptimizer)
