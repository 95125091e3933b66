"""Weights of members: the least loss of the task over honest scores."""

import numpy as np
import pytest
from naive import mixing
from scipy.optimize import minimize

from skstructured.estimators.mixture import _weights
from skstructured.estimators.mixture._weights import mixing_weights
from skstructured.losses import FenchelYoung
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces import Hypercube, OrdinalChain, Permutahedron, Simplex
from skstructured.spaces._real_line import RealLine

#: name -> space, outputs of 25 rows, and the usual weight.
N = 25
_RNG = np.random.RandomState(3)
CASES = {
    "simplex": (Simplex, _RNG.randint(3, size=N), 2.0),
    "hypercube": (Hypercube, _RNG.randint(2, size=(N, 2)), 2.0),
    "ordinal": (OrdinalChain, _RNG.randint(3, size=N), 2.0),
    "permutahedron": (Permutahedron, np.argsort(_RNG.rand(N, 3), axis=1) + 1, 2.0),
    "numbers": (RealLine, _RNG.randn(N), 0.5),
}


def case(name, rng, few=2):
    kind, y, usual = CASES[name]
    space = kind().fit(y)
    loss = ResidualLoss(space) if kind is RealLine else FenchelYoung(space)
    V = space.unpack(space.pack(y))
    scores = np.array([V - V.mean(axis=0) + (1 + e) * rng.randn(*V.shape) for e in range(few)])
    mean = V[rng.randint(N, size=N)].mean(axis=0)  # of other rows too
    return scores, V, rng.exponential(size=N) + 0.01, mean, loss, usual


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("few", [1, 3])
def test_are_those_of_another_solver(name, few, rng):
    given = case(name, rng, few)
    a, b = mixing_weights(*given)

    def literal(parts):
        return mixing.objective(parts[:few], parts[few:], *given)

    found = literal(np.r_[np.log(a), b])
    start = np.r_[np.log(a), b] + 0.5 * rng.randn(few + len(b))
    best = minimize(literal, start, method="Powell", options={"maxiter": 40, "xtol": 1e-7})
    assert found <= best.fun + 1e-4 * abs(best.fun)
    assert (a > 0.0).all() and b.shape == (given[1].shape[1],)


@pytest.mark.parametrize("unit", [0.01, 1.0, 30.0])
def test_are_sought_from_the_scale_of_the_least_loss(unit, rng, monkeypatch):
    """From one that is far too large steps may end where all scores are nearly 0."""
    begun, search = [], _weights.minimize_lbfgs
    monkeypatch.setattr(
        _weights, "minimize_lbfgs", lambda f, z, *a, **k: begun.append(z) or search(f, z, *a, **k)
    )
    scores, *given = case("ordinal", rng)
    mixing_weights(unit * scores, *given)
    dim, scales = len(begun[0]) - 2, range(-6, 1)
    tried = [
        mixing.objective(np.full(2, np.log(2.0) + s), np.zeros(dim), unit * scores, *given)
        for s in scales
    ]
    wanted = np.full(2, np.log(2.0) + scales[np.argmin(tried)])
    np.testing.assert_allclose(begun[0], np.r_[wanted, np.zeros(dim)])


def test_a_member_that_knows_gets_the_weight(rng):
    _, V, weight, mean, loss, usual = case("simplex", rng)
    told = np.array([V, np.roll(V, 1, axis=1)])
    a, _ = mixing_weights(told, V, weight, mean, loss, usual)
    assert a[0] > 4.0 * a[1]


def test_separable_classes_have_finite_scales(rng):
    """One more row is thought to have said the mean."""
    _, V, weight, mean, loss, usual = case("simplex", rng)
    a, b = mixing_weights(V[None], V, weight, mean, loss, usual)
    mu = loss.mean(a[0] * V + b)
    assert 0.5 / N < 1.0 - mu[V > 0].mean() < 3.0 / N


def test_units_of_members_do_not_matter(rng):
    scores, V, weight, mean, loss, usual = case("ordinal", rng)
    first = mixing_weights(scores, V, 100.0 * weight, mean, loss, usual)
    second = mixing_weights(8.0 * scores, V, 100.0 * weight, mean, loss, usual / 8.0)
    np.testing.assert_allclose(first[0], 8.0 * second[0], rtol=1e-3)


def test_heavy_rows_count_as_many(rng):
    scores, V, _, mean, loss, usual = case("hypercube", rng)
    weight = np.ones(N)
    weight[3] = 4.0
    rows = np.r_[np.arange(N), [3, 3, 3]]
    once = mixing_weights(scores, V, weight, mean, loss, usual)
    often = mixing_weights(scores[:, rows], V[rows], np.ones(N + 3), mean, loss, usual)
    for one, other in zip(once, often, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_without_rows_of_meaning_are_the_usual_ones(rng):
    scores, V, _, mean, loss, usual = case("simplex", rng)
    a, b = mixing_weights(0.0 * scores, V, np.full(N, 1e-12), mean, loss, usual)
    np.testing.assert_allclose(a, usual, rtol=1e-6)
    np.testing.assert_allclose(b, 0.0, atol=1e-6)
