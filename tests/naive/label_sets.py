"""F1 of label sets, by trying every prediction against every truth."""

import itertools
import math


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
