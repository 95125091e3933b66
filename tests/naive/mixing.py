"""Members that leave out rows one by one, and the objective of their weights, literally."""

import math

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from naive.boosted_trees import mid_ranks
from naive.robust_columns import in_range


def ridge_without(kernel, Z, V, weight, penalty, left_out, i):
    """Kernel ridge regression at row i by all rows that are not left out, a coefficient each.

    Penalties are in units of the mean w k(x, x) of the rows that are learned.
    """
    learned = [j for j in range(len(V)) if j not in left_out]
    w = weight[learned]
    mean = sum(w[:, None] * V[learned]) / sum(w)
    K = kernel(Z[learned])
    unit = penalty * np.mean([w[j] * K[j, j] for j in range(len(w))])
    system = K * np.sqrt(np.outer(w, w)) + unit * np.eye(len(w))
    root = np.sqrt(w)[:, None]
    alpha = np.linalg.solve(system, root * (V[learned] - mean))
    return mean + (kernel(Z[[i]]) @ (root * alpha))[0]


def ridge_in_span_without(K, own, V, weight, penalty, left_out, i):
    """The same in the span of landmarks, with kernels K (n, m), and those `own` (m, m) of them.

    Penalties are in units of the mean k(x, x) of landmarks; `own` has its jitter.
    """
    learned = [j for j in range(len(V)) if j not in left_out]
    mean = np.average(V[learned], axis=0, weights=weight[learned])
    W = weight[learned][:, None]
    A = K[learned].T @ (W * K[learned]) + penalty * own
    return mean + K[i] @ np.linalg.solve(A, K[learned].T @ (W * (V[learned] - mean)))


def leaf_means(trees, units, learned, V, weight, i):
    """Means of the vertices in the leaf of row i, over trees that have learned some rows."""
    means = []
    for tree in trees:
        leaves = tree.apply(units)
        same = [j for j in learned if leaves[j] == leaves[i]]
        means.append(np.average(V[same], axis=0, weights=weight[same]))
    return np.mean(means, axis=0)


def effective(weight, names):
    """(Σ w)²/Σ w² of the weights of rows of one name, added up."""
    totals = {}
    for w, name in zip(weight, names, strict=True):
        totals[name] = totals.get(name, 0.0) + w
    return sum(totals.values()) ** 2 / sum(w**2 for w in totals.values())


def objective(z, b, scores, V, weight, mean, loss, usual):
    """Σ w S(Σ_e e^z_e θ_e + b; (1 − ε) y + ε m) + .1 ‖z − ln u‖² + .1 ‖b‖², row by row."""
    n = sum(weight)
    is_pulled = loss.linear_in_outputs and not loss.has_margin
    epsilon = 1.0 / (n + 1.0) if is_pulled else 0.0
    total = 0.1 * sum((one - math.log(usual)) ** 2 for one in z) + 0.1 * sum(one**2 for one in b)
    for i, w in enumerate(weight):
        theta = sum(math.exp(one) * scores[e][i] for e, one in enumerate(z)) + b
        truth = (1.0 - epsilon) * V[i] + epsilon * mean
        total += w * loss.value(theta[None], truth[None])[0]
    return total


def units_of(learned, X, share):
    """Ranks with a share of units of the range; sparse columns in units of their largest size."""
    if hasattr(X, "toarray"):
        X, learned = X.toarray(), learned.toarray()
        return (X / np.maximum(np.abs(learned).max(axis=0), 1e-300)).astype(np.float32)
    pairs = zip(learned.T, X.T, strict=True)
    ranks = np.column_stack([mid_ranks(column.tolist(), values) for column, values in pairs])
    rare = min(1 + len(learned) // 100, (len(learned) - 1) // 2)
    low, high = np.sort(learned, axis=0)[[rare, -1 - rare]]
    span = np.where(high > low, high - low, 1.0)
    units = np.clip((X - low) / span, 0.0, 1.0)
    return ((1.0 - share) * ranks + share * units).astype(np.float32)


def member_scores(member, loss, learned, stretch, X):
    """Scores of one member, with rows in range and standardized as those it has learned."""
    if not (hasattr(member, "forest") or hasattr(member, "model")):  # no trees
        X, learned = (in_range(learned, rows) for rows in (X, learned))
    if hasattr(member, "coefs"):
        Z = (X - learned.mean(axis=0)) / learned.std(axis=0)
        if hasattr(member, "penalty"):  # minimizes the loss, and is not stretched
            return (member.kernel(Z) if member.kernel else Z) @ member.coefs + member.shift
        return member.kernel(Z * stretch) @ member.coefs + member.shift
    if hasattr(member, "forest"):
        each = [*member.forest.predictions(X)]
        return loss.link(np.reshape(np.mean(each, axis=0), (len(X), -1)))
    if hasattr(member, "model"):  # boosted trees
        steps = sum(member.model.forest.predictions(X))
        return member.model.start + steps / member.model.n_models
    if hasattr(member, "embedding_scores"):
        return member.embedding_scores(X)
    return loss.space.pack(member.predict(X))[:, None]


def mixed_scores(model, learned, X):
    """Σ_e a_e θ_e(x) + b, one member after the other."""
    importance = model.named_estimators_["trees"].forest.feature_importances_
    stretch = np.sqrt(importance / importance.mean())
    theta = model.intercept_
    for a, member in zip(model.weights_, model.estimators_, strict=True):
        theta = theta + a * member_scores(member, model.loss_, learned, stretch, X)
    return theta


def honest_scores(members, X, y, weight, parts, scores):
    """Scores of each row by members that have learned the other parts."""
    found = []
    for _, member in members:
        own = [
            scores(clone(member).fit(X[parts != part], y[parts != part], weight[parts != part]))
            for part in parts
        ]
        found.append([one[i] for i, one in enumerate(own)])
    return np.array(found)


def halves(solve, honest, V, weight, loss, usual):
    """Scores of each half by weights of the other half."""
    theta, mean = np.empty(V.shape), np.average(V, axis=0, weights=weight)
    for half in (0, 1):
        other = slice(1 - half, None, 2)
        a, b = solve(honest[:, other], V[other], weight[other], mean, loss, usual)
        theta[half::2] = np.einsum("e,end->nd", a, honest[:, half::2]) + b
    return theta


def alone(solve, honest, V, weight, loss, usual):
    """Scores of a member by its own weight and intercept."""
    mean = np.average(V, axis=0, weights=weight)
    a, b = solve(honest[None], V, weight, mean, loss, usual, 10)
    return a * honest + b


def query_loss(theta, grades, qid):
    """Cross-entropies of scores with shares of gains, summed over the queries of items."""
    total = 0.0
    for name in set(qid):
        rows = [i for i, other in enumerate(qid) if other == name]
        gains = [2.0 ** grades[i] - 1.0 for i in rows]
        if sum(gains) == 0.0:
            gains = [1.0] * len(rows)
        partition = math.log(sum(math.exp(theta[i]) for i in rows))
        for i, gain in zip(rows, gains, strict=True):
            total += gain / sum(gains) * (partition - theta[i])
    return total


def windows(sequence):
    """Each row, those before and after it or zeros, and whether it is the first and the last."""
    rows, zero = [list(row) for row in sequence], [0.0] * len(sequence[0])
    found = []
    for t, row in enumerate(rows):
        before = rows[t - 1] if t > 0 else zero
        after = rows[t + 1] if t + 1 < len(rows) else zero
        found.append([*row, *before, *after, float(t == 0), float(t + 1 == len(rows))])
    return np.array(found)


def penalized(F, V, weight, penalty, loss):
    """A function of features F (n, m): scores W f + b of the least Σ w S + λ‖W‖²/2, by SciPy."""
    n, m = F.shape
    dim = V.shape[1]

    def objective(flat):
        W, b = flat[:-dim].reshape(dim, m), flat[-dim:]
        total, slopes = 0.5 * penalty * np.sum(W**2), np.zeros((dim, m + 1))
        slopes[:, :m] += penalty * W
        for i in range(n):
            value, slope = loss.value_and_gradient((W @ F[i] + b)[None], V[[i]])
            total += weight[i] * value[0]
            slopes += weight[i] * np.outer(slope[0], np.append(F[i], 1.0))
        return total, np.concatenate([slopes[:, :m].ravel(), slopes[:, m]])

    options = {"maxiter": 3000, "ftol": 1e-13, "gtol": 1e-9}
    start = np.zeros(dim * (m + 1))
    flat = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return lambda rows: rows @ flat[:-dim].reshape(dim, m).T + flat[-dim:]
