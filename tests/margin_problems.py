"""Small problems of max-margin models, with all their outputs and losses."""

import numpy as np
from example_spaces import KSubsets
from naive import margin as naive
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from spanning_trees import SpanningTrees

import skstructured as sk
from skstructured.estimators.margin._outputs import outputs_of

DUAL = (sk.MaxMinMarginNetwork, sk.StructuralSVM)
MODELS = (*DUAL, sk.QuadraticSurrogate)
EXACT = {"tol": 1e-9, "max_iter": 5000, "random_state": 0}
#: The linear kernel, over the matrix of kernels.
LINEAR = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 0.0}
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]


def costs(k, seed=0):
    A = np.random.RandomState(seed).rand(k, k)
    np.fill_diagonal(A, 0.0)
    return A


class Case:
    """A space with all vertices, their losses [predicted, true], and outputs of random rows."""

    def __init__(self, name, size=3, n=7, seed=0):
        rng = np.random.RandomState(seed)
        self.X = rng.randn(n, size)
        noisy = self.X + rng.randn(n, size)
        self.cost_matrix = None
        if name == "hypercube":
            self.y, self.space = (noisy > 0).astype(int), sk.spaces.Hypercube()
            self.y[:2] = [np.zeros(size), np.ones(size)]
        elif name == "birkhoff":
            self.y, self.space = np.argsort(np.argsort(noisy, axis=1), axis=1), sk.spaces.Birkhoff()
        else:
            self.y = np.r_[np.arange(size), np.argmax(noisy, axis=1)[size:]]
            self.space = sk.spaces.OrdinalChain() if name == "ordinal" else sk.spaces.Simplex()
            self.cost_matrix = costs(size) if name == "costs" else None
        self.short_cut = "simplex" if name == "costs" else name
        self.space.fit(self.y)
        self.outputs = outputs_of(self.space, self.cost_matrix)
        self._list(name, size)

    def _list(self, name, size):
        if name in ("hypercube", "birkhoff"):
            self.V = self.space.vertices()
            every = self.space.decode(self.V)
            self.L = np.array([[self.space.target_loss([a], [b])[0] for b in every] for a in every])
            given = [list(row) for row in self.y]
            self.places = [every.tolist().index(list(map(int, row))) for row in given]
        else:
            self.V, steps = np.eye(size), np.subtract.outer(np.arange(size), np.arange(size))
            losses = {"simplex": 1.0 - np.eye(size), "ordinal": np.abs(steps).astype(float)}
            self.L = self.cost_matrix.T if name == "costs" else losses[name]
            self.places = self.y

    def model(self, kind, **parameters):
        if kind is not sk.QuadraticSurrogate:
            parameters = EXACT | parameters
        given = {"alpha": 0.1, "standardize": False} | parameters
        return kind(self.short_cut, cost_matrix=self.cost_matrix, **given)

    def loss(self, kind):
        return naive.max_min_loss if kind is sk.MaxMinMarginNetwork else naive.margin_loss


def features_of(case, kernel):
    """Explicit features whose products are the kernels, the intercept in them."""
    if kernel == "linear":
        return np.column_stack([case.X, np.ones(len(case.X))])
    gamma = 1.0 / (case.X.shape[1] * case.X.var())
    return np.linalg.cholesky(rbf_kernel(case.X, gamma=gamma) + 1.0 + 1e-12 * np.eye(len(case.X)))


class PlainSubsets(KSubsets):
    """Subsets whose oracle is not compiled, and whose costs are written out."""

    oracle_kernel = None

    def target_costs(self, V):
        """L(y', y) = 1 − <y', y>/k."""
        return -V / self.k, np.ones(len(V))


#: Spaces, and how many scores they have for three items.
OTHERS = {
    "birkhoff": (sk.spaces.Birkhoff(), 9),
    "permutahedron": (sk.spaces.Permutahedron(), 3),
    "subsets": (KSubsets(k=2), 4),
    "plain subsets": (PlainSubsets(k=2), 4),
    "trees": (SpanningTrees(EDGES, 4), 4),
}


def problem(name, n=7, seed=0):
    """Rows, outputs, the fitted space, its vertices, their losses, and the places of outputs.

    A name of `OTHERS`, or as there a space with the number of its scores.
    """
    given, dim = OTHERS[name] if isinstance(name, str) else name
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 3)
    space = clone(given).fit(given.decode(_first(given, dim)))
    y = space.decode(space.argmax(X @ rng.randn(3, dim) + rng.randn(n, dim)))
    V = np.unique(space.argmax(rng.randn(300, dim)), axis=0)
    L = np.array([space.expected_loss(np.tile(v, (len(V), 1)), V) for v in V])
    codes = space.encode(y)
    return X, y, space, V, L, [int(np.flatnonzero((code == V).all(axis=1))[0]) for code in codes]


def _first(space, dim):
    """One vertex, of a space that is not fitted."""
    if isinstance(space, KSubsets):
        return np.eye(dim)[:1] + np.eye(dim)[1:2]
    return space.argmax(np.arange(dim)[None] * 1.0)


def words(k, lengths, n=6, seed=0):
    """Sequences with noise, in which all labels occur."""
    rng = np.random.RandomState(seed)
    X = [rng.randn(lengths[i % len(lengths)], 2) for i in range(n)]
    W = rng.randn(2, k)
    y = [np.argmax(x @ W + 1.5 * rng.randn(len(x), k), axis=1) for x in X]
    for c in range(k):
        y[c][0] = c
    return X, y


def weights_of(model):
    """Weights as `naive.chain_features` has them."""
    unary = np.vstack([model.coef_.T, model.intercept_])
    return np.concatenate([unary.ravel(), model.start_, model.end_, model.transitions_.ravel()])


def posed_rows(name, kernel="linear", n=7, seed=0):
    """Rows, outputs, parameters, tables of all outputs, and what finds weights of a model."""
    case = Case(name, n=n, seed=seed)
    F = features_of(case, kernel)
    given = {"space": case.short_cut, "cost_matrix": case.cost_matrix, "kernel": kernel}
    tables = naive.row_tables(case.L, case.V, F, case.places)
    return case.X, case.y, given, tables, lambda model: (model.dual_coef_.T @ F).ravel()


def posed_others(name, n=7, seed=0):
    """As `posed_rows`, of spaces known by their oracle."""
    X, y, space, V, L, places = problem(name, n, seed)
    F = np.column_stack([X, np.ones(n)])

    def weights(model):
        return np.column_stack([model.coef_, model.intercept_]).ravel()

    return X, y, {"space": space}, naive.row_tables(L, V, F, places), weights


def posed_words(k, lengths, dear=False, n=6, seed=0):
    """As `posed_rows`, of label sequences."""
    X, y = words(k, lengths, n, seed)
    A = costs(k, 3) if dear else 1.0 - np.eye(k)
    tables = [naive.chain_table(x, labels, A) for x, labels in zip(X, y, strict=True)]
    return X, y, {"space": "sequence", "cost_matrix": A.T if dear else None}, tables, weights_of
