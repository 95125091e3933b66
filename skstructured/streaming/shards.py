"""Learning in shards: average the weights of estimators fitted on disjoint rows."""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.merged_scale import merged
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import CLOCK, ROUNDS, MeanState, refuse_to_move
from skstructured._learners.lock import lock_of
from skstructured.optimizers import OnlineOptimizer
from skstructured.spaces._real_line import RealLine
from skstructured.streaming._shard_checks import check_shards, check_shares

__all__ = ["average_fitted"]


class MeanOfShards(OnlineOptimizer):
    """What stands for the optimiser of an estimator whose weights are a mean: it does not move."""

    def init(self, loss):
        """A RuntimeError."""
        refuse_to_move()

    def weights(self, Theta, state, dim):
        """The mean of the last weights."""
        return Theta.copy()

    def average_weights(self, Theta, A, state, dim):
        """The mean of the averages."""
        return A.copy()

    def certificate(self, loss, state, delta=None):
        """Raise a GuaranteeError: no theorem covers this learner."""
        raise GuaranteeError(
            "Regret bounds are about the rounds of one learner, and this is a mean of several: ask "
            "the estimators of the shards for theirs. Its surrogate risk is at most the mean of "
            "their surrogate risks."
        )


class Shard(NamedTuple):
    """What is taken from an estimator: weights in units of X and of y, and what they stand for.

    `learned` is the sum of the sample weights, `rounds` the number of rounds; `unit` and `centre`
    are those of real outputs, `lengths` the least and the largest of label sequences.
    """

    last: np.ndarray
    average: np.ndarray | None
    learned: float
    rounds: int
    passes: int
    scale: RunningScale
    unit: float
    centre: float
    lengths: tuple | None


def average_fitted(estimators: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    r"""One estimator whose weights are the mean of those of estimators fitted on disjoint shards.

    Learn parts of the rows side by side, on cores or machines, and make one model of the results:
    each has gone over its rows once, and nothing but weights was exchanged. ``coef_`` and
    ``intercept_`` (of label sequences ``transitions_``, ``start_`` and ``end_``) are in units of X
    in every shard, however its rows were standardised, and so is their mean,

    .. math:: \bar W = \sum_i n_i W_i \Big/ \sum_i n_i,

    n_i the sum of the sample weights that shard i has learned, passes over them counted.

    Parameters
    ----------
    estimators : list of fitted estimators
        One or more of the same class, with the same parameters but for `random_state`, `max_iter`,
        `tol`, `shuffle`, `cache_size` and `verbose`, the same classes and the same features:
        `OnlineStructuredPredictor` over any space, `GaptronClassifier`, `MulticlassPerceptron`, and
        `PiSTOLClassifier`, `PiSTOLRegressor` and others that learned with ``kernel="linear"``.
        They are not changed. Results of this function may be among them.
    weights : sequence of positive numbers or None, default=None
        n_i, up to a common factor; None takes the sums of the sample weights.

    Returns
    -------
    estimator
        A new one of the same class. It predicts at once, `t_` is the number of rounds that all have
        learned, and it can be copied, pickled and saved. Its running statistics of the features
        are those of the rows of all shards, however they are counted here. It cannot go on:
        ``partial_fit`` raises a RuntimeError, because a mean of weights is no state of an optimiser
        (a coin bettor's wealth and steps that adapt belong to one sequence of rounds). To go on,
        let those of the shards learn, and average again; ``fit`` starts anew.

    Raises
    ------
    TypeError
        For a pipeline, whose last steps are to be averaged, and for learners without such weights:
        second-order ones, bandits, batch learners.
    ValueError
        For no estimators, kernel learners, estimators that differ, and weights that are not one
        positive number for each.
    sklearn.exceptions.NotFittedError
        For an estimator that is not fitted.

    Notes
    -----
    **What is promised.** Scores are linear in W and the surrogate S is convex in the scores, so
    that on every row, and in expectation over new ones,

    .. math:: S(\bar W) \le \sum_i n_i S(W_i) \Big/ \sum_i n_i

    (Jensen): the mean is never worse in S than its shards are on average, and the bounds that hold
    for each of them hold for it on average. One pass over all rows has learned from more rows than
    any shard, and is mostly a little better than the mean; ``benchmarks/scale/shards.py`` has
    numbers. Shards of ``optimizer="mixture"``, which "auto" is for streams, are taken by the means
    ``W_i = Σ_e v_e W_{i,e}`` over their experts: the promise is about S(W_i), and what a shard that
    mixes probabilities plays may lose less. The "hinge" of `GaptronClassifier` and the mistakes of
    `MulticlassPerceptron` are not convex, and nothing is promised for these. `PiSTOLRegressor`
    after `fit` has units of its own in every shard; the mean is that of the functions in units of
    y.

    References
    ----------
    McDonald, Mohri, Silberman, Walker, Mann (2009), "Efficient large-scale distributed training of
    conditional maximum entropy models"; Zinkevich, Weimer, Li, Smola (2010), "Parallelized
    stochastic gradient descent".

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
    estimators = check_shards(estimators)
    shards = [_shard(estimator) for estimator in estimators]
    shares = check_shares(weights, [shard.learned for shard in shards])
    result = _like(estimators[0])
    unit = _mean([shard.unit for shard in shards], shares)
    if isinstance(result.space_, RealLine):
        result.space_.scale = unit
        result.space_.centre = _mean([shard.centre for shard in shards], shares)
    last = _mean([shard.last * (shard.unit / unit) for shard in shards], shares)
    average = None
    if estimators[0]._model.averaged:
        average = _mean([shard.average * (shard.unit / unit) for shard in shards], shares)
    clock = sum(shard.learned for shard in shards)
    scale = merged([shard.scale for shard in shards])
    result._model = estimators[0]._model.stopped_at(result, MeanState(last, average, clock), scale)
    _count(result, shards)
    _calibrate(result, estimators, shares)
    return result


def _mean(values, shares):
    """Σ share · value."""
    return sum(share * value for share, value in zip(shares, values, strict=True))


def _shard(estimator):
    space, state = estimator.space_, estimator._state
    real = isinstance(space, RealLine)
    with lock_of(estimator):
        return Shard(
            last=np.asarray(estimator._weights(averaged=False), dtype=np.float64),
            average=estimator._weights(averaged=True) if estimator._model.averaged else None,
            learned=float(state.vector[CLOCK]),
            rounds=estimator.t_,
            passes=getattr(estimator, "n_iter_", 1),
            scale=estimator._scale.copy(),
            unit=space.scale if real else 1.0,
            centre=space.centre if real else 0.0,
            lengths=getattr(estimator._model, "lengths", None),
        )


def _like(estimator):
    """A new estimator with copies of what was fitted, but for the weights and their optimiser."""
    result = clone(estimator)
    left_out = {*estimator.get_params(deep=False), "_model", "optimizer_", "loss_curve_"}
    fitted = {name: value for name, value in vars(estimator).items() if name not in left_out}
    vars(result).update(copy.deepcopy(fitted))
    result.optimizer_ = MeanOfShards()
    return result


def _calibrate(result, estimators, shares):
    """The mean of the calibrations, where multilabel outputs have one."""
    found = [getattr(estimator, "_calibrator", None) for estimator in estimators]
    if all(one is not None for one in found):
        result._calibrator = type(found[0]).mean(found, shares)


def _count(result, shards):
    """Rounds and passes of all; and label sequences from the shortest to the longest of all."""
    result._model.state.vector[ROUNDS] = sum(shard.rounds for shard in shards)
    result.n_iter_ = max(shard.passes for shard in shards)
    if shards[0].lengths is not None:
        lengths = np.array([shard.lengths for shard in shards])
        result._model = result._model.noting_lengths(lengths)
        result.loss_ = result._model.loss
