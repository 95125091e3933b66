"""Compiling before the first request: estimators learn and predict a few rows."""

import sys

import numpy as np
from sklearn.base import clone

from skstructured._engine.compiled import compile_at_once
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.estimators.structured import StructuredPredictor
from skstructured.extend.learner import OnlineLearner
from skstructured.spaces import SPACES_BY_NAME

#: Estimators that need others.
META_ESTIMATORS = ("AbstainingHedgeClassifier", "PredictionSets")


def warm_up(*names: str) -> None:
    """Compile what estimators need before a service gets its first request.

    Estimators with default parameters learn and predict 40 rows, by ``fit`` and one by one.
    Afterwards this process compiles nothing for them, and other functions when they are first
    called; later processes load the code from disk.
    Sparse, float32 and missing values, boosted trees of more than 3,000 rows, and parameters such
    as `optimizer`, `kernel` and `loss` need functions that this leaves out.

    Parameters
    ----------
    *names : str
        Names of estimators, such as "ListwiseRanker", and of spaces, such as "sequence": these
        stand for `StructuredPredictor` and `OnlineStructuredPredictor` over the space. Without
        names it is these two over classes.

    Raises
    ------
    ValueError
        For an unknown name, or an estimator that needs others; nothing is compiled then.

    See Also
    --------
    StructuredPredictor : The estimator to try first.
    skstructured.checkpoints.load_checkpoint : Load the model that a service predicts with.

    Examples
    --------
    >>> from skstructured import warm_up
    >>> warm_up("MulticlassPerceptron")
    """
    estimators = _estimators()
    for name in names:
        if name not in estimators:
            raise ValueError(f"names must be among {', '.join(estimators)}; got {name!r}.")
    compile_at_once()
    for name in names or ("multiclass",):
        for estimator in estimators[name]:
            _learn_and_predict(estimator, *_rows_for(estimator))


def _estimators():
    """New estimators, by the names of their classes and of spaces."""
    package, both = sys.modules["skstructured"], (StructuredPredictor, OnlineStructuredPredictor)
    public = {name: getattr(package, name) for name in package.__all__}
    names = [name for name in public if hasattr(public[name], "predict")]
    estimators = {name: [public[name]()] for name in names if name not in META_ESTIMATORS}
    estimators["BanditGaptronClassifier"][0].set_params(radius=1.0)
    return estimators | {space: [cls(space) for cls in both] for space in SPACES_BY_NAME}


def _rows_for(estimator):
    """Inputs and outputs of the types that an estimator learns from."""
    X = np.random.RandomState(0).randn(40, 6)
    items, scores = X.reshape(40, 3, 2), X[:, :3]
    best, order = np.argmax(scores, axis=1), np.argsort(scores, axis=1)
    kinds = {
        "Hypercube": (X, scores > 0),
        "OrdinalChain": (X, (scores > 0).sum(axis=1)),
        "Birkhoff": (X, order),
        "Permutahedron": (X, order + 1),
        "LabelSequence": (list(X.reshape(20, 2, 6)), list(best.reshape(20, 2))),
        "AioliClassifier": (X, best == 0),
    }
    kinds |= dict.fromkeys(("PiSTOLRegressor", "StructuredRegressor"), (X, scores[:, 0]))
    kinds |= dict.fromkeys(("ListwiseRanker", "StructuredRanker"), (items, list(order)))
    kinds |= dict.fromkeys(("ConditionalLogit", "ItemStructuredPredictor"), (items, best))
    space = SPACES_BY_NAME.get(getattr(estimator, "space", None), estimator)
    return kinds.get(type(estimator).__name__, kinds.get(getattr(space, "__name__", ""), (X, best)))


def _learn_and_predict(estimator, X, y):
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    fitted = clone(estimator).fit(X, y)
    _predict_rows(fitted, X)
    only_fits = isinstance(estimator, StructuredPredictor) and estimator.space == "sequence"
    if isinstance(estimator, OnlineLearner) and not only_fits:
        estimator.learn(estimator.begin(X, y), np.arange(len(y)))
        for model in (fitted, estimator):
            _predict_rows(model.partial_fit(X[:1], y[:1]), X)


def _predict_rows(model, X):
    for method in ("predict", "predict_proba"):
        for rows in (X, X[:1]) if hasattr(model, method) else ():
            getattr(model, method)(rows)
