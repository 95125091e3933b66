"""Handwritten words: a fold learned, the others predicted; see `benchmarks.papers.ocr` for more."""

import numpy as np

from benchmarks import data
from benchmarks._timing import timed
from benchmarks.papers._ocr import peer
from skstructured import ConditionalRandomField, OnlineStructuredPredictor
from skstructured._base.ragged import Ragged, Stacked

#: CRFsuite's c2, and ours over n words: α = 2 c2/n.
PENALTY = 1.0


def ours(words, n):
    """Name, and what learns and predicts."""
    arrays = data.load("ocr")
    X = Stacked(arrays["X"].astype(np.float64), arrays["lengths"].astype(int))
    y = Ragged.from_lengths(arrays["y"].astype(int), arrays["lengths"])
    learners = {
        "ConditionalRandomField": ConditionalRandomField(alpha=2.0 * PENALTY / n),
        "OnlineStructuredPredictor, five passes": OnlineStructuredPredictor(
            "sequence", max_iter=5, tol=None, random_state=0
        ),
    }
    for name, model in learners.items():
        model.fit(X[words[0][:20]], y[words[0][:20]])
        taken = [timed(lambda model=model: model.fit(X[words[0]], y[words[0]]))[1] for _ in "12345"]
        yield name, True, 1.0 - model.score(X[words[1]], y[words[1]]), np.median(taken)


def theirs(words, is_there):
    """The same of CRFsuite's wrappers."""
    every = list(peer.words(data.path("ocr")))
    (X, y), (Z, truth) = (
        tuple(map(list, zip(*(every[i] for i in part), strict=True))) for part in words
    )
    truth = np.concatenate(truth)
    given = {"c1": 0.0, "c2": PENALTY, "algorithm": "lbfgs"}
    perceptron = {"algorithm": "ap", "max_iterations": 5}
    tasks = [("sklearn-crfsuite", "crfsuite", given), ("chaine", "chaine", given)]
    tasks.append(("sklearn-crfsuite, averaged Perceptron, five passes", "crfsuite", perceptron))
    for name, library, params in tasks:
        package, fit = peer.LIBRARIES[library]
        if is_there(package):
            runs = [timed(lambda fit=fit, params=params: fit(params, X, y)) for _ in "12345"]
            wrong = np.concatenate([list(p) for p in runs[0][0].predict(Z)]) != truth
            yield name, False, float(np.mean(wrong)), np.median([taken for _, taken in runs])


def rows(quick, is_there):
    """The problem's name, and its learners, where a peer is there."""
    fold = data.load("ocr")["fold"]
    words = np.flatnonzero(fold == 0), np.flatnonzero(fold != 0)
    words = tuple(part[:100] for part in words) if quick else words
    peers = list(theirs(words, is_there))
    if peers:
        yield "words, letter error", [*ours(words, len(words[0])), *peers]
