"""Online logistic regression, second order: matrices over all weights, one pass, no scaling."""

from skstructured.logistic.folklore import AioliClassifier, FolkloreClassifier
from skstructured.logistic.forecasters import (
    AggregatingForecaster,
    GaussianAggregatingForecaster,
)
from skstructured.logistic.newton import OnlineNewtonClassifier

__all__ = [
    "AggregatingForecaster",
    "AioliClassifier",
    "FolkloreClassifier",
    "GaussianAggregatingForecaster",
    "OnlineNewtonClassifier",
]
