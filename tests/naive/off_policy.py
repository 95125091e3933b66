"""Off-policy estimates, round by round in plain sums."""

import math


def ips(*log):
    return [pi[a] / p * r for a, r, p, pi in zip(*log, strict=True)]


def doubly_robust(actions, rewards, propensities, policy, q):
    found = []
    for a, r, p, pi, estimates in zip(actions, rewards, propensities, policy, q, strict=True):
        expected = sum(x * e for x, e in zip(pi, estimates, strict=True) if x > 0.0)
        found.append(expected + (pi[a] / p * (r - estimates[a]) if pi[a] > 0.0 else 0.0))
    return found


def weighted_mean(numbers, weight):
    return sum(s * v for s, v in zip(weight, numbers, strict=True)) / sum(weight)


def standard_error(numbers, weight):
    """Of a mean, by the squares of what each number adds to it."""
    n, v = sum(s > 0 for s in weight), weighted_mean(numbers, weight)
    total = sum((s * (x - v)) ** 2 for s, x in zip(weight, numbers, strict=True))
    return math.sqrt(n / (n - 1) * total) / sum(weight)


def snips(actions, rewards, propensities, policy, weight):
    """The value, and the standard error of a ratio of two means."""
    w = [s * pi[a] / p for s, a, p, pi in zip(weight, actions, propensities, policy, strict=True)]
    v = sum(x * r for x, r in zip(w, rewards, strict=True)) / sum(w)
    total = sum((x * (r - v)) ** 2 for x, r in zip(w, rewards, strict=True))
    n = sum(s > 0 for s in weight)
    return v, math.sqrt(n / (n - 1) * total) / sum(w)


def effective(actions, propensities, policy, weight):
    w = [s * pi[a] / p for s, a, p, pi in zip(weight, actions, propensities, policy, strict=True)]
    return sum(w) ** 2 / sum(x * x for x in w)


def maurer_pontil(numbers, low, high, delta):
    """Theorem 4: the mean of numbers in [low, high] lies so near to theirs on one side."""
    n = len(numbers)
    scaled = [(x - low) / (high - low) for x in numbers]
    V = sum((a - b) ** 2 for a in scaled for b in scaled) / (2 * n * (n - 1))
    log = math.log(2 / delta)
    return (high - low) * (math.sqrt(2 * V * log / n) + 7 * log / (3 * (n - 1)))
