"""Sets of outputs that hold the true one with a chosen probability."""

from skstructured.conformal.prediction_sets import PredictionSets

__all__ = ["PredictionSets"]
