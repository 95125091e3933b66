"""Compile what learners run, so that a container image or a new machine need not do it later."""

import warnings

import numpy as np
from scipy import sparse

from skstructured import bandits, items
from skstructured.estimators import boosting, crf, gaptron, kernel, logistic, margin, perceptron
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.experts.abstention import AbstainingHedgeClassifier
from skstructured.guarantees.risk import risk_bound
from skstructured.losses.oracles import ORACLES
from skstructured.optimizers import OPTIMIZERS
from skstructured.optimizers.pistol import PiSTOL
from skstructured.regularizers import REGULARIZERS
from skstructured.sequences import Stacked
from skstructured.spaces import SPACES


def _outputs(space, n_outputs=3):
    """Twelve outputs of a space."""
    every = np.arange(12)
    if space == "hypercube":
        return (every[:, None] + np.arange(n_outputs)) % 2
    if space in ("birkhoff", "permutahedron"):
        return (every[:, None] + np.arange(3)) % 3 + (space == "permutahedron")
    return every % (n_outputs + (space == "ordinal"))


def _of_classes():
    """Learners of three classes."""
    for optimizer in [*OPTIMIZERS, PiSTOL(per_coordinate=True)]:
        yield OnlineStructuredPredictor(optimizer=optimizer, average=True)
    for loss in ("logistic", "hinge", "smooth_hinge"):
        yield gaptron.GaptronClassifier(loss)
        yield bandits.BanditGaptronClassifier(loss, radius=1.0)
    yield from (perceptron.MulticlassPerceptron(), bandits.BanditronClassifier())
    yield from (bandits.SOBAClassifier(), bandits.NewtronClassifier())
    yield from (kernel.KernelStructuredPredictor(max_iter=1), margin.QuadraticSurrogate())
    for structure in ("full", "classes"):
        yield logistic.FolkloreClassifier(structure=structure)
    yield from (logistic.OnlineNewtonClassifier(), logistic.GaussianAggregatingForecaster())
    yield boosting.AdaBoostOLMClassifier(n_estimators=2)
    yield boosting.OnlineTreeClassifier(patience=2)
    yield crf.ConditionalRandomField("simplex", max_iter=1)


def _learners():
    """Pairs of a learner and outputs for it that between them use every kernel."""
    words = [np.arange(M) % 3 for M in (1, 2, 3)] * 2
    for space, kind in SPACES.items():
        for name, regularizer in REGULARIZERS.items():
            if (kind, regularizer) in ORACLES:
                yield OnlineStructuredPredictor(space, name), _outputs(space)
    for regularizer in ("shannon", "squared"):
        yield OnlineStructuredPredictor("sequence", regularizer), words
    for model in _of_classes():
        yield model, _outputs("simplex")
    for kind in (margin.MaxMinMarginNetwork, margin.StructuralSVM):
        for name in ("linear", "rbf"):
            for space in ("simplex", "birkhoff", "permutahedron"):
                yield kind(space, name), _outputs(space)
        yield kind("sequence"), words
    for kind in (
        kernel.PiSTOLClassifier,
        kernel.PiSTOLRegressor,
        kernel.AveragedKernelSGDClassifier,
        lambda: AbstainingHedgeClassifier([perceptron.MulticlassPerceptron()]),
    ):
        yield kind(), np.arange(12) % 2
    for n_outputs in range(1, 11):  # CSR rows have kernels of their own for so many outputs
        for average in (False, True):
            model = OnlineStructuredPredictor("hypercube", average=average)
            yield model, _outputs("hypercube", n_outputs)


def _run_items(X):
    """Learn and predict three rounds of four, dense and CSR."""
    qid, marks = np.repeat(np.arange(3), 4), np.tile([1, 0, 0, 1], 3)
    pairs = [(items.ItemStructuredPredictor("birkhoff"), marks)]
    for regularizer in ("shannon", "squared"):
        pairs.append((items.ItemStructuredPredictor("simplex", regularizer), np.eye(3, 4).ravel()))
        pairs.append((items.ItemStructuredPredictor("hypercube", regularizer), marks))
    for loss in ("listnet", "sparse_listnet", "permutahedron"):
        pairs.append((items.ListwiseRanker(loss), marks))
    for model, y in pairs:
        for rows in (X, sparse.csr_matrix(X)):
            model.fit(rows, y, qid).predict(rows, qid)


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
    X, y = np.eye(12), _outputs("simplex")
    risk_bound(X[0])
    for model, outputs in _learners() if learners is None else learners:
        _run(model, outputs, X)
    if learners is None:
        for model in (
            OnlineStructuredPredictor("simplex", optimizer="ogd"),
            kernel.KernelStructuredPredictor(),
        ):
            _run(model, y, X.astype(np.float32))
        _run_items(X)
        OnlineStructuredPredictor().partial_fit(X, y, classes=range(3)).partial_fit(X[:1], y[:1])
