"""`fit` of a conditional random field: from rows and outputs to weights."""

import copy
import warnings
from typing import NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skstructured._base.lbfgs import minimize_lbfgs
from skstructured._base.validation import (
    check_bool,
    check_choice,
    check_integer,
    check_missing,
    check_positive,
    check_weights,
    unchanged_on_error,
)
from skstructured._chains.batch import marginals, score
from skstructured._learners.batch_scaling import FeatureScale, training_means, with_means
from skstructured.estimators.crf._objective import (
    TRANSITIONS,
    ChainObjective,
    EdgeObjective,
    Layout,
    VectorObjective,
)
from skstructured.estimators.kernel._values import check_cache_size
from skstructured.estimators.margin._base import check_alpha
from skstructured.estimators.margin._features import check_memory
from skstructured.extend._types import Features, Given, Outputs
from skstructured.sequences._decoding import rule_of
from skstructured.spaces import LabelSequence

#: α n that are tried, the largest first: of 1 is C=1 of LogisticRegression.
STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

#: Until so many in turn are no better.
PATIENCE = 2

#: Parts that few rounds are divided into, each held out in turn; of more than `FEW` one is.
PARTS, FEW = 5, 500

#: Losses that differ by less than this share are as good as each other.
ALIKE = 0.01

#: Fewer rounds tell nothing, and are learned with α = 1/n.
LEAST = 10


class Path(NamedTuple):
    """What was tried: α (m,), and the mean losses of what was held out, (m,)."""

    alphas: np.ndarray
    losses: np.ndarray

    @property
    def best(self):
        """The largest α whose loss is hardly more than the least."""
        least = self.losses.min()
        return float(self.alphas[self.losses <= least + ALIKE * abs(least)][0])


class Part:
    """A field that learns some rounds, with ever smaller α, and is judged on the others."""

    def __init__(self, field, batch, share, held_out, learned):
        self.field = copy.copy(field)
        self.field.warm_start, self.field.verbose = field._is_linear(), 0
        vars(self.field).pop("coef_", None)
        self.field.random_state_ = copy.deepcopy(field.random_state_)
        self.held_out, self.batch = batch.take(held_out), batch.take(learned)
        self.share = share[learned] / share[learned].sum()

    def losses(self, alpha):
        """Losses of the rounds held out, beginning where the last α ended."""
        field, packed = self.field, self.held_out.packed
        field.alpha_ = alpha
        field._learn(self.batch, self.share)
        theta = field._thetas(self.held_out)
        if field._is_sequential():  # as the objective does, whose kernels are compiled
            log_z = marginals(*theta.arrays)[1]
            return field.loss_.constants_of().c * (log_z - score(*theta.arrays, packed.values))
        return field.loss_.value(theta, field.space_.unpack(packed))


def tried_alphas(field, batch, share):
    """The `Path` of a field whose space and loss are fitted; None of fewer rounds than `LEAST`."""
    counted = np.flatnonzero(share > 0.0)
    if len(counted) < LEAST:
        return None
    order = copy.deepcopy(field.random_state_).permutation(counted)
    parts = [np.sort(order[i::PARTS]) for i in range(PARTS)]
    rest = [np.sort(np.setdiff1d(counted, part)) for part in parts]
    pairs = list(zip(parts, rest, strict=True))[: PARTS if len(counted) <= FEW else 1]
    held = [Part(field, batch, share, *pair) for pair in pairs]
    weight, losses = share[np.concatenate([pair[0] for pair in pairs])], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last fit says what matters
        for strength in STRENGTHS:
            found = np.concatenate([part.losses(strength / len(counted)) for part in held])
            losses.append(np.average(found, weights=weight))
            if len(losses) > int(np.argmin(losses)) + PATIENCE:
                break
    return Path(np.array(STRENGTHS[: len(losses)]) / len(counted), np.array(losses))


def check_jobs(value):
    """A ValueError unless `n_jobs` is an integer other than 0, or None."""
    if value is not None and (isinstance(value, bool) or value == 0):
        raise ValueError(f"n_jobs must be an integer other than 0, or None, got {value!r}.")
    if value is not None:
        check_integer("n_jobs", value, lowest=-(2**31), highest=2**31)


class Trace:
    """Objectives and duality gaps of the iterations, and when they are good enough.

    Parameters
    ----------
    tol : float
        The gap to stop at.
    verbose : int
        Whether a line is printed for each iteration.
    """

    def __init__(self, tol, verbose):
        self.tol, self.verbose = tol, verbose
        self.values, self.gaps = [], []

    def add(self, value, gap):
        """Note an iteration; whether its gap is small enough."""
        self.values.append(float(value))
        self.gaps.append(float(gap))
        if self.verbose:
            print(f"iteration {len(self.values)}: objective {value:.8g}, gap {gap:.3g}")
        return self.good

    @property
    def good(self):
        """Whether the last gap is small enough."""
        return bool(self.gaps) and self.gaps[-1] <= self.tol


class BatchFit:
    """`fit` by L-BFGS, and the weights as attributes.

    Needs `_unfitted_space()`, `_loss_over(space)`, `_read` and `_check_rows`, and the parameters
    of `ConditionalRandomField`.
    """

    _missing_choices = ("mean", "error")

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Learn from all rows, or all sequences.

        Parameters
        ----------
        X : list of n matrices (length, p), or {array-like, CSR matrix} of shape (n, p)
            Sequences, dense or CSR, for "sequence"; else rows. CSR stays CSR.
        y : list of n label arrays, or array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of rows, or of sequences: a weight of two is the same as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, outputs outside the space, lengths that differ, inf in X, and NaN
            where it is an error, by sequence and position; what was fitted is then unchanged.
        """
        self._check_parameters()
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight)
        return self

    def _check_parameters(self):
        check_missing(self)
        check_choice("transitions", self.transitions, TRANSITIONS)
        check_alpha(self.alpha, ("auto",))
        check_positive("tol", self.tol)
        check_jobs(self.n_jobs)
        check_cache_size(self.cache_size)
        check_integer("max_iter", self.max_iter)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("warm_start", self.warm_start)
        if self.standardize != "auto":
            check_bool("standardize", self.standardize)
        if not isinstance(self.verbose, (bool, np.bool_)):
            check_integer("verbose", self.verbose, lowest=0)

    def _fit(self, X, y, sample_weight):
        before = self._weights_before()
        batch = self._read(X, reset=True)
        self._check_rows(batch, fresh=True)
        self.space_ = self._space_with_costs().fit(y)
        self.loss_ = self._loss_over(self.space_)
        decoder = self._decoder()
        if self._is_sequential():
            rule_of(decoder)
        self.random_state_ = check_random_state(self.random_state)
        if hasattr(self.space_, "classes_"):
            self.classes_ = self.space_.classes_
        elif hasattr(self, "classes_"):
            del self.classes_
        packed = self.space_.pack(y)
        batch.check_lengths(packed)
        weight = check_weights(sample_weight, packed, len(packed))
        share = weight / weight.sum()
        self._forget_kernels()
        if not self._is_linear():
            check_memory(len(packed), self.cache_size)
        spread = np.repeat(share, packed.lengths) if self._is_sequential() else share
        self._means = training_means(batch.rows, spread)
        batch = batch._replace(rows=with_means(batch.rows, self._means), packed=packed)
        self._choose_alpha(batch, share)
        self._learn(batch, share, before)

    def _choose_alpha(self, batch, share):
        """`alpha_`, and where it was searched `alpha_path_`."""
        vars(self).pop("alpha_path_", None)
        if not isinstance(self.alpha, str):
            self.alpha_ = float(self.alpha)
            return
        path = tried_alphas(self, batch, share)
        self.alpha_ = 1.0 / np.count_nonzero(share) if path is None else path.best
        if path is not None:
            self.alpha_path_ = np.column_stack(path)

    def _learn(self, batch, share, before=None):
        """Learn rounds of shares that sum to 1; a warm start goes on from the weights before."""
        if not self._is_linear():
            self._solve_kernels(batch.rows, batch.packed, share)
            return
        before = self._weights_before() if before is None else before
        self._solve(batch.rows, batch.packed, share, before)

    def _space_with_costs(self):
        """A copy of the space with `cost_matrix`; a ValueError where it has no place for one."""
        space = self._unfitted_space()
        if self.cost_matrix is None:
            return space
        if "cost_matrix" not in space.get_params():
            raise ValueError(
                'cost_matrix is for "sequence", "simplex" and "ordinal", got the space '
                f"{type(space).__name__}, which has its own loss."
            )
        if space.cost_matrix is not None:
            raise ValueError(f"cost_matrix was given twice: it is a parameter of {space!r} too.")
        return space.set_params(cost_matrix=self.cost_matrix)

    def _is_sequential(self):
        return isinstance(self.space_, LabelSequence)

    def _solve(self, rows, packed, share, before):
        """Learn, and keep the weights in units of X."""
        chains = self._is_sequential()
        X = rows.matrix
        spread = np.repeat(share, packed.lengths) if chains else share
        scale = self._scale_for(X, spread)
        layout = self._layout(X.shape[1])
        objective = self._objective(scale.transform(X), packed, share, layout)
        Theta = self._first_weights(before, scale, layout)
        self._keep(self._minimized(objective, Theta), scale, layout)

    def _minimized(self, objective, Theta):
        """Weights near the optimum, begun at Theta; the iterations become attributes."""
        trace = Trace(self.tol, self.verbose)

        def add(value, gradient):
            return trace.add(value, objective.gap(gradient))

        with objective:
            start = objective.value_and_gradient(Theta)
            if not objective.gap(start[1]) <= self.tol:
                evaluate = objective.value_and_gradient
                Theta = minimize_lbfgs(evaluate, Theta, self.max_iter, add, maxcor=10).x
        if not trace.values:  # the start is good enough, or no step was found that is better
            add(*start)
        if not np.isfinite(trace.values[-1]) or not np.isfinite(Theta).all():
            raise ValueError(
                "L-BFGS came to weights that are not finite numbers: features of this size need "
                'standardize=True, or "auto", or a larger alpha.'
            )
        self._note(trace)
        return Theta

    def _layout(self, width):
        """Where weights stand; a ValueError for transitions that the model does not have."""
        chains, plain = self._is_sequential(), self.transitions == "bigram"
        if not plain and not chains:
            raise ValueError(
                f'transitions={self.transitions!r} is for space="sequence"; use "bigram".'
            )
        return Layout(width, self.space_.dim_, self.fit_intercept, chains, self.transitions)

    def _scale_for(self, X, weight):
        if self.standardize is False:
            return FeatureScale()
        return FeatureScale.of(X, weight, self.fit_intercept, self.standardize == "auto")

    def _objective(self, Z, packed, share, layout):
        rest = (share, self.alpha_, layout)
        if layout.chains:
            kind = EdgeObjective if layout.step_features else ChainObjective
            return kind(Z, packed, *rest, n_jobs=self.n_jobs)
        return VectorObjective(Z, self.loss_, packed, *rest, n_jobs=self.n_jobs)

    def _weights_before(self):
        """What a warm start goes on from, or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        edges = (self.start_, self.end_, self.transitions_) if self._is_sequential() else ()
        steps = getattr(self, "transition_coef_", None)
        return self.coef_, self.intercept_, edges, steps, getattr(self, "classes_", None)

    def _first_weights(self, before, scale, layout):
        """Zeros, or those before where they fit; a ValueError where they do not."""
        if before is None:
            return np.zeros(layout.shape)
        coef, intercept, edges, steps, classes = before
        same = np.array_equal(classes, getattr(self, "classes_", None))
        if not same or coef.shape != (layout.dim, layout.width) or bool(edges) != layout.chains:
            raise ValueError(
                "warm_start=True goes on from weights of the same features and labels, but the "
                f"last fit had {coef.shape[1]} features and labels {classes!r:.80}."
            )
        if layout.step_features:
            steps = np.zeros((*edges[2].shape, layout.width)) if steps is None else steps
            steps, offset = scale.unfold(steps.reshape(-1, layout.width), edges[2].ravel())
            edges = *edges[:2], offset.reshape(edges[2].shape)
        return layout.join(*scale.unfold(coef, intercept), edges, steps)

    def _note(self, trace):
        self.loss_curve_ = np.array(trace.values)
        self.n_iter_ = len(trace.values)
        self.duality_gap_ = trace.gaps[-1]
        if not trace.good:
            warnings.warn(
                f"L-BFGS stopped after {self.n_iter_} iterations with a duality gap of "
                f"{self.duality_gap_:.3g} (tol={self.tol:g}) and a gradient of norm "
                f"{np.sqrt(2.0 * self.alpha_ * self.duality_gap_):.3g}: raise max_iter, alpha or "
                "tol, or give features on one scale.",
                ConvergenceWarning,
                stacklevel=7,
            )

    def _keep(self, Theta, scale, layout):
        coef, offset = scale.fold(Theta[: layout.width].T, layout.offset(Theta))
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), np.array(offset)
        for name in ("start_", "end_", "transitions_", "transition_coef_"):
            vars(self).pop(name, None)
        if layout.chains:
            edges = map(np.array, layout.edges(Theta))
            self.start_, self.end_, self.transitions_ = edges
        if layout.step_features:
            k = layout.dim
            steps, offset = scale.fold(layout.step_coef(Theta).T, self.transitions_.ravel())
            self.transitions_ = np.array(offset).reshape(k, k)
            self.transition_coef_ = np.ascontiguousarray(steps).reshape(k, k, -1)
