"""FOLKLORE, AIOLI and their relatives against literal forms, and FOLKLORE's bounds."""

import math
import pickle

import naive.logistic
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from skstructured import (
    AioliClassifier,
    FolkloreClassifier,
    GaussianAggregatingForecaster,
    GuaranteeError,
    OnlineNewtonClassifier,
)
from skstructured._base.exceptions import GuaranteeWarning
from skstructured.estimators.logistic import _base
from skstructured.estimators.logistic._rounds import LogitsWork, improper_logits
from skstructured.estimators.logistic.folklore import ClassBlocks, FolkloreMatrix
from skstructured.evaluation import progressive_validate
from skstructured.spaces.simplex import log_softmax

LEAST = 0.2  # of a class with its own cell, times the classes
SIZES = [(K, p) for K in (2, 3, 5) for p in (1, 4, 10)]
compiled_only = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="needs compiled kernels")


def stream(K, p, T, seed=0, scale=1.0):
    rng = np.random.RandomState(seed)
    return rng.randn(T, p) * scale, rng.dirichlet(np.ones(K), size=T)


def naive_folklore(K, p, B=1.0, lam=0.7):
    return naive.logistic.Folklore(K, p, lam, lambda n: naive.logistic.folklore_kappa(B, n, K))


def assert_literal(state, literal, X, Y, weight):
    """Play and learn rows by both; the literal one is left after all rows."""
    played = state.learn(X, Y, weight)
    for t in range(len(X)):
        z = literal.logits(X[t], weight[t])
        np.testing.assert_allclose(played[t], z, rtol=0, atol=1e-8)
        literal.update(X[t], z, Y[t], weight[t])


class TestManyClasses:
    """From 10 classes on the curvature is that of cells of classes."""

    @pytest.mark.parametrize(("K", "sharp"), [(10, 0.0), (10, 3.0), (13, 6.0)])
    @pytest.mark.interpreted
    def test_logits_and_the_potential_are_literal(self, K, sharp):
        p, T = 3, 12 if config.DISABLE_JIT else 50
        X, _ = stream(K, p, T, scale=2.0)
        rng = np.random.RandomState(1)
        theta = sharp * X @ rng.randn(p, K)
        Y = np.exp(log_softmax(theta + rng.gumbel(size=theta.shape)))
        weight = rng.choice([0.0, 0.3, 1.0, 4.0], size=T)
        state = FolkloreMatrix(K, p, 0.5, 2.0)
        played = state.learn(X, Y, weight)
        literal = naive_folklore(K, p, 2.0, 0.5)
        literal.curvature = lambda z: naive.logistic.hessian_of_cells(z, LEAST)
        total, joined = 0.0, 0
        for t in range(T):
            z = literal.logits(X[t], weight[t])
            np.testing.assert_allclose(played[t], z, rtol=0, atol=1e-8)
            total += literal.potential(X[t], z, weight[t])
            literal.update(X[t], z, Y[t], weight[t])
            joined += (np.exp(log_softmax(z[None])) * K < LEAST).sum() > 1
        assert joined > 0 or sharp == 0.0
        assert state.potential == pytest.approx(total, rel=1e-8)
        assert state.drift() < 1e-12

    def test_cells_tell_less_than_classes(self):
        """So that what is proved of the curvature holds of theirs."""
        rng = np.random.RandomState(0)
        for scale in (0.1, 1.0, 5.0, 30.0):
            z = scale * rng.randn(15)
            most, some = naive.logistic.hessian(z), naive.logistic.hessian_of_cells(z, LEAST)
            assert np.linalg.eigvalsh(most - some).min() > -1e-14
            assert np.linalg.eigvalsh(some).min() > -1e-14

    def test_shares_of_nothing_and_of_one(self):
        """Classes that are sure, and such as have no share at all."""
        K, p = 12, 2
        X = np.array([[1e3, 0.0], [0.0, 1e3], [1e3, 1e3], [1.0, -1.0]] * 5)
        Y = np.eye(K)[np.arange(20) % 3]
        state = FolkloreMatrix(K, p, 1e-3, 50.0)
        assert np.isfinite(state.learn(X, Y, np.ones(20))).all()
        assert np.isfinite(state.P).all()
        assert state.drift() < 1e-8


@pytest.mark.interpreted
class TestFolkloreIsLiteral:
    @pytest.mark.parametrize(("K", "p"), SIZES)
    @pytest.mark.short(every=4)
    def test_logits_equal_the_minimiser_over_all_weights(self, K, p):
        """Of losses times their weights; a row of zeros has logits of 0 and changes nothing."""
        T = 60 if config.DISABLE_JIT else 200
        X, Y = stream(K, p, T, scale=2.0)
        X[10] = 0.0
        weight, literal = np.array([1.0, 0.5, 1.5, 0.0])[np.arange(T) % 4], naive_folklore(K, p)
        assert_literal(FolkloreMatrix(K, p, 0.7, 1.0), literal, X, Y, weight)

    @pytest.mark.parametrize(("K", "p"), [(2, 3), (3, 2), (4, 1)])
    def test_and_the_minimiser_of_explicit_surrogates(self, K, p):
        X, Y = stream(K, p, 25)
        played = FolkloreMatrix(K, p, 0.5, 2.0).learn(X, Y, np.ones(25))
        literal = naive_folklore(K, p, 2.0, 0.5)
        for t in range(25):
            z = literal.logits_of_surrogates(X[t])
            np.testing.assert_allclose(played[t], z, rtol=0, atol=1e-8)
            literal.update(X[t], z, Y[t])

    @pytest.mark.parametrize(("K", "p"), [(2, 3), (4, 2)])
    def test_blocks_of_classes_with_weights(self, K, p):
        X, Y = stream(K, p, 30, scale=2.0)
        weight = np.random.RandomState(0).choice([0.0, 0.25, 1.0, 3.0, 20.0], size=30)
        kappa = lambda norm: naive.logistic.folklore_kappa(1.0, norm, K)  # noqa: E731
        state, literal = ClassBlocks(K, p, 0.7, 1.0), naive.logistic.Approximate(K, p, 0.7, kappa)
        assert_literal(state, literal, X, Y, weight)
        np.testing.assert_allclose(state.G.ravel(), literal.G, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
    def test_two_classes_are_aioli(self, scale):
        X, Y = stream(2, 5, 200, scale=scale)
        played = FolkloreMatrix(2, 5, 0.7, 1.0).learn(X, Y, np.ones(200))
        aioli = naive.logistic.Aioli(5, 0.7, lambda n: naive.logistic.folklore_kappa(1.0, n, 2))
        for t in range(200):
            m = aioli.margin(X[t])
            assert abs(expit(m) - np.exp(log_softmax(played[t][None])[0, 1])) < 1e-10
            aioli.update(X[t], m, Y[t, 1])

    @pytest.mark.parametrize("K", [3, 12])
    @pytest.mark.exhaustive
    def test_predictions_change_nothing_and_may_read_what_is_not_to_be_written(self, K):
        X, Y = stream(K, 4, 40)
        state = FolkloreMatrix(K, 4, 0.7, 1.0)
        state.learn(X, Y, np.ones(40))
        before = state.copy()
        logits = state.logits(X)
        for name in ("A", "P", "G", "numbers"):
            np.testing.assert_array_equal(getattr(state, name), getattr(before, name))
        for name in ("P", "G", "Q"):
            getattr(state, name).setflags(write=False)
        np.testing.assert_allclose(state.logits(X), logits, rtol=1e-12)
        np.testing.assert_array_equal(before.learn(X[:1], Y[:1], np.ones(1)), logits[:1])

    @pytest.mark.parametrize("unit", [2.0**-332, 2.0**-20, 2.0**20, 2.0**332])
    def test_is_the_same_in_any_unit(self, unit):
        X, Y = stream(3, 4, 60)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        plain_ = FolkloreMatrix(3, 4, 1.0, 1.0).learn(X, Y, np.ones(60))
        state = FolkloreMatrix(3, 4, unit**2, 1.0 / unit)
        np.testing.assert_allclose(state.learn(X * unit, Y, np.ones(60)), plain_, atol=1e-9)


class TestImproperLogits:
    @settings(deadline=None, max_examples=100 if not config.DISABLE_JIT else 20)
    @given(
        st.integers(2, 12 if config.DISABLE_JIT else 40),
        st.integers(0, 10**6),
        st.floats(-6, 6),
        st.floats(-3, 4),
    )
    def test_solve_their_equation_at_any_size(self, K, seed, size, spread):
        rng = np.random.RandomState(seed)
        root = rng.randn(K, rng.randint(1, K + 1)) * 10.0 ** (size / 2)
        A, g, (z, told) = root @ root.T, rng.randn(K) * 10.0**spread, np.empty((2, K))
        assert improper_logits(A, g, z, told, np.empty((LogitsWork.N_ROWS, K))) < 1e-8
        unit = 1.0 + np.abs(A).max() + np.abs(g).max()
        s = np.exp(log_softmax(z[None])[0])
        np.testing.assert_allclose(told, s, rtol=0, atol=1e-12)
        # a last digit of s is A's size times as large in z
        assert np.abs(z - (g - A @ s)).max() <= 1e-13 * unit + 1e-15 * unit**2

    def test_a_part_that_a_singular_matrix_does_not_see_hides_no_digits(self):
        rng = np.random.RandomState(0)
        for _ in range(300):
            K = rng.randint(3, 9)
            root, g, z = 3.0 * rng.randn(K, 1), rng.randn(K), np.empty(K)
            left = improper_logits(
                root @ root.T, g, z, np.empty(K), np.empty((LogitsWork.N_ROWS, K))
            )
            assert left < 1e-14


class TestMatrices:
    @pytest.mark.parametrize(("r", "p"), [(1, 1), (1, 5), (3, 4), (6, 9), (2, 17), (2, 140)])
    def test_blocks_are_the_matrix(self, r, p):
        rng = np.random.RandomState(0)
        root = rng.randn(r * p, r * p)
        matrix = root @ root.T + np.eye(r * p)
        panels = panels_of(matrix, r)
        np.testing.assert_array_equal(_base.unpack_panels(panels, r, p), matrix)
        inverse = np.empty_like(panels)
        _base.set_inverse(panels, inverse, r, p)
        found = _base.unpack_panels(inverse, r, p)
        np.testing.assert_allclose(found, np.linalg.inv(matrix), atol=1e-10)
        x, V, S = rng.randn(p), np.empty((r, r * p)), np.empty((r, r))
        _base.multiply_panels(panels, x, V, S)
        # V_ij = P_ji x
        np.testing.assert_allclose(V, (matrix.reshape(r * p, r, p) @ x).T)
        np.testing.assert_allclose(S, V.reshape(r, r, p) @ x)
        for rank in (0, 1, r):
            L, before = rng.randn(r + 1, r * p), _base.unpack_panels(panels, r, p)
            _base.downdate(panels, L, r, rank)
            expected = before - L[:rank].T @ L[:rank]
            np.testing.assert_allclose(_base.unpack_panels(panels, r, p), expected, atol=1e-10)

    @pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 16])
    def test_rows_that_wait_are_added_by_their_factors(self, count):
        r, p, rng = 3, 4, np.random.RandomState(count)
        waiting, factors, numbers = rng.randn(16, p), rng.randn(6, 16), np.zeros(3)
        panels, numbers[_base.SecondOrderNumbers.WAITING] = (
            _base.unit_panels(r, p, 2.0),
            count,
        )
        _base.add_waiting(panels, waiting, factors, numbers, np.empty((16, r * p)))
        expected = 2.0 * np.eye(r * p)
        for t in range(count):
            h = np.zeros((r, r))
            h[np.triu_indices(r)] = factors[:, t]
            h += np.triu(h, 1).T
            expected += np.kron(h, np.outer(waiting[t], waiting[t]))
        np.testing.assert_allclose(_base.unpack_panels(panels, r, p), expected, atol=1e-12)
        assert numbers[_base.SecondOrderNumbers.WAITING] == 0.0

    def test_a_drifted_inverse_is_made_anew(self):
        K, p = 3, 4
        X, Y = stream(K, p, 1100)
        state = FolkloreMatrix(K, p, 0.7, 1.0)
        state.learn(X[:1000], Y[:1000], np.ones(1000))
        state.P *= 1.0 + 1e-6
        assert state.drift() > 1e-7
        state.learn(X[1000:], Y[1000:], np.ones(100))
        assert state.refactored == 1
        assert state.drift() < 1e-12

    @compiled_only
    @pytest.mark.slow
    @pytest.mark.parametrize(("K", "p", "scale"), [(3, 10, 1.0), (5, 4, 100.0), (2, 30, 1e4)])
    def test_the_inverse_after_100_000_rounds(self, K, p, scale):
        rng, T = np.random.RandomState(0), 100_000
        X = rng.randn(T, p) * np.geomspace(1.0, scale, p)
        Y = np.eye(K)[np.argmax(X[:, :1] * np.arange(K) + rng.gumbel(size=(T, K)), axis=1)]
        state = FolkloreMatrix(K, p, 1.0, 1.0)
        state.learn(X, Y, np.ones(T))
        state.add_waiting()
        A, P = (_base.unpack_panels(panels, K - 1, p) for panels in (state.A, state.P))
        assert np.abs(A @ P - np.eye(len(A))).max() <= 1e-6


def best_comparator(X, Y, B):
    """Σ ℓ(Ux) of (nearly) the best U with ‖U_k‖ ≤ B, by projected quasi-Newton from many sides."""
    K, p = Y.shape[1], X.shape[1]

    def projected(flat):
        U = flat.reshape(K, p)
        return U * np.minimum(1.0, B / np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1e-300))

    def value(flat):
        U = flat.reshape(K, p)
        logs = log_softmax(X @ U.T)
        return -np.sum(logs * Y), ((np.exp(logs) - Y).T @ X).ravel()

    U, step = np.zeros(K * p), 1.0 / (np.linalg.norm(X, 2) ** 2 + 1e-12)
    momentum = U
    for t in range(500):
        new = projected(momentum - step * value(momentum)[1]).ravel()
        momentum, U = new + t / (t + 3.0) * (new - U), new
    free = minimize(value, U, jac=True, method="L-BFGS-B").x
    return min(value(U)[0], value(projected(free).ravel())[0])


def regret_streams(T=400):
    """Name -> rows of norm at most 1, and labels, on which a wrong κ or λ shows."""
    rng = np.random.RandomState(0)
    ones = np.ones((T, 1))
    X = rng.randn(T, 4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    flips = np.r_[np.ones(T // 10, int), np.zeros(T - T // 10, int)]
    yield "random", X, rng.randint(0, 3, T), 3
    yield "block-wise", ones, flips, 2
    yield "block-wise, three", ones, np.repeat([0, 1, 2], [T // 10, T // 10, T - 2 * (T // 10)]), 3
    yield "rare label", X, (rng.rand(T) < 0.01).astype(int), 2
    yield "separable", X, (X[:, 0] > 0).astype(int), 2
    yield "separable, four", X, 2 * (X[:, 0] > 0) + (X[:, 1] > 0), 4
    yield "alternating", np.tile(np.eye(4), (T // 4, 1)), np.arange(T) // 4 % 3, 3


def adversarial(model, X, K):
    """Labels that the model finds least likely, one round after the other."""
    y = np.zeros(len(X), int)
    rounds = model.begin(X, y, classes=np.arange(K))
    for t in range(len(X)):
        row = rounds.rows._replace(X=X[t : t + 1], data=X[t], n_rows=1)
        logits = model._thetas(rounds._replace(rows=row))
        y[t] = np.argmin(logits[0])
        rounds.packed[t] = y[t]
        model.learn(rounds, np.array([t]))
    return y


def nats_of(model, X, y, K):
    """Log losses, in nats, of every round played."""
    rounds = model.begin(X, y, classes=np.arange(K))
    return model.play_and_learn(rounds, np.arange(len(X))).surrogate * math.log(2.0)


def explicit_bound(K, p, B, R, T):
    """The corrected bound of Theorem 3.3, with the largest κ."""
    kappa = naive.logistic.folklore_kappa(B, R, K)
    return 2 * K * B * R + (K - 1) * p * math.log(1 + T / 2) / (4 * kappa)


def tight_bound(K, p, B, R, T):
    """The same before ``κBR ≤ 1`` and ``Kp ≥ 2`` are used; never more."""
    kappa = naive.logistic.folklore_kappa(B, R, K)
    share = kappa * B * R / (2 * K * p * (1 - kappa * B * R / 4))
    return 2 * K * B * R + (K - 1) * p * math.log1p(share * T) / (4 * kappa)


def plain(**given):
    return FolkloreClassifier(standardize=False, fit_intercept=False, **given)


def panels_of(matrix, r):
    """The panels of a symmetric matrix (r p, r p)."""
    p = len(matrix) // r
    return np.concatenate([matrix[i * p : (i + 1) * p, i * p :].ravel() for i in range(r)])


class TestRegret:
    @compiled_only
    @pytest.mark.parametrize("B", [0.5, 2.0, 10.0])
    @pytest.mark.parametrize("named", list(regret_streams()), ids=lambda named: named[0])
    def test_is_below_the_corrected_bound(self, named, B):
        _, X, y, K = named
        self._check(X, y, K, B)

    @compiled_only
    @pytest.mark.parametrize("B", [0.5, 5.0])
    @pytest.mark.parametrize("K", [2, 3])
    def test_also_against_an_adversary(self, K, B):
        X = np.random.RandomState(1).randn(200, 2)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        self._check(X, adversarial(plain(radius=B, feature_norm=1.0), X, K), K, B)

    def _check(self, X, y, K, B):
        T, p = X.shape
        best = best_comparator(X, np.eye(K)[y], B)
        for settings_ in ({"feature_norm": 1.0}, {}, {"alpha": 0.01}):
            model = plain(radius=B, **settings_)
            regret = nats_of(model, X, y, K).sum() - best
            found = model.certificate()  # for classes that all have the norm B
            bits = found.quadratic * K * B**2 + found.offset
            assert regret <= bits * math.log(2.0) + 1e-9
            if "feature_norm" in settings_:
                tight = tight_bound(K, p, B, 1.0, T)
                assert bits * math.log(2.0) <= tight + 1e-9
                assert tight <= explicit_bound(K, p, B, 1.0, T)

    def test_the_certificate_counts_mistakes(self):
        X, _ = stream(3, 3, 200)
        y = np.argmax(X, axis=1)
        result = progressive_validate(FolkloreClassifier(), X, y, play="randomized")
        assert result.target_loss.sum() <= result.surrogate_loss.sum() + 1e-9
        assert result.target_loss.sum() <= result.regret_bound()
        drawn = progressive_validate(FolkloreClassifier(decoder="sampled"), X, y, play="randomized")
        assert np.all(drawn.expected_target_loss <= drawn.surrogate_loss + 1e-12)

    def test_is_refused_where_nothing_is_proved(self):
        X, y = np.eye(4), np.arange(4) % 3
        with pytest.raises(GuaranteeError, match="structure='full'"):
            FolkloreClassifier(structure="classes").fit(X, y).certificate()
        with pytest.raises(GuaranteeError, match="decoder"):
            FolkloreClassifier(decoder="randomized").fit(X, y).certificate()
        with pytest.raises(NotFittedError):
            FolkloreClassifier().certificate()

    @pytest.mark.parametrize("learner", [OnlineNewtonClassifier, GaussianAggregatingForecaster])
    @pytest.mark.exhaustive
    def test_is_refused_by_its_relatives(self, learner):
        with pytest.raises(GuaranteeError):
            learner().fit(np.eye(4), np.arange(4) % 3).certificate()


class TestPotential:
    @pytest.mark.parametrize("K", [2, 3])
    @pytest.mark.interpreted
    def test_is_the_literal_sum_with_weights(self, K):
        """Σ ¼ w² tr(A_{t−1}⁻¹ H_t): the certificate at norm 0, for weights on both sides of 1."""
        p, T = 3, 30
        X, Y = stream(K, p, T, seed=4)
        weight = np.random.RandomState(2).choice([0.0, 0.3, 1.0, 2.0, 20.0], size=T)
        model = plain(radius=1.0, alpha=0.7, decoder="sampled")
        y = np.argmax(Y, axis=1)
        Y = np.eye(K)[y]
        model.partial_fit(X, y, range(K), weight)
        literal, total = naive_folklore(K, p, 1.0, 0.7), 0.0
        for t in range(T):
            z = literal.logits(X[t], weight[t])
            total += literal.potential(X[t], z, weight[t])
            literal.update(X[t], z, Y[t], weight[t])
        assert model.certificate().regret(0.0) == pytest.approx(total, rel=1e-7)

    @pytest.mark.parametrize("weight", [2.0, 5.0, 20.0, 412.0])
    def test_bounds_the_regret_of_heavy_rounds(self, weight):
        X, _ = stream(2, 2, 60, seed=5)
        y = np.arange(60) % 7 == 0
        w = np.where(np.arange(60) % 3, weight, 0.1)
        model = plain(radius=1.0, decoder="sampled")
        rounds = model.begin(X, y.astype(int), classes=range(2))._replace(weight=w)
        lost = w @ model.play_and_learn(rounds, np.arange(60)).surrogate
        U = np.array([[0.3, -0.2], [-0.3, 0.2]])
        own = -(log_softmax(X @ U.T)[np.arange(60), y.astype(int)] * w).sum()
        assert lost - own <= model.certificate().regret(np.linalg.norm(U))


class TestUnits:
    def test_of_the_certificate_is_said_and_is_that_of_the_losses(self):
        """λ‖U‖² + ¼ tr(A⁻¹H) for one row, in nats, and divided by ln 2 in bits."""
        X, norm = np.ones((1, 1)), 0.5
        formula = 2.0 * norm**2 + 0.25 * (1 - 0.5) / 2.0  # λ = 2R/B, H = I/2 − 1/4
        for decoder, unit in {"sampled": "nats", "map": "bits", "nearest": "bits"}.items():
            model = plain(radius=1.0, feature_norm=1.0, decoder=decoder).partial_fit(
                X, [0], classes=[0, 1]
            )
            found = model.certificate()
            assert found.unit == unit and f"unit='{unit}'" in repr(found)
            scale = math.log(2.0) if unit == "bits" else 1.0
            assert found.regret(norm) * scale == pytest.approx(formula, rel=1e-12)
            mixed = plain(radius=(1.0, 2.0), feature_norm=1.0, decoder=decoder)
            mixed.partial_fit(X, [0], classes=[0, 1])
            assert mixed.certificate().unit == unit
            assert f"unit='{unit}'" in repr(mixed.certificate())


class TestMixture:
    def test_is_certified_by_the_best_part_whose_ball_is_large_enough(self):
        X, _ = stream(3, 5, 300, seed=3)
        y, grid = np.argmax(X[:, :3], axis=1), (0.25, 1.0, 4.0)
        alone, mixed = (
            [FolkloreClassifier(radius=B).partial_fit(X, y, [0, 1, 2]).certificate() for B in given]
            for given in (grid, [grid])
        )
        mixed = mixed[0]
        price = math.log(3) / math.log(2)
        for norm in (0.0, 0.2, 0.25, 0.9, 3.0):
            allowed = [c.regret(norm) for c in alone if norm <= c.radius]
            assert mixed.bound(1.0, norm) == pytest.approx(1.0 + price + min(allowed))
        with pytest.raises(GuaranteeError, match="radius = 4"):
            mixed.bound(0.0, 5.0)
        result = progressive_validate(FolkloreClassifier(radius=grid), X, y, play="randomized")
        assert result.target_loss.sum() <= result.regret_bound()

    @pytest.mark.parametrize("weight", [0.5, 1.0, 2.0, 5.0, 20.0, 412.0, "apart", "some zero"])
    def test_costs_ln_n_times_the_largest_weight(self, weight):
        """Labels that the mixture finds least likely, the best part told by its own losses."""
        w = {
            "apart": lambda t: 10.0 ** (t % 7 - 3),
            "some zero": lambda t: (0.0, 3.0, 20.0)[t % 3],
        }.get(weight, lambda t: weight)
        X, grid, lost, alone = np.ones((1, 1)), (0.01, 10.0), 0.0, np.zeros(2)
        given = {"alpha": None, "decoder": "sampled"}
        parts = [plain(radius=B, **given) for B in (grid, *grid)]
        for model in parts:
            model.partial_fit(X, [0], classes=[0, 1], sample_weight=[w(1)])
        for t in range(60):
            y = [int(parts[0].predict_proba(X)[0].argmin())]
            now = [
                model.play_and_learn(model.resume(X, y, [w(t)]), [0]).surrogate[0]
                for model in parts
            ]
            lost, alone = lost + w(t) * now[0], alone + w(t) * np.array(now[1:])
        first = w(1) * math.log(2.0)
        heaviest = max(1.0, *(w(t) for t in range(60)))
        price = math.log(2.0) * heaviest
        assert lost - alone.min() <= price + 1e-9 * heaviest
        found = [model.certificate() for model in parts]
        assert found[0].price == pytest.approx(price, rel=1e-15)
        best = min(c.regret(0.0) for c in found[1:])
        assert found[0].regret(0.0) == pytest.approx(price + best, rel=1e-12)
        if weight == 20.0:  # the program of the audit: 60 rounds against logits of 0
            assert lost + first - 61 * w(0) * math.log(2.0) <= found[0].regret(0.0)

    @pytest.mark.interpreted
    def test_is_the_literal_mixture_with_weights(self):
        X, _ = stream(3, 2, 40, seed=1)
        y, grid = np.argmax(X @ np.ones((2, 3)) + np.eye(3)[np.arange(40) % 3], axis=1), (0.1, 3.0)
        w = np.array([0.5, 0.0, 3.0, 1.0, 0.2, 7.0, 20.0, 0.0])[np.arange(40) % 8]
        given = {"decoder": "sampled", "standardize": False}
        logs = []
        for B in grid:
            model = FolkloreClassifier(radius=B, **given)
            rounds = model.begin(X, y)._replace(weight=w)
            model.learn_blocks(
                rounds, np.arange(40), lambda block, _: logs.append(log_softmax(block.theta))
            )
        logs = np.array(logs)
        mixed = FolkloreClassifier(radius=grid, **given)
        rounds = mixed.begin(X, y)._replace(weight=w)
        played = mixed.play_and_learn(rounds, np.arange(40)).surrogate
        wanted, after = naive.logistic.mixture(logs, y, w)
        np.testing.assert_allclose(played, wanted, atol=1e-12)
        alone = [
            FolkloreClassifier(radius=B, **given)
            .partial_fit(X, y, np.unique(y), w)
            .predict_proba(X)
            for B in grid
        ]
        np.testing.assert_allclose(
            mixed.predict_proba(X), np.tensordot(after, alone, 1), atol=1e-12
        )

    def test_a_copy_keeps_its_rate(self):
        X, y, w = np.ones((4, 2)), [0, 0, 1, 0], np.array([1.0, 9.0, 1.0, 1.0])
        model = plain(radius=(0.1, 10.0), alpha=0.1).partial_fit(X, y, [0, 1], w)
        rows = np.eye(2)
        logits = [state.logits(rows) for state in (model.model_.rounds, model.model_.rounds.copy())]
        np.testing.assert_array_equal(*logits)

    def test_of_one_is_that_one(self):
        X, _ = stream(3, 5, 50)
        y = np.argmax(X[:, :3], axis=1)
        one, list_of_one = (nats_of(FolkloreClassifier(radius=B), X, y, 3) for B in (2.0, [2.0]))
        np.testing.assert_array_equal(one, list_of_one)


class TestStructures:
    def test_auto_says_what_it_leaves_out(self, monkeypatch):
        X, y = np.random.RandomState(0).randn(20, 9), np.arange(20) % 3
        monkeypatch.setattr(FolkloreMatrix, "max_weights", 18)
        with pytest.warns(GuaranteeWarning, match="20 weights, more than 18: "):
            model = FolkloreClassifier().fit(X, y)
        assert model.model_.rounds.structure == "classes"
        before = pickle.dumps(model)
        monkeypatch.setattr(FolkloreMatrix, "max_weights", 4)
        with pytest.raises(ValueError, match=r"than 4: .* 300 entries.*structure='classes'"):
            model.fit(X, y)
        assert pickle.dumps(model) == before
        FolkloreClassifier(structure="classes").fit(X, y)


class TestInput:
    def test_a_long_row_of_weight_0_is_neither_learned_nor_refused(self):
        X, y, w = np.eye(4), np.arange(4) % 2, np.array([2.0, 0.0, 0.5, 1.0])
        X[1] *= 100.0
        given = {"feature_norm": 1.5}
        model = plain(**given).partial_fit(X, y, [0, 1], w)
        other = plain(**given).partial_fit(X[w > 0], y[w > 0], [0, 1], w[w > 0])
        rows = np.eye(4)
        np.testing.assert_allclose(
            model.predict_proba(rows), other.predict_proba(rows), rtol=0, atol=1e-14
        )
        X[2] *= 50.0
        with pytest.raises(ValueError, match="Row 2 of X has norm 50, "):
            plain(**given).partial_fit(X, y, [0, 1], w)

    def test_a_long_row_to_predict_is_named_by_its_place(self, monkeypatch):
        monkeypatch.setattr(
            "skstructured.estimators.logistic._base.SecondOrderModel.rows_per_block", 4
        )
        model = plain(feature_norm=1.5).partial_fit(np.eye(4), np.arange(4) % 2, [0, 1])
        X = np.tile(np.eye(4), (3, 1))
        X[9] *= 7.0
        with pytest.raises(ValueError, match="Row 9 of X has norm 7, .*above feature_norm=1.5"):
            model.predict_proba(X)
        X[9] /= 7.0
        assert model.predict_proba(X).shape == (12, 2)

    @pytest.mark.parametrize("standardize", [False, "moments"])
    def test_a_long_row_is_refused_before_any_is_learned(self, standardize):
        X, y = np.random.RandomState(0).randn(60, 2), np.arange(60) % 2
        model = FolkloreClassifier(feature_norm=6.0, standardize=standardize)
        model.partial_fit(X[:30], y[:30], classes=[0, 1])
        before = model.predict_proba(X)
        X[41] = 1000.0
        with pytest.raises(ValueError, match="Row 11 of X"):
            model.partial_fit(X[30:], y[30:])
        assert model.t_ == 30
        np.testing.assert_array_equal(
            model.predict_proba(np.delete(X, 41, 0)), np.delete(before, 41, 0)
        )

    def test_matrices_are_no_labels(self):
        X, y = np.eye(3), np.arange(3)
        model = FolkloreClassifier().fit(X, y)
        before = pickle.dumps(model)
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match="y"):
                learn(X, np.full((3, 3), 1 / 3))
        assert pickle.dumps(model) == before

    def test_aioli_wants_two_classes(self):
        with pytest.raises(
            ValueError, match="Only binary classification is supported by AioliClassifier, got 3"
        ):
            AioliClassifier().fit(np.eye(3), [0, 1, 2])

    def test_an_inverse_that_is_no_number_is_made_anew(self, monkeypatch):
        state, seen = FolkloreMatrix(2, 1, 0.5, 2.0), []
        monkeypatch.setattr(FolkloreMatrix, "drift", lambda self: math.nan)
        monkeypatch.setattr(FolkloreMatrix, "refactor", lambda self: seen.append(self.learned))
        X, Y = stream(2, 1, 1024)
        state.learn(X, Y, np.ones(1024))
        assert seen == [1024]

    def test_theory_needs_the_norm(self):
        with pytest.raises(ValueError, match="requires feature_norm"):
            OnlineNewtonClassifier(exp_concavity="theory").fit(np.eye(3), [0, 1, 2])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"radius": 0.0}, "radius must be a positive number, got 0.0"),
            ({"radius": []}, "radius must be a positive number or a non-empty"),
            ({"radius": (1.0, -1.0)}, "radius must be a positive number, got -1.0"),
            ({"feature_norm": -1.0}, "feature_norm must be a positive number, got -1.0"),
            ({"alpha": 0}, "alpha must be a positive number, got 0"),
            ({"structure": "diagonal"}, "structure must be one of 'auto', 'full', 'classes', got"),
            ({"structure": 0.5}, "structure must be one of .*, got 0.5"),
            ({"decoder": "dice"}, "dice"),
        ],
    )
    def test_bad_parameters_are_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            FolkloreClassifier(**given).fit(np.eye(4), np.arange(4) % 3)
