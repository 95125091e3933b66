"""The online learner over any output space, Gaptron, and the Perceptrons."""

import math
from typing import Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._base.validation import check_positive
from skstructured._engine.rows import Rows
from skstructured._learners.classifier import OnlineClassifier
from skstructured._learners.models import LinearModel
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured._learners.second_order import SecondOrderWeights
from skstructured._learners.weights import LinearWeights, linear_scores
from skstructured.decoders import resolve_decoder
from skstructured.estimators._auto import given_decoder, parts_of
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer, Surrogate
from skstructured.guarantees.certificates import Certificate, PerceptronCertificate, no_search
from skstructured.losses import FenchelYoung, GapSurrogate
from skstructured.losses.gap import ZeroOneLoss
from skstructured.optimizers import GradientDescent
from skstructured.optimizers.gradient_descent import LARGEST_FIXED_SQ as LARGEST_SQ
from skstructured.optimizers.gradient_descent import FixedStep
from skstructured.sequences import _predictions as of_sequences
from skstructured.sequences._model import ChainRounds
from skstructured.sequences._predictions import weights_of_sequences
from skstructured.sequences._ragged import RoundModel
from skstructured.spaces import LabelSequence

__all__ = [
    "GaptronClassifier",
    "MulticlassPerceptron",
    "OnlineStructuredPredictor",
    "SecondOrderPerceptron",
]


@parameters
class OnlineStructuredPredictor(DecodedPredictions, OnlineEstimator):
    r"""Predict structured outputs from rows as they come: classes, multilabel, ordinal, rankings.

    The defaults are the place to start: raw features in, no step size, no scaling. Then choose

    - `space`, by what an output is;
    - ``partial_fit`` for streams, stationary or drifting, or ``max_iter=1`` for very many rows;
    - ``decoder``: "nearest", if only deterministic predictions count; "f1" for labels judged by F1;
    - ``optimizer="ogd", average=False`` for the smallest regret bound that theory has, and
      ``standardize=False`` if features have one scale already.

    It is online structured prediction with a Fenchel–Young loss and a linear model. In round t the
    learner plays ``ψ(θ_t)``, ``θ_t = W_t x_t``, x_t the standardized row, sees y_t and moves by
    its optimizer along the gradient ``c (ŷ_Ω(θ_t) − y_t) x_tᵀ`` of the loss ``c S_Ω(W x_t; y_t)``.
    With ``optimizer="ogd"`` its expected cumulative target loss is at most, for every U,

    .. math:: \sum_t c\,S_Ω(U x_t; y_t) + \frac{(1-a)\, b\, \|U\|_F^2}{4 (1-m) m},

    with m = min(½, a), a the surrogate gap and b = 2cC²κ²/λ: a finite surrogate regret.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex" or "multiclass" (classes), "hypercube" or "multilabel" (0/1
        indicators), "ordinal" (ordered classes), "birkhoff" or "assignment" (permutations as
        positions), "permutahedron" or "ranking" (permutations as ranks), "sequence" (label
        sequences, docs/sequences.md), or a space.
    regularizer : str, Regularizer or None, default=None
        "shannon", "squared", "tsallis" or a regularizer. None is the space's own.
    loss : str, FenchelYoung or Surrogate, default="fenchel_young"
        "fenchel_young" is the loss of the regularizer, over any space; a `FenchelYoung` without a
        space sets its scale and the constants of its theory. Without a regularizer there
        are "hinge", "smooth_hinge" and "perceptron": for "simplex" those of `GapSurrogate`, whose
        guarantee needs ``decoder="gap"`` and ``optimizer="ogd"``, and of the Perceptron; for
        "hypercube" and "ordinal" those of `IndicatorMargins`. Or a custom `Surrogate`.
    decoder : str or Decoder, default="randomized"
        How scores become outputs: "randomized" (Algorithm 1), "map", "nearest", "sampled",
        "min_risk" (for costs, which are parameters of spaces), and for multilabel outputs "f1" and
        "threshold". It does not enter learning and may be changed after it. `predict` and `score`
        are the same for all of them on "simplex" without costs: to choose one by a search, give it
        ``scoring=skstructured.metrics.expected_target_loss_scorer``, which scores what `sample`
        plays.
    optimizer : str or OnlineOptimizer, default="auto"
        How the weights move: "mixture", "parameter_free", "ogd", "adaptive", "pistol", "adagrad",
        "ftrl". "auto" is "mixture" for streams and single passes, and "parameter_free" for `fit`
        with more passes and for more than 2²⁰ weights. Over sequences both have more wealth,
        10,000, because bounds on their gradients are the looser the longer they are.
    average : bool, "uniform" or "polynomial", default="polynomial"
        Whether predictions use an average ``Σ_t v_t W_t/Σ_t v_t`` of the weights played, and which.
        "polynomial" takes ``v_t = w_t (Σ_{s≤t} w_s)³``, w_t the sample weights (Shamir, Zhang 2013,
        η = 3): it forgets the first rounds, and is more accurate. "uniform", or True, takes
        ``v_t = w_t``, which is what Theorem 4.6 is about (online-to-batch conversion, for one pass
        over rows as they are); its bound for "polynomial" is four times as large, see the notes of
        `OnlineStructuredPredictor`. Both last and averaged weights are kept, and after learning
        ``set_params(average=False)`` goes back to the last.
    standardize : bool or "auto", default="auto"
        Whether to center and scale features by their mean and standard deviation over the rows so
        far, the row itself included, so you do not scale them first. CSR rows are divided by the
        largest entry of each column so far, and never centered. "auto" is True, but that `fit`
        does not divide sequences whose features are all 0 or 1: dense ones are centered if there
        is an intercept, CSR ones stay as they are. `coef_` and `intercept_` are in units of X.
    missing : {"mean", "indicator", "error"}, default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows so far that have the
        feature, or an error. "indicator" is the mean and one more column for each feature, behind
        those of all features: 1 if the row lacks it, else 0, not standardized; linear weights of
        these are `missing_coef_`. There are twice as many columns, from the first row on; CSR rows
        have no missing values, and their indicators stay 0.
    fit_intercept : bool, default=True
        Append a constant feature 1, which counts in ‖x‖ and ‖U‖. Without it, `standardize` does
        not center.
    max_iter : int or "auto", default="auto"
        Passes (epochs) of `fit`: a number is made in full. "auto" tries 1, 2, 3, 5, 10, … 80 on
        held-out rows (kernels up to 10), and makes 10 (kernels 20; linear learners of fewer than
        1,000 rows 10,000 over their number, at most 80) unless others are significantly better;
        linear learners make 10 untried over 5,000 rows and more, 20 for each feature, and stop
        before after a pass whose surrogate loss is not 0.01% below that of the best pass before.
    shuffle : bool, default=True
        Whether `fit` visits the rows of each pass in random order.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply sample weights. "balanced" is
        ``n/(n_classes · count of the class)``, and for `fit` alone: a chunk does not know the
        others' counts. For classes only.
    verbose : bool or int, default=0
        Whether `fit` prints a line for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling, and the draws of `sample`.

    Attributes
    ----------
    coef_ : ndarray of shape (dim, n_features_in_)
        The weights predictions use, without the intercept: averaged with `average`, else the last.
        Of a mixture the mean over its experts; if it mixes probabilities θ is not linear.
    missing_coef_ : ndarray of shape (dim, n_features_in_)
        With ``missing="indicator"``: what a missing feature adds to θ, which is
        ``X coef_ᵀ + M missing_coef_ᵀ + intercept_`` with means for missing values, M 1 at them.
    intercept_ : ndarray of shape (dim,)
        The intercept; zeros without one.
    last_weights_, average_weights_ : ndarray of shape (dim, n_features_in_ [+ 1])
        The last and the averaged weights, the intercept last, before it those of indicators if
        there are any; the latter only with `average`.
    classes_ : ndarray
        Class labels (simplex, ordinal), the label indices 0 … d−1 (hypercube), or the positions
        0 … m−1 (birkhoff); not set for spaces without labels.
    space_, loss_, optimizer_ : components
        The space, the loss and the optimizer, fitted.
    expert_weights_, expert_losses_ : ndarray of shape (n_experts,)
        With ``optimizer="mixture"``: how much each expert counts in the next prediction, for label
        sets (n_labels, n_experts); and the sum of its surrogate losses, without the loss scale.
    expert_names_ : list of str
        What the experts are called.
    t_ : int
        Rounds seen: rows learned, repeated passes counted.
    n_iter_ : int
        Passes of the last `fit`; 1 after `partial_fit`.
    loss_curve_ : ndarray of shape (n_iter_, 2)
        Mean surrogate loss, and target loss of the most likely outputs, of each pass, every row
        predicted before it was learned. Empty after a single pass without `verbose`.
    validation_curve_ : ndarray of shape (m, 2)
        Numbers of passes that `fit` tried, and mean surrogate losses after them of held-out rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X had string names.

    Warns
    -----
    GuaranteeWarning
        Once, at the first call, if the scale of the loss leaves no surrogate gap.

    Notes
    -----
    Theorem 4.6 is about one pass of "ogd", C given, over T rows that are drawn independently: the
    expected target loss on a new row is at most ``E S(U) + R/T`` with the "uniform" average, for
    every U, R the regret above. With the "polynomial" one it is at most 4 times that, because S is
    convex and not negative, and no round counts more than ``T³/Σ_t t³ ≤ 4/T``.

    Outputs y: labels (n,) for "simplex" and "ordinal"; 0/1 indicator matrix (n, d), dense or
    sparse, for "hypercube"; positions (n, m) from 0 for "birkhoff"; ranks (n, d), d = best, for
    "permutahedron". For "sequence" X is a list of (length, p) matrices, y one of label arrays, and
    `transitions_`, `start_` and `end_` join the weights.

    A sample weight w multiplies the loss of its round; a weight of zero equals leaving the row out,
    but a weight of two is not the same as seeing a row twice, as for every online learner. Norms of
    rows are at most 1e150 (with ``standardize=False`` zero, or between 1e-100 and 1e100), weights
    are zero or between 1e-20 and 1e20: ``docs/numbers.md``.

    `embedding_scores` gives θ (n, dim). `decision_function` gives what scikit-learn reads: one
    score per class if outputs are classes ("ordinal" has a class more than thresholds), else θ.

    Dense and CSR rows in float32 are read as they are; weights and scores are float64.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young losses and
    improved surrogate regret for online multiclass classification with logistic loss",
    Theorems 4.2, 4.6 and 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineStructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineStructuredPredictor(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    space: str | OutputSpace = "simplex"
    regularizer: str | Regularizer | None = None
    loss: str | FenchelYoung | Surrogate = "fenchel_young"
    decoder: str | Decoder = "randomized"
    optimizer: str | OnlineOptimizer = "auto"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int | Literal["auto"] = "auto"
    shuffle: bool = True
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

    _given_decoder = given_decoder

    def _parts(self, space):
        return parts_of(self, space, self.n_features_in_ * (1 + (self.missing == "indicator")))

    def _new_model(self):
        if isinstance(self.space_, LabelSequence):
            return RoundModel(self, ChainRounds(self))
        return LinearModel(self)


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class GaptronClassifier(DecodedPredictions, OnlineEstimator):
    r"""Gaptron: online multiclass classification that exploits the surrogate gap.

    In round t it plays a class from ``p' = (1 − a_t) e_{y*} + a_t/K``, y* the class of the largest
    score and a_t the gap, and takes a step of gradient descent on the surrogate ℓ. Then the
    expected number of mistakes is at most, for every U,

    .. math:: \sum_t \ell_t(U) + \mathrm{factor} \cdot C^2 \|U\|_F^2,

    factor = K/ln 2 (logistic), K²/(2(K−1)) (hinge), 2K (smooth hinge): finite on any sequence. With
    "hinge" it is ``OnlineStructuredPredictor(loss="hinge", decoder="gap", optimizer="ogd")``.

    Parameters
    ----------
    loss : {"hinge", "logistic", "smooth_hinge"}, default="hinge"
        The surrogate; see `skstructured.losses.gap.GapSurrogate`. "hinge" is the most accurate
        on most data, "logistic" has probabilities.
    radius : float or None, default=None
        Radius of the Frobenius ball of W; None for no ball.
    feature_norm : float or None, default=None
        C, a bound on ``‖x‖_2`` (the intercept's 1 included); None learns it.
    decoder : "gap" or str or Decoder, default="gap"
        "gap" is p' above. With the logistic loss, "randomized" is the randomized decoding of
        `OnlineStructuredPredictor` with its own step, whose bound has no factor K; others are
        played without a bound. It enters learning, as `loss` does: a change of either, once
        fitted, has an effect at the next `fit` and none before.
    {OnlineStructuredPredictor: average, standardize, missing, fit_intercept}
    max_iter : int, default=10
        Most passes (epochs) of `fit`.
    tol : float or None, default=1e-4
        `fit` stops after a pass whose surrogate loss is not smaller than that of the best pass
        before it, by this share of it. None makes all passes.
    {OnlineStructuredPredictor: shuffle, class_weight, verbose, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decoder_ : Decoder
        A copy of the decoder fitted, which predictions and `certificate` are about.
    {OnlineStructuredPredictor: coef_, missing_coef_, intercept_, last_weights_, average_weights_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

    References
    ----------
    van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass classification",
    Algorithm 1, Theorems 1 to 3.

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
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    def _unfitted_loss(self):
        return GapSurrogate(kind=self.loss)

    def _given_decoder(self):
        return self.decoder_

    def _start(self, space, passes=1):
        # It chooses the surrogate and the step, which stay with it.
        self.decoder_ = clone(resolve_decoder(self.decoder))
        super()._start(space, passes)

    def _parts(self, space):
        surrogate = GapSurrogate(kind=self.loss).over(space)
        descent = GradientDescent(self.feature_norm, self.radius)
        if self.decoder_.exploits_gap and self.loss == "logistic":
            return FenchelYoung(space, "shannon"), descent
        return surrogate, descent


@inherit_parameters(OnlineStructuredPredictor, GaptronClassifier)
@parameters
class MulticlassPerceptron(DecodedPredictions, OnlineEstimator):
    """The multiclass Perceptron: on a mistake ``W ← W + (e_y − e_{y*}) xᵀ``.

    Parameters
    ----------
    {OnlineStructuredPredictor: average}
        A Perceptron's weights jump by whole rows for as long as there are mistakes, so the
        mean of all of them is more accurate than one of the late ones.
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

    References
    ----------
    Fink, Shalev-Shwartz, Singer, Ullman (2006), "Online multiclass learning by interclass
    hypothesis sharing"; Crammer, Singer (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MulticlassPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> MulticlassPerceptron(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    average: bool | Literal["uniform", "polynomial"] = "uniform"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    decoder, _given_decoder = "map", given_decoder

    def _unfitted_loss(self):
        return ZeroOneLoss()

    def _parts(self, space):
        return ZeroOneLoss(space), FixedStep()

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound on its mistakes, against the hinge losses ``max(1 − m, 0)`` of any U."""
        check_is_fitted(self)
        X = math.sqrt(2.0 * self._model.state.vector[LARGEST_SQ])
        return PerceptronCertificate("Van der Hoeven (2020), section 4.2", X)

    def comparison(self, rounds: Batch) -> Comparison:
        """Raise a GuaranteeError: comparators are measured by hinge losses."""
        raise no_search("MulticlassPerceptron")


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class SecondOrderPerceptron(OnlineClassifier):
    r"""The multiclass second-order Perceptron, with full information.

    `SOBAClassifier` with p' = 1 and the true label always revealed: ``g = z = (e_ȳ − e_y) ⊗ x``, ȳ
    the best class other than y, and the same rule for when to update.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization: A starts at ``alpha · I``.
    {OnlineStructuredPredictor: standardize, missing}
    fit_intercept : bool, default=True
        Append a constant feature 1.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order.
    verbose : bool or int, default=0
        Print, once a second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights.
    {OnlineStructuredPredictor: missing_coef_}
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes on the way.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    No bound is stated. The bounds of its papers have no explicit constants.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile (2005), "A second-order Perceptron algorithm"; the multiclass
    form is that of Beygelzimer, Orabona, Zhang (2017).

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
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    coef_ = LinearWeights.coef_
    intercept_ = LinearWeights.intercept_
    missing_coef_ = LinearWeights.missing_coef_

    def _setup(self, K, width):
        self._learned = SecondOrderWeights(K, width, check_positive("alpha", self.alpha))

    def _thetas(self, X):
        rows = self._scale.imputed(Rows.from_array(X))
        return linear_scores(self._weights(), rows.matrix)

    def _learn_row(self, x, code):
        theta = self._learned.W @ x
        self._learned.learn(theta, x, code)
        return np.argmax(theta) != code

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by fit or partial_fit.")
        with self.lock:
            return self._scale.fold(self._learned.W.copy())
