"""Max-margin models of label sequences, and the saddle points they are solved by."""

import numpy as np
import pytest
from conftest import INTERPRETED
from margin_problems import DUAL, MODELS, costs, words
from naive import margin as naive
from scipy import sparse
from sklearn.base import clone

from skstructured import QuadraticSurrogate
from skstructured.estimators.margin import _atoms
from skstructured.sequences import Stacked
from skstructured.spaces import LabelSequence


@pytest.mark.interpreted
@pytest.mark.parametrize("groups", [0, 1, 3])
def test_saddle_points_are_optimal(groups):
    rng = np.random.RandomState(groups)
    for trial in range(40):
        P, sizes = rng.randint(1, 9), rng.randint(1, 4, groups)
        group, R = np.repeat(np.arange(groups), sizes), int(sizes.sum())
        F = rng.randn(P, 3) * 10.0 ** rng.randint(-3, 2) * (trial % 4 > 0)
        G, s, B = F @ F.T, rng.randn(P) * 10.0 ** rng.randint(-3, 3), rng.rand(max(R, 1), P)
        if trial % 2:
            s, B = np.round(s), np.round(B)
        p, nu = np.empty(P), np.empty(max(R, 1))
        assert _atoms.solve_saddle(G, s, B, group, R, groups, p, nu)
        slope = s - G @ p + (B[:R].T @ nu[:R] if R else 0.0)
        pay, room = B[:R] @ p if R else np.empty(0), 1e-9 * (1.0 + np.abs(s).max() + np.trace(G))
        assert p.min() >= 0.0 and p.sum() == pytest.approx(1.0)
        assert slope.max() - slope @ p <= room
        for g in range(groups):
            own = nu[:R][group == g]
            assert own.min() >= 0.0 and own.sum() == pytest.approx(1.0)
            assert own @ pay[group == g] - pay[group == g].min() <= room


@pytest.mark.interpreted
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 1e4])
@pytest.mark.parametrize(("k", "M"), [(2, 1), (2, 4), (3, 3)])
def test_the_oracle_equals_a_linear_program(k, M, scale):
    rng, A = np.random.RandomState(M), costs(k, 3)
    labels = _atoms.best_labels
    truth, every = rng.randint(0, k, M), np.indices((k,) * M).reshape(M, -1).T
    L = A[every[:, None, :], every[None, :, :]].mean(axis=2)
    for _ in range(3):
        u, T = scale * rng.randn(M, k), scale * rng.randn(1, k, k)
        v = np.concatenate([u.ravel(), T.ravel()])
        zeros, mu = np.zeros(v.shape), _atoms.points_of(k, truth[None])[0]
        nu = mu.copy()
        columns, rows = (mu[None].copy(), np.ones(1)), (np.empty((0, len(v))), np.empty(0))
        game = k, (A, zeros, zeros), 0.0, np.eye(M)
        for _ in range(12):  # each leaves a tenth of the gap, at most
            mu, columns, _ = _atoms.visit(labels, True, 0.0, game, v, mu, columns, rows, nu)
        out, total = mu[: M * k].reshape(M, k), mu[M * k :].reshape(k, k)
        value = (u * out).sum() + (T[0] * total).sum() + (A @ out.T).min(axis=0).mean()
        at = [(u[np.arange(M), row]).sum() + T[0][row[:-1], row[1:]].sum() for row in every]
        best = naive.max_min(L, np.eye(len(every)), np.array(at))
        assert value == pytest.approx(best, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(out.sum(axis=1), 1.0)


@pytest.mark.interpreted
@pytest.mark.parametrize("q", [0.1, 0.5, 3.0])
def test_a_visit_leaves_a_tenth_of_the_gap(q):
    k, M, A = 3, 3, costs(3)
    labels = _atoms.best_labels
    every = np.indices((k,) * M).reshape(M, -1).T
    L, points = A[every[:, None, :], every[None, :, :]].mean(axis=2), _atoms.points_of(k, every)
    for seed in range(6):
        rng = np.random.RandomState(seed)
        x, v, mu, zeros = rng.randn(M, 2), rng.randn(18), points[seed].copy(), np.zeros(18)
        columns, rows = (mu[None].copy(), np.ones(1)), (np.empty((0, 18)), np.empty(0))
        game, nu = (k, (A, zeros, zeros), q, x @ x.T + 1.0), mu.copy()
        out, *_ = _atoms.visit(labels, True, 0.0, game, v, mu, columns, rows, nu)
        gaps = []
        for point in (out, mu):
            bent = np.empty(18)
            _atoms.bend(k, q, game[3], point - mu, bent)
            reached = (A @ point[: M * k].reshape(M, k).T).min(axis=0).mean()
            best = naive.max_min(L, points, v - bent)
            gaps.append(best - reached - (v - bent) @ point)
        assert -1e-9 <= gaps[0] <= 0.1 * gaps[1] + 1e-9


@pytest.mark.interpreted
def test_quadratic_surrogates_of_sequences_of_one_position_are_those_of_classes():
    X, y = words(3, (1,), n=9)
    rows, labels = np.concatenate(X), np.concatenate(y)
    model = QuadraticSurrogate("sequence", alpha=0.5, standardize=False).fit(X, y)
    plain = QuadraticSurrogate(alpha=0.5, standardize=False).fit(rows, labels)
    assert model.loss_curve_[-1] == pytest.approx(plain.loss_curve_[-1], rel=1e-6)
    assert [word[0] for word in model.predict(X)] == plain.predict(rows).tolist()
    assert model.score(X, y) == pytest.approx(plain.score(rows, labels))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_forms_of_input(kind):
    X, y = words(2, (2, 4, 1), n=6)
    solved = {"tol": 1e-8, "max_iter": 9000, "random_state": 0} if kind in DUAL else {}
    model = kind("sequence", alpha=0.5, **solved).fit(X, y)
    stacked = clone(model).fit(Stacked(np.concatenate(X), [len(x) for x in X]), y)
    np.testing.assert_array_equal(stacked.dual_coef_, model.dual_coef_)
    model.set_params(standardize=False).fit(X, y)
    csr = clone(model).fit([sparse.csr_matrix(x) for x in X], y)
    np.testing.assert_allclose(csr.coef_, model.coef_, atol=1e-6)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_labels_and_long_sequences():
    X, y = words(12, (20, 1, 6), n=12, seed=4)  # more is in play than a visit has room for
    for kind in DUAL:
        given = {"alpha": 0.5, "random_state": 0, "tol": 1e-3}
        model = kind("sequence", max_iter=15, **given).fit(X, y)
        assert 0.0 <= model.duality_gap_ < 0.2
        lower = model.loss_curve_ - model.gap_curve_
        assert (np.diff(lower) >= -1e-9).all()  # the dual climbs


@pytest.mark.parametrize("kind", MODELS)
def test_bad_input(kind):
    X, y = words(2, (2, 3))
    model = kind("sequence", alpha=0.5, missing="error").fit(X, y)
    before = model.coef_
    for parameters, data, message in [
        ({}, (X, y[1:]), "6 sequences, but y has 5"),
        ({}, (X, [labels[:1] for labels in y]), "Sequence 0 has 2 positions"),
        ({}, (np.ones((3, 2)), y), "list of sequences"),
        ({"kernel": "precomputed"}, (X, y), "is only supported for rows"),
        ({"cost_matrix": np.ones((2, 2))}, (X, y), "0 on its diagonal"),
        ({"kernel": "rbf", "cache_size": 1e-4}, (X, y), "matrix of kernels of 15 rows"),
        ({"space": LabelSequence(costs(2)), "cost_matrix": costs(2)}, (X, y), "given twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**parameters).fit(*data)
    bad = [x.copy() for x in X]
    bad[3][1, 0] = np.nan
    with pytest.raises(ValueError, match="Sequence 3 of X, position 1"):
        model.fit(bad, y)
    assert model.coef_ is before
