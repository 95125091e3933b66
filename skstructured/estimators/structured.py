"""The estimator to try first: linear, kernel and tree members, mixed by the loss of the task."""

from typing import Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_n_features, check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.ragged import check_same_lengths
from skstructured._base.validation import read_rows
from skstructured._learners import predictions
from skstructured._learners.lock import first_call, learning_aside, snapshot
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import Decoding
from skstructured.estimators._auto import draw_seeds, given_decoder, pack_outputs
from skstructured.estimators._stream import FrozenMember, StreamMixture
from skstructured.estimators.crf.estimator import ConditionalRandomField
from skstructured.estimators.kernel.structured import KernelStructuredPredictor
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._learner import CrossFitted
from skstructured.estimators.mixture._minimizer import LossMinimizer
from skstructured.estimators.mixture._mixture import Mixture
from skstructured.estimators.mixture._ridge import KernelRidge
from skstructured.estimators.mixture._sequences import SEQUENCE_VIEWS, RowChain, score_of_views
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Given, Ints, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Losses, OnlineLearner
from skstructured.extend.output_space import OutputSpace
from skstructured.losses import FenchelYoung
from skstructured.regularizers import Shannon
from skstructured.sequences import _decoding as of_sequences
from skstructured.sequences._decoding import SequenceLoss

__all__ = ["StructuredPredictor"]


def _learns_streams(member):
    return isinstance(member, OnlineEstimator) and hasattr(member, "predict_mean")


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class StructuredPredictor(predictions.DecodedPredictions, Mixture, OnlineLearner):
    r"""Predict structured outputs without hyperparameters to tune: the estimator to try first.

    Linear, kernel and tree models are fitted to all rows, and their scores are mixed. Each member
    also gives honest scores of the training rows: those of models that have not learned the row.
    The weights of the mixture minimize the loss of the task over these scores. Classes, label sets,
    ordinal classes, rankings and assignments use the same rule; streams have a different one.

    Parameters
    ----------
    space : str or OutputSpace, default="multiclass"
        Type of the outputs: "multiclass", "multilabel", "ordinal", "assignment", "ranking",
        "sequence", or a space of `skstructured.spaces`.
    estimators : "auto" or list of (str, estimator) tuples, default="auto"
        Members of the mixture. "auto" is a linear model and functions of the kernels "arc-cosine"
        and "laplacian", which minimize the penalized loss; a kernel ridge regression of vertices
        with "rbf"; boosted trees as in `FenchelYoungBoosting`, if their loss is near that of the
        best other member or less; and randomized trees of vertices. With more than 1.5
        `n_landmarks` rows the "laplacian" member is a kernel ridge regression, and so are all
        kernels if the oracle of a custom space is in Python. Such spaces, CSR rows and fewer than
        20 effective rows have no boosted trees. The linear model of CSR rows, of many rows with
        many features, and of such spaces is `OnlineStructuredPredictor`. For CSR rows with more
        than 4,096 columns and for CSR rows of label sequences the linear model is the only member,
        and for fewer than 10 dense sequences it is a `ConditionalRandomField`.
        Other members need `embedding_scores` or `predict_mean` over the same space, as all
        predictors of this package have; for classes `predict_proba` is enough. For label sequences
        there is one estimator; the trees of "auto" are then a random forest.
    decoder : str or Decoder, default="min_risk"
        How scores become an output. "min_risk" minimizes the expected cost if the space has costs,
        and is "nearest" otherwise. "f1" predicts label sets for F1. See `skstructured.decoders`.
    {OnlineStructuredPredictor: missing, class_weight}
        Trees get missing values unchanged. Class weights also count for the weights of members.
    n_landmarks : int, default=2000
        Number of rows that kernel ridge regressions keep, at random. With at most 1.5 times as many
        rows they are exact. Their time is proportional to the number of rows times its square.
        Kernels that minimize the loss learn at most twice as many rows, also at random.
    n_jobs : int or None, default=None
        Number of members to fit at the same time, in threads. Each then uses one thread for linear
        algebra. None is 1, unless joblib is configured otherwise.
    verbose : bool or int, default=0
        Whether to print the name of each member when it is fitted, with its seconds and its score.
    random_state : int, RandomState instance or None, default=None
        Seeds the members of "auto", the parts of the rows, and `sample`.
    max_seconds : float or None, default=None
        Seconds that `fit` of rows may take, about. Members of "auto" are fitted to few rows first;
        then they get as many landmarks, rows and trees as there is time for, and the slowest are
        left out if they take too long with few. `verbose` prints this. For label sequences the
        mixtures of positions keep to it; the random fields behind take longer. None sets no limit.

    Attributes
    ----------
    estimators_ : list
        The members, fitted to all rows.
    feature_ranges_ : FeatureRanges
        After `fit` of rows: `center`, `scale` and the edges `low` and `high` of features, each of
        shape (n_features_in_,), and which are `heavy`, which become normal quantiles.
    named_estimators_ : dict
        The same by name: "linear", "rbf", "laplacian", "arc-cosine", "boosting" and "trees". For
        label sequences "rows" or "windows", and "chain".
    weights_ : ndarray of shape (n_members,)
        Weights of the members' scores, positive. With fewer than 20 effective rows (see Notes) 0.1
        for "rbf" and "trees" and 0 for the others. In a stream, weights of mean predictions, with
        sum 1.
    intercept_ : ndarray of shape (dim,)
        Scores that are added; 0 in a stream. With fewer than 20 effective rows, the difference that
        weights of rows make to the scores of the mean output.
    validation_scores_ : ndarray of shape (n_members,)
        The `score` of each member alone on rows it has not learned; NaN with fewer than 20
        effective rows.
        For label sequences, of the chain over "rows" and of that over "windows".
    validation_score_ : float
        The score of the mixture on the same rows, each half with the weights of the other half. For
        label sequences each half with the chain of the lower loss on the other half.
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
    With honest scores θ_e(x_i), vertices y_i and their mean m, the weights a = exp z and the
    intercept b stack the members [1]_ [2]_ by the space's Fenchel–Young loss S:

    .. math:: \min_{z, b} \sum_i w_i S(\sum_e e^{z_e} θ_e(x_i) + b; (1 - ε) y_i + ε m)
        + 0.1 ‖z - \ln 2‖^2 + 0.1 ‖b‖^2,

    with weights w whose sum is the effective number n of rows, and ``ε = 1/(n + 1)``: as if one
    more row had the output m. Without it scores would be infinite for separable classes. The scores
    of the mixture are ``Σ_e a_e θ_e(x) + b``. The effective number is ``(Σ w)²/Σ w²``, in which
    copies of a row count as one. Equal rows are copies if at least 90% of them have equal outputs.

    Honest scores leave out one fifth of the rows at a time, with all copies of them; with more than
    5,000 rows, as many have honest scores. Boosted trees of more than 10,000 rows leave out two or
    three of five parts at a time, and a fifth of the number of rows determines how many trees there
    are. Trees split dense columns half by their ranks and half by their values, in units of the
    range. With more than 1.5 `n_landmarks` rows they also split sums and differences of the six
    most important numeric columns, if these lower the held-out loss of a smaller forest by at
    least 3%. Boosted trees then do too. The features of kernel ridge regressions [3]_ are
    standardized and multiplied by the root of their importance for trees, which have not learned
    the fifth either. With more than 1.5 `n_landmarks` rows these trees learn `n_landmarks` rows (at
    most half of all) without honest scores. With more than 10,000 rows, kernel ridge regressions
    are left out if trials with a quarter and half of the rows show that their loss will be more
    than 1.3 times that of the best other member. One that is the best member learns again with 1.5
    `n_landmarks`, unless `max_seconds` is given. Other members do not multiply features. A linear
    model learns at most 4,000 rows, or 50 for each feature, and functions of kernels that minimize
    the loss are in the span of 400 rows. Only the penalty of a member, and the number of passes of
    an estimator, know the rows that are left out. The mean μ of the trees becomes the score ∇Ω(μ),
    after 1% of ŷ(0) is mixed with it. No regret bound is known; use `OnlineStructuredPredictor` if
    you need one.

    For label sequences, a mixture for classes learns each position alone ("rows"), and a second one
    each position with those before and after ("windows"). For each, a `ConditionalRandomField`
    learns from the log probabilities of the mixture, which are honest by sequence; the one with the
    lower held-out loss is kept.

    In a stream, with `partial_fit`, dense rows with at most 50 features are learned by
    ``KernelStructuredPredictor(approximation="fourier")``, a linear model with random features.
    After 300 rows a linear model over bins is added: 16 quantile bins per column, and 8 × 8 bins
    for each of at most 60 pairs of columns. Other rows are learned by a linear model alone. After
    `fit`, the fitted mixture is one more member of the stream; it learns no further, and begins
    with 0.999 of the weight. Mean predictions are mixed. After each row the weight of a member is
    multiplied by ``exp(−w‖μ_e(x) − y‖²/s²)``. Here w is the weight of the row over the mean so far,
    and s the range of y's coordinates (1, but d − 1 for ranks). Then a thousandth of all weights is
    spread evenly [4]_. The predictions are those of `predict` before the row. Exact kernels
    and optimizers with one step size per weight compute them row by row, in about a millisecond.

    References
    ----------
    .. [1] Wolpert (1992). Stacked generalization. Neural Networks.

    .. [2] Breiman (1996). Stacked regressions. Machine Learning.

    .. [3] Ciliberto, Rosasco, Rudi (2016). A consistent regularization approach for structured
       prediction. NeurIPS.

    .. [4] Herbster, Warmuth (1998). Tracking the best expert. Machine Learning. Section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import StructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredPredictor(random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.weights_.shape
    (6,)
    """

    space: str | OutputSpace = "multiclass"
    estimators: Literal["auto"] | list = "auto"
    decoder: str | Decoder = "min_risk"
    missing: Literal["mean", "indicator", "error"] = "mean"
    class_weight: dict | Literal["balanced"] | None = None
    n_landmarks: int = 2000
    n_jobs: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None
    max_seconds: float | None = None

    #: Most rows of a stream that are learned at once.
    _stream_block = 4096

    loss = "fenchel_young"
    best_thresholds = False
    member_of = CrossFitted
    _given_decoder = given_decoder

    def _fit(self, X, y, sample_weight, groups=None):
        if not predictions.reader_of(self, fresh=True).has_sequences:
            return super()._fit(X, y, sample_weight, groups)
        self._check_parameters()
        packed, weight = self._start(y, sample_weight)
        rows = self._sequences(X, reset=True)
        check_same_lengths(rows, packed)
        sequences = np.repeat(np.arange(len(rows)), rows.lengths)
        units = _training.independent_units(rows.values, sequences)[1]
        has_few_groups = _training.effective_number(weight, units) < _training.FEWEST_GROUPS
        is_sparse = issparse(rows.values)
        if has_few_groups or is_sparse or not self._is_auto():
            chains = [self._single_chain(X, y, weight, is_sparse)]
        else:
            counted, fold_ids = weight > 0.0, np.full(len(weight), -1)
            counted_units = np.unique(units[counted], return_inverse=True)[1]
            fold_ids[counted] = _training.draw_folds(counted_units, self.random_state_)
            chains = [self._of_view(v, rows, packed, weight, fold_ids) for v in SEQUENCE_VIEWS]
        best = self._chain = min(chains, key=lambda chain: chain.loss)
        self.named_estimators_ = dict(best.estimators())
        self.estimators_ = list(self.named_estimators_.values())
        self.weights_, self.intercept_ = np.ones(1), np.zeros(self.space_.dim_)
        self.validation_scores_ = np.array([chain.score for chain in chains])
        self.validation_score_ = best.score if len(chains) == 1 else score_of_views(chains, units)
        return None

    def _single_chain(self, X, y, weight, is_sparse):
        """The estimator that is given; a random field for few dense rows, or the linear model."""
        seed, shared = draw_seeds(self.random_state_), {"missing": self.missing}
        if not self._is_auto():
            pairs = self._given()
        elif is_sparse or self.missing == "indicator":
            pairs = [("linear", OnlineStructuredPredictor(self.space, random_state=seed, **shared))]
        else:
            pairs = [("chain", ConditionalRandomField(self.space, random_state=seed, **shared))]
        (name, estimator), *extra_pairs = pairs
        if extra_pairs:
            raise ValueError(
                f"estimators over sequences must be a single one, got {self.estimators!r}."
            )
        weighted = {} if np.ptp(weight) == 0.0 else {"sample_weight": weight}
        return RowChain(name, None, clone(estimator).fit(X, y, **weighted))

    def _of_view(self, view, *batch):
        """The `RowChain` of a view, whose mixture has 0.35 of `max_seconds`."""
        mixture = clone(self).set_params(space="multiclass", decoder="map", class_weight=None)
        mixture.set_params(random_state=draw_seeds(self.random_state_))
        if self.max_seconds is not None:
            mixture.set_params(max_seconds=0.35 * self.max_seconds)
        return RowChain.fitted(view, mixture, *batch)

    def _sequences(self, X, reset=False):
        """Checked sequences, `Ragged`."""
        return predictions.read_batch(self, X, reset).X

    def _start(self, y, sample_weight):
        self.space_ = self._unfitted_space().fit(y)
        of_chains = SequenceLoss(self.space_, Shannon(), scale=1.0)
        self.loss_ = of_chains if self.space_.reader.has_sequences else FenchelYoung(self.space_)
        self._take_decoder()
        packed, weight = pack_outputs(self, y, sample_weight)
        self.t_ = len(packed)
        return packed, weight

    def _take_decoder(self):
        decoder = self._given_decoder()
        decoder.check_space(self.loss_)
        predictions.warn_of_costs(decoder, self.space_)

    def _learners(self, X):
        seed, *seeds = draw_seeds(self.random_state_, 3)
        named = dict(zip(("arc-cosine", "laplacian"), seeds, strict=True))
        options = {"missing": self.missing, "standardize": "moments", "random_state": seed}
        passes = OnlineStructuredPredictor(self.space, **options)
        if self.loss_.calls_python:
            return [("linear", passes)]
        if X.shape[0] > KernelRidge.most_exact * self.n_landmarks:
            del named["laplacian"]
        n_rows = 2 * self.n_landmarks
        kernels = [(name, LossMinimizer(name, self.loss_, n_rows, s)) for name, s in named.items()]
        return [("linear", LossMinimizer.linear(self.loss_, X, seed) or passes), *kernels]

    def _trees(self, seed):
        options = VertexTrees.random_forest if self.best_thresholds else {}
        return VertexTrees(self.loss_, None, seed, self.n_jobs, **options)

    def _usual_weight(self, n_members):
        return 2.0

    def _weights_of_few(self, members, training):
        """0.1 for members whose scores are bounded, and 0 for the others."""
        is_bounded = [isinstance(member, (KernelRidge, VertexTrees)) for member in members]
        if not any(is_bounded):
            return super()._weights_of_few(members, training)
        V, weight = np.vstack([training.V, training.origin]), np.append(training.weight, 1.0)
        means = np.array([np.average(V, axis=0, weights=weight), V.mean(axis=0)])
        weighted, plain = self.loss_.link(means)  # 0 without weights of rows
        return 0.1 * np.array(is_bounded), weighted - plain

    def _judge(self, theta, packed, weight):
        return self.decode(theta).score(self.space_.decode(self.space_.unpack(packed)), weight)

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
        """Learn rows of a stream in order; chunks of any size learn the same.

        After `fit` the fitted mixture is a member of the stream that learns no further.

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
        with self.turn, first_call(self, "_model") as new:
            if new is self:
                _check_n_features(self, X, reset=False)  # by the name of this class
                rounds = self._model.read(X, y, classes, sample_weight)
            else:
                resumes = hasattr(self, "_mixed")
                rounds = new._begin_stream(X, y, classes, sample_weight, resumes)
            new._learn_stream(rounds)
        return self

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream; see `OnlineLearner`."""
        if classes is None and self._task() == "multiclass":
            classes = np.unique(np.asarray(y))
        with learning_aside(self) as new:
            return new._begin_stream(X, y, classes, None, False)

    def resume(self, X: Features, y: Outputs) -> Batch:
        """Check further rows of a stream; see `OnlineLearner`."""
        return self._model.read(X, y, None, None)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds that are predicted and not learned."""
        rng = check_random_state(random_state)
        return self._losses_of(self._model.means_of, rounds.take(which), rng)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn_stream(rounds.take(which))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Predict each round, and learn it before the next; the `Losses`."""
        rng = check_random_state(random_state)
        return self._losses_of(self._learn_stream, rounds.take(which), rng)

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions; nothing is learned."""
        return self._losses_of(self._model.means_of, rounds.take(which))

    def answer_and_learn(self, rounds: Batch, which: Ints) -> Losses:
        """Predict each round, and learn it before the next; the `Losses` of the predictions."""
        return self._losses_of(self._learn_stream, rounds.take(which))

    def _begin_stream(self, X, y, classes, sample_weight, resumes):
        """Set up members, with the fitted mixture if it resumes; the first `Batch`."""
        predictions.reader_of(self, fresh=True).require_rows(
            "StructuredPredictor only supports fit for label sequences. For streams use "
            "OnlineStructuredPredictor('sequence')."
        )
        frozen = FrozenMember(self._mixed, self.loss_) if resumes else None
        if resumes:
            read_rows(self, X)  # of as many features
            classes = getattr(self.space_, "classes_", classes)
        for name in ("named_estimators_", "validation_scores_", "validation_score_", "_mixed"):
            vars(self).pop(name, None)
        self.random_state_ = check_random_state(self.random_state)
        self.t_ = self.t_ if resumes else 0
        self._model = StreamMixture(*self._stream_members(X), self.random_state_, frozen)
        rounds = self._model.read(X, y, classes, sample_weight)
        first = self._model.members[0].learner
        for name in ("space_", "loss_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self.intercept_ = np.zeros(self.space_.dim_)
        self._take_decoder()
        return rounds

    def _stream_members(self, X):
        """The learners of rows of a stream, and that of their bins, if any."""
        if self.estimators != "auto":
            pairs = self._given()
            wrong = [name for name, member in pairs if not _learns_streams(member)]
            if wrong:
                raise ValueError(
                    f"partial_fit is only supported for online estimators, which {wrong} are not."
                )
            weighs = [n for n, m in pairs if getattr(m, "class_weight", None) is not None]
            if weighs:
                raise ValueError(
                    f"class_weight of {weighs} is not supported by partial_fit: use sample_weight."
                )
            return [member for _, member in pairs], None
        seeds = draw_seeds(self.random_state_, 2)
        shared = {"space": self.space, "missing": self.missing, "class_weight": self.class_weight}
        if issparse(X) or np.shape(X)[1] > 50:
            return [OnlineStructuredPredictor(**shared, random_state=seeds[0])], None
        settings = {"kernel": "rbf", "approximation": "fourier", "random_state": seeds[0]}
        members = [KernelStructuredPredictor(**shared, **settings)]
        # weights of classes are in those of rows already
        settings = {"standardize": False, "missing": "error", "random_state": seeds[1]}
        return members, OnlineStructuredPredictor(self.space, **settings)

    def _learn_stream(self, rounds):
        """Learn rounds, a block at a time on a copy; the predictions (n, dim) before each."""
        n, size, means = rounds.n_rounds, self._stream_block, []
        blocks = np.split(np.arange(n), range(size, n, size))
        for block in blocks:
            with learning_aside(self, True, draws=self._model.binned is not None) as new:
                model, new.t_ = new._model, self.t_ + len(block)
                model.rng = new.random_state_
                batch = rounds.take(block) if len(blocks) > 1 else rounds
                means.append(model.learn(batch))
                new.estimators_, new.weights_ = model.members, model.weights
        return np.concatenate(means)

    def _of_means(self, mu):
        """How means of a stream, mixed with a little of the uniform one, become outputs."""
        return Decoding(self.loss_.link(mu, 1e-9), self.loss_, self._given_decoder(), mu)

    def _losses_of(self, means_of, rounds, rng=None):
        """The `Losses` of draws by a generator; without one, of the most likely outputs."""
        decoding, V = self._of_means(means_of(rounds)), self.space_.unpack(rounds.packed)
        lost = self.space_.expected_loss(decoding.drawn(rng) if rng else decoding.anchor(), V)
        return Losses(lost, decoding.expected_loss(V) if rng else lost, np.full(len(V), np.nan))

    def _decoding(self, X):
        twin = snapshot(self)
        check_is_fitted(twin, "space_")
        if hasattr(twin, "_model"):
            _check_n_features(twin, X, reset=False)
            return twin._of_means(twin._model.predict_mean(X))
        if twin.space_.reader.has_sequences:
            return twin.decode(twin._chain.scores(twin._sequences(X)))
        return twin.decode(twin._mixed_scores(X))

    predict_marginals, predict_nbest = of_sequences.predict_marginals, of_sequences.predict_nbest
    log_proba, log_partition = of_sequences.log_proba, of_sequences.log_partition

    def _scores(self, X):
        return self._decoding(X).theta
