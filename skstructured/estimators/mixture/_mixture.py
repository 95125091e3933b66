"""Mixtures of members: what `StructuredPredictor` and `StructuredRegressor` share."""

from copy import copy
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state, indexable

from skstructured._base.validation import check_finite, check_integer, check_positive, read_rows
from skstructured._engine.robust_columns import FeatureRanges, RobustColumns
from skstructured._engine.rows import Rows
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.lock import learning_aside, locked, one_blas_thread
from skstructured._learners.passes import is_verbose
from skstructured._learners.predictions import with_rows
from skstructured.estimators._auto import draw_seeds
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._boosting import BoostedTrees
from skstructured.estimators.mixture._budget import members_in_time, select_rows
from skstructured.estimators.mixture._ridge import KernelRidge
from skstructured.estimators.mixture._training import Member, Stage, StandardRows, Training
from skstructured.estimators.mixture._weights import mixing_weights
from skstructured.extend._types import Features, Floats, Given, Outputs

#: Kernels of ridge regressions.
RIDGE_KERNELS = "rbf", "laplacian", "arc-cosine"


class Mixed(NamedTuple):
    """Fitted members, with the weights (n_members,) and intercept (dim,) that mix their scores.

    `rows` transforms new rows; without a scale the estimators check them.
    """

    members: list[Member]
    weights: Floats
    intercept: Floats
    rows: StandardRows

    @one_blas_thread()
    def scores(self, X: Any) -> Floats:
        """Σ_e a_e θ_e(x) + b of every row, some at a time if rows are checked ones."""
        if self.rows.scale is None:
            return self._chunk(X)
        size = _training.ROWS_AT_ONCE
        starts = range(0, max(X.shape[0], 1), size)
        return np.concatenate([self._chunk(X[start : start + size]) for start in starts])

    def _chunk(self, X):
        pairs, rows = zip(self.weights, self.members, strict=True), self.rows.of(X)
        return sum(a * member.scores(rows) for a, member in pairs if a > 0.0) + self.intercept


@locked
class Mixture(BaseEstimator):
    """Members that learn the same rows, whose scores are mixed by `weights_` and `intercept_`.

    A subclass defines `_start(y, sample_weight)`, which sets `loss_` and returns packed outputs and
    weights of rows; `_learners(X)`, pairs of a name and a `Member`, or an estimator, which becomes
    one of the class `member_of`; `_trees(seed)`; `_judge(theta, packed, weight)`, the score of
    predictions; `_usual_weight(n_members)`; and, if need be, `_weights_of_few(members, training)`.
    """

    #: CSR rows with more columns are learned by the first member alone.
    _widest = 4096

    #: How many of the kernels share `n_landmarks`.
    _shared_by = 1

    #: Rows are standardized, so they may have missing values; cells are put in range first.
    standardize = True

    @property
    def feature_ranges_(self) -> FeatureRanges:
        """`FeatureRanges`: center, scale, edges and heavy features; not of estimators given."""
        rows = self._mixed.rows if hasattr(self, "_mixed") else None
        if rows is None or rows.columns is None:
            raise AttributeError("feature_ranges_ is set by fit with estimators='auto' alone.")
        return rows.columns.ranges(rows.scale.ranges)

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Fit all members, and find their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features; for label sequences a list of (length, p) arrays.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of rows, for all members and their weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        with self.turn, learning_aside(self) as new:
            new._fit(X, y, sample_weight)
        return self

    @one_blas_thread()  # more wait for each other where cores are shared
    def _fit(self, X, y, sample_weight, groups=None):
        """Fit; the mixed honest scores (n, dim), NaN of rows that have none.

        If there are groups, whose rows stand together, each is left out as a whole.
        """
        self._check_parameters()
        end = perf_counter() + (self.max_seconds or np.inf)
        packed, weight = self._start(y, sample_weight)
        check_consistent_length(X, packed)
        vars(self).pop("_model", None)  # of a stream
        X = self._checked_rows(X, reset=True) if self._is_auto() else X
        arrays = [*indexable(X, y), packed, weight, groups]
        counted = np.flatnonzero(weight)
        if len(counted) < len(weight):
            arrays = select_rows(arrays, counted)
        members = self._members(arrays[0])
        if self.max_seconds is not None:
            members = members_in_time(self._time_members, members, arrays, end, self._report)
        members, honest, training = self._fit_members(members, *arrays)
        fitted_members = [member for _, member in members]
        if training.folds:
            weights = self._weights(honest, training, arrays[2])
        else:
            weights = self._weights_of_few(fitted_members, training)
            self.validation_score_ = np.nan
        rows = training.rows._replace(X=None, unchanged=None)
        self._mixed = Mixed(fitted_members, *weights, rows)
        self.weights_, self.intercept_ = weights
        fitted = {name: getattr(learner, "fitted", learner) for name, learner in members}
        self.named_estimators_, self.estimators_ = fitted, list(fitted.values())
        for name in ("n_features_in_", "feature_names_in_"):
            if not self._is_auto() and hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        scores = np.full((len(weight), training.dim), np.nan)
        scores[counted[training.judged]] = np.tensordot(weights[0], honest, 1) + weights[1]
        return scores

    def _check_parameters(self):
        check_integer("n_landmarks", self.n_landmarks)
        is_verbose(self)  # refuses a bad value before anything is learned
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds)
            if not self._is_auto():
                raise ValueError("max_seconds is only supported for estimators='auto'.")
        self.random_state_ = check_random_state(self.random_state)

    def _is_auto(self):
        """Whether there are no estimators given, which would check rows themselves."""
        return isinstance(self.estimators, str) and self.estimators == "auto"

    def _checked_rows(self, X, reset=False):
        rows = read_rows(self, X, reset)
        check_finite(self, rows, fresh=reset)
        return rows.matrix

    def _mixed_scores(self, X):
        """Scores (n, dim) of new rows by the fitted members."""
        return self._mixed.scores(self._checked_rows(X) if self._is_auto() else X)

    def _training(self, X, y, packed, weight, groups, alone):
        """The `Training` of rows of positive weight; none is left out of a member alone."""
        weight = weight / weight.mean()
        V, rows = self._vertices(packed), StandardRows(X, unchanged=X)
        if self._is_auto():
            rows = rows._replace(columns=RobustColumns.of(X, weight)).of(X)
            in_range = Rows.from_array(rows.X)
            rows = rows._replace(scale=scale_of(self, in_range.width, True))
            rows.scale.count_all(in_range, weight)
        origin = self.loss_.mean(np.zeros((1, V.shape[1])))[0]
        training = Training(
            rows, y, V, weight, None if np.ptp(weight) == 0.0 else weight,
            np.full(len(V), -1), origin,
        )  # fmt: skip
        training = training._replace(truths=self._truths(training))
        return training if alone else self._in_parts(training, packed, groups)

    def _in_parts(self, training, packed, groups):
        """The `Training` with folds that are left out, if there are enough rows, or groups."""
        n, landmarks, reserved = len(training.V), self._landmarks(), 0.0
        if self._is_auto() and n > KernelRidge.most_exact * landmarks:
            reserved = min(self.n_landmarks / n, 0.5)
        rows = training.rows.unchanged, training.V, training.weight, packed, self.random_state_
        parts, units, share = _training.draw_folds_of_rows(*rows, reserved, groups)
        training = training._replace(parts=parts, units=units, effective_share=share)
        if reserved == 0.0 or not training.folds:
            return training
        stretching = _training.spread_evenly(training.unjudged, self.n_landmarks)
        return training._replace(reserved=stretching)

    def _weights_of_few(self, members, training):
        """Weights of members without honest scores, and the intercept."""
        return np.full(len(members), 1.0 / len(members)), np.zeros(training.dim)

    def _landmarks(self):
        """Landmarks of each kernel."""
        return max(self.n_landmarks // self._shared_by, 1)

    def _vertices(self, packed):
        """What kernels and trees learn."""
        return self.loss_.space.unpack(packed)

    def _truths(self, training):
        """What the loss compares the scores of rows with."""
        return training.V

    def _members(self, X):
        """Pairs of a name and a `Member`; trees last."""
        auto = self._is_auto()
        pairs = self._learners(X) if auto else self._given()
        members = [(name, self._as_member(learner)) for name, learner in pairs]
        if not auto or (issparse(X) and X.shape[1] > self._widest):
            return members[:1] if auto else members
        names = [name for name in RIDGE_KERNELS if name not in dict(members)]
        *seeds, last = draw_seeds(self.random_state_, 1 + len(RIDGE_KERNELS))
        for name, seed in zip(names, seeds, strict=False):
            members.append((name, KernelRidge(name, self._landmarks(), seed)))
        if not issparse(X) and not getattr(self.loss_, "calls_python", False):
            members.append(("boosting", BoostedTrees(self.loss_, last, self.n_jobs)))
        return [*members, ("trees", self._trees(last))]

    def _as_member(self, learner):
        return learner if isinstance(learner, Member) else self.member_of(learner, self.loss_)

    def _given(self):
        members = self.estimators
        is_list = isinstance(members, (list, tuple)) and len(members) > 0
        if not is_list or not all(map(_is_named_estimator, members)):
            raise ValueError(
                f'estimators must be "auto" or a list of (name, estimator) pairs, got {members!r}.'
            )
        if len(dict(members)) < len(members):
            raise ValueError(
                f"Names of estimators must differ, got {[name for name, _ in members]}."
            )
        return list(members)

    def _report(self, text):
        """Print a line on the progress of `fit`, if it is verbose."""
        if is_verbose(self):
            print(f"{type(self).__name__}: {text}")

    def _time_members(self, X, arrays):
        """Seconds of the members of a mixture of all rows X that are fitted to some of them."""
        twin = copy(self)
        twin.verbose, twin.random_state_ = 0, np.random.RandomState(0)
        twin._fit_members(twin._members(X), *arrays)
        return twin._seconds

    def _fit_members(self, members, X, y, packed, weight, groups):
        """Members that are worth having, their honest scores, and the `Training` at the end."""
        training = self._training(X, y, packed, weight, groups, alone=len(members) == 1)
        if not training.folds and len(members) > 1:  # boosting needs held-out rows
            members = [p for p in members if p[1].stage(len(weight)) != Stage.NEEDS_LOSSES]
        results, self._seconds = {}, {}
        for stage in Stage:
            stage_members = [pair for pair in members if pair[1].stage(len(weight)) == stage]
            if stage >= Stage.NEEDS_LOSSES and stage_members and results and training.folds:
                least_losses = results[self._best(training, results)][2]
                training = training._replace(least_losses=least_losses)
            tasks = [delayed(self._learned)(*pair, training, packed) for pair in stage_members]
            results |= Parallel(n_jobs=self.n_jobs, require="sharedmem")(tasks)
            if stage == Stage.STRETCHES_COLUMNS:
                for _, member in stage_members:
                    training = member.stretched(training)
        members = [pair for pair in members if results[pair[0]] is not None]
        if training.least_losses is not None and self.max_seconds is None:
            members = self._grow_best(members, results, training, packed)
        honest, scores, _ = zip(*(results[name] for name, _ in members), strict=True)
        self.validation_scores_ = np.array(scores)
        return members, honest, training

    def _grow_best(self, members, results, training, packed, size=1.5):
        """Let the best member learn again, larger, if it is one that was tried; the members."""
        best = self._best(training, results)
        member = dict(members)[best].resized(size)
        if member.stage(len(training.V)) != Stage.IS_TRIED:
            return members
        results |= [self._learned(best, member, training._replace(least_losses=None), packed)]
        return [(name, member if name == best else other) for name, other in members]

    def _best(self, training, results):
        """Name of the member whose mean held-out loss is least."""
        weight = training.weight[training.judged]
        learned = {name: result for name, result in results.items() if result is not None}
        return min(learned, key=lambda name: weight @ learned[name][2])

    def _learned(self, name, member, training, packed):
        """Fit a member; its name, and its honest scores, score and held-out losses, or None."""
        began, judged = perf_counter(), training.judged
        honest = None if self._is_hopeless(member, training) else member.fit(training)
        score, losses = np.nan, None
        if honest is not None and len(judged) > 0:
            theta = self._in_scale(honest, training)
            score = self._judge(theta, packed[judged], training.weight[judged])
            losses = self.loss_.value_and_gradient(theta, training.truths[judged])[0]
        seconds = self._seconds[name] = perf_counter() - began
        end = "left out" if honest is None else f"held-out score {score:.4f}"
        self._report(f"{name}, {seconds:.1f} s, {end}")
        return name, None if honest is None else (honest, score, losses)

    def _in_scale(self, honest, training):
        """Honest scores of a member times the weight that it would have alone, and an intercept."""
        a, b = self._least(honest[None], training, slice(None), 10)
        return a * honest + b

    def _is_hopeless(self, member, training, limit=1.3):
        """Whether the loss stays far from the least if it keeps falling as from 25% to 50% of rows.

        Logarithms of losses fall about as fast with each doubling, or more slowly in the end. Few
        units, such as groups, show nothing.
        """
        is_tried = member.stage(len(training.V)) == Stage.IS_TRIED
        if not is_tried or training.least_losses is None:
            return False
        if training.units.max() + 1 < 4 * _training.FEWEST_ROWS:
            return False
        quarter, half = (self._trial_losses(member, training, share) for share in (0.25, 0.5))
        weight = training.weight[training.judged] * ~np.isnan(quarter)
        quarter, half = np.nan_to_num([quarter, half]) @ weight
        return half**2 > limit * quarter * (weight @ training.least_losses)

    def _trial_losses(self, member, training, share):
        """Held-out losses (m,) by a smaller member that learns a share of the units; NaN of others.

        The units of a larger share include those of a smaller one.
        """
        indices, losses = training.draw_units(share, member.seed), np.full(len(training.V), np.nan)
        drawn = training.subset(indices)
        theta, judged = self._in_scale(member.resized(share).fit(drawn), drawn), drawn.judged
        values = self.loss_.value_and_gradient(theta, drawn.truths[judged])[0]
        losses[indices[judged]] = values
        return losses[training.judged]

    def _least(self, honest, training, subset, max_iter=200):
        """Weights and intercept of the least loss on a subset of the judged rows."""
        indices, usual = training.judged[subset], self._usual_weight(len(honest))
        truths, mean = training.truths, np.average(training.truths, 0, training.weight)
        batch = truths[indices], training.effective_share * training.weight[indices], mean
        return mixing_weights(honest[:, subset], *batch, self.loss_, usual, max_iter)

    def _weights(self, honest, training, packed):
        """Weights and intercept; each half of the judged rows is scored by those of the other."""
        honest, judged = np.array(honest), training.judged
        halves = np.unique(training.units[judged], return_inverse=True)[1] % 2
        theta = np.empty((len(judged), training.dim))
        for half in (0, 1):
            a, b = self._least(honest, training, halves != half)
            theta[halves == half] = np.tensordot(a, honest[:, halves == half], 1) + b
        self.validation_score_ = self._judge(theta, packed[judged], training.weight[judged])
        return self._least(honest, training, slice(None))

    def __sklearn_tags__(self):
        return with_rows(super().__sklearn_tags__(), self)


def _is_named_estimator(pair):
    return isinstance(pair, tuple) and len(pair) == 2 and hasattr(pair[1], "get_params")
