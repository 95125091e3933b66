"""The online learner over any output space, Gaptron, and the Perceptrons."""

import math
from operator import attrgetter
from typing import Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters, parameters_with
from skstructured._base.validation import check_positive, writable
from skstructured._engine.rows import Rows
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import LinearModel
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured._learners.second_order import SecondOrderWeights
from skstructured._learners.weights import linear_scores, with_intercept
from skstructured.decoders import resolve_decoder
from skstructured.estimators._auto import given_decoder, resolve_loss_and_optimizer
from skstructured.extend._types import Features, Given, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison, Model
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer, Surrogate
from skstructured.guarantees.certificates import Certificate, PerceptronCertificate, no_search
from skstructured.losses import FenchelYoung, GapSurrogate
from skstructured.losses.gap import ZeroOneLoss
from skstructured.optimizers import GradientDescent
from skstructured.optimizers.gradient_descent import FixedStep, FixedStepState
from skstructured.sequences import _decoding as of_sequences
from skstructured.sequences._decoding import weights_of_sequences
from skstructured.sequences._model import ChainRounds
from skstructured.sequences._ragged import RoundModel


@parameters
class OnlineParameters:
    """Parameters that online learners of rows and of items share."""

    space: str | OutputSpace = "multiclass"
    regularizer: str | Regularizer | None = None
    loss: str | FenchelYoung | Surrogate = "fenchel_young"
    decoder: str | Decoder = "randomized"
    optimizer: str | OnlineOptimizer = "auto"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int | Literal["auto"] = "auto"
    shuffle: bool = True


@parameters_with(OnlineParameters)
class OnlineStructuredPredictor(DecodedPredictions, OnlineEstimator):
    r"""Predict structured outputs online with a linear model: classes, label sets, rankings.

    Start with the defaults: they work on unscaled features, and there is no step size to tune. Then
    choose

    - `space`, by the type of the outputs;
    - ``partial_fit`` for streams, stationary or drifting, or ``max_iter=1`` for very large data
      sets;
    - ``decoder="nearest"`` if you only need deterministic predictions, or "f1" for label sets that
      are evaluated by F1;
    - ``optimizer="ogd", average=False`` for the smallest regret bound in theory, and
      ``standardize=False`` if all features have the same scale.

    The model is linear and the loss is a Fenchel–Young loss [1]_. In round t the learner decodes
    ``θ_t = W_t x_t``, with x_t the standardized row, and then sees y_t. Its optimizer updates W
    with the gradient ``c (ŷ_Ω(θ_t) − y_t) x_tᵀ`` of the loss ``c S_Ω(W x_t; y_t)``. With
    ``optimizer="ogd"`` the expected cumulative target loss is at most, for every U,

    .. math:: \sum_t c\,S_Ω(U x_t; y_t) + \frac{(1-a)\, b\, \|U\|_F^2}{4 (1-m) m},

    with m = min(½, a), a the surrogate gap and b = 2cC²κ²/λ. The second term, the surrogate regret,
    does not grow with the number of rounds.

    Parameters
    ----------
    space : str or OutputSpace, default="multiclass"
        Type of the outputs: "multiclass" or "simplex" (classes), "hypercube" or "multilabel" (0/1
        indicators), "ordinal" (ordered classes), "birkhoff" or "assignment" (permutations as
        positions, 0 = first), "permutahedron" or "ranking" (permutations as ranks, d = best),
        "sequence" (label sequences), or an `OutputSpace`.
    regularizer : str, Regularizer or None, default=None
        Regularizer Ω of the Fenchel–Young loss: "shannon", "squared", "tsallis" or a `Regularizer`.
        None is the default of the space.
    loss : str, FenchelYoung or Surrogate, default="fenchel_young"
        Surrogate loss. "fenchel_young" is the loss of the regularizer, over any space. A
        `FenchelYoung` without a space sets its scale and the constants of its theory. "hinge",
        "smooth_hinge" and "perceptron" have no regularizer. For "simplex" they are the losses of
        `GapSurrogate`, whose guarantee needs ``decoder="gap"`` and ``optimizer="ogd"``, and of the
        Perceptron. For "hypercube" and "ordinal" they are those of `IndicatorMargins`. A custom
        `Surrogate` is accepted too.
    decoder : str or Decoder, default="randomized"
        How scores become outputs: "randomized" (Algorithm 1 of Sakaue et al., 2024), "map",
        "nearest", "sampled", or "min_risk" (for costs, which are parameters of spaces). Multilabel
        outputs also have "f1" and "threshold". Learning does not use the decoder, so you can change
        it after `fit`. `predict` and `score` are the same for all decoders on "simplex" without
        costs. To choose a decoder by grid search, use
        ``scoring=skstructured.metrics.expected_target_loss_scorer``, which scores the outputs of
        `sample`.
    optimizer : str or OnlineOptimizer, default="auto"
        How the weights are updated: "mixture", "parameter_free", "ogd", "adaptive" or
        "pistol". "auto" is "mixture" for streams and single passes. It is
        "parameter_free" for `fit` with several passes and for more than 2²⁰ weights. For sequences
        both start with a larger wealth, 10,000, because bounds on their gradients are looser for
        longer sequences.
    average : bool, "uniform" or "polynomial", default="polynomial"
        Whether predictions use an average ``Σ_t v_t W_t/Σ_t v_t`` of the weights of all rounds, and
        which. "polynomial" uses ``v_t = w_t (Σ_{s≤t} w_s)³``, with w_t the sample weights (Shamir
        and Zhang 2013, η = 3). It forgets the first rounds, and is more accurate. "uniform", or
        True, uses ``v_t = w_t``, as in Theorem 4.6 of Sakaue et al. (2024) on online-to-batch
        conversion, for a single pass over unscaled rows. The bound for "polynomial" is four times
        as large, see the notes of `OnlineStructuredPredictor`. The model keeps the last and the
        averaged weights. After learning, ``set_params(average=False)`` switches to the last.
    standardize : bool, "auto" or "moments", default="auto"
        Whether to center and scale each feature by its mean and standard deviation over the rows so
        far, the current row included. With more than 32 rows these lag: the latest rows, at most
        1/32 of all by weight, may not be included yet. So you do not scale features first. After 32
        rows, dense cells beyond three deviations from the mean count as this edge, which neither
        wrong cells nor the first rows can move far, and recent rows count more; with "moments" all
        rows count alike, and cells are unchanged. CSR rows are divided by the largest entry of each
        column so far, or by five geometric means of its sizes if that is less, and never centered.
        "auto" is True, except that `fit` does not divide sequences whose features are all 0 or 1:
        dense ones are centered if there is an intercept, CSR ones are not changed. `coef_` and
        `intercept_` are in units of X, for cells between the edges.
    missing : {"mean", "indicator", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), with `standardize`. "mean" imputes the mean
        of the feature over the rows so far, and "error" raises an error. "indicator" imputes the
        mean and appends one column per feature: 1 if the value is missing, else 0, not
        standardized. The linear weights of these columns are `missing_coef_`. There are twice as
        many columns, from the first row on. CSR rows have no missing values, and their indicators
        are 0.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1, which counts in ‖x‖ and ‖U‖. Without an intercept,
        `standardize` does not center.
    max_iter : int or "auto", default="auto"
        Number of passes (epochs) of `fit`; a given number is made in full. "auto" compares 1, 2, 3,
        5, 10, … 80 passes (kernels: up to 10) on held-out rows. It uses the default number unless
        another one is significantly better. The default is 10 for linear models (10,000/n for n <
        1,000 rows, at most 80) and 20 for kernels. Linear models with more than 5,000 rows, and
        more than 20 rows per feature, make up to 10 passes without a comparison. They stop after a
        pass that does not reduce the best surrogate loss by 0.01%.
    shuffle : bool, default=True
        Whether `fit` visits the rows of each pass in random order.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply sample weights. "balanced" is
        ``n/(n_classes · count of the class)``. It is only supported by `fit`, because a chunk of a
        stream does not contain all counts. Only supported if the outputs are classes.
    verbose : bool or int, default=0
        Whether `fit` prints a line for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling, and the draws of `sample`.

    Attributes
    ----------
    coef_ : ndarray of shape (dim, n_features_in_)
        Weights that predictions use, without the intercept: the averaged weights with `average`,
        else the last. For a mixture they are the mean over its experts; if it mixes probabilities,
        θ is not linear.
    missing_coef_ : ndarray of shape (dim, n_features_in_)
        Change of θ if a feature is missing, with ``missing="indicator"``. Then θ is
        ``X coef_ᵀ + M missing_coef_ᵀ + intercept_``, with means for missing values, and M is 1 at
        them.
    intercept_ : ndarray of shape (dim,)
        Intercept; zeros without one.
    feature_ranges_ : FeatureRanges
        With `standardize`: `center`, `scale` and the edges `low` and `high` of features, each of
        shape (n_features_in_,), and which are `heavy`, which become normal quantiles.
    last_weights_, average_weights_ : ndarray of shape (dim, n_features_in_ [+ 1])
        The last and the averaged weights. The intercept is the last column; indicators of missing
        values, if any, come before it. `average_weights_` is only set with `average`.
    classes_ : ndarray
        Class labels (simplex, ordinal); label indices 0 … d−1, or the names of the columns of a
        data frame y (hypercube); or positions 0 … m−1 (birkhoff). Not set for spaces without
        labels.
    space_, loss_, optimizer_ : components
        The fitted space, loss and optimizer.
    expert_weights_, expert_losses_ : ndarray of shape (n_experts,)
        Weight of each expert in the next prediction, (n_labels, n_experts) for label sets, and the
        sum of its surrogate losses without the loss scale. Only set with ``optimizer="mixture"``.
    expert_names_ : list of str
        Names of the experts.
    t_ : int
        Number of rows of the stream so far: those of `fit`, each counted once, and those of
        `partial_fit` after it. Rows of weight zero, label sequences and groups of items count as
        one row each.
    n_iter_ : int
        Passes of the last `fit`; 1 after `partial_fit`.
    loss_curve_ : ndarray of shape (n_iter_, 2)
        Mean surrogate loss, and mean target loss of the most likely outputs, of each pass. Each row
        is predicted before it is learned. Empty after a single pass without `verbose`.
    validation_curve_ : ndarray of shape (m, 2)
        Numbers of passes that `fit` tried, and the mean surrogate loss on held-out rows after each.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X has string names.

    Warns
    -----
    GuaranteeWarning
        Once, at the first call, if the scale of the loss leaves no surrogate gap.

    See Also
    --------
    StructuredPredictor : The estimator to try first, this model mixed with three kernel models.
    KernelStructuredPredictor : The same learner with kernels or random features.
    GaptronClassifier : Online classification with a bound on the number of mistakes.
    ConditionalRandomField : Log-linear models learned in batch, for sequences and classes.
    skstructured.evaluation.progressive_validate : Prequential evaluation, with bounds on the error.

    Notes
    -----
    Theorem 4.6 of [1]_ applies to one pass of "ogd", with C given, over T rows that are drawn
    independently. Then with the "uniform" average the expected target loss on a new row is at most
    ``E S(U) + R/T`` for every U, with R the regret above. With the "polynomial" average it is at
    most 4 times as large, because S is convex and not negative, and no round counts more than
    ``T³/Σ_t t³ ≤ 4/T``. The average is that of [2]_.

    Outputs y: labels (n,) for "simplex" and "ordinal"; a 0/1 indicator matrix (n, d), dense or
    sparse, for "hypercube"; positions (n, m) from 0 for "birkhoff"; ranks (n, d), d = best, for
    "permutahedron". For "sequence", X is a list of (length, p) matrices and y a list of label
    arrays. The weights then include `transitions_`, `start_` and `end_`.

    A sample weight w multiplies the loss of its round. A weight of zero is the same as leaving the
    row out. A weight of two is not the same as seeing the row twice, as in every online learner.
    Norms of rows must be at most 1e150 (with ``standardize=False``: zero, or between 1e-100 and
    1e100). Weights must be zero or between 1e-20 and 1e20.

    `embedding_scores` returns θ (n, dim). `decision_function` returns scores in scikit-learn's
    format: one per class if outputs are classes ("ordinal" has one more class than thresholds),
    else θ.

    Dense and CSR rows in float32 are not converted; weights and scores are float64.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024). Online structured prediction with Fenchel–Young losses
       and improved surrogate regret for online multiclass classification with logistic loss. COLT.
       Theorems 4.2, 4.6 and 5.1.

    .. [2] Shamir, Zhang (2013). Stochastic gradient descent for non-smooth optimization:
       convergence results and optimal averaging schemes. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineStructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineStructuredPredictor(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    transitions_ = weights_of_sequences(
        "(k, k) of going from a label to the next", lambda W: W[:, -len(W) :].T
    )
    start_ = weights_of_sequences("(k,) of the first label", lambda W: W[:, -len(W) - 2])
    end_ = weights_of_sequences("(k,) of the last label", lambda W: W[:, -len(W) - 1])

    predict_marginals, predict_nbest = of_sequences.predict_marginals, of_sequences.predict_nbest
    log_proba, log_partition = of_sequences.log_proba, of_sequences.log_partition

    _given_decoder, _learns_singles = given_decoder, True

    def _parts(self, space):
        columns = self.n_features_in_ * (1 + (self.missing == "indicator"))
        return resolve_loss_and_optimizer(self, space, columns, mixes=not self._many_passes)

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        if self.space_.reader.has_sequences:
            return RoundModel(self, ChainRounds(self.space_, self._given_decoder()))
        return LinearModel(self)


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class GaptronClassifier(DecodedPredictions, OnlineEstimator):
    r"""Gaptron: online multiclass classification that exploits the surrogate gap.

    In round t it [1]_ draws a class from ``p' = (1 − a_t) e_{y*} + a_t/K``, with y* the class of
    the largest score and a_t the gap. Then it takes a step of gradient descent on the surrogate ℓ.
    The expected number of mistakes is at most, for every U,

    .. math:: \sum_t \ell_t(U) + \mathrm{factor} \cdot C^2 \|U\|_F^2,

    with factor K/ln 2 (logistic), K²/(2(K−1)) (hinge) or 2K (smooth hinge), on any sequence of
    rows. With "hinge" it is the same as ``OnlineStructuredPredictor(loss="hinge", decoder="gap",
    optimizer="ogd")``.

    Parameters
    ----------
    loss : {"hinge", "logistic", "smooth_hinge"}, default="hinge"
        Surrogate loss; see `skstructured.losses.gap.GapSurrogate`. "hinge" is the most accurate on
        most data, "logistic" has probabilities.
    radius : float or None, default=None
        Radius of the Frobenius ball to which W is projected. None does not project.
    feature_norm : float or None, default=None
        Bound C on the norms ``‖x‖_2`` (the intercept's 1 included). None learns it.
    decoder : "gap" or str or Decoder, default="gap"
        How scores become classes. "gap" draws from p' above. With the logistic loss, "randomized"
        is the randomized decoder of `OnlineStructuredPredictor` with its own step size, whose bound
        has no factor K. Other decoders have no bound. Learning uses the decoder, as it uses `loss`:
        after `fit`, a change of either has no effect until the next `fit`.
    {OnlineStructuredPredictor: average, standardize, missing, fit_intercept}
    max_iter : int, default=10
        Maximum number of passes (epochs) of `fit`.
    tol : float or None, default=1e-4
        Tolerance of the stopping rule: `fit` stops after a pass that does not reduce the best
        surrogate loss by this share. None makes all passes.
    {OnlineStructuredPredictor: shuffle, class_weight, verbose, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decoder_ : Decoder
        Copy of the decoder at the time of `fit`, used by predictions and `certificate`.
    {OnlineStructuredPredictor: coef_, missing_coef_, intercept_, last_weights_, average_weights_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

    See Also
    --------
    OnlineStructuredPredictor : The more accurate online learner, for all output spaces.
    FolkloreClassifier : Online logistic regression with a regret bound for probabilities.
    MulticlassPerceptron : The classical algorithm, with a deterministic mistake bound.
    BanditGaptronClassifier : Gaptron if only the correctness of the prediction is revealed.

    References
    ----------
    .. [1] van der Hoeven (2020). Exploiting the surrogate gap in online multiclass classification.
       NeurIPS. Algorithm 1, Theorems 1 to 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import GaptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaptronClassifier(random_state=0).fit(X, y)
    >>> model.decoding_proba(X[:1]).shape
    (1, 3)
    """

    loss: str | Surrogate = "hinge"
    radius: float | None = None
    feature_norm: float | None = None
    decoder: str | Decoder = "gap"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    _learns_singles = True

    def _unfitted_loss(self):
        return GapSurrogate(kind=self.loss)

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return LinearModel(self)

    def _given_decoder(self):
        return self.decoder_

    def _parts(self, space):
        # The decoder chooses the surrogate and the step, which stay with it.
        self.decoder_ = clone(resolve_decoder(self.decoder))
        surrogate = GapSurrogate(kind=self.loss).over(space)
        descent = GradientDescent(self.feature_norm, self.radius)
        if self.decoder_.exploits_gap and self.loss == "logistic":
            return FenchelYoung(space, "shannon"), descent
        return surrogate, descent


@inherit_parameters(OnlineStructuredPredictor, GaptronClassifier)
@parameters
class MulticlassPerceptron(DecodedPredictions, OnlineEstimator):
    """The multiclass Perceptron: on a mistake ``W ← W + (e_y − e_{y*}) xᵀ``.

    The algorithm is that of [1]_, one of the family of [2]_.

    Parameters
    ----------
    {OnlineStructuredPredictor: average}
        As long as there are mistakes, the weights of a Perceptron jump by whole rows. So the mean
        of all of them is more accurate than one of the late ones.
    {OnlineStructuredPredictor: standardize, missing, fit_intercept}
    {GaptronClassifier: max_iter, tol}
    {OnlineStructuredPredictor: shuffle, class_weight, verbose, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    {OnlineStructuredPredictor: coef_, missing_coef_, intercept_, last_weights_, average_weights_,
    space_, loss_,
    optimizer_, t_, n_iter_, n_features_in_, feature_names_in_}

    See Also
    --------
    OnlineStructuredPredictor : The more accurate online learner, with probabilities.
    SecondOrderPerceptron : A Perceptron that uses the correlations of features.
    KernelPerceptronClassifier : The Perceptron with a kernel.

    References
    ----------
    .. [1] Fink, Shalev-Shwartz, Singer, Ullman (2006). Online multiclass learning by interclass
       hypothesis sharing. ICML.

    .. [2] Crammer, Singer (2003). Ultraconservative online algorithms for multiclass problems.
       JMLR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MulticlassPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> MulticlassPerceptron(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    average: bool | Literal["uniform", "polynomial"] = "uniform"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    decoder, _given_decoder, _learns_singles = "map", given_decoder, True

    def _unfitted_loss(self):
        return ZeroOneLoss()

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return LinearModel(self)

    def _parts(self, space):
        return ZeroOneLoss(space), FixedStep()

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound on its mistakes, against the hinge losses ``max(1 − m, 0)`` of any U."""
        check_is_fitted(self)
        X = math.sqrt(2.0 * self.model_.state.vector[FixedStepState.LARGEST_SQ])
        return PerceptronCertificate("Van der Hoeven (2020), section 4.2", X)

    def comparison(self, rounds: Batch) -> Comparison:
        """Raise a GuaranteeError: comparators are measured by hinge losses."""
        raise no_search("MulticlassPerceptron")


class SecondOrderModel(Model):
    """The weights of the second-order Perceptron over standardized rows."""

    def __init__(self, learner):
        intercept, K = learner.fit_intercept_, learner.space_.dim_
        self.scale = scale_of(learner, learner.n_features_in_, intercept, forgets=False)
        width, alpha = self.scale.columns + intercept, check_positive("alpha", learner.alpha)
        self.learned, self.intercept = SecondOrderWeights(K, width, alpha), intercept
        self.n_mistakes = 0

    def learn(self, batch, indices, weight, record):
        """Learn dense rows, standardized on arrival, one by one."""
        for i in indices:
            rows, _ = self.scale.apply(Rows.from_array(batch.X[i : i + 1]))
            x, code = with_intercept(rows.matrix, self.intercept)[0], batch.packed[i]
            theta = self.learned.W @ x
            self.learned.learn(theta, x, code)
            self.n_mistakes += int(np.argmax(theta) != code)

    def owns_arrays(self):
        """Whether the arrays can be written to; all are as the weights are."""
        return writable(self.learned.W) is self.learned.W

    def scores(self, batch, averaged):
        """Scores (n, K) of rows."""
        W, chunks = self.weights(averaged), self.scale.imputed_parts(batch.rows)
        return np.concatenate([linear_scores(W, rows.matrix) for rows in chunks])

    def weights(self, averaged):
        """Weights (K, p [+ 1]) for rows that are not standardized."""
        return self.scale.fold(self.learned.W.copy())


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class SecondOrderPerceptron(ClassifierMixin, OnlineEstimator):
    r"""The multiclass second-order Perceptron, with full information.

    It is `SOBAClassifier` with p' = 1 and the true label always revealed:
    ``g = z = (e_ȳ − e_y) ⊗ x``, with ȳ the best class other than y, and the same rule for when to
    update. The algorithm is that of [1]_, in the multiclass form of [2]_.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization strength: A starts at ``alpha · I``. Must be positive.
    {OnlineStructuredPredictor: standardize, missing}
    fit_intercept : bool, default=True
        Whether to append a constant feature 1.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order.
    verbose : bool or int, default=0
        Whether to print, once per second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    coef_, intercept_ : ndarray
        Weights and intercepts.
    {OnlineStructuredPredictor: missing_coef_, t_}
    n_mistakes_ : int
        Number of mistakes during learning.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MulticlassPerceptron : The first-order Perceptron, which is faster and has a mistake bound.
    FolkloreClassifier : A second-order learner with probabilities and a regret bound.
    SOBAClassifier : The same algorithm if only the correctness of the prediction is revealed.

    Notes
    -----
    No bound is available. The bounds in its papers have no explicit constants.

    References
    ----------
    .. [1] Cesa-Bianchi, Conconi, Gentile (2005). A second-order Perceptron algorithm. SIAM Journal
       on Computing.

    .. [2] Beygelzimer, Orabona, Zhang (2017). Efficient online bandit multiclass learning with
       Õ(√T) regret. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import SecondOrderPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> SecondOrderPerceptron(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _no_theorem = "The bounds of its papers have no explicit constants."

    alpha: float = 1.0
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    n_mistakes_ = property(attrgetter("model_.n_mistakes"), doc="Mistakes during learning.")

    def fit(self, X: Features, y: Outputs) -> Self:  # type: ignore[override]  # without weights
        """Learn one pass from scratch; returns self."""
        return super().fit(X, y)

    def partial_fit(self, X: Features, y: Outputs, classes: Given = None) -> Self:  # type: ignore[override]
        """Learn rows in order, one round each; `classes` on the first call. Returns self."""
        return super().partial_fit(X, y, classes)

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return SecondOrderModel(self)
