"""The elastic net of conditional random fields: optima, exact zeros, and the duality gap."""

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import crf as naive
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from test_crf import PLAIN, weights_of, words

from skstructured import ConditionalRandomField

ALPHA = 0.05
SLOW = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def penalized(weights, X, y, r, share=None):
    """The mean loss and the elastic net of all weights, by enumeration."""
    absolute = sum(np.abs(part).sum() for part in weights)
    smooth = naive.sequence_objective(weights, X, y, ALPHA * (1.0 - r), share)
    return smooth + ALPHA * r * absolute


def least(X, y, r, shapes, share=None):
    """The least objective, of the positive less the negative parts of all weights."""
    size = sum(int(np.prod(shape)) for shape in shapes)
    eye = 1e-5 * np.eye(size)

    def smooth(flat):
        weights = naive.split(flat, shapes)
        return naive.sequence_objective(weights, X, y, ALPHA * (1.0 - r), share)

    def of_parts(both):
        flat = both[:size] - both[size:]
        slope = np.array([smooth(flat + e) - smooth(flat - e) for e in eye]) / 2e-5
        return smooth(flat) + ALPHA * r * both.sum(), np.r_[slope, -slope] + ALPHA * r

    start, bounds = np.zeros(2 * size), [(0.0, None)] * (2 * size)
    found = minimize(of_parts, start, jac=True, bounds=bounds, options={"ftol": 1e-12}).x
    return penalized(naive.split(found[:size] - found[size:], shapes), X, y, r, share)


@SLOW
@pytest.mark.parametrize("r", [0.3, 0.9])
@pytest.mark.parametrize("share", [None, np.array([1.0, 3.0, 0.5])])
def test_of_sequences_it_is_the_literal_optimum(r, share, rng):
    X, y = words(rng, k=2, p=1, lengths=(3, 1, 2))
    model = ConditionalRandomField(alpha=ALPHA, l1_ratio=r, **PLAIN).fit(X, y, sample_weight=share)
    parts = weights_of(model)
    found = penalized(parts, X, y, r, share)
    best = least(X, y, r, [part.shape for part in parts], share)
    assert found == pytest.approx(best, abs=1e-6)
    assert model.loss_curve_[-1] == pytest.approx(found, rel=1e-9)
    assert model.duality_gap_ <= PLAIN["tol"]


@pytest.mark.interpreted
@pytest.mark.parametrize("r", [0.25, 0.5, 0.99])
def test_of_classes_it_is_logistic_regressions(r):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = ConditionalRandomField("simplex", alpha=ALPHA, l1_ratio=r, fit_intercept=False, **PLAIN)
    peer = LogisticRegression(C=1 / (ALPHA * len(y)), l1_ratio=r, solver="saga", tol=1e-10)
    peer.set_params(fit_intercept=False, max_iter=100_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, peer.coef_, atol=1e-4)
    np.testing.assert_array_equal(model.coef_ == 0.0, np.abs(peer.coef_) < 1e-7)


@pytest.mark.interpreted
@pytest.mark.parametrize("r", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("most", [1, 3, 8])
def test_the_gap_is_the_primal_less_the_dual(r, most):
    """And so it is at least what is left to the optimum."""
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    given = {"alpha": ALPHA, "l1_ratio": r, "fit_intercept": False} | PLAIN
    model = ConditionalRandomField("simplex", **given, max_iter=most)
    with pytest.warns(UserWarning, match="duality gap"):
        model.fit(X, y)
    W, V = model.coef_, np.eye(3)[y]
    P = model.predict_proba(X)
    u = (P - V).T @ X / len(X)
    penalty = ALPHA * (r * np.abs(W).sum() + 0.5 * (1.0 - r) * (W**2).sum())
    primal = -np.log(P[np.arange(len(y)), y]).mean() + penalty
    conjugate = np.maximum(np.abs(u) - ALPHA * r, 0.0) ** 2 / (2.0 * ALPHA * (1.0 - r))
    dual = -np.sum(P * np.log(P), axis=1).mean() - conjugate.sum()
    assert model.duality_gap_ == pytest.approx(primal - dual, rel=1e-6)
    best = clone(model).set_params(max_iter=1000).fit(X, y).loss_curve_[-1]
    assert model.loss_curve_[-1] - best <= model.duality_gap_ + 1e-12


def test_weights_of_rare_features_are_zero(rng):
    X, y = words(rng, lengths=(4,) * 20)
    X = [np.column_stack([x, rng.rand(len(x), 30) < 0.05]) for x in X]
    plain, lasso = (
        ConditionalRandomField(alpha=0.05, l1_ratio=r, standardize=False).fit(X, y)
        for r in (0.0, 0.9)
    )
    assert np.count_nonzero(plain.coef_) > 0.85 * plain.coef_.size  # but for columns of zeros
    assert np.mean(lasso.coef_[:, 2:] == 0.0) > 0.85 and np.count_nonzero(lasso.coef_[:, :2]) >= 3


def test_warm_starts_and_alpha_by_trial(rng):
    X, y = words(rng, lengths=(4,) * 20)
    model = ConditionalRandomField(alpha=0.02, l1_ratio=0.5, warm_start=True, **PLAIN).fit(X, y)
    first = model.n_iter_
    before = model.coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, before, atol=1e-4)
    assert model.n_iter_ < first
    tried = ConditionalRandomField(l1_ratio=0.5, random_state=0).fit(X, y)
    assert tried.alpha_ in tried.alpha_path_[:, 0] and np.any(tried.coef_ == 0.0)


@pytest.mark.parametrize("r", [-0.1, 1.0, "half", np.nan])
def test_other_shares_are_refused(r):
    with pytest.raises(ValueError, match=r"l1_ratio must lie in \[0, 1\)"):
        ConditionalRandomField(l1_ratio=r).fit([[[0.0]], [[1.0]]], [[0], [1]])


def test_kernels_have_no_such_share():
    with pytest.raises(ValueError, match="kernel='rbf' needs l1_ratio=0, got 0.5"):
        ConditionalRandomField("simplex", kernel="rbf", l1_ratio=0.5).fit([[0.0], [1.0]], [0, 1])
