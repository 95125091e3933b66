"""Shortest paths on a grid: an output space with its oracle, and simulated costs."""

import functools

import numpy as np

from skstructured.extend import Geometry, OutputSpace, kernel


class GridPaths(OutputSpace):
    """Paths from the first to the last node of a grid, right and down, as 0/1 vectors over edges.

    Edges are numbered row by row: those to the right in a row, then those down from it. The target
    loss is the share of wrong edges of the path. The oracle is the path of the largest sum of
    scores, by dynamic programming: the shortest path for costs ``-theta``.

    Parameters
    ----------
    shape : tuple of int, default=(5, 5)
        Numbers of rows and columns of nodes, at least 2 each.

    Attributes
    ----------
    dim_ : int
        Number of edges.
    """

    constant_sum = True

    def __init__(self, shape=(5, 5)):
        self.shape = shape

    @property
    def oracle_kernel(self):
        """The best path of one row of scores, compiled."""
        return _best_path(*self.shape)

    @property
    def length(self):
        """Number of edges of each path."""
        return sum(self.shape) - 2

    @property
    def n_edges(self):
        """Number of edges of the grid."""
        n_rows, n_columns = self.shape
        return n_rows * (n_columns - 1) + (n_rows - 1) * n_columns

    def fit(self, y):
        """Check the shape and the paths y (n, n_edges); return self."""
        if min(self.shape) < 2:
            raise ValueError(f"shape must be two integers of at least 2, got {self.shape!r}.")
        return super().fit(y)

    def argmax(self, theta):
        """Return the path with the largest sum of scores for each row (n, n_edges)."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape[1] != self.n_edges:
            raise ValueError(f"A grid of {self.shape} has {self.n_edges} edges: {theta.shape}.")
        paths = np.empty(theta.shape)
        for scores, path in zip(theta, paths, strict=True):
            self.oracle_kernel(scores, path)
        return paths

    def expected_loss(self, mu, V):
        """Share of wrong edges ``1 - <mu, y>/length``, of shape (n,)."""
        return 1.0 - np.einsum("nd,nd->n", mu, V) / self.length

    def geometry(self, norm, dim=None):
        """Constants: two paths differ in 4 edges at least, in all edges at most."""
        d, k = self._dimension(dim), self.length
        if norm == "l1":
            return Geometry(4.0, 2.0 * k, 0.5 / k)
        return Geometry(2.0, np.sqrt(2.0 * k), np.sqrt((d - k) / (k * d)))


@functools.cache
def _best_path(n_rows, n_columns):
    right, stride = n_columns - 1, 2 * n_columns - 1  # edges to the right; all before the next row

    @kernel
    def best_path(theta, path):
        total = np.zeros((n_rows, n_columns))
        for i in range(n_rows):
            for j in range(n_columns):
                if i + j > 0:
                    above = total[i - 1, j] + theta[(i - 1) * stride + right + j] if i else -np.inf
                    left = total[i, j - 1] + theta[i * stride + j - 1] if j else -np.inf
                    total[i, j] = max(above, left)
        path[:] = 0.0
        i, j = n_rows - 1, n_columns - 1
        while i + j > 0:
            edge = (i - 1) * stride + right + j
            if i and (j == 0 or total[i, j] == total[i - 1, j] + theta[edge]):
                i -= 1
            else:
                j -= 1
                edge = i * stride + j
            path[edge] = 1.0

    return best_path


def simulate(n, degree, random_state, n_features=5, shape=(5, 5), noise=0.5):
    """Features (n, p) and costs (n, n_edges) by the recipe of Elmachtoub and Grigas (2022)."""
    rng, n_edges = np.random.RandomState(random_state), GridPaths(shape).n_edges
    B = rng.binomial(1, 0.5, (n_edges, n_features))
    X = rng.normal(size=(n, n_features))
    costs = ((X @ B.T / np.sqrt(n_features) + 3.0) ** degree + 1.0) / 3.5**degree
    return X, costs * rng.uniform(1.0 - noise, 1.0 + noise, costs.shape)


def normalized_regret(paths, best, costs):
    """Excess cost of paths over the best ones, divided by the cost of the best ones."""
    least = (best * costs).sum()
    return ((paths * costs).sum() - least) / least
