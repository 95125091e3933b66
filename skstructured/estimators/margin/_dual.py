"""The base of max-margin models: ascent of the dual, until its gap is small."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_bool, check_choice, check_integer, check_real
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._passes import BEST, FIXED, SEARCH
from skstructured.extend.output_space import OutputSpace

#: Scores that follow the moves are computed anew after so many passes.
REFRESH = 10

#: Most visits to a max-min game, in passes before the last and in the last; and what is rounding.
FEW_GAMES, GAMES, ROUNDING = 1, 20, 1e-12

#: A game is left where a visit does not take the distance of its bounds down to this part.
PROGRESS = 0.9

#: Part of a block's gap by which its loss may be off in passes before the last.
PART = 0.1


class Ascent:
    """Passes over `Blocks`, and what they are away from the best.

    Parameters
    ----------
    blocks : Blocks
        They have begun.
    mover : Blocks or MirrorProx
        What moves them, they themselves or the oracle of the paper.
    average : bool, default=False
        Whether they end with the mean of all steps, the s-th of which counts s times.
    replace : bool, default=False
        Whether a pass draws its blocks with replacement.
    """

    def __init__(self, blocks, mover, average=False, replace=False):
        self.blocks, self.mover, self.replace = blocks, mover, replace
        self._late = np.zeros_like(blocks.truth) if average else None

    def run(self, rule, max_iter, tol, rng, verbose=0):
        """Passes in random order until the duality gap is at most `tol`; objectives and gaps.

        The gap is computed after each pass, of scores that were computed anew in the last one.
        """
        losses, gaps, blocks, counted = [], [], self.blocks, self.blocks.counted
        for t in range(max_iter):
            n, here = len(counted), blocks.means
            order = counted[rng.randint(n, size=n) if self.replace else rng.permutation(n)]
            self._pass(order, t * n, rule)
            if self._late is not None:
                steps = (t + 1) * n  # Σ s μ^s / Σ s: a move at step s is missing from those before
                late = self._late / (steps * (steps + 1.0))
                blocks.means = here._replace(mu=here.mu - late)
            if t % REFRESH == REFRESH - 1 or self._late is not None:
                blocks.refresh()
            loss, gap = self.certificate(PART)
            if gap <= tol or t == max_iter - 1:
                blocks.refresh()
                loss, gap = self.certificate()
            losses.append(float(loss))
            gaps.append(float(gap))
            if verbose:
                print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
            if gap <= tol or t == max_iter - 1:
                break
            if self._late is not None:
                blocks.means = here
                blocks.refresh()
        return np.array(losses), np.array(gaps)

    def _pass(self, order, clock, rule):
        """Steps `clock` + 1 and on, which are 2n/(t + 2n) by the rule FIXED."""
        n, mu = len(order), self.blocks.means.mu
        fixed = 2.0 * n / (clock + np.arange(n) + 2.0 * n)
        if self._late is None:
            self.mover.move(order, fixed, rule)
            return
        for t, i in enumerate(order):
            at, s = self.blocks.at(i), clock + t + 1
            before = mu[at].copy()
            self.mover.move(order[t : t + 1], fixed[t : t + 1], rule)
            self._late[at] += s * (s - 1.0) * (mu[at] - before)

    def certificate(self, part=0.0):
        r"""The objective and the gap ``Σ share_i (max_μ H_i(μ) − H_i(μ_i))``, both at most.

        Upper bounds on max H make it a gap of suboptimality whether they are exact or not; they may
        be too large by a `part` of the gap. As ``α‖w‖² = Σ share_i <v_i, φ(y_i) − μ_i>``, it is the
        objective less the dual one.
        """
        blocks, V, share = self.blocks, self.blocks.scores(), self.blocks.inputs.share
        bounds, reached = blocks.bound(V, blocks.means, np.arange(len(share)))
        if blocks.plays:
            bounds = self._play(V, bounds, reached, part)
        bounds = np.maximum(bounds, reached)
        losses = bounds + blocks.constant - blocks.inner(V, blocks.truth)
        norm = share @ blocks.inner(V, blocks.truth - blocks.means.mu)
        return share @ losses + 0.5 * norm, share @ (bounds - reached)

    def _play(self, V, bounds, reached, part):
        """Upper bounds on max H, moved to what is reached by playing the games of blocks."""
        blocks, lower, left, apart = self.blocks, reached.copy(), self.blocks.counted, np.inf
        for turn in range(1 + (FEW_GAMES if part > 0.0 else GAMES)):
            if turn > 0:
                blocks.visit(V, blocks.games, left)
            upper, found = blocks.bound(V, blocks.games, left)
            bounds[left] = np.minimum(bounds[left], upper)
            lower[left] = np.maximum(lower[left], found)
            left = left[_not_told(bounds, lower, reached, blocks.slack, part, apart)[left]]
            apart = bounds - lower
            if len(left) == 0:
                break
        return bounds


def _not_told(bounds, lower, reached, slack, part, before):
    """Which games are to be visited: bounds apart, and nearer than `before` the last visit.

    Upper bounds may be too large by `slack`, and by a `part` of the gap from what is `reached`.
    """
    room = np.maximum(part * (bounds - reached), slack)
    apart = bounds - lower
    return (apart > np.maximum(room, ROUNDING * (1.0 + np.abs(bounds)))) & (
        apart <= PROGRESS * before
    )


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
    missing : {"mean", "error"}, default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows of `fit` that have the
        feature, by their weights (0 where none has it), or an error. `fit` and predictions are
        those of the rows completed so. A matrix of kernels has no gaps.
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
    verbose : bool or int, default=0
        Whether a line is printed for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.

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
    missing: Literal["mean", "error"] = "mean"
    fit_intercept: bool = True
    solver: Literal["auto", "frank_wolfe"] = "auto"
    line_search: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    cache_size: float = 4096
    warm_start: bool = False
    oracle: Literal["exact", "mirror_prox"] = "exact"
    oracle_iter: int | None = None
    oracle_warm_start: bool = True
    average: bool = False
    replace: bool = False
    verbose: bool | int = 0
    random_state: Seed = None

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

    def _solve(self, outputs, packed, inputs, before, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(before)
        rule, mirror = FIXED, None
        if self.oracle == "mirror_prox":
            mirror = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        if self.line_search:
            rule = BEST if self.solver == "auto" and mirror is None else SEARCH
        counted = inputs.share[blocks.counted]
        self._sizes = (
            len(counted),
            bool(np.ptp(counted) <= 1e-12),
            *outputs.reach(inputs, blocks.counted),
        )
        rng = check_random_state(self.random_state)
        ascent = Ascent(blocks, blocks if mirror is None else mirror, self.average, self.replace)
        self.loss_curve_, self.gap_curve_ = ascent.run(
            rule, self.max_iter, self.tol, rng, self.verbose
        )
        self._mu, self.n_iter_ = blocks.means, len(self.gap_curve_)
        vars(self).pop("oracle_gaps_", None)
        if mirror is not None:
            self.oracle_gaps_ = np.reshape(mirror.gaps, (self.n_iter_, -1)).mean(axis=1)
        self.duality_gap_ = float(self.gap_curve_[-1])
        return blocks.found()
