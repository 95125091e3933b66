"""Losses of one checkout on clean, wrong and skewed columns, as lines of JSON; see `robust`.

A script and not a module: it runs beside the package of any commit, in whose folder it is started.
"""

import json
import sys
import warnings

import numpy as np
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import skstructured as sk
from benchmarks.data import load
from benchmarks.defaults import _streams
from benchmarks.peers import _packaged
from benchmarks.peers.packaged import (
    discordant,
    distance,
    error,
    folds_of,
    label_surprise,
    mixture,
    surprise,
)

SEED = {"random_state": 0}

#: Rows of a set, items of queries, and rows of a stream; rows that it learns at a time.
ROWS, ITEMS, STREAM_ROWS, BLOCK = 400, 1500, 6000, 50


def online(space="multiclass"):
    return sk.OnlineStructuredPredictor(space, **SEED)


def kernel(space="multiclass"):
    return sk.KernelStructuredPredictor(space, **SEED)


def three(space):
    """The mixture, the kernel and the line over a space."""
    return {make.__name__: lambda make=make: make(space) for make in (mixture, kernel, online)}


def encoded(make):
    return lambda: make_pipeline(sk.TableEncoder(), make())


def squared(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


CLASSES = three("multiclass") | {
    "folklore": lambda: sk.FolkloreClassifier(**SEED),
    "pistol": lambda: sk.PiSTOLClassifier("rbf", **SEED),
    "random field": lambda: sk.ConditionalRandomField("multiclass", **SEED),
}
NUMBERS = {
    "mixture": lambda: sk.StructuredRegressor(**SEED),
    "pistol": lambda: sk.PiSTOLRegressor("rbf", **SEED),
}
KINDS = {
    "classes": (_packaged.classes, CLASSES, {"error": error, "log-loss": surprise}),
    "tables": (
        _packaged.tables,
        {make.__name__: encoded(make) for make in (mixture, online)},
        {"error": error, "log-loss": surprise},
    ),
    "ordinal": (_packaged.grades, three("ordinal"), {"error": distance, "log-loss": surprise}),
    "rankings": (_packaged.rankings, three("ranking"), {"error": discordant}),
    "label sets": (
        _packaged.label_sets,
        three("multilabel"),
        {"error": error, "log-loss": label_surprise},
    ),
    "numbers": (_packaged.numbers, NUMBERS, {"error": distance, "log-loss": squared}),
}


def cells(X, change):
    """A matrix or frame whose columns of numbers are changed all together."""
    if not hasattr(X, "columns"):
        return change(np.asarray(X, dtype=float))
    names = [name for name in X if X[name].dtype.kind in "fi"]
    changed = change(X[names].to_numpy(dtype=float))
    return X.assign(**dict(zip(names, changed.T, strict=True)))


def with_wrong_cells(X):
    """Every 500th cell times 10⁴, at random."""
    wrong = np.random.RandomState(1).rand(*X.shape) < 0.002
    return np.where(wrong, 1e4 * X, X)


def skewed(factor):
    """exp(factor z) of columns of mean 0 and deviation 1."""

    def change(X):
        deviation = np.nanstd(X, axis=0)
        return np.exp(factor * (X - np.nanmean(X, axis=0)) / np.where(deviation > 0, deviation, 1))

    return change


def first_row_wrong(X):
    """The first row times 10⁶."""
    X = X.copy()
    X[0] *= 1e6
    return X


CONDITIONS = {"clean": lambda X: X, "wrong cells": with_wrong_cells, "skewed": skewed(2.5)}
OF_STREAMS = {
    "clean": lambda X: X,
    "wrong cells": with_wrong_cells,
    "first row": first_row_wrong,
    "skewed": skewed(2.0),
}


def say(*names, losses):
    keys = "kind", "set", "condition", "learner"
    print(json.dumps(dict(zip(keys, names, strict=True)) | {"losses": losses}), flush=True)


def play_sets(kind, quick):
    """Losses of every fold of the sets of a kind."""
    sets, learners, losses = KINDS[kind]
    for name, X, y in list(sets())[: 2 if quick else None]:
        X, y = X[:ROWS], y[:ROWS]
        for condition, change in CONDITIONS.items():
            Z = cells(X, change)
            rows = Z.iloc if hasattr(Z, "iloc") else Z
            for learner, make in learners.items():
                found = {loss: [] for loss in losses}
                for train, test in folds_of(X, y, quick):
                    model = make().fit(rows[train], y[train])
                    for loss, judge in losses.items():
                        found[loss].append(judge(model, rows[test], y[test]))
                say(kind, name, condition, learner, losses=found)


def play_queries(quick):
    """1 − NDCG of rankers, by folds of queries."""
    arrays = load("ltr_queries")
    X, y, qid = (arrays[name][:ITEMS] for name in ("X", "y", "qid"))
    rankers = {"mixture": sk.StructuredRanker, "online": sk.ListwiseRanker}
    for condition, change in CONDITIONS.items():
        Z = change(X.astype(float))
        for learner, make in rankers.items():
            found = []
            for train, test in GroupKFold(2 if quick else 5).split(Z, y, qid):
                model = make(**SEED).fit(Z[train], y[train], qid[train])
                found.append(1.0 - model.score(Z[test], y[test], qid[test]))
            say("queries", "ltr", condition, learner, losses={"error": found})


def streams(quick):
    """Streams in their order, and sets that are shuffled: name, X, y."""
    yield from _streams.moving(quick)
    for name in () if quick else ("letter", "satimage"):
        yield name, *_streams.shuffled(load(name)["X"].astype(float), load(name)["y"])


def progressive_error(model, X, y):
    """Share of rows that are predicted wrong before they are learned, `BLOCK` at a time."""
    classes, wrong = np.unique(y), 0
    for start in range(0, len(y), BLOCK):
        rows, labels = X[start : start + BLOCK], y[start : start + BLOCK]
        if start:
            wrong += np.sum(model.predict(rows) != labels)
        model.partial_fit(rows, labels, classes=classes)
    return wrong / max(len(y) - BLOCK, 1)


def play_streams(quick):
    """Errors of predictions, each before its row is learned."""
    for name, X, y in streams(quick):
        X, y = X[:STREAM_ROWS], y[:STREAM_ROWS]
        for condition, change in OF_STREAMS.items():
            for make in (online, mixture):
                loss = progressive_error(make(), change(X), y)
                say("streams", name, condition, make.__name__, losses={"error": [loss]})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    quick, wanted = "--quick" in sys.argv, [name for name in sys.argv[1:] if name[0] != "-"]
    for kind in wanted or [*KINDS, "queries", "streams"]:
        if kind == "queries":
            play_queries(quick)
        elif kind == "streams":
            play_streams(quick)
        else:
            play_sets(kind, quick)
