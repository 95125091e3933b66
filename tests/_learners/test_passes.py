"""The passes of `fit`: how many, what they cost, weights of classes."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight
from streams import label_sets, largest_feature

from skstructured import GaptronClassifier, MulticlassPerceptron, OnlineStructuredPredictor
from skstructured._learners.models import LinearModel, Record
from skstructured._learners.pass_selection import LINEAR_SEARCH

KINDS = {
    "predictor": OnlineStructuredPredictor,
    "gaptron": GaptronClassifier,
    "perceptron": MulticlassPerceptron,
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def noisy(rng, n=40):
    return largest_feature(rng, n, noise=0.5)


def without_tol(kind):
    """Parameters that have `max_iter` passes made in full."""
    return {} if kind is OnlineStructuredPredictor else {"tol": None}


def stepwise(model, X, y, passes):
    """Mean losses of passes in order, every row played before it is learned, one by one."""
    rounds, curve = model.begin(X, y), []
    V = model.space_.unpack(rounds.packed)
    for _ in range(passes):
        losses = []
        for i in range(len(X)):
            thetas = []
            model.learn_blocks(
                rounds,
                np.array([i]),
                lambda block, _, to=thetas: to.append(block.theta),
                Record.SCORES,
            )
            theta = thetas[0]
            best = np.eye(3)[np.argmax(theta, axis=1)]
            surrogate = model.loss_.mean_and_value(theta, V[[i]])[1][0]  # as it is learned
            losses.append((surrogate, float((best != V[i]).any())))
        curve.append(np.mean(losses, axis=0))
    return np.array(curve)


@every_kind
def test_the_curve_is_of_losses_before_learning(kind, rng):
    X, y = noisy(rng)
    given = {"shuffle": False, "max_iter": 4} | without_tol(kind)
    model = kind(**given).fit(X, y)
    assert model.loss_curve_.shape == (4, 2) and model.n_iter_ == 4 and model.t_ == len(X)
    if kind is OnlineStructuredPredictor:  # a stream would mix steps
        given["optimizer"] = "parameter_free"
    np.testing.assert_allclose(model.loss_curve_, stepwise(kind(**given), X, y, 4), rtol=1e-12)


def test_the_curve_is_weighted(rng):
    X, y = noisy(rng)
    weight = rng.randint(3, size=len(X)).astype(float)
    kept = np.repeat(np.arange(len(X)), weight > 0)
    given = {"shuffle": False, "max_iter": 2, "tol": None}
    model = MulticlassPerceptron(**given).fit(X, y, sample_weight=2.0 * (weight > 0))
    fewer = MulticlassPerceptron(**given).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.loss_curve_, fewer.loss_curve_, rtol=1e-12)
    uneven = MulticlassPerceptron(**given).fit(X, y, sample_weight=weight)
    assert np.abs(uneven.loss_curve_ - fewer.loss_curve_).max() > 1e-3


def literal_passes(losses, tol):
    """How many passes are made of those with these losses."""
    for i in range(1, len(losses)):
        if tol is not None and not losses[i] < min(losses[:i]) * (1.0 - tol):
            return i + 1
    return len(losses)


@pytest.mark.parametrize("kind", [GaptronClassifier, MulticlassPerceptron])
@pytest.mark.parametrize("tol", [None, 0.0, 1e-3, 0.05, 0.3, -10.0])
def test_tol_stops_after_a_pass_that_is_no_better(kind, tol, rng):
    X, y = noisy(rng)
    every = kind(max_iter=12, tol=None, random_state=0).fit(X, y)
    model = kind(max_iter=12, tol=tol, random_state=0).fit(X, y)
    assert every.n_iter_ == 12
    assert model.n_iter_ == literal_passes(every.loss_curve_[:, 0], tol)
    assert tol != 0.3 or model.n_iter_ < 12
    np.testing.assert_array_equal(model.loss_curve_, every.loss_curve_[: model.n_iter_])


@pytest.mark.parametrize("tol", [0.0, 0.05, 0.3])
def test_auto_stops_after_a_pass_that_is_no_better_and_a_number_does_not(tol, rng, monkeypatch):
    monkeypatch.setattr(
        LinearModel, "search", LINEAR_SEARCH._replace(usual=12, few=0, plenty=0, tol=tol)
    )
    X, y = noisy(rng, n=100)
    every = OnlineStructuredPredictor(optimizer="parameter_free", max_iter=12, random_state=0).fit(
        X, y
    )
    model = clone(every).set_params(max_iter="auto").fit(X, y)
    assert every.n_iter_ == 12 and len(model.validation_curve_) == 0
    assert model.n_iter_ == literal_passes(every.loss_curve_[:, 0], tol)
    assert tol != 0.3 or model.n_iter_ < 12
    np.testing.assert_array_equal(model.loss_curve_, every.loss_curve_[: model.n_iter_])


@every_kind
def test_one_pass_is_one_partial_fit(kind, rng):
    X, y = noisy(rng)
    model = kind(shuffle=False, max_iter=1).fit(X, y)
    stream = kind().partial_fit(X, y, classes=[0, 1, 2])
    assert np.abs(model.coef_).max() > 0.0
    np.testing.assert_array_equal(model.coef_, stream.coef_)
    np.testing.assert_array_equal(model.intercept_, stream.intercept_)
    assert model.loss_curve_.shape == (0, 2) and model.n_iter_ == stream.n_iter_ == 1


@every_kind
def test_passes_are_told_line_by_line(kind, rng, capsys):
    X, y = noisy(rng)
    model = kind(max_iter=3, verbose=1, random_state=0, **without_tol(kind)).fit(X, y)
    told = re.findall(
        r"^pass (\d): surrogate loss ([\d.]+), target loss ([\d.]+), [\d.]+ s$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    numbers = np.array(told, dtype=float)
    np.testing.assert_array_equal(numbers[:, 0], [1, 2, 3])
    np.testing.assert_allclose(numbers[:, 1:], model.loss_curve_, atol=6e-5)
    kind(max_iter=3, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


def test_one_pass_that_is_told_has_a_curve(rng, capsys):
    model = MulticlassPerceptron(max_iter=1, verbose=1).fit(*noisy(rng))
    assert model.loss_curve_.shape == (1, 2) and capsys.readouterr().out.startswith("pass 1: ")


@every_kind
@pytest.mark.parametrize("weights", [{0: 5.0, 1: 0.5, 2: 0.0}, {1: 3.0}, "balanced"])
def test_class_weights_are_sample_weights(kind, weights, rng):
    X, y = noisy(rng)
    X, y = np.vstack([X, X[y == 1]]), np.r_[y, y[y == 1]]
    factor, own = compute_sample_weight(weights, y), 1.0 + rng.randint(2, size=len(y))
    assert np.ptp(factor) > 0.0
    given = {"random_state": 0, "max_iter": 3}
    model = kind(class_weight=weights, **given).fit(X, y, sample_weight=own)
    wanted = kind(**given).fit(X, y, sample_weight=own * factor)
    assert (model.coef_ != kind(**given).fit(X, y, sample_weight=own).coef_).any()
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    stream = kind(class_weight=weights)
    if weights == "balanced":
        with pytest.raises(ValueError, match="class_weight='balanced' is only supported by fit"):
            stream.partial_fit(X, y, classes=[0, 1, 2])
        assert not hasattr(stream, "space_")
        return
    stream.partial_fit(X, y, classes=[0, 1, 2])
    wanted = kind().partial_fit(X, y, classes=[0, 1, 2], sample_weight=factor)
    np.testing.assert_array_equal(stream.coef_, wanted.coef_)


def test_ordered_classes_have_weights_and_label_sets_have_none(rng):
    X, y = noisy(rng)
    given = {"space": "ordinal", "random_state": 0}
    model = OnlineStructuredPredictor(class_weight={2: 4.0}, **given).fit(X, y)
    wanted = OnlineStructuredPredictor(**given).fit(X, y, sample_weight=np.where(y == 2, 4.0, 1.0))
    np.testing.assert_array_equal(model.coef_, wanted.coef_)
    model = OnlineStructuredPredictor("hypercube", class_weight="balanced")
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(
            ValueError, match="class_weight is only supported for classes; got .* Hypercube"
        ):
            learn(*label_sets(rng))
        assert not hasattr(model, "space_")
