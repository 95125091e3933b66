"""The estimators to try first: a linear model and three kernels, mixed on held-out rows."""

import copy
from typing import Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state, indexable
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._base.validation import check_weights, unchanged_on_error
from skstructured._learners.decoding import Decoding
from skstructured._learners.lock import lock_of
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import (
    DecodedPredictions,
    has_probabilities,
    over_sequences,
    warn_of_costs,
)
from skstructured.decoders import MAP, GapDecoder
from skstructured.estimators._auto import given_decoder
from skstructured.estimators._mixing import mixed, mixing_weights, splits_of, squared_distance
from skstructured.estimators._stream import StreamMixture
from skstructured.estimators.kernel._features import WIDEST
from skstructured.estimators.kernel._values import Kernel, check_cache_size
from skstructured.estimators.kernel.structured import KernelStructuredPredictor
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats, Given, Ints, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Losses, OnlineLearner
from skstructured.extend.output_space import OutputSpace
from skstructured.losses import FenchelYoung
from skstructured.spaces import Simplex

__all__ = ["StructuredPredictor"]

#: Kernels of the members besides the line, and the random features that stand for them.
KERNELS = {"rbf": "fourier", "laplacian": "fourier", "arc-cosine": "relu"}

#: Passes of kernel members.
PASSES = 10

#: Features of rows of a stream, at most, for random features and bins of columns.
NARROW = 50

#: Seeds of members are below this.
SEEDS = 2**31 - 1


class Ensemble(BaseEstimator):
    """Members that learn the same rows, whose predictions are mixed by `weights_`.

    A subclass defines `_start(y, sample_weight)`, which returns packed outputs and weights of rows,
    `_default_members(X, rng)`, a function `_predict(member, X)`, and `_judge(predictions, packed,
    weight)`, which returns the loss of weights of members and the score of predictions on held-out
    rows; and the parameters `estimators`, `cache_size`, `n_jobs`, `random_state`.
    """

    #: As members do, which is why they take gaps.
    standardize = True

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Fit all members, and find their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features; for label sequences a list of (length, p) arrays.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of rows, for all members and their weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        with unchanged_on_error(self, aside=True) as new:
            new._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        self.random_state_ = check_random_state(self.random_state)
        packed, weight = self._start(y, sample_weight)
        check_consistent_length(X, packed)
        X, y = indexable(X, y)
        vars(self).pop("_model", None)  # of a stream
        members = self._members(X)
        splits = splits_of(packed, weight, self.random_state_) if len(members) > 1 else []
        given = X, y, sample_weight
        found = mixed([e for _, e in members], self._predict, splits, *given, self.n_jobs)
        self.estimators_ = found.fitted
        self.named_estimators_ = dict(zip(dict(members), found.fitted, strict=True))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(found.fitted[0], name):
                setattr(self, name, getattr(found.fitted[0], name))
        self.weights_ = np.full(len(members), 1.0 / len(members))
        self.validation_scores_, self.validation_score_ = np.full(len(members), np.nan), np.nan
        if splits:
            at, said = found.held_out, found.predictions
            lost, score = self._judge(said, packed[at], weight[at])
            rows = weight[at].sum() ** 2 / (weight[at] @ weight[at])
            self.weights_ = mixing_weights(lost, len(said), rows)
            self.validation_scores_ = np.array([score(one) for one in said])
            self.validation_score_ = score(np.tensordot(self.weights_, said, 1))

    def _members(self, X):
        """Pairs of a name and an estimator."""
        if isinstance(self.estimators, str) and self.estimators == "auto":
            return self._default_members(X, self.random_state_)
        given = self.estimators
        pairs = isinstance(given, (list, tuple)) and len(given) > 0
        if not pairs or any(not isinstance(pair, tuple) or len(pair) != 2 for pair in given):
            raise ValueError(
                f'estimators must be "auto" or a list of (name, estimator) pairs, got {given!r}.'
            )
        if len(dict(given)) < len(given):
            raise ValueError(f"Names of estimators must differ, got {[name for name, _ in given]}.")
        return list(given)

    def _mixed_predictions(self, X):
        """Σ_e v_e μ_e(x) of every row."""
        with lock_of(self):
            pairs = zip(self.weights_, self.estimators_, strict=True)
            return sum(v * self._predict(member, X) for v, member in pairs)

    def _fits_in_cache(self, n_rows):
        return 4.0 * n_rows**2 <= check_cache_size(self.cache_size)


@inherit_parameters(OnlineStructuredPredictor, Kernel)
@parameters
class StructuredPredictor(DecodedPredictions, Ensemble, OnlineLearner):
    r"""Predict structured outputs without hyperparameters to tune: the estimator to try first.

    A linear model and three kernel models are fitted to all rows, and their mean predictions are
    mixed. The weights of the mixture minimize the error on a held-out fifth of the rows, with
    models that were fitted without these rows. Classes, label sets, ordinal classes, rankings and
    assignments use the same rule; streams have a different one.

    Parameters
    ----------
    space : str or OutputSpace, default="multiclass"
        Type of the outputs: "multiclass", "multilabel", "ordinal", "assignment", "ranking",
        "sequence", or a space of `skstructured.spaces`.
    estimators : "auto" or list of (str, estimator) tuples, default="auto"
        Members of the mixture. "auto" is `OnlineStructuredPredictor`, and
        `KernelStructuredPredictor` with "rbf", "laplacian" and "arc-cosine", ten passes (epochs)
        each. If `cache_size` cannot hold the kernels of all rows, random features replace them. For
        label sequences, and for CSR rows with more than 4,096 columns, "auto" is the linear model
        alone. Other members need `predict_mean` over the same space, which all predictors of this
        package have; for classes `predict_proba` is enough.
    decoder : str or Decoder, default="min_risk"
        How a mean prediction becomes an output. "min_risk" minimizes the expected cost if the space
        has costs, and is "nearest" otherwise. "f1" predicts label sets for F1. "map" and "gap" are
        refused, because they need scores, which a mixture does not have.
    {OnlineStructuredPredictor: missing, class_weight}
        Both are used by the members of "auto", and `class_weight` also on the held-out rows.
    cache_size : float, default=500
        Memory in MiB for the kernels of all pairs of rows: 11,000 rows need 484.
    n_jobs : int or None, default=None
        Number of members to fit at the same time, in threads. None is 1, unless joblib is
        configured otherwise.
    random_state : int, RandomState instance or None, default=None
        Seeds the members of "auto", the choice of held-out rows, and `sample`.

    Attributes
    ----------
    estimators_ : list of estimators
        The members, fitted to all rows.
    named_estimators_ : dict
        The same by name: "linear", "rbf", "laplacian" and "arc-cosine".
    weights_ : ndarray of shape (n_members,)
        Weights of the members, positive with sum 1. All equal with fewer than 20 rows.
    validation_scores_ : ndarray of shape (n_members,)
        The `score` of each member on held-out rows; NaN with fewer than 20 rows.
    validation_score_ : float
        The score of the mixture on the same rows, by which its weights were chosen.
    {OnlineStructuredPredictor: t_, classes_, space_, loss_, n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, NaN or inf in X (NaN is accepted if `missing`
        is not "error"), and outputs outside the space. The fitted state is then unchanged.

    See Also
    --------
    StructuredRegressor : The same for numbers.
    OnlineStructuredPredictor : The linear online learner, with regret bounds.
    KernelStructuredPredictor : A single kernel, or random features.
    ListwiseRanker : Learning to rank items that have features.

    Notes
    -----
    The weights v stack the members [1]_ with convex weights [2]_. With the means μ_e(x) of the
    members on held-out rows with weights w_i, they are

    .. math:: v = \arg\min \frac{n D(v)}{2 D(v_0)} - \sum_e \ln v_e, \quad
        D(v) = \sum_i w_i \| \sum_e v_e μ_e(x_i) - y_i \|^2,

    over the simplex, with equal weights v₀. n is ``(Σ w)²/Σ w²``, the number of held-out rows if
    all w_i are equal. The prediction ``Σ_e v_e μ_e(x)`` is a point of conv(Y), as its parts are,
    and is decoded as any mean. With fewer than 200 rows each row is held out once, in five folds.
    No regret bound is known; use `OnlineStructuredPredictor` if you need one.

    In a stream, with `partial_fit`, dense rows with at most 50 features are learned by
    ``KernelStructuredPredictor(approximation="fourier")``, a linear model with random features.
    After 300 rows a linear model over bins is added: 16 quantile bins per column, and 8 × 8 bins
    for each of at most 60 pairs of columns. Other rows are learned by a linear model alone. After
    each row the weight of a member is multiplied by ``exp(−w‖μ_e(x) − y‖²/s²)``. Here w is the
    weight of the row over the mean so far, and s the range of y's coordinates (1, but d − 1 for
    ranks). Then a thousandth of all weights is spread evenly [3]_. The predictions are those of
    `predict` before the row. Exact kernels and optimizers with one step size per weight compute
    them row by row, in about a millisecond.

    References
    ----------
    .. [1] Wolpert (1992). Stacked generalization. Neural Networks.

    .. [2] Breiman (1996). Stacked regressions. Machine Learning.

    .. [3] Herbster, Warmuth (1998). Tracking the best expert. Machine Learning. Section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import StructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredPredictor(random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.weights_.shape
    (4,)
    """

    space: str | OutputSpace = "multiclass"
    estimators: Literal["auto"] | list = "auto"
    decoder: str | Decoder = "min_risk"
    missing: Literal["mean", "indicator", "error"] = "mean"
    class_weight: dict | Literal["balanced"] | None = None
    cache_size: float = 500
    n_jobs: int | None = None
    random_state: Seed = None

    loss = "fenchel_young"
    _given_decoder = given_decoder

    def _start(self, y, sample_weight):
        self.space_ = self._unfitted_space().fit(y)
        self.loss_ = self._unfitted_loss()
        if not over_sequences(self):
            self.loss_ = FenchelYoung(self.space_)
        if self.space_.task is not None or hasattr(self.space_, "classes_"):
            self.classes_ = getattr(self.space_, "classes_", np.arange(self.space_.dim_))
        self._take_decoder()
        packed = self.space_.pack(y)
        self.t_ = len(packed)
        weight = check_weights(sample_weight, packed, len(packed))
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, np.asarray(y))
        return packed, weight

    def _take_decoder(self):
        decoder = self._given_decoder()
        if isinstance(decoder, (MAP, GapDecoder)):
            raise ValueError(
                f"decoder={self.decoder!r} needs scores, which a mixture of predictions does not "
                'have. Use "min_risk", "nearest", "randomized", "sampled", or "f1" for label sets.'
            )
        decoder.check_space(self.loss_)
        warn_of_costs(decoder, self.space_)
        self._calibrator = None

    def _default_members(self, X, rng):
        shared = {"space": self.space, "missing": self.missing, "class_weight": self.class_weight}
        seeds = rng.randint(SEEDS, size=1 + len(KERNELS))
        members = [("linear", OnlineStructuredPredictor(**shared, random_state=seeds[0]))]
        if over_sequences(self) or (issparse(X) and X.shape[1] > WIDEST):
            return members
        exact = self._fits_in_cache(_num_samples(X))
        for (name, features), seed in zip(KERNELS.items(), seeds[1:], strict=True):
            approximation = "none" if exact else features
            kernel = Kernel(name, cache_size=self.cache_size)
            given = {"kernel": kernel, "approximation": approximation, "max_iter": PASSES}
            members.append((name, KernelStructuredPredictor(**shared, **given, random_state=seed)))
        return members

    def _judge(self, means, packed, weight):
        V, decoder = self.space_.unpack(packed), self._given_decoder()
        y = self.space_.decode(V)

        def score(mu):
            return Decoding(None, self.loss_, decoder, mu).score(y, weight)

        return squared_distance(means, V, weight), score

    def _predict(self, member, X):
        """Mean predictions (n, dim) of a member."""
        if hasattr(member, "predict_mean"):
            return member.predict_mean(X)
        if isinstance(self.space_, Simplex) and hasattr(member, "predict_proba"):
            return member.predict_proba(X)
        raise ValueError(
            f"estimators must have predict_mean, or predict_proba for classes, got {member!r}."
        )

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
        """Learn rows of a stream in order; chunks of any size learn the same.

        After `fit` its members continue to learn, and their weights do not change.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like
            Outputs of the space.
        classes : array-like or None, default=None
            All labels, needed on the first call for classes.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For the same errors as `fit`, and for labels not in `classes`.
        """
        if hasattr(self, "_model"):
            self._learn_stream(self._model.read(X, y, classes, sample_weight))
        elif hasattr(self, "estimators_"):
            self._go_on(X, y, sample_weight)
        else:
            with unchanged_on_error(self, aside=True) as new:
                new._learn_stream(new._begin_stream(X, y, classes, sample_weight))
        return self

    def _go_on(self, X, y, sample_weight):
        """Let copies of fitted members learn further rows, so none has changed if one fails."""
        named = self.named_estimators_.items()
        wrong = [name for name, member in named if not hasattr(member, "partial_fit")]
        if wrong:
            raise ValueError(f"estimators must all have partial_fit, which {wrong} do not have.")
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        members = copy.deepcopy(self.estimators_)
        for member in members:
            member.partial_fit(X, y, **given)
        self.estimators_, self.t_ = members, self.t_ + _num_samples(X)
        self.named_estimators_ = dict(zip(self.named_estimators_, members, strict=True))

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream; see `OnlineLearner`."""
        if classes is None and self._task() == "multiclass":
            classes = np.unique(np.asarray(y))
        with unchanged_on_error(self, aside=True) as new:
            return new._begin_stream(X, y, classes, None)

    def resume(self, X: Features, y: Outputs) -> Batch:
        """Check further rows of a stream; see `OnlineLearner`."""
        return self._model.read(X, y, None, None)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds that are predicted and not learned."""
        rounds = rounds.take(which)
        return self._losses_of(self._model.means_of(rounds), rounds, random_state)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn_stream(rounds.take(which))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Predict each round, and learn it before the next; the `Losses`."""
        rounds = rounds.take(which)
        return self._losses_of(self._learn_stream(rounds), rounds, random_state)

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions; nothing is learned."""
        rounds = rounds.take(which)
        return self._answered(self._model.means_of(rounds), rounds)

    def answer_and_learn(self, rounds: Batch, which: Ints) -> Losses:
        """Predict each round, and learn it before the next; the `Losses` of the predictions."""
        rounds = rounds.take(which)
        return self._answered(self._learn_stream(rounds), rounds)

    def _begin_stream(self, X, y, classes, sample_weight):
        """Set up members; the `Batch` of the first rows."""
        if over_sequences(self, fresh=True):
            raise ValueError(
                "StructuredPredictor only supports fit for label sequences. For streams use "
                "OnlineStructuredPredictor('sequence')."
            )
        for name in ("named_estimators_", "validation_scores_", "validation_score_"):
            vars(self).pop(name, None)
        self.random_state_ = check_random_state(self.random_state)
        self.t_ = 0
        self._model = StreamMixture(*self._stream_members(X), self.random_state_)
        self.estimators_, self.weights_ = self._model.members, self._model.weights
        rounds = self._model.read(X, y, classes, sample_weight)
        first = self._model.members[0].learner
        for name in ("space_", "loss_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self._take_decoder()
        return rounds

    def _stream_members(self, X):
        """The learners of rows of a stream, and that of their bins, if any."""
        if self.estimators != "auto":
            given = self._members(X)
            wrong = [name for name, member in given if not isinstance(member, OnlineEstimator)]
            if wrong:
                raise ValueError(
                    f"partial_fit is only supported for online estimators, which {wrong} are not."
                )
            weighs = [n for n, one in given if getattr(one, "class_weight", None) is not None]
            if weighs:
                raise ValueError(
                    f"class_weight of {weighs} is not supported by partial_fit: use sample_weight."
                )
            return [member for _, member in given], None
        seeds = self.random_state_.randint(SEEDS, size=2)
        shared = {"space": self.space, "missing": self.missing, "class_weight": self.class_weight}
        narrow = not over_sequences(self) and not issparse(X) and np.shape(X)[1] <= NARROW
        if not narrow:
            return [OnlineStructuredPredictor(**shared, random_state=seeds[0])], None
        given = {"kernel": "rbf", "approximation": "fourier", "random_state": seeds[0]}
        binned = OnlineStructuredPredictor(  # weights of classes are in those of rows already
            self.space, standardize=False, missing="error", random_state=seeds[1]
        )
        return [KernelStructuredPredictor(**shared, **given)], binned

    def _learn_stream(self, rounds):
        """Learn rounds; the predictions (n, dim) before each."""
        y = self.space_.decode(self.space_.unpack(rounds.packed))
        with self._model.lock:
            said = self._model.learn(rounds, y)
            self.t_ += rounds.n_rounds
            self.estimators_, self.weights_ = self._model.members, self._model.weights
        return said

    def _losses_of(self, mu, rounds, random_state):
        V, decoder = self.space_.unpack(rounds.packed), self._given_decoder()
        drawn = decoder.decode(None, mu, self.loss_, random_state)
        expected = decoder.expected_loss(None, mu, V, self.loss_)
        return Losses(self.space_.expected_loss(drawn, V), expected, np.full(len(V), np.nan))

    def _answered(self, mu, rounds):
        V = self.space_.unpack(rounds.packed)
        vertices = self._given_decoder().most_likely(None, mu, self.loss_)
        lost = self.space_.expected_loss(vertices, V)
        return Losses(lost, lost, np.full(len(V), np.nan))

    def _decoding(self, X):
        check_is_fitted(self)
        if over_sequences(self):
            member = self.estimators_[0]
            return Decoding(member._scores(X), member.loss_, self._given_decoder())
        return Decoding(None, self.loss_, self._given_decoder(), self._mean(X))

    def _mean(self, X):
        check_is_fitted(self)
        return self._mixed_predictions(X)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Features) -> Floats:
        """Logarithms of `predict_proba`, −inf for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def embedding_scores(self):
        """Not available: predictions are mixed, and not scores."""
        raise AttributeError(
            "A mixture of predictions has no scores: use predict_mean, predict_proba, or the "
            "scores of estimators_."
        )

    decision_function = embedding_scores
