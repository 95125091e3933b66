"""Solvers of conditional random fields: L-BFGS, the path of alpha, and factors of kernels."""

import copy
import logging

import numpy as np
from scipy.linalg.lapack import dpstrf

from skstructured._base.lbfgs import minimize_orthant_wise, minimize_two_loops

#: α n that are tried, the largest first: 1 is C=1 of LogisticRegression.
ALPHA_STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def minimized(objective, Theta, max_iter, tol):
    """Weights near the optimum, begun at Theta; and objective and gap of each iteration, (m, 2)."""
    curve, logger = [], logging.getLogger("skstructured")

    def add(value, gradient):
        curve.append((float(value), objective.gap(gradient)))
        logger.info("iteration %d: objective %.8g, gap %.3g", len(curve), *curve[-1])
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


def best_alpha(path):
    """The largest α of a path (m, 2) whose loss is within 0.3% of the lowest one."""
    alphas, losses = path.T
    least = losses.min()
    return float(alphas[losses <= least + 0.003 * abs(least)][0])


def tried_alphas(fit_fold, batch, share, rng, n_folds=5):
    """Values of α and their held-out losses (m, 2), and weights of the best α.

    ``fit_fold(batch, share, held_out, learned)`` returns the losses and the weights as a function
    of α. All folds of up to 100 rounds are held out, and one of more. Both are None for fewer than
    10 rounds. A fit to all rounds can start from the weights.
    """
    counted = np.flatnonzero(share > 0.0)
    if len(counted) < 10:
        return None, None
    order = copy.deepcopy(rng).permutation(counted)
    n_held_out = n_folds if len(counted) <= 100 else 1
    folds = [np.sort(order[i::n_folds]) for i in range(n_held_out)]
    train = [np.sort(np.setdiff1d(counted, fold)) for fold in folds]
    held = [fit_fold(batch, share, *pair) for pair in zip(folds, train, strict=True)]
    weight, losses, starts = share[np.concatenate(folds)], [], []
    for strength in ALPHA_STRENGTHS:
        fold_losses, weights = zip(*(fold(strength / len(counted)) for fold in held), strict=True)
        losses.append(np.average(np.concatenate(fold_losses), weights=weight))
        starts.append(weights[0])
        if len(losses) > 1 + int(np.argmin(losses)):
            break
    alphas = np.array(ALPHA_STRENGTHS[: len(losses)]) / len(counted)
    path = np.column_stack([alphas, losses])
    return path, starts[int(np.flatnonzero(alphas == best_alpha(path))[0])]


def factor_of(K, tol=1e-12):
    """F (n, r) and rows (r,), with ``K = F Fᵀ`` up to rounding and triangular ``F[rows]``.

    Cholesky's factor with pivots; K (n, n) is used up. Rows that the others span are not in `rows`:
    at most a share `tol` of their squares, in units of the largest, is outside of the span.
    """
    L, pivots, rank, _ = dpstrf(K.T, tol=tol * K.diagonal().max(), lower=1, overwrite_a=1)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(L[:, :rank])
    return F, pivots[:rank] - 1
