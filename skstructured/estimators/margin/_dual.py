"""The base of max-margin models: ascent of the dual, until its gap is small."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skstructured._base.parameters import Seed, parameters
from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators.margin._ascent import Ascent
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._passes import BEST, FIXED, SEARCH
from skstructured.extend.output_space import OutputSpace

SOLVERS, ORACLES = ("auto", "frank_wolfe"), ("exact", "mirror_prox")


@parameters
class DualLearner(MarginLearner):
    """Max-margin models, learned by block-coordinate ascent of the dual.

    `is_max_min` tells whether costs are those of the best prediction, or those of the true output.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex", a class (0–1 loss); "ordinal", an ordinal class (|i − j|, with
        a score per class); "hypercube", a set of labels (share of wrong labels); "birkhoff", a
        permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        One of scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights, all others over the matrix of
        kernels of all rows.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float, "auto" or "path", default="auto"
        α > 0, the λ of the paper. "auto" is 5e-4 divided by the cost of one mistake: 1 for classes,
        ordinal ones too, 1/d for d labels, 1/m for m items, 1/M for sequences of mean length M.
        "path" tries 2⁻¹ … 2⁻¹⁰, and on to 2⁻²⁰ until three in turn are no better, on a fifth of the
        outputs, each fit going on from the one before, and learns all with the best.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes, or of positions of sequences: not negative, 0 on the
        diagonal. It need not be symmetric.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    solver : {"auto", "frank_wolfe"}, default="auto"
        "auto" moves a row's mean to its best, given all others; "frank_wolfe" by a step towards
        what the oracle returns (Algorithm 1 of the paper).
    line_search : bool, default=True
        Whether such a step is the best one for the chord of the losses; False is ``2n/(t + 2n)`` of
        the paper, and implies "frank_wolfe".
    max_iter : int, default=1000
        Most passes.
    tol : float, default=1e-3
        The duality gap, in units of the objective, to stop at.
    cache_size : float, default=4096
        MiB that the matrix of kernels may take.
    warm_start : bool, default=False
        Whether `fit` begins with the means of the last one, of the same rows and classes.
    verbose : bool or int, default=0
        Whether a line is printed for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.
    missing : {"mean", "error"}, default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows of `fit` that have the
        feature, by their weights (0 where none has it), or an error. `fit` and predictions are
        those of the rows completed so. A matrix of kernels has no gaps.
    oracle : {"exact", "mirror_prox"}, default="exact"
        What a row's mean moves to. "mirror_prox" (Algorithm 2 of the paper) is for the max-min
        network alone, and implies "frank_wolfe": entropies for classes, label sets, assignments
        and sequences, squared norms for other spaces; the means of its half-steps. Gaps and losses
        are still those of exact oracles.
    oracle_iter : int or None, default=None
        Iterations of mirror prox in a visit to a row. None is 20, or 10 times the length of a
        sequence.
    oracle_warm_start : bool, default=True
        Whether mirror prox begins with what it found in the row's last visit.
    average : bool, default=False
        Whether the result is the mean of the weights after each step, the s-th of which counts s
        times (Algorithm 4 of the paper). Steps are then taken one by one, which takes longer.
    replace : bool, default=False
        Whether a pass draws its n rows with replacement (Algorithm 4); False visits each once.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first and last labels, and of labels beside each other, for "sequence" alone.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (10,) to (20,)
        Mean target losses of the rows held out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients ``(φ(y_i) − μ_i)/(αn)`` of the rows of `fit`, or of positions.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value.
    gap_curve_, loss_curve_ : ndarray of shape (n_iter_,)
        The gap and the objective after each pass.
    oracle_gaps_ : ndarray of shape (n_iter_,)
        The mean gap that mirror prox left in the visits of each pass; with it alone.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    ConvergenceWarning
        Where the gap is above `tol` at the end, with the gap.
    """

    _rules = ("auto", "path")

    space: str | OutputSpace = "simplex"
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    alpha: float | Literal["auto", "path"] = "auto"
    cost_matrix: ArrayLike | None = None
    standardize: bool = True
    fit_intercept: bool = True
    solver: Literal["auto", "frank_wolfe"] = "auto"
    line_search: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    cache_size: float = 4096
    warm_start: bool = False
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "error"] = "mean"
    oracle: Literal["exact", "mirror_prox"] = "exact"
    oracle_iter: int | None = None
    oracle_warm_start: bool = True
    average: bool = False
    replace: bool = False

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("solver", self.solver, SOLVERS)
        check_real("tol", self.tol, lambda v: 0.0 <= v < np.inf, "be at least 0")
        check_integer("max_iter", self.max_iter)
        for name in ("line_search", "warm_start", "oracle_warm_start", "average", "replace"):
            check_bool(name, getattr(self, name))
        check_choice("oracle", self.oracle, ORACLES if self.is_max_min else ORACLES[:1])
        if self.oracle_iter is not None:
            check_integer("oracle_iter", self.oracle_iter)
        if not isinstance(self.verbose, (bool, np.bool_)):
            check_integer("verbose", self.verbose, lowest=0)

    def _fitted_before(self, space):
        if not self.warm_start or not hasattr(self, "_mu"):
            return None
        before, now = (getattr(one, "classes_", None) for one in (self, space))
        if not np.array_equal(before, now):
            raise ValueError(
                "warm_start=True goes on from the means of the same rows and classes, but the last "
                f"fit had {before!r:.80}, and these are {now!r:.80}."
            )
        return self._mu

    def _to_go_on(self):
        return self._mu

    def _solve(self, outputs, packed, inputs, before, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(before)
        rule, mirror = FIXED, None
        if self.oracle == "mirror_prox":
            mirror = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        if self.line_search:
            rule = BEST if self.solver == "auto" and mirror is None else SEARCH
        counted = inputs.share[blocks.counted]
        self._sizes = len(counted), np.ptp(counted) <= 1e-12, *outputs.reach(inputs, blocks.counted)
        rng = check_random_state(self.random_state)
        ascent = Ascent(blocks, blocks if mirror is None else mirror, self.average, self.replace)
        trace = ascent.run(rule, self.max_iter, self.tol, rng, self.verbose)
        self._mu, self.n_iter_ = blocks.means, len(trace.gaps)
        vars(self).pop("oracle_gaps_", None)
        if mirror is not None:
            self.oracle_gaps_ = np.reshape(mirror.gaps, (self.n_iter_, -1)).mean(axis=1)
        self.loss_curve_, self.gap_curve_ = np.array(trace.losses), np.array(trace.gaps)
        self.duality_gap_ = trace.gaps[-1]
        return blocks.found()
