"""Parts of a round of any number of classes, and equations for logits."""

import math

import numpy as np
import pytest
from numba import config
from scipy.linalg import helmert
from scipy.special import softmax

from skstructured import FolkloreClassifier, GaussianAggregatingForecaster
from skstructured.estimators.logistic._rounds import (
    LogitsWork,
    _diagonal_step,
    _gradient_step,
    cells_of,
    cholesky,
    class_scores,
    gram_of,
    improper_logits,
    new_scratch,
    root_of_cells,
    woodbury,
)
from skstructured.estimators.logistic.folklore import ClassBlocks, FolkloreMatrix


def stream(K, p, T, seed=0, sharp=3.0):
    """Rows, distributions over the classes that rows tell of, and weights."""
    rng = np.random.RandomState(seed)
    X = rng.randn(T, p)
    Y = softmax(sharp * X @ rng.randn(p, K) + rng.gumbel(size=(T, K)), axis=1)
    return X, Y, rng.choice([0.0, 0.3, 1.0, 4.0], size=T)


def positive(rng, K, size):
    """A ⪰ 0 of about this size, of any rank."""
    root = rng.randn(K, rng.randint(1, K + 1))
    return size * root @ root.T / root.shape[1]


def solved(A, g):
    """z, its softmax as the kernel has it, and the residual that it tells."""
    z, s, work = np.empty(len(g)), np.empty(len(g)), np.empty((LogitsWork.N_ROWS, len(g)))
    return z, s, improper_logits(A, g, z, s, work)


class TestEquations:
    @pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 30.0, 1e4])
    def test_of_a_diagonal_are_those_of_the_matrix(self, size):
        rng = np.random.RandomState(1)
        for K in (2, 10, 40):
            diagonal, g = size * rng.rand(K), 3.0 * rng.randn(K)
            z = solved(diagonal, g)[0]
            unit = 1.0 + np.abs(g).max() + size
            np.testing.assert_allclose(z, g - diagonal * softmax(z), rtol=0, atol=1e-9 * unit)
            other = solved(np.diag(diagonal), g)[0]
            np.testing.assert_allclose(z, other, rtol=0, atol=1e-8 * unit)

    @pytest.mark.parametrize("cold", [1.0, 0.1])
    @pytest.mark.interpreted
    def test_newton_steps_are_those_of_elimination(self, cold):
        rng = np.random.RandomState(2)
        for K in (2, 10, 40):
            s, work = rng.dirichlet(np.ones(K)), np.zeros((LogitsWork.N_ROWS, K))
            hessian = np.diag(s) - np.outer(s, s)
            A, diagonal = positive(rng, K, 10.0), 10.0 * rng.rand(K)
            right = rng.randn(K)
            for matrix, given in ((A, A), (np.diag(diagonal), diagonal)):
                work[LogitsWork.RESIDUAL], work[LogitsWork.A_RESIDUAL] = right, matrix @ right
                if given is A:
                    _gradient_step(A, cold, s, 1e-12, work)
                else:
                    _diagonal_step(diagonal, cold, s, work)
                u = np.linalg.solve(np.eye(K) + cold * hessian @ matrix, right)
                # A direction that A knows nothing of moves no logit.
                np.testing.assert_allclose(
                    matrix @ work[LogitsWork.STEP], matrix @ u, rtol=0, atol=1e-8
                )

    def test_with_nan_come_to_an_end(self):
        g = np.zeros((3, 12))
        g[:2, 0] = math.nan, math.inf
        for A, bad in zip((np.eye(12), np.eye(12), np.full((12, 12), math.inf)), g, strict=True):
            with np.errstate(all="ignore"):
                assert not np.isfinite(solved(A, bad)[0]).all()


class TestRounds:
    @pytest.mark.parametrize(("K", "p"), [(2, 3), (3, 1), (11, 5), (26, 17)])
    @pytest.mark.interpreted
    def test_scores_are_those_of_any_basis(self, K, p):
        rng, r = np.random.RandomState(K), K - 1
        Q, x, G = helmert(K), rng.randn(p), rng.randn(r, p)
        root = rng.randn(r * p, r * p)
        whole = root @ root.T / (r * p)
        rows = [whole[i * p : (i + 1) * p, i * p :].ravel() for i in range(r)]
        space = new_scratch(r, K, p)
        class_scores(np.concatenate(rows), G, Q, x, 0.7, space)
        basis, each = np.kron(Q, np.eye(p)), np.kron(np.eye(K), x)
        inverse = basis.T @ whole @ basis  # over the weights of all classes
        expected = 0.35 * each @ inverse @ each.T
        np.testing.assert_allclose(space.A, expected, rtol=0, atol=1e-11)
        center = each @ basis.T @ whole @ G.ravel()
        np.testing.assert_allclose(
            space.score, 0.5 * expected.diagonal() - 0.5 * center, rtol=0, atol=1e-11
        )

    @pytest.mark.parametrize("K", [2, 3, 9])
    def test_of_few_classes_every_one_has_its_own_curvature(self, K):
        """Q (diag s − ssᵀ) Qᵀ, whatever the shares are: 0, tiny, or nearly 1."""
        for shares in ([1.0], [1.0, 1e-320], [0.93, 0.04, 0.03], np.geomspace(1.0, 1e-200, K)):
            s = np.zeros(K)
            s[: len(shares)] = shares[:K]
            s /= s.sum()
            Q, M, h = helmert(K), np.zeros((K - 1, K - 1)), np.zeros((K - 1, K - 1))
            cell, mass = np.zeros(K, dtype=np.int64), np.zeros(K)
            count = cells_of(s, cell, mass)
            root_of_cells(Q, s, cell, mass, count, M)
            gram_of(M, count - 1, h)
            np.testing.assert_allclose(h, Q @ (np.diag(s) - np.outer(s, s)) @ Q.T, atol=1e-15)

    def test_the_factor_of_a_downdate_is_that_of_woodbury(self):
        rng = np.random.RandomState(0)
        for rank in (1, 2, 4):
            space, root = new_scratch(4, 5, 1), rng.randn(4, 4)
            space.S[:], space.root[:, :rank] = root @ root.T, rng.randn(4, rank)
            woodbury(space, 0.7, rank)
            F, M = space.factor[:, :rank], space.root[:, :rank]
            middle = np.linalg.inv(np.eye(4) + 0.7 * M @ M.T @ space.S) @ (0.7 * M @ M.T)
            np.testing.assert_allclose(F @ F.T, middle, rtol=0, atol=1e-12)

    def test_a_root_of_a_singular_matrix_has_columns_of_zeros(self):
        h, M = np.ones((3, 3)), np.empty((3, 3))
        cholesky(h, M, 3)
        np.testing.assert_array_equal(M, [[1.0, 0.0, 0.0]] * 3)

    @pytest.mark.parametrize("p", [1, 3, 9])
    def test_keep_the_inverse_of_the_matrix(self, p):
        T = 40 if config.DISABLE_JIT else 2100
        X, Y, weight = stream(12, p, T)
        state = FolkloreMatrix(12, p, 0.5, 1.5)
        state.learn(X, Y, weight)
        assert state.refactored == 0
        assert state.drift() < 1e-11

    @pytest.mark.parametrize(
        ("kind", "K"),
        [
            (FolkloreClassifier, 10),
            *((GaussianAggregatingForecaster, K) for K in (2, 4)),
        ],
    )
    @pytest.mark.parametrize("size", [1, 7, 16, 100])
    def test_of_chunks_have_the_bits_of_one_pass(self, size, kind, K):
        T = 40 if config.DISABLE_JIT else 1100 if size > 16 else 150
        X, Y, weight = stream(K, 5, T)
        y, given = Y.argmax(axis=1), {"classes": range(K)}
        whole = kind(random_state=0).partial_fit(X, y, **given, sample_weight=weight)
        parts = kind(random_state=1)
        for start in range(0, T, size):
            now = slice(start, start + size)
            parts.partial_fit(X[now], y[now], **given, sample_weight=weight[now])
        for name in ("A", "P", "G", "numbers"):
            one, other = (getattr(model.model_.rounds, name) for model in (whole, parts))
            np.testing.assert_array_equal(one, other)
        new = X[:20] + 1.0
        assert (whole.predict_proba(new) == parts.predict_proba(new)).all()


def test_blocks_of_many_classes_solve_their_equations():
    """z = g − Ã softmax(z), Ã and g made of the P that was kept."""
    K, p, T = 60, 3, 30
    X, Y, _ = stream(K, p, T)
    state = ClassBlocks(K, p, 0.5, 1.5)
    state.learn(X, Y, np.ones(T))
    for x, z in zip(X, state.logits(X), strict=True):
        scores = 0.5 * np.array([x @ P @ x for P in state.P])
        linear = np.array([x @ P @ g for P, g in zip(state.P, state.G, strict=True)])
        expected = 0.5 * scores - 0.5 * linear - scores * softmax(z)
        np.testing.assert_allclose(z, expected, rtol=0, atol=1e-11)
