"""Widths of kernels tried on some of many rows: what is chosen, and of which rows."""

import numpy as np
import pytest
from conftest import INTERPRETED

from skstructured import KernelStructuredPredictor
from skstructured.estimators.kernel import _features_model, structured
from skstructured.estimators.kernel import _values as _tried_widths
from skstructured.estimators.kernel._values import WIDTHS, some_of


def rows(n, fine, seed=0):
    """Rows of which classes are told apart by curves that turn often, or by one that does not."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 2)
    inside = np.sum(X**2, axis=1) + 0.5 * rng.randn(n) < 1.4
    return X, np.where(fine, np.sin(4.0 * X).sum(axis=1) > 0.0, inside).astype(int)


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
            assert ratio < 3.0
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


@pytest.mark.parametrize("best", range(len(WIDTHS)))
def test_what_loses_least_by_its_weights_is_taken(monkeypatch, best):
    class Rounds:
        weights = np.r_[np.full(200, 3.0), np.full(200, 0.5)]

    told = []

    def losses_of(learner, rounds, gamma, learned, held_out):
        told.append(gamma / 0.1)
        assert not set(learned) & set(held_out)
        heavy = Rounds.weights[held_out] > 1.0
        least = len(told) - 1 == best  # light rows are lost more to
        return np.where(heavy, 1.0 - 0.1 * least, 1.0 + 0.2 * least)

    monkeypatch.setattr(_tried_widths, "losses_of", losses_of)
    assert _tried_widths.tried_gamma(None, Rounds, 0.1) == pytest.approx(0.1 * WIDTHS[best])
    np.testing.assert_allclose(told, WIDTHS)


def test_rows_are_of_positive_weight_and_not_too_many(monkeypatch):
    class Rounds:
        weights = np.r_[np.zeros(50), np.ones(350)]

    learned, held_out = some_of(Rounds)
    assert len(learned) == len(held_out) == 350 // _tried_widths.PART
    assert min(*learned, *held_out) >= 50 and not set(learned) & set(held_out)
    monkeypatch.setattr(_tried_widths, "AT_MOST", 5)
    assert [*map(len, some_of(Rounds))] == [5, 5]


@pytest.mark.parametrize("passes", [1, 2])
def test_many_rows_of_fit_get_more_features_and_one_optimiser(monkeypatch, passes):
    X, y = rows(60, True)
    monkeypatch.setattr(structured, "MANY", 50)
    given = {"n_components": "auto", "max_iter": passes}
    few, many, stream = curve(**given).fit(X[:50], y[:50]), curve(**given).fit(X, y), curve(**given)
    assert [few.n_components_, many.n_components_] == [1200, 4000]
    assert few.last_weights_.shape[1] == 2 + 1200 + 1 and many.last_weights_.shape[1] == 4003
    mixed = "StepMixture" if passes == 1 else "ParameterFree"
    assert [type(m.optimizer_).__name__ for m in (few, many)] == [mixed, "ParameterFree"]
    stream.partial_fit(X, y, classes=[0, 1])
    assert stream.n_components_ == 1200
    assert type(stream.optimizer_).__name__ == "StepMixture"
    own = curve(n_components=31, optimizer="mixture").fit(X, y)
    assert own.n_components_ == 32 and type(own.optimizer_).__name__ == "StepMixture"
