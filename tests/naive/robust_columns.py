"""Robust columns by their definition: of all rows at once, and as rows arrive."""

import math

import numpy as np
from scipy.stats import norm

#: Between two numbers, quantiles are in the middle.
METHOD = "averaged_inverted_cdf"


def repeated(cells, weight):
    """Cells that are there, each as often as its weight, a whole number."""
    return np.repeat(cells, weight.astype(int))[~np.isnan(np.repeat(cells, weight.astype(int)))]


def edges(cells, weight):
    """Both edges of a dense column, and whether it is heavy."""
    values = repeated(cells, weight)
    first, median, third = np.quantile(values, [0.25, 0.5, 0.75], method=METHOD)
    unit = (third - first) / 1.349
    if unit == 0.0:
        others = np.abs(values - median)[values != median]
        unit = np.quantile(others, 0.75, method=METHOD) if len(others) else 0.0
    beyond = np.mean(np.abs(values - median) > 5.0 * unit)
    low, high = max(values.min(), median - 5.0 * unit), min(values.max(), median + 5.0 * unit)
    return low, high, bool(beyond > 0.05 and len(np.unique(values)) >= 10)


def normal_quantiles(cells, values):
    """Φ⁻¹ of the middle level of each cell among 200 quantiles of the values, at most ±3."""
    levels = np.linspace(0.0, 1.0, 200)
    knots = np.quantile(values, levels, method=METHOD)
    out = []
    for x in cells:
        below = np.interp(x, knots, levels)
        above = 1.0 - np.interp(-x, -knots[::-1], levels)
        out.append(np.clip(norm.ppf(0.5 * (below + above)), -3.0, 3.0))
    return np.array(out)


def in_range(learned, X):
    """Rows X in the range of the columns of rows that were learned, of weight 1."""
    Z = np.array(X, dtype=float)
    for j, cells in enumerate(learned.T):
        low, high, is_heavy = edges(cells, np.ones(len(cells)))
        Z[:, j] = normal_quantiles(X[:, j], cells) if is_heavy else np.clip(X[:, j], low, high)
    return Z


def start(cells, centered):
    """Mean, deviation and limit of the first cells of a column."""
    cells = [x for x in cells if not math.isnan(x)]
    center = float(np.median(cells)) if centered else 0.0
    distances = sorted(abs(x - center) for x in cells)
    reach, limit, unit = 2.0 / 0.6745 * float(np.median(distances)), 2.0, 0.7737
    if reach == 0.0:
        others = [d for d in distances if d > 0.0]
        limit, unit = 5.0, 1.0
        reach = 5.0 * others[min(3 * len(others) // 4, len(others) - 1)] if others else 0.0
    kept = np.clip(np.array(cells) - center, -reach, reach)
    mean = kept.mean() if centered else 0.0
    return center + mean if centered else 0.0, math.sqrt(np.mean((kept - mean) ** 2) / unit), limit


class Stream:
    """Robust statistics of one column without missing values."""

    def __init__(self, centered, growth):
        self.centered, self.growth = centered, growth
        self.cells, self.recent, self.weights = [], [], []  # weights are those of the recent ones
        self.counted, self.gain = 0.0, 1.0
        self.mean = self.deviation = 0.0
        self.limit = math.inf

    def z(self, x):
        """The cell x in units of the deviation, 0 without one."""
        if self.deviation == 0.0:
            return 0.0
        d = x - self.mean
        reach = 3.0 * self.deviation if self.limit < math.inf else math.inf
        return min(max(d, -reach), reach) / self.deviation

    def changes(self, x):
        """Whether a constant column changes."""
        return self.deviation == 0.0 and x != self.mean

    def count(self, x, weight, changed):
        """Count a cell; afterwards the statistics are up to date, or it waits among the recent."""
        self.cells.append(x)
        n, since = len(self.cells), sum(self.weights)
        late = 32 * (since + weight) >= self.counted
        if not (late or n <= 32 or changed):
            self.recent.append(self.z(x))
            self.weights.append(weight)
            return
        if n > 32:
            self.gain = max(1.0, self.growth * n**0.3)
        self._refresh(x, weight)
        self.counted, self.recent, self.weights = self.counted + since + weight, [], []
        if n == 32:
            self.mean, self.deviation, self.limit = start(self.cells, self.centered)

    def _refresh(self, x, weight):
        since = sum(self.weights)
        unit, old = (0.7737 if self.limit == 2.0 else 1.0), self.counted + since
        if self.recent:
            z = np.clip(self.recent, -self.limit, self.limit)
            times = min(self.gain, max(1.0, 0.5 * old / since))
            share = times * since / old
            shift = share * np.average(z, weights=self.weights) if self.centered else 0.0
            squares = np.average(z**2, weights=self.weights)
            spread = 1.0 - share + share * squares / unit - shift**2
            self.mean += self.deviation * shift
            self.deviation *= math.sqrt(max(spread, 0.0))
        share = weight / (old + weight)
        if self.gain > 1.0:
            share = min(self.gain * share, max(share, 0.5))
        d = x - self.mean
        if self.deviation > 0.0:
            d = min(max(d, -self.limit * self.deviation), self.limit * self.deviation)
        own = share * (1.0 - share) if self.centered else share
        self.deviation = math.sqrt((1.0 - share) * self.deviation**2 + own * d * d / unit)
        if self.centered:
            self.mean += share * d


def stream(X, weight, centered, growth):
    """Every row of X as it is learned."""
    columns, out = [Stream(centered, growth) for _ in X[0]], np.empty(X.shape)
    for t, x in enumerate(X):
        changed = any(column.changes(cell) for column, cell in zip(columns, x, strict=True))
        for column, cell in zip(columns, x, strict=True):
            column.count(cell, weight[t], changed)
        out[t] = [column.z(cell) for column, cell in zip(columns, x, strict=True)]
    return out


def sparse_stream(X, weight):
    """Every row of a matrix as CSR rows are learned; zeros are not cells."""
    logs, weights, n = [[] for _ in X[0]], [[] for _ in X[0]], 0
    scales, out = np.zeros(X.shape[1]), np.zeros(X.shape)
    for t, x in enumerate(X):
        n += weight[t] > 0.0
        for j in np.flatnonzero(x) if weight[t] > 0.0 else ():
            is_largest = abs(x[j]) > scales[j]
            if is_largest or n <= 128 or n % 32 == 0:
                logs[j].append(math.log(abs(x[j])))
                weights[j].append(weight[t] * (1.0 if is_largest or n <= 128 else 32.0))
                farthest = 5.0 * math.exp(np.average(logs[j], weights=weights[j]))
                scales[j] = min(max(scales[j], abs(x[j])), farthest)
            out[t, j] = min(max(x[j] / scales[j], -1.0), 1.0)
    return out
