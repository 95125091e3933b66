"""Blocks of the dual: the means of outputs, and the weights or scores that follow their moves."""

import itertools
from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._engine.rows import Rows
from skstructured.estimators._batch import DualFit, check_memory, spread
from skstructured.estimators.margin import _closed_forms
from skstructured.estimators.margin._atoms import bend, best_labels, bounds, points_of, visit
from skstructured.estimators.margin._closed_forms import StepRule


class Means(NamedTuple):
    """Means of blocks, one after the other from `begins`, and the mixtures that they are.

    A sequence has the marginals (M, k) of its positions and then the sums (k, k) of those of its
    steps. `nu` are mixtures of predictions. Per block, `atoms` are outputs that make up the mean,
    with their weights, and `rows` predictions that make up its ν.
    """

    begins: np.ndarray
    mu: np.ndarray
    nu: np.ndarray
    atoms: list
    rows: list

    def copy(self):
        """Another that is moved by itself."""
        return Means(*(field.copy() for field in self))


class Blocks:
    r"""Blocks of the dual of ``min_w Σ share_i S(g_w(x_i), y_i) + (α/2)‖w‖²``, one per output.

    Kinds of blocks have ``move(order, fixed, rule)``, which visits blocks in that order, with the
    steps `fixed` for the rule FIXED, and ``bound(V, means, indices)``, which returns upper bounds
    on max H of some blocks at the scores V, and H at their means. `truth` is φ(y) as `Means.mu`, or
    (n, dim) of rows; `constant` is added to h; k are the labels of sequences, 0 for rows.
    """

    #: Whether max H is a game whose bounds are moved by `visit`, to what may be off by `slack`.
    plays, slack = False, 0.0

    def __init__(self, inputs, alpha, truth, constant=0.0, k=0):
        self.inputs, self.truth, self.constant, self.k = inputs, truth.ravel(), constant, k
        self.counted = np.flatnonzero(inputs.share > 0.0)
        self.steps, self.n = inputs.share / alpha, len(inputs.share)
        self.offsets = inputs.offsets if k else np.arange(self.n + 1)
        self.width = k or truth.shape[1]
        self.begins = self.offsets * self.width + np.arange(self.n + 1) * k**2
        self._own, self._steps = slice(None), slice(0, 0)
        if k:
            place = np.arange(len(truth)) - np.repeat(self.begins[1:], np.diff(self.begins))
            self._steps = place >= -(k**2)
            self._own = ~self._steps
        self._rows = Rows.from_array(inputs.Z if inputs.K is None else np.zeros((0, 0))).arrays

    def at(self, i):
        """Slice of block i in `Means.mu`."""
        return slice(self.begins[i], self.begins[i + 1])

    def joined(self, values, T):
        """Values of rows or positions, and T (k, k) of the steps of all, as `Means.mu` has them."""
        out = np.empty(self.begins[-1])
        out[self._own], out[self._steps] = values.ravel(), np.tile(T.ravel(), self.n)
        return out

    def scores_at(self, i):
        """Scores of block i, as learned so far."""
        v = np.empty(self.begins[i + 1] - self.begins[i])
        _closed_forms.read_scores(self._learned, *self._edges, self.offsets[i], v)
        return v

    def bend(self, i, d):
        """How the dual bends along a move of block i."""
        return self.squares[i] * self.steps[i] * (d @ d)

    def shift(self, i, d):
        """Move the mean of block i by d, and the weights with it."""
        self.means.mu[self.at(i)] += d
        _closed_forms.follow(self._learned, *self._edges, self.offsets[i], d, self.steps[i])

    def at_truth(self):
        """`Means` at φ(y)."""
        return Means(self.begins, self.truth.copy(), np.empty(0), [], [])

    def begin(self, old_means):
        """Means at φ(y), or those of a fit before; a ValueError if those do not fit."""
        if old_means is not None and not np.array_equal(old_means.begins, self.begins):
            raise ValueError(
                "warm_start=True requires the same training rows and classes as the last fit, "
                f"which had {len(old_means.begins) - 1} outputs; now there are {self.n}, or their "
                "lengths differ."
            )
        self.means = self.at_truth() if old_means is None else old_means.copy()
        if self.plays:
            self.games = self.at_truth()
        self.squares = self.inputs.squares() if not self.k else np.ones(self.n)
        self.refresh()

    def dual(self):
        """Coefficients (N, dim)."""
        moved = (self.truth - self.means.mu)[self._own].reshape(-1, self.width)
        return moved * spread(self.steps, self.inputs.offsets)[:, None]

    def refresh(self):
        """Recomputed weights or scores, and the weights of first and last labels and of steps."""
        D, K, k = self.dual(), self.inputs.K, self.k
        if K is None:
            self._learned = self._rows, np.zeros((0, 0)), self.inputs.weights_of(D), D[:0]
        else:
            self._learned = self._rows, K, D[:0], np.ascontiguousarray((K @ D).T)
        self._edges = np.zeros((2, k)), np.zeros((k, k))
        if k:
            first, moved = D[self.offsets[:-1]], (self.truth - self.means.mu)[self._steps]
            ends = np.array([first.sum(axis=0), D[self.offsets[1:] - 1].sum(axis=0)])
            self._edges = ends, np.einsum("n,nij->ij", self.steps, moved.reshape(-1, k, k))

    def scores(self):
        """Scores of all blocks, as `Means.mu` has them."""
        _, _, W, scores = self._learned
        V = self.inputs.with_weights(W) if self.inputs.K is None else scores.T.copy()
        if self.k:
            V[self.offsets[:-1]] += self._edges[0][0]
            V[self.offsets[1:] - 1] += self._edges[0][1]
        return self.joined(V, self._edges[1])

    def inner(self, V, mu):
        """<v, μ> of each block."""
        if self.k:
            return np.add.reduceat(V * mu, self.begins[:-1])
        return np.einsum("nk,nk->n", *(x.reshape(-1, self.width) for x in (V, mu)))

    def dual_fit(self):
        """The result of the fit."""
        W = None if self.inputs.K is not None else self._learned[2].copy()
        return DualFit(self.dual(), W, self._edges if self.k else None)


class ClosedBlocks(Blocks):
    """Rows whose oracles, and mostly blocks too, have a closed form, by the `BlockKind`.

    Costs are A and c(y), with the place among these of the one of each row.
    """

    def __init__(self, inputs, alpha, truth, constant, kind, *costs):
        super().__init__(inputs, alpha, truth, constant)
        self._solver, self._costs = _closed_forms.BLOCK_SOLVERS[kind], (int(kind), *costs)

    def move(self, order, fixed, rule):
        """Visits in a compiled loop."""
        mu = self.means.mu.reshape(-1, self.width)
        learned = self._learned, self.squares, order, fixed, int(rule)
        _closed_forms.row_pass(self._solver, *learned, self._costs, self.steps, mu)

    def bound(self, V, means, indices):
        """Bounds of all rows."""
        bounds, reached = np.empty((2, self.n))
        matrices = (x.reshape(-1, self.width) for x in (V, means.mu))
        _closed_forms.upper_bounds(self._solver, self._costs, *matrices, bounds, reached)
        return bounds, reached


class AtomBlocks(Blocks):
    """Rows or sequences whose means are mixtures of few atoms, as are ν, the predictions.

    The loss is (A, a, b) of ``L(y', y) = <y', A y + b> + <a, y>``, zeros for the SVM, which has the
    costs `ell` c(y_i) of rows or positions. Of sequences A are the costs [predicted, true] of a
    position; the loss is their mean. A block may leave a hundredth of the learner's `tol`. The
    ``oracle(k, theta, vertex)`` is compiled, or not.
    """

    def __init__(
        self, inputs, alpha, truth, loss, learner, ell, constant=0.0, oracle=best_labels, k=0
    ):
        super().__init__(inputs, alpha, truth, constant, k)
        max_min = self.plays = learner.is_max_min
        self.slack, self.loss = 0.01 * learner.tol, loss
        none = np.broadcast_to(0.0, self.truth.shape)
        self._ell = none if max_min else self.joined(ell, np.zeros((k, k)))
        one_row = np.ones((1, 1))
        self._kernels = kernels_within(inputs, learner.cache_size) if k else [one_row] * self.n
        self._oracle = oracle, max_min

    def at_truth(self):
        """Means at φ(y_i), their own atoms."""
        points, weight = [self.truth[None, self.at(i)].copy() for i in range(self.n)], np.ones(1)
        rows = [(v, weight) if self.plays and not self.k else (v[:0], weight[:0]) for v in points]
        atoms = [self._closed((v, weight)) for v in points]
        return Means(self.begins, self.truth.copy(), self.truth.copy(), atoms, rows)

    def _closed(self, atoms):
        """Atoms as stored: for sequences their labels."""
        if not self.k:
            return atoms
        points = atoms[0][:, : -(self.k**2)].reshape(len(atoms[0]), -1, self.k)
        return points.argmax(axis=2).astype(np.int16), atoms[1]

    def _target(self, means, i, v, q):
        """The new mean of a block, and its mixtures."""
        block, atoms = self.at(i), means.atoms[i]
        if self.k:
            atoms = points_of(self.k, atoms[0]), atoms[1]
        solver = self.k, self.loss, q, self._kernels[i]
        args = *self._oracle, self.slack, solver, v, means.mu[block]
        out, atoms, means.rows[i] = visit(*args, atoms, means.rows[i], means.nu[block])
        means.atoms[i] = self._closed(atoms)
        return out

    def move(self, order, fixed, rule):
        """Visits, one by one."""
        for i, step in zip(order, fixed, strict=True):
            block = self.at(i)
            v, mu = self.scores_at(i) + self._ell[block], self.means.mu[block]
            q = self.squares[i] * self.steps[i] * (rule == StepRule.BEST)
            d, gamma = self._target(self.means, i, v, q) - mu, 1.0 if q > 0.0 else step
            if rule != StepRule.FIXED and q == 0.0:
                gamma = _closed_forms.chord_step(self._gain(v, mu, d), self.bend(i, d))
            if _closed_forms.shrink(gamma, d):
                self.shift(i, d)

    def _gain(self, v, mu, d):
        """What H gains by a move of a block."""
        points, begins = np.r_[mu + d, mu], np.arange(3) * len(v)
        args = np.arange(2), begins, np.r_[v, v], points, points
        reached = bounds(*self._oracle, self.k, self.loss, *args)[1]
        return reached[0] - reached[1]

    def bend(self, i, d):
        """How the dual bends along a move of block i."""
        if not self.k:
            return super().bend(i, d)
        bent = np.empty_like(d)
        bend(self.k, self.steps[i], self._kernels[i], d, bent)
        return bent @ d

    def bound(self, V, means, indices):
        """Bounds by the ν of blocks."""
        args = indices, self.begins, V + self._ell, means.mu, means.nu
        return bounds(*self._oracle, self.k, self.loss, *args)

    def visit(self, V, means, indices):
        """Move the means of some blocks to the games ``max_μ H``, nearly."""
        for i in indices:
            means.mu[self.at(i)] = self._target(means, i, V[self.at(i)], 0.0)


def kernels_within(inputs, cache_size):
    """Kernels (M, M) of positions within sequences."""
    Z, K, offsets, _, intercept = inputs
    check_memory("kernels within sequences", int((np.diff(offsets) ** 2).sum()), cache_size)
    rows = [slice(*pair) for pair in itertools.pairwise(offsets)]
    if K is not None:
        return [np.ascontiguousarray(K[sequence, sequence]) for sequence in rows]
    blocks = (safe_sparse_dot(Z[sequence], Z[sequence].T, dense_output=True) for sequence in rows)
    return [np.ascontiguousarray(block + float(intercept)) for block in blocks]


class Ascent:
    """Passes over `Blocks`, which they or `MirrorProx` move, and their distance from the optimum.

    With `average` they end with the mean of all steps, the s-th of which counts s times.
    """

    def __init__(self, blocks, mover, average=False, replace=False):
        self.blocks, self.mover, self.replace = blocks, mover, replace
        self._late = np.zeros_like(blocks.truth) if average else None

    def run(self, rule, max_iter, tol, rng, verbose=0):
        """Passes in random order until the duality gap is at most `tol`; objectives and gaps.

        The gap is computed after each pass, from scores that are recomputed in the last one.
        """
        curve, blocks, counted = [], self.blocks, self.blocks.counted
        for t in range(max_iter):
            n, here = len(counted), blocks.means
            order = counted[rng.randint(n, size=n) if self.replace else rng.permutation(n)]
            self._pass(order, t * n, rule)
            if self._late is not None:
                steps = (t + 1) * n  # Σ s μ^s / Σ s: a move at step s is missing from those before
                late = self._late / (steps * (steps + 1.0))
                blocks.means = here._replace(mu=here.mu - late)
            if t % 10 == 9 or self._late is not None:  # rounding errors of moves add up
                blocks.refresh()
            loss, gap = self.certificate(0.1)
            if gap <= tol or t == max_iter - 1:
                blocks.refresh()
                loss, gap = self.certificate()
            curve.append((loss, gap))
            if verbose:
                print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
            if gap <= tol or t == max_iter - 1:
                break
            if self._late is not None:
                blocks.means = here
                blocks.refresh()
        return np.array(curve).T.copy()

    def _pass(self, order, clock, rule):
        """Steps `clock` + 1 and on, which are 2n/(t + 2n) by the rule FIXED."""
        n, mu = len(order), self.blocks.means.mu
        fixed = 2.0 * n / (clock + np.arange(n) + 2.0 * n)
        if self._late is None:
            self.mover.move(order, fixed, rule)
            return
        for t, i in enumerate(order):
            block, s = self.blocks.at(i), clock + t + 1
            old_mean = mu[block].copy()
            self.mover.move(order[t : t + 1], fixed[t : t + 1], rule)
            self._late[block] += s * (s - 1.0) * (mu[block] - old_mean)

    def certificate(self, gap_fraction=0.0):
        r"""The objective and the gap ``Σ share_i (max_μ H_i(μ) − H_i(μ_i))``, both at most.

        Upper bounds on max H make it a gap of suboptimality whether they are exact or not; they may
        be too large by a `gap_fraction` of the gap. As ``α‖w‖² = Σ share_i <v_i, φ(y_i) − μ_i>``,
        it is the objective less the dual one.
        """
        blocks, V, share = self.blocks, self.blocks.scores(), self.blocks.inputs.share
        bounds, reached = blocks.bound(V, blocks.means, np.arange(len(share)))
        if blocks.plays:
            bounds = self._play(V, bounds, reached, gap_fraction)
        bounds = np.maximum(bounds, reached)
        losses = bounds + blocks.constant - blocks.inner(V, blocks.truth)
        norm = share @ blocks.inner(V, blocks.truth - blocks.means.mu)
        return share @ losses + 0.5 * norm, share @ (bounds - reached)

    def _play(self, V, bounds, reached, gap_fraction):
        """Upper bounds on max H, tightened by playing the games of blocks.

        A game is visited again if its bounds are apart by more than its `slack`, and than a
        `gap_fraction` of its gap, and came nearer by a tenth in the last visit.
        """
        blocks, lower, left, apart = self.blocks, reached.copy(), self.blocks.counted, np.inf
        most_visits = 1 if gap_fraction > 0.0 else 20
        for turn in range(1 + most_visits):
            if turn > 0:
                blocks.visit(V, blocks.games, left)
            upper, game_values = blocks.bound(V, blocks.games, left)
            bounds[left] = np.minimum(bounds[left], upper)
            lower[left] = np.maximum(lower[left], game_values)
            was, apart = apart, bounds - lower
            room = np.maximum(gap_fraction * (bounds - reached), blocks.slack)
            is_open = apart > np.maximum(room, 1e-12 * (1.0 + np.abs(bounds)))
            left = left[(is_open & (apart <= 0.9 * was))[left]]
            if len(left) == 0:
                break
        return bounds
