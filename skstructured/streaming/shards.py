"""Learning in shards: the mean of the weights of estimators fitted on disjoint rows."""

import copy
from collections.abc import Sequence
from numbers import Number
from typing import Any

import joblib
import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive, dtype_of
from skstructured._engine.moments import Statistic
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import LoopState, new_state, raise_frozen
from skstructured._learners.models import Model
from skstructured._learners.online import OnlineEstimator
from skstructured.optimizers import OnlineOptimizer
from skstructured.spaces._real_line import RealLine


class MeanOfShards(OnlineOptimizer):
    """The optimizer of a mean of shards: Θ is the weights, and does not change."""

    scale_kernel = step_kernel = property(lambda self: raise_frozen())  # type: ignore[assignment]

    def init(self, loss):
        """A state whose average is that of the sums behind Θ."""
        state = new_state(0)
        state[LoopState.WEIGHT_SUM] = 1.0
        return state

    def weights(self, Theta, state, dim):
        """The mean of the last weights."""
        return Theta.copy()

    def certificate(self, loss, state, delta=None):
        """Raise a GuaranteeError: no theorem covers this learner."""
        reason = "the bounds are about the rounds of one learner, and this is a mean of several"
        raise GuaranteeError(f"No regret bound: {reason}. Estimators of the shards have bounds.")


def average_fitted(estimators: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    r"""Average estimators that were fitted on disjoint shards of the rows.

    Train on parts of the rows in parallel, on cores or machines, and make one model of the results.
    ``coef_`` and ``intercept_`` (for label sequences ``transitions_``, ``start_`` and ``end_`` too)
    are in units of X in every shard, however its rows were standardized. Their mean is [1]_, [2]_

    .. math:: \bar W = \sum_i n_i W_i \Big/ \sum_i n_i,

    n_i the sum of the sample weights that shard i has learned, counting every pass.

    Parameters
    ----------
    estimators : list of fitted estimators
        One or more of the same class, with the same parameters except `random_state`, `max_iter`,
        `tol`, `shuffle`, `cache_size` and `verbose`, the same classes and the same features:
        linear learners of rows, label sequences or items, such as `OnlineStructuredPredictor`,
        `GaptronClassifier`, `MulticlassPerceptron`, `ListwiseRanker`, `PiSTOLClassifier` and
        `PiSTOLRegressor`. They are not changed. Results of this function may be among them.
    weights : sequence of positive numbers or None, default=None
        Weights n_i, up to a common factor; None uses the sums of the sample weights.

    Returns
    -------
    estimator
        A new one of the same class. It predicts, and can be copied, pickled and saved; `t_` is the
        number of rows that all have learned. Missing values are replaced by the weighted mean of
        the shards' means. ``partial_fit`` raises a RuntimeError, because a mean of weights does not
        have the state of an optimizer: train the estimators of the shards, and average again.
        ``fit`` restarts.

    Raises
    ------
    TypeError
        If an estimator is a pipeline (average the last steps instead), or has no such weights:
        second-order learners, bandits, batch learners.
    ValueError
        If there are no estimators, if they differ, if they are kernel learners or have
        ``kernel="additive"``, or if the weights are not one positive number for each.
    sklearn.exceptions.NotFittedError
        If an estimator is not fitted.

    See Also
    --------
    skstructured.streaming.fit_chunks : Train one estimator on chunks, in order.
    skstructured.checkpoints.save_checkpoint : Save the estimators of the shards.
    OnlineStructuredPredictor : The linear learner.

    Notes
    -----
    Scores are linear in W and the surrogate S is convex in the scores. So for shards of one
    optimizer, on every row and in expectation over new ones,

    .. math:: S(\bar W) \le \sum_i n_i S(W_i) \Big/ \sum_i n_i

    (Jensen): S of the mean is never worse than that of its shards on average. One pass over all
    rows is mostly a little better.

    Shards of ``optimizer="mixture"``, which "auto" is for streams, count with the mean W_i of their
    experts' weights. They predict by the mean of their experts' probabilities, which is not linear
    in W and may have a smaller S, so there is no guarantee for them. There is also no guarantee for
    the "hinge" of `GaptronClassifier` and the mistakes of `MulticlassPerceptron`, which are not
    convex.

    References
    ----------
    .. [1] McDonald, Mohri, Silberman, Walker, Mann (2009), "Efficient large-scale distributed
       training of conditional maximum entropy models".
    .. [2] Zinkevich, Weimer, Li, Smola (2010), "Parallelized stochastic gradient descent".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from skstructured import OnlineStructuredPredictor, average_fitted
    >>> X, y = load_digits(return_X_y=True)
    >>> shards = [
    ...     OnlineStructuredPredictor().partial_fit(X[i:1500:3], y[i:1500:3], classes=np.arange(10))
    ...     for i in range(3)
    ... ]
    >>> model = average_fitted(shards)
    >>> model.t_, model.score(X[1500:], y[1500:]) > 0.8
    (1500, True)
    """
    shards = _check_shards(estimators)
    clocks = [float(shard.model_.state.vector[LoopState.CLOCK]) for shard in shards]
    shares = _check_weights(weights, clocks)
    result = _like(shards[0])
    if isinstance(result.space_, RealLine):  # weights are in units of y
        result.space_.scale = 1.0
        result.space_.center = shares @ [shard.space_.center for shard in shards]
    result.optimizer_ = MeanOfShards()
    model = result.model_ = result.new_model()
    state = model.state
    kinds = (False, True) if model.averaged else (False,)  # the average is stored behind the last
    both = np.concatenate([_mean(shards, shares, averaged) for averaged in kinds])
    state.store_for(state.by_feature)
    state.Theta[...] = both.T if state.by_feature else both
    state.vector[LoopState.CLOCK], state.moves = sum(clocks), False
    scales = [shard.model_.scale for shard in shards]
    means = shares @ [scale.statistics[Statistic.MEAN] for scale in scales]
    model.scale.set_moments(means, np.ones(len(means)))
    extremes = {Statistic.DEVIATION: np.max, Statistic.LOW: np.min, Statistic.HIGH: np.max}
    for row, extreme in extremes.items():
        model.scale.statistics[row] = extreme([s.statistics[row] for s in scales], axis=0)
    model.scale.folds, model.scale.kind = False, scales[0].kind
    if hasattr(model.loss, "over_sizes"):  # rounds of all sizes
        sizes = np.concatenate([shard.loss_.sizes for shard in shards])
        model.loss = result.loss_ = model.loss.over_sizes(sizes)
    state.vector[LoopState.ROUNDS] = sum(shard.t_ for shard in shards)
    result.n_iter_ = max(getattr(shard, "n_iter_", 1) for shard in shards)
    return result


def _like(estimator):
    """A copy of a fitted estimator, without its model."""
    bare = copy.copy(estimator)
    for name in ("model_", "optimizer_", "loss_curve_", "validation_curve_"):
        vars(bare).pop(name, None)
    return copy.deepcopy(bare)


def _mean(shards, shares, averaged):
    """Σ share · W of the last weights, or of the averages, in units of X and of y."""
    mean = 0.0
    for shard, share in zip(shards, shares, strict=True):
        unit = shard.space_.scale if isinstance(shard.space_, RealLine) else 1.0
        mean = mean + share * unit * shard.model_.weights(averaged and shard.model_.averaged)
    return mean


def _check_shards(estimators):
    """The estimators as a list; an error names the first that cannot be averaged."""
    if not hasattr(estimators, "__iter__") or isinstance(estimators, (str, Pipeline)):
        raise TypeError(f"estimators must be a list of fitted estimators, got {estimators!r}.")
    shards = list(estimators)
    if not shards:
        raise ValueError("estimators must have one fitted estimator or more, got none.")
    for i, shard in enumerate(shards):
        _check_kind(f"estimators[{i}]", shard)
        _check_same(f"estimators[{i}]", shards[0], shard)
    return shards


def _check_kind(name, shard):
    """An error for an estimator without weights of features."""
    if isinstance(shard, Pipeline):
        rule = "the steps before them must be the same for all shards"
        raise TypeError(f"{name} is a Pipeline: average the estimators of the last steps; {rule}.")
    if isinstance(shard, OnlineEstimator):
        check_is_fitted(shard, "space_", msg=f"{name} is not fitted: %(name)s has learned no rows.")
    if not (isinstance(shard, OnlineEstimator) and isinstance(shard.model_, Model)):
        raise TypeError(
            f"{name} must be a linear learner with full information (OnlineStructuredPredictor, "
            f"GaptronClassifier, PiSTOLClassifier with kernel='linear', …), got {shard!r}: "
            "second-order, bandit, batch and other learners cannot be averaged."
        )
    by_kernel = hasattr(shard.model_, "expansion") or not isinstance(
        shard.model_.scale, RunningScale
    )
    if by_kernel or getattr(shard, "_steps", None) is not None:
        reason = "learners with kernels keep rows, random features or steps of their shard"
        what = f"{name}, {shard!r}, has no weights of features to average"
        raise ValueError(f"{what}: {reason}. Use kernel='linear'.")


def _common_properties(shard):
    """What shards must have in common, by its name in messages."""
    properties = {
        "the number of features": shard.n_features_in_,
        "the feature names": getattr(shard, "feature_names_in_", None),
        "the classes": getattr(shard, "classes_", None),
        "the number of outputs": getattr(shard.space_, "dim_", None),
        "the dtype of their rows": str(dtype_of(shard)),
        "whether they have an intercept": shard.fit_intercept_,
        "whether their first rows were sparse": shard.model_.scale.kind == "sparse",
    }
    may_differ = {"cache_size", "max_iter", "random_state", "shuffle", "tol", "verbose"}
    params = shard.get_params(deep=False).items()
    return properties | {name: value for name, value in params if name not in may_differ}


def _check_same(name, first, shard):
    """A ValueError for differences between two fitted shards."""
    if type(shard) is not type(first):
        kinds = type(first).__name__, type(shard).__name__
        raise ValueError(
            f"estimators must be of one class: estimators[0] is {kinds[0]}, {name} is {kinds[1]}."
        )
    theirs = _common_properties(shard)
    for what, value in _common_properties(first).items():
        if not _is_same(value, theirs[what]):
            values = f"{_short_repr(theirs[what])} and {_short_repr(value)}"
            raise ValueError(f"{name} and estimators[0] differ in {what}: {values}.")


def _short_repr(value):
    """A value in a message."""
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)[:200]


def _is_same(a, b):
    """Whether two parameters are the same, arrays in them too."""
    if a is b or (isinstance(a, Number) and isinstance(b, Number)):
        return a is b or a == b
    return joblib.hash(a) == joblib.hash(b)


def _check_weights(weights, learned):
    """Shares (n,) that sum to 1, of the weights given, or of the weight learned by each shard."""
    if weights is None and not min(learned) > 0.0:
        i = int(np.argmin(learned))
        remedy = "leave it out, or give weights"
        raise ValueError(f"estimators[{i}] has learned no row of positive weight: {remedy}.")
    values = learned if weights is None else weights
    n, values = len(learned), list(values) if hasattr(values, "__iter__") else []
    if len(values) != n:
        raise ValueError(f"weights must be {n} numbers, one for each estimator, got {weights!r}.")
    raw_weights = np.array([check_positive(f"weights[{i}]", w) for i, w in enumerate(values)])
    return raw_weights / raw_weights.max() / np.sum(raw_weights / raw_weights.max())
