"""The first-order online learner over any output space."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._tags import ClassifierTags
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skstructured._driver import run_epoch
from skstructured._validation import (
    check_finite,
    check_lengths,
    check_weights,
    read_rows,
    refuse_row,
    unchanged_on_error,
)
from skstructured.decoders import resolve_decoder
from skstructured.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.losses import FenchelYoung
from skstructured.optimizers import resolve_optimizer
from skstructured.regularizers import resolve_regularizer
from skstructured.spaces import SPACES, resolve_space

__all__ = ["OnlineStructuredPredictor"]

#: Rows whose outputs are expanded to vertices at a time.
BLOCK = 4096


def _space_has(method):
    """Whether the estimator's space has `method`; for `available_if`."""

    def check(estimator):
        space = getattr(estimator, "space_", None) or resolve_space(estimator.space)
        if not hasattr(space, method):
            raise AttributeError(f"{type(space).__name__} has no {method}.")
        return True

    return check


class OnlineStructuredPredictor(BaseEstimator):
    r"""Online structured prediction with a Fenchel–Young loss and a linear model.

    In round t the learner plays ``ψ(θ_t)``, ``θ_t = W_t x_t``, sees y_t and moves by its optimiser
    along the gradient ``c (ŷ_Ω(θ_t) − y_t) x_tᵀ`` of the loss ``c S_Ω(W x_t; y_t)``. With the
    defaults its expected cumulative target loss is at most, for every U,

    .. math:: \sum_t c\,S_Ω(U x_t; y_t) + \frac{(1-a)\, b\, \|U\|_F^2}{4 (1-m) m},

    with m = min(½, a), a the surrogate gap and b = 2cC²κ²/λ: a finite surrogate regret.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex" (classes), "hypercube" (label sets), "ordinal" (ordered
        classes), "birkhoff" (permutations as positions), "permutahedron" (permutations as ranks),
        or a space.
    regularizer : str, Regularizer or None, default=None
        "shannon", "squared", "tsallis" or a regularizer. None is the space's own.
    loss_scale : "theory" or float, default="theory"
        c; "theory" makes the surrogate gap a = 1 − ln 2.
    decoder : str or Decoder, default="randomized"
        How scores become outputs: "randomized" (Algorithm 1), "map", "nearest", "sampled". It
        does not enter learning and may be changed after it.
    optimizer : str or OnlineOptimizer, default="ogd"
        How the weights move.
    fit_intercept : bool, default=True
        Append a constant feature 1, which counts in ‖x‖ and ‖U‖.
    max_iter : int, default=1
        Passes of `fit` over the data.
    shuffle : bool, default=False
        Whether `fit` visits the rows of each pass in random order.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling, and the draws of `sample`.

    Attributes
    ----------
    coef_ : ndarray of shape (dim, n_features_in_)
        W without the intercept.
    intercept_ : ndarray of shape (dim,)
        The intercept; zeros without one.
    classes_ : ndarray
        Class labels (simplex, ordinal), or the label indices 0 … d−1 (hypercube); not set for
        spaces without labels.
    space_, loss_, optimizer_ : components
        Fitted copies of the parameters.
    t_ : int
        Rounds seen: rows learned, repeated passes counted.
    n_iter_ : int
        Passes made by the last `fit`; 1 after `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    GuaranteeWarning
        Once, at the first call, where `loss_scale` leaves no surrogate gap.

    Notes
    -----
    Outputs y: labels (n,) for "simplex" and "ordinal"; 0/1 indicator matrix (n, d), dense or
    sparse, for "hypercube"; positions (n, m) from 0 for "birkhoff"; ranks (n, d), d = best, for
    "permutahedron". A sample weight w multiplies the loss of its round; a weight of zero
    equals leaving the row out, but a weight of two is not the same as seeing a row twice, as for
    every online learner.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young losses and
    improved surrogate regret for online multiclass classification with logistic loss",
    Theorems 4.2 and 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineStructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineStructuredPredictor(shuffle=True, max_iter=20, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    def __init__(
        self,
        space="simplex",
        regularizer=None,
        loss_scale="theory",
        decoder="randomized",
        optimizer="ogd",
        fit_intercept=True,
        max_iter=1,
        shuffle=False,
        random_state=None,
    ):
        self.space = space
        self.regularizer = regularizer
        self.loss_scale = loss_scale
        self.decoder = decoder
        self.optimizer = optimizer
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Learn from scratch, in `max_iter` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. float64 C-ordered arrays and float64 CSR matrices are not copied.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive integer, got {self.max_iter!r}.")
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            self._start(clone(resolve_space(self.space)).fit(y))
            packed, weight = self._check_outputs(rows, y, sample_weight)
            for _ in range(self.max_iter):
                order = self._visiting_order(rows.n_rows)
                self._learn(X, rows, packed, weight, order)
            self.n_iter_ = int(self.max_iter)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. A C-contiguous float64 array of the fitted width skips scikit-learn's checks.
        y : array-like
            Outputs of the space.
        classes : array-like or None, default=None
            All labels, needed on the first call for "simplex", and for "ordinal" without
            `categories`; later calls may repeat it.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`; also for labels not in `classes`, and for `classes` that changed.
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X, y, classes=None, sample_weight=None, record=False):
        first = not hasattr(self, "space_")
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=first)
            if not first:  # the weights move in place; on a first call they are discarded
                check_finite(self, X, rows)
            if first:
                space = clone(resolve_space(self.space)).fit_stream(y, classes)
                self._start(space)
            elif classes is not None and set(classes) != set(getattr(self, "classes_", ())):
                raise ValueError(f"classes={list(classes)!r} differ from those of the first call.")
            packed, weight = self._check_outputs(rows, y, sample_weight)
            scores = self._learn(X, rows, packed, weight, np.arange(rows.n_rows), record)
            self.n_iter_ = 1
        return scores

    def _begin(self, X, y):
        """Start a stream whose outputs are known to be those of `y`; X and y as checked."""
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            check_finite(self, X, rows)
            self._start(clone(resolve_space(self.space)).fit(y))
            packed, weight = self._check_outputs(rows, y, None)
        return X, rows, packed, weight

    def _start(self, space):
        """Set up the fitted components and zero weights."""
        regularizer = clone(resolve_regularizer(self.regularizer, space))
        resolve_decoder(self.decoder)
        self.space_ = space
        self.loss_ = FenchelYoung(space, regularizer, self.loss_scale)
        self.optimizer_ = clone(resolve_optimizer(self.optimizer))
        self._state = self.optimizer_.init(self.loss_)
        self._params, self._work = self.loss_.kernel_arguments(space.dim_)
        self._Theta = None
        if space.task is not None:
            self.classes_ = getattr(space, "classes_", np.arange(space.dim_))
        self.random_state_ = check_random_state(self.random_state)
        self.t_ = 0
        self._warn_without_guarantee()

    def _warn_without_guarantee(self):
        constants = self.loss_.constants_of()
        if constants.a <= 0:
            threshold = (1.0 - constants.a) * constants.c
            warnings.warn(
                f"loss_scale={self.loss_scale!r} leaves no surrogate gap (a = {constants.a:.4g}): "
                f"the learner works without a regret bound; c > {threshold:.4g} would give one.",
                GuaranteeWarning,
                stacklevel=5,
            )

    def _check_outputs(self, rows, y, sample_weight):
        packed = self.space_.pack(y)
        check_lengths(rows.n_rows, len(packed))
        return packed, check_weights(sample_weight, packed, rows.n_rows)

    def _visiting_order(self, n):
        return self.random_state_.permutation(n) if self.shuffle else np.arange(n)

    def _learn(self, X, rows, packed, weight, order, record=False):
        """Learn rows in `order`; returns the scores θ_t of every round where `record`."""
        self._store_for(rows)
        kernels = (self.loss_.kernel, self.optimizer_.scale_kernel, self.optimizer_.step_kernel)
        scores = np.empty((len(order) if record else 0, self.space_.dim_))
        for start in range(0, len(order), BLOCK):
            block = order[start : start + BLOCK]
            stopped = run_epoch(
                rows,
                block,
                self.space_.unpack(packed[block]),
                weight[block],
                self._Theta,
                self._state,
                self._params,
                self._work,
                scores[start : start + BLOCK],
                kernels,
            )
            if stopped >= 0:
                refuse_row(self, X, block[stopped])
        self.loss_.check_residual(self._work)
        self.t_ += len(order)
        return scores

    def _store_for(self, rows):
        """Allocate Θ, or transpose it, for the storage of these rows."""
        width = self.n_features_in_ + bool(self.fit_intercept)
        if self._Theta is None:
            dim = self.space_.dim_
            self._Theta = np.zeros((width, dim) if rows.is_sparse else (dim, width))
        elif rows.is_sparse != self._by_feature:
            self._Theta = np.ascontiguousarray(self._Theta.T)
        self._by_feature = rows.is_sparse

    def _weights(self):
        """W = s Θ of shape (dim, p [+ 1])."""
        if self._Theta is None:
            return np.zeros((self.space_.dim_, self.n_features_in_ + bool(self.fit_intercept)))
        s = self.optimizer_.scale_kernel(self._state.copy(), 0.0)
        return s * (self._Theta.T if self._by_feature else self._Theta)

    @property
    def coef_(self):
        """W without the intercept, of shape (dim, n_features_in_)."""
        if not hasattr(self, "space_"):
            raise AttributeError("coef_ is there after fit or partial_fit.")
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self):
        """Intercepts of shape (dim,); zeros where `fit_intercept` is False."""
        if not hasattr(self, "space_"):
            raise AttributeError("intercept_ is there after fit or partial_fit.")
        return self._weights()[:, -1].copy() if self.fit_intercept else np.zeros(self.space_.dim_)

    def _scores(self, X):
        """θ = Wx of every row, (n, dim)."""
        check_is_fitted(self)
        X, rows = read_rows(self, X)
        check_finite(self, X, rows)
        return self._linear(X)

    def _linear(self, X):
        """Scores of a checked X."""
        W = self._weights()
        theta = safe_sparse_dot(X, W[:, : self.n_features_in_].T, dense_output=True)
        return theta + W[:, -1] if self.fit_intercept else theta

    def decision_function(self, X):
        """Scores θ = Wx + intercept.

        Returns
        -------
        ndarray of shape (n, dim)
            Or (n,) for two classes, as scikit-learn has it: ``(S(θ; y_0) − S(θ; y_1))/c``, by how
            much the loss of ``classes_[1]`` is the smaller, which is the difference of the two
            scores for "simplex".
        """
        theta = self._scores(X)
        if self.space_.task == "multiclass" and len(self.classes_) == 2:
            vertices = self.space_.vertices()
            omega = self.loss_.regularizer.value(vertices, self.space_)
            return theta @ (vertices[1] - vertices[0]) - (omega[1] - omega[0])
        return theta

    def predict_mean(self, X):
        """Regularized predictions ŷ_Ω(θ) in conv(Y), of shape (n, dim)."""
        theta = self._scores(X)
        return self.loss_.mean(theta)

    @available_if(_space_has("mean_proba"))
    def predict_proba(self, X):
        """Probabilities that the mean prediction stands for.

        Returns
        -------
        ndarray
            Of the classes, (n, n_classes), for "simplex" and "ordinal"; of each label, (n, d), for
            "hypercube"; of every position for every item, (n, m, m), for "birkhoff".
        """
        mu = self.predict_mean(X)
        return self.space_.mean_proba(mu)

    def _play(self, X):
        """Arguments (θ, μ) of the decoder, and the decoder."""
        theta = self._scores(X)
        return resolve_decoder(self.decoder), theta, self.loss_.mean(theta)

    def predict(self, X):
        """The decoder's most likely output of every row; deterministic.

        The nearest vertex to ŷ_Ω(θ) for "randomized", "nearest" and "sampled"; the linear oracle
        for "map".
        """
        decoder, theta, mu = self._play(X)
        return self.space_.decode(decoder.most_likely(theta, mu, self.loss_))

    def sample(self, X, random_state=None):
        """Draw the decoder's output of every row: what the guarantees are about.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        random_state : int, RandomState instance or None, default=None
            None goes on with the estimator's own generator, seeded by its `random_state` at the
            first call to `fit` or `partial_fit`.

        Returns
        -------
        ndarray
            Outputs in the form of y.
        """
        decoder, theta, mu = self._play(X)
        rng = self.random_state_ if random_state is None else random_state
        return self.space_.decode(decoder.decode(theta, mu, self.loss_, rng))

    @available_if(_space_has("vertex_proba"))
    def decoding_proba(self, X):
        """Exact probabilities (n, n_classes) with which `sample` plays each class."""
        decoder, theta, mu = self._play(X)
        return self.space_.vertex_proba(decoder.expected_vertex(theta, mu, self.loss_))

    def expected_target_loss(self, X, y):
        """Exact expectation of the target loss of `sample`, per sample (n,)."""
        decoder, theta, mu = self._play(X)
        V = self.space_.encode(y)
        check_lengths(len(theta), len(V))
        return decoder.expected_loss(theta, mu, V, self.loss_)

    def certificate(self, delta=None):
        """The theorem that bounds the cumulative target loss of the rounds seen so far.

        Parameters
        ----------
        delta : float or None, default=None
            None bounds the expectation; a number in (0, 1) bounds the loss with probability
            1 − delta.

        Returns
        -------
        Certificate
            See `skstructured.metrics.Certificate`; its ``bound(ΣS(U), ‖U‖_F)`` is the number.

        Raises
        ------
        GuaranteeError
            If no theorem covers this configuration; the message says why.
        """
        check_is_fitted(self)
        decoder = resolve_decoder(self.decoder)
        if not decoder.exploits_gap:
            raise GuaranteeError(
                f"The bounds are about the randomized decoder, not {type(decoder).__name__}."
            )
        return self.optimizer_.certificate(self.loss_, self._state, delta)

    def score(self, X, y, sample_weight=None):
        """1 − mean target loss of `predict`: the accuracy, for "simplex"."""
        loss = self.space_.target_loss(self.predict(X), y)
        return 1.0 - float(np.average(loss, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        space = SPACES[self.space]() if self.space in tuple(SPACES) else self.space
        task = getattr(space, "task", None)
        multiclass = task == "multiclass"
        if task is not None:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(
                multi_class=multiclass, multi_label=not multiclass
            )
        tags.target_tags.multi_output = tags.target_tags.two_d_labels = not multiclass
        tags.target_tags.single_output = multiclass
        return tags
