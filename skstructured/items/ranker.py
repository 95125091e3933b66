"""Learning to rank: one score for each item of a query."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import gen_batches

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_choice, check_weights
from skstructured._engine.robust_columns import weighted_quantile
from skstructured._engine.rows import Rows
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Array, Floats, Given, Ints
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.items._reading import Items, ranks_of, ranks_within_rounds, shares_of
from skstructured.items.metrics import ndcg
from skstructured.items.predictor import ItemLearner, ItemStructuredPredictor


class QuantileBinner:
    """Columns 1{x_j > t} for the quantiles t of each feature j, which linear scores make curves of.

    Quantiles are of rows X (n, p), NaN left out, with their `weight` (n,). Column q compares
    ``features[q]`` with ``thresholds[q]``.
    """

    def __init__(self, X: Array, weight: Floats, n_quantiles: int = 20) -> None:
        shares = np.arange(1, n_quantiles) / n_quantiles
        cuts = [_quantiles(column, weight, shares) for column in X.T]
        self.features: Ints = np.repeat(np.arange(len(cuts)), [*map(len, cuts)])
        self.thresholds: Floats = np.concatenate(cuts)

    def __len__(self) -> int:
        return len(self.features)

    def rows(self, X: Array) -> Rows:
        """The columns (n, q) of rows; NaN if a feature is missing."""
        values = X[:, self.features]
        steps = (values > self.thresholds).astype(np.float64)
        steps[np.isnan(values)] = np.nan
        return Rows.from_array(steps)

    def blocks(self, rows: Rows, numbers_per_block: int = 1 << 21) -> Iterator[Rows]:
        """The columns of all rows, some of them at a time."""
        size = max(1, numbers_per_block // max(len(self), 1))
        return (self.rows(rows.matrix[block]) for block in gen_batches(rows.n_rows, size))


def _quantiles(column: Floats, weight: Floats, shares: Floats) -> Floats:
    """The distinct quantiles of a column without NaN, less the largest value."""
    counted = ~np.isnan(column) & (weight > 0.0)
    if not counted.any():
        return np.zeros(0)
    values = column[counted]
    cuts = np.unique(weighted_quantile(values, weight[counted], shares))
    return cuts[cuts < values.max()]


def predict(self: Any, X: Any, qid: Given = None, *, available: Any = None) -> Any:
    """Predict scores of the items, higher for items that are ranked first.

    Parameters
    ----------
    X, qid, available
        As for `fit`. Scores of items do not depend on their queries: rows need no `qid`.

    Returns
    -------
    ndarray of shape (N,), or list of n arrays (m,)
        In the form of X; NaN for items that are not available.
    """
    return ItemLearner.decision_function(self, X, qid, available=available)


def rank(self: Any, X: Any, qid: Given = None, *, available: Any = None) -> Any:
    """Places of the items in their queries, 1 for the first; ties in the order given.

    Parameters
    ----------
    X, qid, available
        As for `fit`.

    Returns
    -------
    ndarray of shape (N,), or list of n arrays (m,)
        In the form of X; 0 for items that are not available.
    """
    items = self._items(X, qid, available)
    places = ranks_within_rounds(-self._scores(items).values, items.offsets, "ordinal")
    return items.unstacked(places.astype(np.int64), 0)


def score_rankings(
    self: Any,
    X: Any,
    y: Any,
    qid: Given = None,
    *,
    available: Any = None,
    sample_weight: Given = None,
) -> float:
    """Mean NDCG over the queries, all places counting; see `skstructured.items.metrics.ndcg`.

    Parameters
    ----------
    X, y, qid, available, sample_weight
        As for `fit`.

    Returns
    -------
    float
        NaN if all grades are 0 in every query of positive weight.
    """
    items = self._items(X, qid, available)
    theta, weight = self._scores(items).values, items.round_weights(sample_weight)
    rounds = np.repeat(np.arange(len(items)), items.lengths)
    return ndcg(items.stacked(y), theta, rounds, sample_weight=weight)


@inherit_parameters(OnlineStructuredPredictor, ItemStructuredPredictor)
@parameters
class ListwiseRanker(ItemLearner):
    r"""Listwise learning to rank: rank the items of a query by their features, online or in passes.

    It learns one score per item from whole queries with graded relevance, for documents of a search
    or products of a page. Queries can have any number of items. It works on unscaled features, and
    there are no hyperparameters to tune. Learn queries as a stream with ``partial_fit``, or all at
    once with ``fit``.

    With "listnet" [1]_ the loss of a query with scores θ and shares ``y_i ∝ 2^{grade_i} − 1`` is
    the cross-entropy

    .. math:: S(θ; y) = \log \sum_i e^{θ_i} - \sum_i y_i θ_i.

    "sparse_listnet" is the same with a squared regularizer. "permutahedron" [2]_ is
    ``½‖r‖² + max_μ (<θ, μ> − ½‖μ‖²) − <θ, r>`` over the mean rank vectors μ, with r the ranks of
    the grades, ties averaged. All are Fenchel–Young losses, so the guarantees of
    `OnlineStructuredPredictor` hold [3]_: with the randomized decoder the target loss has a finite
    surrogate regret. The target loss is the probability that the predicted first item differs from
    one drawn in proportion to the gains, or Spearman's loss for "permutahedron".

    Parameters
    ----------
    loss : {"listnet", "sparse_listnet", "permutahedron"}, default="listnet"
        Loss to learn with. "listnet" emphasizes the top of the list, "permutahedron" counts all
        places.
    kernel : {"auto", "linear", "additive"}, default="auto"
        Form of the scores. "linear" is ``x w``. "additive" is a sum of one step function per
        feature, with steps at 19 quantiles of the rows of `fit`; only the order of a feature's
        values counts. It needs dense rows and a first call of `fit`, after which `partial_fit`
        continues. "auto" is "additive" in a `fit` of dense rows, and "linear" for CSR rows and
        streams.
    optimizer : str or OnlineOptimizer, default="auto"
        How the weights are updated: "mixture", "parameter_free", "ogd" or "adaptive". "auto" is
        "mixture" for streams and single passes, "parameter_free" for several passes.
    {OnlineStructuredPredictor: average}
    {ItemStructuredPredictor: standardize, missing}
    max_iter : int or "auto", default=2
        Number of passes (epochs) of `fit`, all of which are made. "auto" compares 1, 2, 3, 5, 10, …
        passes on held-out queries.
    shuffle : bool, default=True
        Whether `fit` visits the queries of each pass in random order.
    decoder : str or Decoder, default="randomized"
        Decoder for which losses are reported, as by `progressive_validate`. Neither learning nor
        `predict` uses it.
    {OnlineStructuredPredictor: verbose, random_state}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features that predictions use: averaged with `average`, else the last. For a
        mixture they are the mean over its experts. Only set if scores are linear.
    thresholds_, steps_ : list of n_features_in_ ndarrays
        Positions of the steps of each feature, and the change of the score at each. Only set if
        scores are additive.
    {OnlineStructuredPredictor: space_, t_, n_iter_, loss_curve_, validation_curve_}
    {ItemStructuredPredictor: missing_coef_, n_features_in_, feature_names_in_}

    See Also
    --------
    ItemStructuredPredictor : Choices, subsets and assignments over items.
    ConditionalLogit : Discrete choice in batch, with standard errors.
    OnlineStructuredPredictor : Label ranking, if all rows rank the same labels.
    skstructured.items.metrics.ndcg : NDCG@k, for ``make_scorer``.

    Notes
    -----
    Grades y are numbers of at least 0, one per item in the form of X; for "permutahedron" any
    numbers, the larger the better. If all grades of a query are the same, the query pulls its
    scores together. A query with one item has no effect. Sample weights are per query.

    A feature that is the same for all items of a query has no effect.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai, Li (2007). Learning to rank: from pairwise approach to listwise
       approach. ICML.

    .. [2] Blondel, Teboul, Berthet, Djolonga (2020). Fast differentiable sorting and ranking. ICML.

    .. [3] Sakaue, Bao, Tsuchiya, Oki (2024), Theorems 4.2 and 4.6; see `FenchelYoung`.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import ListwiseRanker
    >>> rng = np.random.RandomState(0)
    >>> qid = np.repeat(np.arange(100), 5)  # 100 queries of five documents
    >>> X = rng.randn(500, 3)
    >>> grades = np.digitize(X @ [2.0, -1.0, 0.0] + rng.randn(500), [-1.0, 1.0, 3.0])
    >>> model = ListwiseRanker(random_state=0).fit(X[:400], grades[:400], qid[:400])
    >>> model.score(X[400:], grades[400:], qid[400:]) > 0.85  # NDCG
    True
    """

    loss: Literal["listnet", "sparse_listnet", "permutahedron"] = "listnet"
    kernel: Literal["auto", "linear", "additive"] = "auto"
    optimizer: str | OnlineOptimizer = "auto"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    max_iter: int | Literal["auto"] = 2
    shuffle: bool = True
    decoder: str | Decoder = "randomized"
    verbose: bool | int = 0
    random_state: Seed = None

    fit_intercept = False

    predict, rank, score = predict, rank, score_rankings

    def _over(self) -> tuple[Any, Any]:
        terms = {
            "listnet": ("simplex", "shannon"),
            "sparse_listnet": ("simplex", "squared"),
            "permutahedron": ("permutahedron", "squared"),
        }
        check_choice("loss", self.loss, terms)
        return terms[self.loss]

    def _targets(self, items: Items, y: Any) -> Ragged:
        return (ranks_of if self._over()[0] == "permutahedron" else shares_of)(items, y)

    def _read(self, X: Any, reset: bool = False) -> Batch:
        """The `Batch` of items; those of `fit` begin without steps."""
        batch = super()._read(X, reset)
        if reset:
            check_choice("kernel", self.kernel, ("auto", "linear", "additive"))
            self._steps = None
        additive = self.kernel == "additive" if reset else self._steps is not None
        if additive and batch.rows.is_sparse:
            raise ValueError(
                "kernel='additive' is only supported for dense rows; got a sparse matrix."
            )
        return batch

    def _space_of(self, batch: Batch, y: Any, sample_weight: Given) -> Any:
        """See `OnlineEstimator`; the steps of curves are taken as well."""
        if self.kernel == "additive" or (self.kernel == "auto" and not batch.rows.is_sparse):
            lengths = batch.X.lengths
            weight = check_weights(sample_weight, lengths, len(lengths))
            self._steps = QuantileBinner(batch.rows.matrix, np.repeat(weight, lengths))
        return super()._space_of(batch, y, sample_weight)

    def _check_stream(self, anew: bool) -> None:
        if self.kernel == "additive" and (anew or not hasattr(self, "space_")):
            raise ValueError(
                "kernel='additive' needs the quantiles of the features: call fit on a first batch, "
                "then partial_fit."
            )

    @property
    def coef_(self) -> Array:
        """Weights of the features (p,), in units of X: those that predictions use."""
        if self._steps is not None:
            raise AttributeError(
                "coef_ is only available for kernel='linear': use thresholds_ and steps_."
            )
        return super().coef_

    @property
    def thresholds_(self) -> list[Floats]:
        """Positions of the steps of each feature."""
        return self._of_features("thresholds_", lambda steps: steps.thresholds)

    @property
    def steps_(self) -> list[Floats]:
        """Change of the score at each of `thresholds_`."""
        return self._of_features("steps_", lambda steps: self._weights()[0, : len(steps)])

    def _of_features(self, name: str, read: Any) -> list[Floats]:
        """Numbers of the steps, one array per feature."""
        if self._steps is None:
            raise AttributeError(f"{name} is set by fit with kernel='additive'.")
        numbers = read(self._steps)
        return [numbers[self._steps.features == j] for j in range(self.n_features_in_)]
