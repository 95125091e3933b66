"""The max-min oracle by mirror prox (Nowak-Vila, Bach, Rudi 2020, Algorithm 2)."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from skstructured._chains import marginals, viterbi
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.types import FUNCTION_TYPES, as_loss
from skstructured.estimators.margin._atoms import add_product
from skstructured.estimators.margin._closed_forms import StepRule, chord_step
from skstructured.regularizers import SquaredNorm, find_oracle


@plain_integers
class MirrorMap(IntEnum):
    """∇Ω: μ, ln μ, and ln μ − ln(1 − μ)."""

    SQUARED, LOG, LOGIT = range(3)


class SaddlePointGame(NamedTuple):
    """Outputs as mirror prox sees them: ``max_μ min_ν <ν, Aμ + b> + <a + v, μ>``.

    `loss` is (A, a, b), `mean` the kernel of ``argmax <θ, μ> − Ω(μ)`` with its `work`, `kind` the
    `MirrorMap`, `eta` the step, and ``best(c)`` the largest <c, y>.
    """

    loss: tuple
    mean: Any
    work: int
    kind: int
    eta: float
    best: Any


def game_of(space, regularizer, loss, eta, best):
    """The `SaddlePointGame` whose Ω is the regularizer of a space."""
    oracle = find_oracle(space, regularizer)
    kind = MirrorMap.LOGIT if space.has_indicators else MirrorMap.LOG
    kind = MirrorMap.SQUARED if isinstance(regularizer, SquaredNorm) else kind
    work = oracle.work(len(loss[1]))
    return SaddlePointGame(loss, oracle.kernel_for(space), work, int(kind), eta, best)


@kernel
def _potential(kind, mu, theta):
    """θ = ∇Ω(μ); 0 has no logarithm."""
    for k in range(mu.shape[0]):
        theta[k] = mu[k] if kind == MirrorMap.SQUARED else np.log(max(mu[k], 1e-300))
        if kind == MirrorMap.LOGIT:
            theta[k] -= np.log(max(1.0 - mu[k], 1e-300))


@kernel
def _gains(loss, v, points, gains):
    """Gradients Aᵀν + a + v of μ, and −(Aμ + b) of ν, at both."""
    A, a, b = loss
    gains[0], gains[1] = v + a, 0.0
    add_product(A, True, points[1], gains[0])
    add_product(A, False, points[0], gains[1])
    gains[1] = -(gains[1] + b)


@kernel(function_type=FUNCTION_TYPES.loss)
def mirror_prox(mean, work, kind, loss, eta, n_iter, v, start):
    """Means of the half-steps of μ and ν, (2, dim), from their starting points."""
    mean_of, (sides, dim) = as_loss(mean), start.shape
    main, half, gains, means = start.copy(), start.copy(), start.copy(), np.zeros((sides, dim))
    zeros, theta, none, scratch = np.zeros(dim), np.zeros(dim), np.empty(0), np.zeros(work)
    for _ in range(n_iter):
        for points, to in ((main, half), (half, main)):
            _gains(loss, v, points, gains)
            for side in range(sides):
                _potential(kind, main[side], theta)
                mean_of(theta + eta * gains[side], zeros, to[side], none, scratch)
        means += half / n_iter
    return means


class MirrorProx:
    """Moves blocks towards the result of mirror prox, if `warm` from that of their last visit.

    The game of sequences is the costs (k, k) of positions. `n_iter` = None is 20, or 10 times the
    length of a sequence. `gaps` are those of the oracle in each visit.
    """

    def __init__(self, blocks, game, n_iter, warm):
        self.blocks, self.game, self.n_iter, self.warm = blocks, game, n_iter, warm
        self.gaps, self._starts = [], {}

    def move(self, order, fixed, rule):
        """Visits to the blocks in `order`; `fixed` are the steps of the rule."""
        blocks = self.blocks
        for i, step in zip(order, fixed, strict=True):
            here, v = blocks.means.mu[blocks.at(i)], blocks.scores_at(i)
            point, upper = self._saddle(i, v)
            reached = self._height(v, point)
            self.gaps.append(upper - reached)
            d = point - here
            if rule != StepRule.FIXED:
                step = chord_step(reached - self._height(v, here), blocks.bend(i, d))
            blocks.shift(i, step * d)

    def _height(self, v, mu):
        """H(μ)."""
        A, a, b = self.game.loss
        costs = b.copy()
        add_product(A, False, mu, costs)
        return mu @ (v + a) - self.game.best(-costs)

    def _saddle(self, i, v):
        """μ and an upper bound on max H by ν."""
        mean, (A, a, b) = self.game.mean, self.game.loss
        start = self._starts.get(i)
        if start is None:
            center, zeros = np.empty(len(v)), np.zeros(len(v))
            mean(zeros, zeros, center, np.empty(0), np.zeros(self.game.work))
            start = np.array([center, center])
        args = self.game.work, self.game.kind, self.game.loss, self.game.eta, self.n_iter or 20
        mu, nu = saddle_point = mirror_prox(mean, *args, v, start)
        self._starts[i] = saddle_point if self.warm else start
        up = v + a
        add_product(A, True, nu, up)
        return mu, self.game.best(up) + b @ nu


class ChainMirrorProx(MirrorProx):
    """Mirror prox over label sequences: sum-product for μ, a softmax per position for ν.

    θ and the scores of steps are those of Ω's gradient at the first μ, to which all gradients add.
    """

    def _height(self, v, mu):
        label_marginals = mu[: -self.game.size].reshape(-1, len(self.game))
        return v @ mu + (self.game @ label_marginals.T).min(axis=0).mean()

    def _saddle(self, i, v):
        A, k = self.game, len(self.game)
        u, T = v[: -(k * k)].reshape(-1, k), v[None, -(k * k) :].reshape(1, k, k)
        M = len(u)
        n_iter = self.n_iter or 10 * M
        eta, offsets = 2.0 * M / (A.max() - A.min()), np.array([0, M])
        start = np.zeros((M, k)), np.zeros((M, k, k)), np.zeros((M, k))
        theta, pair, log_nu = self._starts.get(i, start)
        mu, nu = marginals(theta, offsets, pair)[0], softmax(log_nu, axis=1)
        mean_mu, mean_each, mean_nu = np.zeros((M, k)), np.zeros((M, k, k)), np.zeros((M, k))
        for t in range(1, n_iter + 1):
            steps = pair + eta * t * T
            half, _, each = marginals(theta + eta * (u + nu @ A / M), offsets, steps, "each")
            half_nu = softmax(log_nu - eta * mu @ A.T / M, axis=1)
            theta, log_nu = theta + eta * (u + half_nu @ A / M), log_nu - eta * half @ A.T / M
            mu, nu = marginals(theta, offsets, steps)[0], softmax(log_nu, axis=1)
            mean_mu += half / n_iter
            mean_each += each / n_iter
            mean_nu += half_nu / n_iter
        if self.warm:
            self._starts[i] = (*_chain_potentials(mean_mu, mean_each), _floored_log(mean_nu))
        upper = viterbi(u + mean_nu @ A / M, offsets, T)[1][0]
        return np.r_[mean_mu.ravel(), mean_each[:-1].sum(axis=0).ravel()], upper


def _floored_log(share):
    return np.log(np.maximum(share, 1e-300))


def _chain_potentials(mu, each):
    """Scores of positions and steps whose marginals are these: ln μ of steps, less inner ones."""
    if len(mu) == 1:
        return _floored_log(mu), np.zeros(each.shape)
    theta, pair = np.zeros(mu.shape), _floored_log(each)
    theta[1:-1] = -_floored_log(mu[1:-1])
    return theta, pair
