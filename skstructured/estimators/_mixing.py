"""Members that learn the same rows, and weights by which their predictions are mixed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skstructured._base.lbfgs import minimize_lbfgs
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Outputs

#: Of fewer rows each is held out once, in five parts; of more, a fifth is. Fewer tell nothing.
IN_TURNS, PARTS, FEWEST = 200, 5, 20

#: Rows to learn, and rows to hold out.
Split = tuple[Ints, Ints]

#: A mean loss below it is none.
TINY = 1e-300


class Mixed(NamedTuple):
    """Members fitted to all rows, and predictions for held-out rows.

    Attributes
    ----------
    fitted : list of estimators
    held_out : ndarray of shape (m,)
        Indices of the held-out rows; empty with few rows.
    predictions : ndarray of shape (n_members, m, dim)
        Predictions of members that have not learned these rows.
    """

    fitted: list[Any]
    held_out: Ints
    predictions: Floats


def splits_of(packed: Any, weight: Floats, rng: np.random.RandomState) -> list[Split]:
    """Rows to learn and rows to hold out: one part of many rows, five of few, none of very few.

    Those have positive weights; classes are spread over all parts, and the only row of a class is
    in none.
    """
    order = rng.permutation(np.flatnonzero(weight > 0.0))
    if isinstance(packed, np.ndarray) and packed.ndim == 1 and packed.dtype.kind in "iu":
        order = order[np.argsort(packed[order], kind="stable")]
        _, place, count = np.unique(packed[order], return_inverse=True, return_counts=True)
        order = order[count[place] > 1]
    if len(order) < FEWEST:
        return []
    parts = [np.sort(order[i::PARTS]) for i in range(PARTS if len(order) < IN_TURNS else 1)]
    return [(np.setdiff1d(np.arange(len(weight)), part), part) for part in parts]


def mixed(
    members: list[Any], predict: Callable[[Any, Features], Array], splits: list[Split],
    X: Features, y: Outputs, sample_weight: Given, n_jobs: int | None,
) -> Mixed:  # fmt: skip
    """Have each member learn all rows, and others like it those of each split."""
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_learned)(member, predict, splits, X, y, sample_weight) for member in members
    )
    held_out = np.concatenate([part for _, part in splits]) if splits else np.zeros(0, dtype=int)
    return Mixed([fitted for fitted, _ in found], held_out, np.array([said for _, said in found]))


def _learned(member, predict, splits, X, y, sample_weight):
    """A member that has learned all rows, and predictions of rows that others like it have not."""
    fitted, said = _fitted(member, X, y, sample_weight), [np.zeros(0)] * (not splits)
    for rest, part in splits:
        weight = None if sample_weight is None else np.asarray(sample_weight)[rest]
        other = _fitted(member, _safe_indexing(X, rest), _safe_indexing(y, rest), weight)
        said.append(predict(other, _safe_indexing(X, part)))
    return fitted, np.concatenate(said)


def _fitted(member, X, y, sample_weight):
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    return clone(member).fit(X, y, **given)


def mixing_weights(lost: Callable[[Floats], tuple[float, Floats]], few: int, rows: float) -> Floats:
    r"""Weights v of members that mix well on held-out rows, all positive.

    With the mean loss D(v) of predictions mixed by v, and equal weights v₀,

    .. math:: v = \arg\min \frac{n D(v)}{2 D(v_0)} - \sum_e \ln v_e

    over the simplex: the most likely v if errors are as large as those of equal weights, and each
    member has been right once before.

    Parameters
    ----------
    lost : callable
        ``lost(v)`` is D(v), convex, and its gradient.
    few : int
        Members.
    rows : float
        Effective number n of rows, ``(Σ w)²/Σ w²``.
    """
    equal = np.full(few, 1.0 / few)
    unit = max(lost(equal)[0], TINY)

    def objective(z):  # of logarithms, so that v = softmax(z) stays inside the simplex
        v, logs = softmax(z), log_softmax(z)
        value, slope = lost(v)
        prior, steps = logs.sum() / rows, v * (slope - v @ slope) / (2.0 * unit)
        return value / (2.0 * unit) - prior, steps - (1.0 - few * v) / rows

    found = minimize_lbfgs(objective, np.zeros(few), 500, lambda _, g: np.abs(g).max() < 1e-9)
    return softmax(found.x)


def squared_distance(predictions: Floats, truth: Floats, weight: Floats) -> Callable[..., Any]:
    """D(v) = Σ_i w_i ‖Σ_e v_e (μ_e(x_i) − y_i)‖² / Σ_i w_i, with its gradient."""
    share = weight / weight.sum()
    errors = np.sqrt(share)[:, None] * (predictions - truth)
    A = np.tensordot(errors, errors, ((1, 2), (1, 2)))
    return lambda v: (v @ A @ v, 2.0 * (A @ v))
