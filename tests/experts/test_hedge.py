"""AdaHedge against its literal form, in every unit, and its bound on random and worst cases."""

import copy
import math
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import hedge as naive

from skstructured.experts.hedge import AdaHedge, mean_and_variance


def literal(losses):
    """The naive form after the rounds, the weights before each, and what they lost."""
    twin = naive.AdaHedge(losses.shape[1])
    told = [(twin.weights(), twin.update(list(row))) for row in losses]
    weights, hedged = zip(*told, strict=True)
    return twin, np.array(weights), np.array(hedged)


def rounds(rng, n, d, kind):
    """Losses (n, d) in [0, 1] of a kind."""
    if kind == "ties":
        return rng.randint(3, size=(n, d)) / 2.0
    if kind == "same":
        return np.repeat(rng.random_sample((n, 1)), d, axis=1)
    if kind == "alternating":
        return ((np.arange(n)[:, None] + np.arange(d)) % 2).astype(float)
    return rng.random_sample((n, d))


def test_the_mean_of_equal_losses_is_that_loss(rng):
    """Not a rounding beside it, where no expert is, which has a variance."""
    for _ in range(200):
        loss = float(rng.random_sample())
        found = mean_and_variance(rng.random_sample(7), np.full(7, loss))
        assert found == (loss, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["random", "ties", "same", "alternating"])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_kernel_is_the_literal_form(kind, d, rng):
    losses = rounds(rng, 200, d, kind)
    twin, weights, hedged = literal(losses)
    model = AdaHedge(d)
    got = [(model.weights_, model.update(row[None])[0]) for row in losses]
    np.testing.assert_allclose([w for w, _ in got], weights, atol=1e-9)
    np.testing.assert_allclose([h for _, h in got], hedged, atol=1e-9)
    np.testing.assert_allclose(model.losses_, twin.totals)
    assert model.total_loss == pytest.approx(twin.total_loss)
    assert model.gap == pytest.approx(twin.gap, abs=1e-9)
    assert model.variance == pytest.approx(twin.variance, abs=1e-9)
    assert model.n_rounds == 200
    for size in (3, 64, 200):  # chunks of any size give the same bits
        parts = AdaHedge(d)
        told = [parts.update(losses[i : i + size]) for i in range(0, 200, size)]
        np.testing.assert_array_equal(np.concatenate(told), [h for _, h in got])
        np.testing.assert_array_equal(parts.weights_, model.weights_)
        assert (parts.gap, parts.variance) == (model.gap, model.variance)
    if kind == "same":
        np.testing.assert_array_equal(model.weights_, np.full(d, 1.0 / d))


@pytest.mark.parametrize("shift", [0.0, -0.5, 3.0])
@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-300, 2.0**-40, 2.0**40, 2.0**325])
def test_neither_unit_nor_zero_of_losses_matters(unit, shift, rng):
    losses = rng.randint(2, size=(150, 5)) + 0.25 * rng.randint(3, size=(150, 5))
    plain, scaled = AdaHedge(5), AdaHedge(5)
    plain.update(losses)
    hedged = scaled.update(unit * (losses + shift))
    np.testing.assert_allclose(scaled.weights_, plain.weights_, rtol=1e-9)
    assert scaled.gap / unit == pytest.approx(plain.gap)
    assert np.isfinite(hedged).all()


WILD = [0.0, 5e-324, 1e-300, 1e-16, 0.5, 1.0, 1.0 + 2**-52, 1e16, 1e100, -1e100]


@given(st.integers(1, 6), st.lists(st.tuples(*6 * [st.sampled_from(WILD)]), max_size=20))
def test_no_losses_make_a_nan(d, rows):
    model = AdaHedge(d)
    for row in rows:
        hedged = model.update([row[:d]])[0]
        assert min(row[:d]) <= hedged <= max(row[:d])
        weights = model.weights_
        assert np.all(weights >= 0.0) and weights.sum() == pytest.approx(1.0)
        assert np.isfinite([model.gap, model.variance, model.total_loss]).all()


@pytest.mark.parametrize("kind", ["on the favourite", "weighted", "of most variance", "at random"])
@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_the_bound_holds_against_adversaries(kind, d, rng):
    """Losses against the weights of the moment, some of them many times as heavy."""
    model, weights = AdaHedge(d), [0.0, 1e-8, 1.0, 20.0, 412.0, 1e8]
    for weight in np.resize(weights if kind == "weighted" else [1.0], 1000):
        p = model.weights_
        if kind in ("on the favourite", "weighted"):
            losses = weight * (np.arange(d) == np.argmax(p))
        elif kind == "of most variance":
            losses = (np.cumsum(p[np.argsort(p)])[np.argsort(np.argsort(p))] > 0.5).astype(float)
        else:
            losses = rng.random_sample(d) * (p > rng.random_sample() / d)
        model.update([losses])
    assert model.regret <= model.regret_bound
    assert model.gap >= 0.0


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("order", [1, -1])
def test_the_bound_is_that_of_the_theorem(d, order, rng):
    """Rounds of rising and of falling range: the widest may be the first."""
    losses = rng.standard_normal((60, d)) * np.geomspace(0.01, 10.0, 60)[::order, None] - 3.0
    twin, _, _ = literal(losses)
    model = AdaHedge(d)
    for t in range(0, 60, 7):
        model.update(losses[t : t + 7])
    assert model.regret_bound == pytest.approx(twin.bound(), rel=1e-12)
    assert model.regret == pytest.approx(twin.total_loss - min(twin.totals), abs=1e-9)


@pytest.mark.parametrize(
    "losses",
    [[0.0, 1.0], [[0.0]], [[0.0, 1.0, 2.0]], [[np.nan, 0.0]], [[np.inf, 0.0]], [[1e101, 0]]],
)
def test_wrong_losses_are_refused_and_nothing_is_learned(losses):
    model = AdaHedge(2)
    model.update([[0.0, 1.0]])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="losses must"):
        model.update(losses)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("n_experts", [0, -1, 1.5, True, None, "two"])
def test_a_wrong_number_of_experts_is_refused(n_experts):
    with pytest.raises(ValueError, match="n_experts must be an integer at least 1"):
        AdaHedge(n_experts)


def test_copies_and_maps_of_files_go_on_alike(tmp_path, rng):
    losses = rng.random_sample((40, 3))
    model = AdaHedge(3)
    model.update(losses[:20])
    joblib.dump(model, tmp_path / "hedge")
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    others += [joblib.load(tmp_path / "hedge", mmap_mode=mode) for mode in ("r", "c", "r+")]
    told = model.update(losses[20:])
    for other in others:
        np.testing.assert_array_equal(other.update(losses[20:]), told)
        np.testing.assert_array_equal(other.weights_, model.weights_)
    assert AdaHedge(3).update(np.empty((0, 3))).shape == (0,)
    assert math.isfinite(AdaHedge(3).regret_bound)
