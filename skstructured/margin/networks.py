"""Max-min margin networks, structural SVMs and the quadratic surrogate."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._validation import check_bool, check_choice, check_integer, check_real
from skstructured.margin import _quadratic
from skstructured.margin._base import MarginLearner
from skstructured.margin._solver import GramAscent, Problem, RowAscent, ascend

__all__ = ["MaxMinMarginNetwork", "QuadraticSurrogate", "StructuralSVM"]

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
        max_iter=50,
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

    def _problem(self, outputs, packed):
        """The problem that is solved; `_kind_of(outputs)` is its oracle."""
        C, codes, constant = outputs.costs(packed)
        kind, constant = self._kind_of(outputs, constant)
        return Problem(
            kind, outputs.A, C, codes, constant, outputs.vertices(packed), float(self.alpha)
        )

    def _solve(self, outputs, packed, Z, K, before):
        problem = self._problem(outputs, packed)
        mu = self._first_means(before, problem.vertices)
        state = GramAscent(problem, K)
        if K is None:
            state = RowAscent(problem, Z, self.fit_intercept)
        rule, rng = (
            problem.rule(self.solver, self.line_search),
            check_random_state(self.random_state),
        )
        trace = ascend(state, mu, rule, self.max_iter, self.tol, rng, self.verbose)
        self._mu, self.n_iter_ = mu, len(trace.gaps)
        self.loss_curve_, self.gap_curve_ = np.array(trace.losses), np.array(trace.gaps)
        self.duality_gap_ = trace.gaps[-1]
        if not self.duality_gap_ <= self.tol:
            self._warn(self.duality_gap_, self.n_iter_)
        return (problem.vertices - mu) / problem.strength, getattr(state, "W", None)


class MaxMinMarginNetwork(DualLearner):
    r"""Predict classes, label sets or rankings by max-min margins: consistent, with few support rows.

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{μ ∈ \mathrm{conv}(Y)} \min_{y'} L(y', μ) + \langle v, μ − φ(y)\rangle.

    Its predictions ``argmax_y <g(x), φ(y)>`` become the best there are for the loss L as n grows,
    also where no output has a majority; those of `StructuralSVM` need not.

    Parameters
    ----------
    space : {{"simplex", "ordinal", "hypercube", "birkhoff"}} or OutputSpace, default="simplex"
        What an output is: a class (0–1 loss), an ordered class (|i − j|, with a score a class), a
        label set (share of wrong labels), a permutation (share of misplaced items).
    {parameters}

    References
    ----------
    Nowak-Vila, Bach, Rudi (2020), "Consistent structured prediction with max-min margin Markov
    networks"; Fathony, Liu, Asif, Ziebart (2016), "Adversarial multiclass classification: a risk
    minimization perspective"; McMahan, Gordon, Blum (2003), "Planning in the presence of cost
    functions controlled by an adversary", for the oracle of matchings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MaxMinMarginNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MaxMinMarginNetwork(kernel="rbf", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and model.duality_gap_ <= 1e-3)
    True
    """

    def _kind_of(self, outputs, constant):
        return outputs.max_min, np.full(len(constant), outputs.max_min_constant)


class StructuralSVM(DualLearner):
    r"""Predict classes, label sets or rankings by the structural support vector machine (M3N).

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{{y'}} L(y', y) + \langle v, φ(y') − φ(y)\rangle,

    on classes that of Crammer and Singer. Where no output has a majority, its predictions need not
    become the best ones, however many rows there are; see `MaxMinMarginNetwork`.

    Parameters
    ----------
    space : {{"simplex", "ordinal", "hypercube", "birkhoff"}} or OutputSpace, default="simplex"
        What an output is: a class (0–1 loss), an ordered class (|i − j|, with a score a class), a
        label set (share of wrong labels), a permutation (share of misplaced items).
    {parameters}

    References
    ----------
    Taskar, Guestrin, Koller (2003), "Max-margin Markov networks"; Tsochantaridis, Joachims,
    Hofmann, Altun (2005), "Large margin methods for structured and interdependent output
    variables"; Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), "Block-coordinate Frank–Wolfe
    optimization for structural SVMs".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import StructuralSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(StructuralSVM(kernel="rbf", random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def _kind_of(self, outputs, constant):
        return outputs.linear, constant


class QuadraticSurrogate(MarginLearner):
    r"""Predict classes, label sets or rankings by least squares on costs, in closed form.

    It minimises ``(1/n) Σ ‖g(x_i) + c(y_i)‖² + (α/2)‖w‖²``, where ``L(y', y) = <φ(y'), c(y)> + a(y)``,
    by ``(K + (αn/2) I) α' = −C``, and predicts ``argmax_y <g(x), φ(y)>``.

    Parameters
    ----------
    space : {"simplex", "ordinal", "hypercube", "birkhoff"} or OutputSpace, default="simplex"
        What an output is: a class (0–1 loss), an ordered class (|i − j|, with a score a class), a
        label set (share of wrong labels), a permutation (share of misplaced items).
    kernel : str or callable, default="linear"
        As in scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float, default=0.01
        α > 0.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    cache_size : float, default=4096
        MiB that a matrix of kernels, or of products of features, may take.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients of the rows of `fit`.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value: rounding.
    loss_curve_ : ndarray of shape (1,)
        The objective.
    n_iter_ : int
        1.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Ciliberto, Rosasco, Rudi (2016), "A consistent regularization approach for structured
    prediction".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import QuadraticSurrogate
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(QuadraticSurrogate(kernel="rbf").fit(X, y).score(X, y) > 0.95)
    True
    """

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
        cache_size=4096,
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
        self.cache_size = cache_size

    def _solve(self, outputs, packed, Z, K, before):
        costs, which, _ = outputs.costs(packed)
        C, n, alpha = costs[which], len(packed), float(self.alpha)
        if K is None:
            W = _quadratic.solve_rows(Z, C, alpha * n, self.fit_intercept, self.cache_size)
            V = np.asarray(Z @ W[: Z.shape[1]]) + (W[-1] if self.fit_intercept else 0.0)
            dual, square = -2.0 * (V + C) / (alpha * n), float((W**2).sum())
            slope = alpha * (W - _quadratic._with_ones(Z, dual, self.fit_intercept))
            slope = float((slope**2).sum())
        else:
            W, dual = None, _quadratic.solve_gram(K, C, alpha * n)
            V = K @ dual
            square, residual = float((dual * V).sum()), 2.0 * (V + C) / n + alpha * dual
            slope = float((residual * (K @ residual)).sum())
        self.loss_curve_ = np.array([_quadratic.objective(V, C, square, alpha)])
        self.duality_gap_, self.n_iter_ = _quadratic.gap(slope, alpha), 1
        return dual, W
