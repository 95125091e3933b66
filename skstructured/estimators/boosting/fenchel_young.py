"""Gradient boosting by the loss of any output space."""

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base import validation
from skstructured._base.component import Seed, available_if, inherit_parameters, parameters
from skstructured._learners.lock import learning_aside, locked, snapshot
from skstructured._learners.passes import is_verbose
from skstructured._learners.predictions import (
    DecodedPredictions,
    Decoding,
    has_probabilities,
    reader_of,
)
from skstructured.estimators._auto import draw_seeds, given_decoder, pack_outputs
from skstructured.estimators.boosting._additive import AdditiveTrees, BoostingOptions, BoostingTask
from skstructured.estimators.mixture._training import ROWS_AT_ONCE, draw_folds_of_rows
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats, Given, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer
from skstructured.losses import FenchelYoung

__all__ = ["FenchelYoungBoosting"]


@inherit_parameters(OnlineStructuredPredictor)
@parameters
@locked
class FenchelYoungBoosting(DecodedPredictions, BaseEstimator):
    r"""Predict structured outputs by boosted trees, each of which has all outputs.

    Use it for many rows whose outputs depend on columns in steps. Each round fits one tree to
    ``y − ŷ_Ω(θ)``, the negative gradient of the Fenchel–Young loss in the scores θ, so K classes or
    labels need one tree per round, not K. `StructuredPredictor` has such trees as a
    member, and is usually more accurate.

    Parameters
    ----------
    {OnlineStructuredPredictor: space, regularizer}
        "sequence" is not supported.
    decoder : str or Decoder, default="min_risk"
        How scores become an output. "min_risk" minimizes the expected cost if the space has costs,
        and is "nearest" otherwise. See `skstructured.decoders`.
    learning_rate : float, default=0.15
        η, by which all steps are multiplied.
    max_iter : int, default=200
        Number of rounds, at most.
    max_leaf_nodes : int, default=31
        Number of leaves of a tree, at most.
    min_samples_leaf : int, default=10
        Number of rows in a leaf, at least.
    max_features : float, default=1.0
        Share of the columns that are drawn for each split.
    early_stopping : bool, default=True
        Whether five models are fitted, whose scores are averaged. Each leaves out one fifth of the
        rows; with more than 5,000 rows, 1,000 other ones, spread over all classes. The first model
        determines the number of rounds, by the loss of the rows that it leaves out. False
        fits one model of `max_iter` rounds to all rows, and so does True with fewer than 20
        effective rows (see `StructuredPredictor`).
    n_iter_no_change : int, default=10
        Number of rounds without a lower loss, after which the first model stops.
    {OnlineStructuredPredictor: class_weight}
    n_jobs : int or None, default=None
        Number of models to fit at the same time, in threads. None is 1, unless joblib is configured
        otherwise. The result does not depend on it.
    verbose : bool or int, default=0
        Whether to print the number of rounds and the score of held-out rows.
    random_state : int, RandomState instance or None, default=None
        Seeds the parts of the rows, the columns that are drawn, and `sample`.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.
    validation_losses_ : ndarray
        Mean losses, less Ω(y), of the rows that the first model leaves out, after 0, 1, … rounds;
        empty without early stopping.
    validation_score_ : float
        `score` of the rows by the models that have not learned them; NaN without early stopping.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares of columns in the decrease of squared errors by all splits, with sum 1; zeros
        without splits.
    {OnlineStructuredPredictor: classes_, space_, loss_, n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, inf in X, and outputs outside the space. The
        fitted state is then unchanged.

    See Also
    --------
    StructuredPredictor : The estimator to try first, with boosted trees as a member.
    AdaBoostOLMClassifier : Boosting of online learners, for streams.

    Notes
    -----
    A leaf with rows i, of weights w, takes the step

    .. math:: η \frac{\sum_i w_i (y_i - \hat y_Ω(θ_i))}{\sum_i w_i h_i + 1}

    in each coordinate of θ, of length 2 at most: a Newton step of the loss, with the diagonal h of
    the second derivatives of Ω*, or bounds of it (Friedman [1]_; Blondel, Martins, Niculae [2]_ for
    the loss). Splits are those of the largest decrease of squared errors, as for a regression tree
    of several outputs. The leaf with the largest decrease is split first.

    Columns are used by their ranks among the training rows. With more than 3,000 rows thresholds
    are between 255 bins of the ranks, and each tree sees 100,000 rows at most, drawn at random.
    Values beyond the range of training rows count as its end. Missing values are below all others;
    with up to 3,000 rows each split chooses their side. CSR rows become dense.

    References
    ----------
    .. [1] Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of
       Statistics.

    .. [2] Blondel, Martins, Niculae (2020). Learning with Fenchel–Young losses. JMLR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import FenchelYoungBoosting
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FenchelYoungBoosting(random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    space: str | OutputSpace = "multiclass"
    regularizer: str | Regularizer | None = None
    decoder: str | Decoder = "min_risk"
    learning_rate: float = 0.15
    max_iter: int = 200
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 10
    max_features: float = 1.0
    early_stopping: bool = True
    n_iter_no_change: int = 10
    class_weight: dict | Literal["balanced"] | None = None
    n_jobs: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    loss = "fenchel_young"
    missing, standardize = "mean", True  # trees take missing values, and columns of any scale
    _given_decoder = given_decoder

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features; NaN is a missing value.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, inf in X, outputs outside the space, or lengths that differ; the
            fitted state is then unchanged.
        """
        options = self._checked_options()
        with self.turn, learning_aside(self) as new:
            new._fit(X, y, sample_weight, options)
        return self

    def _checked_options(self):
        """The `BoostingOptions` of the parameters."""
        reader_of(self, fresh=True).require_rows(
            "FenchelYoungBoosting does not support space='sequence': use StructuredPredictor."
        )
        for name in ("max_iter", "n_iter_no_change", "min_samples_leaf"):
            validation.check_integer(name, getattr(self, name))
        validation.check_integer("max_leaf_nodes", self.max_leaf_nodes, 2)
        for name in ("learning_rate", "max_features"):
            allowed = "be a number above 0 and at most 1"
            validation.check_real(name, getattr(self, name), lambda v: 0.0 < v <= 1.0, allowed)
        validation.check_bool("early_stopping", self.early_stopping)
        is_verbose(self)
        return BoostingOptions(*(getattr(self, name) for name in BoostingOptions._fields))

    def _fit(self, X, y, sample_weight, options):
        self.space_ = self._unfitted_space().fit(y)
        X = self._dense(X, reset=True)
        terms = FenchelYoung().terms(self.space_, self.regularizer)
        self.loss_ = FenchelYoung(self.space_, *terms)
        check_consistent_length(X, y)
        self._take_decoder()
        packed, weight = pack_outputs(self, y, sample_weight)
        self._learn(X, packed, weight, options)

    def _learn(self, X, packed, weight, options):
        """Learn checked rows."""
        self.random_state_ = check_random_state(self.random_state)
        counted = weight > 0.0
        X, packed, weight = X[counted], packed[counted], weight[counted]
        V = self.space_.unpack(packed)
        task = BoostingTask(V, weight / weight.mean(), self.loss_, V.shape[1])
        folds = np.full(len(X), -1)
        if self.early_stopping:
            folds = draw_folds_of_rows(X, V, weight, packed, self.random_state_)[0]
        seed = draw_seeds(self.random_state_)
        self._model, honest = AdditiveTrees.fitted(X, task, folds, options, seed, self.n_jobs)
        self.n_iter_, self.validation_losses_ = self._model.n_rounds, self._model.held_out_losses
        self.validation_score_, judged = math.nan, folds >= 0
        if judged.any():
            y = self.space_.decode(V[judged])
            self.validation_score_ = self.decode(honest[judged]).score(y, weight[judged])
        if is_verbose(self):
            score = self.validation_score_
            print(f"{type(self).__name__}: {self.n_iter_} rounds, held-out score {score:.4f}")

    def _dense(self, X, reset=False):
        rows = validation.read_rows(self, X, reset)
        validation.check_finite(self, rows, fresh=reset)
        return rows.matrix.toarray() if issparse(rows.matrix) else rows.matrix

    def _scores(self, X):
        return np.concatenate([self._model.scores(chunk) for chunk in self._chunks(X)])

    def _staged(self, X: Features) -> Iterator[Decoding]:
        """How scores after 1, 2, …, `n_iter_` rounds become outputs, by one fit to the end."""
        twin = snapshot(self)
        chunks = [twin._model.staged_scores(chunk) for chunk in twin._chunks(X)]
        return (twin.decode(np.concatenate(stage)) for stage in zip(*chunks, strict=True))

    def _chunks(self, X):
        check_is_fitted(self, "_model")
        X = self._dense(X)
        return [X[i : i + ROWS_AT_ONCE] for i in range(0, max(len(X), 1), ROWS_AT_ONCE)]

    def staged_predict(self, X: Features) -> Iterator[Any]:
        """`predict` after 1, 2, …, `n_iter_` rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.

        Yields
        ------
        ndarray
            Outputs in the form of y.
        """
        for decoding in self._staged(X):
            yield decoding.most_likely()

    @available_if(has_probabilities)
    def staged_predict_proba(self, X: Features) -> Iterator[Floats]:
        """`predict_proba` after 1, 2, …, `n_iter_` rounds, for the same spaces.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.

        Yields
        ------
        ndarray
            Probabilities, as `predict_proba` returns them.
        """
        for decoding in self._staged(X):
            yield decoding.space.mean_proba(decoding.mu)

    @property
    def feature_importances_(self) -> Floats:
        """Shares of columns in the decrease of squared errors."""
        check_is_fitted(self, "_model")
        importances = self._model.forest.feature_importances_
        return importances / (importances.sum() or 1.0)
