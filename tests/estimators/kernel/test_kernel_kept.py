"""Kernels of all pairs, kept between passes, against the literal formulas."""

import naive.kernels as literal
import numpy as np
import pytest

from skstructured import KernelStructuredPredictor
from skstructured._engine.compiled import EMPTY_INT32
from skstructured.estimators.kernel import _kept
from skstructured.estimators.kernel._block_kernels import block_move_and_score, long_move_and_score
from skstructured.estimators.kernel._kept import ByProducts, KeptKernels, Rounded, kept_kernels
from skstructured.estimators.kernel._kept_kernels import CHUNK
from skstructured.estimators.kernel._support import support_for
from skstructured.estimators.kernel._values import BLOCK, KINDS, KernelFunction

SHARES = ("rbf", "multiscale")
PRODUCTS = ("linear", "poly", "sigmoid", "cosine", "arc-cosine")


def function_of(name, p, constant=0.0):
    return KernelFunction(KINDS.index(name), np.array([0.7 / p, 0.5, 2.0, constant]))


def by_differences(function, Z):
    """The matrix as streams compute it, a block at a time."""
    parts = [function.gram(Z[i : i + BLOCK].T, Z) for i in range(0, len(Z), BLOCK)]
    return np.concatenate(parts, axis=1)


def rows(n=301, p=5, seed=0, offset=0.0):
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n, p)) + offset
    Z[7] = Z[3]  # the same row twice, and one that hardly differs
    Z[11] = Z[3] + 1e-9
    return Z


class TestValues:
    @pytest.mark.parametrize("constant", [0.0, 1.0])
    @pytest.mark.parametrize("p", [1, 5, 70])
    @pytest.mark.parametrize("name", [*SHARES, *PRODUCTS])
    def test_are_those_by_differences(self, name, p, constant):
        function = function_of(name, p, constant)
        Z = function.prepared(rows(p=p))
        values = ByProducts(function, Z)
        assert values.is_exact
        wanted, every = by_differences(function, Z), slice(0, len(Z))
        np.testing.assert_allclose(values.tile(every, every), wanted, rtol=1e-9, atol=1e-10)

    @pytest.mark.parametrize("name", SHARES)
    def test_offsets_lose_no_digits(self, name):
        function, Z = function_of(name, 5), rows(offset=1e6)
        values, every = ByProducts(function, Z), slice(0, len(Z))
        wanted = by_differences(function, Z)
        np.testing.assert_allclose(values.tile(every, every), wanted, atol=1e-9)

    @pytest.mark.parametrize("name", SHARES)
    def test_rows_far_out_are_left_to_differences(self, name):
        function, Z = function_of(name, 5), rows()
        Z[0] = 1e7
        assert not ByProducts(function, Z).is_exact
        assert not ByProducts(function_of("laplacian", 5), rows()).is_exact


@pytest.mark.parametrize("many", [10, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("name", ["multiscale", "linear"])
class TestKept:
    def kept(self, monkeypatch, name, share, many):
        """A matrix with room for a share of the rows, the literal one, and its error."""
        monkeypatch.setattr(_kept, "MANY", many)
        function, Z = function_of(name, 5), rows()
        size = 2 if many < len(Z) and name in SHARES else 4
        kernels = KeptKernels.of(ByProducts(function, Z), share * size * len(Z) ** 2 + 1)
        assert len(kernels.matrix) == int(share * len(Z))
        assert kernels.matrix.itemsize == size
        return kernels, by_differences(function, Z), 0.51 / 65535 if size == 2 else 2e-6

    @pytest.mark.parametrize("dim", [1, 2, 5, 7, 12])
    def test_scores_are_sums_of_all_kernels(self, monkeypatch, name, share, many, dim):
        kernels, G, error = self.kept(monkeypatch, name, share, many)
        rng = np.random.RandomState(1)
        for size in (1.0, 1e60, 1e-60):
            coefs = size * rng.standard_normal((dim, len(G) + 19))
            which = rng.permutation(len(G))[:97]
            wanted = G[which] @ coefs[:, : len(G)].T
            bound = error * abs(coefs).sum(axis=1).max()
            np.testing.assert_allclose(kernels.scores(coefs, which), wanted, atol=bound, rtol=0)

    def test_rows_of_a_block_have_those_before_them(self, monkeypatch, name, share, many):
        kernels, G, error = self.kept(monkeypatch, name, share, many)
        rng, dim = np.random.RandomState(2), 3
        order, coefs = rng.permutation(len(G))[:50], rng.standard_normal((dim, len(G)))
        rounded, data = Rounded(coefs, len(G)), np.zeros((60, dim + 60))
        for start, stop in ((0, 13), (13, 14), (14, 50)):
            kernels.read(coefs, rounded, order[start:stop], order[:stop], start, data)
        below, found = np.tril_indices(50), data[:50, dim : dim + 50]
        np.testing.assert_allclose(found[below], G[np.ix_(order, order)][below], atol=error)
        bound = 5 * error * abs(coefs).sum(axis=1).max()
        np.testing.assert_allclose(data[:50, :dim], G[order] @ coefs.T, atol=bound)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
def test_sums_go_on_behind_a_chunk(dtype):
    n, rng = CHUNK + 77, np.random.RandomState(0)
    matrix = (rng.uniform(0.0, 1.0, (6, n)) * (65535 if dtype == np.uint16 else 1)).astype(dtype)
    kernels, coefs = KeptKernels(matrix), rng.standard_normal((7, n))
    wanted = matrix[[4, 1, 5, 0, 2]] / kernels.unit @ coefs.T
    found = kernels.scores(coefs, np.array([4, 1, 5, 0, 2]))
    np.testing.assert_allclose(found, wanted, atol=1e-6 * abs(coefs).sum(axis=1).max())


@pytest.mark.parametrize("ahead", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_long_blocks_are_scored_as_short_ones(dim, ahead):
    rng, width = np.random.RandomState(0), dim + 12
    data, move = rng.standard_normal(12 * width), rng.standard_normal(2 * dim)
    Theta = rng.standard_normal((width, 2 * dim))
    Theta[:dim, :dim], found = 3.0 * np.eye(dim), []
    for move_and_score in (block_move_and_score, long_move_and_score):
        moved, raw, none = Theta.copy(), np.empty(dim), np.empty(0)
        given = (data, EMPTY_INT32, EMPTY_INT32, width, max(ahead - 1, 0), ahead, moved, none)
        found.append((move_and_score(*given, move, 0.7, 1.0, raw), raw, moved))
    x, row = data[ahead * width :][:width], dim + max(ahead - 1, 0)
    Theta[row] += 0.7 * move
    wanted = 3.0 * x[:dim] + x[dim : dim + ahead] @ Theta[dim : dim + ahead, :dim]
    for square, raw, moved in found:
        assert square == x[dim + ahead]
        np.testing.assert_allclose(raw, wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moved, Theta, rtol=1e-12)


def test_coefficients_that_outgrow_their_room_are_told():
    coefs = np.array([[1.0, -2.0, 0.5]])
    rounded, index = Rounded(coefs, 3), np.array([2, 0, 2])
    assert rounded.add(np.array([[3.0], [1.0], [1.0]]), index, coefs)
    np.testing.assert_array_equal(coefs, [[2.0, -2.0, 4.5]])  # a row may come twice in a block
    np.testing.assert_allclose(rounded.size * rounded.small[:1], coefs, rtol=1e-6)
    assert not rounded.add(np.array([[1e35]]), index[:1], coefs)
    nothing = np.zeros((2, 3))  # what comes first may be of any size
    rounded = Rounded(nothing, 3)
    assert rounded.add(np.zeros((1, 2)), index[:1], nothing)
    assert not rounded.add(np.array([[0.0, 1e-60]]), index[:1], nothing)


def test_outputs_of_any_size_keep_their_digits():
    kernels, rng = KeptKernels.of(ByProducts(function_of("rbf", 5), rows()), 1e9), np.random
    sizes = np.array([1e-200, 1e-3, 1.0, 1e60, 0.0])
    coefs = sizes[:, None] * rng.RandomState(2).uniform(0.5, 1.0, (5, 301))
    wanted = kernels.matrix[:8].astype(np.float64) @ coefs.T
    np.testing.assert_allclose(kernels.scores(coefs, np.arange(8)), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_kernels_too_large_for_single_precision_are_not_kept(name):
    values = ByProducts(function_of(name, 5), 1e18 * rows())
    assert len(KeptKernels.of(values, 1e9).matrix) == 0
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((90, 3)), rng.randint(0, 3, 90)
    given = {"kernel": name, "standardize": False, "max_iter": 3, "gamma": 1.0, "degree": 1}
    one, other = (
        KernelStructuredPredictor(cache_size=size, random_state=0, **given).fit(1e18 * X, y)
        for size in (0, 200)
    )
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("optimizer", ["parameter_free", "pistol"])
def test_learners_are_those_that_keep_no_kernels(monkeypatch, optimizer, average):
    """With weights, rows of weight 0, more than one block, and in 16 bits."""
    rng = np.random.RandomState(0)
    X = rng.randn(290, 3)
    y, weight = (X[:, 0] * X[:, 1] > 0).astype(int), rng.choice([0.0, 0.5, 3.0], 290)
    given = {"max_iter": 3, "random_state": 0, "optimizer": optimizer, "average": average}

    def scores(cache_size):
        model = KernelStructuredPredictor(cache_size=cache_size, **given)
        return model.fit(X, y, sample_weight=weight).embedding_scores(X)

    with monkeypatch.context() as patch:
        patch.setattr(KernelFunction, "is_share", False)
        patch.setattr(ByProducts, "is_exact", False)
        wanted = scores(0)  # by differences, in every pass
    monkeypatch.setattr(_kept, "MANY", 1000)
    for megabytes, atol in ((200, 1e-4), (0.15, 1e-4), (0, 1e-7)):
        np.testing.assert_allclose(scores(megabytes), wanted, rtol=1e-5, atol=atol)
    monkeypatch.setattr(_kept, "MANY", 1)
    np.testing.assert_allclose(scores(200), wanted, rtol=1e-2, atol=1e-2)


def test_memory_stays_below_the_cache(monkeypatch):
    Z = rows(n=600)
    for room in (0, 1e5, 3e5, 1e7):
        kernels = KeptKernels.of(ByProducts(function_of("rbf", 5), Z), room)
        assert kernels.matrix.nbytes <= min(room, 4 * 600**2)
        support = support_for(function_of("rbf", 5), 1, 5, np.float64)
        support.add(Z, np.arange(len(Z)))
        assert kept_kernels(support, Z, room).matrix.nbytes == kernels.matrix.nbytes


def test_the_literal_kernel_is_the_same_formula():
    Z = rows(n=40)
    values, every = ByProducts(function_of("rbf", 5), Z), slice(0, 40)
    np.testing.assert_allclose(
        values.tile(every, every), literal.gram(literal.rbf(0.7 / 5), Z, Z), atol=1e-12
    )
