"""Streams of rounds that the tests learn from."""

from copy import deepcopy
from typing import NamedTuple

import numpy as np
from conftest import INTERPRETED
from pairs import space_of

from skstructured._learners.models import Record


def two_classes(rng, n=60, p=4):
    """Rows, and 0 or 1 by a linear rule with a little noise."""
    X = rng.randn(n, p)
    return X, (X @ rng.randn(p) + 0.3 * rng.randn(n) > 0).astype(int)


def largest_feature(rng, n=60, p=4, K=3, noise=0.0):
    """Rows, and which of their first K features is the largest, up to noise."""
    X = rng.randn(n, p)
    return X, np.argmax(X[:, :K] + noise * rng.randn(n, K), axis=1)


def noisy_classes(rng, n=300, p=5, K=4, spread=0.5, noise=1.0):
    """Rows of different norms, and K classes drawn from the softmax of linear scores."""
    X = rng.randn(n, p) * np.exp(spread * rng.randn(n, 1))
    y = np.argmax(X @ rng.randn(p, K) + noise * rng.gumbel(size=(n, K)), axis=1)
    y[:K] = np.arange(K)
    return X, y


def rows_of_norm_one(rng, n, K=3):
    """Rows of norm 1 to 1.09, some entries 0, and K classes that depend on them."""
    X = rng.randn(n, 4) * (rng.rand(n, 4) < 0.7)
    X[:, 0] += X[:, 0] == 0.0
    X *= (1.0 + 0.09 * rng.rand(n, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.argmax(X @ rng.randn(4, K) + 0.2 * rng.randn(n, K), axis=1)
    y[:K] = np.arange(K)
    return X, y


def label_sets(rng, n=30):
    """Rows of 4 features, and the signs of the first three as a label set."""
    X = rng.randn(n, 4)
    return X, (X[:, :3] > 0).astype(int)


def any_outputs(name, dim, rng, n=60, p=5):
    """Rows, outputs of a pair's space that have nothing to do with them, and their vertices."""
    space = space_of(name, dim)
    X = rng.randn(n, p) * np.exp(rng.randn(n, 1))
    vertices = space.vertices()
    V = np.vstack([vertices, vertices[rng.randint(len(vertices), size=n)]])[:n]
    return X, space.decode(V), V


def weighted_vertices(name, dim, rng, n, p=4):
    """A pair's space, rows of very different norms, vertices by them, weights with zeros."""
    space = space_of(name, dim)
    X = rng.randn(n, p) * np.exp(rng.randn(n, 1))
    vertices = space.vertices()
    V = vertices[np.argmax(X @ rng.randn(p, len(vertices)) + rng.randn(n, len(vertices)), axis=1)]
    V[: len(vertices)] = vertices[: len(V)]
    return space, X, V, rng.randint(4, size=n) / 2.0


def linear_vertices(space, rng, noise, n=60):
    """Rows, and vertices of a linear model with Gaussian noise in its scores."""
    X, vertices = rng.randn(n, 3), space.vertices()
    theta = X @ rng.randn(3, vertices.shape[1]) + noise * rng.randn(n, vertices.shape[1])
    return X, vertices[np.argmax(theta @ vertices.T, axis=1)]


def two_outputs(space, noise, n, rng):
    """One feature, whose sign tells which of two opposite outputs it is but for a share `noise`."""
    vertices, sign = space.vertices(), rng.randint(2, size=n)
    far = int(np.argmax(space.expected_loss(vertices, np.repeat(vertices[:1], len(vertices), 0))))
    X = (2.0 * sign[:, None] - 1.0) * (0.5 + 0.5 * rng.rand(n, 1))
    truth = np.where(rng.rand(n) < noise, 1 - sign, sign)
    return X, space.decode(vertices[[0, far]][truth])


def words(n=20 if INTERPRETED else 60, k=3, p=4, longest=5, seed=0):
    """Sequences of a chain with strong transitions, seen through noisy rows; codes of labels."""
    rng = np.random.RandomState(seed)
    T, E = 2.0 * rng.randn(k, k), rng.randn(k, p)
    X, y = [], []
    for _ in range(n):
        codes = [rng.randint(k)]
        for _ in range(rng.randint(longest)):
            weights = np.exp(T[codes[-1]])
            codes.append(rng.choice(k, p=weights / weights.sum()))
        y.append(np.array(codes))
        X.append(E[codes] + 0.7 * rng.randn(len(codes), p))
    return X, y


def outputs_by_scores(space, scores):
    """Outputs of the space with a short-cut, of as many scores as there are columns."""
    places = scores.argsort(axis=1)
    return {
        "simplex": scores.argmax(axis=1),
        "ordinal": np.digitize(scores[:, 0], [-1.0, 0.0, 1.0]),
        "hypercube": (scores > 0).astype(int),
        "subsets": (places.argsort(axis=1) >= 2).astype(int),
        "birkhoff": places,
        "permutahedron": places.argsort(axis=1) + 1,
        "numbers": scores[:, 0],
    }[space]


class Stream(NamedTuple):
    """Rows, vertices and weights."""

    X: np.ndarray
    V: np.ndarray
    weight: np.ndarray


def stream_of_kind(kind, space, rng, n, p=3):
    """Rows and truths of one kind, and weights (all 1 but for "weighted")."""
    vertices, weight = space.vertices(), np.ones(n)
    X, A = rng.randn(n, p), rng.randn(p, len(vertices))
    noise = 0.0 if kind == "separable" else 1.0
    truth = np.argmax(X @ A + noise * rng.randn(n, len(vertices)), axis=1)
    if kind == "noise":
        truth = rng.randint(len(vertices), size=n)
    elif kind == "growing":
        X *= np.logspace(-2, 2, n)[:, None]
    elif kind == "flips":
        X, truth = np.ones((n, p)), 3 * np.arange(n) // n % len(vertices)
    elif kind == "weighted":
        X, weight = X * np.exp(rng.randn(n, 1)), rng.randint(4, size=n) / 2.0
    return Stream(X, vertices[truth], weight)


def next_scores(learner, X, y, weight=1.0):
    """Scores of the next play at the only round of X; nothing is learned."""
    twin, one = deepcopy(learner), np.arange(1)
    return twin.model_.learn(twin.resume(X, y), one, np.array([weight]), Record.SCORES).theta
