"""How many labels to predict for the best expected F1, where labels are independent."""

import numpy as np

from skstructured._engine.compiled import kernel


@kernel
def _count_distributions(p, counts):
    """counts[k(k+1)/2 + t] = P(t of the first k labels are true), for every k and t ≤ k."""
    counts[0] = 1.0
    for k in range(p.shape[0]):
        before, after = k * (k + 1) // 2, (k + 1) * (k + 2) // 2
        for t in range(k + 2):
            without = (1.0 - p[k]) * counts[before + t] if t <= k else 0.0
            counts[after + t] = without + (p[k] * counts[before + t - 1] if t > 0 else 0.0)


@kernel
def best_size(p, empty, counts, inverse):
    """The k for which the first k labels of p (d,), which falls, have the best expected F1.

    With S_k and R_k the numbers of true labels among the first k and behind them, E F1 is
    ``Σ_t P(S_k = t) 2t r_k(k + t)``, where ``r_k(α) = E 1/(α + R_k)``; ``r_d(α) = 1/α``, and
    ``r_{k−1}(α) = p_k r_k(α + 1) + (1 − p_k) r_k(α)``: all terms are positive, O(d²) in all. No
    label has ``empty · P(S_d = 0)``. Of equals the smallest k. counts is ((d+1)(d+2)/2,), inverse
    (2d+1,).
    """
    d = p.shape[0]
    _count_distributions(p, counts)
    best, size = empty * counts[d * (d + 1) // 2], 0
    for a in range(1, 2 * d + 1):
        inverse[a] = 1.0 / a
    for k in range(d, 0, -1):
        value, row = 0.0, k * (k + 1) // 2
        for t in range(1, k + 1):
            value += counts[row + t] * (2.0 * t * inverse[k + t])
        if value > best or (value == best and size > 0):
            best, size = value, k
        for a in range(1, 2 * k):
            inverse[a] = p[k - 1] * inverse[a + 1] + (1.0 - p[k - 1]) * inverse[a]
    return size


@kernel
def _best_sizes(P, empty, counts, inverse, sizes):
    """`best_size` of every row of P, empty (n,)."""
    for i in range(P.shape[0]):
        sizes[i] = best_size(P[i], empty[i], counts, inverse)


def best_label_sets(mu, empty):
    """Sets of labels (n, d) of the largest expected F1 for independent labels of marginals μ.

    For each size k the likeliest k labels are the best set (Lewis 1995); `best_size` finds k. What
    no label is worth where none is true, `empty`, is a number, or one per row (n,) or (n, 1).
    """
    order = np.argsort(-mu, axis=1, kind="stable")
    falling, sizes = np.take_along_axis(mu, order, axis=1), np.empty(len(mu))
    d = mu.shape[1]
    counts, inverse = np.empty((d + 1) * (d + 2) // 2), np.empty(2 * d + 1)
    worth = np.broadcast_to(np.ravel(empty).astype(np.float64), len(mu)).copy()
    _best_sizes(np.ascontiguousarray(falling), worth, counts, inverse, sizes)
    V = np.empty(mu.shape)
    np.put_along_axis(V, order, (np.arange(d) < sizes[:, None]).astype(np.float64), axis=1)
    return V
