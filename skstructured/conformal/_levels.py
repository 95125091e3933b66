"""Levels of conformity scores: a quantile of those seen, and how it follows a stream."""

import bisect
import math
from collections import deque
from collections.abc import Iterable

import numpy as np

from skstructured.extend._types import Floats


def quantile(ordered: list[float] | Floats, alpha: float) -> float:
    """The ``⌈(n + 1)(1 − α)⌉``-th smallest of n scores in order: inf beyond the last of them.

    −inf for α ≥ 1, inf for α ≤ 0.
    """
    n = len(ordered)
    if alpha >= 1.0:
        return -math.inf
    place = math.ceil((n + 1) * (1.0 - alpha) * (1.0 - 1e-12))
    if alpha <= 0.0 or place > n:
        return math.inf
    return float(ordered[max(place, 1) - 1])


class RecentScores:
    """The last scores of a stream, `window` of them, in their order and by size."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.recent: deque[float] = deque()
        self.ordered: list[float] = []

    def add(self, score: float) -> None:
        """A score comes in; the oldest leaves where there is no more room."""
        if len(self.recent) == self.window:
            oldest = self.recent.popleft()
            del self.ordered[bisect.bisect_left(self.ordered, oldest)]
        self.recent.append(score)
        bisect.insort(self.ordered, score)

    def begin(self, scores: Iterable[float]) -> None:
        """Start with some scores, the last of them where they are too many."""
        self.recent = deque(list(map(float, scores))[-self.window :])
        self.ordered = np.sort(self.recent).tolist()
