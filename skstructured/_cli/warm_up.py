"""Compile what learners run, so that a container image or a new machine need not do it later."""

import warnings

import numpy as np
from scipy import sparse

from skstructured import bandits
from skstructured.estimators import boosting, gaptron, logistic, perceptron
from skstructured.estimators.crf import ConditionalRandomField
from skstructured.estimators.kernel import (
    AveragedKernelSGDClassifier,
    KernelStructuredPredictor,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.estimators.margin import MaxMinMarginNetwork, QuadraticSurrogate, StructuralSVM
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.experts.abstention import AbstainingHedgeClassifier
from skstructured.guarantees.risk import risk_bound
from skstructured.items import ItemStructuredPredictor, ListwiseRanker
from skstructured.losses.oracles import ORACLES
from skstructured.optimizers import OPTIMIZERS
from skstructured.optimizers.pistol import PiSTOL
from skstructured.regularizers import REGULARIZERS
from skstructured.sequences import Stacked
from skstructured.spaces import SPACES

#: CSR rows have kernels of their own for so many outputs, with averages and without.
OUTPUTS = range(1, 11)


def _outputs(space, n_outputs=3):
    """Twelve outputs of a space."""
    every = np.arange(12)
    if space == "hypercube":
        return (every[:, None] + np.arange(n_outputs)) % 2
    if space in ("birkhoff", "permutahedron"):
        return (every[:, None] + np.arange(3)) % 3 + (space == "permutahedron")
    return every % (n_outputs + (space == "ordinal"))


def _learners():
    """Pairs of a learner and outputs for it that between them use every kernel."""
    for space, kind in SPACES.items():
        for name, regularizer in REGULARIZERS.items():
            if (kind, regularizer) in ORACLES:
                yield OnlineStructuredPredictor(space, name), _outputs(space)
    words = [np.arange(M) % 3 for M in (1, 2, 3)] * 2
    for regularizer in ("shannon", "squared"):
        yield OnlineStructuredPredictor("sequence", regularizer), words
    for optimizer in [*OPTIMIZERS, PiSTOL(per_coordinate=True)]:
        yield OnlineStructuredPredictor(optimizer=optimizer, average=True), _outputs("simplex")
    for loss in ("logistic", "hinge", "smooth_hinge"):
        yield gaptron.GaptronClassifier(loss), _outputs("simplex")
        yield bandits.BanditGaptronClassifier(loss, radius=1.0), _outputs("simplex")
    yield perceptron.MulticlassPerceptron(), _outputs("simplex")
    for kind in (bandits.BanditronClassifier, bandits.SOBAClassifier, bandits.NewtronClassifier):
        yield kind(), _outputs("simplex")
    yield KernelStructuredPredictor(max_iter=1), _outputs("simplex")
    for kind in (PiSTOLClassifier, PiSTOLRegressor, AveragedKernelSGDClassifier):
        yield kind(), np.arange(12) % 2
    for kind in (MaxMinMarginNetwork, StructuralSVM):
        for kernel in ("linear", "rbf"):
            yield kind(kernel=kernel), _outputs("simplex")
            for space in ("birkhoff", "permutahedron"):
                yield kind(space, kernel), _outputs(space)
        yield kind("sequence"), words
    yield QuadraticSurrogate(), _outputs("simplex")
    for structure in ("full", "classes"):
        yield logistic.FolkloreClassifier(structure=structure), _outputs("simplex")
    for kind in (logistic.OnlineNewtonClassifier, logistic.GaussianAggregatingForecaster):
        yield kind(), _outputs("simplex")
    yield boosting.AdaBoostOLMClassifier(n_estimators=2), _outputs("simplex")
    yield boosting.OnlineTreeClassifier(patience=2), _outputs("simplex")
    yield ConditionalRandomField("simplex", solver="sdca", max_iter=1), _outputs("simplex")
    yield AbstainingHedgeClassifier([perceptron.MulticlassPerceptron()]), np.arange(12) % 2
    for n_outputs in OUTPUTS:
        for average in (False, True):
            model = OnlineStructuredPredictor("hypercube", average=average)
            yield model, _outputs("hypercube", n_outputs)


def _single_learners():
    """Pairs that between them use every kernel that float32 rows have for themselves."""
    for optimizer in ("ogd", PiSTOL(per_coordinate=True)):
        for standardize in (False, True):
            given = {"optimizer": optimizer, "standardize": standardize}
            yield OnlineStructuredPredictor(**given), _outputs("simplex")
    yield KernelStructuredPredictor(max_iter=1), _outputs("simplex")


def _item_learners():
    """Pairs of a learner of items and outputs for three rounds of four."""
    marks = np.tile([1, 0, 0, 1], 3)
    for space, y in (("simplex", np.tile([1, 0, 0, 0], 3)), ("hypercube", marks)):
        for regularizer in ("shannon", "squared"):
            yield ItemStructuredPredictor(space, regularizer), y
    yield ItemStructuredPredictor("birkhoff"), marks  # of two and two
    for loss in ("listnet", "sparse_listnet", "permutahedron"):
        yield ListwiseRanker(loss), marks


def _run_items(X):
    """Learn and predict rounds of rows, dense and CSR."""
    qid = np.repeat(np.arange(3), 4)
    for model, y in _item_learners():
        for rows in (X, sparse.csr_matrix(X)):
            model.fit(rows, y, qid).predict(rows, qid)


def _run_one_row(X):
    """Learn and predict rows one by one."""
    y = _outputs("simplex")
    model = OnlineStructuredPredictor().partial_fit(X, y, classes=np.arange(3))
    model.partial_fit(X[:1], y[:1]).predict(X[:1])


def _run(model, y, X):
    """Learn and predict rows, dense and CSR."""
    for rows in (X, sparse.csr_matrix(X)):
        if len(y) == 6:  # sequences
            rows = Stacked(rows, [len(labels) for labels in y])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows, y).predict(rows)


def warm_up(learners=None):
    """Compile the kernels of every learner, for dense and CSR rows, and keep them on disk.

    Parameters
    ----------
    learners : iterable of (estimator, y) or None, default=None
        What to run on twelve rows; None is a list of learners that use every kernel between them.
    """
    X = np.eye(12)
    risk_bound(X[0])
    for model, y in _learners() if learners is None else learners:
        _run(model, y, X)
    for model, y in _single_learners() if learners is None else ():
        _run(model, y, X.astype(np.float32))
    if learners is None:
        _run_items(X)
        _run_one_row(X)
