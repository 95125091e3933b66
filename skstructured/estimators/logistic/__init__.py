"""Online logistic regression, second order: matrices over all weights, one pass, no scaling."""

from skstructured.estimators.logistic.folklore import AioliClassifier, FolkloreClassifier
from skstructured.estimators.logistic.forecasters import (
    AggregatingForecaster,
    GaussianAggregatingForecaster,
)
from skstructured.estimators.logistic.newton import OnlineNewtonClassifier

__all__ = [
    "AggregatingForecaster",
    "AioliClassifier",
    "FolkloreClassifier",
    "GaussianAggregatingForecaster",
    "OnlineNewtonClassifier",
]
