"""Chains by enumeration of all label sequences, and by textbook recursions in logarithms."""

import itertools
import math
from fractions import Fraction

import numpy as np

from naive.means import log_sum


def sequences(M, k):
    """All k^M label sequences (k^M, M), in the order of their digits."""
    return np.array(list(itertools.product(range(k), repeat=M)), dtype=np.int64)


def each_pair(pair, M):
    """One transition matrix a step (M − 1, k, k), of a shared one or of one a position."""
    steps = np.broadcast_to(pair, (M, *pair.shape[1:])) if len(pair) == 1 else pair
    return steps[: M - 1]


def score(labels, unary, pair):
    """Σ unary[m, y_m] + Σ pair[m, y_m, y_{m+1}]."""
    total = sum(unary[m, y] for m, y in enumerate(labels))
    steps = each_pair(pair, len(labels))
    return total + sum(step[labels[m], labels[m + 1]] for m, step in enumerate(steps))


def all_scores(unary, pair):
    """All sequences, and their scores."""
    found, m = sequences(*unary.shape), np.arange(len(unary))
    through = each_pair(pair, len(unary))[m[:-1], found[:, :-1], found[:, 1:]]
    return found, unary[m, found].sum(axis=1) + through.sum(axis=1)


def indicators(labels, k):
    """Unary (M, k) and pair (M − 1, k, k) indicators of a sequence."""
    ones = np.eye(k)[labels]
    return ones, ones[:-1, :, None] * ones[1:, None, :]


def mean(weights, found, k):
    """Unary and pair marginals of weighted sequences."""
    ones = np.eye(k)[found]
    pairs = np.einsum("n,nmi,nmj->mij", weights, ones[:, :-1], ones[:, 1:])
    return np.einsum("n,nmi->mi", weights, ones), pairs


def marginals(unary, pair):
    """Unary and pair marginals, and log Z."""
    found, scores = all_scores(unary, pair)
    log_z = log_sum(scores)
    return *mean(np.exp(scores - log_z), found, unary.shape[1]), log_z


def exact_gap(unary, pair, labels, weights):
    """max <θ − μ, v − μ> over all sequences v, for the mean μ of some, in fractions."""
    M, k = unary.shape
    shares = [Fraction(float(w)) for w in weights]
    shares = [w / sum(shares) for w in shares]
    rest = {(m, i): Fraction(float(unary[m, i])) for m in range(M) for i in range(k)}
    for m, step in enumerate(each_pair(pair, M)):
        rest |= {(m, i, j): Fraction(float(step[i, j])) for i in range(k) for j in range(k)}

    def parts(s):
        yield from ((m, s[m]) for m in range(M))
        yield from ((m, s[m], s[m + 1]) for m in range(M - 1))

    for w, s in zip(shares, labels, strict=True):
        for part in parts(s):
            rest[part] -= w
    values = [sum(rest[part] for part in parts(s)) for s in sequences(M, k)]
    mine = [w * sum(rest[part] for part in parts(s)) for w, s in zip(shares, labels, strict=True)]
    return float(max(values) - sum(mine))


def log_marginals(unary, pair):
    """Unary marginals, the sum of pair marginals, and log Z, by recursions in logarithms.

    Messages are kept near 0, as sums over a long chain would round their last digits off.
    """
    M, k = unary.shape
    steps = each_pair(pair, M)
    forward, backward, levels = unary.copy(), np.zeros((M, k)), []
    for m in range(M - 1):
        levels.append(forward[m].max())
        forward[m] -= levels[-1]
        forward[m + 1] += log_sum(forward[m][:, None] + steps[m], axis=0)
    for m in range(M - 2, -1, -1):
        backward[m] = log_sum(steps[m] + (unary[m + 1] + backward[m + 1]), axis=1)
        backward[m] -= backward[m].max()
    total = np.zeros((k, k))
    for m in range(M - 1):
        after = unary[m + 1] + backward[m + 1]
        log_p = forward[m][:, None] + steps[m] + after
        total += np.exp(log_p - log_sum(log_p))
    log_mu = forward + backward
    mu = np.exp(log_mu - log_sum(log_mu, axis=1, keepdims=True))
    return mu, total, math.fsum([*levels, log_sum(forward[-1])])


def viterbi(unary, pair):
    """Best labels by max-sum."""
    M = len(unary)
    steps, best, back = each_pair(pair, M), unary[0], []
    for m in range(M - 1):
        through = best[:, None] + steps[m]
        back.append(np.argmax(through, axis=0))
        best = unary[m + 1] + through.max(axis=0)
    labels = [int(np.argmax(best))]
    for before in reversed(back):
        labels.append(int(before[labels[-1]]))
    return np.array(labels[::-1])
