"""Progressive validation."""

import naive
import numpy as np
import pandas as pd
import pytest
from pairs import LARGEST, PAIRS, space_of
from plain import predictor
from scipy import sparse

from skstructured.evaluation import progressive_validate


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_rounds_are_those_of_the_literal_learner(name, dim, rng):
    space, regularizer = space_of(name, dim), PAIRS[name][1]
    vertices = space.vertices()
    V = np.vstack([vertices, vertices[rng.randint(len(vertices), size=40)]])
    X = rng.randn(len(V), 4) * np.exp(rng.randn(len(V), 1))
    model = predictor(space=space, regularizer=regularizer)
    result = progressive_validate(model, X, space.decode(V), random_state=0)
    loss = result.estimator.loss_
    theta, _ = naive.gradient_descent(loss, X, V)
    np.testing.assert_allclose(result.surrogate_loss, loss.value(theta, V), atol=1e-10)
    from skstructured.decoders import Randomized

    expected = Randomized().expected_loss(theta, loss.mean(theta), V, loss)
    np.testing.assert_allclose(result.expected_target_loss, expected, atol=1e-10)
    assert not hasattr(model, "coef_")
    assert result.estimator.t_ == len(V)


@pytest.mark.parametrize(("play", "average"), [("iterates", False), ("average", "polynomial")])
def test_batches_are_played_with_the_weights_before_them(play, average, rng):
    X, y = rng.randn(47, 3), rng.randint(3, size=47)
    model, wanted = predictor(average=average), []
    result = progressive_validate(model, X, y, 10, play=play, random_state=0)
    for i in range(0, 47, 10):
        if i == 0:
            wanted.append(np.full(10, np.log2(3)))
        else:
            theta = model.decision_function(X[i : i + 10])
            V = model.space_.encode(y[i : i + 10])
            wanted.append(model.loss_.value(theta, V))
        model.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1, 2])
    np.testing.assert_allclose(result.surrogate_loss, np.concatenate(wanted))
    np.testing.assert_array_equal(result.estimator.coef_, model.coef_)


def test_realised_losses_average_to_the_expected_ones(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    runs = [progressive_validate(predictor(), X, y, random_state=seed) for seed in range(200)]
    realised = np.mean([run.target_loss for run in runs], axis=0)
    expected = runs[0].expected_target_loss
    sigma = np.sqrt(expected * (1 - expected) / 200)
    assert np.all(np.abs(realised - expected) <= 5 * sigma + 1e-9)
    np.testing.assert_array_equal(
        runs[3].target_loss,
        progressive_validate(predictor(), X, y, random_state=3).target_loss,
    )


def test_sparse_data_frames_and_progress(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    frame = pd.DataFrame(X, columns=list("abc"))
    seen = []
    runs = [
        progressive_validate(predictor(), Z, y, random_state=0)
        for Z in (X, frame, sparse.csr_matrix(X))
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.surrogate_loss, runs[0].surrogate_loss, atol=1e-12)
        assert run.surrogate_regret() == pytest.approx(runs[0].surrogate_regret(), abs=1e-3)
    progressive_validate(predictor(), X, y, 25, progress=lambda done, n: seen.append((done, n)))
    assert seen == [(25, 60), (50, 60), (60, 60)]
    mean = runs[0].expected_target_loss.mean()
    told = f"(60 rounds of OnlineStructuredPredictor, mean expected target loss {mean:.4g}, "
    assert told in repr(runs[0])
