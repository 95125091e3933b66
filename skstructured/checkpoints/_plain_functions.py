"""What an exported model predicts with: functions of numpy and of its arrays `M`, no more.

`NumpyModel` writes the source of those that a model needs into a module. They call each other by
the roles of `skstructured.checkpoints._plain_parts`: ``rows``, ``scores``, ``mean`` and ``chains``.
"""
# ruff: noqa: F821  # roles are named in the module that is written

import numpy as np

#: The arrays of the model.
M: dict[str, np.ndarray] = {}


def filled(X):
    """Rows in float64, with what stands for features that are missing."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != M["fill"].size:
        raise ValueError(f"X must have shape (n, {M['fill'].size}), got {X.shape}.")
    Z = np.where(np.isnan(X), M["fill"], X)
    if not np.isfinite(Z).all():
        raise ValueError("X contains NaN or infinity.")
    return Z


def with_indicators(X):
    """Rows, and behind them 1 where a feature is missing, else 0."""
    return np.hstack([filled(X), np.isnan(np.asarray(X, dtype=np.float64))])


def linear(X):
    """Scores of rows."""
    return rows(X) @ M["coef"].T + M["intercept"]


def by_experts(X):
    """Scores (n, experts, dim) of rows, and the means at them."""
    experts, dim, width = M["coef"].shape
    theta = rows(X) @ M["coef"].reshape(-1, width).T + M["intercept"].ravel()
    return mean(theta.reshape(-1, dim)).reshape(-1, experts, dim)


def mixed_classes(X):
    """Logarithms of the experts' probabilities of classes, mixed."""
    q = np.einsum("e,nek->nk", M["shares"][0], by_experts(X))
    return np.log((1.0 - M["floor"]) * q + M["floor"] / q.shape[1])


def mixed_labels(X):
    """Log odds of the experts' probabilities of labels, mixed."""
    q = np.einsum("ke,nek->nk", M["shares"], by_experts(X))
    q = (1.0 - M["floor"]) * q + 0.5 * M["floor"]
    return np.log(q / (1.0 - q))


def unchanged(theta):
    """The scores themselves."""
    return theta


def softmax(theta):
    """Probabilities of classes."""
    e = np.exp(theta - theta.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sparsemax(theta):
    """The projection of scores on the simplex."""
    s = np.sort(theta)[:, ::-1] - theta.max(axis=1, keepdims=True)
    pivots = (np.cumsum(s, axis=1) - 1.0) / np.arange(1, s.shape[1] + 1)
    return np.maximum(theta - theta.max(axis=1, keepdims=True) - pivots.max(axis=1)[:, None], 0.0)


def entmax(theta):
    """The mean of a Tsallis entropy: [(α−1)(θ − τ)]₊ to the power 1/(α−1), by Newton's method."""
    shifted = (M["alpha"] - 1.0) * (theta - theta.max(axis=1, keepdims=True))
    power, t = 1.0 / (M["alpha"] - 1.0), np.full((len(theta), 1), -1.0)
    for _ in range(60):
        z = np.maximum(shifted - t, 0.0)
        slope = np.where(z > 0.0, z, 1.0) ** (power - 1.0) * (z > 0.0)
        total = (slope * z).sum(axis=1, keepdims=True)
        norm = total ** (M["alpha"] - 1.0)
        t = t + (norm - 1.0) * total / (norm * slope.sum(axis=1, keepdims=True))
    p = np.maximum(shifted - t, 0.0) ** power
    return p / p.sum(axis=1, keepdims=True)


def sigmoid(theta):
    """Probabilities of labels."""
    e = np.exp(-np.abs(theta))
    return np.where(theta >= 0.0, 1.0, e) / (1.0 + e)


def clipped(theta):
    """The projection of scores on [0, 1]."""
    return np.clip(theta, 0.0, 1.0)


def capped(theta):
    """The projection of scores on 0 ≤ μ ≤ 1 with sum k: θ − τ cut, τ between two of its corners."""
    corners = np.sort(np.hstack([theta, theta - 1.0]), axis=1)
    sums = np.clip(theta[:, None] - corners[:, :, None], 0.0, 1.0).sum(axis=2)
    i = (sums >= M["k"]).sum(axis=1, keepdims=True) - 1
    low, high = (np.take_along_axis(corners, i + j, axis=1) for j in (0, 1))
    above, below = (np.take_along_axis(sums, i + j, axis=1) for j in (0, 1))
    tau = low + (above - M["k"]) / (above - below) * (high - low)
    return np.clip(theta - tau, 0.0, 1.0)


def prefix_sums(theta):
    """Scores of ordinal classes: (0, θ_1, θ_1 + θ_2, …)."""
    return np.cumsum(np.hstack([np.zeros((len(theta), 1)), theta]), axis=1)


def tails(theta):
    """P(class ≥ j), for probabilities that go by exp of the classes' scores."""
    s = prefix_sums(theta)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.cumsum(e[:, :0:-1], axis=1)[:, ::-1] / e.sum(axis=1, keepdims=True)


def falling(theta):
    """The projection of scores on 1 ≥ μ_1 ≥ … ≥ μ_d ≥ 0, by pooling adjacent violators."""
    mu = np.empty(theta.shape)
    for row, out in zip(theta, mu, strict=True):
        blocks = []
        for value in row:
            blocks.append((value, 1))
            while len(blocks) > 1 and blocks[-2][0] <= blocks[-1][0]:
                (a, m), (b, n) = blocks[-2:]
                blocks[-2:] = [(a + (b - a) * (n / (m + n)), m + n)]
        out[:] = np.repeat(*zip(*blocks, strict=True))
    return np.clip(mu, 0.0, 1.0)


def steps_down(mu):
    """Probabilities of ordinal classes: 1 − μ_1, μ_1 − μ_2, …, μ_d."""
    ends = np.ones((len(mu), 1)), np.zeros((len(mu), 1))
    return -np.diff(np.hstack([ends[0], mu, ends[1]]), axis=1)


def odds_of_each(theta):
    """Probabilities of classes, each against the rest, made to sum to 1; of two from one score."""
    share = sigmoid(theta)
    if share.shape[1] == 1:
        return np.hstack([1.0 - share, share])
    total = share.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, share / np.maximum(total, 1e-300), 1.0 / share.shape[1])


def likeliest(X):
    """The class of the largest mean of every row."""
    return M["classes"][mean(scores(X)).argmax(axis=1)]


def largest(X):
    """The class of the largest score of every row."""
    return M["classes"][scores(X).argmax(axis=1)]


def least_risk(X):
    """The class of the least expected cost of every row."""
    return M["classes"][(predict_proba(X) @ M["costs"].T).argmin(axis=1)]


def largest_or_positive(X):
    """The class of the largest score of every row, or of two by whether it is above 0."""
    theta = scores(X)
    at = theta[:, 0] > 0.0 if theta.shape[1] == 1 else theta.argmax(axis=1)
    return M["classes"][np.asarray(at, dtype=np.intp)]


def proba(X):
    """Probabilities of the classes, or of the labels, of every row."""
    return mean(scores(X))


def proba_of_grades(X):
    """Probabilities of the ordinal classes of every row."""
    return steps_down(mean(scores(X)))


def proba_of_signs(X):
    """Probabilities of the classes of every row."""
    return odds_of_each(scores(X))


def labels_above(X):
    """The labels whose mean is above the threshold, as an indicator matrix."""
    return (mean(scores(X)) > M["threshold"]).astype(np.int64)


def labels_positive(X):
    """The labels of positive scores, as an indicator matrix."""
    return (scores(X) > 0.0).astype(np.int64)


def top_k(X):
    """The k labels of the largest scores, as an indicator matrix."""
    order = np.argsort(-scores(X), axis=1, kind="stable")
    chosen = np.zeros(order.shape, dtype=np.int64)
    np.put_along_axis(chosen, order[:, : int(M["k"])], 1, axis=1)
    return chosen


def nearest_grade(X):
    """The ordinal class nearest to the mean of every row."""
    return M["classes"][prefix_sums(2.0 * mean(scores(X)) - 1.0).argmax(axis=1)]


def best_grade(X):
    """The ordinal class of the largest score of every row."""
    return M["classes"][prefix_sums(scores(X)).argmax(axis=1)]


def ranks(X):
    """Ranks of the scores of every row, the largest number for the best, ties to the first."""
    order = np.argsort(-scores(X), axis=1, kind="stable")
    found = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(found, order, np.arange(order.shape[1], 0, -1)[None], axis=1)
    return found


def number(X):
    """Predictions of every row."""
    return scores(X)[:, 0] * M["unit"] + M["centre"]


def with_bigrams(X):
    """Scores of positions (length, k), and of steps (k, k), of every sequence."""
    for x in X:
        unary = rows(x) @ M["coef"].T + M["intercept"]
        unary[0] += M["start"]
        unary[-1] += M["end"]
        yield unary, np.broadcast_to(M["transitions"], (len(unary) - 1, *M["transitions"].shape))


def with_feature_steps(X):
    """Those of `with_bigrams`, with what the features of a row add to steps to it."""
    for x, (unary, pair) in zip(X, with_bigrams(X), strict=True):
        yield unary, pair + np.einsum("mp,ijp->mij", rows(x)[1:], M["transition_coef"])


def viterbi(unary, pair):
    """The places of the labels of the largest score, ties to the first."""
    best = [unary[0]]
    for step, scored in zip(pair, unary[1:], strict=True):
        best.append((best[-1][:, None] + step).max(axis=0) + scored)
    found = [int(best[-1].argmax())]
    for m in range(len(pair) - 1, -1, -1):
        found.append(int((best[m] + pair[m][:, found[-1]]).argmax()))
    return np.array(found[::-1])


def log_sum(a, axis):
    """Logarithm of the sum of exponentials."""
    top = a.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(a - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def marginals(unary, pair):
    """Probabilities of labels (length, k), and of pairs of them (length − 1, k, k)."""
    ahead, behind = [unary[0]], [np.zeros(unary.shape[1])]
    for step, scored in zip(pair, unary[1:], strict=True):
        ahead.append(log_sum(ahead[-1][:, None] + step, 0) + scored)
    for step, scored in zip(pair[::-1], unary[:0:-1], strict=True):
        behind.append(log_sum(step + scored + behind[-1], 1))
    ahead, behind = np.array(ahead), np.array(behind[::-1])
    whole = log_sum(ahead[-1], 0)
    both = ahead[:-1, :, None] + pair + (unary[1:] + behind[1:])[:, None]
    return np.exp(ahead + behind - whole), np.exp(both - whole)


def best_labels(X):
    """The labels of the largest score, an array for every sequence."""
    return [M["classes"][viterbi(*chain)] for chain in chains(X)]


def nearest_labels(X):
    """The labels nearest to the marginals, an array for every sequence."""
    means = (marginals(*chain) for chain in chains(X))
    return [M["classes"][viterbi(2.0 * mu - 1.0, 2.0 * pairs - 1.0)] for mu, pairs in means]


def labels_of_least_risk(X):
    """The label of the least expected cost at every position, an array for every sequence."""
    return [M["classes"][(mu @ M["costs"].T).argmin(axis=1)] for mu in predict_marginals(X)]


def chain_marginals(X):
    """Probabilities of the labels at every position, (length, k) for every sequence."""
    return [marginals(*chain)[0] for chain in chains(X)]


def standardized(X):
    """Rows in units of the deviations, and 1 behind them where there is an intercept."""
    Z = (rows(X) - M["means"]) * M["inverse"]
    Z = np.clip(np.hstack([Z, np.ones((len(Z), int(M["intercept"])))]), -1e60, 1e60)
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    if M["refuses"] and (norms > M["R"] * (1.0 + 1e-12)).any():
        raise ValueError(f"X has rows longer than R={M['R']:g}.")
    return Z * (M["R"] / np.maximum(norms, M["R"]))[:, None] if M["R"] < np.inf else Z


def improper(X):
    """Logarithms of the probabilities of one learner, or of several, mixed."""
    Z = standardized(X)
    p = [softmax(logits(Z, P, H)) for P, H in zip(M["P"], M["H"], strict=True)]
    return np.log(np.maximum(np.einsum("i,ink->nk", M["shares"], p), 1e-300))


def logits(Z, P, H):
    """The z = g − A softmax(z) of rows, by Newton's method."""
    Q, theta = M["Q"], np.empty((len(Z), M["Q"].shape[1]))
    for x, out in zip(Z, theta, strict=True):
        A = 0.5 * Q.T @ (P @ x @ x) @ Q
        out[:] = settled(A, 0.5 * np.diag(A) - 0.5 * (H @ x) @ Q)
    return theta


def settled(A, g):
    """The z of A and g: q = softmax(g − Aq) minimises ½qᵀAq + log Σ exp(g − Aq)."""
    unit = max(1.0, 1.0 + np.abs(g).max()) + max(A.diagonal().max(), 0.0)
    q, cold = np.full(len(g), 1.0 / len(g)), min(1.0, 20.0 / unit)
    while True:
        for _ in range(100):
            s = softmax(cold * (g - A @ q)[None])[0]
            if np.abs(A @ (s - q)).max() <= (1e-15 if cold == 1.0 else 1e-3) * unit:
                break
            system = np.eye(len(g)) + cold * (np.diag(s) - np.outer(s, s)) @ A
            step, before = np.linalg.solve(system, s - q), height(A, g, cold, q)
            for _ in range(60):
                if height(A, g, cold, q + step) - before <= 1e-14 * cold * unit:
                    break
                step = 0.5 * step
            q = q + step
        if cold == 1.0:
            return g - A @ q
        cold = min(1.0, 8.0 * cold)


def height(A, g, cold, q):
    """What `settled` minimises, with A and g times `cold`."""
    z = cold * (g - A @ q)
    return 0.5 * cold * q @ A @ q + z.max() + np.log(np.exp(z - z.max()).sum())
