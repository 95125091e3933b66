"""Conditional random fields: log-linear models of structured outputs, learned in batch."""

import copy
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_positive, check_real, is_precomputed
from skstructured._chains import marginals, score
from skstructured._learners.predictions import DecodedPredictions
from skstructured.decoders import MinimumRisk, Nearest, resolve_decoder
from skstructured.estimators._batch import BatchPredictor, check_memory, spread
from skstructured.estimators.crf import _objective
from skstructured.extend.decoder import Decoder
from skstructured.extend.output_space import OutputSpace
from skstructured.losses import FenchelYoung
from skstructured.regularizers import resolve_regularizer
from skstructured.sequences import _decoding as of_sequences
from skstructured.sequences._decoding import fenchel_young_over, rule_of

#: α n that are tried, the largest first: 1 is C=1 of LogisticRegression.
ALPHA_STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def best_alpha(path):
    """The largest α of a path (m, 2) whose loss is within 0.3% of the lowest one."""
    alphas, losses = path.T
    least = losses.min()
    return float(alphas[losses <= least + 0.003 * abs(least)][0])


def factor_of(K, tol=1e-12):
    """F (n, r) and rows (r,), with ``K = F Fᵀ`` up to rounding and triangular ``F[rows]``.

    Cholesky's factor with pivots; K (n, n) is used up. Rows that the others span are not in `rows`:
    at most a share `tol` of their squares, in units of the largest, is outside of the span.
    """
    L, pivots, rank, _ = dpstrf(K.T, tol=tol * K.diagonal().max(), lower=1, overwrite_a=1)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(L[:, :rank])
    return F, pivots[:rank] - 1


@parameters
class ConditionalRandomField(DecodedPredictions, BatchPredictor):
    r"""Predict label sequences, or outputs of other spaces, with a batch log-linear model.

    Start with the defaults: they work on unscaled features, and there are no hyperparameters to
    tune. The model [1]_ minimizes

    .. math:: \frac{1}{n} \sum_i -\ln p_W(y_i | x_i) + α \left(r \|W\|_1
              + \frac{1 - r}{2} \|W\|^2\right), \qquad
              p_W(y | x) \propto \exp\,\langle W Φ(x), y\rangle,

    with r the `l1_ratio`, by default 0.

    For label sequences the score is ``Σ_m (coef_ x_m + intercept_)[y_m] + start_[y_1] + Σ_m
    transitions_[y_m, y_{m+1}] + end_[y_M]``, and W contains all of these weights. **All are
    regularized**, including the intercept, which is a feature 1. The units are those of the
    features that are learned from: of X, or of standardized features. For other spaces the loss is
    the Fenchel–Young loss [2]_ of the space's regularizer. It is ``−ln p`` on "simplex",
    "hypercube" and "ordinal", entropic assignment on "birkhoff", and squared norms on
    "permutahedron" and on spaces with an oracle only.

    Rows are learned by as many threads as joblib is configured for, by default one: use
    ``with joblib.parallel_config(n_jobs=4)``. The result does not depend on their number. Threads
    help from about 10,000 rows on. Iterations are logged by the logger "skstructured" at the level
    INFO.

    Parameters
    ----------
    space : str or OutputSpace, default="sequence"
        Type of the outputs: "sequence", "simplex", "hypercube", "ordinal", "birkhoff", or an
        `OutputSpace`.
    alpha : float or "auto", default="auto"
        Regularization strength α. Must be positive. The c2 of CRFsuite on n sequences is
        ``α = 2 c2/n``, the C of LogisticRegression ``α = 1/(nC)``. "auto" tries 100/n, 30/n, 10/n,
        …, each in 20 iterations from the weights of the one before, until the held-out loss exceeds
        the lowest one. It uses the largest α within 0.3% of the lowest loss. At most 100 rows or
        sequences are each held out once; of more, a fifth is.
    l1_ratio : float, default=0.0
        Share r of the L1 part of the elastic net, in [0, 1): the penalty of weights W is
        ``α (r Σ|W| + (1 − r) ‖W‖²/2)`` [3]_. A positive share makes weights of rare features 0.
    decoder : str or Decoder, default="auto"
        How scores become outputs. "auto" is "min_risk" if costs are given, else "nearest".
        "nearest" predicts the output nearest to the mean, "map" the most likely output as a whole.
        "min_risk" minimizes the expected cost, for sequences at each position. "randomized" and
        "sampled" draw, see `sample`.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Cost matrix [true, predicted] of labels, in the order of `classes_`: not negative, and 0 on
        the diagonal. Predictions and `score` use it; the weights do not. It is the same as
        ``space=LabelSequence(cost_matrix)``, for "sequence", "simplex" and "ordinal".
        None is 1 for all mistakes, |i − j| for "ordinal".
    standardize : bool, "auto" or "moments", default="auto"
        Whether to center features and divide them by their standard deviation; CSR features are
        divided by their largest entry and never centered. Before, cells beyond five robust
        deviations from the median, or beyond the training rows, count as this edge; with "moments"
        they are unchanged. "auto" is True, and does not change indicators, whose entries are 0
        and 1. `coef_` and `intercept_` are always in units of X, for cells between the edges.
    missing : {"mean", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), with `standardize`. "mean" imputes the
        weighted mean of the feature over the rows of `fit` (0 if it is missing in all of them), in
        `fit` and in predictions. "error" raises an error.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1. Without an intercept, features are not centered.
    max_iter : int, default=1000
        Maximum number of L-BFGS iterations.
    tol : float, default=1e-3
        Tolerance of the stopping rule: the duality gap, in units of the objective.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last fit, which must have the same labels.
    kernel : str or callable, default="linear"
        Kernel of rows, as in scikit-learn's ``pairwise_kernels``, plus 1 for the intercept. Kernels
        other than "linear" are not supported for "sequence". They factor the kernel matrix, which
        takes at most n³/3 operations and up to 4 GiB.
    gamma : float, "scale" or None, default=None
        Kernel coefficient. None is "scale", ``1/(p Var X)`` of standardized rows.
    random_state : int, RandomState instance or None, default=None
        Seeds the choice of held-out rows for alpha="auto", and the draws of `sample`.

    Attributes
    ----------
    feature_ranges_ : FeatureRanges
        With `standardize`: `center`, `scale` and the edges `low` and `high` of features, each of
        shape (n_features_in_,), and which are `heavy`, which become normal quantiles.
    coef_ : ndarray of shape (dim, n_features_in_)
        Weights of the features, for the linear kernel; dim is the number of labels for sequences.
    intercept_ : ndarray of shape (dim,)
        Intercepts; zeros without one.
    dual_coef_, support_ : ndarray of shape (n, k) and (m,)
        Coefficients of the rows of `fit`, and indices of those that are not 0, for other kernels.
    transitions_ : ndarray of shape (k, k)
        Scores of label j after label i, for sequences only.
    start_, end_ : ndarray of shape (k,)
        Scores of labels at the first and the last position, for sequences only.
    alpha_ : float
        The α in use.
    alpha_path_ : ndarray of shape (m, 2)
        Values of α that were tried, and their mean held-out losses, for alpha="auto".
    classes_ : ndarray
        Class labels, if the space has labels.
    space_, loss_ : components
        The fitted space and loss.
    n_iter_ : int
        Number of iterations.
    loss_curve_ : ndarray of shape (n_iter_,)
        Objective after each iteration.
    duality_gap_ : float
        Upper bound on the distance of the objective from its minimum: the gap between W and the
        marginals at W, which is ``‖∇‖²/(2α)`` for ``l1_ratio=0``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X has string names.

    Warns
    -----
    ConvergenceWarning
        If the gap is above `tol` at the end.

    See Also
    --------
    OnlineStructuredPredictor : The online learner for the same outputs and larger data sets.
    MaxMinMarginNetwork : A consistent max-margin method for the same outputs.
    skstructured.sequences.SequenceTransformer : Transformers of rows, applied to sequences.
    skstructured.spaces.LabelSequence : The space of label sequences, with costs.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira (2001). Conditional random fields: probabilistic models for
       segmenting and labeling sequence data. ICML.

    .. [2] Blondel, Martins, Niculae (2020). Learning with Fenchel–Young losses. JMLR.

    .. [3] Zou, Hastie (2005). Regularization and variable selection via the elastic net. JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import ConditionalRandomField
    >>> X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 1]]]
    >>> y = [["a", "b", "c"], ["c", "b"]]
    >>> model = ConditionalRandomField(alpha=0.01).fit(X, y)
    >>> [labels.tolist() for labels in model.predict(X)]
    [['a', 'b', 'c'], ['c', 'b']]
    """

    space: str | OutputSpace = "sequence"
    alpha: float | Literal["auto"] = "auto"
    l1_ratio: float = 0.0
    decoder: str | Decoder = "auto"
    cost_matrix: ArrayLike | None = None
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    warm_start: bool = False
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    random_state: Seed = None

    predict_marginals, predict_nbest = of_sequences.predict_marginals, of_sequences.predict_nbest
    log_proba, log_partition = of_sequences.log_proba, of_sequences.log_partition

    _rules = ("auto",)

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("tol", self.tol)
        allowed = "lie in [0, 1), because the duality gap needs a part of the ℓ2 penalty"
        check_real("l1_ratio", self.l1_ratio, lambda r: 0.0 <= r < 1.0, allowed)
        self._check_run()
        if is_precomputed(self.kernel):
            raise ValueError(
                "kernel must be a name or a callable for ConditionalRandomField, got 'precomputed'."
            )
        if self.l1_ratio > 0.0 and not self._is_linear():
            raise ValueError(f"kernel={self.kernel!r} needs l1_ratio=0, got {self.l1_ratio}.")
        if self.warm_start and not self._is_linear():
            raise ValueError(
                f"warm_start=True is only supported for kernel='linear'; got {self.kernel!r}."
            )

    def _unfitted_loss(self):
        return FenchelYoung(scale=1.0)

    def _given_decoder(self):
        if not (isinstance(self.decoder, str) and self.decoder == "auto"):
            return resolve_decoder(self.decoder)
        costs = self.cost_matrix, getattr(self.space, "cost_matrix", None)
        return Nearest() if all(cost_matrix is None for cost_matrix in costs) else MinimumRisk()

    def _fitted_space(self, y):
        """The fitted space, with the costs, and the loss."""
        space = self._unfitted_space()
        self._check_costs(space)
        if self.cost_matrix is not None:
            space.set_params(cost_matrix=self.cost_matrix)
        regularizer = resolve_regularizer(None, space.fit(y))
        self.loss_ = fenchel_young_over(space, regularizer, 1.0)
        self.loss_.constants_of()  # refuses a pair without an oracle
        if space.reader.has_sequences:
            rule_of(self._given_decoder())  # refuses decoders that sequences do not know
        self.random_state_ = check_random_state(self.random_state)
        return space

    def _learn(self, batch, share, initial_state):
        if not self._is_linear():
            message = f"kernel={self.kernel!r} is not supported for space='sequence'."
            self.space_.reader.require_rows(message)
            n = len(share)
            check_memory(f"matrix of kernels of {n} rows", n * n)
        n_counted = np.count_nonzero(share)
        if not isinstance(self.alpha, str):
            self.alpha_ = float(self.alpha)
        elif n_counted < 10:
            self.alpha_ = 1.0 / n_counted
        else:
            self.alpha_path_, best_weights = self._search_alpha(batch, share)
            self.alpha_ = best_alpha(self.alpha_path_)
            initial_state = best_weights if initial_state is None else initial_state
        self._solve(batch, share, initial_state)

    def _search_alpha(self, batch, share, n_folds=5):
        """Values of α and their held-out losses (m, 2), and weights of the best α.

        All folds of up to 100 rounds are held out, and one of more.
        """
        counted = np.flatnonzero(share > 0.0)
        order = copy.deepcopy(self.random_state_).permutation(counted)
        n_held_out = n_folds if len(counted) <= 100 else 1
        folds = [np.sort(order[i::n_folds]) for i in range(n_held_out)]
        train = [np.setdiff1d(counted, fold) for fold in folds]
        fits = [
            self._held_out_losses(batch, share, *split) for split in zip(folds, train, strict=True)
        ]
        weight, path, starts = share[np.concatenate(folds)], [], {}
        for alpha in np.array(ALPHA_STRENGTHS) / len(counted):
            losses, weights = zip(*(losses_at(alpha) for losses_at in fits), strict=True)
            path.append((alpha, np.average(np.concatenate(losses), weights=weight)))
            starts[alpha] = weights[0]
            if len(path) > 1 + int(np.argmin(path, axis=0)[1]):
                break
        path = np.array(path)
        return path, starts[best_alpha(path)]

    def _held_out_losses(self, batch, share, held_out, learned):
        """The losses of held-out rounds, and the weights, as a function of α.

        Each fit starts from the last one, and takes 20 iterations.
        """
        twin = copy.copy(self)
        twin.warm_start, twin.random_state_ = self._is_linear(), copy.deepcopy(self.random_state_)
        twin.max_iter = min(self.max_iter, 20) if twin.warm_start else self.max_iter
        share = share[learned] / share[learned].sum()
        batch, held = batch.take(learned), batch.take(held_out)

        def losses(alpha):
            twin.alpha_ = alpha
            twin._solve(batch, share, twin._initial_state(self.space_))
            return self._losses_of(twin._thetas(held), held), twin._initial_state(self.space_)

        return losses

    def _losses_of(self, theta, rounds):
        """Losses (n,) of the scores of rounds."""
        if rounds.offsets is None:
            return self.loss_.value(theta, self.space_.unpack(rounds.packed))
        log_z = marginals(*theta.arrays)[1]  # as the objective does, whose kernels are compiled
        return self.loss_.constants_of().c * (log_z - score(*theta.arrays, rounds.packed.values))

    def _solve(self, batch, share, initial_state):
        """Learn with `alpha_`, and keep the weights in units of X, or the coefficients of rows."""
        X = batch.rows.matrix
        weight = spread(share, batch.offsets)
        self._scaling = self._scale_for(X, weight, self.fit_intercept)
        Z = self._scaling.transform(X)
        if not self._is_linear():
            self._solve_kernels(Z, batch.packed, share)
            return
        is_chain = self.space_.reader.has_sequences
        layout = _objective.Layout(X.shape[1], self.space_.dim_, self.fit_intercept, is_chain)
        first = self._first_weights(initial_state, layout)
        if sparse.issparse(Z):
            Theta = self._minimum_of_columns(Z, weight, batch.packed, share, layout, first)
        else:
            Theta = self._minimum(Z, batch.packed, share, layout, first)
        self._keep(Theta, layout)

    def _solve_kernels(self, Z, packed, share):
        """Learn by a factor of the kernels; keep the coefficients and the rows that have some."""
        self._kernel = self._kernel_for(Z, share)
        counted = np.flatnonzero(share > 0.0)
        F, basis = factor_of(self._kernel(Z[counted], Z[counted]))
        layout = _objective.Layout(F.shape[1], self.space_.dim_, False, False)
        Theta = self._minimum(F, packed[counted], share[counted], layout, np.zeros(layout.shape))
        self.dual_coef_, self.support_ = np.zeros((len(share), layout.dim)), np.sort(counted[basis])
        self.dual_coef_[counted[basis]] = solve_triangular(F[basis], Theta, lower=True, trans=1)
        self._kept = Z[self.support_]

    def _minimum_of_columns(self, Z, weight, packed, share, layout, first):
        """Weights near the optimum of sparse rows, whose columns are merged."""
        columns = _objective.MergedColumns(Z, weight, self.alpha_ * (1.0 - self.l1_ratio))
        other_weights, kind = first[layout.width :], (layout.dim, layout.intercept, layout.chains)
        first = np.concatenate([columns.join(first[: layout.width]), other_weights])
        layout = _objective.Layout(columns.matrix.shape[1], *kind)
        ones = np.ones((len(other_weights), 1))
        strengths = np.concatenate([columns.l2, ones]), np.concatenate([columns.l1, ones])
        Theta = self._minimum(columns.matrix, packed, share, layout, first, *strengths)
        return np.concatenate([columns.split(Theta[: layout.width]), Theta[layout.width :]])

    def _minimum(self, Z, packed, share, layout, first, l2=1.0, l1=1.0):
        """Weights near the optimum, with l2 and l1 times the penalties; sets the iterations."""
        l1 = self.alpha_ * self.l1_ratio * l1 if self.l1_ratio > 0.0 else None
        arguments = share, self.alpha_ * (1.0 - self.l1_ratio) * l2, layout, l1
        if layout.chains:
            objective = _objective.ChainObjective(Z, packed, *arguments)
        else:
            objective = _objective.VectorObjective(Z, self.loss_, packed, *arguments)
        Theta, curve = _objective.minimized(objective, first, self.max_iter, self.tol)
        self._check_weights(curve[-1, 0], Theta)
        self.loss_curve_, self.n_iter_ = curve[:, 0].copy(), len(curve)
        self.duality_gap_ = float(curve[-1, 1])
        return Theta

    def _initial_state(self, space):
        """The weights that a warm start begins with, in units of X, and their labels; or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        edges = (self.start_, self.end_, self.transitions_) if hasattr(self, "start_") else ()
        return self.coef_, self.intercept_, edges, getattr(self, "classes_", None)

    def _first_weights(self, initial_state, layout):
        """Zeros, or those before if they fit; a ValueError if they do not."""
        if initial_state is None:
            return np.zeros(layout.shape)
        coef, intercept, edges, classes = initial_state
        same = np.array_equal(classes, getattr(self, "classes_", None))
        if not same or coef.shape != (layout.dim, layout.width) or bool(edges) != layout.chains:
            raise ValueError(
                "warm_start=True requires the same features and labels as the last fit, which had "
                f"{coef.shape[1]} features and the labels {classes!r:0.80}."
            )
        return layout.join(*self._scaling.unfold(coef, intercept), edges)

    def _keep(self, Theta, layout):
        """Set the weights, in units of X."""
        coef, offset = self._scaling.fold(Theta[: layout.width].T, layout.offset(Theta))
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), np.array(offset)
        if layout.chains:
            self.start_, self.end_, self.transitions_ = map(np.array, layout.edges(Theta))

    def _thetas(self, batch):
        """Scores; a ValueError for older models with other transitions."""
        if hasattr(self, "transition_coef_"):
            raise ValueError(
                'This model was fitted with transitions="features", which is not supported any '
                "more: fit it again."
            )
        return super()._thetas(batch)
