"""Blocks of the dual: the means of outputs, and the weights or scores that follow their moves."""

import functools
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from skstructured._engine.rows import Rows
from skstructured.estimators.margin._inputs import Found, weights_of, with_weights
from skstructured.estimators.margin._learned import follow, read_scores
from skstructured.estimators.margin._passes import row_pass, upper_bounds


class Means(NamedTuple):
    """Means of blocks and what makes them up.

    Attributes
    ----------
    point : tuple
        μ (N, dim) of rows or positions; of sequences the sums of steps (n, k, k) too.
    parts : tuple of arrays, or lists with one entry per block
        The mixtures of outputs that `point` is known to be.
    """

    point: tuple
    parts: tuple = ()

    @property
    def mu(self):
        """μ of rows or positions."""
        return self.point[0]

    def copy(self):
        """Another that is moved by itself."""
        return Means(*(tuple(part.copy() for part in parts) for parts in self))


class Blocks(ABC):
    r"""Blocks of the dual of ``min_w Σ share_i S(g_w(x_i), y_i) + (α/2)‖w‖²``, one per output.

    Parameters
    ----------
    inputs : Inputs
        Rows or sequences.
    alpha : float
        α.
    truth : tuple
        φ(y) as `Means.point` has it.
    constant : ndarray of shape (n,) or float
        What is added to h of a block.
    """

    #: Whether max H is a game whose bounds are moved by `visit`, to what may be off by `slack`.
    plays, slack = False, 0.0

    def __init__(self, inputs, alpha, truth, constant=0.0):
        self.inputs, self.truth, self.constant = inputs, truth, constant
        self.counted = np.flatnonzero(inputs.share > 0.0)
        self.steps = inputs.share / alpha
        self._rows = Rows.from_array(inputs.Z if inputs.K is None else np.zeros((0, 0))).arrays

    @abstractmethod
    def move(self, order, fixed, rule):
        """Visits to the blocks in `order`; `fixed` are the steps of the rule FIXED."""

    def at(self, i):
        """Where the means of block i are in each array of `Means.point`."""
        return (i,)

    def scores_at(self, i):
        """Scores of block i, as learned so far."""
        v = np.empty(self.truth[0].shape[1])
        read_scores(self._learned, i, v)
        return v

    def bend(self, i, d):
        """How the dual bends along a move of block i."""
        return self.squares[i] * self.steps[i] * (d @ d)

    def shift(self, i, d):
        """Move the mean of block i by d, and what is learned with it."""
        self.means.mu[i] += d
        follow(self._learned, i, d, self.steps[i])

    @functools.cached_property
    def squares(self):
        """k(x, x) of rows."""
        return self.inputs.squares()

    @abstractmethod
    def bound(self, V, means, which):
        """Upper bounds on max H of some blocks at the scores V (N, dim), and H at their means."""

    def at_truth(self):
        """`Means` at φ(y)."""
        return Means(tuple(part.copy() for part in self.truth))

    def begin(self, before):
        """Means at φ(y), or those of a fit before; a ValueError where those do not fit."""
        shape = self.truth[0].shape
        if before is not None and before.mu.shape != shape:
            raise ValueError(
                "warm_start=True goes on from the means of the same rows and classes, but the last "
                f"fit had means of shape {before.mu.shape}, and these are of shape {shape}."
            )
        self.means = self.at_truth() if before is None else before.copy()
        if self.plays:
            self.games = self.at_truth()
        self.refresh()

    def moved(self):
        """φ(y) − μ, as `Means.point`."""
        return tuple(y - mu for y, mu in zip(self.truth, self.means.point, strict=True))

    def dual(self):
        """Coefficients (N, dim)."""
        return self.moved()[0] * self.inputs.of_rows(self.steps)[:, None]

    def refresh(self):
        """Weights or scores anew."""
        D, K = self.dual(), self.inputs.K
        if K is None:
            self._learned = self._rows, np.zeros((0, 0)), weights_of(self.inputs, D), D[:0]
        else:
            self._learned = self._rows, K, D[:0], np.ascontiguousarray((K @ D).T)

    def scores(self):
        """Scores (N, dim) of rows, or of positions by themselves."""
        _, _, W, scores = self._learned
        if self.inputs.K is None:
            return with_weights(self.inputs.Z, W)
        return np.ascontiguousarray(scores.T)

    def inner(self, V, mu):
        """<v, μ> of each block."""
        return np.einsum("nk,nk->n", V, mu)

    def found(self):
        """The result of the fit."""
        return Found(self.dual(), None if self.inputs.K is not None else self._learned[2].copy())


class ClosedBlocks(Blocks):
    """Rows whose oracles, and mostly blocks too, have a closed form.

    Parameters
    ----------
    costs : tuple
        As `costs_of` makes them.
    """

    def __init__(self, inputs, alpha, vertices, constant, costs):
        super().__init__(inputs, alpha, (vertices,), constant)
        self._costs = costs

    def move(self, order, fixed, rule):
        """Visits in a compiled loop."""
        given = (self._costs, self.steps, self.means.mu)
        row_pass(self._learned, self.squares, order, fixed, rule, *given)

    def bound(self, V, means, which):
        """Bounds of all rows."""
        bounds, reached = np.empty((2, len(V)))
        upper_bounds(self._costs, V, means.mu, bounds, reached)
        return bounds, reached
