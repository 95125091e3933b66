"""Points of the hull of label sequences: marginals of positions, and sums of those of steps.

Features of a sequence are those of its positions, one label each, its first and last label, and
how often one label follows another: products of two need the kernels of their positions only.
"""

from skstructured._engine.compiled import FASTMATH, kernel


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
