"""Online logistic regression, second order: matrices over all weights, one pass, no scaling."""

from skstructured.estimators.logistic.folklore import AioliClassifier, FolkloreClassifier
from skstructured.estimators.logistic.gaussian import GaussianAggregatingForecaster
from skstructured.estimators.logistic.newton import OnlineNewtonClassifier
from skstructured.estimators.logistic.particles import AggregatingForecaster

__all__ = [
    "AggregatingForecaster",
    "AioliClassifier",
    "FolkloreClassifier",
    "GaussianAggregatingForecaster",
    "OnlineNewtonClassifier",
]
