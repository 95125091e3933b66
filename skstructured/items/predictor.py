"""Structured outputs over items that have features: choices, subsets, assignments."""

from typing import Any

from skstructured._base.component import Seed, available_if, inherit_parameters, parameters_with
from skstructured._base.ragged import Ragged
from skstructured.estimators.online import OnlineParameters, OnlineStructuredPredictor
from skstructured.extend._types import Given
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.items._online import ItemLearner
from skstructured.items._reading import Items
from skstructured.items._spaces import over_items
from skstructured.losses import FenchelYoung, fenchel_young_of
from skstructured.spaces import resolve_space


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
