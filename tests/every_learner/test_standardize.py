"""`standardize`: rows in units of the rows so far, by learners of every kind."""

import numpy as np
import pytest
from conftest import INTERPRETED
from learner_checks import has_argument
from learners import EVERY_LEARNER, LINEAR_BY_DEFAULT
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import skstructured as sk
from skstructured._engine.rows import Rows

N = 60 if INTERPRETED else 300
CLASSES = [0, 1, 2]


def online(**given):
    plain = {"optimizer": "parameter_free", "random_state": 0}
    return sk.OnlineStructuredPredictor(**(plain | given))


LEARNERS = {
    "average": online(),
    "last": online(average=False),
    **{name: online(optimizer=name) for name in ("ogd", "adaptive", "pistol")},
    **{name: EVERY_LEARNER[name] for name in (*LINEAR_BY_DEFAULT, "confidit")},
}


def new(name, **given):
    return clone(LEARNERS[name]).set_params(**given)


def rounds(rng, n=N):
    """Rows in odd units, one feature constant, and classes that they decide."""
    Z = rng.randn(n, 4)
    X = Z * [1e6, 1.0, 1e-3, 0.0] + [0.0, 50.0, 1.0, 3.0]
    y = np.argmax(np.column_stack([Z[:, 0], Z[:, 1], np.zeros(n)]) + 0.3 * rng.randn(n, 3), axis=1)
    return X, y


def learn(model, X, y, weight=None):
    rest = {} if weight is None else {"sample_weight": weight}
    return model.partial_fit(X, y, classes=CLASSES, **rest)


def weights_of(model):
    """Last weights, and averages where there are any, the intercept behind."""
    names = ("last_weights_", "average_weights_")
    found = [getattr(model, name) for name in names if hasattr(model, name)]
    return found or [np.column_stack([model.coef_, model.intercept_])]


def same(first, second, tolerance=0.0):
    for W, V in zip(weights_of(first), weights_of(second), strict=True):
        assert np.abs(W).max() > 0.0
        np.testing.assert_allclose(W, V, rtol=tolerance, atol=0.0)


@pytest.mark.parametrize("first", ["dense", "csr", "dense, then csr", "csr, then dense"])
@pytest.mark.parametrize("name", LEARNERS)
def test_chunks_are_one_pass_bit_for_bit(name, first, rng):
    (X, y), weight = rounds(rng), None
    if has_argument(LEARNERS[name].partial_fit, "sample_weight"):
        weight = rng.randint(4, size=N) * 10.0 ** rng.randint(-3, 3, N)
    stores = [sparse.csr_matrix if part == "csr" else np.asarray for part in first.split(", then ")]
    whole, parts = learn(new(name), stores[0](X), y, weight), new(name)
    for i, now in enumerate(np.split(np.arange(N), [1, 3, 4, 20, 21, 50])):
        store = stores[i % len(stores)]
        learn(parts, store(X[now]), y[now], None if weight is None else weight[now])
    same(whole, parts)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("name", LEARNERS)
def test_learning_is_that_of_the_rows_as_transformed(name, store, intercept, rng):
    X, y = rounds(rng)
    model = learn(new(name, fit_intercept=intercept), store(X), y)
    scale = model._scale.reset_copy()
    Z = scale.apply(Rows.from_array(store(X)))[0].matrix
    plain = learn(new(name, fit_intercept=intercept, standardize=False), Z, y)
    for W, V in zip(weights_of(model), weights_of(plain), strict=True):
        V = V[:, : W.shape[1]]
        np.testing.assert_array_equal(W, scale.fold(V))
        assert np.abs(W).max() > 0.0


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "confidit"])
def test_scores_are_linear_in_the_rows_given(name, rng):
    X, y = rounds(rng)
    model = learn(new(name), X, y)
    low, high = model.feature_ranges_[2:4]
    theta = np.clip(X, low, high) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), theta, atol=1e-9 * np.abs(theta).max())
    if hasattr(model, "last_weights_"):
        model.set_params(average=False)
        np.testing.assert_array_equal(model.coef_, model.last_weights_[:, :4])
    np.testing.assert_array_equal(model.coef_[:, 3], 0.0)
    assert (model.coef_[:, :3] != 0.0).any() and model.score(X, y) > 0.4


@pytest.mark.parametrize("name", ["ogd", "average", "default gaptron"])
def test_bounds_hold_for_rows_as_transformed(name, rng):
    X, y = rounds(rng)
    result = sk.evaluation.progressive_validate(
        LEARNERS[name], X, y, random_state=0, play="randomized"
    )
    Z = result.estimator._scale.reset_copy().apply(Rows.from_array(X))[0].matrix
    np.testing.assert_array_equal(result.estimator.comparison(result.rounds).X, Z)
    U, loss = rng.randn(3, 5), result.estimator.loss_
    wanted = loss.value(np.column_stack([Z, np.ones(N)]) @ U.T, np.eye(3)[y])
    np.testing.assert_allclose(result.comparator_loss(U), wanted, rtol=1e-12)
    losses = result.weight @ result.expected_target_loss
    for V in (U, 3.0 * U, np.zeros((3, 5)), None):
        assert losses <= result.regret_bound(V)


@pytest.mark.parametrize("name", LEARNERS)
def test_norms_in_range_are_those_of_what_was_fitted(name, rng):
    X, y = rounds(rng, 30)
    far = X.copy()
    far[7] = 1e120  # in range only for rows that are standardised
    first, then = (learn(new(name, standardize=b), X, y) for b in (True, False))
    assert np.isfinite(first.set_params(standardize=False).decision_function(far)).all()
    learn(first, far[7:8], y[7:8])
    then.set_params(standardize=True)
    for call in (lambda: then.predict(far), lambda: learn(then, far, y)):
        with pytest.raises(ValueError, match="Row 7 of X is too large"):
            call()
    with pytest.raises(ValueError, match="Row 7 of X is too large"):
        first.fit(far, y)  # anew, as the parameter says now
    then.fit(far, y)


@pytest.mark.parametrize("name", ["ogd", "average", "default gaptron", "folklore"])
@pytest.mark.parametrize("fitted", [True, False])
def test_comparators_and_predictions_go_by_what_was_fitted(name, fitted, rng):
    X, y = rounds(rng, 40)
    X[:, 0] /= 1e6
    learner = clone((EVERY_LEARNER | LEARNERS)[name])
    result = sk.evaluation.progressive_validate(
        learner.set_params(standardize=fitted), X, y, play="randomized"
    )
    model, U = result.estimator, rng.randn(3, 5)
    answer = getattr(model, "predict_proba", model.decision_function)
    wanted, before = result.comparator_loss(U), answer(X)
    model.set_params(standardize=not fitted)
    np.testing.assert_array_equal(result.comparator_loss(U), wanted)
    np.testing.assert_array_equal(answer(X), before)


#: What a feature may be in other units.
UNITS = [lambda x: 1e6 * x, lambda x: 1e-6 * x, lambda x: x + 1e4]


@pytest.mark.skipif(INTERPRETED, reason="needs compiled kernels")
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
@pytest.mark.short("iris", "wine", "breast_cancer")
def test_units_of_features_do_not_matter(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0, stratify=y)

    def accuracy(X):
        return online().fit(X[train], y[train]).score(X[test], y[test])

    wanted = accuracy(X)
    assert wanted > 0.9
    for j in range(min(X.shape[1], 5)):
        for change in UNITS:
            other = X.copy()
            other[:, j] = change(X[:, j])
            assert abs(accuracy(other) - wanted) < 0.005


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_a_row_that_stops_a_pass_leaves_no_statistics(store, rng):
    X, y = rounds(rng, 40)
    weight = np.where(np.arange(40) == 25, 1e20, 1.0)
    model = online(optimizer=sk.optimizers.GradientDescent(eta=1e300))
    learn(model, store(X[:10]), y[:10])
    X[26, 0] = 1e12  # statistics would tell
    with pytest.raises(ValueError, match="The scores of row .* of X are not finite"):
        learn(model, store(X[10:]), y[10:], weight[10:])
    scale, seen = model._scale.reset_copy(), model.t_
    assert 10 < seen <= 26
    scale.apply(Rows.from_array(store(X[:seen])), weight=weight[:seen])
    np.testing.assert_array_equal(model._scale.statistics, scale.statistics)
    np.testing.assert_array_equal(model._scale.counts, scale.counts)
