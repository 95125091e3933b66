"""F1 of label sets, by trying every prediction against every truth."""

import itertools
import math

import numpy as np


def f1(guess, truth, zero_division):
    """2<y', y>/(<y', 1> + <y, 1>), or what 0/0 counts as."""
    both, either = sum(a * b for a, b in zip(guess, truth, strict=True)), sum(guess) + sum(truth)
    return 2.0 * both / either if either else zero_division


def probability(truth, p):
    """Of a label set, with independent labels."""
    return math.prod(one if label else 1.0 - one for label, one in zip(truth, p, strict=True))


def expected_f1(p, zero_division=1.0):
    """Expected F1 of every label set there is: a dictionary."""
    every = list(itertools.product((0, 1), repeat=len(p)))
    chances = [probability(truth, p) for truth in every]
    return {
        guess: sum(
            chance * f1(guess, truth, zero_division)
            for chance, truth in zip(chances, every, strict=True)
        )
        for guess in every
    }


def calibrations(scores, truths, weights):
    """Slope, offset, that of the mean score, ratio of the empty set: before each row, after all."""
    x, curvature, sums, clock, found = np.eye(3)[0], np.zeros((3, 3)), np.zeros(2), 0.0, []
    for theta, y, w in [*zip(scores, truths, weights, strict=True), (None, None, 0.0)]:
        came, expected = (0.5e-6 + (1.0 - 1e-6) * one for one in sums)
        found.append([*x, came / (1.0 - came) * (1.0 - expected) / expected])
        if w == 0.0:
            continue
        clock += w
        share = 4.0 * w / (clock + 3.0 * w)
        theta = np.clip(theta, -1e3, 1e3)
        Z = np.stack([theta, np.ones(len(theta)), np.full(len(theta), theta.mean())])
        p = 1.0 / (1.0 + np.exp(np.minimum(-(x @ Z), 700.0)))
        curvature = curvature + share * ((Z * p * (1.0 - p)) @ Z.T - curvature)
        sums = sums + share * (np.array([float(not any(y)), np.prod(1.0 - p)]) - sums)
        ridge = share + 1e-9 * np.trace(curvature)
        move = share * np.linalg.solve(curvature + ridge * np.eye(3), Z @ (p - y))
        x = x - move * min(1.0, 0.5 / max(np.abs(move).max(), 1e-300))
        x[0] = np.clip(x[0], 1e-2, 1e2)
    return np.array(found)
