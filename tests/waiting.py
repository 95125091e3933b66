"""Rows that signals come in between."""

import numpy as np
from streams import largest_feature


def stream(n):
    return largest_feature(np.random.RandomState(0), n, noise=0.5)
