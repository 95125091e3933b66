"""Conditional random fields with kernels."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from skstructured import ConditionalRandomField
from skstructured.estimators.crf.estimator import factor_of

EXACT = {"tol": 1e-9, "max_iter": 5000, "alpha": 0.05}


def rows(n=12, k=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 2)
    return X, np.r_[np.arange(k), np.argmax(X @ rng.randn(2, k) + rng.randn(n, k), axis=1)[k:]]


def optimum(F, y, k, share, alpha):
    """The least objective over explicit features."""

    def objective(w):
        V = F @ w.reshape(-1, k)
        P = np.exp(V - logsumexp(V, axis=1)[:, None])
        P[np.arange(len(y)), y] -= 1.0
        value = share @ (logsumexp(V, axis=1) - V[np.arange(len(y)), y]) + 0.5 * alpha * w @ w
        return value, (F.T @ (share[:, None] * P)).ravel() + alpha * w

    options = {"maxiter": 10**5, "ftol": 1e-15, "gtol": 1e-11}
    return minimize(
        objective, np.zeros(F.shape[1] * k), jac=True, method="L-BFGS-B", options=options
    ).fun


@pytest.mark.interpreted
@pytest.mark.parametrize("k", [2, 3])
def test_the_objective_is_the_least(k):
    X, y = rows(k=k)
    weights = np.arange(12.0) % 4
    F = np.linalg.cholesky(rbf_kernel(X, gamma=0.7) + 1.0 + 1e-12 * np.eye(12))
    model = ConditionalRandomField("simplex", kernel="rbf", gamma=0.7, standardize=False, **EXACT)
    for given, share in ((None, np.full(12, 1.0 / 12.0)), (weights, weights / weights.sum())):
        best = optimum(F, y, k, share, 0.05)
        model.fit(X, y, sample_weight=given)
        assert 0.0 <= model.duality_gap_ <= 1e-9
        assert model.loss_curve_[-1] == pytest.approx(best, rel=1e-6)
        with pytest.warns(ConvergenceWarning) as told:
            early = clone(model).set_params(max_iter=2).fit(X, y, sample_weight=given)
        assert told[0].filename == __file__
        assert early.loss_curve_[-1] - best <= early.duality_gap_ + 1e-9


def test_forms_of_rows_and_attributes():
    X, y = rows()
    model = ConditionalRandomField("simplex", kernel="rbf", tol=1e-4, alpha=0.05)
    model.set_params(standardize=False).fit(X, y)
    csr = clone(model).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(csr.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert not hasattr(model, "coef_")
    model.set_params(kernel="linear").fit(X, y)
    assert model.coef_.shape == (3, 2) and not hasattr(model, "dual_coef_")


@pytest.mark.interpreted
def test_scores_are_those_of_the_factor():
    """Rows that others span, and a matrix of kernels that has negative eigenvalues."""
    X = np.repeat(rows(n=8)[0], 2, axis=0)
    for K, rank in (
        (rbf_kernel(X, gamma=0.7), 8),
        (X @ X.T, 2),
        (np.tanh(0.5 * X @ X.T - 1.0), None),
    ):
        F, kept = factor_of(K.copy())
        assert F.shape == (16, len(kept)) and rank in (None, len(kept))
        np.testing.assert_array_equal(F[kept], np.tril(F[kept]))
        np.testing.assert_allclose(F @ F[kept].T, K[:, kept], atol=1e-12)


@pytest.mark.parametrize("space", ["simplex", "hypercube", "ordinal", "birkhoff", "permutahedron"])
def test_kernels_of_other_spaces(space):
    """A kernel that is linear learns what the linear model does, by other coordinates."""
    X, y = rows(n=20)
    matched = np.argsort(np.eye(3)[y], axis=1)
    others = {
        "birkhoff": matched,
        "permutahedron": matched + 1,
        "hypercube": np.eye(3, dtype=int)[y],
    }
    y = others.get(space, y)
    weight = 0.5 + np.arange(20.0) % 3
    linear = ConditionalRandomField(space, **EXACT).fit(X, y, weight)
    ours = clone(linear).set_params(kernel=lambda A, B: A @ B.T).fit(X, y, weight)
    np.testing.assert_allclose(ours.embedding_scores(X), linear.embedding_scores(X), atol=1e-4)
    assert len(ours.support_) == 3 and ours.duality_gap_ <= 1e-9


def test_bad_input(monkeypatch):
    X, y = rows()
    model = ConditionalRandomField("simplex", kernel="rbf", tol=0.1).fit(X, y)
    before, given = model.dual_coef_, model.get_params()
    for parameters, message in [
        ({"kernel": "rbfs"}, "kernel must be one of"),
        ({"gamma": 0.0}, "gamma must"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"warm_start": True}, "warm_start=True is only supported for kernel='linear'; got 'rbf'"),
        ({}, "matrix of kernels of 12 rows .* allows 9.77e-10: use fewer rows"),
    ]:
        if not parameters:
            monkeypatch.setattr("skstructured.estimators._batch.DEFAULT_CACHE_SIZE", 1e-6)
        with pytest.raises(ValueError, match=message):
            model.set_params(**given | parameters).fit(X, y)
    assert model.dual_coef_ is before
