"""Boosting by trees, literally: slopes, splits by exhaustive search, best-first growth, steps."""

import itertools

import numpy as np

#: Ranks between bins; below −inf there are missing values alone.
EDGES = [-np.inf, *(np.float32(k / 255) for k in range(1, 255))]


def goes_left(value, threshold, missing_left):
    """Whether a value is on the left side of a split."""
    return missing_left if np.isnan(value) else bool(value <= threshold)


def thresholds_of(values, in_bins):
    """(threshold, whether missing values go left), all that a column can be split by."""
    if in_bins:  # other edges divide rows as the edge before them
        bounds = zip([-np.inf, *EDGES[:-1]], EDGES, strict=True)
        own = [edge for low, edge in bounds if any(low < v <= edge for v in values)]
        return [(edge, True) for edge in [-np.inf, *own]]
    distinct = sorted({float(v) for v in values if not np.isnan(v)})
    middles = [0.5 * (a + b) for a, b in itertools.pairwise(distinct)]
    return [(t, side) for t in [*middles, np.inf] for side in (False, True)]


def squared_sum(targets, weight, rows):
    """|Σ w t|² / Σ w: what the mean of some rows saves of their squares."""
    total = sum(weight[i] * targets[i] for i in rows)
    return float(total @ total) / sum(weight[i] for i in rows)


def best_split(ranks, targets, weight, rows, columns, min_rows, in_bins):
    """(gain, column, threshold, missing left), the first of the largest gain; None without one."""
    best, base = None, squared_sum(targets, weight, rows)
    for j in columns:
        for threshold, missing_left in thresholds_of(ranks[rows, j], in_bins):
            left = [i for i in rows if goes_left(ranks[i, j], threshold, missing_left)]
            right = [i for i in rows if not goes_left(ranks[i, j], threshold, missing_left)]
            if min(len(left), len(right)) < min_rows:
                continue
            sides = (squared_sum(targets, weight, side) for side in (left, right))
            gain = sum(sides) - base
            if gain > (best[0] if best else 0.0) + 1e-12 * max(base, 1e-3):
                best = gain, j, threshold, missing_left
    return best


def grow(ranks, targets, weight, rows, columns, min_rows, max_leaves, in_bins):
    """Splits (leaf, gain, column, threshold, missing left) in order; the new leaf is the right one.

    ``columns(n)`` are those that are tried for the n-th search.
    """
    leaves = [list(rows)]
    found = [best_split(ranks, targets, weight, leaves[0], columns(0), min_rows, in_bins)]
    splits = []
    while len(leaves) < max_leaves and any(found):
        leaf = int(np.argmax([split[0] if split else 0.0 for split in found]))
        gain, j, threshold, missing_left = found[leaf]
        splits.append((leaf, gain, j, threshold, missing_left))
        is_left = {i: goes_left(ranks[i, j], threshold, missing_left) for i in leaves[leaf]}
        leaves.append([i for i in leaves[leaf] if not is_left[i]])
        leaves[leaf] = [i for i in leaves[leaf] if is_left[i]]
        found.append(None)
        for side, k in enumerate((leaf, len(leaves) - 1)):
            tried = columns(2 * len(splits) - 1 + side)
            found[k] = best_split(ranks, targets, weight, leaves[k], tried, min_rows, in_bins)
    return splits


def leaf_of(splits, row):
    """The leaf of a row: it moves to the new leaf of each split of its leaf that it is right of."""
    place = 0
    for n, (leaf, _, j, threshold, missing_left) in enumerate(splits):
        if place == leaf and not goes_left(row[j], threshold, missing_left):
            place = n + 1
    return place


def variances(mu):
    """Second derivatives for independent labels, and for chains of thresholds."""
    return np.array([[m * (1.0 - m) for m in row] for row in mu])


def curvatures(name, mu):
    """Second derivatives of Ω*, or bounds, by the name of the pair in `tests/pairs.py`."""
    if not name.endswith("shannon"):
        return np.ones_like(mu)
    K = mu.shape[1]
    return variances(mu) * (K / max(K - 1, 1) if name.startswith("simplex") else 1.0)


def newton_steps(name, mu, V, weight, leaves, rate):
    """{leaf: step}: η Σ w (y − μ) / (Σ w h + 1), each coordinate at most 2."""
    h, steps = curvatures(name, mu), {}
    for leaf in sorted(set(leaves.values())):
        rows = [i for i in leaves if leaves[i] == leaf]
        falls = sum(weight[i] * (V[i] - mu[i]) for i in rows)
        curves = sum(weight[i] * h[i] for i in rows) + 1.0
        pairs = zip(falls, curves, strict=True)
        steps[leaf] = np.array([min(max(rate * f / c, -2.0), 2.0) for f, c in pairs])
    return steps


class Model:
    """Scores of all rows by the trees so far; `options` are (rate, max_leaves, min_rows, share)."""

    def __init__(self, name, loss, ranks, V, weight, learned, options, seed, in_bins):
        self.name, self.loss, self.V, self.weight = name, loss, V, weight
        self.ranks, self.learned, self.options = ranks, list(learned), options
        self.seed, self.in_bins, self.trees = seed, in_bins, []
        share = np.array([weight[i] for i in self.learned])
        mean = (share[:, None] * V[self.learned]).sum(axis=0) / share.sum()
        self.start = loss.link(mean[None])[0]
        self.theta = np.array([self.start.copy() for _ in V])

    def columns(self, n_splits):
        """The columns of the n-th search of the next tree."""
        _, _, _, share = self.options
        p, rng = self.ranks.shape[1], np.random.RandomState(self.seed + len(self.trees))
        draws = rng.random_sample((2 * n_splits + 1, p)).argsort(axis=1)
        drawn = draws[:, : max(1, int(share * p))]
        return lambda n: drawn[n]

    def add_tree(self):
        """One round."""
        rate, max_leaves, min_rows, _ = self.options
        mu = self.loss.mean(self.theta)
        p = self.ranks.shape[1]
        columns = self.columns(max_leaves - 1) if self.in_bins else lambda n: range(p)
        splits = grow(
            self.ranks, self.V - mu, self.weight, self.learned, columns, min_rows, max_leaves,
            self.in_bins,
        )  # fmt: skip
        leaves = {i: leaf_of(splits, self.ranks[i]) for i in self.learned}
        steps = newton_steps(self.name, mu, self.V, self.weight, leaves, rate)
        self.trees.append((splits, steps))
        for i, row in enumerate(self.ranks):
            self.theta[i] = self.theta[i] + steps[leaf_of(splits, row)]

    def held_out_loss(self):
        """Mean loss less Ω(y) of the rows that are not learned."""
        out = [i for i in range(len(self.V)) if i not in self.learned]
        value = self.loss.value(self.theta, self.V)
        value = value - self.loss.constants_of(self.V.shape[1]).c * self.loss.omega(self.V)
        return sum(self.weight[i] * value[i] for i in out) / sum(self.weight[i] for i in out)

    def scores(self, ranks, n_rounds):
        """Scores of new rows by the first trees."""
        theta = np.array([self.start.copy() for _ in ranks])
        for splits, steps in self.trees[:n_rounds]:
            for i, row in enumerate(ranks):
                theta[i] = theta[i] + steps[leaf_of(splits, row)]
        return theta


def n_rounds_of(model, max_iter, patience):
    """Rounds up to the lowest held-out loss, and all losses; the model may learn more."""
    losses = [model.held_out_loss()]
    while len(losses) - 1 < max_iter and len(losses) - 1 - int(np.argmin(losses)) < patience:
        model.add_tree()
        losses.append(model.held_out_loss())
    return int(np.argmin(losses)), losses


def fit(name, loss, ranks, V, weight, folds, options, max_iter, patience, seed, in_bins):
    """Models without one fold each, the number of rounds, and the losses that determine it."""
    models = [
        Model(name, loss, ranks, V, weight, np.flatnonzero(folds != fold), options,
              seed + fold * max_iter, in_bins)
        for fold in range(folds.max() + 1)
    ]  # fmt: skip
    n_rounds, losses = n_rounds_of(models[0], max_iter, patience)
    for model in models[1:]:
        while len(model.trees) < n_rounds:
            model.add_tree()
    return models, n_rounds, losses


def mid_ranks(column, values):
    """Mid-ranks from 0 to 1 among a column of few distinct values, and linear between them."""
    known = sorted(v for v in column if not np.isnan(v))
    distinct = sorted(set(known))
    ranks = [(known.index(v) + 0.5 * known.count(v)) / len(known) for v in distinct]
    result = []
    for v in values:
        if np.isnan(v):
            result.append(np.nan)
        elif not distinct:
            result.append(0.5)
        elif v <= distinct[0] or v >= distinct[-1]:
            result.append(ranks[0] if v <= distinct[0] else ranks[-1])
        else:
            k = max(k for k in range(len(distinct)) if distinct[k] <= v)
            share = (v - distinct[k]) / (distinct[k + 1] - distinct[k])
            result.append(ranks[k] + share * (ranks[k + 1] - ranks[k]))
    return np.array(result, dtype=np.float32)
