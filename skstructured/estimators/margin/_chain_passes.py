"""Passes of block-coordinate ascent over label sequences."""

import numpy as np

from skstructured._chains.best_paths import chain_viterbi
from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._chain_points import add_costs, height, smooth, square
from skstructured.estimators.margin._chain_visit import visit
from skstructured.estimators.margin._learned import follow, read_scores
from skstructured.estimators.margin._passes import BEST, FIXED, chord_step, shrink


@kernel
def _complete(u, ends, max_min, ell):
    """Scores of positions with those of ends, and the costs of the structural SVM."""
    if not max_min:
        u += ell
    u[0] += ends[0]
    u[len(u) - 1] += ends[1]


@kernel
def move_chain(rule, fixed, max_min, A, slack, u, T, Kb, q, mu, sums, own, nu, d, dsums):
    """The move of a sequence into d and dsums; whether there is any, and how many columns.

    `own` are its label sequences, their weights, and how many there are.
    """
    labels, weights, count = own
    reached = height(max_min, A, u, T, mu, sums)
    penalty = q if rule == BEST else 0.0
    args = (max_min, A, slack, (u, T, Kb), penalty, mu, sums, labels, weights, count, nu)
    count, gamma = visit(*args, d, dsums), 1.0
    gain = height(max_min, A, u, T, d, dsums) - reached
    d -= mu
    dsums -= sums
    if rule == FIXED:
        gamma = fixed
    elif rule != BEST:
        smoothed = np.empty(d.shape)
        smooth(Kb, d, smoothed)
        gamma = chord_step(gain, q * square(smoothed, d, dsums))
    moved = False
    for m in range(len(d)):
        moved = shrink(gamma, d[m]) or moved
    for j in range(len(dsums)):
        moved = shrink(gamma, dsums[j]) or moved
    return moved, count


@kernel
def move_edges(mu, sums, ends, T, q, d, dsums):
    """Means and the weights of first and last labels and of steps, after a move."""
    M = d.shape[0]
    for j in range(d.shape[1]):
        for m in range(M):
            mu[m, j] += d[m, j]
        ends[0, j] -= q * d[0, j]
        ends[1, j] -= q * d[M - 1, j]
        for t in range(d.shape[1]):
            sums[j, t] += dsums[j, t]
            T[0, j, t] -= q * dsums[j, t]


@kernel
def chain_pass(learned, chains, order, fixed, rule, costs, steps, means, kept):
    """One pass over the sequences in `order`.

    Parameters
    ----------
    learned : tuple
        What `follow` moves of positions, and weights of ends (2, k) and of steps T (1, k, k).
    chains : tuple
        offsets (n + 1,), the kernels within sequences, one after the other, and where they begin.
    costs : tuple
        (max_min, A, ell, slack), ell (N, k) the costs of the structural SVM.
    steps : ndarray (n,)
        Weights of sequences over α.
    means : tuple
        mu (N, k) and sums (n, k, k).
    kept : tuple
        Label sequences (COLUMNS, N), their weights and numbers, ν (N, k).
    """
    (by_position, ends, T), (offsets, blocks, begins) = learned, chains
    (max_min, A, ell, slack), (mu, sums) = costs, means
    labels, weights, counts, nu = kept
    k = sums.shape[1]
    longest = np.max(offsets[1:] - offsets[:-1])
    room, d_room, dsums = np.empty((longest, k)), np.empty((longest, k)), np.empty((k, k))
    for t in range(order.shape[0]):
        i = order[t]
        o, stop = offsets[i], offsets[i + 1]
        M, q = stop - o, steps[i]
        u, d, Kb = room[:M], d_room[:M], blocks[begins[i] : begins[i] + M * M].reshape(M, M)
        for m in range(M):
            read_scores(by_position, o + m, u[m])
        _complete(u, ends, max_min, ell[o:stop])
        own = (labels[:, o:stop], weights[i], counts[i])
        args = (max_min, A, slack, u, T, Kb, q, mu[o:stop], sums[i], own, nu[o:stop], d, dsums)
        moved, counts[i] = move_chain(rule, fixed[t], *args)
        if moved:
            move_edges(mu[o:stop], sums[i], ends, T, q, d, dsums)
            for m in range(M):
                follow(by_position, o + m, d[m], q)


@kernel
def chain_bounds(offsets, which, costs, U, ends, T, means, nu, bounds, reached):
    """Upper bounds on max H of some sequences, by their ν, and H at their means; U (N, k)."""
    (max_min, A, ell, _), (mu, sums) = costs, means
    longest = np.max(offsets[1:] - offsets[:-1])
    best = np.empty((longest, mu.shape[1]))
    for t in range(len(which)):
        i = which[t]
        o, stop = offsets[i], offsets[i + 1]
        u, path = U[o:stop].copy(), np.empty(stop - o, dtype=np.int64)
        _complete(u, ends, max_min, ell[o:stop])
        reached[t] = height(max_min, A, u, T, mu[o:stop], sums[i])
        aug = u.copy()
        if max_min:
            add_costs(u, A, nu[o:stop], aug)
        bounds[t] = max(chain_viterbi(aug, 0, stop - o, T, best, path), reached[t])


@kernel
def chain_games(chains, order, costs, U, ends, T, means, kept):
    """A visit to the games ``max_μ H`` of the sequences in `order`, whose means move there."""
    (offsets, blocks, begins), (mu, sums), (labels, weights, counts, nu) = chains, means, kept
    for i in order:
        o, stop = offsets[i], offsets[i + 1]
        M, u = stop - o, U[o:stop].copy()
        _complete(u, ends, True, u)
        scores = (u, T, blocks[begins[i] : begins[i] + M * M].reshape(M, M))
        out, total = np.empty_like(u), np.empty_like(sums[i])
        own = (mu[o:stop], sums[i], labels[:, o:stop], weights[i], counts[i], nu[o:stop])
        counts[i] = visit(True, costs[1], costs[3], scores, 0.0, *own, out, total)
        mu[o:stop], sums[i] = out, total
