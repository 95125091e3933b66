"""Which estimators of shards have a mean, and what to say of those that have none."""

from numbers import Number

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_positive
from skstructured._learners.online import OnlineEstimator
from skstructured.spaces._real_line import RealLine

#: Parameters that say how the rows were gone through; shards may differ in them.
FREE = {"cache_size", "max_iter", "random_state", "shuffle", "tol", "verbose"}


def check_shards(estimators):
    """The estimators as a list; an error names the first that has no mean with those before it."""
    if not hasattr(estimators, "__iter__") or isinstance(estimators, (str, Pipeline)):
        raise TypeError(f"estimators must be a list of fitted estimators, got {estimators!r}.")
    shards = list(estimators)
    if not shards:
        raise ValueError("estimators must hold one fitted estimator or more, got none.")
    for i, shard in enumerate(shards):
        _check_kind(f"estimators[{i}]", shard)
    for i, shard in enumerate(shards[1:], start=1):
        _check_same(f"estimators[{i}]", shards[0], shard)
    return shards


def _check_kind(name, shard):
    if isinstance(shard, Pipeline):
        raise TypeError(
            f"{name} is a Pipeline: average the estimators that are the last steps; the steps "
            "before them must be one and the same for all shards."
        )
    if not isinstance(shard, OnlineEstimator):
        raise TypeError(
            f"{name} must be a linear learner with full information (OnlineStructuredPredictor, "
            "GaptronClassifier, MulticlassPerceptron, PiSTOLClassifier and PiSTOLRegressor with "
            f"kernel='linear', …), got {shard!r}: second-order, bandit, batch and other learners "
            "have no mean of weights."
        )
    try:
        check_is_fitted(shard, "space_")
    except NotFittedError:
        raise NotFittedError(f"{name} is not fitted: {shard!r} has learned no rows.") from None
    if getattr(shard, "_expansion", None) is not None:
        raise ValueError(
            f"{name} learned with kernel={shard.kernel!r}: kernel learners keep rows of their "
            "shard, or random features, and no weights of features, so that they have no mean; "
            "kernel='linear' has one."
        )


def _check_same(name, first, shard):
    """A ValueError for what makes two fitted shards different."""
    if type(shard) is not type(first):
        kinds = type(first).__name__, type(shard).__name__
        raise ValueError(f"estimators must be of one class: [0] is {kinds[0]}, {name} {kinds[1]}.")
    for what, of in WHAT.items():
        values = of(first), of(shard)
        if not same(*values):
            raise ValueError(
                f"{name} and estimators[0] differ in {what}: {_short(values[1])} and "
                f"{_short(values[0])}."
            )
    _check_same_parameters(name, first, shard)
    if not (isinstance(first.space_, RealLine) or same(first.space_, shard.space_)):
        raise ValueError(
            f"{name} and estimators[0] differ in the space: {_fitted(shard.space_)} and "
            f"{_fitted(first.space_)}."
        )


#: What shards must have in common, by its name in messages.
WHAT = {
    "the number of features": lambda shard: shard.n_features_in_,
    "the feature names": lambda shard: getattr(shard, "feature_names_in_", None),
    "the classes": lambda shard: getattr(shard, "classes_", None),
    "the dtype of their rows": lambda shard: str(shard._dtype),
    "whether they keep an average": lambda shard: shard._model.averaged,
    "whether they have an intercept": lambda shard: shard._intercept,
    "how their rows were standardised": lambda shard: _way(shard._scale),
}


def _way(scale):
    """How a scale transforms rows, in words."""
    if not scale.used:
        return "as they are"
    if scale._kind == "sparse":
        return "CSR rows, by the largest entries"
    return f"dense rows, {'centred' if scale.centred else 'not centred'}" + (
        " and divided" if scale.divided else ""
    )


def _check_same_parameters(name, first, shard):
    ours, theirs = first.get_params(deep=False), shard.get_params(deep=False)
    for parameter in ours.keys() - FREE:
        if not same(ours[parameter], theirs[parameter]):
            raise ValueError(
                f"{name} and estimators[0] differ in {parameter}: {_short(theirs[parameter])} and "
                f"{_short(ours[parameter])}."
            )


def same(a, b):
    """Whether two parameters, or fitted spaces, are the same, arrays in them too."""
    if a is b:
        return True
    if isinstance(a, Number) and isinstance(b, Number):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool(np.all(a == b))
    if isinstance(a, BaseEstimator):
        return same(vars(a), vars(b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(np.all(a == b))


def _short(value):
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 200 else text[:200] + " …"


def _fitted(space):
    """A fitted space in words."""
    return _short({"space": space, **{k: v for k, v in vars(space).items() if k.endswith("_")}})


def check_shares(weights, learned):
    """Shares (n,) that sum to 1: of the weights given, or of what each shard has learned."""
    if weights is None:
        for i, weight in enumerate(learned):
            if not weight > 0.0:
                raise ValueError(
                    f"estimators[{i}] has learned no row of positive weight: leave it out, or "
                    "give weights."
                )
        given = np.array(learned)
    else:
        given = _read(weights, len(learned))
    given = given / given.max()
    return given / given.sum()


def _read(weights, n):
    """Weights given, as a vector of n positive numbers."""
    values = list(weights) if hasattr(weights, "__iter__") else None
    if values is None or len(values) != n:
        raise ValueError(f"weights must be {n} numbers, one for each estimator, got {weights!r}.")
    return np.array([check_positive(f"weights[{i}]", w) for i, w in enumerate(values)])
