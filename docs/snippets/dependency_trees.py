"""Dependency trees of sentences of any lengths: an output space for rounds of word pairs."""

import math

import numpy as np
from sklearn.utils import check_array

from skstructured.extend import Geometry, OutputSpace


class DependencyTrees(OutputSpace):
    """Trees over the m words of a sentence, as 0/1 vectors over its m² pairs (word, head).

    Outputs are the places (m,) of the heads; the root of a tree is its own head. The target loss is
    the share of wrong heads. The oracle is the maximum spanning arborescence.
    """

    over_pairs = constant_sum = True

    def fit(self, y):
        """Learn the number of words from heads y (n, m)."""
        self.dim_ = np.shape(y)[1] ** 2
        return self

    def encode(self, y):
        """Vertices (n, m²) of heads (n, m); a ValueError for heads that are not a tree."""
        y = check_array(y, input_name="y")
        m = y.shape[1]
        if m**2 != self._dimension():
            raise ValueError(f"y must have {math.isqrt(self.dim_)} columns, got {m}.")
        for heads in y:
            if not np.isin(heads, np.arange(m)).all() or find_cycle(nodes_of(heads)) is not None:
                raise ValueError(f"heads {heads.tolist()} are not a tree over {m} words.")
        return vertices_of(y.astype(np.int64))

    def decode(self, V):
        """Heads (n, m) of vertices (n, m²)."""
        m = math.isqrt(np.shape(V)[1])
        return np.argmax(np.reshape(V, (-1, m, m)), axis=2)

    def argmax(self, theta):
        """Return the best tree for each row of scores (n, m²)."""
        m = math.isqrt(np.shape(theta)[1])
        return vertices_of([best_heads(scores) for scores in np.reshape(theta, (-1, m, m))])

    def expected_loss(self, mu, V):
        """Share of wrong heads ``1 - <mu, y>/m``, of shape (n,)."""
        return 1.0 - np.einsum("nd,nd->n", mu, V) / math.isqrt(np.shape(V)[1])

    def geometry(self, norm, dim=None):
        """Constants: two trees differ in one head at least, in all heads at most."""
        m = math.isqrt(self._dimension(dim))
        if norm == "l1":
            return Geometry(2.0, 2.0 * m, 0.5 / m)
        return Geometry(math.sqrt(2.0), math.sqrt(2.0 * m), math.sqrt(m - 1) / m)


def vertices_of(heads):
    """Indicators (n, m²) of the heads (n, m) of words."""
    return np.eye(np.shape(heads)[1])[heads].reshape(len(heads), -1)


def nodes_of(heads):
    """Heads (m + 1,) of nodes, words from 1 on, with node 0 above the roots."""
    places = np.arange(len(heads))
    return np.append(0, np.where(heads == places, 0, heads + 1)).astype(np.int64)


def best_heads(scores):
    """Heads (m,) of the best tree of scores (m, m) of (word, head), roots on the diagonal."""
    m = len(scores)
    S = np.full((m + 1, m + 1), -np.inf)
    S[1:, 1:], S[1:, 0] = scores, np.diag(scores)
    np.fill_diagonal(S, -np.inf)
    heads = arborescence(S)[1:] - 1
    return np.where(heads < 0, np.arange(m), heads)


def arborescence(S):
    """Heads of the best tree below node 0, for scores S of (node, head): Chu–Liu and Edmonds."""
    heads = np.argmax(S, axis=1)
    heads[0] = 0
    cycle = find_cycle(heads)
    if cycle is None:
        return heads
    others = np.setdiff1d(np.arange(len(S)), cycle)
    gain = S[np.ix_(cycle, others)] - S[cycle, heads[cycle]][:, None]
    entered, left = np.argmax(gain, axis=0), np.argmax(S[np.ix_(others, cycle)], axis=1)
    k = len(others)
    contracted = np.full((k + 1, k + 1), -np.inf)  # the cycle is the last node
    contracted[:k, :k], contracted[k, :k] = S[np.ix_(others, others)], gain.max(axis=0)
    contracted[:k, k] = S[others, cycle[left]]
    *inner, head_of_cycle = arborescence(contracted)
    heads[cycle[entered[head_of_cycle]]] = others[head_of_cycle]
    for i in range(1, k):
        heads[others[i]] = cycle[left[i]] if inner[i] == k else others[inner[i]]
    return heads


def find_cycle(heads):
    """Nodes of a cycle of heads, or None if all nodes lead to node 0."""
    for node in range(1, len(heads)):
        path = []
        while node != 0 and node not in path:
            path.append(node)
            node = heads[node]
        if node != 0:
            return np.array(path[path.index(node) :])
    return None


def simulate(n, random_state, n_features=4, noise=0.5):
    """Features (m, m, p) of the word pairs of n sentences of 2 to 7 words, and their heads."""
    rng, weights = np.random.RandomState(random_state), np.random.RandomState(0).randn(n_features)
    X = [rng.randn(m, m, n_features) for m in rng.randint(2, 8, n)]
    return X, [best_heads(pairs @ weights + noise * rng.randn(*pairs.shape[:2])) for pairs in X]
