"""Rounds that a thread learns while a test looks at the learner."""

import threading
from contextlib import contextmanager

import numpy as np
from streams import largest_feature

from skstructured.spaces import Simplex


def stream(n):
    return largest_feature(np.random.RandomState(0), n, noise=0.5)


class Waiting(Simplex):
    """A space that waits in the middle of learning until it is told to go on."""

    entered, go_on = threading.Event(), threading.Event()

    def unpack(self, packed):
        Waiting.entered.set()
        assert Waiting.go_on.wait(60)
        return super().unpack(packed)


@contextmanager
def learning_elsewhere(model, X, y):
    """Another thread is learning in the block, and has learned after it."""
    model.space_ = Waiting().fit(y)
    getattr(model, "_model", model).space = model.space_
    Waiting.entered.clear()
    Waiting.go_on.clear()
    learning = threading.Thread(target=model.partial_fit, args=(X, y))
    learning.start()
    try:
        assert Waiting.entered.wait(60)
        yield
    finally:
        Waiting.go_on.set()
        learning.join()
