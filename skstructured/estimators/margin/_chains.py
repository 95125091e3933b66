"""Visits to label sequences: their paths, small games over them, and passes."""

import numpy as np

from skstructured._chains.best_paths import chain_viterbi
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.estimators.margin._games import (
    LIGHT,
    is_better,
    is_known,
    keep_heavy,
    solve_saddle,
)
from skstructured.estimators.margin._passes import (
    BEST,
    FIXED,
    chord_step,
    follow,
    read_scores,
    shrink,
)


@kernel
def product(labels, a, b, Kb):
    """Scalar product of the features of two rows of labels."""
    M, total = labels.shape[1], 0.0
    for m in range(M):
        for t in range(M):
            if labels[a, m] == labels[b, t]:
                total += Kb[m, t]
                if m < M - 1 and t < M - 1 and labels[a, m + 1] == labels[b, t + 1]:
                    total += 1.0
    total += 1.0 if labels[a, 0] == labels[b, 0] else 0.0
    return total + (1.0 if labels[a, M - 1] == labels[b, M - 1] else 0.0)


@kernel(fastmath=FASTMATH)
def smooth(Kb, mu, out):
    """Out = Kb mu, what the features of positions make of marginals."""
    M, k = mu.shape
    for m in range(M):
        for j in range(k):
            out[m, j] = 0.0
        for t in range(M):
            factor = Kb[m, t]
            for j in range(k):
                out[m, j] += factor * mu[t, j]


@kernel
def pull(smoothed, mu, sums, labels, a):
    """Scalar product of the features of a row of labels and of a point."""
    M, total = labels.shape[1], 0.0
    for m in range(M):
        total += smoothed[m, labels[a, m]]
        if m < M - 1:
            total += sums[labels[a, m], labels[a, m + 1]]
    return total + mu[0, labels[a, 0]] + mu[M - 1, labels[a, M - 1]]


@kernel(fastmath=FASTMATH)
def inner(a, b):
    """Σ a b of two matrices."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total


@kernel
def square(smoothed, mu, sums):
    """Squared length of the features of a point."""
    M, ends = mu.shape[0], 0.0
    for j in range(mu.shape[1]):
        ends += mu[0, j] ** 2 + mu[M - 1, j] ** 2
    return inner(smoothed, mu) + inner(sums, sums) + ends


@kernel
def score(u, T, labels, a):
    """Score of a row of labels, u (M, k) and T (1, k, k)."""
    M, total = labels.shape[1], 0.0
    for m in range(M):
        total += u[m, labels[a, m]]
        if m < M - 1:
            total += T[0, labels[a, m], labels[a, m + 1]]
    return total


@kernel
def add_labels(labels, a, weight, mu, sums):
    """Add the weighted indicators of a row of labels to a point."""
    M = labels.shape[1]
    for m in range(M):
        mu[m, labels[a, m]] += weight
        if m < M - 1:
            sums[labels[a, m], labels[a, m + 1]] += weight


@kernel
def least_cost(A, mu, m):
    """The label of the least expected cost at a position, and its cost."""
    found, least = 0, 0.0
    for r in range(A.shape[0]):
        cost = 0.0
        for j in range(A.shape[1]):
            cost += A[r, j] * mu[m, j]
        if r == 0 or cost < least:
            found, least = r, cost
    return found, least


@kernel
def mean_cost(A, mu):
    """h(μ) = (1/M) Σ_m min_r (A μ_m)_r."""
    total = 0.0
    for m in range(mu.shape[0]):
        total += least_cost(A, mu, m)[1]
    return total / mu.shape[0]


@kernel
def height(max_min, A, u, T, point, total):
    """H at a point."""
    linear = inner(u, point) + inner(T[0], total)
    return linear + mean_cost(A, point) if max_min else linear


@kernel
def shifted(u, T, Kb, q, mu, sums, point, total, up, Tp):
    """Scores after a move to `point`: (u, T) less q times the products with its features."""
    M, k = u.shape
    smooth(Kb, point - mu, up)
    for m in range(M):
        for j in range(k):
            up[m, j] = u[m, j] - q * up[m, j]
    for j in range(k):
        up[0, j] -= q * (point[0, j] - mu[0, j])
        up[M - 1, j] -= q * (point[M - 1, j] - mu[M - 1, j])
        for t in range(k):
            Tp[0, j, t] = T[0, j, t] - q * (total[j, t] - sums[j, t])


@kernel
def add_costs(up, A, nu, out):
    """Out = up + (1/M) Aᵀν_m: scores with the costs of a mixture ν of predictions."""
    M, k = up.shape
    out[:] = up
    for m in range(M):
        for r in range(k):
            if nu[m, r] > 0.0:
                for j in range(k):
                    out[m, j] += nu[m, r] * A[r, j] / M


#: Most label sequences, and most rows of costs, that are in play.
COLUMNS, ROWS = 48, 160


@kernel
def rest_of(labels, weights, count, mu, sums, rest, rest_sums):
    """What a point has beside its label sequences, of mass 1; its mass, 0 where it is light."""
    mass = 1.0
    rest[:], rest_sums[:] = mu, sums
    for c in range(count):
        add_labels(labels, c, -weights[c], rest, rest_sums)
        mass -= weights[c]
    if mass < LIGHT:
        return 0.0
    for m in range(rest.shape[0]):
        for j in range(rest.shape[1]):
            rest[m, j] = max(rest[m, j], 0.0) / mass
    for i in range(rest_sums.shape[0]):
        for j in range(rest_sums.shape[1]):
            rest_sums[i, j] = max(rest_sums[i, j], 0.0) / mass
    return mass


@kernel
def rest_column(scores, means, rests, tables):
    """Number 0 of the columns: score of the rest, its square, and its product with φ(μ)."""
    (u, T, Kb), (mu, sums, smoothed, own) = scores, means
    (rest, rest_sums, rest_smoothed), (G, s, pulls) = rests, tables
    M, ends = mu.shape[0], 0.0
    smooth(Kb, rest, rest_smoothed)
    for j in range(mu.shape[1]):
        ends += mu[0, j] * rest[0, j] + mu[M - 1, j] * rest[M - 1, j]
    s[0] = inner(u, rest) + inner(T[0], rest_sums)
    pulls[0] = inner(smoothed, rest) + inner(sums, rest_sums) + ends
    G[0, 0] = square(rest_smoothed, rest, rest_sums) - pulls[0] - pulls[0] + own


@kernel
def add_column(labels, c, scores, means, rests, tables, bent):
    """Score of label sequence c, and its products with φ(μ) and with the columns before it.

    Without a quadratic term, where `bent` is false, nothing needs the products.

    Parameters
    ----------
    scores, means, rests, tables : tuples
        (u, T, Kb); (mu, sums, Kb mu, their square); the rest, its sums, and Kb of it; (G, s,
        pulls): products of columns less φ(μ), scores, products with φ(μ). Column 0 is the rest,
        c + 1 label sequence c.
    """
    (u, T, Kb), (mu, sums, smoothed, own), (G, s, pulls) = scores, means, tables
    s[c + 1] = score(u, T, labels, c)
    if not bent:
        return
    pulls[c + 1] = pull(smoothed, mu, sums, labels, c)
    for t in range(c + 2):
        if t == 0:
            found = pull(rests[2], rests[0], rests[1], labels, c)
        else:
            found = product(labels, c, t - 1, Kb)
        G[c + 1, t] = found - pulls[c + 1] - pulls[t] + own
        G[t, c + 1] = found - pulls[t] - pulls[c + 1] + own


@kernel
def mark(path, point, nu, A, marks):
    """Mark predictions in play: labels of the last sequence, those of ν, the best at a point."""
    for m in range(point.shape[0]):
        marks[m, path[m]] = 1
        for r in range(nu.shape[1]):
            if nu[m, r] > 0.0:
                marks[m, r] = 1
        marks[m, least_cost(A, point, m)[0]] = 1


@kernel
def _cost_of(A, r, m, c, labels, rest):
    """(1/M) (A μ_m)_r of column c."""
    if c > 0:
        return A[r, labels[c - 1, m]] / labels.shape[1]
    cost = 0.0
    for j in range(A.shape[1]):
        cost += A[r, j] * rest[m, j]
    return cost / labels.shape[1]


@kernel
def _rows_of_costs(A, marks, nu, labels, rest, first, stop, s, B, group, place):
    """Payoffs of positions with several predictions in play, and costs of others into s.

    Returns how many rows there are, and how many groups.
    """
    R, groups = 0, 0
    for m in range(marks.shape[0]):
        many = marks[m].sum()
        if many == 1 or R + many > ROWS:
            best = np.argmax(marks[m]) if many == 1 else np.argmax(nu[m])
            nu[m, :] = 0.0
            nu[m, best] = 1.0
            for c in range(first, stop):
                s[c - first] += _cost_of(A, best, m, c, labels, rest)
            continue
        for r in range(marks.shape[1]):
            if marks[m, r] > 0:
                for c in range(first, stop):
                    B[R, c - first] = _cost_of(A, r, m, c, labels, rest)
                group[R], place[R] = groups, m * marks.shape[1] + r
                R += 1
        groups += 1
    return R, groups


@kernel
def _read_costs(mixed, group, place, R, nu):
    """Put mixtures of rows into ν."""
    k = nu.shape[1]
    for r in range(R):
        if r == 0 or group[r] != group[r - 1]:
            nu[place[r] // k, :] = 0.0
        nu[place[r] // k, place[r] % k] = mixed[r]


@kernel
def best_mixture(max_min, A, q, labels, count, first, rest, tables, marks, nu, p):
    """The best mixture p (count + 1,) of the columns and its ν; whether there is one.

    Features are taken less φ(μ_i): ``−(q/2)‖Σ p_c φ_c − φ(μ_i)‖²``.
    """
    (G, s, _), stop, R, groups = tables, count + 1, 0, 0
    costs, total = s[first:stop].copy(), min(int(marks.sum()), ROWS) if max_min else 0
    B, mixed = np.empty((max(total, 1), stop - first)), np.empty(max(total, 1))
    group, place = np.empty(len(B), dtype=np.int64), np.empty(len(B), dtype=np.int64)
    if max_min:
        rows = (A, marks, nu, labels, rest, first, stop)
        R, groups = _rows_of_costs(*rows, costs, B, group, place)
    p[:], bent = 0.0, q * G[first:stop, first:stop]
    if not solve_saddle(bent, costs, B, group, R, groups, p[first:stop], mixed):
        return False
    _read_costs(mixed, group, place, R, nu)
    return True


#: Most rounds of a visit; columns that a visit finds room for.
ROUNDS, FREE = 8, 16

#: What a visit may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.1, 1e-13


@kernel
def _mix(p, labels, count, rest, rest_sums, point, total):
    """The point of a mixture."""
    point[:], total[:] = p[0] * rest, p[0] * rest_sums
    for c in range(count):
        add_labels(labels, c, p[c + 1], point, total)


@kernel
def _measure(max_min, A, nu, up, Tp, point, total, aug, best, path):
    """An upper bound on H at these scores, by ν; its label sequence; and H at the point."""
    aug[:] = up
    if max_min:
        add_costs(up, A, nu, aug)
    upper = chain_viterbi(aug, 0, len(path), Tp, best, path)
    return upper, height(max_min, A, up, Tp, point, total)


@kernel
def _value(max_min, A, scores, q, mu, sums, point, total):
    """h + <v, μ> − (q/2)‖Φ(μ − μ_i)‖² of a point."""
    u, T, Kb = scores
    value = height(max_min, A, u, T, point, total)
    d, smoothed = point - mu, np.empty_like(mu)
    smooth(Kb, d, smoothed)
    return value - 0.5 * q * square(smoothed, d, total - sums)


@kernel
def _start(q, scores, mu, sums, labels, weights, count):
    """The tables of the columns, as `add_column` has them, and the mass of the rest."""
    (M, k), room, mass = mu.shape, COLUMNS + 1, 0.0
    rests = (np.zeros((M, k)), np.zeros((k, k)), np.zeros((M, k)))
    smoothed = np.empty((M, k))
    if q > 0.0:
        mass = rest_of(labels, weights, count, mu, sums, rests[0], rests[1])
    smooth(scores[2], mu, smoothed)
    means = (mu, sums, smoothed, square(smoothed, mu, sums))
    tables = (np.zeros((room, room)), np.zeros(room), np.zeros(room))
    if mass > 0.0:
        rest_column(scores, means, rests, tables)
    for c in range(count):
        add_column(labels, c, scores, means, rests, tables, q > 0.0)
    return means, rests, tables, mass


@kernel
def visit(max_min, A, slack, scores, q, mu, sums, labels, weights, count, nu, out, out_sums):
    r"""The best marginals of a sequence into out (M, k) and out_sums (k, k).

    They are a mixture of label sequences. Where it is best for those known, with ν, the best
    mixture of predictions against it, the sequence of the largest score with the costs of ν is
    added, which is Viterbi's; it tells what is left to gain. q = 0 makes it the max-min oracle.
    It ends with the best point, of equals that with the least gap, and with the ν of it.

    Parameters
    ----------
    scores : tuple
        u (M, k), T (1, k, k), for the structural SVM with its costs, and kernels (M, M).
    mu, sums : ndarray (M, k), (k, k)
        The present means.
    labels, weights, count, nu : ndarray (COLUMNS, M), (COLUMNS,), int, (M, k)
        Label sequences that make up μ_i (but for a rest) and the mixture of predictions.

    Returns
    -------
    int
        How many label sequences there are now.
    """
    (M, k), (u, T, Kb) = mu.shape, scores
    point, total, up, Tp, path = mu.copy(), sums.copy(), u.copy(), T.copy(), labels[0] * 0
    aug, best, marks = np.empty((M, k)), np.empty((M, k)), np.zeros((M, k), dtype=np.int64)
    count = keep_heavy(labels, weights, 0, count, COLUMNS - FREE)
    means, rests, tables, mass = _start(q, scores, mu, sums, labels, weights, count)
    p, first, mixed, ends = np.zeros(COLUMNS + 1), 0 if mass > 0.0 else 1, nu.copy(), count
    p[0], p[1 : count + 1] = mass, weights[:count]
    chosen, level, least, allowed, rounding = p.copy(), -np.inf, np.inf, 0.0, 0.0
    for t in range(ROUNDS):
        upper, reached = _measure(max_min, A, mixed, up, Tp, point, total, aug, best, path)
        value, gap = _value(max_min, A, scores, q, mu, sums, point, total), upper - reached
        if t == 0:
            rounding = ROUNDING * (1.0 + abs(reached))
            allowed = max(SLACK * gap, max(slack, rounding))
        if is_better(value, gap, level, least, rounding):
            level, least, ends = max(level, value), gap, count
            out[:], out_sums[:], nu[:], chosen[:] = point, total, mixed, p
        if least <= allowed or count == COLUMNS:
            break
        before = count + marks.sum()
        if not is_known(labels, 0, count, path):
            labels[count, :] = path
            add_column(labels, count, scores, means, rests, tables, q > 0.0)
            count += 1
        mark(path, point, mixed, A, marks)
        if t > 0 and before == count + marks.sum():
            break
        if not best_mixture(max_min, A, q, labels, count, first, rests[0], tables, marks, mixed, p):
            break
        _mix(p, labels, count, rests[0], rests[1], point, total)
        shifted(u, T, Kb, q, mu, sums, point, total, up, Tp)
    weights[:ends] = chosen[1 : ends + 1]
    return keep_heavy(labels, weights, 0, ends, COLUMNS)


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
