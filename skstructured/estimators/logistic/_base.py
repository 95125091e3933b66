"""Second-order logistic learners: A over all weights with its inverse, and their model.

Symmetric matrices over (class direction, feature) are kept as one array of panels. Panel i has the
rows of class direction i, (p, (r − i)p), from its own block on: the half that a symmetric matrix
needs, in rows long enough for a processor's vectors.
"""

import itertools
import math
import warnings
from dataclasses import KW_ONLY
from enum import IntEnum
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive, writable
from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.state import State, at_once, clear, copy_into, inner
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import BlockResult
from skstructured._learners.weights import with_intercept
from skstructured.decoders import MAP, Nearest, Sampled, resolve_decoder
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Comparison, Model
from skstructured.guarantees.certificates import Certificate
from skstructured.losses import FenchelYoung

#: Rounds between two checks of how far P is from the inverse of A.
ROUNDS_PER_CHECK = 1024

#: Rows wait until so many are added to A together.
MAX_WAITING_ROWS = 16

#: What a round adds to A may be so many times what A starts with: its inverse, from which the same
#: share is taken, keeps four digits of sixteen, and no direction in which it turns negative.
LARGEST_GROWTH = 1e12


@plain_integers
class SecondOrderNumbers(IntEnum):
    """The `numbers` of second-order rounds; the last one is of `NewtonMatrix` alone."""

    POTENTIAL = 0  # Σ ¼ w² tr(A⁻¹H)
    WAITING = 1  # rows that wait
    RESIDUAL = 2  # the largest of a prediction
    SHARPEST = 3  # the largest 1/γ that the theorem asks for


@kernel
def panel(blocks, i, r, p):
    """The panel (p, (r − i)p) of class direction i."""
    start = p * p * (r * i - i * (i - 1) // 2)
    return blocks[start : start + p * p * (r - i)].reshape((p, (r - i) * p))


@kernel(fastmath=FASTMATH)
def add_outer_products(block, sign, left, right, start, count):
    """Row a of block ← itself + sign Σ_m left[m, start + a] right[m, start:], m below `count`.

    Four m at a time, the last ones again times 0, but for one that is left by itself. `start` is an
    ``np.int64``: numba would recompile for a literal.
    """
    n, width, last = block.shape[0], block.shape[1], count - 1
    tile = max(32_768 // width, 1)  # numbers that stay in a processor's cache
    quads = count if count % 4 != 1 else count - 1
    for first in range(0, n, tile):
        for q in range(0, quads, 4):
            m1, m2, m3 = min(q + 1, last), min(q + 2, last), min(q + 3, last)
            s1, s2, s3 = sign * (m1 > q), sign * (m2 > q + 1), sign * (m3 > q + 2)
            k0, k1, k2, k3 = left[q], left[m1], left[m2], left[m3]
            l0, l1 = right[q][start:], right[m1][start:]
            l2, l3 = right[m2][start:], right[m3][start:]
            for a in range(first, min(first + tile, n)):
                row, c0, c1 = block[a], sign * k0[start + a], s1 * k1[start + a]
                c2, c3 = s2 * k2[start + a], s3 * k3[start + a]
                for b in range(width):
                    row[b] += c0 * l0[b] + c1 * l1[b] + c2 * l2[b] + c3 * l3[b]
        for a in range(first, min(first + tile, n) if quads < count else first):
            row, c, only = block[a], sign * left[last, start + a], right[last][start:]
            for b in range(width):
                row[b] += c * only[b]


@kernel(fastmath=FASTMATH)
def _both_products(rows, x, i, V):
    """V_ji = P_ij x and V_ij = P_ijᵀ x for j > i, from four rows of a panel (p, ·, p) at a time."""
    p, after, quads = x.shape[0], rows.shape[1], x.shape[0] // 4 * 4
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = x[a], x[a + 1], x[a + 2], x[a + 3]
        for j in range(1, after):
            r0, r1, r2, r3 = rows[a, j], rows[a + 1, j], rows[a + 2, j], rows[a + 3, j]
            t0, t1, t2, t3, down = 0.0, 0.0, 0.0, 0.0, V[i, i + j]
            for b in range(p):
                t0 += r0[b] * x[b]
                t1 += r1[b] * x[b]
                t2 += r2[b] * x[b]
                t3 += r3[b] * x[b]
                down[b] += x0 * r0[b] + x1 * r1[b] + x2 * r2[b] + x3 * r3[b]
            out = V[i + j, i]
            out[a], out[a + 1], out[a + 2], out[a + 3] = t0, t1, t2, t3
    for a in range(quads, p):
        for j in range(1, after):
            row, total, down = rows[a, j], 0.0, V[i, i + j]
            for b in range(p):
                total += row[b] * x[b]
                down[b] += x[a] * row[b]
            V[i + j, i, a] = total


@kernel(inline=True)
def multiply_panels(P, x, V, S):
    """V_ij = P_ji x (r, r p) and S_ij = <x, P_ij x> for all class directions i, j."""
    r, p = S.shape[0], x.shape[0]
    blocks = V.reshape((r, r, p))
    for i in range(r):
        rows = panel(P, i, r, p).reshape((p, r - i, p))
        clear(V[i, (i + 1) * p :])
        for a in range(p):
            blocks[i, i, a] = inner(rows[a, 0], x)
        _both_products(rows, x, i, blocks)
        for j in range(i, r):
            S[i, j] = inner(blocks[i, j], x)
            S[j, i] = S[i, j]


@kernel(inline=True)
def downdate(P, L, r, rank):
    """P ← P − Σ_m L_m L_mᵀ over the first `rank` rows of L (·, r p)."""
    p = L.shape[1] // r
    for i in range(r):
        add_outer_products(panel(P, i, r, p), -1.0, L, L, i * p, rank)


@kernel(inline=True)
def add_waiting(A, waiting, factors, numbers, scaled):
    """A ← A + Σ_t h_t ⊗ x_t x_tᵀ over the rows that wait; `scaled` (·, r p) is scratch."""
    count, p, pair = int(numbers[SecondOrderNumbers.WAITING]), waiting.shape[1], 0
    r = scaled.shape[1] // p
    for i in range(r):
        for j in range(r - i):
            for t in range(count):
                for a in range(p):
                    scaled[t, j * p + a] = factors[pair, t] * waiting[t, a]
            pair += 1
        add_outer_products(panel(A, i, r, p), 1.0, waiting, scaled, np.int64(0), count)
    numbers[SecondOrderNumbers.WAITING] = 0.0


@kernel(inline=True)
def wait(x, h, factor, A, waiting, factors, numbers, scaled):
    """Let factor h ⊗ xxᵀ wait, and add all that wait to A when there is no more room."""
    slot, m = int(numbers[SecondOrderNumbers.WAITING]), 0
    copy_into(waiting[slot], x)
    for i in range(h.shape[0]):
        for j in range(i, h.shape[0]):
            factors[m, slot] = factor * h[i, j]
            m += 1
    numbers[SecondOrderNumbers.WAITING] = slot + 1.0
    if slot + 1 == waiting.shape[0]:
        add_waiting(A, waiting, factors, numbers, scaled)


def unit_panels(r, p, value):
    """The panels of `value` times the identity."""
    blocks = np.zeros(p * p * (r * (r + 1) // 2))
    for i in range(r):
        np.fill_diagonal(panel(blocks, i, r, p), value)
    return blocks


def unpack_panels(blocks, r, p):
    """The matrix (r p, r p) of panels."""
    matrix = np.empty((r * p, r * p))
    for i in range(r):
        class_slice, rows = slice(i * p, (i + 1) * p), panel(blocks, i, r, p)
        matrix[class_slice, i * p :], matrix[i * p :, class_slice] = rows, rows.T
    return matrix


def set_inverse(A, P, r, p):
    """Make P the inverse of A, both in panels, by a Cholesky factor."""
    matrix = unpack_panels(A, r, p)
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # symmetric: .T is its own, by column
    inverse, failed_too = dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_too:
        raise LinAlgError("The matrix of a second-order learner is not positive definite.")
    for i in range(r):
        rows = panel(P, i, r, p)
        rows[:] = inverse[i * p :, i * p : (i + 1) * p].T
        rows[:, :p] = np.triu(rows[:, :p]) + np.triu(rows[:, :p], 1).T


class RoundLimit(NamedTuple):
    """The most that ``norm * sample_weight^(power/2)`` of a row of weight above 0 may be."""

    longest: float
    power: int
    trouble: str  # what is wrong beyond it, and the remedy

    def concerns(self, weight):
        """Whether rows of these weights may exceed it; those of norms up to 1e6 are not checked."""
        most = 1e6 * min(self.longest**2 / LARGEST_GROWTH, 1.0)
        return self.power == 0 or weight.max(initial=0.0) ** self.power > most

    def check(self, Z, weight, places):
        """A ValueError for the first row of Z that is too large; `places` are indices in X."""
        norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        fits = (weight ** (0.5 * self.power) * norms <= self.longest) | (weight == 0.0)
        if not fits.all():
            row = int(np.argmin(fits))
            raise ValueError(
                f"Row {places[row]} of X has norm {norms[row]:.4g}, standardized and with the "
                f"intercept, and sample_weight {weight[row]:.4g}: {self.trouble}"
            )


def limit_of_matrix(start, power, name):
    """The `RoundLimit` of ``A ← A + w^power h ⊗ xxᵀ``, h ⪯ I, A = `start` I, named by `name`."""
    longest = float(np.sqrt(LARGEST_GROWTH * start))
    size = "norm * sqrt(sample_weight)" if power == 1 else "norm * sample_weight"
    trouble = (
        f"with {name}, {size} must be at most {longest:.4g} for a numerically stable update. "
        "Divide sample_weight by its mean, rescale X, or change the parameter."
    )
    return RoundLimit(longest, power, trouble)


def limits_of_rows(R):
    """The `RoundLimit` of the parameter `feature_norm`, in a list; none if that is None."""
    if R is None:
        return []
    above = f"above feature_norm={R:g}. Increase it, or set it to None for no limit."
    return [RoundLimit(check_positive("feature_norm", R) * (1.0 + 1e-12), 0, above)]


class SecondOrderRounds(State):
    """Rounds of a kernel: ``rounds(X, truth, weight, learns, *constants, learned, Q, logits)``.

    It plays the rows, learns them if it `learns`, and writes the plays. A subclass has the kernel,
    its `constants`, the arrays that are `_learned`, the `lam` of its limit and P = A⁻¹.
    """

    learned = 0

    #: Whether `calls` learn a block as a whole or not at all; if not, a copy learns it.
    in_place = True

    def learn(self, X, truth, weight):
        """Play and learn rows; the plays (n, K)."""
        logits = np.empty(truth.shape)
        first = ROUNDS_PER_CHECK - self.learned % ROUNDS_PER_CHECK
        cuts = [0, *range(first, len(X), ROUNDS_PER_CHECK), len(X)]
        for block in itertools.starmap(slice, itertools.pairwise(cuts)):
            at_once(*self.calls(X[block], truth[block], weight[block], logits[block]))
            self.tidy()
        return logits

    def calls(self, X, truth, weight, logits):
        """The calls that learn rows, up to the next check, and write the plays."""
        args = (X, truth, weight, True, *self.constants, self._learned, self.Q, logits)
        return (self.rounds, *args), (vars(self).update, {"learned": self.learned + len(X)})

    def logits(self, X):
        """What would be played at rows, (n, K); nothing is learned."""
        logits, state = np.empty((len(X), self.Q.shape[1])), writable(self._learned)
        self.rounds(X, logits, np.ones(len(X)), False, *self.constants, state, self.Q, logits)
        return logits

    def tidy(self):
        """Maintain the learned state, between two calls."""

    @property
    def products(self):
        """About how many products a round takes."""
        return self.P.size * (len(self.Q) + 3)

    @property
    def limits(self):
        """How large rounds may be, a list of `RoundLimit`."""
        return [limit_of_matrix(self.lam, 1, f"alpha={self.lam:g}")]

    @property
    def residual(self):
        """The largest residual of an equation for logits."""
        return float(self.numbers[SecondOrderNumbers.RESIDUAL])


@parameters
class LogisticParameters:
    """Parameters that second-order logistic learners share, behind those of each."""

    _: KW_ONLY
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None


def logistic_parts(self, space):
    """Return the logistic loss over a fitted space, in bits or nats, and no optimizer."""
    unit = 1.0 if isinstance(self._given_decoder(), Sampled) else 1.0 / math.log(2.0)
    return FenchelYoung(space, "shannon", scale=unit), None


def take_decoder(self):
    """Check that the decoder supports the loss."""
    self._given_decoder().check_space(self.loss_)


def check_certified(learner, theorem, delta):
    """Raise an error unless a theorem on the sum of the logistic losses covers the play."""
    check_is_fitted(learner, "classes_")
    if delta is not None:
        raise GuaranteeError(
            f"{theorem} holds in expectation only: call certificate() without delta."
        )
    if not isinstance(resolve_decoder(learner.decoder), (MAP, Nearest, Sampled)):
        raise GuaranteeError(
            f"No bound is known for the decoder {learner.decoder!r}: use 'map' or 'sampled'."
        )


def certificate_in_unit(learner, theorem, quadratic, offset, constants):
    """The `Certificate` of a bound in nats, in the unit of the learner's loss."""
    unit = learner.loss_.scale_
    named = "nats" if unit == 1.0 else "bits"
    radius = constants["radius"]
    return Certificate(theorem, unit * quadratic, unit * offset, radius, constants, named)


class SecondOrderModel(Model):
    """Standardized dense rows, and `SecondOrderRounds`, ``new_rounds(K, width)``."""

    records = True
    #: Transformed numbers at a time, rows predicted at a time, and products of about a second.
    numbers_per_block, rows_per_block, products_per_call = 1 << 20, 4096, 1 << 32

    def __init__(self, learner, new_rounds):
        self.loss, self.space = learner.loss_, learner.space_
        self.intercept = learner.fit_intercept_
        self.scale = scale_of(learner, learner.n_features_in_, self.intercept, forgets=False)
        self.row_limits = limits_of_rows(learner.feature_norm)
        self.rounds = new_rounds(self.space.dim_, self.scale.columns + self.intercept)

    def __setstate__(self, state):
        """Read a saved object; older ones have the norm instead of its limit."""
        if "_R" in state:
            state["row_limits"] = limits_of_rows(state["_R"] if state["_R"] < math.inf else None)
        vars(self).update(state)

    in_place = property(attrgetter("rounds.in_place"))

    def blocks(self, batch, order, record):
        """See `Model`; no block goes beyond a look at P. Rows that are too large are refused."""
        wide = self.numbers_per_block // max(batch.rows.width, 1)
        slow = self.products_per_call // self.rounds.products
        # Rows to learn before another thread may read, 2^m: a second's work at most.
        size = 1 << max(0, min(ROUNDS_PER_CHECK, wide, slow).bit_length() - 1)
        self._refuse_long_rows(batch.rows, order, batch.weights, size)
        n, first = len(order), size - self.n_rounds % size
        return [
            order[start:stop] for start, stop in itertools.pairwise([0, *range(first, n, size), n])
        ]

    def _refuse_long_rows(self, rows, order, weight, size):
        """Refuse a row that is too large, or longer than `feature_norm`, before any is learned."""
        limits = [*self.rounds.limits, *self.row_limits]
        limits = [limit for limit in limits if limit.concerns(weight[order])]
        scale = self.scale.copy()
        for start in range(0, len(order) if limits else 0, size):
            block = order[start : start + size]
            ready, places = scale.apply(rows, block, weight[block])
            Z = with_intercept(ready.matrix[places], self.intercept)
            for limit in limits:
                limit.check(Z, weight[block], block)

    def learn(self, batch, indices, weight, record):
        """Learn rows by calls that move all that was learned; see `Model`."""
        V = np.ascontiguousarray(self.space.unpack(batch.packed[indices]))
        logits = np.empty(V.shape)
        ready, places, count, *_ = self.scale.counted(batch.rows, indices, weight)
        Z = with_intercept(ready.matrix[places], self.intercept)
        attributes = {"n_rounds": self.n_rounds + len(Z)}
        learn = self.rounds.calls(Z, V, weight, logits)
        at_once(*learn, count, (vars(self).update, attributes))
        self.rounds.tidy()
        return BlockResult(-1, logits, V)

    def scores(self, batch, averaged):
        """Logits (n, K) of rows that are not standardized yet."""
        matrix, logits = self.scale.transformed(batch.rows).matrix, []
        wide = self.numbers_per_block // max(batch.rows.width, 1)
        size = max(1, min(self.rows_per_block, wide))
        largest = 1e60  # of a feature that was tiny in all rows learned; squares stay finite
        for start in range(0, batch.rows.n_rows, size):
            Z = with_intercept(matrix[start : start + size], self.intercept)
            for limit in self.row_limits:
                limit.check(Z, np.ones(len(Z)), start + np.arange(len(Z)))
            logits.append(self.rounds.logits(np.clip(Z, -largest, largest)))
        return np.concatenate(logits)

    def comparison(self, batch, weight):
        """The data by which comparators are measured, over the rows as standardized in learning."""
        rows = self.scale.reset_copy().apply(batch.rows)[0]
        return Comparison(self.loss, rows.matrix, self.space.unpack(batch.packed), self.intercept)

    def diagnostics(self):
        """Warn about predictions whose equations were not solved; there are no sentences."""
        if self.rounds.residual > 1e-8:
            warnings.warn(
                f"Logits did not converge (relative error {self.rounds.residual:.1g}): radius, "
                "alpha or a sample weight is too extreme.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return []


def new_second_order_model(self):
    """Return a `SecondOrderModel` that has learned nothing; see `OnlineEstimator`."""
    return SecondOrderModel(self, self._new_weights)
