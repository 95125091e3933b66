"""What max-margin models share: ascent of the dual, until its gap is small."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._validation import check_bool, check_choice, check_integer, check_real
from skstructured.margin._base import MarginLearner
from skstructured.margin._solver import GramAscent, Problem, RowAscent, ascend

SOLVERS = ("auto", "frank_wolfe")


class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual."""

    def __init__(
        self,
        space="simplex",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        alpha=0.01,
        cost_matrix=None,
        standardize=True,
        fit_intercept=True,
        solver="auto",
        line_search=True,
        max_iter=200,
        tol=1e-3,
        cache_size=4096,
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self.space = space
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.cost_matrix = cost_matrix
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.line_search = line_search
        self.max_iter = max_iter
        self.tol = tol
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("solver", self.solver, SOLVERS)
        check_real("tol", self.tol, lambda v: 0.0 <= v < np.inf, "be at least 0")
        check_integer("max_iter", self.max_iter)
        for name in ("line_search", "warm_start"):
            check_bool(name, getattr(self, name))
        if not isinstance(self.verbose, (bool, np.bool_)):
            check_integer("verbose", self.verbose, lowest=0)

    def _fitted_before(self, space):
        if not self.warm_start or not hasattr(self, "_mu"):
            return None
        before, now = (getattr(one, "classes_", None) for one in (self, space))
        return self._mu.copy(), np.array_equal(before, now)

    def _first_means(self, before, vertices):
        """φ(y_i), or the means of the fit before; a ValueError where those do not fit."""
        if before is None:
            return vertices.copy()
        mu, same = before
        if not same or mu.shape != vertices.shape:
            raise ValueError(
                "warm_start=True goes on from the means of the same rows and classes, but the last "
                f"fit had means of shape {mu.shape}, and these are of shape {vertices.shape}."
            )
        return mu

    def _to_go_on(self):
        return self._mu, True

    def _problem(self, outputs, packed, alpha):
        """The problem that is solved; `_kind_of(outputs)` is its oracle."""
        C, codes, constant = outputs.costs(packed)
        kind, constant = self._kind_of(outputs, constant)
        return Problem(kind, outputs.A, C, codes, constant, outputs.vertices(packed), alpha)

    def _solve(self, outputs, packed, Z, K, before, alpha):
        problem = self._problem(outputs, packed, alpha).with_slack(0.1 * self.tol)
        mu = self._first_means(before, problem.vertices)
        state = GramAscent(problem, K)
        if K is None:
            state = RowAscent(problem, Z, self.fit_intercept)
        rng = check_random_state(self.random_state)
        rule = problem.rule(self.solver, self.line_search)
        trace = ascend(state, mu, rule, self.max_iter, self.tol, rng, self.verbose)
        self._mu, self.n_iter_ = mu, len(trace.gaps)
        self.loss_curve_, self.gap_curve_ = np.array(trace.losses), np.array(trace.gaps)
        self.duality_gap_ = trace.gaps[-1]
        return (problem.vertices - mu) / problem.strength, getattr(state, "W", None)
