"""Online learning of label sequences, literally: all labels listed, whole matrices of features."""

import functools
import itertools
import math

import numpy as np
from scipy.linalg import block_diag
from scipy.special import softmax

from naive.chains import indicators
from naive.means import log_sum
from naive.rounds import Round, learn_rounds


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


def matrix(X, k, intercept):
    """Scores of the embedding are ``matrix @ W.ravel()``, W (features + k, k), transitions last."""
    steps = np.tile(np.eye(k * k), (len(X) - 1, 1))
    return block_diag(np.kron(extended(X, intercept), np.eye(k)), steps)


def scores(W, X, intercept):
    """Scores of the embedding."""
    return matrix(X, W.shape[1], intercept) @ W.ravel()


def mean(theta, V):
    """Mean of the vertices under p ∝ exp(<θ, v>)."""
    return softmax(V @ theta) @ V


def loss(theta, V, y):
    """−ln p(y)."""
    return log_sum(V @ theta) - y @ theta


def spread(X, intercept):
    """The bound on the gradient's norm."""
    Z = extended(X, False)
    products = Z[:, :-2] @ Z[:, :-2].T + intercept
    products = products + np.diag((Z[:, -2:] ** 2).sum(axis=1))
    return math.sqrt(2.0 * np.abs(products).sum() + 2.0 * (len(X) - 1) ** 2)


def learn(learners, sequences, labels, k, weight=None, intercept=True, **given):
    """`learn_rounds` of label sequences, for W (features + k, k)."""

    def gradient_and_value(theta, y):
        return mean(theta, y[0]) - y[1], loss(theta, *y)

    rounds = [
        Round(
            matrix(X, k, intercept),
            (vertices(len(X), k), embedding(codes, k)),
            [spread(X, intercept)] * len(learners),
        )
        for X, codes in zip(sequences, labels, strict=True)
    ]
    weight = np.ones(len(rounds)) if weight is None else weight
    return learn_rounds(learners, rounds, gradient_and_value, weight, **given)
