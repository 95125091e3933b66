"""Max-min margin networks and structural SVMs."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators._batch import check_run
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._blocks import Ascent
from skstructured.estimators.margin._closed_forms import BEST, FIXED, SEARCH
from skstructured.extend.output_space import OutputSpace
from skstructured.guarantees.certificates import Certificate

__all__ = ["MaxMinMarginNetwork", "StructuralSVM"]

SOLVERS, ORACLES = ("auto", "frank_wolfe"), ("exact", "mirror_prox")


@parameters
class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual.

    `is_max_min` tells whether costs are those of the best prediction, or those of the true output.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex", a class (0–1 loss); "ordinal", an ordinal class (|i − j|, with
        a score per class); "hypercube", a set of labels (share of wrong labels); "birkhoff", a
        permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        One of scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights, all others over the matrix of
        kernels of all rows.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float, "auto" or "path", default="auto"
        α > 0, the λ of the paper. "auto" is 5e-4 divided by the cost of one mistake: 1 for classes,
        ordinal ones too, 1/d for d labels, 1/m for m items, 1/M for sequences of mean length M.
        "path" tries 2⁻¹ … 2⁻¹⁰, and on to 2⁻²⁰ until three in turn are no better, on a fifth of the
        outputs, each fit going on from the one before, and learns all with the best.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [true, predicted] of classes, or of positions of sequences: not negative, 0 on the
        diagonal. It need not be symmetric.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    missing : {"mean", "error"}, default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows of `fit` that have the
        feature, by their weights (0 where none has it), or an error. `fit` and predictions are
        those of the rows completed so. A matrix of kernels has no gaps.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    solver : {"auto", "frank_wolfe"}, default="auto"
        "auto" moves a row's mean to its best, given all others; "frank_wolfe" by a step towards
        what the oracle returns (Algorithm 1 of the paper).
    line_search : bool, default=True
        Whether such a step is the best one for the chord of the losses; False is ``2n/(t + 2n)`` of
        the paper, and implies "frank_wolfe".
    max_iter : int, default=1000
        Most passes.
    tol : float, default=1e-3
        The duality gap, in units of the objective, to stop at.
    cache_size : float, default=4096
        MiB that the matrix of kernels may take.
    warm_start : bool, default=False
        Whether `fit` begins with the means of the last one, of the same rows and classes.
    oracle : {"exact", "mirror_prox"}, default="exact"
        What a row's mean moves to. "mirror_prox" (Algorithm 2 of the paper) is for the max-min
        network alone, and implies "frank_wolfe": entropies for classes, label sets, assignments
        and sequences, squared norms for other spaces; the means of its half-steps. Gaps and losses
        are still those of exact oracles.
    oracle_iter : int or None, default=None
        Iterations of mirror prox in a visit to a row. None is 20, or 10 times the length of a
        sequence.
    oracle_warm_start : bool, default=True
        Whether mirror prox begins with what it found in the row's last visit.
    average : bool, default=False
        Whether the result is the mean of the weights after each step, the s-th of which counts s
        times (Algorithm 4 of the paper). Steps are then taken one by one, which takes longer.
    replace : bool, default=False
        Whether a pass draws its n rows with replacement (Algorithm 4); False visits each once.
    verbose : bool or int, default=0
        Whether a line is printed for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first and last labels, and of labels beside each other, for "sequence" alone.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (10,) to (20,)
        Mean target losses of the rows held out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients ``(φ(y_i) − μ_i)/(αn)`` of the rows of `fit`, or of positions.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value.
    gap_curve_, loss_curve_ : ndarray of shape (n_iter_,)
        The gap and the objective after each pass.
    oracle_gaps_ : ndarray of shape (n_iter_,)
        The mean gap that mirror prox left in the visits of each pass; with it alone.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    ConvergenceWarning
        Where the gap is above `tol` at the end, with the gap.
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
    missing: Literal["mean", "error"] = "mean"
    fit_intercept: bool = True
    solver: Literal["auto", "frank_wolfe"] = "auto"
    line_search: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    cache_size: float = 4096
    warm_start: bool = False
    oracle: Literal["exact", "mirror_prox"] = "exact"
    oracle_iter: int | None = None
    oracle_warm_start: bool = True
    average: bool = False
    replace: bool = False
    verbose: bool | int = 0
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("solver", self.solver, SOLVERS)
        check_real("tol", self.tol, lambda v: 0.0 <= v < np.inf, "be at least 0")
        check_run(self)
        for name in ("line_search", "oracle_warm_start", "average", "replace"):
            check_bool(name, getattr(self, name))
        check_choice("oracle", self.oracle, ORACLES if self.is_max_min else ORACLES[:1])
        if self.oracle_iter is not None:
            check_integer("oracle_iter", self.oracle_iter)

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

    def _solve(self, outputs, packed, inputs, before, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(before)
        rule, mirror = FIXED, None
        if self.oracle == "mirror_prox":
            mirror = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        if self.line_search:
            rule = BEST if self.solver == "auto" and mirror is None else SEARCH
        counted = inputs.share[blocks.counted]
        even = bool(np.ptp(counted) <= 1e-12)
        self._sizes = len(counted), even, *outputs.reach(inputs, blocks.counted)
        rng = check_random_state(self.random_state)
        ascent = Ascent(blocks, blocks if mirror is None else mirror, self.average, self.replace)
        given = rule, self.max_iter, self.tol, rng, self.verbose
        self.loss_curve_, self.gap_curve_ = ascent.run(*given)
        self._mu, self.n_iter_ = blocks.means, len(self.gap_curve_)
        if mirror is not None:
            self.oracle_gaps_ = np.reshape(mirror.gaps, (self.n_iter_, -1)).mean(axis=1)
        self.duality_gap_ = float(self.gap_curve_[-1])
        return blocks.found()


@inherit_parameters(DualLearner)
class MaxMinMarginNetwork(DualLearner):
    r"""Predict classes, label sets or label rankings by max-min margins, which are consistent.

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{μ ∈ \mathrm{conv}(Y)} \min_{y'} L(y', μ) + \langle v, μ − φ(y)\rangle.

    Its predictions ``argmax_y <g(x), φ(y)>`` become the best there are for the loss L as n grows,
    also where no output has a majority; those of `StructuralSVM` need not.

    Parameters
    ----------
    {DualLearner: space, kernel, gamma, degree, coef0, alpha, cost_matrix, standardize, missing,
    fit_intercept, solver, line_search, max_iter, tol, cache_size, warm_start, oracle,
    oracle_iter, oracle_warm_start, average, replace, verbose, random_state}

    Attributes
    ----------
    {DualLearner: coef_, intercept_, start_, end_, transitions_, alpha_, alpha_losses_, dual_coef_,
    support_, classes_, space_, duality_gap_, gap_curve_, loss_curve_}
        For assignments, rank vectors, sequences and spaces of one's own, losses are the values of
        games: both may be too large, by a tenth of the gap mostly, and after the last pass by
        `tol`/100.
    {DualLearner: oracle_gaps_, n_iter_, n_features_in_, feature_names_in_}

    Warns
    -----
    {DualLearner: ConvergenceWarning}

    References
    ----------
    Nowak-Vila, Bach, Rudi (2020), "Consistent structured prediction with max-min margin Markov
    networks"; Fathony, Liu, Asif, Ziebart (2016), "Adversarial multiclass classification: a risk
    minimization perspective"; McMahan, Gordon, Blum (2003), "Planning in the presence of cost
    functions controlled by an adversary", for the oracles of assignments and sequences; Lemke
    (1965), "Bimatrix equilibrium points and mathematical programming".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MaxMinMarginNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MaxMinMarginNetwork(kernel="rbf", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and model.duality_gap_ <= 1e-3)
    True
    """

    is_max_min = True

    def certificate(self, delta: float = 0.05) -> Certificate:
        r"""A bound on the risk beyond the least one, by Theorems 3.3 and 3.4 of the paper.

        If rows are drawn independently, and the scores g* that predict best have the norm ‖g*‖,
        then with probability 1 − δ the expected target loss on a new row is at most the least one
        plus ``certificate().regret(norm)``:

        .. math:: C \Big(2\,\text{gap} + \frac{16 κ^2 L^2 (32 + \ln(1/δ))}{αn}
            + \frac{α}{2} \|g^*\|^2\Big).

        Kernel, scale of features and α must not be chosen by the rows; κ is measured on them.

        Parameters
        ----------
        delta : float, default=0.05
            δ in (0, 1).

        Returns
        -------
        Certificate
            Its ``constants`` are C (Theorem 3.3: k for classes, 2 for label sets), kappa (the
            largest ‖Φ(x)‖), L (twice the largest ‖φ(y)‖), gap, n, and lambda_n, which is
            ``κL √(ln(1/δ)/n)``; for the algorithm of the paper, with `line_search=False`,
            `replace=True` and exact oracles, also suboptimality, which Theorem 5.1 bounds in
            expectation by ``2n (G + κ²L²/(αn))/(t + 2n)`` after t steps, G the largest cost.

        Raises
        ------
        GuaranteeError
            If there is no constant C for the outputs and costs, or the weights of rows differ.
        """
        check_is_fitted(self)
        spread = -math.log(check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)"))
        (C, most), (n, even, kappa, L) = self._outputs.comparison(), self._sizes
        if not even:
            raise GuaranteeError(
                "Theorem 3.4 is about rows of one weight: leave sample_weight out."
            )
        bend = (kappa * L) ** 2 / (self.alpha_ * n)
        lambda_n = kappa * L * math.sqrt(spread / n)
        constants = {"C": C, "kappa": kappa, "L": L, "n": n, "lambda_n": lambda_n}
        constants["gap"] = self.duality_gap_
        fixed = not (self.line_search or self.average or self.warm_start) and self.replace
        if fixed and self.oracle == "exact":
            t = self.n_iter_ * n
            constants["suboptimality"] = 2.0 * n * (most + bend) / (t + 2.0 * n)
        offset = C * (2.0 * self.duality_gap_ + 16.0 * bend * (32.0 + spread))
        return Certificate(
            "Theorems 3.3 and 3.4", 0.5 * C * self.alpha_, offset, math.inf, constants
        )


@inherit_parameters(DualLearner)
class StructuralSVM(DualLearner):
    r"""Predict classes, label sets or label rankings by the structural SVM (M3N).

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{y'} L(y', y) + \langle v, φ(y') − φ(y)\rangle,

    on classes that of Crammer and Singer. Where no output has a majority, its predictions need not
    become the best ones, however many rows there are; see `MaxMinMarginNetwork`.

    Parameters
    ----------
    {DualLearner: space, kernel, gamma, degree, coef0, alpha, cost_matrix, standardize, missing,
    fit_intercept, solver, line_search, max_iter, tol, cache_size, warm_start, oracle,
    oracle_iter, oracle_warm_start, average, replace, verbose, random_state}

    Attributes
    ----------
    {DualLearner: coef_, intercept_, start_, end_, transitions_, alpha_, alpha_losses_, dual_coef_,
    support_, classes_, space_, duality_gap_, gap_curve_, loss_curve_, n_iter_,
    n_features_in_, feature_names_in_}

    Warns
    -----
    {DualLearner: ConvergenceWarning}

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

    is_max_min = False
