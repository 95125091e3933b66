"""No input makes a kernel read or write beyond its arrays, or run for ever."""

import math

import numpy as np
import pytest
from conftest import INTERPRETED
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from plain import bandit_gaptron, predictor, second_order
from scipy import sparse

from skstructured.extend.surrogate import run_gradient_rows
from skstructured.losses.gap import GapSurrogate
from skstructured.spaces import Birkhoff, Simplex
from skstructured.spaces._matching import (
    assign_rows,
    entropic_matching,
    matching_projection,
    matching_work,
)

LEARNERS = {
    "online": predictor(),
    "bandit": bandit_gaptron(radius=2.0, random_state=0),
    "second order": second_order(),
}


def replaced(kind, **changed):
    """A sparse matrix of three rows and four columns, some of its arrays replaced unchecked."""
    X = sparse.csr_array(np.eye(3, 4)).asformat(kind)
    for name, array in changed.items():
        setattr(X, name, np.asarray(array))
    return X


MONOTONE = "must (form|be) a non-decreasing sequence|less than the size of index and data"
MALFORMED = [
    ("csr", {"indptr": np.empty(0, np.int32)}, "index pointer size"),
    ("csr", {"indptr": np.array([0, 3], np.int32)}, "index pointer size"),
    ("csr", {"indptr": np.arange(9, dtype=np.int32) // 3}, "index pointer size"),
    ("csr", {"indptr": np.array([[0, 1, 2, 3]], np.int32)}, "should be 1-D|index pointer size"),
    ("csr", {"indptr": np.array([0, 3, 1, 3], np.int32)}, MONOTONE),
    ("csr", {"indptr": np.array([0, 3, 3, 4], np.int32)}, "less than the size of index and data"),
    ("csr", {"indices": np.array([[0], [1], [2]], np.int32)}, "should be 1-D"),
    ("csr", {"indices": np.array([0, 1], np.int32)}, "same size"),
    *(("csr", {"indices": [0, 1, i]}, "must be [<>]") for i in (5000, 4, -1)),
    *(("csr", {"indptr": wrong}, MONOTONE) for wrong in ([0, 1, 2, 9], [0, 2, 1, 3])),
    ("csr", {"data": np.ones((3, 1))}, "should be 1-D"),
    ("csr", {"data": np.ones(2)}, "same size"),
    ("csc", {"indptr": np.array([0, 3], np.int32)}, "index pointer size"),
    ("csc", {"indices": np.array([0, 1, 2**30], np.int32)}, "(index values|indices) must be < 3"),
    ("csc", {"indices": np.array([0, -9, 2], np.int32)}, "(index values|indices) must be >= 0"),
    ("coo", {"row": np.array([0, 1, 2**30], np.int32)}, "exceeds matrix dimension|index 2\\^30"),
    ("coo", {"col": np.array([0, -9, 2], np.int32)}, "negative"),
]


@pytest.mark.parametrize("learner", list(LEARNERS))
@pytest.mark.parametrize(("kind", "changed", "message"), MALFORMED)
def test_sparse_arrays_that_do_not_fit_are_refused(learner, kind, changed, message):
    model = LEARNERS[learner].fit(np.eye(3, 4), [0, 1, 0])
    before, X = model.coef_.copy(), replaced(kind, **changed)
    for call in (lambda: model.fit(X, [0, 1, 0]), lambda: model.partial_fit(X, [0, 1, 0])):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    np.testing.assert_array_equal(model.coef_, before)


ANY_NUMBER = st.one_of(st.floats(-3.0, 3.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e308]))


ANY_SCORES = st.integers(2, 5).flatmap(lambda m: arrays(float, (3, m * m), elements=ANY_NUMBER))


@given(ANY_SCORES)
def test_an_assignment_ends_and_is_a_permutation_whatever_the_numbers(theta):
    V, m = np.full_like(theta, np.nan), math.isqrt(theta.shape[1])
    assign_rows(theta, V, m)
    for axis in (1, 2):
        np.testing.assert_array_equal(V.reshape(3, m, m).sum(axis=axis), 1.0)


@pytest.mark.skipif(INTERPRETED, reason="Python raises where a kernel divides by zero")
@pytest.mark.parametrize("kernel", [entropic_matching, matching_projection])
@given(theta=ANY_SCORES)
def test_matchings_end_whatever_the_numbers(kernel, theta):
    work = np.zeros(matching_work(theta.shape[1]))
    mu, _ = run_gradient_rows(kernel, theta, np.zeros_like(theta), np.empty(0), work)
    assert mu.shape == theta.shape


def test_infinite_scores_of_matchings_are_the_largest_and_the_smallest(rng):
    space, theta = Birkhoff().fit([np.arange(4)]), rng.randn(6, 16)
    theta[:, 9], theta[:, 4] = np.inf, -np.inf
    finite = np.where(np.isinf(theta), np.sign(theta) * 1e3, theta)
    np.testing.assert_array_equal(space.argmax(theta), space.argmax(finite))
    assert (space.argmax(theta)[:, 9] == 1.0).all()


def test_an_assignment_of_nan_is_refused():
    space = Birkhoff().fit([np.arange(3)])
    for method in (space.argmax, space.nearest):
        with pytest.raises(ValueError, match="Row 1 of theta .* NaN"):
            method(np.r_[np.zeros((1, 9)), np.full((1, 9), np.nan)])
        with pytest.raises(ValueError, match=r"theta must have shape \(n, m²\), got \(1, 8\)"):
            method(np.zeros((1, 8)))


@pytest.mark.parametrize("kind", ["logistic", "hinge", "smooth_hinge"])
def test_surrogates_refuse_outputs_of_another_shape(kind):
    loss, theta = GapSurrogate(Simplex().fit([0, 1, 2]), kind), np.zeros((40, 3))
    for V in (np.eye(3)[:1], np.zeros((40, 2)), np.zeros((40, 4)), np.zeros(3)):
        for call in (loss.value, loss.value_and_gradient):
            with pytest.raises(ValueError, match=r"V must have the shape of theta, \(40, 3\), got"):
                call(theta, V)
    with pytest.raises(ValueError, match=r"theta must have shape \(n, K\), got \(3,\)"):
        loss.gaps(np.zeros(3))
