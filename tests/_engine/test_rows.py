"""Row primitives and the sum of the weights played, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from skstructured._engine.experts import fold_expert
from skstructured._engine.move_and_score import (
    LARGEST_KNOWN_DIM,
    add_dense,
    aligned,
    aligned_zeros,
    move_and_score_kernel,
)
from skstructured._engine.rows import Rows
from skstructured._engine.simd import add_row
from skstructured._engine.state import RESCALE, SCALED_WEIGHT_SUM, new_state

#: Every remainder of whole vectors, and lengths on both sides of those compiled for.
DIMS = [1, 2, 3, 4, 5, 7, 10, LARGEST_KNOWN_DIM, LARGEST_KNOWN_DIM + 1, 43]


@pytest.mark.parametrize("length", DIMS)
@pytest.mark.parametrize("factors", [(2.0,), (0.5, -1.0, 3.0, 0.0)])
def test_add_row_touches_its_entries_alone(length, factors, rng):
    source, target = rng.randn(200), rng.randn(60)
    starts = (3, 100, 41, 60)[: len(factors)]
    expected = target.copy()
    for x, start in zip(factors, starts, strict=True):
        expected[9 : 9 + length] += x * source[start : start + length]
    add_row(target, 9, factors, source, starts, length)
    np.testing.assert_allclose(target, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(target[9 + length :], expected[9 + length :])


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("intercept", [0, 1])
@pytest.mark.parametrize("dim", DIMS)
def test_advance_moves_by_one_row_and_scores_the_next(dim, intercept, average, storage, rng):
    p, width = 13, 13 + intercept
    X = rng.randn(6, p) * (rng.rand(6, p) < [[0.9], [0.3], [0.0], [1.0], [0.5], [0.7]])
    rows = Rows.from_array(sparse.csr_array(X) if storage == "csr" else X)
    together = average and rows.is_sparse
    W, move = rng.randn(dim + dim * average, width), rng.randn(dim + dim * together)
    Theta = aligned(W.T if rows.is_sparse else W)
    kernel, raw = move_and_score_kernel(dim, rows.is_sparse, average), np.empty(dim)
    ones = np.ones((6, intercept))
    for row, ahead in [(0, 1), (1, 2), (2, 3), (3, 3), (5, 0)]:
        x, z = np.hstack([X, ones])[[row, ahead]]
        W[: len(move)] += 0.3 * np.outer(move, x)
        arrays = (rows.data, rows.indices, rows.indptr, p, row, ahead, Theta, np.empty(0))
        norm = kernel(*arrays, move, 0.3, 1.0, raw)
        np.testing.assert_allclose(Theta.T if rows.is_sparse else Theta, W, atol=1e-13)
        np.testing.assert_allclose(raw, W[:dim] @ z, atol=1e-12)
        assert norm == pytest.approx(z @ z)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("intercept", [0, 1])
def test_waiting_terms_are_added(n, intercept, rng):
    X, terms, A = rng.randn(9, 5), rng.randn(11, 3), rng.randn(3, 5 + intercept)
    rows = rng.randint(9, size=n)
    expected = A + terms[:n].T @ np.hstack([X, np.ones((9, intercept))])[rows]
    add_dense(X.ravel(), 5, rows, terms, A)
    np.testing.assert_allclose(A, expected, atol=1e-14)


@pytest.mark.parametrize("dense", [True, False])
def test_a_fold_keeps_the_sum_and_scales_the_weights(dense, rng):
    W, A = rng.randn(3, 4), rng.randn(3, 4)
    both = np.vstack([W, A])
    for average in (True, False):
        stored = both if average else W
        Theta = np.array(stored if dense else stored.T, order="C")
        vector = new_state(0)
        vector[RESCALE], vector[SCALED_WEIGHT_SUM] = 0.25, 8.0
        fold_expert(Theta, 3, dense, average, 0, 1, vector)
        assert vector[RESCALE] == 1.0 and vector[SCALED_WEIGHT_SUM] == 0.0
        after = Theta if dense else Theta.T
        np.testing.assert_allclose(after[:3], W / 4)
        if average:
            np.testing.assert_allclose(after[3:], A + 8.0 * W)


def test_aligned_copies_only_what_is_not(rng):
    array = aligned_zeros((5, 3))
    assert array.shape == (5, 3) and not array.any() and array.ctypes.data % 64 == 0
    assert aligned(array) is array
    for other in (rng.randn(3, 5).T, array.reshape(-1)[1:13].reshape(4, 3)):
        copy = aligned(other)
        assert copy.flags.c_contiguous and copy.ctypes.data % 64 == 0
        np.testing.assert_array_equal(copy, other)
