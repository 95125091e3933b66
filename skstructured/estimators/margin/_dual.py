"""What max-margin models share: ascent of the dual, until its gap is small."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skstructured._base.parameters import Seed, parameters
from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._solver import ascend, rule_of
from skstructured.extend.output_space import OutputSpace

SOLVERS = ("auto", "frank_wolfe")


@parameters
class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual.

    `is_max_min` tells whether costs are those of the best prediction, or those of the true output.
    """

    _rules = ("auto", "path")

    space: str | OutputSpace = "simplex"
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    alpha: float | Literal["auto", "path"] = "auto"
    cost_matrix: ArrayLike | None = None
    standardize: bool = True
    fit_intercept: bool = True
    solver: Literal["auto", "frank_wolfe"] = "auto"
    line_search: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    cache_size: float = 4096
    warm_start: bool = False
    verbose: bool | int = 0
    random_state: Seed = None

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
        state = outputs.ascent(self, packed, inputs, alpha)
        state.begin(before)
        rng = check_random_state(self.random_state)
        rule = rule_of(self.solver, self.line_search)
        trace = ascend(state, rule, self.max_iter, self.tol, rng, self.verbose)
        self._mu, self.n_iter_ = state.to_go_on(), len(trace.gaps)
        self.loss_curve_, self.gap_curve_ = np.array(trace.losses), np.array(trace.gaps)
        self.duality_gap_ = trace.gaps[-1]
        return state.found()
