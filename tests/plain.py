"""Learners of the papers: one pass in order over rows as they are, the last weights."""

import inspect

import skstructured as sk

AS_THEY_COME = {
    "average": False,
    "standardize": False,
    "max_iter": 1,
    "shuffle": False,
}
EXACT = AS_THEY_COME | {"tol": None}

#: Parameters that a `Kernel` has besides its function.
OF_KERNELS = inspect.signature(sk.Kernel).parameters.keys() - {"function"}


def with_kernel(kind, *given, **named):
    """A learner with kernels, the parameters of `Kernel` among its own."""
    own = {name: named.pop(name) for name in OF_KERNELS & named.keys()}
    model = kind(*given, **named)
    return model.set_params(kernel=sk.Kernel(model.kernel, **own)) if own else model


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
    return _plain(sk.GaptronClassifier, EXACT | {"loss": "logistic"}, given, named)


def perceptron(*given, **named):
    """`MulticlassPerceptron`, the last weights."""
    return _plain(sk.MulticlassPerceptron, EXACT, given, named)


def _over_rows(kind, **defaults):
    """A class over rows as they are."""
    return lambda *given, **named: _plain(kind, {"standardize": False} | defaults, given, named)


second_order = _over_rows(sk.SecondOrderPerceptron, shuffle=False)
bandit_gaptron = _over_rows(sk.BanditGaptronClassifier)
banditron = _over_rows(sk.BanditronClassifier)
soba = _over_rows(sk.SOBAClassifier)
newtron = _over_rows(sk.NewtronClassifier)
confidit = _over_rows(sk.ConfiditClassifier)
