"""Widths of kernels tried on some of many rows: what is chosen, and of which rows."""

import numpy as np
import pytest
from conftest import INTERPRETED

from skstructured import KernelStructuredPredictor
from skstructured.estimators.kernel import _features_model, _tried_widths
from skstructured.estimators.kernel._tried_widths import WIDTHS, some_of, surely_less


def rows(n, fine, seed=0):
    """Rows of which classes are told apart by curves that turn often, or by a noisy line."""
    rng = np.random.RandomState(seed)
    X, noise = rng.randn(n, 2), 2.0 * rng.randn(n)
    shape = np.sin(4.0 * X) if fine else X + noise[:, None]
    return X, (shape.sum(axis=1) > 0.0).astype(int)


def curve(**given):
    usual = {"n_components": 200, "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(approximation="fourier", **usual | given)


def gamma_of(model):
    return model._model.scale.features.gamma


@pytest.fixture
def of_few(monkeypatch):
    """Trials of few rows, which take a larger part of them."""
    monkeypatch.setattr(_features_model, "MANY", 100)
    monkeypatch.setattr(_tried_widths, "PART", 4)


@pytest.mark.skipif(INTERPRETED, reason="slow")
@pytest.mark.parametrize("optimizer", ["auto", "parameter_free"])
def test_fine_structure_makes_kernels_narrower_and_a_line_does_not(of_few, optimizer):
    n = 4000
    for fine in (True, False):
        X, y = rows(n, fine)
        tried = curve(optimizer=optimizer).fit(X, y)
        few = curve(optimizer=optimizer).fit(X[:100], y[:100])
        median = curve(gamma="scale", optimizer=optimizer).fit(X, y)
        assert gamma_of(few) == pytest.approx(gamma_of(median), rel=0.5)
        ratio = gamma_of(tried) / gamma_of(median)
        if not fine:
            assert ratio < 2.0
        else:
            assert ratio > 3.0
            X_new, y_new = rows(n, fine, 1)
            median.set_params(gamma=gamma_of(few)).fit(X, y)
            assert tried.score(X_new, y_new) > median.score(X_new, y_new) + 0.05


def test_only_the_width_that_is_nobodys_choice_is_tried(of_few, monkeypatch):
    asked = []
    monkeypatch.setattr(_features_model, "tried_gamma", lambda *given: asked.append(given) or 0.7)
    X, y = rows(120, True)
    for given in ({"gamma": 0.3}, {"gamma": "scale"}, {"gamma": None}, {}):
        model = curve(**given).fit(X, y)
        assert (gamma_of(model) == 0.7) == bool(asked)
    assert len(asked) == 2
    curve().partial_fit(X, y, [0, 1])
    curve().fit(X, y, sample_weight=np.r_[np.zeros(30), np.ones(90)])
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("losses", "best"),
    [([1.0, 0.5, 0.52], 4.0), ([1.0, 1.1, 0.9], 16.0), ([1.0, 1.1, 1.2], 1.0), ([1, 0.9, 0.9], 16)],
)
def test_the_last_that_is_not_surely_worse_than_the_best_is_taken(monkeypatch, losses, best):
    class Rounds:
        weights = np.ones(400)

    told = []

    def losses_of(learner, rounds, gamma, learned, held_out):
        told.append(gamma / 0.1)
        assert not set(learned) & set(held_out)
        return losses[len(told) - 1] + 0.01 * np.random.RandomState(0).rand(len(held_out))

    monkeypatch.setattr(_tried_widths, "losses_of", losses_of)
    assert _tried_widths.tried_gamma(None, Rounds, 0.1) == pytest.approx(0.1 * best)
    np.testing.assert_allclose(told, WIDTHS)


def test_rows_are_of_positive_weight_and_not_too_many(monkeypatch):
    class Rounds:
        weights = np.r_[np.zeros(50), np.ones(350)]

    learned, held_out = some_of(Rounds)
    assert len(learned) == len(held_out) == 350 // _tried_widths.PART
    assert min(*learned, *held_out) >= 50 and not set(learned) & set(held_out)
    monkeypatch.setattr(_tried_widths, "AT_MOST", 5)
    assert [*map(len, some_of(Rounds))] == [5, 5]


def test_less_by_more_than_chance():
    rng, weight = np.random.RandomState(0), np.ones(500)
    others = rng.rand(500)
    assert not surely_less(others, others, weight)
    assert surely_less(others - 0.01, others, weight)
    assert not surely_less(others + 0.01, others, weight)
    hits = [surely_less(others + rng.randn(500), others, weight) for _ in range(400)]
    assert 1 <= np.sum(hits) <= 25  # 2.3 % by chance
    # one heavy row is no proof
    gain = np.r_[1.0, np.zeros(499)]
    assert not surely_less(others - gain, others, weight)
