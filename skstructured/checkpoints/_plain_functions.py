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
