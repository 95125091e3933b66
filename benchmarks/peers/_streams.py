"""Streams that change on their way, in their own order: every row is predicted, then learned.

The error is that of all predictions of one run, and the seconds those of predicting and learning.
"""

from functools import partial

import numpy as np

from benchmarks._timing import timed
from benchmarks.defaults._streams import moving
from benchmarks.defaults.streams import of_river, of_sgd, of_vowpal_wabbit, played, repeated
from benchmarks.peers._learners import summed_up

#: Rows of a stream, at most.
MOST = 10_000

CHOSEN = ("abrupt", "elec2", "covtype, in order")

LEARNERS = (
    ("OnlineStructuredPredictor", True, "numpy", partial(played, "mixture")),
    ("SGDClassifier, scaled", False, "sklearn", of_sgd),
    ("river softmax, scaled", False, "river", partial(of_river, "river softmax")),
    ("river adaptive tree", False, "river", partial(of_river, "river tree")),
    ("river adaptive forest", False, "river", partial(of_river, "river forest")),
    ("Vowpal Wabbit --coin", False, "vowpalwabbit", of_vowpal_wabbit),
    ("the last label", False, "numpy", repeated),
)


def rows(quick, is_there):
    """Problems' names, and their learners."""
    for name, X, y in moving(quick):
        if name in CHOSEN:
            X, y = np.ascontiguousarray(X[:MOST]), y[:MOST]
            found = []
            for learner, is_builtin, package, run in LEARNERS:
                if is_there(package):
                    run(X[:200], y[:200])
                    (error, *_), seconds = timed(lambda run=run, X=X, y=y: run(X, y))
                    found.append((learner, is_builtin, *summed_up([(error, seconds)])))
            yield f"{name.removesuffix(', in order')}, moving stream", found
