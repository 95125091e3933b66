"""Prediction sets: all outputs that are not surprising, around any estimator."""

import math
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, column_or_1d, get_tags, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from skstructured import spaces
from skstructured._base.component import Seed, available_if, parameters
from skstructured._base.validation import check_integer, check_lengths, check_real, check_weights
from skstructured._learners.lock import learning_aside, locked, snapshot
from skstructured.experts._binary import rows_at
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Outputs
from skstructured.items._reading import unique_values
from skstructured.metrics import final_learner


class _Kind:
    """A task: `scores` (n,) of outputs, and `sets` of the outputs whose score is at most q."""

    #: What gives P; of the learner at the end, if pipelines do not have it.
    method = "predict_proba"

    def __init__(self, estimator: Any, space: Any) -> None:
        self.estimator, self.space = estimator, space

    def numbers(self, X: Any) -> Floats:
        """P of rows, n of them; a ValueError if the estimator predicts NaN, which has no score."""
        model = self.estimator
        owner, X = (model, X) if hasattr(model, self.method) else final_learner(model, X)
        P = np.asarray(getattr(owner, self.method)(X), dtype=np.float64)
        missing = np.isnan(P.reshape(len(P), -1)).any(axis=1)
        if missing.any():
            row = int(np.argmax(missing))
            what = f"got NaN for row {row} of X: {model!r} predicts {P[row]}"
            raise ValueError(f"estimator must predict numbers, {what}.")
        return P

    def read(self, y: Outputs) -> Array:
        """Outputs in one form; a ValueError for anything else."""
        return np.asarray(self.space.unpack(self.space.pack(y)), dtype=np.float64)

    def check(self, y: Outputs, read: Array) -> None:
        """A ValueError for outputs, and as read, that the estimator does not know."""


class _OfClasses(_Kind):
    """Probabilities (n, K): the score is ``1 − P_y``; labels are read as places, −1 for others."""

    def scores(self, P: Floats, y: Array) -> Floats:
        class_scores = np.take_along_axis(self.all_scores(P), y[:, None], axis=1)[:, 0]
        return np.where(y >= 0, class_scores, np.inf)

    def sets(self, P: Floats, q: float) -> Array:
        return self.all_scores(P) <= q

    def all_scores(self, P: Floats) -> Floats:
        """Scores (n, K) of all classes."""
        return 1.0 - P

    def read(self, y: Outputs) -> Array:
        return places(y, self.estimator.classes_)

    def check(self, y: Outputs, read: Array) -> None:
        if (read < 0).any():
            strange = np.unique(column_or_1d(y)[read < 0])
            raise ValueError(f"y has labels that are not in classes_: {strange[:5]}.")


class _OfOrderedClasses(_OfClasses):
    """``max(P(Y < y), P(Y > y))``; sets are then intervals of classes."""

    def all_scores(self, P: Floats) -> Floats:
        upto = np.cumsum(P, axis=1)
        return np.maximum(upto - P, upto[:, -1:] - upto)


class _OfLabelSets(_Kind):
    """Means (n, d) of indicators: ``max_j |y_j − P_j|``, a range for each label."""

    method = "predict_mean"

    def scores(self, P: Floats, y: Array) -> Floats:
        return np.abs(y - P).max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return np.stack([P, 1.0 - P], axis=2) <= q


class _OfAssignments(_Kind):
    """Probabilities (n, m, m) of positions: ``1 − min_i P_{i, y_i}``."""

    def scores(self, P: Floats, y: Array) -> Floats:
        return 1.0 - np.take_along_axis(P, y[:, :, None], axis=2)[:, :, 0].min(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return q >= 1.0 - P

    def read(self, y: Outputs) -> Array:
        return self.space.pack(y)


class _OfRankings(_Kind):
    """Scores (n, d): the most by which θ contradicts a pair, ``max_{y_i > y_j} (θ_j − θ_i)``."""

    method = "embedding_scores"

    def scores(self, P: Floats, y: Array) -> Floats:
        against = np.where(y[:, :, None] > y[:, None, :], self._against(P), -np.inf)
        return against.max(axis=(1, 2))

    def sets(self, P: Floats, q: float) -> Array:
        return (self._against(P) <= q) & ~np.eye(P.shape[1], dtype=bool)

    def _against(self, P: Floats) -> Floats:
        """``θ_j − θ_i``, by how much θ contradicts the order of i before j."""
        return P[:, None, :] - P[:, :, None]


class _OfNumbers(_Kind):
    """Predictions (n,), or (n, k): ``max_j |y_j − P_j|``, intervals of one width."""

    method = "predict"

    def scores(self, P: Floats, y: Array) -> Floats:
        off = np.abs(y.reshape(P.shape) - P)
        return off if P.ndim == 1 else off.max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        width = q if q >= 0.0 else np.nan
        return np.stack([P - width, P + width], axis=-1)

    def read(self, y: Outputs) -> Array:
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")


def choose_kind(estimator: Any) -> Any:
    """The kind of a fitted estimator; a TypeError if there is no such kind."""
    space = getattr(final_learner(estimator)[0], "space_", None)
    kinds: dict[type, type[_Kind]] = {
        spaces.OrdinalChain: _OfOrderedClasses,
        spaces.Permutahedron: _OfRankings,
        spaces.Birkhoff: _OfAssignments,
        spaces.Hypercube: _OfLabelSets,
    }
    for space_class, kind in kinds.items():
        if isinstance(space, space_class):
            return kind(estimator, space)
    has_labels, hint = np.ndim(getattr(estimator, "classes_", 0)) == 1, ""
    if hasattr(space, "chains"):
        hint = " For label sequences compare predict_marginals with a threshold."
    elif has_labels and hasattr(estimator, "predict_proba"):
        return _OfClasses(estimator, space)
    elif is_regressor(estimator) and not is_classifier(estimator):
        return _OfNumbers(estimator, space)
    raise TypeError(
        "estimator must be a classifier with predict_proba, a regressor, or a learner over "
        "classes, ordinal classes, multilabel outputs, assignments or label rankings, got "
        f"{estimator!r}.{hint}"
    )


def quantile(scores: Floats, alpha: float) -> float:
    """The ``⌈(n + 1)(1 − α)⌉``-th smallest of n scores: inf beyond the last of them.

    −inf for α ≥ 1, inf for α ≤ 0.
    """
    n = len(scores)
    place = math.ceil((n + 1) * (1.0 - alpha) * (1.0 - 1e-12))
    return float(np.r_[-math.inf, np.sort(scores), math.inf][np.clip(place, 0, n + 1)])


def places(labels: Any, categories: Any) -> Ints:
    """The place of each label in `categories`, −1 if it is not there."""
    positions = {label: k for k, label in enumerate(np.asarray(categories).tolist())}
    return np.array([positions.get(label, -1) for label in column_or_1d(labels).tolist()], int)


def check_groups(groups: Any, n: int) -> Array:
    """One group per row as an array; a ValueError for anything else."""
    if np.shape(groups) != (n,):
        raise ValueError(f"groups must have shape ({n},), got {np.shape(groups)}.")
    return column_or_1d(groups)


def estimator_has(name: str) -> Any:
    """Whether the estimator, fitted or not, has a method."""
    return lambda self: getattr(getattr(self, "estimator_", self.estimator), name)


@locked
@parameters
class PredictionSets(MetaEstimatorMixin, BaseEstimator):
    r"""Predict sets that contain the true output with probability 1 − alpha (conformal prediction).

    An estimator ranks outputs by their probability or score, but may not know how often it is
    right. Here some rows are held out. The set of a new row contains all outputs that contradict
    the estimator no more than all but a share alpha of the held-out rows did. The less certain the
    estimator is, the larger are the sets. They are right as often as requested with any estimator,
    if the new rows come from the same distribution as the held-out rows.

    `fit` holds out n rows in random order (split conformal prediction [1]_, [2]_). With their
    scores s_i and ``q`` the ``⌈(n + 1)(1 − α)⌉``-th smallest,

    .. math:: 1 - α \le P\{y \in C(x)\} \le 1 - α + \frac{1}{n + 1}, \quad
        C(x) = \{y : s(x, y) \le q\},

    the right side if scores are all different. `partial_fit` holds out no rows: every row gets its
    set before it is learned, by the scores of the rows before it. The level then adapts to the
    misses, which works for *any* stream, even a drifting one (adaptive conformal inference [3]_):

    .. math:: α_{t+1} = α_t + γ (α - \mathrm{miss}_t), \qquad
        \Bigl|\frac1T \sum_{t \le T} \mathrm{miss}_t - α\Bigr| \le
        \frac{\max(α, 1 - α) + γ}{γ T}.

    With `by_class`, and with ``groups`` in `fit`, each class or group has its own threshold, from
    its n_g held-out rows (Mondrian prediction [2]_, [4]_). The inequalities then hold among the
    rows of each class or group g, however rare it is, with n_g instead of n; with both, among the
    rows of each class in each group.

    The score of an output, and the form of a set, are

    - classes: ``1 − P_y``; the classes (n, K) that may be true;
    - "ordinal": ``max(P(Y < y), P(Y > y))``; the same, an interval of classes;
    - "hypercube": ``max_j |y_j − P_j|``; (n, d, 2), whether label j may be absent, and
      whether it may be present;
    - "birkhoff": ``1 − min_i P_{i, y_i}``; (n, m, m), whether item i may be at position j;
    - "permutahedron": ``max_{y_i > y_j} (θ_j − θ_i)``, the largest difference of scores that y
      contradicts; (n, d, d), whether i may rank before j. Let s be the number of pairs that are
      possible in one order only: any ranking in the set has a Kendall's τ of at least
      ``4 s/(d(d − 1)) − 1`` with the predicted one;
    - real numbers: ``|y − f(x)|``; (n, 2), the ends of an interval; for k numbers ``max_j``, and
      (n, k, 2).

    Parameters
    ----------
    estimator : estimator
        A classifier with ``predict_proba``, a regressor, or a learner of this package for classes,
        ordinal classes, multilabel outputs, assignments or label rankings; or a pipeline that ends
        in one. It is cloned.
    alpha : float, default=0.1
        The share of sets that may miss the true output, in (0, 1).
    calibration_size : float, default=0.25
        The share of the rows of `fit` that is held out, in (0, 1).
    step_size : float, default=0.02
        The speed γ at which the level of a stream adapts. The share of misses differs from alpha by
        at most about ``1/(γ T)``; the smaller γ, the less the sizes of sets vary. 0 keeps the level
        constant.
    window : int, default=1000
        How many scores of a stream count: the last ones.
    by_class : bool, default=False
        Whether each class has its own threshold, from the held-out rows of the class [4]_. A class
        with fewer than ``1/α − 1`` held-out rows is in every set. Only for classes and "ordinal",
        and only for `fit`.
    random_state : int, RandomState instance or None, default=None
        Seeds the choice of the held-out rows.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on the rows that are not held out; in a stream, on all.
    threshold_ : float, or ndarray of shape (K,) with `by_class`
        q: outputs of larger scores are left out. It is inf if there are too few rows to leave out
        any output. With groups it has a first axis more: (G,), or (G, K).
    groups_ : ndarray of shape (G,)
        The groups of `fit`, in order; None without groups.
    alpha_ : float
        The level in use: alpha after `fit`, α_t of a stream.
    n_scores_ : int
        The number of scores that the threshold is a quantile of.
    coverage_ : float
        The share of the rows of a stream so far whose sets contained the true output; NaN after
        `fit`.
    n_sets_ : int
        The number of rows that `coverage_` averages.
    classes_ : ndarray of shape (K,)
        Those of the estimator, if it has any.
    n_features_in_, feature_names_in_
        Those of the estimator, if it has them.

    Raises
    ------
    TypeError
        If the estimator is of another kind.

    See Also
    --------
    RiskMonitor : An upper bound on the error rate, for outputs and not for sets.
    AbstainingHedgeClassifier : A binary classifier that may abstain.

    Notes
    -----
    The probability is over the held-out rows and the new row together. It is not the probability
    for a given x: sets may miss more often in some regions than in others. If scores tie, as those
    of trees and of few distinct rows do, sets are right more often than requested. A set can be
    empty: then no output is as likely as the outputs that the estimator usually gets right.

    A group with fewer than ``1/α − 1`` held-out rows has sets of everything, and so has a group
    that was not in `fit`, as no smaller set is guaranteed there.

    The first rows of a stream have sets of everything, until ``1/α − 1`` scores are known.

    References
    ----------
    .. [1] Papadopoulos, Proedrou, Vovk, Gammerman (2002), "Inductive confidence machines for
       regression".
    .. [2] Vovk, Gammerman, Shafer (2005), "Algorithmic learning in a random world".
    .. [3] Gibbs, Candès (2021), "Adaptive conformal inference under distribution shift",
       Proposition 4.1.
    .. [4] Vovk (2012), "Conditional validity of inductive conformal predictors", Proposition 3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from skstructured import OnlineStructuredPredictor, PredictionSets
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> model = PredictionSets(OnlineStructuredPredictor(random_state=0), random_state=0).fit(X, y)
    >>> model.predict_set(X_new).shape
    (450, 10)
    >>> bool(model.covered(X_new, y_new).mean() > 0.85)
    True
    """

    estimator: Any
    alpha: float = 0.1
    calibration_size: float = 0.25
    step_size: float = 0.02
    window: int = 1000
    by_class: bool = False
    random_state: Seed = None

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None, groups: Any = None) -> Self:
        """Fit the estimator on some of the rows, and compute the threshold from the others.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Features, in a form that the estimator accepts.
        y : array-like
            Outputs, in a form that the estimator accepts.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights, which are passed to ``estimator.fit``. Rows of weight 0 are left
            out; the others count equally for the threshold.
        groups : array-like of shape (n,) or None, default=None
            The group of each row, a number or a string: each group has its own threshold. They are
            not passed to the estimator; `predict_set` and `covered` need them too.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or `groups` are wrong, if there are fewer than two rows, or if the
            estimator raises one; the fitted state is then unchanged.
        """
        self._check(y)
        X, y = indexable(X, y)
        weight = check_weights(sample_weight, X, _num_samples(X))
        counted = np.flatnonzero(weight > 0.0)
        if groups is not None:
            groups = check_groups(groups, _num_samples(X))
            unique_groups = unique_values("groups", groups[counted])
        learned, held_out = self._split(counted)
        options = {} if sample_weight is None else {"sample_weight": weight[learned]}
        estimator = clone(self.estimator).fit(rows_at(X, learned), rows_at(y, learned), **options)
        kind = choose_kind(estimator)
        read = kind.read(rows_at(y, held_out))
        scores = kind.scores(kind.numbers(rows_at(X, held_out)), read)
        with learning_aside(self) as new:
            if groups is None:
                new._begin(estimator, scores, new._threshold(kind, scores, read))
            else:
                masks = [groups[held_out] == group for group in unique_groups]
                q = [new._threshold(kind, scores[mask], read[mask]) for mask in masks]
                new._begin(estimator, scores, np.array(q), unique_groups)
        return self

    @available_if(estimator_has("partial_fit"))
    def partial_fit(self, X: Features, y: Outputs, classes: Any = None) -> Self:
        """Learn rows in order, each after its set was made; the size of chunks does not matter.

        Parameters
        ----------
        X, y : array-like
            As for `fit`.
        classes : array-like or None, default=None
            All labels, if the estimator needs them in its first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is wrong, or if the estimator raises one; the fitted state is then
            unchanged.
        """
        self._check(y)
        if self.by_class or np.ndim(getattr(self, "threshold_", 0.0)) > 0:
            reason = "partial_fit has one level"
            raise ValueError(f"by_class=True and groups are only supported for fit: {reason}.")
        X, y = indexable(X, y)
        with self.turn:
            first = not hasattr(self, "estimator_")
            estimator = clone(self.estimator) if first else self.estimator_
            if first:
                options = {} if classes is None else {"classes": classes}
                estimator.partial_fit(rows_at(X, slice(0, 1)), rows_at(y, slice(0, 1)), **options)
            kind = choose_kind(estimator)
            read = kind.read(y)
            kind.check(y, read)
            kind.scores(kind.numbers(X), read)  # so errors come up before a row is learned
            if first:
                with learning_aside(self) as new:
                    new._begin(estimator, np.zeros(0), quantile(np.zeros(0), new.alpha))
                    new._count(covered=True)
            for i in range(int(first), _num_samples(X)):
                row = slice(i, i + 1)
                with self.lock:
                    self._learn_row(kind, rows_at(X, row), rows_at(y, row), read[row])
        return self

    def predict_set(self, X: Features, groups: Any = None) -> Array:
        """Return the sets of rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Features.
        groups : array-like of shape (n,) or None, default=None
            The groups of the rows, if `fit` had groups.

        Returns
        -------
        ndarray of bool, or for real numbers of float
            In the form that the class describes for the task.

        Raises
        ------
        ValueError
            If groups are missing or not expected, or if the estimator raises one.
        """
        twin = snapshot(self)
        kind = twin._kind()
        P = kind.numbers(X)
        sets = kind.sets(P, math.inf)
        for rows, q in twin._parts(groups, len(P)):
            sets[rows] = kind.sets(P[rows], q)
        return sets

    def covered(self, X: Features, y: Outputs, groups: Any = None) -> Array:
        """Return whether the set of every row contains its output.

        If `threshold_` is inf, sets contain everything, even classes that the estimator has not
        learned. Otherwise, and with `by_class`, these are in no set.

        Parameters
        ----------
        X, y : array-like
            As for `fit`.
        groups : array-like of shape (n,) or None, default=None
            As for `predict_set`.

        Returns
        -------
        ndarray of bool, of shape (n,)

        Raises
        ------
        ValueError
            If X and y differ in length, if groups are missing or not expected, or if the estimator
            raises one.
        """
        twin = snapshot(self)
        kind = twin._kind()
        read, P = kind.read(y), kind.numbers(X)
        check_lengths(len(P), len(read))
        scores = kind.scores(P, read)
        covered = np.empty(len(scores), dtype=bool)
        for rows, q in twin._parts(groups, len(scores)):
            limit = q if np.ndim(q) == 0 else np.append(q, -math.inf)[read[rows]]
            covered[rows] = scores[rows] <= limit
        return covered

    def predict(self, X: Features) -> Any:
        """Predict outputs with the estimator."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X: Features) -> Floats:
        """Probabilities of the estimator, unchanged."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @available_if(estimator_has("score"))
    def score(self, X: Features, y: Outputs, sample_weight: Any = None) -> float:
        """Return the `score` of the estimator; see `covered` for the sets."""
        check_is_fitted(self, "estimator_")
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.estimator_.score(X, y, **options)

    classes_ = property(attrgetter("estimator_.classes_"), doc="Labels of the estimator.")
    n_features_in_ = property(attrgetter("estimator_.n_features_in_"), doc="Number of features.")
    feature_names_in_ = property(attrgetter("estimator_.feature_names_in_"), doc="Their names.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.input_tags = inner.input_tags
        return tags

    def _split(self, rows: Ints) -> Any:
        """Rows that are learned, and held-out rows, drawn as new rows are: not stratified."""
        if (n := len(rows)) < 2:
            raise ValueError(f"n_samples={n} is too few: 2 are needed, one of them held out.")
        held_out = min(max(round(self.calibration_size * n), 1), n - 1)
        return train_test_split(rows, test_size=held_out, random_state=self.random_state)

    def _check(self, y: Outputs) -> None:
        """A ValueError for a parameter that is out of its range, or without outputs."""
        if not hasattr(self.estimator, "get_params"):
            raise ValueError(f"estimator must be an estimator, got {self.estimator!r}.")
        for name in ("alpha", "calibration_size"):
            check_real(name, getattr(self, name), lambda value: 0.0 < value < 1.0, "be in (0, 1)")
        check_real("step_size", self.step_size, lambda value: 0.0 <= value < 1.0, "be in [0, 1)")
        check_integer("window", self.window)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")

    def _threshold(self, kind: Any, scores: Floats, read: Array) -> Any:
        """The threshold of held-out rows, or those of their classes."""
        if not self.by_class:
            return quantile(scores, self.alpha)
        if not isinstance(kind, _OfClasses):
            model = kind.estimator
            raise ValueError(f"by_class=True is only supported for classes, got {model!r}.")
        classes = range(len(kind.estimator.classes_))
        return np.array([quantile(scores[read == k], self.alpha) for k in classes])

    def _parts(self, groups: Any, n: int) -> list[tuple[Any, Any]]:
        """The rows of each group with its threshold, which is inf for groups that are new."""
        if (groups is None) != (self.groups_ is None):
            raise ValueError("groups must be passed if they were passed to fit, and only then.")
        if groups is None:
            return [(slice(None), self.threshold_)]
        codes = places(check_groups(groups, n), self.groups_)
        new = np.full_like(self.threshold_[0], math.inf)
        return [(codes == -1, new), *((codes == g, q) for g, q in enumerate(self.threshold_))]

    def _begin(self, estimator: Any, scores: Floats, threshold: Any, groups: Any = None) -> None:
        """Set the fitted attributes, with scores in random order and an empty stream."""
        self.estimator_, self.groups_ = estimator, groups
        self._recent = scores[-self.window :]
        self.n_scores_, self.alpha_ = len(scores), float(self.alpha)
        self.threshold_: Any = threshold
        self.n_sets_, self._held = 0, 0

    def _learn_row(self, kind: Any, x: Any, y: Any, read: Array) -> None:
        """Score a row by its set, learn it, and move the level."""
        score = float(kind.scores(kind.numbers(x), read)[0])
        self.estimator_.partial_fit(x, y)
        self._recent = np.append(self._recent, score)[-self.window :]
        self._count(covered=score <= self.threshold_)

    def _count(self, covered: bool) -> None:
        """Count a set: update the level, and the threshold for the next row."""
        self.n_sets_, self._held = self.n_sets_ + 1, self._held + bool(covered)
        self.alpha_ += self.step_size * (self.alpha - (not covered))
        self.n_scores_ = len(self._recent)
        self.threshold_ = quantile(self._recent, self.alpha_)

    @property
    def coverage_(self) -> float:
        """The share of the rows of a stream so far whose sets contained the true output."""
        check_is_fitted(self, "estimator_")
        return self._held / self.n_sets_ if self.n_sets_ else float("nan")

    def _kind(self) -> Any:
        check_is_fitted(self, "estimator_")
        return choose_kind(self.estimator_)
