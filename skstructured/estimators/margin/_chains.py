"""Passes over label sequences: how their marginals, and what is learned, follow the visits."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._atoms import add_labels, bend, bounds, dot, visit
from skstructured.estimators.margin._passes import (
    BEST,
    FIXED,
    chord_step,
    follow,
    read_scores,
    shrink,
)

#: Most label sequences that are kept of a sequence.
COLUMNS = 48


@kernel
def join(matrix, square, out):
    """Out = the entries of a matrix of positions and of one of steps."""
    M, k = matrix.shape
    out[: M * k].reshape(M, k)[:] = matrix
    out[M * k :].reshape(k, k)[:] = square


@kernel
def move_point(d, q, mu, sums, ends, T):
    """Means and the weights of first and last labels and of steps, after a move."""
    M, k = mu.shape
    by_position, steps = d[: M * k].reshape(M, k), d[M * k :].reshape(k, k)
    mu += by_position
    sums += steps
    ends[0] -= q * by_position[0]
    ends[1] -= q * by_position[M - 1]
    T[0] -= q * steps


@kernel
def scores_of(i, by_position, ends, T, offsets, costs):
    """Scores of a sequence, (N, k) of positions being given, with those of ends and the costs."""
    u, k = by_position.copy(), len(T[0])
    if not costs[0]:
        u += costs[2][offsets[i] : offsets[i + 1]]
    u[0] += ends[0]
    u[len(u) - 1] += ends[1]
    v = np.empty(u.size + k * k)
    join(u, T[0], v)
    return v


@kernel
def game_of(i, chains, costs, q):
    """What a visit is told of a sequence."""
    (offsets, blocks, begins), (max_min, A, _, _) = chains, costs
    k, M = len(A), offsets[i + 1] - offsets[i]
    K, zeros = blocks[begins[i] : begins[i] + M * M].reshape(M, M), np.zeros((M + k) * k)
    return k, (A / M if max_min else np.zeros((1, 1)), zeros, zeros), q, K


@kernel
def visit_chain(i, game, v, costs, offsets, means, kept):
    """Where the marginals of a sequence go to, and there; what it keeps goes with it."""
    (mu, sums), (labels, weights, counts, nu) = means, kept
    here, k, count = slice(offsets[i], offsets[i + 1]), game[0], counts[i]
    own = nu[here]
    point, columns, none = v.copy(), np.empty((count, len(v))), np.empty((0, len(v)))
    join(mu[here], sums[i], point)
    for c in range(count):
        add_labels(k, labels[c, here], columns[c])
    sides = (columns, weights[i, :count]), (none, none[:, 0].copy())
    out, (columns, p), _ = visit(0, costs[0], costs[3], game, v, point, *sides, own.reshape(-1))
    counts[i] = len(p)
    weights[i, : len(p)] = p
    for c in range(len(p)):
        for m in range(len(own)):
            labels[c, offsets[i] + m] = np.argmax(columns[c, m * k : m * k + k])
    return out, point


@kernel
def move_chain(rule, fixed, i, game, v, costs, offsets, means, kept):
    """The move of a sequence; whether there is any."""
    k, loss, q, K = game
    penalty = q if rule == BEST else 0.0
    out, mu = visit_chain(i, (k, loss, penalty, K), v, costs, offsets, means, kept)
    d, gamma = out - mu, 1.0
    if rule == FIXED:
        gamma = fixed
    elif rule != BEST:
        bent, points = np.empty_like(d), np.stack((out, mu))
        bend(k, q, K, d, bent)
        found = bounds(
            0, costs[0], k, loss, np.stack((v, v)), points, points[:, : len(K) * k].copy()
        )
        gamma = chord_step(found[1, 0] - found[1, 1], dot(bent, d))
    return shrink(gamma, d), d


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
    (by_position, ends, T), offsets, (mu, sums) = learned, chains[0], means
    k = sums.shape[1]
    for t in range(order.shape[0]):
        i = order[t]
        o, stop = offsets[i], offsets[i + 1]
        M, u = stop - o, np.empty((stop - o, k))
        for m in range(M):
            read_scores(by_position, o + m, u[m])
        v, game = scores_of(i, u, ends, T, offsets, costs), game_of(i, chains, costs, steps[i])
        moved, d = move_chain(rule, fixed[t], i, game, v, costs, offsets, means, kept)
        if moved:
            move_point(d, steps[i], mu[o:stop], sums[i], ends, T)
            for m in range(M):
                follow(by_position, o + m, d[m * k : m * k + k], steps[i])


@kernel
def chain_bounds(chains, which, costs, U, ends, T, means, nu, found):
    """Upper bounds on max H of some sequences, by their ν, and H at their means; U (N, k)."""
    offsets, (mu, sums) = chains[0], means
    for t in range(len(which)):
        i = which[t]
        here = slice(offsets[i], offsets[i + 1])
        v, own = scores_of(i, U[here], ends, T, offsets, costs), nu[here]
        (k, loss, _, _), point = game_of(i, chains, costs, 0.0), v.copy()
        join(mu[here], sums[i], point)
        given = v.reshape(1, -1), point.reshape(1, -1), own.reshape(1, -1)
        found[:, t] = bounds(0, costs[0], k, loss, *given)[:, 0]


@kernel
def chain_games(chains, order, costs, U, ends, T, means, kept):
    """A visit to the games ``max_μ H`` of the sequences in `order`, whose means move there."""
    offsets, (mu, sums) = chains[0], means
    for i in order:
        here = slice(offsets[i], offsets[i + 1])
        v, game = scores_of(i, U[here], ends, T, offsets, costs), game_of(i, chains, costs, 0.0)
        out, point = visit_chain(i, game, v, costs, offsets, means, kept)
        move_point(out - point, 0.0, mu[here], sums[i], ends, T)
