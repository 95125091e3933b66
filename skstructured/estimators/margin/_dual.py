"""What max-margin models share: ascent of the dual, until its gap is small."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators.margin._ascent import Ascent
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._passes import BEST, FIXED, SEARCH

SOLVERS = ("auto", "frank_wolfe")


class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual.

    `is_max_min` tells whether costs are those of the best prediction, or those of the true output.
    """

    _rules = ("auto", "path")

    def __init__(
        self,
        space="simplex",
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        alpha="auto",
        cost_matrix=None,
        standardize=True,
        fit_intercept=True,
        solver="auto",
        line_search=True,
        max_iter=1000,
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
        if not np.array_equal(before, now):
            raise ValueError(
                "warm_start=True goes on from the means of the same rows and classes, but the last "
                f"fit had {before!r:.80}, and these are {now!r:.80}."
            )
        return self._mu

    def _to_go_on(self):
        return self._mu

    def _solve(self, outputs, packed, inputs, before, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(before)
        rule = FIXED
        if self.line_search:
            rule = BEST if self.solver == "auto" else SEARCH
        rng = check_random_state(self.random_state)
        trace = Ascent(blocks).run(rule, self.max_iter, self.tol, rng, self.verbose)
        self._mu, self.n_iter_ = blocks.means, len(trace.gaps)
        self.loss_curve_, self.gap_curve_ = np.array(trace.losses), np.array(trace.gaps)
        self.duality_gap_ = trace.gaps[-1]
        return blocks.found()
