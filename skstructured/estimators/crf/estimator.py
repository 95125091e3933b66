"""Conditional random fields: log-linear models of structured outputs, learned in batch."""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_bool, check_choice, check_positive, check_real
from skstructured._learners.predictions import DecodedPredictions, over_sequences
from skstructured._learners.weights import linear_scores
from skstructured.decoders import MinimumRisk, Nearest, resolve_decoder
from skstructured.estimators._batch import BatchPredictor, check_memory, check_run, spread
from skstructured.estimators.crf._fitting import factor_of, minimized, tried_alphas
from skstructured.estimators.crf._objective import (
    TRANSITIONS,
    ChainObjective,
    EdgeObjective,
    ElasticNet,
    Layout,
    VectorObjective,
)
from skstructured.estimators.kernel._values import is_precomputed
from skstructured.extend.decoder import Decoder
from skstructured.extend.output_space import OutputSpace
from skstructured.losses import FenchelYoung
from skstructured.regularizers import Shannon, resolve_regularizer
from skstructured.sequences._decoding import SequenceLoss, rule_of
from skstructured.sequences._predictions import SequencePredictions
from skstructured.spaces import SPACES, LabelSequence, resolve_space

__all__ = ["ConditionalRandomField"]


@parameters
class ConditionalRandomField(SequencePredictions, DecodedPredictions, BatchPredictor):
    r"""Predict label sequences, or outputs of other spaces, by a log-linear model learned in batch.

    The defaults are the place to start: features as they are, nothing to tune. It minimises

    .. math:: \frac{1}{n} \sum_i -\ln p_W(y_i | x_i) + \frac{α}{2} \|W\|^2, \qquad
              p_W(y | x) \propto \exp\,\langle W Φ(x), y\rangle.

    For label sequences the score is ``Σ_m (coef_ x_m + intercept_)[y_m] + start_[y_1] +
    Σ_m transitions_[y_m, y_{m+1}] + end_[y_M]``, and W is all of these weights. **All are
    regularised**, the intercept too, which is a feature 1 (spec of Nowak-Vila et al. 2020), in
    units of the features that are learned from: those of X, or standardised ones. For other spaces
    the loss is the Fenchel–Young loss of the space's regularizer: ``−ln p`` on "simplex",
    "hypercube" and "ordinal", entropic assignment on "birkhoff", squared norms on "permutahedron"
    and spaces that are known by an oracle.

    Rows are learned by as many threads as joblib is told of, by one otherwise: in ``with
    joblib.parallel_config(n_jobs=4)``. Any number gives the same bits, and it pays from some ten
    thousand rows on. Iterations are logged by the logger "skstructured" at the level INFO.

    Parameters
    ----------
    space : str or OutputSpace, default="sequence"
        What an output is: "sequence", "simplex", "hypercube", "ordinal", "birkhoff", or a space.
    transitions : {"bigram", "features", "none"}, default="bigram"
        What the score of a label after another goes by, for sequences: by the two labels; by the
        features of the second one's row too, ``transitions_[i, j] + <transition_coef_[i, j], x>``,
        p k² weights more, whose marginals are found in some ten times the time; or by nothing,
        which leaves labels that do not see each other.
    alpha : float or "auto", default="auto"
        α > 0. The c2 of CRFsuite over n sequences is ``α = 2 c2/n``, the C of LogisticRegression
        ``α = 1/(nC)``. "auto" tries 100/n, 30/n, 10/n, …, each in 25 iterations from the weights of
        the one before, until one loses more than the best on rows, or sequences, held out: of at
        most 100 each once, of more the fifth part. It takes the largest within 0.3 % of the least.
    l1_ratio : float, default=0.0
        Share r of the elastic net's L1 part, in [0, 1): the penalty of weights W is
        ``α (r Σ|W| + (1 − r) ‖W‖²/2)``. A positive share makes weights of rare features exactly 0.
    decoder : str or Decoder, default="auto"
        How scores become outputs. "auto" is "min_risk" if costs are given, else "nearest".
        "nearest": the output nearest to the mean. "map": the most likely output as a whole.
        "min_risk": the output of the least expected cost, for sequences position by position.
        "randomized" and "sampled" draw, see `sample`.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [true, predicted] of labels, in the order of `classes_`: not negative, 0 on the
        diagonal. Predictions and `score` use it; the weights do not.
        The same as ``space=LabelSequence(cost_matrix)``, for "sequence", "simplex" and "ordinal".
        None is 1 for all mistakes, |i − j| for "ordinal".
    standardize : bool or "auto", default="auto"
        Whether features are centred and divided by their deviation before they are learned; CSR
        ones are divided by their largest entry and never centred. "auto" leaves indicators, whose
        entries are 0 and 1, as they are. `coef_` and `intercept_` are in units of X always.
    missing : {"mean", "error"}, default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows of `fit` that have the
        feature, by their weights (0 where none has it), or an error. `fit` and predictions are
        those of the rows completed so.
    fit_intercept : bool, default=True
        Whether there is a feature 1. Without it, nothing is centred.
    max_iter : int, default=1000
        Most iterations of L-BFGS.
    tol : float, default=1e-3
        The duality gap, in units of the objective, to stop at.
    warm_start : bool, default=False
        Whether `fit` begins with the weights of the last one, which must have the same labels.
    kernel : str or callable, default="linear"
        Of rows, as in scikit-learn's ``pairwise_kernels``, a 1 added for the intercept. Others than
        "linear" are for spaces other than "sequence". They factor the matrix of kernels, which
        takes n³/3 operations at most, and may take 4 GiB.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    random_state : int, RandomState instance or None, default=None
        Seeds what is held out for alpha="auto", and the draws of `sample`.

    Attributes
    ----------
    coef_ : ndarray of shape (dim, n_features_in_)
        Weights of features, for the linear kernel; dim is the number of labels for sequences.
    intercept_ : ndarray of shape (dim,)
        Zeros without one.
    dual_coef_, support_ : ndarray of shape (n, k) and (m,)
        Coefficients of the rows of `fit`, and which are not 0, for other kernels.
    transitions_ : ndarray of shape (k, k)
        Scores of label j after label i, for sequences alone; zeros for transitions="none".
    transition_coef_ : ndarray of shape (k, k, n_features_in_)
        For transitions="features": what the features of a row add to the scores of label j there
        after label i at the row before.
    start_, end_ : ndarray of shape (k,)
        Scores of labels at the first and the last position, for sequences alone.
    alpha_ : float
        α in use.
    alpha_path_ : ndarray of shape (m, 2)
        For alpha="auto": α that were tried, and mean losses of what was held out.
    classes_ : ndarray
        Labels, where the space has some.
    space_, loss_ : components
        Fitted.
    n_iter_ : int
        Iterations.
    loss_curve_ : ndarray of shape (n_iter_,)
        The objective after each.
    duality_gap_ : float
        The objective is at most so far from its minimum: the gap between W and the marginals at W,
        which is ``‖∇‖²/(2α)`` for ``l1_ratio=0``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the gap is above `tol` at the end.

    References
    ----------
    Lafferty, McCallum, Pereira (2001), "Conditional random fields"; Blondel, Martins, Niculae
    (2020), "Learning with Fenchel–Young losses"; Zou, Hastie (2005), "Regularization and variable
    selection via the elastic net".

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
    transitions: Literal["bigram", "features", "none"] = "bigram"
    alpha: float | Literal["auto"] = "auto"
    l1_ratio: float = 0.0
    decoder: str | Decoder = "auto"
    cost_matrix: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    warm_start: bool = False
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    random_state: Seed = None

    _rules = ("auto",)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("transitions", self.transitions, TRANSITIONS)
        check_positive("tol", self.tol)
        check_real("l1_ratio", self.l1_ratio, lambda r: 0.0 <= r < 1.0, "lie in [0, 1)")
        check_run(self)
        if self.standardize != "auto":
            check_bool("standardize", self.standardize)
        if is_precomputed(self.kernel):
            raise ValueError(
                "ConditionalRandomField takes a kernel by name or a callable, got "
                "kernel='precomputed'."
            )
        if self.l1_ratio > 0.0 and not self._is_linear():
            raise ValueError(f"kernel={self.kernel!r} needs l1_ratio=0, got {self.l1_ratio}.")
        if self.warm_start and not self._is_linear():
            raise ValueError(f"kernel={self.kernel!r} needs warm_start=False, got True.")

    def _unfitted_space(self):
        return clone(resolve_space(self.space))

    def _unfitted_loss(self):
        return FenchelYoung(scale=1.0)

    def _decoder(self):
        if not (isinstance(self.decoder, str) and self.decoder == "auto"):
            return resolve_decoder(self.decoder)
        costs = self.cost_matrix, getattr(self.space, "cost_matrix", None)
        return Nearest() if all(given is None for given in costs) else MinimumRisk()

    def _task(self):
        named = isinstance(self.space, str)
        return getattr(SPACES.get(self.space) if named else self.space, "task", None)

    def _fitted_space(self, y):
        """The fitted space, with the costs; the loss and the decoder have to fit to it."""
        space = self._unfitted_space()
        if self.cost_matrix is not None:
            if "cost_matrix" not in space.get_params():
                raise ValueError(
                    'cost_matrix is for "sequence", "simplex" and "ordinal", got the space '
                    f"{type(space).__name__}, which has its own loss."
                )
            if space.cost_matrix is not None:
                raise ValueError(
                    f"cost_matrix was given twice: it is a parameter of {space!r} too."
                )
            space.set_params(cost_matrix=self.cost_matrix)
        self.loss_ = self._loss_over(space.fit(y))
        decoder = self._decoder()
        if isinstance(space, LabelSequence):
            rule_of(decoder)
        self.random_state_ = check_random_state(self.random_state)
        return space

    def _loss_over(self, space):
        """The loss of scale 1 over a fitted space."""
        if isinstance(space, LabelSequence):
            return SequenceLoss(space, Shannon(), scale=1.0)
        loss = FenchelYoung(space, resolve_regularizer(None, space), scale=1.0)
        loss.constants_of()  # refuses a pair without an oracle
        return loss

    def _learn(self, batch, share, before):
        if not self._is_linear():
            if over_sequences(self):
                raise ValueError(f'kernel={self.kernel!r} is for spaces other than "sequence".')
            n = len(share)
            check_memory(f"matrix of kernels of {n} rows", n * n)
        if isinstance(self.alpha, str):
            path = tried_alphas(self, batch, share)
            self.alpha_ = 1.0 / np.count_nonzero(share) if path is None else path.best
            if path is not None:
                self.alpha_path_ = np.column_stack(path)
        else:
            self.alpha_ = float(self.alpha)
        self._solve(batch, share, before)
        if not self.duality_gap_ <= self.tol:
            warnings.warn(
                f"L-BFGS stopped after {self.n_iter_} iterations with a duality gap of "
                f"{self.duality_gap_:.3g} (tol={self.tol:g}): raise max_iter, alpha or tol, "
                "or give features on one scale.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _solve(self, batch, share, before):
        """Learn with `alpha_`, and keep the weights in units of X, or the coefficients of rows."""
        X = batch.rows.matrix
        weight = spread(share, batch.offsets)
        self._scaling = self._scale_for(X, weight, self.fit_intercept)
        Z = self._scaling.transform(X)
        if not self._is_linear():
            self._solve_kernels(Z, batch.packed, share)
            return
        chains = over_sequences(self)
        if self.transitions != "bigram" and not chains:
            raise ValueError(
                f'transitions={self.transitions!r} is for space="sequence"; use "bigram".'
            )
        layout = Layout(X.shape[1], self.space_.dim_, self.fit_intercept, chains, self.transitions)
        first = self._first_weights(before, layout)
        self._keep(self._minimized(Z, batch.packed, share, layout, first), layout)

    def _solve_kernels(self, Z, packed, share):
        """Learn by a factor of the kernels; keep the coefficients and the rows that have some."""
        self._kernel = self._kernel_for(Z, share)
        counted = np.flatnonzero(share > 0.0)
        F, kept = factor_of(self._kernel(Z[counted], Z[counted]))
        layout = Layout(F.shape[1], self.space_.dim_, False, False)
        first = np.zeros(layout.shape)
        Theta = self._minimized(F, packed[counted], share[counted], layout, first)
        self.dual_coef_, self.support_ = np.zeros((len(share), layout.dim)), np.sort(counted[kept])
        self.dual_coef_[counted[kept]] = solve_triangular(F[kept], Theta, lower=True, trans=1)
        self._kept = Z[self.support_]

    def _minimized(self, Z, packed, share, layout, first):
        """Weights near the optimum, begun at the first; the iterations become attributes."""
        given = share, self.alpha_ * (1.0 - self.l1_ratio), layout
        if layout.chains:
            objective = (EdgeObjective if layout.step_features else ChainObjective)(
                Z, packed, *given
            )
        else:
            objective = VectorObjective(Z, self.loss_, packed, *given)
        if self.l1_ratio > 0.0:
            net = ElasticNet(objective, self.alpha_ * self.l1_ratio)
            pair, curve = minimized(net, net.pair(first), self.max_iter, self.tol)
            Theta = pair[0] - pair[1]
        else:
            Theta, curve = minimized(objective, first, self.max_iter, self.tol)
        if not np.isfinite(curve[-1, 0]) or not np.isfinite(Theta).all():
            raise ValueError(
                "L-BFGS came to weights that are not finite numbers: features of this size need "
                'standardize=True, or "auto", or a larger alpha.'
            )
        self.loss_curve_, self.n_iter_ = curve[:, 0].copy(), len(curve)
        self.duality_gap_ = float(curve[-1, 1])
        return Theta

    def _fitted_before(self, space):
        """The weights that a warm start begins with, in units of X, and their labels; or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        edges = (self.start_, self.end_, self.transitions_) if hasattr(self, "start_") else ()
        steps = getattr(self, "transition_coef_", None)
        return self.coef_, self.intercept_, edges, steps, getattr(self, "classes_", None)

    def _first_weights(self, before, layout):
        """Zeros, or those before where they fit; a ValueError where they do not."""
        if before is None:
            return np.zeros(layout.shape)
        coef, intercept, edges, steps, classes = before
        same = np.array_equal(classes, getattr(self, "classes_", None))
        if not same or coef.shape != (layout.dim, layout.width) or bool(edges) != layout.chains:
            raise ValueError(
                "warm_start=True goes on from weights of the same features and labels, but the "
                f"last fit had {coef.shape[1]} features and labels {classes!r:.80}."
            )
        if layout.step_features:
            steps = np.zeros((*edges[2].shape, layout.width)) if steps is None else steps
            flat = steps.reshape(-1, layout.width)
            steps, offset = self._scaling.unfold(flat, edges[2].ravel())
            edges = *edges[:2], offset.reshape(edges[2].shape)
        return layout.join(*self._scaling.unfold(coef, intercept), edges, steps)

    def _keep(self, Theta, layout):
        """Set the weights, in units of X."""
        coef, offset = self._scaling.fold(Theta[: layout.width].T, layout.offset(Theta))
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), np.array(offset)
        if layout.chains:
            self.start_, self.end_, self.transitions_ = map(np.array, layout.edges(Theta))
        if layout.step_features:
            k, steps = layout.dim, layout.step_coef(Theta).T
            steps, offset = self._scaling.fold(steps, self.transitions_.ravel())
            self.transitions_ = np.array(offset).reshape(k, k)
            self.transition_coef_ = np.ascontiguousarray(steps).reshape(k, k, -1)

    def _pairs(self, X, offsets):
        """Scores of labels beside each other: (1, k, k), or (N, k, k) of each row and the next."""
        shared = self.transitions_[None]
        if not hasattr(self, "transition_coef_"):
            return shared
        k, pair = len(self.classes_), np.zeros((X.shape[0], *shared.shape[1:]))
        coef = self.transition_coef_.reshape(k * k, -1)
        weights = np.column_stack([coef, shared.ravel()])
        pair[:-1] = linear_scores(weights, X[1:]).reshape(-1, k, k)
        pair[offsets[1:] - 1] = 0.0
        return pair
