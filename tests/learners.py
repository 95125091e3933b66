"""Every learner there is, in the list that tests of all learners share."""

import itertools

import numpy as np
from toy_learner import NearestMean

import skstructured as sk
from skstructured.optimizers import GradientDescent, PiSTOL
from skstructured.spaces import KSubsets, SpanningTrees

#: name -> learner of classes.
EVERY_LEARNER = {
    "online": sk.OnlineStructuredPredictor(),
    "average": sk.OnlineStructuredPredictor(average=True),
    "linear average": sk.OnlineStructuredPredictor(optimizer="adaptive", average="linear"),
    "parameter free": sk.OnlineStructuredPredictor(optimizer="parameter_free", average=True),
    "pistol": sk.OnlineStructuredPredictor(regularizer="tsallis", optimizer="pistol"),
    "per coordinate": sk.OnlineStructuredPredictor(optimizer=PiSTOL(per_coordinate=True)),
    "high probability": sk.OnlineStructuredPredictor(
        regularizer="squared", optimizer=GradientDescent(eta="high_probability")
    ),
    "sampled": sk.OnlineStructuredPredictor(decoder="sampled", fit_intercept=False),
    "gaptron": sk.GaptronClassifier(),
    "gaptron hinge": sk.GaptronClassifier("hinge"),
    "gaptron smooth hinge": sk.GaptronClassifier("smooth_hinge", radius=1.0),
    "perceptron": sk.MulticlassPerceptron(),
    "second order": sk.SecondOrderPerceptron(),
    "bandit gaptron": sk.BanditGaptronClassifier(radius=1.0, random_state=0),
    "banditron": sk.BanditronClassifier(random_state=0),
    "soba": sk.SOBAClassifier(random_state=0),
    "newtron": sk.NewtronClassifier(random_state=0),
    "confidit": sk.ConfiditClassifier(random_state=0),
    "reduction": sk.BanditReduction(exploration=0.5, random_state=0),
    "reduction of theory": sk.BanditReduction(random_state=0),
    "toy": NearestMean(),
}

#: Those of the package.
SHIPPED = {name: model for name, model in EVERY_LEARNER.items() if name != "toy"}

_X = np.random.RandomState(0).randn(40, 4)
_THREE = _X[:, :3]
_EDGES = list(itertools.combinations(range(3), 2))


def _over(space, y, **parameters):
    return sk.OnlineStructuredPredictor(space=space, **parameters), _X, y


#: name -> learner over another space, rows and outputs.
OVER_SPACES = {
    "label sets": _over("hypercube", (_THREE > 0).astype(int)),
    "grades": _over("ordinal", (_THREE > 0).sum(axis=1)),
    "grades, a chain's entropy": _over("ordinal", (_THREE > 0).sum(axis=1), regularizer="shannon"),
    "matchings": _over("birkhoff", np.argsort(_THREE, axis=1)),
    "matchings, projected": _over("birkhoff", np.argsort(_THREE, axis=1), regularizer="squared"),
    "rankings": _over("permutahedron", np.argsort(_THREE, axis=1) + 1),
    "pairs": _over(KSubsets(2), (_THREE > _THREE.min(axis=1, keepdims=True)).astype(int)),
    "trees": _over(
        SpanningTrees(_EDGES, 3), (_THREE > _THREE.min(axis=1, keepdims=True)).astype(int)
    ),
}
