"""The reduction's exploration: what it takes from the wrapped learner's regret bound, and when."""

import math

import numpy as np
import pytest
from plain import predictor
from sklearn.linear_model import SGDClassifier

from skstructured import BanditReduction
from skstructured.optimizers import ParameterFree, PiSTOL

K = 3


def reduction(optimizer, **parameters):
    estimator = predictor(optimizer=optimizer)
    return BanditReduction(estimator, classes=range(K), random_state=0, **parameters)


def rows(rng, n=120):
    X = rng.randn(n, 2)
    return X, np.argmax(X @ rng.randn(2, K), axis=1)


@pytest.mark.parametrize("norm", [math.nan, math.inf, -1, -1e-9, 1 + 2j, "1", None, True, [1.0]])
def test_a_norm_is_a_non_negative_number(norm, rng):
    X, y = rows(rng, 5)
    for model in (reduction("ogd"), reduction("ogd", exploration=0.5)):
        model.set_params(comparator_norm=norm)
        for use in (lambda m: m.fit(X, y), lambda m: m.choose(X)):
            with pytest.raises(ValueError, match="comparator_norm must be a non-negative number"):
                use(model)
            assert not hasattr(model, "classes_")


@pytest.mark.parametrize("norm", [0, 0.0, np.float32(0.5), np.int64(2)])
def test_norms_of_every_real_kind_are_taken(norm, rng):
    X, y = rows(rng)
    model = reduction("parameter_free", comparator_norm=norm).fit(X, y)
    regret = model.estimator_.certificate().regret(float(norm))
    assert model._rho() == pytest.approx(min(1.0, math.sqrt(K * regret / 121)))


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (predictor(optimizer="pistol"), r"needs a ≥ 2.25, got a=0.08"),
        (predictor(optimizer=PiSTOL(a=3.0)), "give feature_norm"),
        (predictor(decoder="nearest"), "randomized decoder"),
        (SGDClassifier(loss="log_loss"), "has no attribute 'certificate'"),
    ],
)
def test_learners_without_a_bound_are_refused_before_the_first_round(estimator, reason, rng):
    X, y = rows(rng)
    model = BanditReduction(estimator, classes=range(K), random_state=0)
    for use in (lambda: model.choose(X[:1]), lambda: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=f"exploration must be given: .*{reason}"):
            use()
        assert not hasattr(model, "classes_")
    assert model.set_params(exploration=0.5).partial_fit(X, y).t_ == len(X)


def test_pistol_with_its_theorem_works(rng):
    X, y = rows(rng)
    model = reduction(PiSTOL(a=2.5, feature_norm=10.0), horizon=10**6).partial_fit(X, y)
    regret = model.estimator_.certificate().regret(1.0)
    assert regret > 0.0
    assert model._rho() == pytest.approx(math.sqrt(K * regret / 10**6))


def test_a_row_beyond_the_bound_is_named_and_changes_nothing(rng):
    X, y = rows(rng)
    model = reduction(PiSTOL(a=2.5, feature_norm=10.0)).partial_fit(X, y)
    model.update(100.0 * X[:1], y[:1], [1], [1 / K])  # ρ = 1: it is taught
    assert model.estimator_.t_ == model.n_taught_
    before, state = model.t_, model.random_state_.get_state()[1].copy()
    for use in (
        lambda: model.choose(X[:1]),
        lambda: model.update(X[:1], y[:1], [1], [0.5]),
    ):
        with pytest.raises(ValueError, match="exploration must be given: .*give feature_norm"):
            use()
        np.testing.assert_array_equal(model.random_state_.get_state()[1], state)
    assert (model.t_, model.n_taught_) == (before, model.estimator_.t_)


@pytest.mark.parametrize("size", [1e-96, 1e-75, 1e-30, 1e30, 1e75, 1e99])
def test_regrets_of_rows_of_any_size_are_found(size, rng):
    """A regret was sought for ever from 1e75 on."""
    X, y = rows(rng)
    model = predictor(optimizer=ParameterFree(), fit_intercept=False)
    certificate, unit = model.fit(X, y).certificate(), size / np.abs(X).max()
    scaled = model.fit(unit * X, y).certificate()
    for norm in (0.0, 1e-3, 1.0, 1e3):
        wanted = certificate.regret(norm)
        assert scaled.regret(norm / unit) == pytest.approx(wanted, rel=1e-6)
    assert scaled.regret(1.0) >= 0.0
    assert scaled.regret(1e300) > 0.0
    assert scaled.regret(math.inf) == math.inf
