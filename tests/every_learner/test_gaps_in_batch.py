"""Gaps of dense rows in learners that see all rows beforehand: means of the rows that have them."""

import numpy as np
import pytest
from odd_rows import rows_with_gaps
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import skstructured as sk

N = 40

LEARNERS = {
    "field": sk.ConditionalRandomField("simplex"),
    "field, rbf": sk.ConditionalRandomField("simplex", kernel="rbf", alpha=0.1, random_state=0),
    "network": sk.MaxMinMarginNetwork(alpha=0.1, random_state=0),
    "network, rbf": sk.MaxMinMarginNetwork(kernel="rbf", alpha=0.1, random_state=0),
    "svm": sk.StructuralSVM(alpha=0.1, random_state=0),
    "svm, path": sk.StructuralSVM(alpha="path", random_state=0),
    "quadratic": sk.QuadraticSurrogate(),
    "quadratic, no intercept": sk.QuadraticSurrogate(fit_intercept=False),
}

SEQUENTIAL = {
    "field": sk.ConditionalRandomField(alpha=0.1),
    "field, features": sk.ConditionalRandomField(alpha=0.1, transitions="features"),
    "network": sk.MaxMinMarginNetwork("sequence", alpha=0.1, random_state=0),
    "quadratic": sk.QuadraticSurrogate("sequence"),
}


def weighted_means(X, weight):
    """Weighted means of what is there, 0 of nothing."""
    there = np.ma.masked_invalid(np.asarray(X, dtype=np.float64))
    return np.ma.average(there, axis=0, weights=weight).filled(0.0)


def coefficients(model):
    return model.coef_ if hasattr(model, "coef_") else model.dual_coef_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LEARNERS)
def test_they_learn_the_completed_rows(name, dtype, rng):
    """Bit for bit, with weights of 0 too; and predict the completed ones, by the same means."""
    X, y = rows_with_gaps(rng, N, dtype)
    weight = rng.choice([0.0, 0.5, 2.5], N)
    model = clone(LEARNERS[name]).fit(X, y, sample_weight=weight)
    means = weighted_means(X, weight)
    np.testing.assert_allclose(model._means, means, rtol=1e-12, atol=1e-15)
    assert means[3] == 0.0 and means[:3].all()
    filled = np.where(np.isnan(X), model._means, X)
    plain = clone(model).fit(filled, y, sample_weight=weight)
    np.testing.assert_array_equal(coefficients(model), coefficients(plain))
    assert model.alpha_ == plain.alpha_ and coefficients(model).any()
    new = np.array([[np.nan, 20.0, np.nan, 1.0], [np.nan] * 4, [0.5, 80.0, 3.0, np.nan]])
    done = np.where(np.isnan(new), model._means, new)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(done))


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_label_sequences_are_completed_by_positions(name, rng):
    lengths = rng.randint(1, 6, size=15)
    X = [rng.randn(m, 3) + 2.0 for m in lengths]
    y = [np.argmax(x, axis=1) for x in X]
    X = [np.where(rng.rand(*x.shape) < 0.3, np.nan, x) for x in X]
    weight = rng.choice([0.0, 0.5, 2.5], 15)
    model = clone(SEQUENTIAL[name]).fit(X, y, sample_weight=weight)
    means = weighted_means(np.vstack(X), np.repeat(weight, lengths))
    np.testing.assert_allclose(model._means, means, rtol=1e-12)
    filled = [np.where(np.isnan(x), model._means, x) for x in X]
    plain = clone(model).fit(filled, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.transitions_, plain.transitions_)
    ours, theirs = model.decision_function(X), plain.decision_function(filled)
    np.testing.assert_array_equal(np.vstack(ours), np.vstack(theirs))
    X[7][0, 2] = np.inf
    with pytest.raises(ValueError, match="sequence 7 of X, position 0"):
        model.predict(X)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_refused(name, rng):
    X, y = rows_with_gaps(rng, N)
    model = clone(LEARNERS[name]).fit(X, y)
    assert get_tags(model).input_tags.allow_nan
    before = model.decision_function(X)
    for given, spoil, message in (
        ({"missing": "error"}, np.nan, "NaN"),
        ({"standardize": False}, np.nan, "NaN"),
        ({}, np.inf, "infinity"),
        ({"missing": "indicator"}, 0.0, "missing must be one of 'mean', 'error', got 'indicator'"),
    ):
        twin = clone(model).set_params(**given)
        bad = np.nan_to_num(X)
        bad[5, 2] = spoil
        with pytest.raises(ValueError, match=message):
            twin.fit(bad, y)
        if "indicator" not in given.values():
            with pytest.raises(ValueError, match=message):
                model.set_params(**given).predict(bad)
            assert get_tags(twin).input_tags.allow_nan == (not given)
        model.set_params(missing="mean", standardize=True)
    model.set_params(missing="indicator")
    with pytest.raises(ValueError, match="missing must be one of"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.set_params(missing="mean").decision_function(X), before)


@pytest.mark.exhaustive
def test_a_matrix_of_kernels_has_none(rng):
    X, y = rows_with_gaps(rng, N)
    Z = np.nan_to_num(X) / [1.0, 100.0, 3.0, 1.0]
    K = Z @ Z.T
    for kind in (sk.MaxMinMarginNetwork, sk.QuadraticSurrogate):
        model = kind(kernel="precomputed", alpha=1.0).fit(K, y)
        assert not get_tags(model).input_tags.allow_nan
        bad = K.copy()
        bad[1, 2] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            kind(kernel="precomputed").fit(bad, y)
        with pytest.raises(ValueError, match="NaN"):
            model.predict(bad)


@pytest.mark.parametrize("name", ["field", "network", "quadratic"])
def test_csr_rows_have_none_and_means_of_zeros_too(name, rng):
    """Rows with gaps may be predicted after CSR ones: entries that are not stored are 0."""
    X, y = rows_with_gaps(rng, N)
    rows = sparse.csr_array(np.nan_to_num(X) * (rng.rand(N, 4) < 0.5))
    model = clone(LEARNERS[name]).fit(rows, y)
    np.testing.assert_allclose(model._means, rows.toarray().mean(axis=0), rtol=1e-12, atol=1e-15)
    filled = np.where(np.isnan(X), model._means, X)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(filled))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(sparse.csr_array(X), y)


def test_a_warm_start_goes_on_with_the_means_of_the_new_rows(rng):
    X, y = rows_with_gaps(rng, N)
    model = sk.ConditionalRandomField("simplex", alpha=0.1, warm_start=True).fit(X, y)
    model.fit(X[::2], y[::2])
    np.testing.assert_allclose(model._means, weighted_means(X[::2], np.ones(N // 2)), rtol=1e-12)
