"""Handwritten words: one of ten folds learned, the others predicted, for five of them."""

import numpy as np

from benchmarks import data
from benchmarks._timing import timed
from benchmarks.papers._ocr import peer
from benchmarks.peers._learners import summed_up
from skstructured import ConditionalRandomField, OnlineStructuredPredictor, StructuredPredictor
from skstructured._base.ragged import Ragged, Stacked

#: CRFsuite's c2, and ours over n words: α = 2 c2/n.
PENALTY = 1.0


FOLDS = 5


def ours(n):
    """Name, and what learns."""
    yield 'StructuredPredictor("sequence")', StructuredPredictor("sequence", random_state=0)
    yield "ConditionalRandomField", ConditionalRandomField(alpha=2.0 * PENALTY / n)
    given = {"max_iter": 5, "random_state": 0}
    yield "OnlineStructuredPredictor, five passes", OnlineStructuredPredictor("sequence", **given)


def errors_of_ours(parts):
    """(name, True, [(error, seconds) of every fold])."""
    arrays = data.load("ocr")
    X = Stacked(arrays["X"].astype(np.float64), arrays["lengths"].astype(int))
    y = Ragged.from_lengths(arrays["y"].astype(int), arrays["lengths"])
    for name, model in ours(len(parts[0][0])):
        model.fit(X[parts[0][0][:20]], y[parts[0][0][:20]])
        found = []
        for learned, judged in parts:
            _, seconds = timed(lambda model=model, part=learned: model.fit(X[part], y[part]))
            found.append((1.0 - model.score(X[judged], y[judged]), seconds))
        yield name, True, found


def errors_of_theirs(parts, is_there):
    """The same of CRFsuite's wrappers."""
    every = list(peer.words(data.path("ocr")))
    given = {"c1": 0.0, "c2": PENALTY, "algorithm": "lbfgs"}
    perceptron = {"algorithm": "ap", "max_iterations": 5}
    tasks = [("sklearn-crfsuite", "crfsuite", given), ("chaine", "chaine", given)]
    tasks.append(("sklearn-crfsuite, averaged Perceptron, five passes", "crfsuite", perceptron))
    for name, library, params in tasks:
        package, fit = peer.LIBRARIES[library]
        if is_there(package):
            yield name, False, [error_of_theirs(every, *part, fit, params) for part in parts]


def error_of_theirs(every, learned, judged, fit, params):
    """Error and seconds of a fold."""
    (X, y), (Z, truth) = (
        tuple(map(list, zip(*(every[i] for i in part), strict=True))) for part in (learned, judged)
    )
    model, seconds = timed(lambda: fit(params, X, y))
    wrong = np.concatenate([list(p) for p in model.predict(Z)]) != np.concatenate(truth)
    return float(np.mean(wrong)), seconds


def rows(quick, is_there):
    """The problem's name, and its learners, where a peer is there."""
    fold, most = data.load("ocr")["fold"], 100 if quick else None
    parts = [
        (np.flatnonzero(fold == k)[:most], np.flatnonzero(fold != k)[:most])
        for k in range(1 if quick else FOLDS)
    ]
    peers = list(errors_of_theirs(parts, is_there))
    if peers:
        found = [*errors_of_ours(parts), *peers]
        yield "words, letter error", [(name, own, *summed_up(runs)) for name, own, runs in found]
