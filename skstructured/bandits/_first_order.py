"""Bandit learners with W = s Θ, simulated by the compiled epoch."""

import numpy as np

from skstructured._base.rows_in_range import refuse_row
from skstructured._base.validation import check_share, takes_singles_as_they_are
from skstructured._engine.compiled import kernel
from skstructured._engine.epoch import epoch_for
from skstructured._engine.gradients import products
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.rows import LONGEST, SHORTEST, SINGLE, SINGLE_NORMS, Rows
from skstructured._engine.state import OWN, LinearState, at_once, new_state
from skstructured._learners.lock import learned_aside
from skstructured._learners.progress import with_progress
from skstructured._learners.weights import LinearWeights, linear_scores
from skstructured.bandits._base import BanditClassifier
from skstructured.extend._types import Kernel
from skstructured.losses.gap import best_class

# The state vector, after the epoch's own entries; the gradient kernels read it too.
KIND, N_CLASSES, X_SQ, LEARN_NORM, ROUND, HORIZON = range(OWN, OWN + 6)
RHO, EXPLORATION, RADIUS, THETA_SQ, LARGEST_SQ = range(OWN + 6, OWN + 11)


#: What a round's row of scratch holds: a uniform number, and what was drawn with it.
UNIFORM, ACTION, PROPENSITY = range(3)


@kernel
def sum_step(state, raw, g, x_sq, weight):
    """u = −1; keeps ‖Θ‖² ← ‖Θ‖² − 2<g, raw> + ‖g‖²‖x‖²."""
    inner, g_sq = products(g, raw)
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * inner + g_sq * x_sq, 0.0)
    return -1.0


@kernel
def draw(theta, share, work):
    """Draw from (1 − share) e_{y*} + share/K; the action and its propensity, noted in `work`."""
    dim, top, total = theta.shape[0], best_class(theta), 0.0
    action = dim - 1
    for k in range(dim):
        total += share / dim + (1.0 - share if k == top else 0.0)
        if work[UNIFORM] < total:
            action = k
            break
    propensity = share / dim + (1.0 - share if action == top else 0.0)
    work[ACTION], work[PROPENSITY] = action, propensity
    return action, propensity


class FirstOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with W = s Θ, simulated by the compiled epoch."""

    fractional_rewards = True
    _learns_singles = True
    scale_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings both
    gradient_kernel: Kernel = None  # type: ignore[assignment]

    def _setup(self, dim, width):
        vector = new_state(11, THETA_SQ)
        vector[N_CLASSES] = float(dim)
        vector[HORIZON] = 0.0 if self.horizon is None else float(self.horizon)
        vector[EXPLORATION] = self._exploration()
        vector[LEARN_NORM] = 1.0
        limits = SINGLE_NORMS if takes_singles_as_they_are(self) else (SHORTEST, LONGEST)
        single = self._dtype == SINGLE
        self._state = LinearState(dim, width, vector, single=single, limits=limits)

    def _exploration(self):
        """ρ as given, or −1 for the schedule of theory."""
        if self.exploration is None:
            return -1.0
        return check_share("exploration", self.exploration)

    def _largest_sq(self, X):
        sparse = hasattr(X, "multiply")
        squares = (X.multiply(X) if sparse else np.square(X, dtype=np.float64)).sum(axis=1)
        return float(np.max(squares)) + float(self._intercept)

    def _next_round(self, X):
        """Rows, s and the vector of the next round, whose rows count in it; nothing is changed."""
        vector = self._state.vector.copy()
        Z = self._scale.copy().apply(Rows.from_array(X))[0].matrix
        return Z, self.scale_kernel(vector, self._largest_sq(Z), 1.0), vector

    def _thetas(self, X):
        Z, s, _ = self._next_round(X)
        return s * linear_scores(self._state.matrix, Z)

    def _scores(self, X):
        """Scores of new rows, which do not count."""
        rows = Rows.from_array(self._fitted_rows(X))
        with self.lock:
            return linear_scores(self._weights(), self._scale.completed(rows).matrix)

    def _rho(self, X):
        return self._next_round(X)[2][RHO]

    def _learn_rows(self, X, codes, rewards, propensities):
        X = self._scale.apply(Rows.from_array(X))[0].matrix
        self._state.store_for(hasattr(X, "indptr"))
        vector, Theta, p = self._state.vector, self._state.own, X.shape[1]
        s = self.scale_kernel(vector, self._largest_sq(X), 1.0)
        theta = s * linear_scores(self._state.matrix, X)
        vector[ROUND] += X.shape[0] - 1
        G = self._gradients(np.ascontiguousarray(theta), codes, rewards / propensities)
        Theta[:, :p] -= np.asarray((X.T @ G).T)
        if Theta.shape[1] > p:
            Theta[:, p] -= G.sum(axis=0)
        learned = self._state.matrix
        vector[THETA_SQ] = float(np.vdot(learned, learned))

    def _simulate(self, rows, codes):
        n = len(codes)
        sparse = self._scale.makes_sparse(rows)
        self._state.store_for(sparse)
        move_and_score = move_and_score_kernel(len(self.classes_), sparse)
        kernels = (move_and_score, self.gradient_kernel, self.scale_kernel, sum_step)
        learn, size = epoch_for(kernels, self._state.is_single)
        size = self._scale.block_size(size, rows)
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for start in with_progress(self, range(0, n, size), n):
            block = np.arange(start, min(start + size, n))
            with self.lock, learned_aside(self, draws=True) as twin:
                drawn, stopped = twin._simulate_block(learn, rows, block, codes[block])
                learned = block[: stopped if stopped >= 0 else None]
                actions[block], propensities[block] = drawn[:, ACTION], drawn[:, PROPENSITY]
                twin._count(actions[learned], codes[learned])
            if stopped >= 0:
                refuse_row(self, rows.X, block[stopped])
        return actions, propensities

    def _simulate_block(self, learn, rows, block, codes):
        """Play and learn rows; what was drawn, and the place of a row that stopped it, or -1."""
        m, state = len(block), self._state
        drawn = np.zeros((m, 3))
        drawn[:, UNIFORM] = self.random_state_.random_sample(m)
        found = self._scale.counted(rows, block, np.ones(m))
        given = (found.rows, found.places, self.space_.unpack(codes), np.ones(m))
        # The state is what the gradient kernels read as parameters: ρ is another in every round.
        loop = learn(*given, state, state.vector, drawn, np.empty((0, 0)))
        stopped, _ = at_once(loop, found.commit)
        if stopped >= 0:  # the rows before it are counted again, without it
            at_once(found.undo)
            self._scale.apply(rows, block[:stopped])
        return drawn, stopped

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            state = self._state
            return self._scale.fold(self.scale_kernel(state.vector.copy(), 0.0, 1.0) * state.matrix)
