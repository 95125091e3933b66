"""Experts over rows alone beside those over random features: literally, and what it is for."""

import naive
import naive.features as rows_of
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import OVER_SPACES
from naive import mixture as literal

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured._learners.models import SCORES
from skstructured.estimators.kernel import _features_model
from skstructured.estimators.kernel._features_model import FourierMixtureModel, LineMixtureModel
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import StepMixture

STEPS, ADAPTIVE, SHARES = (0.25, 2.0), (0.5,), ("thinning", 0.02)
KINDS = {"classes": "classes", "label sets": "labels"}
SPACES = ["classes", "label sets", "grades", "matchings, projected", "rankings", "trees"]


def curve(**given):
    """A learner over few features, of one pass in order."""
    usual = {"n_components": 8, "shuffle": False, "max_iter": 1, "random_state": 0, "gamma": 0.4}
    return KernelStructuredPredictor(approximation="fourier", **usual | given)


def problem(name):
    """A learner of a space, rows with a gap, outputs, and weights up to 4.2."""
    if name == "classes":
        rng = np.random.RandomState(0)
        X = 3.0 * rng.randn(40, 3) + rng.randn(3)
        given, y = {}, np.argmax(np.sin(X), axis=1)
    else:
        other, X, y = OVER_SPACES[name]
        given = {"space": other.space, "regularizer": other.regularizer}
    return given, X, y, np.random.RandomState(0).randint(4, size=len(X)) * 1.4


def experts_of(model, width, near):
    """Literal experts over all columns, and over the first ones and the last."""
    dim, diameter = model.space_.dim_, model.space_.geometry("l2").diameter

    def made(columns):
        found = [literal.RelativeStep((dim, columns), eta) for eta in STEPS]
        found += [literal.RootStep((dim, columns), length) for length in ADAPTIVE]
        return [*found, literal.Other(naive.ParameterFree((dim, columns), diameter, 100.0))]

    columns = [*range(near), width - 1]
    return made(width) + [literal.OnColumns(e, columns) for e in made(near + 1)]


def learned(model, X, y, weight, size):
    """Scores played, in chunks of `size`, and outputs as vertices."""
    rounds, played = model.begin(X, y)._replace(weight=weight), []
    for start in range(0, len(X), size):
        some = np.arange(start, min(start + size, len(X)))
        model._learn(rounds, some, lambda block, w: played.append(block.theta), SCORES)
    return np.concatenate(played), model.space_.unpack(rounds.packed)


@pytest.mark.parametrize("average", ["polynomial", False])
@pytest.mark.parametrize("name", SPACES)
def test_it_equals_the_literal_mixture(name, average):
    given, X, y, weight = problem(name)
    mixture = StepMixture(steps=STEPS, adaptive=ADAPTIVE, share=SHARES)
    model = curve(optimizer=mixture, average=average, **given)
    scores, V = learned(model, X, y, weight, 7)
    features = model._model.scale.features
    frequencies = features.frequencies * np.sqrt(features.gamma)
    amplitudes = np.sqrt(features.square * features.shares)
    Z = rows_of.learned_rows(X, weight, frequencies, amplitudes)
    near = Z.shape[1] - 1 - features.columns
    kind, experts = KINDS.get(name, "scores"), experts_of(model, Z.shape[1], near)
    wanted, losses, u = literal.play_mixture(
        experts, model.loss_, Z, V, weight, SHARES, kind, average
    )
    np.testing.assert_allclose(scores, wanted, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(model._model.state.shares, u, atol=1e-8)
    np.testing.assert_allclose(model.expert_losses_, losses.sum(axis=0), rtol=1e-8, atol=1e-6)
    names = model.expert_names_
    assert len(names) == len(set(names)) == losses.shape[1]
    assert sum("of the line" in one for one in names) == len(names) // 2
    assert names[len(experts) // 2] == "RelativeStep(eta=0.25) of the line"


@pytest.mark.parametrize("name", SPACES)
def test_few_rows_and_many_are_predicted_alike_and_by_the_weights(name):
    given, X, y, weight = problem(name)
    model = curve(**given).partial_fit(X, y, sample_weight=weight, **CLASSES.get(name, {}))
    many = model.embedding_scores(X)
    few = np.vstack([model.embedding_scores(X[i : i + 3]) for i in range(0, len(X), 3)])
    np.testing.assert_allclose(few, many, rtol=1e-9, atol=1e-9)
    learner = model._model
    matrices = learner._matrices()
    Z = learner.scale.transformed_matrix(model._read(X).rows)
    wanted = np.einsum("nkp,ip->ink", matrices, np.hstack([Z, np.ones((len(Z), 1))]))
    np.testing.assert_allclose(learner._scored(matrices, Z), wanted, rtol=1e-9, atol=1e-9)


CLASSES = {"classes": {"classes": [0, 1, 2]}, "grades": {"classes": [0, 1, 2, 3]}}


def test_lines_read_no_features_and_gaps_count_as_columns():
    _, X, y, weight = problem("classes")
    X[3, 1] = np.nan
    model = curve(missing="indicator").partial_fit(X, y, [0, 1, 2], weight)
    near = model._model.scale.inner.columns
    assert near == 6
    matrices = model._model._matrices()
    assert len(matrices) == 28
    lines = [i for i, name in enumerate(model.expert_names_) if "of the line" in name]
    assert not matrices[lines][:, :, near:-1].any()
    assert matrices[lines][:, :, :near].any() and matrices[lines][:, :, -1].any()
    others = np.delete(matrices, lines, axis=0)
    assert others[:, :, near:-1].any(axis=(1, 2)).all()


def noisy(n, p, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(2 * n, p)
    return X, (X @ rng.randn(p) + 3.0 * rng.randn(2 * n) > 0.0).astype(int)


@pytest.mark.skipif(INTERPRETED, reason="slow")
def test_a_noisy_line_costs_nothing_and_a_curve_is_learned(monkeypatch):
    n, points = 600, []
    for seed in range(6):
        X, y = noisy(n, 20, seed)
        line = OnlineStructuredPredictor(max_iter=1, random_state=seed).fit(X[:n], y[:n])
        row = [line.score(X[n:], y[n:])]
        for kind in (FourierMixtureModel, LineMixtureModel):
            monkeypatch.setattr(_features_model, "FourierMixtureModel", kind)
            model = curve(n_components=400, gamma="multiscale", random_state=seed)
            row.append(model.fit(X[:n], y[:n]).score(X[n:], y[n:]))
        points.append(row)
    line, both, alone = 100.0 * np.mean(points, axis=0)
    assert both > line - 0.5
    assert both > alone + 0.5
    X, _ = noisy(n, 4, 0)
    y = (np.sum(X**2, axis=1) > 3.5).astype(int)
    model = curve(n_components=400, gamma="multiscale").fit(X[:n], y[:n])
    assert model.score(X[n:], y[n:]) > 0.85


def test_bounds_are_against_every_expert_and_against_weights_of_all_features():
    for seed in range(3):
        X, y = noisy(60 if INTERPRETED else 200, 3, seed)
        result = progressive_validate(curve(), X, y)
        model = result.estimator
        certificate = model.certificate()
        assert list(certificate.losses) == model.expert_names_
        found = result.surrogate_loss.sum()
        c, overhead = certificate.constants["c"], certificate.constants["overhead"]
        assert found <= c * (min(certificate.losses.values()) + overhead) + 1e-9
        assert result.expected_target_loss.sum() <= certificate.bound_of_experts()
        # one expert over [z, φ(z)] has a bound against every U; that of a line has none
        assert len(certificate.certificates) == 1
        one = model._model.optimizer.experts()[-1]
        known = one.certificate(model.loss_, model._model.state.vectors[6])
        for norm in (0.1, 1.0, 10.0):
            price = certificate._price()
            assert certificate.regret(norm) == pytest.approx(known.regret(norm) + price)
