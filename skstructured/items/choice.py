"""The conditional logit, which of several items with features is chosen, and its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.stats import chi2, norm
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import parameters
from skstructured._base.validation import (
    check_bool,
    check_features,
    check_integer,
    check_positive,
    check_real,
    check_size,
    check_weights,
)
from skstructured._engine.rows import LONGEST_ROW
from skstructured._learners.lock import learning_aside
from skstructured._learners.passes import is_verbose
from skstructured.extend._types import Array, Floats, Given, Ints, Matrix
from skstructured.items._choice_fit import fit, list_names, probabilities
from skstructured.items._reading import Items, chosen_of, ranks_within_rounds, read_items


def check_item_entries(matrix: Matrix, items: Items) -> None:
    """Raise a ValueError that names the first round with NaN, infinity, or too large numbers."""
    values: Any = matrix.data if sparse.issparse(matrix) else matrix
    if (np.abs(values) <= LONGEST_ROW).all():
        return
    entries = sparse.coo_matrix(matrix)
    i = np.flatnonzero(~(np.abs(entries.data) <= LONGEST_ROW))[0]
    name = items.qid[np.searchsorted(items.offsets, entries.row[i], "right") - 1]
    raise ValueError(
        f"X must not have NaN, infinity or numbers above {LONGEST_ROW:g}, got {entries.data[i]:g} "
        f"in round {name.item()!r}, feature {entries.col[i]}. Use available= to hide missing items."
    )


def first_largest(numbers: Array, offsets: Ints) -> Ints:
    """Row (n,) of the largest number of each round, the first of equal ones."""
    return np.flatnonzero(ranks_within_rounds(-numbers, offsets, "ordinal") == 1.0)


@dataclass(eq=False, repr=False)
class ChoiceSummary:
    """The table of a fitted conditional logit: ``print(model.summary())``.

    Parameters
    ----------
    names : ndarray of shape (p,)
        Names of features.
    coef : ndarray of shape (p,)
        Weights.
    standard_errors : ndarray of shape (p,)
        Standard errors of the weights, NaN if not available.
    log_likelihood : float
        Log-likelihood ``Σ_t w_t ln p(chosen item of t)``.
    null_log_likelihood : float
        The same with equal shares of available items, ``−Σ_t w_t ln m_t``.
    n_rounds : float
        Number of rounds: the sum of their weights.
    rank : int
        Number of weights that the choices determine.
    level : float, default=0.95
        Confidence level of the intervals, between 0 and 1.

    Attributes
    ----------
    z, p_values : ndarray of shape (p,)
        Statistics ``coef/standard_errors``, and their two-sided p-values under the normal law.
    intervals : ndarray of shape (p, 2)
        Confidence intervals ``coef ± quantile × standard_errors``.
    mcfadden_r2, adjusted_r2 : float
        Pseudo R² ``1 − L/L₀`` and ``1 − (L − rank)/L₀`` (McFadden 1974), NaN if L₀ = 0.
    aic, bic : float
        Information criteria ``2 rank − 2L`` and ``rank ln n − 2L``.
    likelihood_ratio, likelihood_ratio_p : float
        Statistic ``2(L − L₀)`` of the test that all weights are 0, and its p-value under χ² with
        `rank` degrees of freedom.

    See Also
    --------
    skstructured.ConditionalLogit : The estimator whose method `summary` returns it.
    """

    names: Array
    coef: Floats
    standard_errors: Floats
    log_likelihood: float
    null_log_likelihood: float
    n_rounds: float
    rank: int
    level: float = 0.95

    def __post_init__(self) -> None:
        level, coef = self.level, self.coef
        self.level = check_real("level", level, lambda v: 0.0 < v < 1.0, "lie between 0 and 1")
        with np.errstate(divide="ignore", invalid="ignore"):
            self.z = coef / self.standard_errors
        self.p_values = 2.0 * norm.sf(np.abs(self.z))
        reach = norm.ppf(0.5 + 0.5 * level) * self.standard_errors
        self.intervals = np.column_stack([coef - reach, coef + reach])
        likelihood, null, k = self.log_likelihood, self.null_log_likelihood, self.rank
        self.mcfadden_r2 = 1.0 - likelihood / null if null else np.nan
        self.adjusted_r2 = 1.0 - (likelihood - k) / null if null else np.nan
        self.aic = 2.0 * k - 2.0 * likelihood
        self.bic = k * np.log(self.n_rounds) - 2.0 * likelihood
        self.likelihood_ratio = 2.0 * (likelihood - null)
        self.likelihood_ratio_p = float(chi2.sf(self.likelihood_ratio, k)) if k else np.nan

    def to_dict(self) -> dict[str, Array]:
        """Columns of the table by their names, arrays (p,)."""
        low, high = self.intervals.T
        return {
            "feature": self.names,
            "coef": self.coef,
            "std err": self.standard_errors,
            "z": self.z,
            "P>|z|": self.p_values,
            f"{0.5 - 0.5 * self.level:.3g}": low,
            f"{0.5 + 0.5 * self.level:.3g}": high,
        }

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, its index the features; needs pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()).set_index("feature")

    def __repr__(self) -> str:
        return "\n".join([*self._head(), "", *self._rows()])

    def _head(self):
        ratio, chance = f"{self.likelihood_ratio:.2f}", f"{self.likelihood_ratio_p:.4f}"
        pairs = [
            ("log-likelihood", f"{self.log_likelihood:.3f}", "choice sets", f"{self.n_rounds:g}"),
            ("at equal shares", f"{self.null_log_likelihood:.3f}", "parameters", f"{self.rank}"),
            ("McFadden's R²", f"{self.mcfadden_r2:.4f}", "adjusted", f"{self.adjusted_r2:.4f}"),
            ("AIC", f"{self.aic:.2f}", "BIC", f"{self.bic:.2f}"),
            ("likelihood ratio", ratio, "P>χ²", chance),
        ]
        return [f"{a:17}{b:>14}    {c:14}{d:>12}" for a, b, c, d in pairs]

    def _rows(self):
        columns = self.to_dict()
        names = columns.pop("feature")
        width = max(12, *(len(str(name)) for name in names))
        yield " " * width + "".join(f"{title:>11}" for title in columns)
        for name, coef, error, z, p, *interval in zip(names, *columns.values(), strict=True):
            shown = [_short(coef), _short(error), f"{z:.2f}", f"{p:.4f}", *map(_short, interval)]
            yield f"{name!s:{width}}" + "".join(f"{number:>11}" for number in shown)


def _short(value):
    """Four decimals, or three significant digits of small and large numbers."""
    return f"{value:.4f}" if value == 0.0 or 1e-2 <= abs(value) < 1e5 else f"{value:.3g}"


@parameters
class ConditionalLogit(BaseEstimator):
    r"""Conditional logit model of discrete choice: predict which item of a choice set is chosen.

    Use it for travel modes, offers of a shop, or answers to a survey. Each choice set (round) has
    any number of items with features, and one item is chosen. Item i of round t is chosen with
    probability

    .. math:: p_w(i | t) = \exp\langle w, x_{ti}\rangle \big/ \sum_k \exp\langle w, x_{tk}\rangle,

    over the available items [1]_ [2]_, with one weight per feature for all items. Features that are
    the same for all items of a round have no effect, so there is no intercept. Add
    alternative-specific constants, and products of item features with features of the decision
    maker, as columns.

    The fit is the exact optimum, by default the maximum-likelihood estimate, of the objective of
    `ConditionalRandomField`,

    .. math:: \frac{1}{\sum_t c_t} \sum_t -c_t \ln p_w(y_t | t) + \frac{α}{2} \|w\|^2.

    Parameters
    ----------
    alpha : float, default=0.0
        Regularization strength α, at least 0, as in `ConditionalRandomField`: ``1/(nC)`` for n
        rounds and the C of LogisticRegression. 0 is maximum likelihood, which you need for the
        usual standard errors.
    standardize : bool or "auto", default="auto"
        Units in which α penalizes weights: standard deviations of features within rounds, or those
        of X. "auto" does not change indicators, whose entries are 0 and 1. It has no effect with
        ``alpha=0``. `coef_` is always in units of X.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-12
        Tolerance of the stopping rule: the gap, in units of the objective.
    verbose : bool or int, default=0
        Whether to print a line for each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights w, in units of X. If choices do not determine them, those of the least norm.
    standard_errors_ : ndarray of shape (n_features_in_,)
        Standard errors, the roots of the diagonal of `covariance_`. NaN for weights that choices do
        not determine.
    covariance_ : ndarray of shape (n_features_in_, n_features_in_)
        Inverse Hessian of the objective times Σc. With α > 0 it belongs to the penalized weights,
        which are biased towards 0.
    log_likelihood_ : float
        Log-likelihood ``Σ_t c_t ln p(y_t | t)``, without the penalty.
    null_log_likelihood_ : float
        The same if all available items are equally likely, ``−Σ_t c_t ln m_t``.
    gap_ : float
        Bound on the distance of the objective from its minimum. For α > 0 it is at most the duality
        gap ``‖∇‖²/(2α)``. It is at most ``λ² h(Dλ)``, with λ the Newton decrement, D a bound on the
        distance of two items of a round in the metric of the inverse Hessian, and
        ``h(q) = (q + (1 − q) ln(1 − q))/q²`` between 1/2 and 1. This proves that an optimum exists
        [3]_.
    n_iter_ : int
        Number of iterations.
    n_rounds_ : int
        Number of rounds.
    rank_ : int
        Number of weights that choices determine.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X has string names.

    Warns
    -----
    UserWarning
        For α = 0, with the names of features that vary in no round, and of those that are collinear
        within all rounds. Their weights are not determined.
    ConvergenceWarning
        If the gap is above `tol` at the end.

    See Also
    --------
    ItemStructuredPredictor : The online learner for choices, subsets and assignments of items.
    ListwiseRanker : Learning to rank items by graded relevance.
    ConditionalRandomField : Log-linear models of classes and sequences.

    Notes
    -----
    With metadata routing, `fit`, `score` and the methods that predict request `qid` and `available`
    by default: ``GridSearchCV(ConditionalLogit(), …,
    cv=GroupKFold(5).set_split_request(groups="qid")).fit(X, y, qid=qid)``. Lists of matrices need
    no routing.

    For α = 0, perfect separation raises an error, because the maximum-likelihood estimate does not
    exist [4]_.

    References
    ----------
    .. [1] McFadden (1974). Conditional logit analysis of qualitative choice behavior. Frontiers in
       Econometrics.

    .. [2] Train (2009). Discrete choice methods with simulation. Cambridge University Press.

    .. [3] Bach (2010). Self-concordant analysis for logistic regression. Electronic Journal of
       Statistics.

    .. [4] Albert, Anderson (1984). On the existence of maximum likelihood estimates in logistic
       regression models. Biometrika.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import ConditionalLogit
    >>> X = [[[1.0, 5.0], [2.0, 3.0]], [[1.0, 2.0], [3.0, 1.0]], [[2.0, 4.0], [1.0, 6.0]]]
    >>> model = ConditionalLogit(alpha=0.1).fit(X, [0, 0, 1])
    >>> model.predict(X)
    array([0, 0, 1])
    >>> rows, qid = np.concatenate(X), [0, 0, 1, 1, 2, 2]
    >>> model.fit(rows, [1, 0, 1, 0, 0, 1], qid).predict(rows, qid)
    array([1, 0, 1, 0, 0, 1])
    """

    alpha: float = 0.0
    standardize: bool | Literal["auto"] = "auto"
    max_iter: int = 1000
    tol: float = 1e-12
    verbose: bool | int = 0

    _instead_of_strings = (
        "Replace string columns by an indicator per value but one, which is the reference: "
        "pandas.get_dummies(X, drop_first=True, dtype=float)."
    )
    #: Newton's method stores matrices of p² numbers.
    _max_features = 10_000
    #: Metadata that methods request by themselves: no `set_fit_request` is needed.
    _requested = {"qid": True, "available": True}
    __metadata_request__fit = __metadata_request__score = _requested
    __metadata_request__predict = __metadata_request__decision_function = _requested
    __metadata_request__predict_proba = __metadata_request__predict_log_proba = _requested

    def fit(
        self, X: Any, y: Any, qid: Given = None, available: Any = None, sample_weight: Given = None
    ) -> Self:
        """Learn from all rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items: rows of all rounds with `qid`, or one matrix per round; an array (n, m, p) is
            accepted too. CSR stays CSR.
        y : array-like of shape (N,) or (n,)
            Choices. With `qid`, 1 for the chosen item of each round and 0 for the others; for
            matrices the index of the chosen item in its round, from 0.
        qid : array-like of shape (N,) or None, default=None
            Round of each row, numbers or names, in any order.
        available : array-like of bool or None, default=None
            Which items are available, (N,) or one array (m,) per round. None is all. Leaving rows
            out is the same.
        sample_weight : array-like of shape (n,) or (N,), or None, default=None
            Weights c of rounds, or of rows, the same for all rows of a round. A weight of two is
            the same as repeating the round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, rounds without an item or with no or several choices, and features
            that are not finite numbers. For ``alpha=0`` also for perfect separation. The fitted
            state is then unchanged.
        """
        self._check_parameters()
        with learning_aside(self) as new:
            new._fit(X, y, qid, available, sample_weight)
        return self

    def _check_parameters(self):
        if isinstance(self.alpha, bool) or self.alpha != 0:
            check_size("alpha", self.alpha)
        check_positive("tol", self.tol)
        check_integer("max_iter", self.max_iter)
        if not isinstance(self.standardize, str) or self.standardize != "auto":
            check_bool("standardize", self.standardize)
        is_verbose(self)

    def _fit(self, X, y, qid, available, sample_weight):
        items, matrix = self._read(X, qid, available, reset=True)
        if matrix.shape[1] > self._max_features:
            raise ValueError(
                f"X must have at most {self._max_features} features, because standard errors need "
                f"a matrix of p² numbers; got {matrix.shape[1]}. Use ItemStructuredPredictor."
            )
        weight = check_weights(items.round_weights(sample_weight), items.qid, len(items))
        is_kept = weight > 0.0
        rows = np.repeat(is_kept, items.lengths)
        offsets = np.append(0, np.cumsum(items.lengths[is_kept]))
        chosen = np.flatnonzero(chosen_of(items, y).values[rows])
        fit(self, matrix if is_kept.all() else matrix[rows], offsets, chosen, weight[is_kept])
        self.n_rounds_, self._total = len(items), float(weight.sum())
        self.null_log_likelihood_ = -float(weight @ np.log(items.lengths))

    def _read(self, X, qid, available, reset=False):
        """Rounds of items, and the features of the available ones as float64 or CSR."""
        items = read_items(X, qid, available)
        matrix = check_features(self, items.values, reset)
        check_item_entries(matrix, items)
        return items, matrix

    def _utilities(self, X, qid, available):
        check_is_fitted(self)
        items, matrix = self._read(X, qid, available)
        return items, matrix @ self.coef_

    def decision_function(self, X: Any, qid: Given = None, available: Any = None) -> Any:
        """Utilities ``<coef_, x_i>`` of items.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X; NaN for items that are not available.
        """
        items, theta = self._utilities(X, qid, available)
        return items.unstacked(theta)

    def predict_proba(self, X: Any, qid: Given = None, available: Any = None) -> Any:
        """Probabilities of the items, which sum to 1 in each round.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X; 0 for items that are not available.
        """
        items, theta = self._utilities(X, qid, available)
        return items.unstacked(probabilities(theta, items.offsets)[0], 0.0)

    def predict_log_proba(self, X: Any, qid: Given = None, available: Any = None) -> Any:
        """Logarithms of the probabilities, -inf for items that are not available.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X.
        """
        items, theta = self._utilities(X, qid, available)
        return items.unstacked(probabilities(theta, items.offsets)[1], -np.inf)

    def predict(self, X: Any, qid: Given = None, available: Any = None) -> Array:
        """Predict the most likely item of each round, the first of equal ones, in the form of y.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (N,) or (n,)
            With `qid`, 1 for the most likely item of a round and 0 for others; else its index.
        """
        items, theta = self._utilities(X, qid, available)
        rows = first_largest(theta, items.offsets)
        if not items.flat:
            return items.places_in_rounds[rows]
        return items.unstacked(np.isin(np.arange(len(items.indices)), rows).astype(np.int64), 0)

    def score(
        self, X: Any, y: Any, qid: Given = None, available: Any = None, sample_weight: Given = None
    ) -> float:
        """Compute the share of rounds whose chosen item is the most likely one.

        Parameters
        ----------
        X, y, qid, available, sample_weight
            As for `fit`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        items, theta = self._utilities(X, qid, available)
        right = chosen_of(items, y).values[first_largest(theta, items.offsets)]
        weight = check_weights(items.round_weights(sample_weight), items.qid, len(items))
        return float(np.average(right, weights=weight))

    def summary(self, level: float = 0.95, feature_names: Given = None) -> ChoiceSummary:
        """Weights with standard errors and intervals, log-likelihoods, McFadden's R².

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals, between 0 and 1.
        feature_names : array-like of str of shape (n_features_in_,) or None, default=None
            Names of the features, if X had none.

        Returns
        -------
        ChoiceSummary
            Prints as a table; ``to_frame()`` and ``to_dict()`` have its columns.
        """
        check_is_fitted(self)
        names = list_names(self) if feature_names is None else np.array(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names must be {self.n_features_in_} names, got {feature_names!r}."
            )
        likelihoods = self.log_likelihood_, self.null_log_likelihood_, self._total
        estimates = names, self.coef_, self.standard_errors_
        return ChoiceSummary(*estimates, *likelihoods, self.rank_, level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = tags.input_tags.three_d_array = True
        return tags
