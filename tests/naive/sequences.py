"""Online learning of label sequences, literally: all labels listed, whole matrices of features."""

import functools
import itertools
import math

import numpy as np

from naive.chains import indicators


def embedding(codes, k):
    """Indicators of positions and of steps, one after the other."""
    return np.concatenate([part.ravel() for part in indicators(np.asarray(codes), k)])


@functools.cache
def vertices(M, k):
    """Embeddings of all label sequences."""
    return np.array([embedding(codes, k) for codes in itertools.product(range(k), repeat=M)])


def extended(X, intercept):
    """Rows with an intercept, and the first and the last position marked."""
    M = len(X)
    first, last = np.eye(M)[:, :1], np.eye(M)[:, -1:]
    return np.hstack([X, np.ones((M, 1)), first, last] if intercept else [X, first, last])


def scores(W, X, intercept):
    """Scores of the embedding, of weights (features + k, k), the transitions last."""
    k, M = W.shape[1], len(X)
    unary = extended(X, intercept) @ W[:-k]
    return np.concatenate([unary.ravel(), np.tile(W[-k:].ravel(), M - 1)])


def gradient(difference, X, k, intercept):
    """Gradient in the weights of one in the scores."""
    M = len(X)
    unary = difference[: M * k].reshape(M, k)
    pairs = difference[M * k :].reshape(M - 1, k, k)
    return np.vstack([extended(X, intercept).T @ unary, pairs.sum(axis=0)])


def mean(theta, V):
    """Mean of the vertices under p ∝ exp(<θ, v>)."""
    z = V @ theta
    p = np.exp(z - z.max())
    return p @ V / p.sum()


def loss(theta, V, y):
    """−ln p(y)."""
    z = V @ theta
    return z.max() + math.log(np.exp(z - z.max()).sum()) - y @ theta


def spread(X, intercept):
    """The bound on the gradient's norm."""
    Z = extended(X, False)
    products = Z[:, :-2] @ Z[:, :-2].T + intercept
    products = products + np.diag((Z[:, -2:] ** 2).sum(axis=1))
    return math.sqrt(2.0 * np.abs(products).sum() + 2.0 * (len(X) - 1) ** 2)


def descent(sequences, labels, k, step, intercept=True, power=3):
    """Gradient descent with a fixed step: weights last and averaged, and losses.

    The weights of round t count t to the `power` in the average.
    """
    features = sequences[0].shape[1] + intercept + 2 + k
    W, total, losses = np.zeros((features, k)), np.zeros((features, k)), []
    for t, (X, codes) in enumerate(zip(sequences, labels, strict=True), 1):
        V, y, theta = vertices(len(X), k), embedding(codes, k), scores(W, X, intercept)
        total += t**power * W
        losses.append(loss(theta, V, y))
        W = W - step * gradient(mean(theta, V) - y, X, k, intercept)
    return W, total / shares(len(labels), power), np.array(losses)


def shares(n, power):
    """Σ t^power of n rounds."""
    return float(sum(t**power for t in range(1, n + 1)))


def pistol(sequences, labels, k, a, b, intercept=True, power=3):
    """PiSTOL with whole gradients: the average of the weights played, and losses."""
    features = sequences[0].shape[1] + intercept + 2 + k
    G, total, losses, path, N = np.zeros((features, k)), 0.0, [], 0.0, 0.0
    for t, (X, codes) in enumerate(zip(sequences, labels, strict=True), 1):
        N = max(N, spread(X, intercept))
        alpha = a * N * (N + path)
        W = G * b / alpha * math.exp((G**2).sum() / (2.0 * alpha))
        V, y, theta = vertices(len(X), k), embedding(codes, k), scores(W, X, intercept)
        total = total + t**power * W
        losses.append(loss(theta, V, y))
        g = gradient(mean(theta, V) - y, X, k, intercept)
        path += np.linalg.norm(g)
        G = G - g
    return total / shares(len(labels), power), np.array(losses)
