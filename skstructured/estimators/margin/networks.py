"""Max-min margin networks and structural SVMs."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters, parameters_with
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._blocks import Ascent
from skstructured.estimators.margin._closed_forms import StepRule
from skstructured.estimators.margin._outputs import RowOutputs
from skstructured.extend.output_space import OutputSpace
from skstructured.guarantees.certificates import Certificate


@parameters
class MarginParameters:
    """Parameters that max-margin models and `QuadraticSurrogate` share."""

    space: str | OutputSpace = "multiclass"
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    alpha: float | Literal["auto", "path"] = "auto"
    cost_matrix: ArrayLike | None = None
    standardize: bool | Literal["auto", "moments"] = True


@parameters_with(MarginParameters)
class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual.

    `is_max_min` chooses the loss: with the costs of the best prediction, or of the true output.

    Parameters
    ----------
    space : str or OutputSpace, default="multiclass"
        Type of the outputs: "multiclass", a class (0–1 loss); "ordinal", an ordinal class (|i − j|,
        with one score per class); "hypercube", a set of labels (share of wrong labels); "birkhoff",
        a permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        Kernel: one of scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the
        kernels (n, m) of two arrays of rows. "linear" learns weights of features, all others use
        the kernel matrix of all rows.
    gamma : float, "scale" or None, default=None
        Kernel coefficient. None is "scale", ``1/(p Var X)`` of standardized rows.
    degree, coef0 : float, default=3 and 1
        Degree and constant of "poly" and "sigmoid".
    alpha : float, "auto" or "path", default="auto"
        Regularization strength α (λ in Nowak-Vila et al., 2020). Must be positive. "auto" is 5e-4
        divided by the cost of one mistake: 1 for classes, including ordinal ones, 1/d for d labels,
        1/m for m items, 1/M for sequences of mean length M. "path" tries 2⁻¹ … 2⁻¹⁰, and smaller
        values down to 2⁻²⁰ until three in a row do not improve the loss on a held-out fifth of the
        outputs. Each fit starts from the one before. All outputs are then learned with the best α.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [true, predicted] of classes, or of positions of sequences: not negative, and 0 on the
        diagonal. It need not be symmetric. None is the loss of the space.
    standardize : bool, "auto" or "moments", default=True
        Whether to center dense features and divide them by their standard deviation, and to divide
        CSR features by their largest entry. Before, cells beyond five robust deviations from the
        median, or beyond the training rows, count as this edge, and for kernels, columns of which
        more than 5% are beyond become normal quantiles; with "moments" they are unchanged. "auto"
        is True, and does not change columns of 0 and 1. `coef_` is in units of X, for cells between
        the edges.
    missing : {"mean", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), with `standardize`. "mean" imputes the
        weighted mean of the feature over the rows of `fit` (0 if it is missing in all of them), in
        `fit` and in predictions. "error" raises an error. A precomputed kernel matrix must not have
        missing values.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1, which is regularized too: kernels are k(x, z) + 1.
    solver : {"auto", "frank_wolfe"}, default="auto"
        How the mean of a row is updated. "auto" moves it to its optimum, given all others.
        "frank_wolfe" takes a step towards the answer of the oracle (Algorithm 1 of Nowak-Vila et
        al., 2020).
    line_search : bool, default=True
        Whether such a step is the best one for the chord of the losses. False is the step
        ``2n/(t + 2n)`` of the paper, and implies "frank_wolfe".
    max_iter : int, default=1000
        Maximum number of passes (epochs).
    tol : float, default=1e-3
        Tolerance of the stopping rule: the duality gap, in units of the objective.
    cache_size : float, default=4096
        Maximum size of the kernel matrix in MiB.
    warm_start : bool, default=False
        Whether `fit` starts from the means of the last fit, which must have the same rows and
        classes.
    oracle : {"exact", "mirror_prox"}, default="exact"
        Oracle of the max-min problem of a row. "mirror_prox" (Algorithm 2 of Nowak-Vila et al.,
        2020) is only supported for the max-min network, and implies "frank_wolfe". It uses
        entropies for classes, label sets, assignments and sequences, squared norms for other
        spaces, and the means of its half-steps. Gaps and losses are those of exact oracles in any
        case.
    oracle_iter : int or None, default=None
        Iterations of mirror prox per visit to a row. None is 20, or 10 times the length of a
        sequence.
    oracle_warm_start : bool, default=True
        Whether mirror prox starts from its result of the row's last visit.
    average : bool, default=False
        Whether the result is the mean of the weights after each step, with weight s for the s-th
        step (Algorithm 4 of Nowak-Vila et al., 2020). Steps are then taken one by one, which takes
        longer.
    replace : bool, default=False
        Whether a pass draws its n rows with replacement (Algorithm 4). False visits each row once.
    verbose : bool or int, default=0
        Whether to print a line for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.

    Attributes
    ----------
    feature_ranges_ : FeatureRanges
        With `standardize`: `center`, `scale` and the edges `low` and `high` of features, each of
        shape (n_features_in_,), and which are `heavy`, which become normal quantiles.
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights and intercepts, for the linear kernel only.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first labels, last labels, and pairs of neighboring labels, for "sequence" only.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (10,) to (20,)
        Mean target losses on held-out rows, for alpha="path" only.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients ``(φ(y_i) − μ_i)/(αn)`` of the rows of `fit`, or of positions.
    support_ : ndarray
        Indices of rows with nonzero coefficients.
    classes_ : ndarray
        Class labels, if the space has labels.
    space_ : OutputSpace
        The fitted space.
    duality_gap_ : float
        Upper bound on the distance of the objective from its minimum.
    gap_curve_, loss_curve_ : ndarray of shape (n_iter_,)
        Gap and objective after each pass.
    oracle_gaps_ : ndarray of shape (n_iter_,)
        Mean gap of mirror prox over the visits of each pass; only set with mirror prox.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X has string names.

    Warns
    -----
    ConvergenceWarning
        If the gap is above `tol` at the end, with the gap.
    """

    _rules = ("auto", "path")

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
        check_choice("solver", self.solver, ("auto", "frank_wolfe"))
        check_real("tol", self.tol, lambda v: 0.0 <= v < np.inf, "be at least 0")
        self._check_run()
        for name in ("line_search", "oracle_warm_start", "average", "replace"):
            check_bool(name, getattr(self, name))
        oracles = ("exact", "mirror_prox") if self.is_max_min else ("exact",)
        check_choice("oracle", self.oracle, oracles)
        if self.oracle_iter is not None:
            check_integer("oracle_iter", self.oracle_iter)

    def _initial_state(self, space):
        if not self.warm_start or not hasattr(self, "_mu"):
            return None
        old_classes, new_classes = (getattr(owner, "classes_", None) for owner in (self, space))
        if not np.array_equal(old_classes, new_classes):
            raise ValueError(
                "warm_start=True requires the same training rows and classes as the last fit, "
                f"which had {old_classes!r:0.80}; now they are {new_classes!r:0.80}."
            )
        return self._mu

    def _solve(self, outputs, packed, inputs, initial_means, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(initial_means)
        rule, mirror = StepRule.FIXED, None
        if self.oracle == "mirror_prox":
            mirror = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        if self.line_search:
            is_best = self.solver == "auto" and mirror is None
            rule = StepRule.BEST if is_best else StepRule.SEARCH
        share, reach = inputs.share[blocks.counted], outputs.reach(inputs, blocks.counted)
        self._sizes = len(share), bool(np.ptp(share) <= 1e-12), *reach
        rng = check_random_state(self.random_state)
        ascent = Ascent(blocks, blocks if mirror is None else mirror, self.average, self.replace)
        args = rule, self.max_iter, self.tol, rng, self.verbose
        self.loss_curve_, self.gap_curve_ = ascent.run(*args)
        self._mu, self.n_iter_ = blocks.means, len(self.gap_curve_)
        if mirror is not None:
            self.oracle_gaps_ = np.reshape(mirror.gaps, (self.n_iter_, -1)).mean(axis=1)
        self.duality_gap_ = float(self.gap_curve_[-1])
        return blocks.dual_fit()


@inherit_parameters(DualLearner)
class MaxMinMarginNetwork(DualLearner):
    r"""Predict classes, label sets or label rankings with max-min margins, a consistent SVM.

    It is a batch method for small data sets [1]_. It minimizes
    ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{μ ∈ \mathrm{conv}(Y)} \min_{y'} L(y', μ) + \langle v, μ − φ(y)\rangle.

    The loss is Fisher consistent: the predictions ``argmax_y <g(x), φ(y)>`` become optimal for the
    loss L as n grows, even if no output has a majority. Those of `StructuralSVM` need not.

    Parameters
    ----------
    {DualLearner: space, kernel, gamma, degree, coef0, alpha, cost_matrix, standardize, missing,
    fit_intercept, solver, line_search, max_iter, tol, cache_size, warm_start, oracle,
    oracle_iter, oracle_warm_start, average, replace, verbose, random_state}

    Attributes
    ----------
    {DualLearner: coef_, intercept_, start_, end_, transitions_, alpha_, alpha_losses_, dual_coef_,
    support_, classes_, space_, duality_gap_, gap_curve_, loss_curve_}
        For assignments, rank vectors, sequences and custom spaces, losses are values of games. Both
        can be too large, usually by a tenth of the gap, and after the last pass by `tol`/100.
    {DualLearner: oracle_gaps_, n_iter_, n_features_in_, feature_names_in_}

    Warns
    -----
    {DualLearner: ConvergenceWarning}

    See Also
    --------
    StructuralSVM : The classical max-margin method, which is faster but not always consistent.
    QuadraticSurrogate : Least squares on costs, consistent and with a closed form.
    ConditionalRandomField : Log-linear models with probabilities, learned in batch.
    StructuredPredictor : The estimator to try first, for larger data sets.

    Notes
    -----
    For classes the loss is that of [2]_. The oracles of assignments and sequences use [3]_, and
    small games are solved by pivoting [4]_.

    References
    ----------
    .. [1] Nowak-Vila, Bach, Rudi (2020). Consistent structured prediction with max-min margin
       Markov networks. ICML.

    .. [2] Fathony, Liu, Asif, Ziebart (2016). Adversarial multiclass classification: a risk
       minimization perspective. NeurIPS.

    .. [3] McMahan, Gordon, Blum (2003). Planning in the presence of cost functions controlled by an
       adversary. ICML.

    .. [4] Lemke (1965). Bimatrix equilibrium points and mathematical programming. Management
       Science.

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

    def certificate(self, delta: float = 0.05, measured: bool = True) -> Certificate:
        r"""Bound the excess risk, by Theorems 3.3 and 3.4 of Nowak-Vila et al. (2020).

        If rows are drawn independently, and the optimal scores g* have the norm ‖g*‖, then with
        probability 1 − δ the expected target loss on a new row is at most the lowest possible one
        plus ``certificate().regret(norm)``:

        .. math:: C \Big(2\,\text{gap} + \frac{16 κ^2 L^2 (32 + \ln(1/δ))}{αn}
            + \frac{α}{2} \|g^*\|^2\Big).

        Kernel, scale of features and α must not depend on the rows; κ is measured on them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability δ that the bound fails, in (0, 1).
        measured : bool, default=True
            Whether the gap is `duality_gap_`. False is Theorem 5.2, a number that is known before
            the rows: the gap is ``2/δ`` times the expected one, by Markov's inequality, and δ/2
            replaces δ in the rest.

        Returns
        -------
        Certificate
            Bound with the ``constants`` C (k for classes, 2 for label sets), kappa (the largest
            ‖Φ(x)‖), L (twice the largest ‖φ(y)‖), gap, n, and lambda_n, which is
            ``κL √(ln(1/δ)/n)``. For the algorithm of the paper, with `line_search=False` and
            `replace=True`, it has expected_gap too, and suboptimality without `average`. After t
            steps, with G the largest cost and ``b = κ²L²/(αn)``, these are at most

            .. math:: h = \frac{2n(G + b)}{t + 2n} + ε, \quad \mathbb{E}[\text{gap}] \le \sqrt{2nbh}
                \text{ (or } nh + b/2 \text{, if } b < 2nh), \quad
                \mathbb{E}[\text{gap}] \le \frac{2n(2G + 3b)}{t + 1}
                + ε \Big(1 + \frac{t + 2n}{t + 1}\Big),

            suboptimality h of the dual (Theorem 5.1), the gap of the last step, and the gap with
            `average`. ε is the error of the oracle: 0 if it is exact, and for K steps of mirror
            prox on classes or label sets, without `oracle_warm_start`, ``G ln(C)/K``.

        Raises
        ------
        GuaranteeError
            If there is no constant C for the outputs and costs, or the weights of rows differ; and
            if no expected gap is known, with ``measured=False``.
        """
        check_is_fitted(self)
        spread = -math.log(check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)"))
        (C, most), (n, even, kappa, L) = self._outputs.comparison(), self._sizes
        if not even:
            raise GuaranteeError(
                "The bound of Nowak-Vila et al. (2020) only holds without sample_weight."
            )
        bend = (kappa * L) ** 2 / (self.alpha_ * n)
        lambda_n = kappa * L * math.sqrt(spread / n)
        constants = {"C": C, "kappa": kappa, "L": L, "n": n, "lambda_n": lambda_n}
        constants["gap"] = gap = self.duality_gap_
        theorem = "Theorems 3.3 and 3.4" if measured else "Theorem 5.2"
        if self.replace and not (self.line_search or self.warm_start):
            constants |= self._expected_gap(n, C, most, bend)
        if not measured:
            if "expected_gap" not in constants:
                raise GuaranteeError(
                    "Theorem 5.2 of Nowak-Vila et al. (2020) needs line_search=False, replace=True "
                    "and an oracle of known error; see the constants of the certificate."
                )
            gap, spread = 2.0 / delta * constants["expected_gap"], spread + math.log(2.0)
        offset = C * (2.0 * gap + 16.0 * bend * (32.0 + spread))
        return Certificate(theorem, 0.5 * C * self.alpha_, offset, math.inf, constants)

    def _expected_gap(self, n, C, most, bend):
        """Bounds on means after t steps, if the error of the oracle has one; see `certificate`."""
        t, error = self.n_iter_ * n, 0.0
        if self.oracle != "exact":
            error = most * math.log(C) / (self.oracle_iter or 20)
            if self.oracle_warm_start or not isinstance(self._outputs, RowOutputs):
                return {}
        if self.average:
            past = error * (1.0 + (t + 2.0 * n) / (t + 1.0))
            return {"expected_gap": 2.0 * n * (2.0 * most + 3.0 * bend) / (t + 1.0) + past}
        left = 2.0 * n * (most + bend) / (t + 2.0 * n) + error
        step = min(1.0, math.sqrt(2.0 * n * left / bend))
        return {"suboptimality": left, "expected_gap": n * left / step + 0.5 * step * bend}


@inherit_parameters(DualLearner)
class StructuralSVM(DualLearner):
    r"""Predict classes, label sets or label rankings with the structural SVM (M3N).

    It is a batch method for small data sets [1]_ [2]_. It minimizes
    ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{y'} L(y', y) + \langle v, φ(y') − φ(y)\rangle,

    by block-coordinate Frank–Wolfe steps [3]_ or exact ones. For classes it is the loss of Crammer
    and Singer. If no output has a majority, its predictions need not become optimal with more rows;
    see `MaxMinMarginNetwork`.

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

    See Also
    --------
    MaxMinMarginNetwork : The consistent max-margin method.
    QuadraticSurrogate : Least squares on costs, consistent and with a closed form.
    ConditionalRandomField : Log-linear models with probabilities, learned in batch.

    References
    ----------
    .. [1] Taskar, Guestrin, Koller (2003). Max-margin Markov networks. NeurIPS.

    .. [2] Tsochantaridis, Joachims, Hofmann, Altun (2005). Large margin methods for structured and
       interdependent output variables. JMLR.

    .. [3] Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013). Block-coordinate Frank–Wolfe
       optimization for structural SVMs. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import StructuralSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(StructuralSVM(kernel="rbf", random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    is_max_min = False
