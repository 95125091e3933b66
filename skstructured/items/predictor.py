"""Online learners of items that have features, one vector of weights: choices, subsets, orders."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from skstructured._base.component import Seed, available_if, inherit_parameters, parameters_with
from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_finite
from skstructured._learners.lock import snapshot
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import Decoding, decode_scores
from skstructured.decoders import resolve_decoder
from skstructured.estimators._auto import given_decoder, is_auto
from skstructured.estimators.online import OnlineParameters, OnlineStructuredPredictor
from skstructured.extend._types import Array, Floats, Given
from skstructured.extend.learner import Batch, stacked_batch
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.items._model import ItemRounds
from skstructured.items._reading import Items, read_items
from skstructured.items._spaces import ItemLoss, OverItems, over_items
from skstructured.losses import FenchelYoung, fenchel_young_of
from skstructured.optimizers import resolve_optimizer
from skstructured.sequences._ragged import RoundModel
from skstructured.spaces import resolve_space


class ItemLearner(OnlineEstimator):
    """Rounds of items that one vector of weights scores.

    A subclass has the parameters of `OnlineEstimator`, `decoder` and `optimizer`; it
    brings `_over()`, the space and the regularizer, and `_targets(items, y)`.
    """

    loss_: Any
    _steps: Any = None
    #: The last round of the last call of `partial_fit`, and whether it had others.
    _last_round: Any = None

    @abstractmethod
    def _over(self) -> tuple[Any, Any]:
        """The space of a round, and a regularizer or None for its own."""

    @abstractmethod
    def _targets(self, items: Items, y: Any) -> Ragged:
        """Truths of the rounds, points of the polytopes."""

    def _unfitted_space(self) -> OverItems:
        return over_items(clone(resolve_space(self._over()[0])))

    def _fenchel_young(self) -> FenchelYoung:
        return FenchelYoung()

    def _parts(self, space: Any) -> Any:
        resolve_decoder(self.decoder)
        optimizer = self.optimizer
        if is_auto(optimizer):
            optimizer = "parameter_free" if self._many_passes else "mixture"
        terms = self._fenchel_young().terms(space.space, self._over()[1])
        return ItemLoss(space, *terms, (space.first_,)), resolve_optimizer(optimizer)

    def new_model(self) -> Any:
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return RoundModel(self, ItemRounds(self._steps, self.space_.constant_sum))

    _given_decoder, decode = given_decoder, decode_scores

    def _take_decoder(self) -> None:
        self.loss_.warn_without_gap()

    def _wants_intercept(self) -> bool:
        return super()._wants_intercept() and not self.space_.constant_sum

    def _items(self, X: Any, qid: Given = None, available: Any = None) -> Items:
        """Rounds as a user gives them."""
        return read_items(X, qid, available)

    def _read(self, X: Any, reset: bool = False) -> Batch:
        """The checked `Batch` of items, without outputs."""
        batch = stacked_batch(self, read_items(X), reset)
        check_finite(self, batch.rows, reset)
        return batch

    def fit(  # type: ignore[override]  # items have rounds
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Learn from scratch, in at most `max_iter` passes over the rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (N, p), list of n matrices (m, p), or array of \
                shape (n, m, p)
            Items: rows with `qid`, or one matrix per round.
        y : array-like
            Outputs, in the form of X.
        qid : array-like of shape (N,) or None, default=None
            Round of each row of X, in any order; None if X is one matrix per round.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X; None is all. Others are left out.
        sample_weight : array-like of shape (n,) or (N,) or None, default=None
            Non-negative weights of the rounds; with `qid` also one per row, the same in a round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, a qid that is missing or of another length, rounds without items,
            NaN or inf in X, and invalid outputs. The fitted state is then unchanged.
        """
        items = self._items(X, qid, available)
        weight = items.round_weights(sample_weight)
        self._fit(items, self._targets(items, y), weight)
        self._last_round = None
        return self

    def partial_fit(  # type: ignore[override]  # items have rounds
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Learn the rounds in order; chunks of any size give the same weights.

        Rounds are in the order of their first rows. A round must not be split between calls; a
        warning names a `qid` with which one call ends and the next begins.

        Parameters
        ----------
        X, y, qid, available, sample_weight
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what `fit` refuses.
        """
        self._check_stream(False)
        items = self._items(X, qid, available)
        weight = items.round_weights(sample_weight)
        self._warn_of_split(items)
        super().partial_fit(items, self._targets(items, y), sample_weight=weight)
        self._last_round = (items.qid[-1], len(items) > 1) if items.flat else None
        return self

    def _warn_of_split(self, items: Items) -> None:
        """Warn if the first round is named as the last one, unless calls have one round each."""
        name, several = self._last_round or (None, False)
        if items.flat and items.qid[0] == name and (several or len(items) > 1):
            warnings.warn(
                f"Round {items.qid.tolist()[0]!r} ended the last call of partial_fit and begins "
                "this one: it is learned as two rounds. Pass all items of a round in one call, or "
                "give different rounds different qid.",
                UserWarning,
                stacklevel=3,
            )

    def begin(self, X: Any, y: Any, classes: Given = None) -> Batch:
        """Start a stream of rounds, one matrix (m, p) each; their `Batch`."""
        self._check_stream(True)
        items = self._items(X)
        return super().begin(items, self._targets(items, y), classes)

    def resume(self, X: Any, y: Any) -> Batch:  # type: ignore[override]  # without weights
        """The `Batch` of further rounds of the stream that is being learned."""
        items = self._items(X)
        return super().resume(items, self._targets(items, y))

    def _decoding(self, items: Items) -> Decoding:
        twin = snapshot(self)
        with twin.lock:
            return twin.decode(twin._scores(items))

    def decision_function(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Scores of the items, ``X coef_ + intercept_``.

        Parameters
        ----------
        X, qid, available
            As for `fit`. Scores of single items do not depend on their rounds: rows need no `qid`.

        Returns
        -------
        ndarray of shape (N,), or list of n arrays (m,)
            In the form of X; NaN for items that are not available.
        """
        if qid is None and hasattr(X, "shape") and len(X.shape) == 2:  # rounds do not matter
            qid = np.zeros(X.shape[0], dtype=np.int64)
        items = self._items(X, qid, available)
        return items.unstacked(self._scores(items).values)

    def expected_target_loss(
        self, X: Any, y: Any, qid: Given = None, *, available: Any = None
    ) -> Floats:
        """Exact expectation (n,) of the target loss of the decoder's output, per round.

        Parameters
        ----------
        X, y, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (n,)
        """
        items = self._items(X, qid, available)
        return self._decoding(items).expected_loss(self._targets(items, y))

    @property
    def coef_(self) -> Array:
        """Weights of the features (p,), in units of X: those that predictions use."""
        return self._weights()[0, : self.n_features_in_]

    @property
    def intercept_(self) -> float:  # type: ignore[override]  # one for all items
        """Intercept; 0 if a number added to all scores changes nothing."""
        return float(self._weights()[0, -1]) if self.fit_intercept_ else 0.0

    def certificate(self, delta: float | None = None) -> Any:
        """The theorem that bounds the target loss of the rounds seen so far.

        ``bound(ΣS(u), ‖u‖)`` of the result is the number, u the weights of a comparator over the
        standardized items; see `OnlineStructuredPredictor.certificate`. C² is the largest
        ``λ_max(X_t X_tᵀ)``, from above, of the items of a round.
        """
        return super().certificate(delta)


def _has_probabilities(learner: Any) -> bool:
    """Whether means of items are probabilities; for `available_if`."""
    if not over_items(resolve_space(learner.space)).has_probabilities:
        raise AttributeError(f"means of {learner.space!r} are not probabilities. Use predict_mean.")
    return True


@inherit_parameters(OnlineStructuredPredictor)
@parameters_with(OnlineParameters)
class ItemStructuredPredictor(ItemLearner):
    r"""Predict choices, subsets, orders or assignments of items that have features, online.

    A round is a matrix of items with one row of features each: the alternatives of a choice, the
    products of a page, the pairs of an assignment. Rounds can have any number of items. One vector
    of weights scores all items, ``θ_t = X_t w``, and the output belongs to the `space` over them:
    the chosen item ("simplex", the conditional logit model of discrete choice [1]_), the clicked
    items ("hypercube"), their order ("permutahedron"), or an assignment ("birkhoff").
    It works on unscaled features, and there are no hyperparameters to tune.

    The loss and the guarantees are those of `OnlineStructuredPredictor` [2]_. With
    ``optimizer="ogd"`` the expected cumulative target loss is at most, for every u,

    .. math:: \sum_t c\,S_Ω(X_t u; y_t) + \frac{(1-a)\, b\, \|u\|^2}{4 (1-m) m},

    with b = 2c C²/λ and ``C² = max_t λ_max(X_t X_tᵀ)``.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        Type of the outputs: "simplex" (one item), "hypercube" (any items), "permutahedron" (an
        order), "birkhoff" (m items to m places, with one row of features per pair), or a custom
        space of 0/1 vectors for any number of items.
    {OnlineStructuredPredictor: regularizer}
    loss : "fenchel_young" or FenchelYoung, default="fenchel_young"
        Surrogate loss: that of the regularizer. A `FenchelYoung` without a space sets its scale and
        the constants of its theory.
    {OnlineStructuredPredictor: decoder}
    optimizer : str or OnlineOptimizer, default="mixture"
        How the weights are updated: "mixture", "parameter_free", "ogd" or "adaptive".
    {OnlineStructuredPredictor: average}
    standardize : bool, "auto" or "moments", default="auto"
        Whether to center and scale each feature by its mean and standard deviation over the items
        so far, those of the round included. They lag, and cells far beyond the others count as an
        edge, except with "moments", as in `OnlineStructuredPredictor`. So you do not scale features
        first. "auto" is True. CSR rows are divided by the largest entry of each column so far.
        `coef_` is in units of X, for cells between the edges.
    missing : {"mean", "indicator", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), with `standardize`. "mean" imputes the mean
        of the items so far, "indicator" also appends one column per feature that is 1 if the value
        is missing, and "error" raises an error.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1, if it has an effect: a number added to the scores of
        all items changes nothing for "simplex", "permutahedron" and "birkhoff".
    max_iter : int or "auto", default="auto"
        Number of passes (epochs) of `fit`, all of which are made. "auto" compares 1, 2, 3, 5, 10, …
        passes on held-out rounds.
    shuffle : bool, default=True
        Whether `fit` visits the rounds of each pass in random order.
    {OnlineStructuredPredictor: verbose, random_state}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features that predictions use: averaged with `average`, else the last. For a
        mixture they are the mean over its experts.
    intercept_ : float
        Intercept; 0 without one.
    {OnlineStructuredPredictor: space_, t_, n_iter_, loss_curve_, validation_curve_}
    missing_coef_ : ndarray of shape (1, n_features_in_)
        Change of the score of an item if a feature is missing, with ``missing="indicator"``.
    n_features_in_ : int
        Number of features of an item.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X has string names.

    See Also
    --------
    ListwiseRanker : Learning to rank items by graded relevance.
    ConditionalLogit : Discrete choice in batch, with standard errors.
    OnlineStructuredPredictor : The same outputs, with one row of features per output.

    Notes
    -----
    Outputs y, for X with `qid`, are one number per row: 1 for the chosen item of each round, or for
    every item in the subset or assignment, and 0 for the others. For "permutahedron" they are
    ranks, the best the largest. If X is one matrix per round, y is a list of such arrays. For
    "simplex" it can be the index (n,) of the chosen item in each round. For "birkhoff" it can be
    the places (m,) of the items; X then has m² rows, those of the first item first, or the shape
    (m, m, p).

    A feature that is the same for all items of a round has no effect on a choice or an order. Use
    products of features of the decision maker with those of items.

    References
    ----------
    .. [1] McFadden (1974). Conditional logit analysis of qualitative choice behavior. Frontiers in
       Econometrics.

    .. [2] Sakaue, Bao, Tsuchiya, Oki (2024), Theorems 4.2 and 4.6; see `FenchelYoung`.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.items import ItemStructuredPredictor
    >>> rng = np.random.RandomState(0)
    >>> X = [rng.randn(m, 2) for m in rng.randint(2, 6, size=300)]  # offers of 300 visits
    >>> y = [int(np.argmax(x @ [3.0, -2.0])) for x in X]  # index of the chosen offer
    >>> model = ItemStructuredPredictor(random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    """

    space: str | OutputSpace = "simplex"
    loss: str | FenchelYoung = "fenchel_young"
    optimizer: str | OnlineOptimizer = "mixture"
    verbose: bool | int = 0
    random_state: Seed = None

    def _over(self) -> tuple[Any, Any]:
        return self.space, self.regularizer

    def _fenchel_young(self) -> FenchelYoung:
        surrogate = fenchel_young_of(self.loss)
        if surrogate is None:
            raise ValueError(f'loss must be "fenchel_young" or a FenchelYoung, got {self.loss!r}.')
        return surrogate

    def _items(self, X: Any, qid: Given = None, available: Any = None) -> Items:
        return over_items(resolve_space(self.space)).read(X, qid, available)

    def _targets(self, items: Items, y: Any) -> Ragged:
        return self._unfitted_space().targets(items, y)

    def predict(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Predict the decoder's most likely output of every round; deterministic.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray or list
            In the form of y; 0 for items that are not available.
        """
        items = self._items(X, qid, available)
        return self.space_.outputs(items, self._decoding(items).most_likely())

    def sample(
        self, X: Any, qid: Given = None, *, available: Any = None, random_state: Seed = None
    ) -> Any:
        """Draw the decoder's output of every round, to which the guarantees apply.

        Parameters
        ----------
        X, qid, available
            As for `fit`.
        random_state : int, RandomState instance or None, default=None
            None continues with the estimator's generator.

        Returns
        -------
        ndarray or list
            In the form of y; 0 for items that are not available.
        """
        items = self._items(X, qid, available)
        rng = self.random_state_ if random_state is None else random_state
        return self.space_.outputs(items, self._decoding(items).draw(rng))

    def predict_mean(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Regularized predictions ŷ_Ω(θ), a number per item.

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
        return items.unstacked(self._decoding(items).means().values, 0.0)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Probability of each item: of being chosen, of being in the subset, or of its place.

        Parameters
        ----------
        X, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (N,), or list of n arrays (m,)
            In the form of X; 0 for items that are not available.
        """
        return self.predict_mean(X, qid, available=available)

    def score(
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> float:
        """Compute 1 − mean target loss of `predict`: the share of right choices, for "simplex".

        Parameters
        ----------
        X, y, qid, available, sample_weight
            As for `fit`.

        Returns
        -------
        float
        """
        items = self._items(X, qid, available)
        truth, weight = self._targets(items, y), items.round_weights(sample_weight)
        return self._decoding(items).score(truth, weight)
