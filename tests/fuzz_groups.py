"""The case of a seed, of whatever group it is."""

import fuzz_play
import numpy as np
from fuzz_files import TARGETS


def play(areas, groups, seed, tell):
    """Play the case of a seed; returns the number of calls, or raises the `Finding`."""
    np.random.seed(seed % 2**32)  # noqa: NPY002 (learners without a random_state draw from it)
    group = groups[seed % len(groups)]
    if group in TARGETS:
        return TARGETS[group](np.random.RandomState(seed % 2**32), areas, tell)
    return fuzz_play.play(group, areas, seed, tell)
