"""Every public estimator after some of its rows, and how it goes on with the others."""

from functools import partial
from typing import NamedTuple

import numpy as np
from learner_checks import LearnerTrial, has_argument
from learners import BINARY_LEARNERS, EVERY_LEARNER, OVER_SPACES, TWO_CLASSES, binary_stream
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk


class Case(NamedTuple):
    """A new estimator, with rows and outputs, whose classes are told at first where it asks."""

    estimator: object
    X: object
    y: object

    def halves(self):
        """Rows and outputs of both halves."""
        middle = len(self.y) // 2
        return [(self.X[part], self.y[part]) for part in (slice(middle), slice(middle, None))]

    def started(self):
        """A clone that has learned the first half; `fit` where there is no ``partial_fit``."""
        model, first = clone(self.estimator), self.halves()[0]
        return self.learn(model, *first) if learns_in_parts(model) else model.fit(*first)

    def go_on(self, model):
        """Learn the second half."""
        return self.learn(model, *self.halves()[1])

    def learn(self, model, X, y):
        """``partial_fit``, of a pipeline step by step."""
        *steps, learner = [step for _, step in getattr(model, "steps", [(None, model)])]
        for step in steps:
            X = step.partial_fit(X).transform(X)
        told = {"classes": self.classes()} if has_argument(learner.partial_fit, "classes") else {}
        learner.partial_fit(X, y, **told)
        return model

    def classes(self):
        """All labels, alone or in sequences; None for label sets and the like."""
        if isinstance(self.y, np.ndarray) and self.y.ndim > 1:
            return None
        return np.unique(np.concatenate([np.atleast_1d(labels) for labels in self.y]))


def learns_in_parts(model):
    """Whether an estimator, or the last step of a pipeline, has ``partial_fit``."""
    return hasattr(model[-1] if hasattr(model, "steps") else model, "partial_fit")


def _of_list(learner, *stream):
    trial = LearnerTrial(learner, *stream)
    return Case(trial.new(), trial.X, trial.y)


_X = np.random.RandomState(0).randn(40, 4)
_letters = np.array(["a", "b", "c"])[np.argmax(_X[:, :3], axis=1)]
_words = [_X[i : i + 1 + i % 4] for i in range(0, 36, 3)]
_spelt = [_letters[i : i + 1 + i % 4] for i in range(0, 36, 3)]
_rounds = np.random.RandomState(1).randn(24, 3, 2)
_taken = np.argmax(_rounds @ [2.0, -1.0] + np.random.RandomState(2).randn(24, 3), axis=1)
_numbers, _orders = _X @ np.arange(4.0), np.argsort(_X[:, :3], axis=1)

online = partial(sk.OnlineStructuredPredictor, random_state=0)

_once = {"max_iter": 1, "shuffle": False, "random_state": 0}
_MIXED = [
    ("line", sk.OnlineStructuredPredictor(**_once)),
    ("features", sk.KernelStructuredPredictor(approximation="fourier", **_once)),
]
_MIXED_NUMBERS = [(k, sk.PiSTOLRegressor(k, **_once)) for k in ("linear", "rbf", "arc-cosine")]

#: name -> Case.
FITTED = {name: _of_list(model) for name, model in EVERY_LEARNER.items() if name != "toy"}
FITTED |= {name: _of_list(*given) for name, given in OVER_SPACES.items()}
FITTED |= {name: _of_list(model, *binary_stream()) for name, model in BINARY_LEARNERS.items()}
FITTED |= {name: _of_list(model, *binary_stream()) for name, model in TWO_CLASSES.items()}
FITTED |= {
    "choices": Case(sk.ConditionalLogit(), _rounds, _taken),
    "choices, online": Case(sk.ItemStructuredPredictor(random_state=0), _rounds, _taken),
    "search results": Case(sk.ListwiseRanker(random_state=0), _rounds, list(np.eye(3)[_taken])),
    "search results, mixed": Case(
        sk.StructuredRanker(random_state=0), _rounds, list(np.eye(3)[_taken])
    ),
    "prediction sets": Case(sk.PredictionSets(online(), random_state=0), _X, _letters),
    "bool labels": Case(online(), _X, _letters == "a"),
    "numbers": Case(sk.PiSTOLRegressor(random_state=0), _X, _numbers),
    "numbers, kernel": Case(sk.PiSTOLRegressor("rbf", random_state=0), _X, _numbers),
    "numbers, mixed": Case(sk.StructuredRegressor(_MIXED_NUMBERS, random_state=0), _X, _numbers),
    "mixed": Case(sk.StructuredPredictor(estimators=_MIXED, random_state=0), _X, _letters),
    "own generator": Case(
        online(decoder="sampled", random_state=np.random.RandomState(3)), np.float32(_X), _letters
    ),
    "sequences": Case(online("sequence"), _words, _spelt),
    "sequences, squared": Case(online("sequence", "squared"), _words, _spelt),
    "pipeline": Case(make_pipeline(StandardScaler(), online()), _X, _letters),
    "pipeline of kernels": Case(
        make_pipeline(StandardScaler(), sk.KernelStructuredPredictor(random_state=0)), _X, _letters
    ),
    "pipeline of sequences": Case(
        make_pipeline(sk.SequenceTransformer(StandardScaler()), online("sequence")), _words, _spelt
    ),
    "table": Case(make_pipeline(sk.TableEncoder(), online()), _X, _letters),
    "random field": Case(sk.ConditionalRandomField(random_state=0), _words, _spelt),
    "random field of classes": Case(
        sk.ConditionalRandomField("simplex", random_state=0), _X, _letters
    ),
    "boosted trees": Case(sk.FenchelYoungBoosting(max_iter=3, random_state=0), _X, _letters),
    "boosted trees, assignments": Case(
        sk.FenchelYoungBoosting("birkhoff", max_iter=3, random_state=0), _X, _orders
    ),
    "quadratic": Case(sk.QuadraticSurrogate(), _X, _letters),
    "quadratic, kernel": Case(sk.QuadraticSurrogate("birkhoff", kernel="rbf"), _X, _orders),
}
for _kind in (sk.MaxMinMarginNetwork, sk.StructuralSVM):
    for _space, _inputs in {
        "simplex": (_X, _letters),
        "birkhoff": (_X, _orders),
        "sequence": (_words, _spelt),
    }.items():
        for _kernel in ("linear", "rbf"):
            _model = _kind(_space, kernel=_kernel, random_state=0)
            FITTED[f"{_kind.__name__}, {_space}, {_kernel}"] = Case(_model, *_inputs)
