"""Kernels of all pairs, kept between passes, against the literal formulas."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from skstructured import Kernel, KernelStructuredPredictor
from skstructured.estimators.kernel._expansion import KeptKernels, support_for
from skstructured.estimators.kernel._values import SUPPORT_BLOCK, KernelFunction, KernelKind

NAMES = ("rbf", "multiscale", "linear", "poly", "sigmoid", "laplacian", "cosine", "arc-cosine")


def function_of(name, p, constant=0.0):
    kind = getattr(KernelKind, name.upper().replace("-", "_"))
    return KernelFunction(kind, np.array([0.7 / p, 0.5, 2.0, constant]))


def by_blocks(function, Z):
    """The matrix as streams compute it, a block at a time."""
    parts = [function.gram(Z[i : i + SUPPORT_BLOCK].T, Z) for i in range(0, len(Z), SUPPORT_BLOCK)]
    return np.concatenate(parts, axis=1)


def rows(n=301, p=5, seed=0):
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n, p))
    Z[7] = Z[3]  # the same row twice, and one that hardly differs
    Z[11] = Z[3] + 1e-9
    return Z


def kept(function, Z, cache=1e9):
    support = support_for(function, 1, Z.shape[1], np.float64)
    support.add(Z, np.arange(len(Z)))
    return KeptKernels(support, Z, cache)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("p", [1, 5, 70])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_blocks(name, p, constant):
    function = function_of(name, p, constant)
    Z = function.prepared(rows(p=p))
    kernels, wanted = kept(function, Z), by_blocks(function, Z)
    np.testing.assert_array_equal(kernels.support.kernels(Z), wanted)
    bound = 1e-7 * np.abs(wanted - kernels.middle).max()
    np.testing.assert_allclose(
        kernels.middle + kernels.matrix.astype(np.float64), wanted, rtol=0, atol=bound
    )


@pytest.mark.parametrize("many", [10, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("name", ["multiscale", "linear"])
class TestKept:
    def kept(self, monkeypatch, name, share, many):
        """Kernels with room for a share of the rows, and the literal ones."""
        monkeypatch.setattr(KeptKernels, "few_rows", many)
        monkeypatch.setattr(KeptKernels, "block_size", 1 << 14)
        function, Z = function_of(name, 5), rows()
        kernels = kept(function, Z, share * 4 * len(Z) ** 2 + 1)
        assert len(kernels.matrix) == int(share * len(Z))
        return kernels, by_blocks(function, Z)

    @pytest.mark.parametrize("dim", [1, 2, 5, 7, 12])
    def test_scores_are_sums_of_all_kernels(self, monkeypatch, name, share, many, dim):
        kernels, G = self.kept(monkeypatch, name, share, many)
        rng = np.random.RandomState(1)
        for size in (1.0, 1e60, 1e-60):
            coefs = size * rng.standard_normal((dim, len(G) + 19))
            which = rng.permutation(len(G))[:97]
            wanted = G[which] @ coefs[:, : len(G)].T
            bound = 2e-6 * abs(coefs).sum(axis=1).max()
            np.testing.assert_allclose(kernels.read(coefs, which), wanted, atol=bound, rtol=0)

    def test_kernels_with_other_rows_stand_behind_the_scores(self, monkeypatch, name, share, many):
        kernels, G = self.kept(monkeypatch, name, share, many)
        rng, dim = np.random.RandomState(2), 3
        order, coefs = rng.permutation(len(G))[:50], rng.standard_normal((dim, len(G)))
        found = kernels.read(coefs, order[13:50], order[:40])
        assert found.shape == (37, dim + 40)
        wanted = G[np.ix_(order[13:50], order[:40])]
        np.testing.assert_allclose(found[:, dim:], wanted, atol=1e-6)
        bound = 1e-5 * abs(coefs).sum(axis=1).max()
        np.testing.assert_allclose(found[:, :dim], G[order[13:50]] @ coefs.T, atol=bound)


def test_sums_go_on_behind_a_chunk():
    n, rng = 4096 + 77, np.random.RandomState(0)
    kernels = kept(function_of("linear", 2), rng.standard_normal((n, 2)), cache=4 * 6 * n)
    coefs = rng.standard_normal((7, n))
    wanted = (kernels.middle + kernels.matrix[[4, 1, 5, 0, 2]].astype(np.float64)) @ coefs.T
    found = kernels.read(coefs, np.array([4, 1, 5, 0, 2]))
    np.testing.assert_allclose(found, wanted, atol=1e-6 * abs(coefs).sum(axis=1).max())


def test_outputs_of_any_size_keep_their_digits():
    kernels, rng = kept(function_of("rbf", 5), rows()), np.random
    sizes = np.array([1e-100, 1e-3, 1.0, 1e60, 0.0])
    coefs = sizes[:, None] * rng.RandomState(2).uniform(0.5, 1.0, (5, 301))
    wanted = (kernels.middle + kernels.matrix[:8].astype(np.float64)) @ coefs.T
    np.testing.assert_allclose(kernels.read(coefs, np.arange(8)), wanted, rtol=1e-6)


@pytest.mark.parametrize("n", [300, 1300])
@pytest.mark.parametrize(("kernel", "parameters"), [("rbf", {}), ("poly", {"coef0": 30.0})])
def test_kernels_that_hardly_differ_keep_their_digits(kernel, parameters, n):
    """Scores of kernels that are kept are those of kernels in double precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = (X @ rng.standard_normal((4, 3)) * 3 + rng.gumbel(size=(n, 3))).argmax(axis=1)
    given = {"gamma": 1e-8, "standardize": False, "max_iter": 10, "shuffle": False}
    scores = []
    for size in (200, 0):
        own = Kernel(kernel, cache_size=size, **parameters)
        model = KernelStructuredPredictor(kernel=own, random_state=0, **given)
        theta = model.fit(X, y).embedding_scores(X)
        scores.append(theta - theta.mean(axis=1, keepdims=True))
    spread = scores[1].std(axis=0).max()
    assert np.abs(scores[0] - scores[1]).max() < 1e-3 * spread


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_kernels_too_large_for_single_precision_are_not_kept(name):
    assert len(kept(function_of(name, 5), 1e18 * rows()).matrix) == 0
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((90, 3)), rng.randint(0, 3, 90)
    given = {"standardize": False, "max_iter": 3, "gamma": 1.0, "random_state": 0}
    kernels = (Kernel(name, degree=1, cache_size=size) for size in (0, 200))
    one, other = (
        KernelStructuredPredictor(kernel=kernel, **given).fit(1e18 * X, y) for kernel in kernels
    )
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, rtol=1e-9)


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("optimizer", ["parameter_free", "pistol"])
def test_learners_are_those_that_keep_no_kernels(monkeypatch, optimizer, average):
    """With weights, rows of weight 0, and more than one block."""
    rng = np.random.RandomState(0)
    X = rng.randn(290, 3)
    y, weight = (X[:, 0] * X[:, 1] > 0).astype(int), rng.choice([0.0, 0.5, 3.0], 290)
    given = {"max_iter": 3, "random_state": 0, "optimizer": optimizer, "average": average}

    def scores(cache_size):
        model = KernelStructuredPredictor(kernel=Kernel(cache_size=cache_size), **given)
        return model.fit(X, y, sample_weight=weight).embedding_scores(X)

    wanted = scores(0)
    for many in (1000, 1):
        monkeypatch.setattr(KeptKernels, "few_rows", many)
        for megabytes in (200, 0.15):
            np.testing.assert_allclose(scores(megabytes), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kernel", ["precomputed", partial(rbf_kernel, gamma=0.4)])
def test_kernels_of_the_user_are_kept_as_well(kernel):
    X = np.random.RandomState(0).randn(150, 3)
    y, rows = (X[:, 0] * X[:, 1] > 0).astype(int), X
    given = {"standardize": False, "max_iter": 2, "random_state": 0}
    named = KernelStructuredPredictor(gamma=0.4, **given).fit(X, y).embedding_scores(X)
    if kernel == "precomputed":
        rows = rbf_kernel(X, gamma=0.4)
    for size in (200, 0):
        own = Kernel(kernel, cache_size=size)
        model = KernelStructuredPredictor(kernel=own, **given).fit(rows, y)
        np.testing.assert_allclose(model.embedding_scores(rows), named, rtol=1e-5, atol=1e-5)
