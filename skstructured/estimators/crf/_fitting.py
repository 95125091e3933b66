"""Solvers of conditional random fields: L-BFGS, the path of alpha, and factors of kernels."""

import copy
import logging
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from skstructured._base.lbfgs import minimize_orthant_wise, minimize_two_loops
from skstructured._chains.batch import marginals, score

LOGGER = logging.getLogger("skstructured")

#: α n that are tried, the largest first: of 1 is C=1 of LogisticRegression.
STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

#: Parts that few rounds are divided into, each held out in turn; of more than `FEW` one is.
PARTS, FEW = 5, 100

#: Losses that differ by less than this share are as good as each other.
ALIKE = 0.003

#: Iterations of each α, which begin where those of the one before ended.
BRIEF = 20

#: Fewer rounds tell nothing, and are learned with α = 1/n.
LEAST = 10

#: What is left of a row outside of the span of others, squared, over the largest, to count as 0.
RANK = 1e-12


def minimized(objective, Theta, max_iter, tol):
    """Weights near the optimum, begun at Theta; and objective and gap of each iteration, (m, 2)."""
    curve = []

    def add(value, gradient):
        curve.append((float(value), objective.gap(gradient)))
        LOGGER.info("iteration %d: objective %.8g, gap %.3g", len(curve), *curve[-1])
        return curve[-1][1] <= tol

    evaluate = objective.value_and_gradient
    with objective:
        value, gradient = evaluate(Theta)
        first = float(value), objective.gap(gradient)
        if not first[1] <= tol:
            if objective.l1 is None:
                Theta = minimize_two_loops(evaluate, Theta, max_iter, add)
            else:
                Theta = minimize_orthant_wise(evaluate, Theta, objective.l1, max_iter, add)
    # the start alone if it is good enough, or no step was found that is better
    return Theta, np.array(curve or [first])


class Path(NamedTuple):
    """The trials: α (m,), and the mean held-out losses, (m,)."""

    alphas: np.ndarray
    losses: np.ndarray

    @property
    def best(self):
        """The largest α whose loss is close to the lowest one."""
        least = self.losses.min()
        return float(self.alphas[self.losses <= least + ALIKE * abs(least)][0])


def held_out_losses(field, batch, share, held_out, learned):
    """The losses of held-out rounds, and the weights, as a function of α.

    Each fit starts from the last one.
    """
    field, rng = copy.copy(field), copy.deepcopy(field.random_state_)
    field.warm_start, field.random_state_ = field._is_linear(), rng
    field.max_iter = min(field.max_iter, BRIEF) if field.warm_start else field.max_iter
    share = share[learned] / share[learned].sum()
    batch, held = batch.take(learned), batch.take(held_out)

    def losses(alpha):
        field.alpha_ = alpha
        field._solve(batch, share, field._fitted_before(field.space_))
        return losses_of(field._thetas(held)), field._fitted_before(field.space_)

    def losses_of(theta):
        if held.offsets is not None:  # as the objective does, whose kernels are compiled
            log_z = marginals(*theta.arrays)[1]
            return field.loss_.constants_of().c * (log_z - score(*theta.arrays, held.packed.values))
        return field.loss_.value(theta, field.space_.unpack(held.packed))

    return losses


def tried_alphas(field, batch, share):
    """The `Path` of a field whose space and loss are fitted, and the weights of its best α.

    Both are None for fewer rounds than `LEAST`. A fit to all rounds can start from the weights.
    """
    counted = np.flatnonzero(share > 0.0)
    if len(counted) < LEAST:
        return None, None
    order = copy.deepcopy(field.random_state_).permutation(counted)
    folds = [np.sort(order[i::PARTS]) for i in range(PARTS if len(counted) <= FEW else 1)]
    train = [np.sort(np.setdiff1d(counted, fold)) for fold in folds]
    held = [held_out_losses(field, batch, share, *pair) for pair in zip(folds, train, strict=True)]
    weight, losses, starts = share[np.concatenate(folds)], [], []
    for strength in STRENGTHS:
        fold_losses, weights = zip(*(fold(strength / len(counted)) for fold in held), strict=True)
        losses.append(np.average(np.concatenate(fold_losses), weights=weight))
        starts.append(weights[0])
        if len(losses) > 1 + int(np.argmin(losses)):
            break
    path = Path(np.array(STRENGTHS[: len(losses)]) / len(counted), np.array(losses))
    return path, starts[int(np.flatnonzero(path.alphas == path.best)[0])]


def factor_of(K):
    """F (n, r) and rows (r,), with ``K = F Fᵀ`` up to `RANK` and triangular ``F[rows]``.

    Cholesky's factor with pivots; K (n, n) is used up. Rows that the others span are not in `rows`.
    """
    L, pivots, rank, _ = dpstrf(K.T, tol=RANK * K.diagonal().max(), lower=1, overwrite_a=1)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(L[:, :rank])
    return F, pivots[:rank] - 1
