"""Streams to test learners on: noisy, drifting, separable, adaptive and worst-case."""

import math
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._base.component import Component, Seed, parameters
from skstructured._base.validation import check_integer, check_positive, check_real, check_share
from skstructured._engine.rows import Rows
from skstructured._learners.models import Model, Record
from skstructured.evaluation._result import ProgressiveResult
from skstructured.evaluation.validation import progressive_validate
from skstructured.extend._types import Array, Floats
from skstructured.extend.learner import Batch
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces import Simplex, resolve_space

#: Rows drawn at a time by rejection, and how many draws in vain end the search.
BLOCK, IN_VAIN = 1024, 20 * 1024


class ObliviousAdversary(Component, ABC):
    """Fix the whole stream before the learner plays; the base class of such adversaries.

    See Also
    --------
    LabelNoise, Drifting, Separable, LowerBound : Adversaries of this kind.
    GreedyAdversary : An adversary that adapts to the learner.
    play : Play a learner against an adversary.
    """

    @abstractmethod
    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream.

        Parameters
        ----------
        space : OutputSpace
            A fitted space. A short stream need not show every class of it. `play` passes all
            classes to the learner; a learner fitted on `y` alone knows only those in `y`.

        Returns
        -------
        X : ndarray of shape (n_rounds, n_features)
        y : ndarray
            User-side outputs of the space, one per row.

        Raises
        ------
        ValueError
            If a parameter is out of its range.
        sklearn.exceptions.NotFittedError
            If the space has not been fitted.
        """


@parameters
class UnitRows:
    """Rows of norm 1, and the parameters that their streams share; others are listed between."""

    n_rounds: int = 1000
    n_features: int = 5
    _: KW_ONLY
    random_state: Seed = None

    def _check_sizes(self):
        check_integer("n_rounds", self.n_rounds)
        check_integer("n_features", self.n_features)

    def _rows(self, rng, n=None):
        """Unit rows (n, n_features); n_rounds of them if n is None."""
        self._check_sizes()
        X = rng.standard_normal((n or self.n_rounds, self.n_features))
        return X / np.linalg.norm(X, axis=1, keepdims=True)


@parameters
class LabelNoise(UnitRows, ObliviousAdversary):
    """Make a stream of a linear model, with some outputs replaced by uniform vertices.

    Features are i.i.d. and uniform on the unit sphere; ``y_t = argmax_{y ∈ Y} <W x_t, y>`` with
    Gaussian W. With probability `noise` the output is a uniformly drawn vertex instead (which may
    be the same one). The vertices must be few enough to list, unless `noise` is 0.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    noise : float, default=0.2
        Probability of a replaced output, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Seeds the stream.

    Attributes
    ----------
    model_ : ndarray of shape (dim, n_features)
        W of the last draw.

    See Also
    --------
    Drifting : A model that changes.
    Separable : A model without noise, with a margin.
    play : Play a learner against an adversary.

    Examples
    --------
    >>> from skstructured import OnlineStructuredPredictor
    >>> from benchmarks.adversaries import LabelNoise, play
    >>> from skstructured.spaces import Simplex
    >>> space = Simplex().fit(["a", "b", "c"])
    >>> result = play(OnlineStructuredPredictor(), LabelNoise(random_state=0), space)
    >>> bool(result.expected_target_loss.sum() <= result.regret_bound())
    True
    """

    noise: float = 0.2

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        check_share("noise", self.noise)
        rng = check_random_state(self.random_state)
        X = self._rows(rng)
        self.model_ = rng.standard_normal((space._dimension(), self.n_features))
        V = space.argmax(X @ self.model_.T)
        replaced = rng.random_sample(len(X)) < self.noise
        if replaced.any():
            vertices = space.vertices()
            V[replaced] = vertices[rng.randint(len(vertices), size=replaced.sum())]
        return X, space.decode(V)


@parameters
class Drifting(UnitRows, ObliviousAdversary):
    """Make a stream of a linear model that is replaced at the start of every phase.

    Features are uniform on the unit sphere and ``y_t = argmax_{y ∈ Y} <W_k x_t, y>`` with k the
    phase of the round. The models W_k are independent, and the phases are of equal length up to
    one round. A fixed comparator is poor on such a stream; the bounds hold nevertheless, with the
    losses of that comparator in them.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    n_phases : int, default=4
        Number of models, from 1 to `n_rounds`.
    random_state : int, RandomState instance or None, default=None
        Seeds the stream.

    Attributes
    ----------
    model_ : ndarray of shape (n_phases, dim, n_features)
        The models W_k of the last draw.

    See Also
    --------
    LabelNoise : A single model, with noise.
    skstructured.optimizers.StepMixture : An optimizer for drifting streams.
    play : Play a learner against an adversary.
    """

    n_phases: int = 4

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        rng = check_random_state(self.random_state)
        X = self._rows(rng)
        check_integer("n_phases", self.n_phases, highest=self.n_rounds)
        self.model_ = rng.standard_normal((self.n_phases, space._dimension(), self.n_features))
        phases = np.array_split(X, self.n_phases)
        theta = np.vstack([x @ W.T for x, W in zip(phases, self.model_, strict=True)])
        return X, space.decode(space.argmax(theta))


@parameters
class Separable(UnitRows, ObliviousAdversary):
    r"""Make rows whose output beats every other vertex by a margin.

    With a Gaussian W scaled to ``‖W‖_F = 1`` and x uniform on the unit sphere, rows are drawn until
    ``<W x, y_t> ≥ <W x, y> + margin`` for every other listed vertex y. The surrogate loss of
    s W then vanishes as s grows, so the best bound grows at most like the square of ln T.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    margin : float, default=0.1
        Least difference of scores, positive. A margin that almost no row has raises a ValueError.
    random_state : int, RandomState instance or None, default=None
        Seeds the stream.

    Attributes
    ----------
    model_ : ndarray of shape (dim, n_features)
        W of the last draw.

    See Also
    --------
    LabelNoise : A model with noise.
    LowerBound : The stream on which every learner has a large regret.
    play : Play a learner against an adversary.
    """

    margin: float = 0.1

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        check_positive("margin", self.margin)
        self._check_sizes()
        rng, vertices = check_random_state(self.random_state), space.vertices()
        W = rng.standard_normal((vertices.shape[1], self.n_features))
        self.model_ = W / np.linalg.norm(W)
        X, best = self._accepted(vertices, rng)
        return X, space.decode(vertices[best])

    def _accepted(self, vertices, rng):
        """Rows with the margin, and the positions of their best vertices."""
        rows, best, found, in_vain = [], [], 0, 0
        while found < self.n_rounds:
            X = self._rows(rng, BLOCK)
            scores = X @ self.model_.T @ vertices.T
            second, first = np.partition(scores, [-2, -1], axis=1)[:, -2:].T
            accepted = (gap := first - second) >= self.margin
            rows.append(X[accepted])
            best.append(scores[accepted].argmax(axis=1))
            found += len(rows[-1])
            in_vain = 0 if len(rows[-1]) else in_vain + BLOCK
            if in_vain >= IN_VAIN:
                raise ValueError(
                    f"margin={self.margin!r} is too large: none of {in_vain} rows has it; "
                    f"the last {BLOCK} reach {gap.max():.3g}."
                )
        return np.vstack(rows)[: self.n_rounds], np.concatenate(best)[: self.n_rounds]


@parameters
class LowerBound(ObliviousAdversary):
    r"""Make the stream that proves the lower bound for the logistic loss (appendix H of [1]_).

    The first ``M = ⌊(B² − ln²(dT))/ln²(2d)⌋`` rows are different basis vectors, with classes drawn
    uniformly. All others are one further basis vector with one class, drawn uniformly too. Nothing
    can be learned in the first M + 1 rounds, whereas the comparator U' has little loss in them: its
    column t is ``ln(2d) e_{i_t}`` and its last is ``ln(dT) e_{i_{M+1}}``. For every learner the
    expectation over the classes of ``Σ_t E[L_t] − Σ_t S_t(U')``, with the loss in base 2, is at
    least

    .. math:: (M+1)\Bigl(1-\frac1d\Bigr) - M \log_2\frac{3d-1}{2d}
        - (T-M)\log_2\Bigl(1+\frac{d-1}{dT}\Bigr) = Ω(M).

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream, T > M.
    radius : float or None, default=None
        The bound B on ``‖U'‖_F``, which is nearly reached. None is ``√2 ln(dT)``, or the least B
        with M = 1 if that is more: the regret then grows with ln²(dT)/ln²(2d).
    random_state : int, RandomState instance or None, default=None
        Seeds the classes.

    Attributes
    ----------
    comparator_ : ndarray of shape (d, M + 1)
        U' of the last draw; the intercept of a learner that has one is a zero column to append.
    least_regret_ : float
        The least expected surrogate regret against it, as above.

    Raises
    ------
    ValueError
        By `draw`, if the space is not `Simplex`, or if B makes M < 1 or M ≥ T.

    See Also
    --------
    Separable : A stream with small regret.
    play : Play a learner against an adversary.

    Notes
    -----
    The printed proof bounds ``log_2(1 + x)`` by x, but the inequality is the other way around on
    [0, 1]. Its constant M/4 is too large (for d = 2 the first M rounds give 0.178 M); its rate is
    right. The last column of U' is printed with a wrong index.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss", Theorem 5.2 and appendix H.
    """

    n_rounds: int = 1000
    radius: float | None = None
    random_state: Seed = None

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y) with M + 1 features; see `ObliviousAdversary.draw`."""
        if not isinstance(space, Simplex):
            raise ValueError(f"space must be a Simplex, got {type(space).__name__}.")
        check_integer("n_rounds", self.n_rounds, lowest=2)
        d, T = space._dimension(), self.n_rounds
        M = self._free_rounds(d, T)
        column = np.minimum(np.arange(T), M)
        classes = check_random_state(self.random_state).randint(d, size=M + 1)
        self.comparator_ = np.zeros((d, M + 1))
        self.comparator_[classes, np.arange(M + 1)] = math.log(2 * d)
        self.comparator_[classes[M], M] = math.log(d * T)
        comparator = M * math.log2(1.5 - 0.5 / d) + (T - M) * math.log2(1 + (d - 1) / (d * T))
        self.least_regret_ = (M + 1) * (1 - 1 / d) - comparator
        X = np.zeros((T, M + 1))
        X[np.arange(T), column] = 1.0
        return X, space.classes_[classes[column]]

    def _free_rounds(self, d, T):
        """M, the number of rounds that have a feature for themselves."""
        fixed, each = math.log(d * T) ** 2, math.log(2 * d) ** 2
        if self.radius is None:
            return min(max(1, math.floor(fixed / each + 1e-9)), T - 1)
        B, low, high = self.radius, math.sqrt(fixed + each), math.sqrt(fixed + T * each)
        wanted = f"lie in [{low:.4g}, {high:.4g}) for {d} classes and n_rounds={T}"
        check_real("radius", B, lambda v: low * (1 - 1e-9) <= v < high, wanted)
        return min(max(1, math.floor((B**2 - fixed) / each + 1e-9)), T - 1)


@parameters
class GreedyAdversary(UnitRows, Component):
    """Answer each round with the output on which the learner expects the largest loss.

    Features are i.i.d. and uniform on the unit sphere. After the learner has fixed the
    distribution of its output (but not drawn it), the answer is the vertex y that maximizes
    ``E[L(ψ(θ_t); y)]``; ties are decided for the first. A custom adaptive adversary needs the same
    two methods for `play`; its rows may be of any length.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    random_state : int, RandomState instance or None, default=None
        Seeds the features.

    See Also
    --------
    ObliviousAdversary : Adversaries that fix the whole stream beforehand.
    play : Play a learner against an adversary.
    """

    def features(self) -> Floats:
        """Features of all rounds, (n_rounds, n_features); ValueError for a bad parameter."""
        return self._rows(check_random_state(self.random_state))

    def answer(self, losses: Floats) -> int:
        """Position of the vertex to answer with, from the expected target loss of each (m,)."""
        return int(np.argmax(losses))


def play(
    estimator: Any, adversary: Any, space: str | OutputSpace, random_state: Seed = None
) -> ProgressiveResult:
    """Play a learner against an adversary.

    Oblivious streams use `progressive_validate`. An adaptive adversary is played round by round,
    with ``partial_fit`` on one row. The learner knows every class of `space` beforehand, including
    those that the stream does not show.

    Parameters
    ----------
    estimator : OnlineStructuredPredictor
        The learner; a clone of it plays, with ``space`` set if it has that parameter.
    adversary : ObliviousAdversary or GreedyAdversary
        The source of the rounds.
    space : OutputSpace
        A fitted space; for an adaptive adversary with few enough vertices to list.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of the decoder (not the stream).

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    ValueError
        If a parameter of the adversary or the estimator is wrong.
    sklearn.exceptions.NotFittedError
        If the space has not been fitted.

    See Also
    --------
    progressive_validate : The same for given rows.
    LabelNoise, GreedyAdversary : Adversaries.

    Notes
    -----
    The weights of the first round are zero in both cases. Every round is scored with the weights
    that the optimizer plays, which may depend on the length of the row. So losses and bounds are
    about the same weights, for rows of any length. Adversaries need not draw independent rows, so
    `ProgressiveResult.risk_bound` raises a GuaranteeError.
    """
    space = resolve_space(space)
    space._dimension()
    learner, classes = clone(estimator), getattr(space, "classes_", None)
    if "space" in learner.get_params(deep=False):
        learner.set_params(space=space)
    if isinstance(adversary, ObliviousAdversary):
        X, y = adversary.draw(space)
        result = progressive_validate(
            learner,
            X,
            y,
            random_state=random_state,
            play="randomized",
            classes=classes if y.ndim == 1 else None,
        )
    else:
        result = _play_adaptive(learner, adversary, space, check_random_state(random_state))
    result.dependence = (
        f"{type(adversary).__name__} made these; where the rows of its stream are independent, "
        f"hand them to progressive_validate."
    )
    return result  # type: ignore[return-value]  # of rows at hand, not of chunks


def _play_adaptive(learner, adversary, space, rng):
    """Each round: fix the expected losses, have them answered, draw, learn."""
    X, vertices = adversary.features(), space.vertices()
    outputs = space.decode(vertices)
    losses, answers = np.empty((3, len(X))), np.empty(len(X), dtype=np.intp)
    every = np.arange(len(vertices))
    # All outputs are known, and none is learned.
    known = learner.begin(np.repeat(X[:1], len(vertices), axis=0), outputs)
    for t in range(len(X)):
        possible = _rounds_of(np.repeat(X[t : t + 1], len(vertices), axis=0), known, every)
        k = answers[t] = adversary.answer(next_losses(learner, possible))
        losses[:, t] = np.ravel(learner.play_and_learn(possible, every[k : k + 1], rng))
    learner._warn_diagnostics()
    return ProgressiveResult(*losses, learner, 1, _rounds_of(X, known, answers), "randomized")


def next_losses(learner: Any, rounds: Batch) -> Floats:
    """Expected target losses (m,) of each of m rounds, if it were the next; nothing is learned.

    All have the same features. Models of rows score them once, because scores know no output.
    """
    model = getattr(learner, "model_", None)
    compiled = isinstance(model, Model)
    if compiled and rounds.offsets is None:
        model = model.copy()
        (block,) = model.blocks(rounds, np.arange(1), Record.SCORES)
        played = model.learn(rounds, block, rounds.weights[:1], Record.SCORES)
        decoding = learner.decode(np.repeat(played.theta, rounds.n_rounds, axis=0))
        return decoding.expected_loss(model.truths(rounds.packed))
    found = []
    for i in range(rounds.n_rounds):
        played = deepcopy(learner).play_and_learn(rounds, np.array([i]), 0)
        found.append(played.expected[0])
    return np.array(found)


def _rounds_of(X, known, answers):
    """Rounds with answers among the known outputs, and the weights of these."""
    weight = None if known.weight is None else known.weight[answers]
    rows = Rows.from_array(X) if isinstance(known.rows, Rows) else X
    return Batch(rows, known.packed[answers], weight)
