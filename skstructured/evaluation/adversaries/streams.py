"""Oblivious streams of linear models: with label noise, with drift, with a margin."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer, check_positive, check_share
from skstructured.evaluation.adversaries._base import ObliviousAdversary, unit_rows
from skstructured.extend._types import Array, Floats
from skstructured.extend.output_space import OutputSpace

#: Rows drawn at a time by rejection, and how many draws in vain end the search.
BLOCK, IN_VAIN = 1024, 20 * 1024


@parameters
class LabelNoise(ObliviousAdversary):
    """A linear model whose outputs are replaced, now and then, by uniform vertices.

    Features are i.i.d. and uniform on the unit sphere; ``y_t = argmax_{y ∈ Y} <W x_t, y>`` with
    Gaussian W, and with probability `noise` a uniformly drawn vertex instead (which may be the
    same one). The vertices must be few enough to list, unless `noise` is 0.

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

    Examples
    --------
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.evaluation.adversaries import LabelNoise, play
    >>> from skstructured.spaces import Simplex
    >>> space = Simplex().fit(["a", "b", "c"])
    >>> result = play(OnlineStructuredPredictor(), LabelNoise(random_state=0), space)
    >>> bool(result.expected_target_loss.sum() <= result.regret_bound())
    True
    """

    n_rounds: int = 1000
    n_features: int = 5
    noise: float = 0.2
    random_state: Seed = None

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        check_share("noise", self.noise)
        rng = check_random_state(self.random_state)
        X = _rows(self, rng)
        self.model_ = rng.standard_normal((space._dimension(), self.n_features))
        V = space.argmax(X @ self.model_.T)
        replaced = rng.random_sample(len(X)) < self.noise
        if replaced.any():
            vertices = space.vertices()
            V[replaced] = vertices[rng.randint(len(vertices), size=replaced.sum())]
        return X, space.decode(V)


@parameters
class Drifting(ObliviousAdversary):
    """A linear model that is replaced by an independent one at the start of every phase.

    Features are uniform on the unit sphere and ``y_t = argmax_{y ∈ Y} <W_k x_t, y>`` with k the
    phase of the round, phases being of equal length up to one round. A fixed comparator is poor on
    such a stream; the bounds hold nevertheless, with its losses in them.

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
    """

    n_rounds: int = 1000
    n_features: int = 5
    n_phases: int = 4
    random_state: Seed = None

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        rng = check_random_state(self.random_state)
        X = _rows(self, rng)
        check_integer("n_phases", self.n_phases, highest=self.n_rounds)
        self.model_ = rng.standard_normal((self.n_phases, space._dimension(), self.n_features))
        phases = np.array_split(X, self.n_phases)
        theta = np.vstack([x @ W.T for x, W in zip(phases, self.model_, strict=True)])
        return X, space.decode(space.argmax(theta))


@parameters
class Separable(ObliviousAdversary):
    r"""Rows whose output beats every other vertex by a margin.

    With a Gaussian W scaled to ``‖W‖_F = 1`` and x uniform on the unit sphere, rows are drawn until
    ``<W x, y_t> ≥ <W x, y> + margin`` for every other listed vertex y. The surrogate loss of
    s W then vanishes as s grows, so that the best bound grows at most like the square of ln T.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    margin : float, default=0.1
        Least difference of scores, positive. A margin that hardly any row has is refused.
    random_state : int, RandomState instance or None, default=None
        Seeds the stream.

    Attributes
    ----------
    model_ : ndarray of shape (dim, n_features)
        W of the last draw.
    """

    n_rounds: int = 1000
    n_features: int = 5
    margin: float = 0.1
    random_state: Seed = None

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y); see `ObliviousAdversary.draw`."""
        check_positive("margin", self.margin)
        _check_sizes(self)
        rng, vertices = check_random_state(self.random_state), space.vertices()
        W = rng.standard_normal((vertices.shape[1], self.n_features))
        self.model_ = W / np.linalg.norm(W)
        X, best = self._accepted(vertices, rng)
        return X, space.decode(vertices[best])

    def _accepted(self, vertices, rng):
        """Rows with the margin, and the positions of their best vertices."""
        rows, best, found, in_vain = [], [], 0, 0
        while found < self.n_rounds:
            X = unit_rows(rng, BLOCK, self.n_features)
            top, gap = _best_and_gap(X @ self.model_.T @ vertices.T)
            rows.append(X[gap >= self.margin])
            best.append(top[gap >= self.margin])
            found += len(rows[-1])
            in_vain = 0 if len(rows[-1]) else in_vain + BLOCK
            if in_vain >= IN_VAIN:
                raise ValueError(
                    f"margin={self.margin!r} is too large: none of {in_vain} rows has it; "
                    f"the last {BLOCK} reach {gap.max():.3g}."
                )
        return np.vstack(rows)[: self.n_rounds], np.concatenate(best)[: self.n_rounds]


def _check_sizes(adversary):
    check_integer("n_rounds", adversary.n_rounds)
    check_integer("n_features", adversary.n_features)


def _rows(adversary, rng):
    """Unit rows of the size that the parameters say."""
    _check_sizes(adversary)
    return unit_rows(rng, adversary.n_rounds, adversary.n_features)


def _best_and_gap(scores):
    """Position of the best vertex in each row, and by how much it beats the second."""
    every = np.arange(len(scores))
    best = np.argmax(scores, axis=1)
    top = scores[every, best]
    scores[every, best] = -np.inf
    return best, top - scores.max(axis=1)
