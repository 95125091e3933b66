"""Max-min margin networks and structural SVMs."""

import math

from sklearn.utils.validation import check_is_fitted

from skstructured._base.docstrings import documented
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_real
from skstructured.estimators.margin._dual import DualLearner
from skstructured.guarantees.certificates import Certificate

__all__ = ["MaxMinMarginNetwork", "StructuralSVM"]


@documented(DualLearner)
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


@documented(DualLearner)
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
