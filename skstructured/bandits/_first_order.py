"""Bandit learners with W = s Θ, simulated by the compiled epoch."""

import numpy as np

from skstructured._advance import advance_kernel
from skstructured._average import aligned, aligned_zeros
from skstructured._compiled import kernel
from skstructured._driver import OWN, epoch_for, new_state
from skstructured._learning import uninterrupted
from skstructured._validation import check_share, refuse_row
from skstructured._weights import LinearWeights
from skstructured.bandits._base import BanditClassifier
from skstructured.surrogates import best_class

# The state vector, after the driver's own entries; the gradient kernels read it too.
KIND, K, X_SQ, LEARN_NORM, ROUND, HORIZON = range(OWN, OWN + 6)
RHO, EXPLORATION, RADIUS, THETA_SQ, LARGEST_SQ = range(OWN + 6, OWN + 11)


@kernel
def sum_step(state, raw, g, x_sq, weight):
    """u = −1; keeps ‖Θ‖² ← ‖Θ‖² − 2<g, raw> + ‖g‖²‖x‖²."""
    inner, g_sq = 0.0, 0.0
    for k in range(g.shape[0]):
        inner += g[k] * raw[k]
        g_sq += g[k] * g[k]
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * inner + g_sq * x_sq, 0.0)
    return -1.0


@kernel
def draw(theta, share, work):
    """Draw from (1 − share) e_{y*} + share/K by the next uniform number; notes what was drawn.

    `work` holds the round, the number of rounds, then their uniforms, actions and propensities.
    """
    t, n, dim = int(work[0]), int(work[1]), theta.shape[0]
    top, total, action = best_class(theta), 0.0, dim - 1
    for k in range(dim):
        total += share / dim + (1.0 - share if k == top else 0.0)
        if work[2 + t] < total:
            action = k
            break
    propensity = share / dim + (1.0 - share if action == top else 0.0)
    work[2 + n + t], work[2 + 2 * n + t], work[0] = action, propensity, t + 1.0
    return action


class FirstOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with W = s Θ, simulated by the compiled epoch."""

    fractional_rewards = True
    scale_kernel = None
    gradient_kernel = None

    def _setup(self, dim, width):
        self._state = new_state(11)
        self._state[K] = float(dim)
        self._state[HORIZON] = 0.0 if self.horizon is None else float(self.horizon)
        self._state[EXPLORATION] = self._exploration()
        self._state[LEARN_NORM] = 1.0
        self._Theta, self._by_feature = aligned_zeros((dim, width)), False

    def _exploration(self):
        """ρ as given, or −1 for the schedule of theory."""
        if self.exploration is None:
            return -1.0
        return check_share("exploration", self.exploration)

    def _matrix(self):
        return self._Theta.T if self._by_feature else self._Theta

    def _raw(self, X):
        Theta, p = self._matrix(), X.shape[1]
        raw = np.asarray(X @ Theta[:, :p].T)
        return raw + Theta[:, p] if Theta.shape[1] > p else raw

    def _largest_sq(self, X):
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else (X * X).sum(axis=1)
        return float(np.max(squares)) + float(self._intercept)

    def _thetas(self, X):
        s = self.scale_kernel(self._state.copy(), self._largest_sq(X), 1.0)
        return s * self._raw(X)

    def _rho(self, X):
        """ρ of the next round, whose features count in it."""
        state = self._state.copy()
        self.scale_kernel(state, self._largest_sq(X), 1.0)
        return state[RHO]

    def _learn_rows(self, X, codes, rewards, propensities):
        theta = self.scale_kernel(self._state, self._largest_sq(X), 1.0) * self._raw(X)
        self._state[ROUND] += X.shape[0] - 1
        G = self._gradients(np.ascontiguousarray(theta), codes, rewards / propensities)
        Theta, p = self._matrix(), X.shape[1]
        Theta[:, :p] -= np.asarray((X.T @ G).T)
        if Theta.shape[1] > p:
            Theta[:, p] -= G.sum(axis=0)
        self._state[THETA_SQ] = float(np.vdot(self._Theta, self._Theta))

    def _simulate(self, X, rows, codes):
        by_feature, n = rows.is_sparse, len(codes)
        Theta = aligned(self._Theta.T if by_feature != self._by_feature else self._Theta)
        # Nothing is called between the two, where a signal could come in.
        self._Theta, self._by_feature = Theta, by_feature
        advance = advance_kernel(len(self.classes_), by_feature)
        learn, size = epoch_for((advance, self.gradient_kernel, self.scale_kernel, sum_step))
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for start in range(0, n, size):
            block = np.arange(start, min(start + size, n))
            with uninterrupted():
                played, stopped = self._simulate_block(learn, rows, block, codes[block])
                learned = block[: stopped if stopped >= 0 else None]
                actions[block], propensities[block] = played
                self._count(actions[learned], codes[learned])
            if stopped >= 0:
                refuse_row(self, X, block[stopped])
        return actions, propensities

    def _simulate_block(self, learn, rows, block, codes):
        """Play and learn rows; what was played, and the place of a row that stopped it, or -1."""
        m = len(block)
        work = np.zeros(2 + 3 * m)
        work[1], work[2 : 2 + m] = m, self.random_state_.random_sample(m)
        arrays = (rows, block, self.space_.unpack(codes), np.ones(m), self._Theta, False)
        stopped = learn(*arrays, self._state, self._state, work, np.empty((0, 0)))
        return (work[2 + m : 2 + 2 * m], work[2 + 2 * m :]), stopped

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("weights are there after the first round.")
        return self.scale_kernel(self._state.copy(), 0.0, 1.0) * self._matrix()
