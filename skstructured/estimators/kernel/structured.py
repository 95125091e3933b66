"""The online learner with kernels over any output space."""

from collections.abc import Callable
from typing import Literal

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions, reader_of
from skstructured.estimators._auto import given_decoder, resolve_loss_and_optimizer
from skstructured.estimators.kernel._features import FeatureModel, count_of
from skstructured.estimators.kernel._model import KernelModel, refuse_precomputed, score_factor
from skstructured.estimators.kernel._values import Kernel, intercept_of
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend.decoder import Decoder
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer, Surrogate
from skstructured.losses import FenchelYoung


@inherit_parameters(OnlineStructuredPredictor)
@parameters
class KernelStructuredPredictor(DecodedPredictions, OnlineEstimator):
    r"""Predict structured outputs with kernels, without hyperparameters to tune.

    Start with the defaults for nonlinear problems with up to a few tens of thousands of rows. They
    work on unscaled features, and there is no step size, no bandwidth and no C to tune. Then choose

    - `space`, by the type of the outputs;
    - ``partial_fit`` for streams, whose rows are kept unless their coefficients are 0;
    - ``approximation="fourier"`` for larger data sets and for unlimited streams.

    It is `OnlineStructuredPredictor` [1]_ with θ_t = W_t φ(x_t) for a map φ with <φ(x), φ(z)> =
    k(x, z) [2]_. The weights are ``W = s Σ_i β_i φ(x_i)ᵀ``, and a round needs the kernels of its
    row with all earlier rows,

    .. math:: θ_t = s \sum_{i<t} β_i k(x_i, x_t), \quad β_t = u_t c(\hat y_Ω(θ_t) - y_t),

    with the scale s and the step u_t of the optimizer. The optimizer only needs the scores and
    ``‖φ(x)‖² = k(x, x)``. The guarantees of the linear learner apply, with norms of U in the space
    of the kernel. With `PiSTOL` it is the parameter-free kernel method of [3]_.

    Parameters
    ----------
    {OnlineStructuredPredictor: space, regularizer, loss}
    kernel : str, callable or Kernel, default="rbf"
        Kernel function k(x, z). "rbf" is ``exp(−γ‖x−z‖²)``, "laplacian" ``exp(−γ‖x−z‖₁)``, "linear"
        ``<x, z>``, "poly" ``(γ<x, z> + coef0)^degree``, and "cosine" ``<x, z>/(‖x‖‖z‖)``, or 0 for
        a row of zeros. "sigmoid" is ``tanh(γ<x, z> + coef0)``, which is not positive definite.
        "arc-cosine" (of order 1) is ``‖x̃‖‖z̃‖(sin θ + (π − θ) cos θ)/π``, with θ the angle between
        ``x̃ = (x, √coef0)`` and z̃. It suits functions with bends, like those of wide networks with
        one layer. With "precomputed", X is the matrix (n, n) of kernels of training rows in `fit`,
        and (m, n) of new rows with training rows in `predict`. It is not standardized, and
        `partial_fit` refuses it. A function ``kernel(X, Z)`` of standardized rows returns the
        matrix (n, m), as for `SVC`; a stream calls it once per row. A `Kernel` also sets `degree`
        and `coef0`, an intercept, and the memory for kernels between passes. For functions and
        "precomputed", `gamma`, `degree` and `coef0` are ignored; for "linear", "cosine" and
        "arc-cosine", `gamma` is.
    gamma : float, "multiscale" or "scale", default="multiscale"
        Kernel coefficient γ. For "rbf", "multiscale" is the mean of three kernels, with γ/4, γ and
        4γ, and γ is one over the median of ‖x−z‖² over pairs of rows. For other kernels it is
        "scale". "scale" is 1/(p v), with v the variance of all entries of X. `fit` computes the
        median and the variance from standardized rows. A stream uses 2p and 1 instead, their values
        for independent standardized features.
    {OnlineStructuredPredictor: decoder, optimizer}
        With kernels, "auto" is "parameter_free"; "mixture" and optimizers with per-feature step
        sizes are refused. With random features it is chosen by the rule above.
    {OnlineStructuredPredictor: average, standardize}
        With a kernel, `fit` uses the mean and standard deviation of all rows from the start.
    {OnlineStructuredPredictor: missing}
    {OnlineStructuredPredictor: max_iter, shuffle, class_weight}
    approximation : {"none", "fourier"}, default="none"
        Whether random features approximate the kernel. "none" uses the kernel itself. "fourier" is
        a linear learner over [z, φ(z)], with z the standardized row and φ random Fourier features
        with <φ(x), φ(z)> ≈ k(x, z). The cost per row is then constant, and no rows are kept. It
        requires the kernel "rbf".
    n_components : int or "auto", default="auto"
        Number of random features, a cosine and a sine per frequency, so odd numbers are rounded up.
        Relative to ‖φ(x)‖‖φ(z)‖, errors are about ``1/sqrt(n_components)``, times at most √2.
        "auto" is 1200.
    {OnlineStructuredPredictor: verbose, random_state}

    Attributes
    ----------
    {OnlineStructuredPredictor: feature_ranges_}
    support_vectors_ : ndarray of shape (n_support, p)
        Transformed rows with nonzero coefficients (with "cosine" divided by their norms); float32
        if the first rows were. Not set with "precomputed".
    support_ : ndarray of shape (n_support,)
        Indices of the support rows: in X of `fit`, and after it, or from 0, in the order of the
        stream.
    dual_coef_ : ndarray of shape (dim, n_support)
        Coefficients of the support rows in predictions: averaged with `average`, else the last;
        times `score_factor_`.
    score_factor_ : float
        Factor of all scores, at most 1. With ``max_iter="auto"`` it is below 1 if predictions on
        held-out rows are overconfident.
    n_components_ : int
        Number of random features, with an approximation.
    last_weights_, average_weights_ : ndarray of shape (dim, p + n_components_ + 1)
        The last and the averaged weights of [z, φ(z), 1], with random features.
    {OnlineStructuredPredictor: classes_, space_, loss_, optimizer_, t_, n_iter_, loss_curve_,
    n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, an optimizer with per-feature step sizes, a
        precomputed matrix that is not square, or a `kernel` that `approximation` does not support.
        With random features also for CSR rows with more than 4,096 columns. Otherwise as
        `OnlineStructuredPredictor`. The fitted state is then unchanged. Also if a function `kernel`
        returns values that are not finite or have the wrong shape; rows before it were learned.

    See Also
    --------
    StructuredPredictor : A mixture of three kernels and a linear model, the estimator to try first.
    OnlineStructuredPredictor : The linear learner, for sparse data and millions of rows.
    Kernel : Degree, intercept and cache of a kernel.
    PiSTOLClassifier : A kernel classifier with one function per class, an alternative to `SVC`.

    Notes
    -----
    Memory: support rows, and in `fit` one copy of all rows and the `cache_size` of `Kernel`. Rows
    without a coefficient are dropped, 64 rows at a time. With ``regularizer="squared"``, whose
    losses can be 0, these are most rows if the classes are easy to separate. float32 rows are kept
    in float32, with half the memory; coefficients and sums are float64. CSR rows are converted to
    dense ones. For streams, single passes and predictions, kernels are computed from differences of
    rows, so offsets do not reduce the precision. Between passes they are matrix products if these
    are exact to 1e-9. Scores do not depend on the size of chunks, up to 1e-12 of their size.

    "fourier" [4]_ uses m frequencies ω_j, drawn by `random_state` from the Fourier transform of the
    kernel. They are normal with variance 2γ, and orthogonal to each other in groups of p [5]_.
    "multiscale" has a third of them for each γ.

    .. math:: φ(z) = \sqrt{3p/m}\,(\cos ω_j^T z, \sin ω_j^T z)_{j=1..m},
        \quad ‖φ(z)‖^2 = 3p,

    which is three times the average of ‖z‖². Features are computed for one block of rows at a time,
    and CSR rows are converted to dense ones per block. Certificates apply, for U over [z, φ(z), 1].

    In a stream and in a single pass, "auto" is a mixture, in which as many experts learn from z
    alone as from [z, φ(z)]. So if a linear model is right, the features cost little accuracy, see
    `StepMixture`.

    "arc-cosine" is the kernel of order 1 of [6]_.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024). Online structured prediction with Fenchel–Young losses
       and improved surrogate regret for online multiclass classification with logistic loss. COLT.

    .. [2] Kivinen, Smola, Williamson (2004). Online learning with kernels. IEEE Transactions on
       Signal Processing.

    .. [3] Orabona (2014). Simultaneous model selection and optimization through parameter-free
       stochastic learning. NeurIPS.

    .. [4] Rahimi, Recht (2007). Random features for large-scale kernel machines. NeurIPS.

    .. [5] Yu, Suresh, Choromanski, Holtmann-Rice, Kumar (2016). Orthogonal random features.
       NeurIPS.

    .. [6] Cho, Saul (2009). Kernel methods for deep learning. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from skstructured import KernelStructuredPredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = KernelStructuredPredictor(random_state=0).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.97
    True
    """

    space: str | OutputSpace = "multiclass"
    regularizer: str | Regularizer | None = None
    loss: str | FenchelYoung | Surrogate = "fenchel_young"
    kernel: str | Callable | Kernel = "rbf"
    gamma: float | str | None = "multiscale"
    decoder: str | Decoder = "randomized"
    optimizer: str | OnlineOptimizer = "auto"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    max_iter: int | Literal["auto"] = "auto"
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    approximation: Literal["none", "fourier"] = "none"
    n_components: int | Literal["auto"] = "auto"
    verbose: bool | int = 0
    random_state: Seed = None

    _check_stream, score_factor_ = refuse_precomputed, score_factor
    _given_decoder, _learns_singles = given_decoder, True

    @property
    def n_components_(self):
        """Random features in use; set by `fit` or `partial_fit` with an approximation."""
        model = self._fitted_model("n_components_ is")
        if not isinstance(model, FeatureModel):
            raise AttributeError(
                "n_components_ is only available with random features; here kernels are exact."
            )
        return model.scale.features.columns

    @property
    def coef_(self):
        """Not available: there are `dual_coef_`, or with random features `last_weights_`."""
        model = self._fitted_model("weights are")
        raise AttributeError(
            "coef_ and intercept_ are only available for linear models: use "
            + (model.without_kernels or "dual_coef_ and support_vectors_.")
        )

    intercept_ = coef_

    def _wants_intercept(self):
        return intercept_of(self, False) or count_of(self) > 0

    def _parts(self, space):
        columns, count = self.n_features_in_ * (1 + (self.missing == "indicator")), count_of(self)
        mixes = count > 0 and not self._many_passes
        return resolve_loss_and_optimizer(self, space, columns + count, mixes)

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return (FeatureModel if count_of(self) > 0 else KernelModel)(self)

    def _read(self, X, reset=False):
        reader_of(self, reset).require_rows(
            "Kernels are not supported for space='sequence'. Approximate one with "
            "make_pipeline(SequenceTransformer(Nystroem()), OnlineStructuredPredictor('sequence'))."
        )
        return super()._read(X, reset)
