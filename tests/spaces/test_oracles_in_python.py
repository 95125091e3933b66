"""Projections by an oracle in Python: exact, with few calls, and the same in chunks of any size."""

import copy
import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from plain import predictor
from scipy.optimize import nnls

from skstructured import OnlineStructuredPredictor, StructuredPredictor
from skstructured._learners.pass_selection import FOURIER_SEARCH, KERNEL_SEARCH, LINEAR_SEARCH
from skstructured.extend import OutputSpace, _by_vertices
from skstructured.losses import FenchelYoung
from skstructured.regularizers import SquaredNorm
from skstructured.spaces import Hypercube


class Intervals(OutputSpace):
    """0/1 vectors whose ones stand together; counts the rows that its oracle is asked for."""

    asked = 0

    def argmax(self, theta):
        Intervals.asked += len(theta)
        V = np.zeros(np.shape(theta))
        for row, scores in zip(V, np.asarray(theta), strict=True):
            sums = np.append(0.0, np.cumsum(scores))
            gains = np.triu(sums[None, 1:] - sums[:-1, None]) + np.tril(
                np.full((len(scores),) * 2, -np.inf), -1
            )
            first, last = np.unravel_index(gains.argmax(), gains.shape)
            row[first : last + 1] = 1.0
        return V


class Labels(OutputSpace):
    """All 0/1 vectors, whose projections are known."""

    def argmax(self, theta):
        return (np.asarray(theta) > 0.0).astype(float)


def every_interval(d):
    """All vertices of `Intervals`."""
    return np.array(
        [(np.arange(d) >= i) & (np.arange(d) <= j) for i in range(d) for j in range(i, d)]
    )


@pytest.fixture
def rows(rng):
    X = rng.randn(80, 4)
    Y = Intervals().argmax(X @ rng.randn(4, 6) + 0.2 * rng.randn(80, 6))
    Intervals.asked = 0
    return X, Y


def assert_projections(theta, mu, V):
    """Whether μ is in conv(Y), and no vertex v has <θ − μ, v − μ> > 0, up to rounding."""
    mixed = np.vstack([V.T, np.ones(len(V))])
    assert max(nnls(mixed, np.append(row, 1.0))[1] for row in mu) <= 1e-9
    slope = theta - mu
    gaps = (slope @ V.T).max(axis=1) - np.einsum("nd,nd->n", slope, mu)
    assert (gaps <= 1e-11 * (1.0 + np.abs(theta).max(axis=1))).all()


@pytest.mark.parametrize("size", [1e-6, 1.0, 30.0, 1e6])
def test_projections_from_listed_vertices_are_projections(size, rng):
    loss = FenchelYoung(Intervals().fit(every_interval(6)), SquaredNorm())
    theta = size * rng.randn(60, 6)
    theta[:5] = 0.0
    theta[5:20] = theta[5:20].round(1)
    assert_projections(theta, loss.mean(theta), every_interval(6))


def test_projections_on_the_cube_are_clipped_scores_with_more_vertices_than_are_listed(
    rng, monkeypatch
):
    monkeypatch.setattr(_by_vertices, "MAX_KEPT_VERTICES", 5)
    theta = 2.0 * rng.randn(200, 7)
    mu = FenchelYoung(Labels().fit(np.eye(7)), SquaredNorm()).mean(theta)
    np.testing.assert_allclose(mu, np.clip(theta, 0.0, 1.0), atol=1e-10)


def test_a_batch_asks_the_oracle_about_once_a_row(rng):
    loss = FenchelYoung(Intervals().fit(every_interval(6)), SquaredNorm())
    theta = rng.randn(200, 6)
    Intervals.asked = 0
    loss.mean(theta)
    assert 200 <= Intervals.asked <= 200 + 2 * len(every_interval(6))


def test_learning_asks_the_oracle_about_once_a_row(rows):
    X, Y = rows
    predictor(Intervals()).partial_fit(X, Y)
    encoded = 2 * len(np.unique(Y, axis=0))  # by `fit` of the space, and as outputs
    assert len(X) <= Intervals.asked - encoded <= len(X) + 2 * len(every_interval(6))


def test_outputs_that_repeat_are_encoded_by_one_call_each(rows):
    space = Intervals().fit(rows[1])
    Intervals.asked = 0
    space.encode(rows[1])
    assert Intervals.asked == len(np.unique(rows[1], axis=0)) < 80


def test_chunks_and_copies_learn_the_same_bits(rows):
    X, Y = rows
    whole = predictor(Intervals()).partial_fit(X, Y)
    parts = predictor(Intervals()).partial_fit(X[:33], Y[:33])
    for twin in (parts, copy.deepcopy(parts), pickle.loads(pickle.dumps(parts))):
        for start in range(33, 80, 7):
            twin.partial_fit(X[start : min(start + 7, 80)], Y[start : min(start + 7, 80)])
        np.testing.assert_array_equal(twin.coef_, whole.coef_)


def test_scores_of_other_sizes_list_other_vertices(rng):
    work = np.zeros(_by_vertices.projection_scratch(6))
    for d in (6, 4, 6, 3):
        space, mu = Intervals().fit(every_interval(d)), np.empty(d)
        kernel = FenchelYoung(space, SquaredNorm()).kernel
        for theta in rng.randn(10, d):
            kernel(theta, np.zeros(d), mu, np.empty(0), work[: _by_vertices.projection_scratch(d)])
            assert_projections(theta[None], mu[None], every_interval(d))


def test_passes_are_tried_on_fewer_rows():
    for search in (LINEAR_SEARCH, KERNEL_SEARCH, FOURIER_SEARCH):
        tried = search.for_rows(100, in_python=True)
        assert tried.in_turns == 0 and tried.most_learned <= 1000 and tried.most <= 20
        assert search.for_rows(5000, in_python=True).usual == search.usual
    assert LINEAR_SEARCH.for_rows(100, in_python=True).usual < LINEAR_SEARCH.for_rows(100).usual


def test_only_losses_of_oracles_in_python_call_python():
    for space, wanted in ((Intervals(), True), (KSubsets(1), False), (Hypercube(), False)):
        assert FenchelYoung(space.fit(np.eye(3)), SquaredNorm()).calls_python == wanted


def test_a_fit_asks_the_oracle_less_than_a_hundred_times_a_row(rows):
    X, Y = rows
    model = OnlineStructuredPredictor(Intervals(), random_state=0).fit(X, Y)
    assert len(model.validation_curve_) <= 6
    assert Intervals.asked < 100 * len(X)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_kernels_of_the_mixture_do_not_learn_by_losses_that_call_python(rows):
    X, Y = rows[0][:40], rows[1][:40]
    mixture = StructuredPredictor(Intervals(), random_state=0).fit(X, Y)
    named = list(mixture.named_estimators_)
    assert named == ["linear", "rbf", "laplacian", "arc-cosine", "trees"]
    assert mixture.score(X, Y) > 0.9
