"""A space on trial: its outputs, vertices and means, as far as they can be listed."""

from copy import deepcopy

import numpy as np
from sklearn.base import clone

#: More vertices than this are not compared in pairs.
MOST = 60


class SpaceTrial:
    """A fitted space, example outputs as users write them, vertices, and points of conv(Y)."""

    def __init__(self, space, outputs):
        self.subject, self.outputs = space, outputs
        self._space = None

    @property
    def space(self):
        """The fitted space; a copy."""
        if self._space is None:
            fitted = hasattr(self.subject, "dim_")
            made = deepcopy(self.subject) if fitted else clone(self.subject).fit(self.outputs)
            self._space = made
        return self._space

    def vertices(self):
        """All vertices, where the space lists them; else those of the examples. Distinct."""
        try:
            V = self.space.vertices()
        except ValueError:
            V = self.space.encode(self.outputs)
        return np.unique(np.asarray(V, dtype=np.float64), axis=0)

    def some(self):
        """At most `MOST` of the vertices, those of the examples first; distinct."""
        first = np.unique(self.space.encode(self.outputs), axis=0)
        every = self.vertices()
        order = np.random.RandomState(0).permutation(len(every))
        joined = np.vstack([first, every[order]])
        _, at = np.unique(joined, axis=0, return_index=True)
        return joined[np.sort(at)[:MOST]]

    def scores(self, n=100):
        """Scores (n, dim): small and large ones, ties, zeros."""
        rng = np.random.RandomState(0)
        theta = rng.randn(n, self.space.dim_) * np.exp(2.0 * rng.randn(n, 1))
        theta[: n // 2] = theta[: n // 2].round(1)
        theta[0] = 0.0
        return theta

    def means(self, n=20):
        """Points of conv(Y): a vertex, the middle, of two vertices, of several."""
        rng, V = np.random.RandomState(0), self.some()
        weights = rng.dirichlet(np.ones(len(V)), size=n)
        weights[: n // 2] = 0.0
        for row in weights[: n // 2]:
            row[rng.permutation(len(V))[:2]] = rng.dirichlet([1.0, 1.0])
        weights[0], weights[1] = 1.0 / len(V), np.eye(len(V))[0]
        return weights @ V

    def pairs(self):
        """Vertices a, b (m², dim): all pairs of some."""
        V = self.some()
        i, j = (index.ravel() for index in np.indices((len(V), len(V))))
        return V[i], V[j]


def assert_vertices(space, V, what):
    """Raise an AssertionError unless every row of V is a vertex."""
    V = np.asarray(V)
    try:
        same = np.array_equal(space.encode(space.decode(V)), V)
    except ValueError as error:
        raise AssertionError(f"{what} is no vertex: {error}") from error
    assert same, f"{what} is no vertex"


def assert_close(got, wanted, what, tolerance=1e-9):
    """Raise an AssertionError that tells the largest difference."""
    got, wanted = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    assert got.shape == wanted.shape, f"{what} has the shape {got.shape}, not {wanted.shape}"
    gap = np.abs(got - wanted).max(initial=0.0)
    assert gap <= tolerance, f"{what} is off by up to {gap:.3g}"
