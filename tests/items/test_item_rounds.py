"""Learners over items against their literal forms, bounds, chunks, and what is odd."""

import math

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from naive import items as literal
from naive.mixture import Other, RelativeStep, RootStep
from scipy import sparse

from skstructured.items import ItemStructuredPredictor
from skstructured.optimizers import StepMixture
from skstructured.spaces import KSubsets

PAIRS = [
    ("simplex", "shannon"),
    ("simplex", "squared"),
    ("hypercube", "shannon"),
    ("permutahedron", "squared"),
    ("birkhoff", "shannon"),
    ("subsets", "squared"),
]
SHARES = ("thinning", 0.02)
STEPS, ADAPTIVE = (0.5, 4.0), (0.5, 3.0)


def rounds(space, seed=0, n=40, p=4):
    """Rounds of several sizes, and vertices of their outputs."""
    rng = np.random.RandomState(seed)
    sizes = {"birkhoff": (4, 9), "subsets": (3, 6)}.get(space, (1, 6))
    lengths = rng.choice(sizes, size=n) if space == "birkhoff" else rng.randint(*sizes, size=n)
    X = [rng.randn(m, p) * rng.choice([0.3, 1.0, 2.0]) for m in lengths]
    if space == "hypercube":
        return X, [rng.randint(2, size=m).astype(float) for m in lengths]
    if space == "permutahedron":
        return X, [rng.permutation(m) + 1.0 for m in lengths]
    if space == "birkhoff":
        return X, [np.eye(math.isqrt(m))[rng.permutation(math.isqrt(m))].ravel() for m in lengths]
    most = 2 if space == "subsets" else 1
    return X, [(rng.permutation(m) < most).astype(float) for m in lengths]


def as_given(space, V):
    """Outputs in the form of y, of lists."""
    if space == "birkhoff":
        return [np.argmax(v.reshape(math.isqrt(len(v)), -1), axis=1) for v in V]
    return V


def learner(space="simplex", regularizer=None, **given):
    space = KSubsets(2) if space == "subsets" else space
    given = {"standardize": False, "random_state": 0, "fit_intercept": False} | given
    return ItemStructuredPredictor(space, regularizer=regularizer, **given)


def mixture(**given):
    return StepMixture(**{"steps": STEPS, "adaptive": ADAPTIVE, "share": SHARES, **given})


def experts(p):
    found = [(RelativeStep(p, eta), True) for eta in STEPS]
    found += [(RootStep(p, length), False) for length in ADAPTIVE]
    return [*found, (Other(naive.ParameterFree(p, 1.0, 100.0)), False)]


def literal_of(space, regularizer, X, V, weight, average, found=None, mixed=True):
    """The literal mixture; D² and 1/λ by their formulas."""
    centred = space != "hypercube"
    spread = {
        "simplex": lambda m: 2.0,
        "hypercube": lambda m: float(m),
        "permutahedron": lambda m: max(m, 2) * (max(m, 2) ** 2 - 1) / 3.0,
        "birkhoff": lambda m: 2.0 * math.isqrt(m),
        "subsets": lambda m: 2.0 * min(2, m - 2),
    }[space]
    flat = {("hypercube", "shannon"): lambda m: 0.25, ("birkhoff", "shannon"): math.isqrt}
    omega = {
        "permutahedron": lambda y: 0.5 * float((np.arange(1, len(y) + 1) ** 2).sum()),
        "subsets": lambda y: 0.5 * float(y.sum()),
    }.get(space, lambda y: 0.5 if regularizer == "squared" else 0.0)
    return literal.play(
        experts(X[0].shape[1]) if found is None else found,
        literal.loss_of(space, regularizer, omega),
        [(x, literal.largest(x, centred)) for x in X],
        V,
        weight,
        SHARES if mixed else ("thinning",),
        mixed,
        average,
        spread,
        flat.get((space, regularizer), lambda m: 1.0),
    )


def play(model, X, y, weight):
    """Scores of every round, as they are learned."""
    batch = model.begin(X, y)._replace(weight=weight)
    played = []
    model._learn(batch, np.arange(len(X)), lambda block, _: played.append(block.theta), 2)
    return model._model.concatenated(played).unstack()


def some_weights(n, seed=1):
    weight = np.random.RandomState(seed).choice([0.0, 0.3, 1.0, 5.0], size=n)
    weight[0] = 1.0
    return weight


@pytest.mark.parametrize("average", ["polynomial", "uniform", False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("space", "regularizer"), PAIRS)
def test_the_mixture_equals_its_literal_form(space, regularizer, storage, average):
    X, V = rounds(space, n=10 if INTERPRETED or space == "birkhoff" else 40)
    weight = some_weights(len(X))
    exact = 1e-5 if space == "birkhoff" else 1e-9  # where means are found by iterations
    played, losses, u, _, _ = literal_of(space, regularizer, X, V, weight, average)
    model = learner(space, regularizer, optimizer=mixture(), average=average)
    found = play(model, [storage(x) for x in X], as_given(space, V), weight)
    for one, wanted in zip(found, played, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=exact, atol=exact)
    np.testing.assert_allclose(model._model.state.shares[0], u, atol=10 * exact)
    np.testing.assert_allclose(model._model.expert_losses(), losses, rtol=exact, atol=exact)


@pytest.mark.parametrize("average", ["polynomial", False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("space", "regularizer"), PAIRS)
def test_one_optimiser_equals_its_literal_form(space, regularizer, storage, average):
    X, V = rounds(space, seed=3, n=10 if INTERPRETED or space == "birkhoff" else 40)
    weight, p = some_weights(len(X)), X[0].shape[1]
    expert = (Other(naive.ParameterFree(p, 1.0, 100.0)), False)
    given = (X, V, weight, average, [expert], False)
    played, _, _, _, means = literal_of(space, regularizer, *given)
    model = learner(space, regularizer, optimizer="parameter_free", average=average)
    found = play(model, [storage(x) for x in X], as_given(space, V), weight)
    for one, wanted in zip(found, played, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-10)
    if average:
        np.testing.assert_allclose(model.coef_, means[0], rtol=1e-9, atol=1e-10)
