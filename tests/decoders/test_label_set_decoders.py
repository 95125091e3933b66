"""Decoders of label sets: expected F1 against every prediction there is, and thresholds."""

import itertools

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from skstructured import ConditionalRandomField, OnlineStructuredPredictor
from skstructured.decoders import ExpectedF1, Threshold, resolve_decoder
from skstructured.losses import FenchelYoung
from skstructured.spaces import Hypercube, Simplex
from skstructured.spaces.hypercube import best_label_sets

#: Brute force is slow: numbers of labels that the plain command leaves out.
MORE = [] if INTERPRETED else [pytest.param(d, marks=pytest.mark.exhaustive) for d in (6, 7, 8)]
#: Probabilities that tie, vanish, or nearly do.
AWKWARD = [0.0, 1e-300, 1e-17, 0.25, 0.5, 0.5, 1 - 1e-16, 1.0]


def labels(d):
    return Hypercube().fit(np.zeros((1, d)))


def model(**parameters):
    return OnlineStructuredPredictor(
        "hypercube", optimizer="ogd", average=False, max_iter=1, shuffle=False, **parameters
    )


def check_best(p, zero_division):
    """The decoder's set has the largest expected F1 of all 2^d, and is as small as any."""
    mu = np.array([p])
    found, leave = ExpectedF1(zero_division).mixture(mu, mu, FenchelYoung(labels(len(p))))
    values = naive.expected_f1(p, zero_division)
    assert values[tuple(found[0].astype(int))] >= max(values.values()) - 1e-14
    assert not leave.any()


@pytest.mark.parametrize("zero_division", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("d", [*range(1, 6), *MORE])
def test_no_label_set_has_a_larger_expected_f1(d, zero_division, rng):
    for scale in (0.02, 0.3, 1.0):
        for _ in range(2 if d > 6 else 8):
            check_best(scale * rng.rand(d), zero_division)
    check_best(np.full(d, 0.5), zero_division)
    check_best(1.0 - 0.1 * rng.rand(d), zero_division)


@given(st.lists(st.sampled_from(AWKWARD) | st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_awkward_marginals(p):
    check_best(p, 1.0)
    check_best(p, 0.0)


def test_the_literal_f1_is_that_of_scikit_learn():
    sets = list(itertools.product((0, 1), repeat=2))
    for (a, b), empty in itertools.product(itertools.product(sets, sets), (0.0, 1.0)):
        wanted = f1_score([b], [a], average="samples", zero_division=empty)
        assert naive.f1(a, b, empty) == pytest.approx(wanted)


def test_sure_labels_are_played_as_they_are():
    V = labels(4).vertices()
    np.testing.assert_array_equal(best_label_sets(V, 1.0), V)
    assert not best_label_sets(np.zeros((1, 4)), 0.0).any()  # of equals the smallest


def test_many_labels_that_are_unlikely_are_played_all_the_same(rng):
    """At ½ none would be: the expected F1 is what counts. Simulated, with common truths."""
    d, n = (20, 500) if INTERPRETED else (120, 4000)
    p = 0.4 * rng.rand(d)
    best = best_label_sets(p[None], 1.0)[0]
    truths = (rng.rand(n, d) < p).astype(float)

    def mean_f1(guess):
        return np.mean(2.0 * truths @ guess / np.maximum(truths.sum(axis=1) + guess.sum(), 1e-9))

    order = np.argsort(-p)
    sizes = [mean_f1((np.argsort(order) < k).astype(float)) for k in range(d + 1)]
    assert best.sum() > 0 and sizes[0] < 0.05
    assert mean_f1(best) >= max(sizes) - 0.02
    # No swap, label more or label less does better by more than the noise.
    for j in range(d):
        other = best.copy()
        other[j] = 1.0 - other[j]
        assert mean_f1(other) <= mean_f1(best) + 0.02


def sets_of_labels(rng, n=400, d=6):
    X = rng.randn(n, 5)
    return X, (X @ rng.randn(5, d) + rng.randn(n, d) > 1.2).astype(int)


@pytest.mark.skipif(INTERPRETED, reason="marginals must be learned well")
def test_it_scores_better_in_f1_than_the_nearest_set(rng):
    X, y = sets_of_labels(rng, 2000)
    learner = ConditionalRandomField("hypercube", decoder="f1").fit(X, y)

    def score():
        return f1_score(y, learner.predict(X), average="samples", zero_division=1.0)

    best = score()
    for other in ("nearest", "map", Threshold(0.1), Threshold(0.9)):
        learner.set_params(decoder=other)
        assert best > score()


def test_a_search_tunes_the_threshold(rng):
    X, y = sets_of_labels(rng, 150 if INTERPRETED else 1000)
    grid = {"decoder__threshold": [0.05, 0.3, 0.4, 0.5]}
    for learner in (model(decoder=Threshold()), model(decoder=Threshold(0.4))):
        search = GridSearchCV(learner, grid, scoring="f1_macro", cv=3, error_score="raise")
        scores = search.fit(X, y).cv_results_["mean_test_score"]
        assert len(set(scores)) == 4
        found = search.best_estimator_.decoder.threshold
        assert found == search.best_params_["decoder__threshold"]


def test_thresholds_are_exceeded():
    mu, loss = np.array([[0.0, 0.3, 0.5, 1.0]]), FenchelYoung(labels(4))
    for threshold, wanted in (
        (0.5, [0, 0, 0, 1]),
        (0, [0, 1, 1, 1]),
        (1.0, [0, 0, 0, 0]),
        (np.float32(0.25), [0, 1, 1, 1]),
    ):
        found, leave = Threshold(threshold).mixture(mu, mu, loss)
        np.testing.assert_array_equal(found, [wanted])
        assert not leave.any()
    half = Threshold().most_likely(mu, mu, loss)
    np.testing.assert_array_equal(half, loss.space.nearest(mu))


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (Threshold(1.5), r"threshold must lie in \[0, 1\], got 1.5"),
        (Threshold("half"), r"threshold must lie in \[0, 1\], got 'half'"),
        (Threshold(None), r"threshold must lie in \[0, 1\], got None"),
        (Threshold([0.5, 0.1, 0.2]), r"threshold must lie in \[0, 1\], got \[0.5, 0.1, 0.2\]"),
        (ExpectedF1(2), r"zero_division must lie in \[0, 1\], got 2"),
        (ExpectedF1("warn"), r"zero_division must lie in \[0, 1\], got 'warn'"),
    ],
)
def test_bad_parameters_are_named(decoder, message):
    mu = np.full((1, 3), 0.5)
    with pytest.raises(ValueError, match=message):
        decoder.mixture(mu, mu, FenchelYoung(labels(3)))


@pytest.mark.parametrize("decoder", ["f1", "threshold"])
@pytest.mark.exhaustive
def test_other_spaces_are_refused(decoder):
    kind = type(resolve_decoder(decoder)).__name__
    for space, y in ((Simplex(), [0, 1, 2]), (KSubsets(2), 1 - np.eye(3, dtype=int))):
        learner, name = model(decoder=decoder).set_params(space=space), type(space).__name__
        with pytest.raises(
            ValueError, match=rf"{kind}\(\) is only supported for Hypercube; got the .* {name}"
        ):
            learner.fit(np.eye(3), y)
        assert not hasattr(learner, "space_")
        learner.set_params(decoder="map").fit(np.eye(3), y).set_params(decoder=decoder)
        with pytest.raises(
            ValueError, match=rf"{kind}\(\) is only supported for Hypercube; got the space {name}"
        ):
            learner.predict(np.eye(3))


@pytest.mark.parametrize("decoder", ["f1", "threshold"])
def test_draws_are_the_prediction_and_expectations_are_theirs(decoder, rng):
    X, y = sets_of_labels(rng, 60)
    learner = clone(model(random_state=0)).fit(X, y).set_params(decoder=decoder)
    np.testing.assert_array_equal(learner.sample(X), learner.predict(X))
    wanted = learner.space_.target_loss(learner.predict(X), y)
    np.testing.assert_allclose(learner.expected_target_loss(X, y), wanted)
