"""Compile most of what the tests run: ``python tests/compiling.py STEP`` takes each learner.

Two processes, of steps 1 and -1, begin at both ends of the list.
"""

import sys
import warnings

import numpy as np
from learners import SHIPPED, TWO_CLASSES
from plain import predictor
from scipy import sparse
from sklearn.base import clone

from skstructured import items
from skstructured.estimators import margin
from skstructured.losses.oracles import ORACLES
from skstructured.regularizers import REGULARIZERS
from skstructured.sequences import Stacked
from skstructured.spaces import SPACES

EVERY, WORDS = np.arange(12), [np.arange(M) % 3 for M in (1, 2, 3)] * 2


def outputs(space):
    """Twelve outputs of a space."""
    if space == "hypercube":
        return (EVERY[:, None] + np.arange(3)) % 2
    if space in ("birkhoff", "permutahedron"):
        return (EVERY[:, None] + np.arange(3)) % 3 + (space == "permutahedron")
    return EVERY % (3 + (space == "ordinal"))


def learners():
    """Pairs of a learner and outputs for it."""
    for space, kind in SPACES.items():
        for name, regularizer in REGULARIZERS.items():
            if (kind, regularizer) in ORACLES:
                yield predictor(space=space, regularizer=name), outputs(space)
    for regularizer in ("shannon", "squared"):
        yield predictor(space="sequence", regularizer=regularizer), WORDS
    for model in SHIPPED.values():
        yield model, outputs("simplex")
    for model in TWO_CLASSES.values():
        yield model, EVERY % 2
    for kind in (margin.MaxMinMarginNetwork, margin.StructuralSVM):
        for kernel in ("linear", "rbf"):
            for space in ("simplex", "birkhoff", "permutahedron"):
                yield kind(space, kernel), outputs(space)
        yield kind("sequence"), WORDS


def run(model, rows, y, *rest):
    """Learn and predict."""
    clone(model).fit(rows, y, *rest).predict(rows, *rest)


def run_items(X):
    """Three rounds of four items."""
    qid, marks = np.repeat(np.arange(3), 4), np.tile([1, 0, 0, 1], 3)
    for loss in ("listnet", "sparse_listnet", "permutahedron"):
        run(items.ListwiseRanker(loss), X, marks, qid)
    for regularizer in ("shannon", "squared"):
        choices = np.eye(3, 4).ravel()
        run(items.ItemStructuredPredictor("simplex", regularizer), X, choices, qid)
        run(items.ItemStructuredPredictor("hypercube", regularizer), X, marks, qid)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for X in (np.eye(12), sparse.csr_matrix(np.eye(12))):
        for model, y in [*learners()][:: int(sys.argv[1])]:
            run(model, Stacked(X, [len(labels) for labels in y]) if y is WORDS else X, y)
        run_items(X)
