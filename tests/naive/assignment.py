"""Maximal assignment, by trying every permutation."""

import itertools


def best_assignment(theta):
    """The largest Σ_i θ_{i, π(i)} over permutations π, and one that has it."""
    m = len(theta)

    def total(columns):
        return sum(float(theta[i][j]) for i, j in enumerate(columns))

    best = max(itertools.permutations(range(m)), key=total)
    return total(best), best
