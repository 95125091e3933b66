"""The online learner with kernels over any output space."""

from collections.abc import Callable
from typing import Literal

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions, over_sequences
from skstructured.estimators._auto import given_decoder, parts_of
from skstructured.estimators.kernel._features import (
    FeatureModel,
    choose_features,
    count_of,
    expect_rows,
)
from skstructured.estimators.kernel._model import KernelModel, refuse_precomputed, score_factor
from skstructured.estimators.kernel._values import Kernel, intercept_of, kernel_of
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend.decoder import Decoder
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer, Surrogate
from skstructured.losses import FenchelYoung

__all__ = ["KernelStructuredPredictor"]


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class KernelStructuredPredictor(DecodedPredictions, OnlineEstimator):
    r"""Predict structured outputs by kernels, with nothing to tune.

    The defaults are the place to start where rows are at most some ten thousands and classes are
    not told apart by a linear model: raw features in, no step size, no bandwidth, no C. Then choose
    `space` by what an output is; ``partial_fit`` for streams, whose rows are kept but for those
    without a coefficient; ``approximation="fourier"`` for more rows, and streams without end.

    It is `OnlineStructuredPredictor` with θ_t = W_t φ(x_t), where <φ(x), φ(z)> = k(x, z): weights
    are ``W = s Σ_i β_i φ(x_i)ᵀ``, and a round takes k of it and every row before it,

    .. math:: θ_t = s \sum_{i<t} β_i k(x_i, x_t), \quad β_t = u_t c(\hat y_Ω(θ_t) - y_t),

    with the scale s and the step u_t of the optimiser, for which ``‖φ(x)‖² = k(x, x)`` and scores
    are all that is to be known. What is proved of the linear learner holds, with norms of U in the
    space of the kernel. With `PiSTOL` it is the parameter-free kernel method of Orabona (2014).

    Parameters
    ----------
    {OnlineStructuredPredictor: space, regularizer, loss}
    kernel : str, callable or Kernel, default="rbf"
        k(x, z): "rbf" is ``exp(−γ‖x−z‖²)``, "laplacian" ``exp(−γ‖x−z‖₁)``, "linear" ``<x, z>``,
        "poly" ``(γ<x, z> + coef0)^degree``, "sigmoid" ``tanh(γ<x, z> + coef0)``, which is no kernel
        but used as one, "cosine" ``<x, z>/(‖x‖‖z‖)``, or 0 for a row of zeros, "arc-cosine" of
        order 1, ``‖x̃‖‖z̃‖(sin θ + (π − θ) cos θ)/π``, θ the angle of ``x̃ = (x, √coef0)`` and z̃, for
        functions with bends, as wide networks of one layer are. With "precomputed" X is the matrix
        (n, n) of kernels of training rows in `fit`, and (m, n) of new rows with them in `predict`;
        it is not standardised, and `partial_fit` refuses it. A function ``kernel(X, Z)`` of rows as
        standardised returns the matrix (n, m), as for `SVC`; a stream calls it for each row alone.
        A `Kernel` brings also `degree` and `coef0`, an intercept, a `budget` of support rows, and
        the memory for kernels between passes. For functions and "precomputed" `gamma`, `degree` and
        `coef0` are ignored, and `gamma` for "linear", "cosine" and "arc-cosine".
    gamma : float, "multiscale" or "scale", default="multiscale"
        γ. "multiscale" is for "rbf" the mean of three kernels, with γ/4, γ and 4γ, γ one over the
        median ‖x−z‖² of rows; for others it is "scale". "scale" is 1/(p v), v the variance of all
        numbers of X. `fit` takes median and variance from the rows as standardised; a stream, which
        cannot, takes 2p and 1, what they are for standardised features that are independent. With
        random features and more than 200,000 rows, `fit` also tries 2, 4, 8 and 16 times the γ
        of "multiscale" on rows held out.
    {OnlineStructuredPredictor: decoder, optimizer}
        With kernels "auto" is "parameter_free", and "mixture" and optimisers that move each feature
        by itself are refused. With random features it is as above, but in a `fit` of more than
        200,000 rows "parameter_free".
    {OnlineStructuredPredictor: average, standardize}
        With a kernel `fit` knows all rows beforehand, and so takes their mean and deviation from
        the start.
    {OnlineStructuredPredictor: missing}
    {OnlineStructuredPredictor: max_iter, shuffle, class_weight}
    approximation : {"none", "fourier", "relu", "auto"}, default="none"
        "none" is the kernel itself. The others are a linear learner over [z, φ(z)], z the row as
        standardised and φ random features with <φ(x), φ(z)> ≈ k(x, z): the cost of a row is the
        same however many there are, and none is kept. "fourier" is for "rbf" and "laplacian",
        "relu" for "arc-cosine". "auto" is the one of the kernel in a `fit` of
        more than 5,000 rows without a budget, and "none" otherwise, or where there is none.
    n_components : int or "auto", default="auto"
        Random features; of "fourier" a cosine and a sine for each frequency, odd numbers are
        rounded up. Errors over ‖φ(x)‖‖φ(z)‖ are some ``1/sqrt(n_components)``, times √2 at most
        for "fourier" and √5 for "relu". "auto" is 1200, and 4000 in
        a `fit` of more than 200,000 rows.
    {OnlineStructuredPredictor: verbose, random_state}

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_support, p)
        Rows as they were transformed (with "cosine" divided by their norms), without those whose
        coefficients are 0; float32 where the first rows were. With "precomputed" there are none.
    support_ : ndarray of shape (n_support,)
        Their numbers: places in X of `fit`, and from there on, or from 0, the order of a stream.
    dual_coef_ : ndarray of shape (dim, n_support)
        Their coefficients in what predicts: averaged with `average`, else the last; times
        `score_factor_`.
    score_factor_ : float
        At most 1: with ``max_iter="auto"`` predictions are less sure where rows held out say so.
    n_components_ : int
        With random features, how many there are: 0 where `fit` found that a line does as well.
    last_weights_, average_weights_ : ndarray of shape (dim, p + n_components_ + 1)
        With random features, the last and the averaged weights of [z, φ(z), 1].
    {OnlineStructuredPredictor: classes_, space_, loss_, optimizer_, t_, n_iter_, loss_curve_,
    n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        When used: a parameter out of its range, an optimiser that moves each feature by itself, a
        budget for more than one pass, a precomputed matrix that is not square, a `kernel` that
        `approximation` is not for, a budget, a `coef0` below 0 or CSR rows of more than 4,096
        columns with random features, and as
        `OnlineStructuredPredictor`; the fitted state is then unchanged. When a function `kernel`
        returns what is not finite, or not of the right shape: rows before it were learned.
    GuaranteeError
        By `certificate`, once rows have left for a budget.

    Notes
    -----
    Memory: support rows, and in `fit` all rows once more and the `Kernel`'s `cache_size`. Rows
    without a coefficient are dropped, 64 rows at a time: with ``regularizer="squared"``, whose
    losses can be 0, that is most of them where classes are easy to tell apart. float32 rows stay
    float32, at half the memory; coefficients and sums are float64. CSR rows are made dense.
    Kernels of streams, of one pass and of predictions are computed by differences of rows, so
    offsets lose no digits; those between passes are products of matrices if these are exact to
    1e-9. Scores are the same in chunks of any size to 1e-12 of their size.

    "fourier" is, with m frequencies ω_j drawn by `random_state` from the Fourier transform of the
    kernel (normal of variance 2γ and orthogonal to each other p at a time for "rbf", Cauchy of
    scale γ for "laplacian"; a third of them for each γ of "multiscale"),

    .. math:: φ(z) = \sqrt{3p/m}\,(\cos ω_j^T z, \sin ω_j^T z)_{j=1..m},
        \quad ‖φ(z)‖^2 = 3p,

    three times what ‖z‖² is on average. "relu" is ``√(2c/m) max(0, ω_jᵀz̃)`` with normal ω_j. Its
    ‖φ‖² grows with rows: c has it be 3p on average over rows of `fit`, and in a stream where ‖z‖²
    is p.

    They are computed by blocks, from rows as standardised on the way; CSR rows are made dense a
    block at a time. Certificates hold as they are, for U over [z, φ(z), 1].

    In a stream and in one pass, where "auto" is a mixture, as many experts learn from z alone as
    from [z, φ(z)]: where a line is right, features cost little, see `StepMixture`. With
    ``max_iter="auto"`` and at most 50,000 rows `fit` also tries the line, without φ, on the rows
    held out, and leaves φ where these are lost less to it. Widths are tried by one pass over a
    twentieth of the rows, 20,000 at most, each: γ is the one that as many other rows are lost least
    with.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free stochastic
    learning"; Sakaue, Bao, Tsuchiya, Oki (2024); Kivinen, Smola, Williamson (2004); Rahimi, Recht
    (2007), "Random features for large-scale kernel machines"; Yu, Suresh, Choromanski,
    Holtmann-Rice, Kumar (2016), "Orthogonal random features"; Cho, Saul (2009), "Kernel methods for
    deep learning".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from skstructured import KernelStructuredPredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> KernelStructuredPredictor(random_state=0).fit(X, y).score(X_new, y_new) > 0.97
    True
    """

    space: str | OutputSpace = "simplex"
    regularizer: str | Regularizer | None = None
    loss: str | FenchelYoung | Surrogate = "fenchel_young"
    kernel: str | Callable | Kernel = "rbf"
    gamma: float | str | None = "multiscale"
    decoder: str | Decoder = "randomized"
    optimizer: str | OnlineOptimizer = "auto"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    max_iter: int | Literal["auto"] = "auto"
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    approximation: Literal["none", "fourier", "relu", "auto"] = "none"
    n_components: int | Literal["auto"] = "auto"
    verbose: bool | int = 0
    random_state: Seed = None

    _check_stream, score_factor_ = refuse_precomputed, score_factor
    _given_decoder = given_decoder

    @property
    def n_components_(self):
        """Random features in use; set by `fit` or `partial_fit` with an approximation."""
        model = self._fitted_model("n_components_ is")
        if not isinstance(model, FeatureModel):
            raise AttributeError("n_components_ is for random features; here kernels are exact.")
        return model.scale.features.columns

    @property
    def coef_(self):
        """Not available: there are `dual_coef_`, or with random features `last_weights_`."""
        model = self._fitted_model("weights are")
        raise AttributeError(
            "coef_ and intercept_ are for linear models: use "
            + (model.without_kernels or "dual_coef_ and support_vectors_.")
        )

    intercept_ = coef_

    _expect = expect_rows

    def _start(self, space, passes=1):
        choose_features(self)
        super()._start(space, passes)

    def _wants_intercept(self):
        return intercept_of(self, False) or self._approximates

    def _most_passes(self):
        """The most passes that `fit` may make; with a budget, which is for one, "auto" is 1."""
        alone = isinstance(self.max_iter, str) and kernel_of(self).budget is not None
        return 1 if alone else super()._most_passes()

    def _parts(self, space):
        columns = self.n_features_in_ * (1 + (self.missing == "indicator"))
        if not self._approximates:
            return parts_of(self, space, columns, mixes=False)
        return parts_of(self, space, columns + count_of(self), mixes=not self._many_rows)

    def _new_model(self):
        return (FeatureModel if self._approximates else KernelModel)(self)

    def _read(self, X, reset=False):
        if over_sequences(self, fresh=reset):
            raise ValueError(
                "space='sequence' has no kernels: put features that stand for one before the "
                "linear learner, make_pipeline(SequenceTransformer(Nystroem()), "
                "OnlineStructuredPredictor('sequence'))."
            )
        return super()._read(X, reset)
