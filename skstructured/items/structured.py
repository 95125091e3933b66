"""The ranker to try first: additive, kernel and tree members, mixed by the loss of queries."""

from enum import IntEnum
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_weights
from skstructured._engine.compiled import plain_integers
from skstructured._engine.state import renamed
from skstructured._learners.lock import snapshot
from skstructured.estimators._auto import draw_seeds
from skstructured.estimators.mixture._learner import CrossFitted
from skstructured.estimators.mixture._mixture import RIDGE_KERNELS, Mixture
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.estimators.structured import StructuredPredictor
from skstructured.extend._types import Floats, Given
from skstructured.items._reading import Items, check_numbers, read_items, shares_of
from skstructured.items.metrics import ndcg
from skstructured.items.ranker import ListwiseRanker, predict, rank, score_rankings

#: Columns of the packed outputs of items; the share is that of the gains of a query.
PackedGrade = plain_integers(IntEnum("PackedGrade", "GRADE SHARE QUERY", start=0))


class Grades:
    """Grades in units of their standard deviation, which kernels and trees learn."""

    def __init__(self, grades: Floats, weight: Floats) -> None:
        self.center = np.average(grades, weights=weight)
        variance = np.average((grades - self.center) ** 2, weights=weight)
        self.scale = np.sqrt(variance) or 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object."""
        vars(self).update(renamed(state))

    def unpack(self, packed: Floats) -> Floats:
        """Outputs (N, 1)."""
        return (packed[:, :1] - self.center) / self.scale


class QueryLoss:
    r"""The listwise loss ``\log Σ_i e^{θ_i} - Σ_i y_i θ_i`` of queries, a part of it per item.

    The loss of a query is the sum of the parts of its items, which stand together.
    """

    linear_in_outputs = False

    def __init__(self, space: Grades) -> None:
        self.space = space

    def mean(self, theta: Floats) -> Floats:
        """Scores, unchanged: kernels and trees predict them."""
        return theta

    link = mean

    def value_and_gradient(self, theta: Floats, truth: Floats) -> tuple[Floats, Floats]:
        """Parts (N,) and gradients (N, 1) at scores (N, 1), for shares and queries (N, 2)."""
        (share, query), theta = truth.T, theta[:, 0]
        starts = np.flatnonzero(np.diff(query, prepend=-1.0))
        lengths = np.diff(np.append(starts, len(query)))
        theta = theta - np.repeat(np.maximum.reduceat(theta, starts), lengths)
        raised = np.exp(theta)
        totals = np.repeat(np.add.reduceat(raised, starts), lengths)
        value = np.log(totals) / np.repeat(lengths, lengths) - share * theta
        return value, (raised / totals - share)[:, None]

    objective = value_and_gradient

    def curvature(self, theta: Floats, truth: Floats, slopes: Floats) -> Floats:
        """Second derivatives (N, 1) of the losses of queries in each score."""
        shares = slopes + truth[:, :1]
        return shares * (1.0 - shares)


class CrossFittedRanker(CrossFitted):
    """A ranker as a member: others like it score the queries that they have not learned."""

    def _fitted_to(self, estimator, X, y, **given):
        return estimator.fit(X, y[:, PackedGrade.GRADE], y[:, PackedGrade.QUERY], **given)

    def _score(self, estimator, X):
        return estimator.predict(X)[:, None]


@inherit_parameters(StructuredPredictor)
@parameters
class StructuredRanker(Mixture):
    r"""Rank the items of a query without hyperparameters to tune: the ranker to try first.

    It learns one score per item from queries with graded relevance. Additive, kernel and tree
    models are fitted to all items, and their scores are mixed. The weights of the mixture minimize
    the listwise loss [1]_ over scores of models that have not learned the query.

    Parameters
    ----------
    missing : {"mean", "indicator", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), as in `ListwiseRanker`. Trees get them
        unchanged.
    n_landmarks : int, default=2000
        Number of items that kernel ridge regressions keep at random, a third of them for each
        kernel. More of them take longer and can be more accurate if grades depend on interactions
        of features.
    {StructuredPredictor: n_jobs, verbose, random_state, max_seconds}

    Attributes
    ----------
    {StructuredPredictor: estimators_}
    named_estimators_ : dict
        The same by name: "additive", "rbf", "laplacian", "arc-cosine", "boosting" and "trees". For
        CSR rows "linear" alone.
    weights_ : ndarray of shape (n_members,)
        Weights of the members' scores, positive. All equal with fewer than 10 queries.
    validation_scores_ : ndarray of shape (n_members,)
        NDCG of each member alone on queries it has not learned; NaN with fewer than 10 queries.
    validation_score_ : float
        NDCG of the mixture on the same queries, each half with the weights of the other half.
    {StructuredPredictor: n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, NaN or inf in X (NaN is accepted if `missing`
        is not "error"), and invalid grades. The fitted state is then unchanged.

    See Also
    --------
    ListwiseRanker : The additive or linear member, for streams too.
    StructuredPredictor : Label ranking, if all rows rank the same labels.
    skstructured.items.metrics.ndcg : NDCG@k, for ``make_scorer``.

    Notes
    -----
    The members are `ListwiseRanker`, kernel ridge regressions of grades, trees that are boosted by
    the listwise loss if their loss is near the lowest of the others, and a random forest of grades
    with at least five items per leaf. Kernels and the forest learn grades in units of their
    standard deviation. With θ_e(x) of members that have not learned the query of x, the weights
    ``a = exp z`` minimize

    .. math:: \sum_q S(\sum_e e^{z_e} θ_e; y_q) + 0.1 ‖z‖^2, \quad
        S(θ; y) = \log \sum_i e^{θ_i} - \sum_i y_i θ_i,

    over the queries q with shares ``y_i ∝ 2^{grade_i} − 1``. There are no ranking metrics in the
    loss, and no bound.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai, Li (2007). Learning to rank: from pairwise approach to listwise
       approach. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import StructuredRanker
    >>> rng = np.random.RandomState(0)
    >>> qid = np.repeat(np.arange(100), 5)  # 100 queries of five documents
    >>> X = rng.randn(500, 3)
    >>> grades = np.digitize(X[:, 0] * X[:, 1], [-1.0, 0.0, 1.0])
    >>> model = StructuredRanker(random_state=0).fit(X[:400], grades[:400], qid[:400])
    >>> model.score(X[400:], grades[400:], qid[400:]) > 0.85  # NDCG
    True
    """

    missing: Literal["mean", "indicator", "error"] = "mean"
    n_landmarks: int = 2000
    n_jobs: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None
    max_seconds: float | None = None

    estimators = "auto"
    member_of = CrossFittedRanker
    _widest = 0
    _shared_by = len(RIDGE_KERNELS)

    def fit(  # type: ignore[override]  # items have queries
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Fit all members, and find their weights.

        Parameters
        ----------
        X, y, qid, available, sample_weight
            As for `ListwiseRanker.fit`; y are grades, 0 or more, one per item in the form of X.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, a qid that is missing or of another length, queries without items,
            NaN or inf in X, and invalid grades. The fitted state is then unchanged.
        """
        items = read_items(X, qid, available)
        grades = check_numbers("y", items.stacked(y), 0.0)
        weight = check_weights(items.round_weights(sample_weight), items, len(items))
        queries = np.repeat(np.arange(len(items)), items.lengths)
        packed = np.column_stack([grades, shares_of(items, y).values, queries])
        return super().fit(items.values, packed, weight[queries])

    def _fit(self, X, y, sample_weight):
        return super()._fit(X, y, sample_weight, y[:, PackedGrade.QUERY])

    def _start(self, y, sample_weight):
        self.loss_ = QueryLoss(Grades(y[:, PackedGrade.GRADE], sample_weight))
        return y, sample_weight

    def _learners(self, X):
        name, seed = "linear" if issparse(X) else "additive", draw_seeds(self.random_state_)
        options = {"missing": self.missing, "standardize": "moments", "random_state": seed}
        return [(name, ListwiseRanker(kernel=name, **options))]

    def _trees(self, seed):
        options = VertexTrees.random_forest | {"n_trees": 10, "min_samples_leaf": 5}
        return VertexTrees(self.loss_, None, seed, self.n_jobs, **options)

    def _truths(self, training):
        return training.y[:, PackedGrade.SHARE :]

    def _usual_weight(self, n_members):
        return 1.0

    def _judge(self, theta, packed, weight):
        grades, _, queries = packed.T
        return ndcg(grades, theta[:, 0], queries, sample_weight=weight)

    _items = staticmethod(read_items)
    predict, rank, score = predict, rank, score_rankings

    def _scores(self, items: Items) -> Ragged:
        twin = snapshot(self)
        check_is_fitted(twin, "_mixed")
        return Ragged(twin._mixed_scores(items.values)[:, 0], items.offsets)
