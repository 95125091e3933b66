"""Every learner there is, in the list that tests of all learners share."""

import itertools
from functools import partial

import numpy as np
from coordinate_steps import AdaGrad, FTRLProximal
from example_spaces import KSubsets
from plain import (
    bandit_gaptron,
    banditron,
    gaptron,
    perceptron,
    predictor,
    second_order,
    with_kernel,
)
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from spanning_trees import SpanningTrees
from toy_learner import NearestMean

import skstructured as sk

#: One pass in order over rows as they are, the intercept learned.
AS_GIVEN = {
    **{"standardize": False, "fit_intercept": True, "max_iter": 1, "shuffle": False},
    "random_state": 0,
}

kernel = partial(with_kernel, sk.KernelStructuredPredictor, max_iter=2, random_state=0)

#: name -> learner of classes.
EVERY_LEARNER = {
    "default": sk.OnlineStructuredPredictor(random_state=0),
    "default gaptron": sk.GaptronClassifier(random_state=0),
    "default perceptron": sk.MulticlassPerceptron(random_state=0),
    "default second order": sk.SecondOrderPerceptron(),
    "default bandit gaptron": sk.BanditGaptronClassifier(radius=1.0, random_state=0),
    "default banditron": sk.BanditronClassifier(random_state=0),
    "indicators": sk.OnlineStructuredPredictor(missing="indicator", random_state=0),
    "online": predictor(),
    "average": predictor(average="polynomial"),
    "uniform average": predictor(optimizer="adaptive", average="uniform"),
    "parameter free": predictor(optimizer="parameter_free", average="polynomial"),
    "pistol": predictor(regularizer="tsallis", optimizer="pistol"),
    "per coordinate": predictor(optimizer=sk.optimizers.PiSTOL(per_coordinate=True)),
    "high probability": predictor(
        regularizer="squared", optimizer=sk.optimizers.GradientDescent(eta="high_probability")
    ),
    "sampled": predictor(decoder="sampled", fit_intercept=False),
    "adagrad": predictor(optimizer=AdaGrad(), average="polynomial"),
    "ftrl": predictor(optimizer=FTRLProximal(l1=0.1), average=True),
    "mixture": predictor(optimizer="mixture", average="polynomial"),
    "default, passes": sk.OnlineStructuredPredictor(optimizer="parameter_free", random_state=0),
    "hinge": predictor(loss="hinge", decoder="gap"),
    "perceptron loss": predictor(loss="perceptron", optimizer="parameter_free"),
    "gaptron": gaptron(),
    "gaptron hinge": gaptron("hinge"),
    "gaptron smooth hinge": gaptron("smooth_hinge", radius=1.0),
    "perceptron": perceptron(),
    "second order": second_order(),
    "bandit gaptron": bandit_gaptron(radius=1.0, random_state=0),
    "banditron": banditron(random_state=0),
    "soba": sk.SOBAClassifier(random_state=0),
    "newtron": sk.NewtronClassifier(random_state=0),
    "confidit": sk.ConfiditClassifier(random_state=0),
    "reduction": sk.BanditReduction(predictor(), exploration=0.5, random_state=0),
    "reduction of theory": sk.BanditReduction(predictor(), random_state=0),
    "folklore": sk.FolkloreClassifier(random_state=0),
    "folklore mixture": sk.FolkloreClassifier(radius=(0.5, 2.0), decoder="sampled", random_state=0),
    "folklore plain": sk.FolkloreClassifier(
        feature_norm=1e9, alpha=1.0, standardize=False, fit_intercept=False, random_state=0
    ),
    "folklore classes": sk.FolkloreClassifier(structure="classes", random_state=0),
    "online newton": sk.OnlineNewtonClassifier(random_state=0),
    "gaussian forecaster": sk.GaussianAggregatingForecaster(random_state=0),
    "aggregating forecaster": sk.AggregatingForecaster(
        n_particles=50, n_moves=2, max_weights=10**6, random_state=0
    ),
    "default boosting": sk.AdaBoostOLMClassifier(random_state=0),
    "boosting": sk.AdaBoostOLMClassifier(
        sk.OnlineTreeClassifier(max_depth=2), n_estimators=8, alpha=0.5, random_state=0
    ),
    "boosting others": sk.AdaBoostOLMClassifier(
        Perceptron(fit_intercept=False), n_estimators=3, random_state=0
    ),
    "default tree": sk.OnlineTreeClassifier(random_state=0),
    "kernel": kernel(),
    "kernel plain": kernel(
        kernel="poly", degree=2, optimizer="pistol", average="uniform", **AS_GIVEN
    ),
    "default pistol": sk.PiSTOLClassifier(random_state=0),
    "pistol with a kernel": sk.PiSTOLClassifier("rbf", loss="hinge", max_iter=2, random_state=0),
    "pistol plain": with_kernel(
        *(sk.PiSTOLClassifier, "rbf"), gamma=0.3, loss="smooth_hinge", average=False, **AS_GIVEN
    ),
    "kernel descent": sk.AveragedKernelSGDClassifier(max_iter=2, random_state=0),
    "kernel perceptron": sk.KernelPerceptronClassifier(max_iter=2, random_state=0),
    "kernel cosine": kernel(kernel="cosine", fit_intercept=True),
    "kernel callable": kernel(
        kernel=Matern(length_scale=2.0, nu=0.5), regularizer="squared", standardize=False
    ),
    "kernel features": kernel(approximation="fourier", n_components=30),
    "kernel features mixed": kernel(approximation="fourier", n_components=11, max_iter=1),
    "toy": NearestMean(),
}

#: Some whose scores are linear in the rows as standardised.
LINEAR_BY_DEFAULT = (
    *(f"default {kind}" for kind in ("gaptron", "perceptron", "second order", "bandit gaptron")),
    *("default banditron", "soba", "newtron"),
)

#: Those of the package.
SHIPPED = {name: model for name, model in EVERY_LEARNER.items() if name != "toy"}

_X = np.random.RandomState(0).randn(40, 4)
_THREE = _X[:, :3]
_EDGES = list(itertools.combinations(range(3), 2))


def _over(space, y, **parameters):
    return predictor(space=space, **parameters), _X, y


#: name -> learner over another space, rows and outputs.
OVER_SPACES = {
    "label sets": _over("hypercube", (_THREE > 0).astype(int)),
    "grades": _over("ordinal", (_THREE > 0).sum(axis=1)),
    "grades, a chain's entropy": _over("ordinal", (_THREE > 0).sum(axis=1), regularizer="shannon"),
    "matchings": _over("birkhoff", np.argsort(_THREE, axis=1)),
    "matchings, projected": _over("birkhoff", np.argsort(_THREE, axis=1), regularizer="squared"),
    "pairs": _over(KSubsets(2), (_THREE.min(axis=1, keepdims=True) < _THREE).astype(int)),
    "rankings": _over("permutahedron", np.argsort(_THREE, axis=1) + 1),
    "trees": _over(
        SpanningTrees(_EDGES, 3), (_THREE.min(axis=1, keepdims=True) < _THREE).astype(int)
    ),
}


def binary_stream(n=60):
    """n rows of 4 features with the labels "no" and "yes"; a tenth of them by chance."""
    rng = np.random.RandomState(0)
    X = rng.randn(n, 4)
    return X, np.where((X[:, 0] > 0.3 * X[:, 1]) ^ (rng.rand(n) < 0.1), "yes", "no")


#: name -> learner of two classes, which `binary_stream` is for.
BINARY_LEARNERS = {
    "aioli": sk.AioliClassifier(random_state=0),
    "abstaining": sk.AbstainingHedgeClassifier(
        [("perceptron", perceptron()), ("online", predictor())], random_state=0
    ),
    "abstaining, one expert": sk.AbstainingHedgeClassifier([predictor()], random_state=0),
    "abstaining, any experts": sk.AbstainingHedgeClassifier(
        [GaussianNB(), perceptron()], abstention_cost=0.5, random_state=0
    ),
}

#: name -> learner of any classes, to be taken over `binary_stream`: one score, or two of them.
TWO_CLASSES = {
    f"two classes, {name}": EVERY_LEARNER[name]
    for name in (
        "default",
        "default gaptron",
        "default perceptron",
        "folklore",
        "online newton",
        "default boosting",
        "banditron",
        "default pistol",
        "pistol with a kernel",
        "kernel",
        "kernel descent",
        "kernel perceptron",
    )
}
