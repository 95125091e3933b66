"""Optimisers against literal references; averages; scales; extremes."""

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import LARGEST, PAIRS, space_of
from scipy import sparse
from sklearn.base import clone

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
)

#: name -> (optimiser, literal learner of (shape, loss))
OPTIMIZERS = {
    "adaptive": (
        AdaptiveGradientDescent(3.0),
        lambda shape, k, D: naive.AdaptiveGradientDescent(shape, k.c, 3.0),
    ),
    "adaptive, small ball": (
        AdaptiveGradientDescent(0.01),
        lambda shape, k, D: naive.AdaptiveGradientDescent(shape, k.c, 0.01),
    ),
    "parameter_free": (ParameterFree(), lambda shape, k, D: naive.ParameterFree(shape, D, 100.0)),
    "parameter_free, given C": (
        ParameterFree(wealth=7.0, feature_norm=3.0),
        lambda shape, k, D: naive.ParameterFree(shape, D, 7.0, 3.0),
    ),
    "pistol": (PiSTOL(), lambda shape, k, D: naive.PiSTOL(shape, D, 0.08, 1.0)),
    "pistol of theory": (
        PiSTOL(a=2.25, b=3.0, feature_norm=5.0),
        lambda shape, k, D: naive.PiSTOL(shape, D, 2.25, 3.0, 5.0),
    ),
    "pistol per coordinate": (
        PiSTOL(per_coordinate=True),
        lambda shape, k, D: naive.CoordinatePiSTOL(shape, D, 0.08, 1.0),
    ),
}
SCALE_FREE = ("parameter_free", "pistol", "pistol per coordinate")
ALL = {"ogd": GradientDescent(), **{name: found[0] for name, found in OPTIMIZERS.items()}}


def stream(name, dim, rng, n, p=4):
    """Rows of very different norms, outputs that depend on them, and weights with zeros."""
    space = space_of(name, dim)
    X = rng.randn(n, p) * np.exp(rng.randn(n, 1))
    vertices = space.vertices()
    V = vertices[np.argmax(X @ rng.randn(p, len(vertices)) + rng.randn(n, len(vertices)), axis=1)]
    V[: len(vertices)] = vertices[: len(V)]
    return space, X, V, rng.randint(4, size=n) / 2.0


def learner(name, space, optimizer, **parameters):
    return OnlineStructuredPredictor(
        space=clone(space), regularizer=PAIRS[name][1], optimizer=optimizer, **parameters
    )


@pytest.mark.parametrize("which", list(OPTIMIZERS))
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_rounds_and_averages_equal_the_literal_learner(name, dim, which, rng):
    n = 40 if INTERPRETED or "k_subsets" in name else 1000
    space, X, V, weight = stream(name, dim, rng, n)
    optimizer, literal = OPTIMIZERS[which]
    diameter = space.geometry("l2").diameter
    for intercept in (True, False):
        model = learner(name, space, optimizer, average=True, fit_intercept=intercept)
        model.fit(X, space.decode(V), sample_weight=weight)
        reference = literal((dim, 4 + intercept), model.loss_.constants_of(), diameter)
        _, W = naive.play(reference, model.loss_, X, V, weight, intercept)
        largest = np.abs(W).max()
        np.testing.assert_allclose(model.last_weights_, W[-1], atol=1e-10 * largest)
        average = np.tensordot(weight, W[:-1], axes=1) / weight.sum()
        np.testing.assert_allclose(model.average_weights_, average, atol=1e-12 * largest)
        csr = clone(model).fit(sparse.csr_array(X), space.decode(V), sample_weight=weight)
        np.testing.assert_allclose(csr.last_weights_, W[-1], atol=1e-10 * largest)
        np.testing.assert_allclose(csr.average_weights_, average, atol=1e-12 * largest)
