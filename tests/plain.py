"""Learners of the papers: one pass in order over rows as they are, the last weights."""

import inspect

from skstructured import GaptronClassifier, MulticlassPerceptron, OnlineStructuredPredictor

AS_THEY_COME = {
    "average": False,
    "standardize": False,
    "max_iter": 1,
    "shuffle": False,
}


def _plain(kind, defaults, given, named):
    names = list(inspect.signature(kind).parameters)
    return kind(**(defaults | dict(zip(names, given, strict=False)) | named))


def predictor(*given, **named):
    """`OnlineStructuredPredictor` of Theorem 4.2: gradient descent."""
    return _plain(OnlineStructuredPredictor, AS_THEY_COME | {"optimizer": "ogd"}, given, named)


def gaptron(*given, **named):
    """`GaptronClassifier` of Algorithm 1."""
    return _plain(GaptronClassifier, AS_THEY_COME, given, named)


def perceptron(*given, **named):
    """`MulticlassPerceptron`, the last weights."""
    return _plain(MulticlassPerceptron, AS_THEY_COME, given, named)
