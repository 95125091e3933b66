"""Max-min margin networks, structural SVMs, and what all batch learners of margins share."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base import validation
from skstructured._base.component import Seed, inherit_parameters, parameters, parameters_with
from skstructured._base.exceptions import GuaranteeError
from skstructured._learners import predictions
from skstructured.estimators._batch import BatchPredictor, Inputs, check_memory, spread
from skstructured.estimators.kernel._values import check_positive_definite, check_square
from skstructured.estimators.margin._blocks import Ascent
from skstructured.estimators.margin._closed_forms import StepRule
from skstructured.estimators.margin._outputs import RowOutputs, outputs_of
from skstructured.extend._types import Features, Given, Outputs
from skstructured.extend.output_space import OutputSpace
from skstructured.guarantees.certificates import Certificate
from skstructured.spaces import SPACES_BY_NAME

#: Values of α that are tried, the largest first: the ten of the paper, and smaller ones.
ALPHA_PATH = tuple(2.0**-j for j in range(1, 21))


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


class MarginLearner(BatchPredictor):
    """Base of batch learners with kernels.

    Needs ``_solve(outputs, packed, inputs, initial_means, alpha)``, which returns the `DualFit` of
    `Inputs`, and sets `duality_gap_` and `n_iter_`.
    """

    _rules: tuple[str, ...] = ("path",)

    def _learn(self, batch, share, initial_state):
        self._check_costs(self.space_)
        packed, outputs = batch.packed, outputs_of(self.space_, self.cost_matrix)
        inputs, self._outputs, self.alpha_ = self._prepare(batch, share), outputs, self.alpha
        if self.alpha == "auto":
            self.alpha_ = 5e-4 / outputs.unit(packed, share)
        elif self.alpha == "path":
            if np.count_nonzero(share) < 2:
                raise ValueError('alpha="path" needs at least 2 samples of positive weight, got 1.')
            self.alpha_losses_ = self._path(outputs, packed, inputs)
            self.alpha_ = ALPHA_PATH[int(np.argmin(self.alpha_losses_))]
        self.alpha_ = float(self.alpha_)
        dual_fit = self._solve(outputs, packed, inputs, initial_state, self.alpha_)
        self._check_weights(dual_fit.dual, self.loss_curve_)
        self._keep(dual_fit, inputs.Z)

    def _path(self, outputs, packed, inputs):
        """Target losses on a fifth of the rows, of ten α and more until three are not better."""
        rng = check_random_state(self.random_state)
        order = rng.permutation(np.flatnonzero(inputs.share > 0.0))
        cut = max(int(0.8 * len(order)), 1)
        train, valid = np.sort(order[:cut]), np.sort(order[cut:])
        truth, share = outputs.labels(packed[valid]), inputs.share[valid]
        inner, losses, old_means = inputs.subset(train), [], None
        for alpha in ALPHA_PATH:
            dual_fit = self._solve(outputs, packed[train], inner, old_means, alpha)
            old_means = self._mu
            scores = inputs.scores(dual_fit, train, valid)
            losses.append(np.average(outputs.loss(outputs.decode(scores), truth), weights=share))
            if len(losses) >= max(10, int(np.argmin(losses)) + 4):
                break
        return np.array(losses)

    def _prepare(self, batch, share):
        """`Inputs`: rows on one scale, and the matrix of kernels unless the kernel is linear."""
        X, weight = batch.rows.matrix, spread(share, batch.offsets)
        self._scaling = self._scale_for(X, weight, self.fit_intercept or not self._is_linear())
        Z = self._scaling.transform(X)
        K = None if self._is_linear() else self._kernels(Z, weight)
        return Inputs(Z, K, batch.offsets, share, bool(self.fit_intercept))

    def _kernels(self, Z, weight):
        """The kernel matrix of all rows; a ValueError if it is invalid or too large."""
        computed, n = validation.is_precomputed(self.kernel), Z.shape[0]
        if computed:
            check_square(Z.shape)
        check_memory(f"matrix of kernels of {n} rows", n * n, self.cache_size)
        self._kernel = self._kernel_for(Z, weight)
        K = self._kernel(Z, np.arange(n) if computed else Z)
        negative = np.flatnonzero(np.diag(K) < 0.0)
        if len(negative):
            i = negative[0]
            check_positive_definite(K[i, i] - self._kernel.constant, self.kernel, i)
        return K

    def _keep(self, dual_fit, Z):
        """Set the attributes of a fit."""
        self.dual_coef_ = dual_fit.dual
        self.support_ = np.flatnonzero(np.abs(dual_fit.dual).sum(axis=1))
        if dual_fit.edges is not None:
            (self.start_, self.end_), self.transitions_ = dual_fit.edges
        if dual_fit.W is not None:
            W, p = dual_fit.W, Z.shape[1]
            intercept = W[p] if len(W) > p else np.zeros(W.shape[1])
            self.coef_, self.intercept_ = self._scaling.fold(W[:p].T, intercept)
        else:
            is_precomputed = validation.is_precomputed(self.kernel)
            self._kept = self.support_ if is_precomputed else Z[self.support_]

    def decision_function(self, X: Features) -> Any:
        """Scores v = g(x), (n, dim): for classes one each, or for two of them the difference (n,).

        "ordinal" has a score for each class too. Of sequences a list of (length, k) arrays, with
        the scores of starts and ends; `transitions_` come on top.
        """
        theta = self._scores(X)
        if self.space_.reader.has_sequences:
            return theta.unstack()
        if self.space_.task == "multiclass" and theta.shape[1] == 2:
            return theta[:, 1] - theta[:, 0]
        return theta

    def predict(self, X: Features) -> Any:
        """Outputs ``argmax_y <g(x), φ(y)>``, by the linear oracle of the space."""
        if predictions.has_empty_sequence(self, X):
            return predictions.answer_empty(self, X, self.predict)
        theta = self._scores(X)
        return self._outputs.decode(theta)

    def score(self, X: Features, y: Outputs, sample_weight: Given = None) -> float:
        """1 − mean target loss of `predict`; costs count as shares of the largest one.

        Labels that `fit` has not seen count as wrong, with the largest cost.
        Of sequences it is that of all their positions, of which those of weight w count w times.
        """
        predicted = self.predict(X)
        weight = self.space_.score_weights(predicted, sample_weight)
        return 1.0 - validation.weighted_mean(self._outputs.loss(predicted, y), weight)

    def __sklearn_tags__(self):
        tags = predictions.with_rows(super().__sklearn_tags__(), self)
        takes_rows = not predictions.reader_of(self).has_sequences
        tags.input_tags.two_d_array = tags.input_tags.sparse = takes_rows
        tags.input_tags.allow_nan &= not tags.input_tags.pairwise
        space = SPACES_BY_NAME.get(self.space) if isinstance(self.space, str) else self.space
        return predictions.with_task(tags, getattr(space, "task", None))


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
        validation.check_choice("solver", self.solver, ("auto", "frank_wolfe"))
        validation.check_real("tol", self.tol, lambda v: 0.0 <= v < np.inf, "be at least 0")
        self._check_run()
        for name in ("line_search", "oracle_warm_start", "average", "replace"):
            validation.check_bool(name, getattr(self, name))
        oracles = ("exact", "mirror_prox") if self.is_max_min else ("exact",)
        validation.check_choice("oracle", self.oracle, oracles)
        if self.oracle_iter is not None:
            validation.check_integer("oracle_iter", self.oracle_iter)

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
        rule, mover = StepRule.SEARCH if self.line_search else StepRule.FIXED, blocks
        if self.oracle == "mirror_prox":
            mover = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        elif self.line_search and self.solver == "auto":
            rule = StepRule.BEST
        share, reach = inputs.share[blocks.counted], outputs.reach(inputs, blocks.counted)
        self._sizes = len(share), bool(np.ptp(share) <= 1e-12), *reach
        rng = check_random_state(self.random_state)
        ascent = Ascent(blocks, mover, self.average, self.replace)
        args = rule, self.max_iter, self.tol, rng, self.verbose
        self.loss_curve_, self.gap_curve_ = ascent.run(*args)
        self._mu, self.n_iter_ = blocks.means, len(self.gap_curve_)
        if self.oracle == "mirror_prox":
            self.oracle_gaps_ = np.reshape(mover.gaps, (self.n_iter_, -1)).mean(axis=1)
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
        validation.check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)")
        spread = -math.log(delta)
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
