"""Kernels of label sequences against enumeration, at extremes, and as samplers."""

import itertools

import numpy as np
import pytest
from conftest import INTERPRETED
from hypothesis import given
from hypothesis import strategies as st
from naive import chains as naive
from selection import test_the_room_as_python  # noqa: F401

from skstructured import _chains
from skstructured._chains.forward_backward import chain_gap, exp_rows, scratch_size
from skstructured._chains.projection import FIRST_VERTICES

pytestmark = pytest.mark.interpreted

SIZES = [(1, 1), (4, 1), (1, 3), (2, 2), (3, 2), (12, 2), (2, 3), (5, 3), (7, 3), (4, 5), (2, 26)]
if INTERPRETED:
    SIZES = [(1, 1), (4, 1), (1, 3), (2, 2), (4, 2), (3, 3)]
#: Sizes of scores, and the agreement with enumeration that they leave.
SCALES = [(1.0, 1e-12), (30.0, 1e-12), (1e4, 1e-10), (0.0, 1e-12)]


def chain(rng, M, k, scale=1.0, shared=True, forbidden=0.0):
    """Scores of a chain, some steps forbidden."""
    unary, pair = rng.randn(M, k) * scale, rng.randn(1 if shared else M, k, k) * scale
    pair[rng.rand(*pair.shape) < forbidden] = -np.inf
    return unary, pair


def stacked(rng, lengths, k, shared=True, **options):
    """A batch, and its chains one by one."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    unary, pair = chain(rng, offsets[-1], k, shared=shared, **options)
    rows = [slice(a, b) for a, b in itertools.pairwise(offsets)]
    return (unary, offsets, pair), [(unary[r], pair if shared else pair[r]) for r in rows]


def one(unary, pair):
    return unary, np.array([0, len(unary)]), pair


@pytest.mark.parametrize("forbidden", [0.3, 0.0, 0.8])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("scale", "tolerance"), SCALES)
@pytest.mark.parametrize(("M", "k"), SIZES)
def test_enumeration(rng, M, k, scale, tolerance, shared, forbidden):
    """Marginals, best labels, lists, probabilities, gaps and draws."""
    unary, pair = chain(rng, M, k, scale, shared, forbidden)
    unary[rng.rand(M, k) < forbidden / 3] = -np.inf
    given, (found, scores) = one(unary, pair), naive.all_scores(unary, pair)
    possible, largest = scores > -np.inf, np.r_[-np.sort(-scores), np.full(7, -np.inf)][:7]
    mu, log_z, each = _chains.marginals(*given, "each")
    labels, best = _chains.viterbi(*given)
    several, sums, (n,) = _chains.nbest(*given, 7)
    assert n == min(7, possible.sum()) == len(set(map(tuple, several[:n])))
    np.testing.assert_allclose(sums[0], largest, rtol=1e-13, atol=1e-13)
    assert [_chains.score(*given, row)[0] for row in several[:n]] == sums[0, :n].tolist()
    assert np.all(several[n:] == -1)
    np.testing.assert_allclose(best, largest[:1], rtol=1e-13)
    if not possible.any():
        assert log_z == -np.inf and not mu.any() and not each.any()
        return
    assert best == _chains.score(*given, labels)
    if scale:
        np.testing.assert_array_equal(labels, found[np.argmax(scores)])
    wanted, steps, z = naive.marginals(unary, pair)
    np.testing.assert_allclose(mu, wanted, rtol=0, atol=tolerance)
    np.testing.assert_allclose(each[:-1], steps, rtol=0, atol=tolerance)
    np.testing.assert_allclose(log_z, [z], rtol=1e-12, atol=1e-12)
    assert not each[-1].any()
    assert not mu[~np.any(found[possible][:, :, None] == np.arange(k), axis=0)].any()
    total = _chains.marginals(*given, "sum")[2]
    np.testing.assert_allclose(total, each.sum(axis=0), rtol=0, atol=1e-12 * M)
    np.testing.assert_array_equal(_chains.marginals(*given)[0], mu)
    for i in rng.permutation(len(found))[:20]:
        p, (loss, gap, total) = scores[i] - z, gap_of(unary, pair, found[i])
        values = _chains.log_probability(*given, found[i])[0], -loss
        np.testing.assert_allclose(values, p, rtol=1e-12, atol=1e-11)
        if p > -np.inf:
            ones, ones_of_steps = naive.indicators(found[i], k)
            np.testing.assert_allclose(gap, wanted - ones, rtol=0, atol=tolerance)
            wanted_total = (steps - ones_of_steps).sum(axis=0)
            np.testing.assert_allclose(total, wanted_total, rtol=0, atol=M * tolerance)
    ends = np.zeros(M), np.full(M, np.nextafter(1.0, 0.0))
    drawn = _chains.sample_mean(mu, [0, M], each, np.vstack([rng.rand(20, M), ends]))
    assert all(_chains.score(*given, row) > -np.inf for row in drawn)


def gap_of(unary, pair, labels):
    M, k = unary.shape
    gap, total = np.empty((M, k)), np.full((k, k), np.nan)
    work = np.full(scratch_size(M, k), np.nan)
    return chain_gap(unary, pair, labels, gap, total, work), gap, total


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_gap_without_gradients_of_steps_is_the_same(rng, scale):
    """By rescaling and by logarithms."""
    (unary, pair), labels = chain(rng, 4, 3, scale), rng.randint(3, size=4)
    loss, wanted, _ = gap_of(unary, pair, labels)
    gap, work = np.empty((4, 3)), np.empty(scratch_size(4, 3))
    none = np.empty((0, 3))
    assert chain_gap(unary, pair, labels, gap, none, work) == loss
    np.testing.assert_array_equal(gap, wanted)


@pytest.mark.parametrize(
    ("low", "is_enough"), [(-3.0, True), (-230.0, True), (-231.0, False), (-np.inf, True)]
)
def test_exponentials_of_rows_and_matrices(low, is_enough):
    """Zeros of what is forbidden are no hindrance; what is below 1e-100 needs logarithms."""
    A, target = np.array([[9.0, 9.0], [1.0, 1.0 + low], [2.0, 0.0]]), np.empty((2, 2))
    total = exp_rows(A, 1, 2, target)
    assert total == 3.0 if is_enough else np.isnan(total)
    np.testing.assert_allclose(target, np.exp([[0.0, low], [0.0, -2.0]]), rtol=1e-14)
    A[1, 1] += 1.0
    top = exp_rows(A[1:].reshape(1, 4), 0, 1, target.reshape(1, 4))
    assert top == 2.0 if is_enough else np.isnan(top)
    np.testing.assert_allclose(target, np.exp([[-1.0, low], [0.0, -2.0]]), rtol=1e-14)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_batch_is_its_chains(rng, shared, scale):
    """Bits do not depend on how a batch is cut."""
    lengths = [1, 5, 2, 1, 9]
    whole, chains = stacked(rng, lengths, 4, shared, scale=scale)
    labels, best, total = rng.randint(4, size=18), _chains.viterbi(*whole), np.zeros((4, 4))
    mu, log_z, each = _chains.marginals(*whole, "each")
    nbest, n_scores, _ = _chains.nbest(*whole, 3)
    weight, probabilities = rng.rand(5), _chains.log_probability(*whole, labels)
    for i, (part, w) in enumerate(zip(chains, weight, strict=True)):
        r = slice(whole[1][i], whole[1][i + 1])
        rows, z, steps = _chains.marginals(*one(*part), "each")
        np.testing.assert_array_equal(rows, mu[r])
        np.testing.assert_array_equal(z, log_z[i : i + 1])
        np.testing.assert_array_equal(steps, each[r])
        np.testing.assert_array_equal(_chains.viterbi(*one(*part))[0], best[0][r])
        np.testing.assert_array_equal(_chains.nbest(*one(*part), 3)[0], nbest[:, r])
        np.testing.assert_array_equal(_chains.nbest(*one(*part), 3)[1][0], n_scores[i])
        p = _chains.log_probability(*one(*part), labels[r])
        np.testing.assert_array_equal(p, probabilities[i : i + 1])
        total += _chains.marginals(*one(*part), "sum", [w])[2]
    np.testing.assert_allclose(_chains.marginals(*whole, "sum", weight)[2], total, rtol=1e-12)


def test_the_first_impossible_chain_is_named(rng):
    pair = np.full((1, 2, 2), -np.inf)
    unary, offsets = rng.randn(4, 2), np.array([0, 1, 2, 4])
    log_z = _chains.marginals(unary, offsets, pair)[1]
    _chains.check_possible(log_z[:2])
    with pytest.raises(ValueError, match="Sequence 2 has no valid labeling"):
        _chains.check_possible(log_z)


def test_chains_that_never_meet():
    """Two blocks of labels: one leads by e^500 midway, and loses in the end."""
    M = 101
    unary, pair = np.zeros((M, 2)), np.where(np.eye(2) > 0, 0.0, -np.inf)[None]
    unary[:50, 0], unary[50:100, 1], unary[100, 1] = 10.0, 10.0, 1.0
    mu, log_z, total = _chains.marginals(*one(unary, pair), "sum")
    p = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(mu, np.tile([1 - p, p], (M, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(total, 100 * np.diag([1 - p, p]), rtol=1e-12)
    assert log_z == pytest.approx(500 + np.logaddexp(0, 1), rel=1e-14)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("scale", [1e4, 1e9])
@pytest.mark.parametrize("k", [2, 3, 8])
def test_large_scores(rng, scale, k, shared):
    unary, pair = chain(rng, 40, k, scale, shared)
    mu, log_z, each = _chains.marginals(*one(unary, pair), "each")
    labels, best = _chains.viterbi(*one(unary, pair))
    np.testing.assert_allclose(mu.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(each[:-1].sum(axis=2), mu[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(each[:-1].sum(axis=1), mu[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(log_z, best, rtol=1e-12)
    np.testing.assert_array_equal(labels, naive.viterbi(unary, pair))
    assert np.all(mu[np.arange(40), labels] > 1 - 1e-9)
    assert abs(_chains.log_probability(*one(unary, pair), labels)) < 1e-3


def test_equal_scores_of_any_size():
    for value in (0.0, 1e9, -1e9):
        unary, pair = np.full((5, 4), value), np.full((1, 4, 4), value)
        mu, log_z, total = _chains.marginals(*one(unary, pair), "sum")
        np.testing.assert_allclose(mu, 0.25, rtol=1e-14)
        np.testing.assert_allclose(total, 0.25, rtol=1e-14)
        np.testing.assert_allclose(log_z, 9 * value + 5 * np.log(4), rtol=1e-14)
        assert not _chains.viterbi(*one(unary, pair))[0].any()


def test_small_differences_at_large_scores():
    """Scores of 1e9 whose differences are of size one are seen in full."""
    rng = np.random.RandomState(3)
    small = np.round(rng.randn(5, 3) * 1024) / 1024
    pair = np.round(rng.randn(1, 3, 3) * 1024) / 1024
    expected, _, _ = naive.marginals(small, pair)
    mu = _chains.marginals(*one(small + 2.0**30, pair + 2.0**30))[0]
    np.testing.assert_allclose(mu, expected, rtol=0, atol=1e-12)


def test_a_small_range_below_the_scaled_one_agrees(rng):
    """On both sides of the fallback's threshold the two ways agree."""
    for scale in (40.0, 60.0, 80.0, 120.0):
        unary, pair = chain(rng, 30, 4, scale)
        shared = _chains.marginals(*one(unary, pair), "sum")
        each = _chains.marginals(*one(unary, np.repeat(pair, 30, axis=0)), "sum")
        for a, b in zip(shared, each, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("M", "k", "shared", "tolerance"),
    [
        (5, 40 if INTERPRETED else 500, True, 1e-12),
        pytest.param(300 if INTERPRETED else 20_000, 3, True, 1e-9, marks=pytest.mark.exhaustive),
        pytest.param(300 if INTERPRETED else 5_000, 3, False, 1e-9, marks=pytest.mark.exhaustive),
    ],
)
def test_long_chains_and_many_labels(rng, M, k, shared, tolerance):
    unary, pair = chain(rng, M, k, 1.0 if M == 5 else 2.0, shared)
    mu, log_z, total = _chains.marginals(*one(unary, pair), "sum")
    wanted, steps, z = naive.log_marginals(unary, pair)
    np.testing.assert_allclose(mu, wanted, rtol=0, atol=tolerance)
    np.testing.assert_allclose(total, steps, rtol=tolerance, atol=1e-12)
    np.testing.assert_allclose(log_z, z, rtol=1e-12)
    labels, best = _chains.viterbi(*one(unary, pair))
    np.testing.assert_array_equal(labels, naive.viterbi(unary, pair))
    assert best == _chains.score(*one(unary, pair), labels)


def test_equal_scores_in_lists(rng):
    """Integer scores, with many ties: all different, sorted, and none left out."""
    for _ in range(20):
        unary, pair = rng.randint(2, size=(4, 3)) * 1.0, rng.randint(2, size=(1, 3, 3)) * 1.0
        expected = -np.sort(-naive.all_scores(unary, pair)[1])[:30]
        labels, scores, found = _chains.nbest(*one(unary, pair), 30)
        np.testing.assert_array_equal(scores[0], expected)
        assert found == len(set(map(tuple, labels))) == 30


def test_draws_hit_probabilities_of_multiples():
    """All labels at a step have probabilities of eighths: a grid of uniforms is exact."""
    eighths = np.array([[1, 2, 5], [4, 4, 0], [6, 1, 1]]) / 8
    lengths, M = ([1, 1], 2) if INTERPRETED else ([3, 1], 4)
    with np.errstate(divide="ignore"):
        pair, unary = np.log(eighths[None]), np.zeros((M, 3))
    unary[0] = unary[-1] = np.log(np.array([3, 4, 1]) / 8)
    offsets = np.r_[0, np.cumsum(lengths)]
    mu, _, each = _chains.marginals(unary, offsets, pair, "each")
    axes = np.meshgrid(*[(np.arange(8) + 0.5) / 8] * M, indexing="ij")
    drawn = _chains.sample_mean(mu, offsets, each, np.stack(axes, axis=-1).reshape(-1, M))
    counts = (drawn[:, None] == naive.sequences(M, 3)).all(axis=2).sum(axis=0)
    parts = [np.exp(naive.all_scores(part, pair)[1]) for part in (unary[:-1], unary[-1:])]
    np.testing.assert_array_equal(counts, np.rint(np.outer(*parts).ravel() * 8**M))


def test_arrays_may_be_read_only_or_strided(rng):
    whole, _ = stacked(rng, [3, 4], 3)
    expected = _chains.marginals(*whole)[0]
    unary = np.asfortranarray(whole[0])
    unary.flags.writeable = whole[2].flags.writeable = False
    out = np.empty((7, 3))
    mu = _chains.marginals(unary, whole[1].astype(np.int32), whole[2], out=out)[0]
    assert mu is out and unary.flags.writeable is False
    np.testing.assert_array_equal(mu, expected)


def test_an_empty_batch():
    unary, pair = np.empty((0, 3)), np.zeros((1, 3, 3))
    mu, log_z, total = _chains.marginals(unary, [0], pair, "sum")
    assert mu.shape == (0, 3) and log_z.shape == (0,) and not total.any()
    assert [len(a) for a in _chains.viterbi(unary, [0], pair)] == [0, 0]


class TestSparseMap:
    @given(
        seed=st.integers(0, 10**6),
        M=st.integers(1, 5),
        k=st.integers(1, 4),
        scale=st.sampled_from([0.0, 0.1, 1.0, 3.0, 1e4, 1e9]),
        shared=st.booleans(),
        forbidden=st.sampled_from([0.0, 0.3]),
    )
    def test_the_gap_over_all_sequences(self, seed, M, k, scale, shared, forbidden):
        """No vertex is better in the direction θ − μ: that proves a projection."""
        unary, pair = chain(np.random.RandomState(seed), M, k, scale, shared, forbidden)
        if not naive.all_scores(unary, pair)[1].max() > -np.inf:
            with pytest.raises(ValueError, match="no valid labeling"):
                _chains.sparse_map(unary, pair)
            return
        found = _chains.sparse_map(unary, pair)
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-13) and found.weights.min() > 0
        mu, pairs = naive.mean(found.weights, found.labels, k)
        np.testing.assert_allclose(found.mu, mu, rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.pairs[:-1], pairs, rtol=0, atol=1e-14)
        steps = naive.each_pair(pair, M) - found.pairs[:-1]
        every, scores = naive.all_scores(unary - found.mu, np.concatenate([steps, pair[:1]]))
        mine = [scores[np.all(every == row, axis=1)][0] for row in found.labels]
        assert scores.max() - np.dot(found.weights, mine) <= 1e-12 * (1 + scale)

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("scale", [0.0, 0.01, 0.1])
    @pytest.mark.parametrize(("M", "k"), [(3, 15), (40, 10), (5, 26), (4, 40)])
    def test_means_of_many_sequences(self, rng, M, k, scale):
        """A few hundred sequences do not make them up."""
        if INTERPRETED:
            M, k = min(M, 12), min(k, 15)
        unary, pair = chain(rng, M, k, scale)
        found = _chains.sparse_map(unary, pair)
        assert (len(found.weights) >= FIRST_VERTICES or scale > 0.01) and found.weights.min() > 0
        rest = np.concatenate([pair - found.pairs[:-1], pair])
        best = _chains.score(
            *one(unary - found.mu, rest), _chains.viterbi(*one(unary - found.mu, rest))[0]
        )
        mine = np.sum((unary - found.mu) * found.mu) + np.sum(rest[:-1] * found.pairs[:-1])
        tolerance = 1e-12 * max(M, 10)  # of sums over M positions
        assert best[0] - mine <= tolerance and found.gap <= tolerance
        for m in range(M - 1):
            np.testing.assert_allclose(found.pairs[m].sum(axis=1), found.mu[m], rtol=0, atol=1e-14)

    def test_the_gap_holds_what_rounding_left_of_it(self):
        """Scores of 1e9: their differences have lost what was below 1e-7."""
        rng, worst = np.random.RandomState(3), 0.0
        for _ in range(40):
            unary, pair = chain(rng, 4, 3, 1.0)
            unary += 1e9
            found = _chains.sparse_map(unary, pair)
            exact = naive.exact_gap(unary, pair, found.labels, found.weights)
            worst = max(worst, exact)
            assert found.gap >= exact
        assert worst > 1e-9
