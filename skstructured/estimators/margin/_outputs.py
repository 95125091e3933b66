"""Outputs as max-margin models see them: vertices φ(y), and the cost <φ(y'), c(y)> + a(y)."""

import itertools
import math

import numpy as np
from sklearn.base import clone

from skstructured import spaces
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_vertices, refuse
from skstructured._engine.compiled import is_kernel
from skstructured.estimators.margin._atoms import points_of, vertex_kernel
from skstructured.estimators.margin._blocks import AtomBlocks, ClosedBlocks
from skstructured.estimators.margin._closed_forms import BlockKind, best_matching
from skstructured.estimators.margin._mirror_prox import ChainMirrorProx, MirrorProx, game_of
from skstructured.regularizers import Shannon, SquaredNorm
from skstructured.spaces.permutahedron import rank_vertex
from skstructured.spaces.simplex import check_costs


def random_vertices(space, n):
    """n vertices of the largest random scores."""
    theta = np.random.RandomState(0).randn(n, space.dim_)
    return check_vertices(space, "argmax", space.argmax(theta), theta.shape)


def target_costs(space, V):
    """c(y) (n, dim) and a(y) (n,) of vertices V; a ValueError if the loss has another form.

    They are the values of ``space.target_costs(V)``, if that method exists, else they come from
    ``expected_loss`` at 0 and at the unit vectors. Both are checked at vertices.
    """
    n, dim = V.shape
    if hasattr(space, "target_costs"):
        C, constant = space.target_costs(V)
        C = check_vertices(space, "target_costs", C, V.shape)
        constant = np.reshape(constant, (-1, 1))
        constant = check_vertices(space, "target_costs", constant, (n, 1))[:, 0]
    else:
        constant = np.asarray(space.expected_loss(np.zeros(V.shape), V), dtype=np.float64)
        units = (np.tile(unit, (n, 1)) for unit in np.eye(dim))
        C = np.column_stack([space.expected_loss(U, V) - constant for U in units])
    others = random_vertices(space, n)
    estimates, losses = np.einsum("nk,nk->n", others, C) + constant, space.expected_loss(others, V)
    requirement = (
        "a loss that is affine in the mean, or its costs by target_costs(V) -> (C, constant): "
        "max-margin models learn no other"
    )
    _check(space, estimates, losses, requirement)
    return C, constant


def _check(space, estimates, losses, requirement):
    if not np.abs(estimates - losses).max() <= 1e-8 * (1.0 + np.abs(losses).max()):  # rounding
        refuse(space, "expected_loss", requirement)


def affine_costs(space, V):
    """A, a, b and the number a₀ of ``L(y', y) = <y', A y + b> + <a, y> + a₀``; else a ValueError.

    Found by least squares from the costs of vertices, which determine it on the hull of all.
    """
    V = np.concatenate([V[: 4 * space.dim_], random_vertices(space, 3 * space.dim_ + 8)])
    C, constant = target_costs(space, V)
    costs = np.column_stack([C, constant])
    points = np.column_stack([V, np.ones(len(V))])
    coefs = np.linalg.lstsq(points, costs, rcond=None)[0]
    requirement = (
        "a loss that is affine in the true output too: the max-min network learns no other, "
        "StructuralSVM does"
    )
    _check(space, points @ coefs, costs, requirement)
    A = np.ascontiguousarray(coefs[:-1, :-1].T)
    return A, coefs[:-1, -1].copy(), coefs[-1, :-1].copy(), float(coefs[-1, -1])


def lipschitz_constant(A):
    """C = (k − q)/(1 − q) of symmetric costs A (k, k) (Proposition C.10); else a GuaranteeError.

    q is the largest ``Σ |A_ty − A_tz|/A_yz`` of two classes, over all other classes t.
    """
    k, q = len(A), 0.0
    for z, y in itertools.combinations(range(k), 2):
        gaps = np.abs(A[:, y] - A[:, z])
        other_gaps = gaps.sum() - gaps[y] - gaps[z]
        q = max(q, other_gaps / A[y, z] if A[y, z] > 0.0 else np.inf)
    if not np.array_equal(A, A.T) or q >= 1.0:
        raise GuaranteeError(
            "No bound with this cost_matrix: Nowak-Vila et al. (2020) only give a constant for "
            "symmetric costs A with Σ_t |A_ty − A_tz| < A_yz over the other classes t, such as "
            "0–1 costs."
        )
    return (k - q) / (1.0 - q)


def with_costs(space, cost_matrix):
    """The space, or a fitted copy with these costs."""
    if cost_matrix is None:
        return space
    return clone(space).set_params(cost_matrix=cost_matrix)._adopt(space.classes_)


class SequenceOutputs:
    """Label sequences with mean costs A[predicted, true] of their positions."""

    def __init__(self, space, cost_matrix=None):
        self.space, self.dim = with_costs(space, cost_matrix), space.dim_
        costs = space.costs_ if cost_matrix is None else check_costs(cost_matrix, self.dim)
        self.A = np.ascontiguousarray(costs)

    def unit(self, packed, share):
        """The least cost there is of a position, as a share of a sequence of the mean length."""
        return self.A[self.A > 0.0].min() / (share @ packed.lengths)

    def blocks(self, learner, packed, inputs, alpha):
        """The blocks of a dual learner."""
        points = [points_of(self.dim, labels[None]).ravel() for labels in packed.unstack()]
        A, zeros = self.A if learner.is_max_min else np.zeros((1, 1)), np.zeros(1)
        args = np.concatenate(points), (A, zeros, zeros), learner, self.targets(packed)
        return AtomBlocks(inputs, alpha, *args, k=self.dim)

    def mirror_prox(self, blocks, n_iter, warm):
        """What moves the blocks of the max-min network by the oracle of the paper."""
        return ChainMirrorProx(blocks, self.A, n_iter, warm)

    def reach(self, inputs, counted):
        """The largest Σ (‖Φ(x_m)‖ + 1) + 1 over positions, first and last labels and steps; 2."""
        sums = np.add.reduceat(np.sqrt(inputs.squares()) + 1.0, inputs.offsets[:-1])
        return float(np.max(sums[counted])) + 1.0, 2.0

    def comparison(self):
        """C of a position, and its largest cost."""
        return lipschitz_constant(self.A), self.A.max()

    def targets(self, packed):
        """Costs c(y) of positions, (N, k), as parts of those of sequences."""
        lengths = packed.lengths
        return self.A.T[packed.values] / np.repeat(lengths, lengths)[:, None]

    def labels(self, packed):
        """Outputs as users have them."""
        return self.space.decode(packed)

    def decode(self, theta):
        """The label sequences of the largest scores."""
        return self.space.decode(theta.best())

    def loss(self, predicted, y):
        """Mean costs of sequences as shares of the largest, (n,)."""
        return self.space.target_loss(predicted, y)


class RowOutputs:
    """Outputs of rows, of any space that has a linear oracle and an affine target loss.

    `max_min` and `linear` are closed forms of the max-min network and of the structural SVM.
    Without them, means are mixtures of few outputs, which the oracle finds, and the loss of the
    network is bilinear, ``<y', A y + b> + <a, y> + a₀``.
    """

    #: The largest ‖φ(y)‖, of those that have a `comparison`.
    longest = 1.0

    #: The mirror map, and how convex it is beside A.
    regularizer, strength = SquaredNorm(), 1.0

    def __init__(self, space, cost=1.0, max_min=None, linear=None):
        self.space, self.dim, self.A = space, space.dim_, np.array([[cost]])
        self.max_min, self.linear = max_min, linear

    def blocks(self, learner, packed, inputs, alpha):
        """The blocks of a dual learner."""
        V, max_min = self.vertices(packed), learner.is_max_min
        kind = self.max_min if max_min else self.linear
        if kind is not None:
            C, codes, constant = self.costs(packed)
            constant = 0.0 if max_min else constant
            return ClosedBlocks(inputs, alpha, V, constant, kind, self.A, C, codes)
        zeros = np.zeros(self.dim)
        loss, ell = (np.zeros((1, 1)), zeros, zeros), None
        if max_min:
            *loss, constant = self._bilinear(V)
        else:
            ell, constant = self._costs(V)
        return AtomBlocks(inputs, alpha, V, tuple(loss), learner, ell, constant, self.oracle())

    def mirror_prox(self, blocks, n_iter, warm):
        """What moves the blocks of the max-min network by the oracle of the paper."""
        return MirrorProx(blocks, self._game(blocks), n_iter, warm)

    def _game(self, blocks):
        A = blocks.loss[0]
        norm = abs(A[0, 0]) if A.size == 1 else np.linalg.norm(A, 2)
        eta = self.strength / norm if norm > 0.0 else 1.0
        best = lambda c: c @ self._argmax(c[None])[0]  # noqa: E731
        return game_of(self.space, self.regularizer, blocks.loss, eta, best)

    def oracle(self):
        """The compiled oracle of the space, or its `argmax`."""
        if is_kernel(self.space.oracle_kernel):
            return vertex_kernel(self.space.oracle_kernel)
        return lambda k, theta, vertex: np.copyto(vertex, self._argmax(theta[None])[0])

    def _argmax(self, theta):
        return check_vertices(self.space, "argmax", self.space.argmax(theta), theta.shape)

    def reach(self, inputs, counted):
        """The largest ‖Φ(x)‖ of the rows that count, and twice the largest ‖φ(y)‖."""
        return math.sqrt(np.max(inputs.squares()[counted])), 2.0 * self.longest

    def comparison(self):
        """C of the comparison inequality, and the largest cost; a GuaranteeError without C."""
        raise GuaranteeError(
            f"No bound for outputs of {type(self.space).__name__}: Nowak-Vila et al. (2020) give "
            "no constant for them."
        )

    def unit(self, packed, share):
        """The largest entry of a c(y), in absolute value."""
        return np.abs(self.costs(packed[:1])[0]).max()

    def vertices(self, packed):
        """φ(y), (n, dim), checked."""
        V = self.space.unpack(packed)
        return check_vertices(self.space, "unpack", V, (len(packed), self.dim))

    def costs(self, packed):
        """The costs c(y) that occur, which of them is that of a row, and a(y)."""
        C, constant = self._costs(self.vertices(packed))
        return np.ascontiguousarray(C), np.arange(len(C)), constant

    def targets(self, packed):
        """The costs c(y) of rows."""
        costs, codes, _ = self.costs(packed)
        return costs[codes]

    def _costs(self, V):
        return target_costs(self.space, V)

    def _bilinear(self, V):
        return affine_costs(self.space, V)

    def labels(self, packed):
        """Outputs as users have them."""
        return self.space.decode(self.space.unpack(packed))

    def decode(self, theta):
        """The outputs of the largest scores."""
        return self.space.decode(self._argmax(theta))

    def loss(self, predicted, y):
        """The space's target loss of every row."""
        return self.space.target_loss(predicted, y)


class ClassOutputs(RowOutputs):
    """Classes with one score each, also ordinal ones, φ(y) = e_y, and costs A[predicted, true].

    Costs are 0–1 by default, or |i − j| for ordinal classes.
    """

    def __init__(self, space, cost_matrix=None):
        k = len(space.classes_)
        steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        self.space, self.dim = with_costs(space, cost_matrix), k
        default = steps if space.is_ordered else np.minimum(steps, 1.0)
        self.A = default if cost_matrix is None else check_costs(cost_matrix, k)
        first = self.A[1, 0]
        is_zero_one = (first * np.minimum(steps, 1.0) == self.A).all()
        is_ordinal = (first * steps == self.A).all()
        kind = BlockKind.ORDINAL if is_ordinal else BlockKind.GAME
        self.max_min = BlockKind.ZERO_ONE if is_zero_one else kind
        self.linear = BlockKind.LINEAR_CLASS

    def unit(self, packed, share):
        """The least cost there is."""
        return self.A[self.A > 0.0].min()

    def vertices(self, packed):
        """φ(y), (n, k)."""
        return np.eye(self.dim)[packed]

    def costs(self, packed):
        """The costs c(y), which of them is that of a row, and a(y)."""
        return np.ascontiguousarray(self.A.T), packed.astype(np.int64), np.zeros(len(packed))

    def comparison(self):
        """(k − q)/(1 − q), which is k for 0–1 costs."""
        return lipschitz_constant(self.A), self.A.max()

    def _game(self, blocks):
        zeros = np.zeros(self.dim)
        eta = 2.0 / (self.A.max() - self.A.min())
        return game_of(spaces.Simplex(), Shannon(), (self.A, zeros, zeros), eta, np.max)

    def decode(self, theta):
        """The classes of the largest scores."""
        return self.space.classes_[np.argmax(theta, axis=1)]


class LabelSetOutputs(RowOutputs):
    """Multilabel outputs: L(y', y) = <y', 1 − 2y>/d + <y, 1>/d."""

    def __init__(self, space):
        super().__init__(space, 1.0 / space.dim_, BlockKind.HAMMING, BlockKind.LINEAR_LABELS)
        self.longest = math.sqrt(self.dim)

    def _costs(self, V):
        return (1.0 - 2.0 * V) / self.dim, V.mean(axis=1)

    def comparison(self):
        """2, that of a label."""
        return 2.0, 1.0

    def _game(self, blocks):
        share = np.full(self.dim, 1.0 / self.dim)
        loss, best = (np.array([[-2.0 / self.dim]]), share, share), lambda c: c[c > 0.0].sum()
        return game_of(self.space, Shannon(), loss, 2.0 * self.dim, best)


class MatchingOutputs(RowOutputs):
    """Assignments: L(P', P) = 1 − <P', P>/m."""

    regularizer, strength = Shannon(), 2.0

    def __init__(self, space):
        super().__init__(space, 1.0 / space.n_items_, linear=BlockKind.LINEAR_MATCHING)

    def oracle(self):
        """Maximal assignments."""
        return best_matching

    def _costs(self, V):
        return -V / self.space.n_items_, np.ones(len(V))

    def _bilinear(self, V):
        zeros = np.zeros(self.dim)
        return np.array([[-1.0 / self.space.n_items_]]), zeros, zeros, 1.0


class RankOutputs(RowOutputs):
    """Rank vectors: L(r', r) = <r − c, r − r'>/M with c the mean rank, M = d(d² − 1)/6.

    The bilinear form is the mean of L over the orders of tied items, of which r is the mean.
    """

    def __init__(self, space):
        super().__init__(space, linear=BlockKind.LINEAR_RANKS)
        self._unit, self._mean = space.dim_ * (space.dim_**2 - 1) / 6.0, (space.dim_ + 1) / 2.0

    def oracle(self):
        """Ranks of scores."""
        return vertex_kernel(rank_vertex)

    def unit(self, packed, share):
        """The largest entry of a c(y) without ties."""
        return (self._mean - 1.0) / self._unit

    def _costs(self, V):
        centered = V - self._mean
        return -centered / self._unit, np.einsum("nk,nk->n", centered, V) / self._unit

    def _bilinear(self, V):
        level, zeros = np.full(self.dim, self._mean / self._unit), np.zeros(self.dim)
        return np.array([[-1.0 / self._unit]]), zeros, level, 0.5


def outputs_of(space, cost_matrix):
    """The outputs of a fitted space."""
    if space.reader.has_sequences:
        return SequenceOutputs(space, cost_matrix)
    if space.task == "multiclass" and hasattr(space, "cost_matrix"):
        return ClassOutputs(space, space.cost_matrix if cost_matrix is None else cost_matrix)
    kinds = {spaces.Hypercube: LabelSetOutputs, spaces.Birkhoff: MatchingOutputs}
    kinds[spaces.Permutahedron] = RankOutputs
    return kinds.get(type(space), RowOutputs)(space)
