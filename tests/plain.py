"""Learners of the papers: one pass in order over rows as they are, the last weights."""

import inspect

import skstructured as sk

AS_THEY_COME = {
    "average": False,
    "standardize": False,
    "max_iter": 1,
    "tol": None,
    "shuffle": False,
}


def _plain(kind, defaults, given, named):
    names = list(inspect.signature(kind).parameters)
    return kind(**(defaults | dict(zip(names, given, strict=False)) | named))


def predictor(*given, **named):
    """`OnlineStructuredPredictor` of Theorem 4.2: gradient descent."""
    model = _plain(sk.OnlineStructuredPredictor, AS_THEY_COME | {"optimizer": "ogd"}, given, named)
    if isinstance(model.space, str) and model.space == "ordinal" and model.regularizer is None:
        model.regularizer = "squared"
    return model


def gaptron(*given, **named):
    """`GaptronClassifier` of Algorithm 1."""
    return _plain(sk.GaptronClassifier, AS_THEY_COME | {"loss": "logistic"}, given, named)


def perceptron(*given, **named):
    """`MulticlassPerceptron`, the last weights."""
    return _plain(sk.MulticlassPerceptron, AS_THEY_COME, given, named)


def second_order(*given, **named):
    """`SecondOrderPerceptron` over rows as they are."""
    return _plain(sk.SecondOrderPerceptron, {"standardize": False, "shuffle": False}, given, named)


def bandit_gaptron(*given, **named):
    """`BanditGaptronClassifier` over rows as they are."""
    return _plain(sk.BanditGaptronClassifier, {"standardize": False}, given, named)


def banditron(*given, **named):
    """`BanditronClassifier` over rows as they are."""
    return _plain(sk.BanditronClassifier, {"standardize": False}, given, named)


def soba(*given, **named):
    """`SOBAClassifier` over rows as they are."""
    return _plain(sk.SOBAClassifier, {"standardize": False}, given, named)


def newtron(*given, **named):
    """`NewtronClassifier` over rows as they are."""
    return _plain(sk.NewtronClassifier, {"standardize": False}, given, named)


def confidit(*given, **named):
    """`ConfiditClassifier` over rows as they are."""
    return _plain(sk.ConfiditClassifier, {"standardize": False}, given, named)
