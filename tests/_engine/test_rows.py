"""Row primitives against NumPy, numbers that long streams keep, and the exp of the kernels."""

import platform
from decimal import Decimal, localcontext

import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

import skstructured as sk
from skstructured import OnlineStructuredPredictor
from skstructured._engine.compiled import kernel
from skstructured._engine.move_and_score import (
    LARGEST_KNOWN_DIM,
    move_and_score_kernel,
)
from skstructured._engine.rows import Rows
from skstructured._engine.simd import exp_of
from skstructured._engine.state import RENEWAL_ROUNDS, LoopState, aligned, aligned_zeros
from skstructured._learners.models import LinearModel
from skstructured._learners.predictions import played_alone

#: Every remainder of whole vectors, and lengths on both sides of those compiled for.
DIMS = [1, 2, 3, 4, 5, 7, 10, LARGEST_KNOWN_DIM, LARGEST_KNOWN_DIM + 1, 43]


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


@pytest.mark.skipif(INTERPRETED, reason="there is no quick way without compiled kernels")
def test_one_row_is_played_by_itself_if_its_norm_is_in_range(rng):
    X, y = rng.randn(30, 3), np.arange(30) % 3
    model = OnlineStructuredPredictor(standardize=False).partial_fit(X, y, classes=range(3))
    for size, is_in_range in ((0.0, True), (1e-101, False), (1e-99, True), (1e101, False)):
        assert (played_alone(model, size * np.eye(3)[:1]) is not None) == is_in_range


def test_aligned_copies_only_what_is_not(rng):
    array = aligned_zeros((5, 3))
    assert array.shape == (5, 3) and not array.any() and array.ctypes.data % 64 == 0
    assert aligned(array) is array
    for other in (rng.randn(3, 5).T, array.reshape(-1)[1:13].reshape(4, 3)):
        copy = aligned(other)
        assert copy.flags.c_contiguous and copy.ctypes.data % 64 == 0
        np.testing.assert_array_equal(copy, other)


OPTIMIZERS = [
    sk.optimizers.ParameterFree(),
    sk.optimizers.AdaptiveGradientDescent(radius=0.5),
    sk.optimizers.GradientDescent(radius=1.0),
    sk.optimizers.PiSTOL(),
]
MODELS = [
    sk.OnlineStructuredPredictor(optimizer=optimizer, standardize=False) for optimizer in OPTIMIZERS
]
MODELS.append(sk.BanditGaptronClassifier(radius=1.0, standardize=False, random_state=0))
KINDS = [*(type(optimizer).__name__ for optimizer in OPTIMIZERS), "bandit"]


def late_norm(model, rounds, make=np.asarray):
    """A learner after 60 rows, with rows to come, whose ‖Θ‖² is off and renewed after `rounds`."""
    X = np.random.RandomState(0).randn(160, 3) + 1.0
    y = np.repeat([0, 1], 80)
    model = clone(model).partial_fit(make(X[:60]), y[:60], classes=[0, 1])
    vector = model.model_.state.vector
    vector[int(vector[LoopState.NORM_AT])] *= 1.5
    vector[LoopState.RENEWED] = RENEWAL_ROUNDS - rounds
    return model, make(X[60:]), y[60:]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_the_norm_is_that_of_the_weights(model, make):
    model, X, y = late_norm(model, 100, make)
    state = model.partial_fit(X, y).model_.state
    assert state.vector[LoopState.RENEWED] == 0.0
    kept = state.vector[int(state.vector[LoopState.NORM_AT])]
    Theta, _ = state.parts()
    assert kept == pytest.approx(np.vdot(Theta, Theta), rel=1e-15)


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_it_is_renewed_at_the_same_round_whatever_the_chunks(model):
    (whole, X, y), (chunked, *_) = late_norm(model, 57), late_norm(model, 57)
    whole.partial_fit(X, y)
    for start in range(0, len(X), 23):
        chunked.partial_fit(X[start : start + 23], y[start : start + 23])
    np.testing.assert_array_equal(whole.model_.state.vector, chunked.model_.state.vector)
    np.testing.assert_array_equal(whole.coef_, chunked.coef_)


@kernel(fastmath={"contract"}, cached=False)
def exp_into(exponents, values):
    for i in range(exponents.shape[0]):
        values[i] = exp_of(exponents[i])


def exp(exponents):
    values = np.empty(len(exponents))
    exp_into(np.ascontiguousarray(exponents, dtype=np.float64), values)
    return values


def largest_error(exponents):
    """Relative, of the exact exponential."""
    with localcontext(prec=60):
        pairs = zip(exp(exponents), exponents, strict=True)
        return max(abs(Decimal(v) / Decimal(float(e)).exp() - 1) for v, e in pairs)


def test_errors_in_the_range_that_is_needed(rng):
    n = 300 if INTERPRETED else 2000
    ties = (np.arange(866) + 0.5) * np.log(2.0) / 2.0  # where n, and the sign of r, change
    for exponents in (
        rng.uniform(0.0, 300.0, n),
        rng.uniform(-700.0, 700.0, n),
        rng.uniform(0.0, 1.0, n),
        10.0 ** rng.uniform(-308, 2.4, n),
        ties,
        np.nextafter(ties, 0.0),
        np.nextafter(ties, 400.0),
        [0.0, 5e-324, 1e-300, np.nextafter(300.0, 0.0), 300.0],
    ):
        assert largest_error(exponents) < 5e-16  # 1e-14 is what weights need


def test_numbers_alone_and_in_vectors_have_the_same_bits(rng):
    exponents = rng.uniform(0.0, 300.0, 67)
    alone = [exp(exponents[i : i + 1])[0] for i in range(67)]
    np.testing.assert_array_equal(exp(exponents), alone)
    np.testing.assert_allclose(exp(exponents), np.exp(exponents), rtol=5e-16)
    assert exp([0.0, -0.0]).tolist() == [1.0, 1.0] and np.isnan(exp([np.nan])).all()


@pytest.mark.skipif(INTERPRETED, reason="compiled only")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
def test_the_loop_is_made_of_vectors():
    exp_into.dispatcher(np.ones(3), np.empty(3))
    (assembly,) = exp_into.dispatcher.inspect_asm().values()
    assert "mulpd" in assembly or "fmadd" in assembly
    assert "psllq" in assembly  # powers of two, several at a time


def after_two_calls(X, y, weight, optimizer, average):
    model = OnlineStructuredPredictor(optimizer=optimizer, average=average, random_state=0)
    model.partial_fit(X[:30], y[:30], classes=range(4))
    model.partial_fit(X[30:], y[30:], sample_weight=weight[30:])
    averages = [model.average_weights_] if average else []
    return [model.last_weights_, *averages, model.model_.state.vector]


@pytest.mark.parametrize("average", [False, "uniform", "polynomial"])
@pytest.mark.parametrize("optimizer", ["ogd", "parameter_free", "pistol", AdaGrad()], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rows_of_one_optimizer(storage, optimizer, average, monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(120, 5) * (rng.rand(120, 5) < 0.6), rng.randint(4, size=120)
    given = storage(X), y, rng.choice([0.0, 0.5, 1.0, 3.0], size=120), optimizer, average
    fast = after_two_calls(*given)
    monkeypatch.setattr(LinearModel, "_mixed", True)
    for one, other in zip(fast, after_two_calls(*given), strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-13)
