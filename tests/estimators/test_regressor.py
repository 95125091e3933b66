"""`StructuredRegressor`: members, weights and predictions of numbers."""

import pickle
from functools import cache

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

import skstructured as sk
from skstructured.estimators.mixture._training import FEWEST_ROWS, draw_folds
from skstructured.estimators.mixture._weights import mixing_weights
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces._real_line import RealLine

#: Interpreted kernels are a thousand times slower.
slow_as_python = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")

NAMES = ["linear", "rbf", "laplacian", "arc-cosine", "boosting", "trees"]


@cache
def fitted_numbers(**given):
    """A regressor that has learned 80 rows."""
    X, y = numbers()
    return sk.StructuredRegressor(random_state=0, **given).fit(X[:80], y[:80])


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


class Neighbors(KNeighborsRegressor):
    """Neighbors that accept weights of rows, and ignore them."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


@slow_as_python
class TestPredictions:
    def test_predictions_are_of_scores_of_members_mixed(self):
        X, y = numbers()
        model = fitted_numbers()
        assert list(model.named_estimators_) == NAMES
        theta = mixing.mixed_scores(model, X[:80], X)
        np.testing.assert_allclose(model.predict(X), model.space_.decode(theta), rtol=1e-6)
        assert model.score(X[80:], y[80:]) > 0.3 and model.validation_scores_.max() > 0.25
        assert 0.2 < model.validation_score_ < 0.7
        parts = np.concatenate([model.predict(X[i : i + 7]) for i in range(0, 200, 7)])
        np.testing.assert_allclose(parts, model.predict(X), rtol=1e-9)

    def test_rows_of_weight_zero_change_nothing(self):
        X, y = numbers()
        weight = np.r_[np.ones(80), np.zeros(20)]
        model = clone(fitted_numbers()).set_params(n_landmarks=80)
        model.fit(X[:100], np.r_[y[:80], 1e3 + y[80:100]], weight)
        np.testing.assert_allclose(model.weights_, fitted_numbers().weights_, rtol=1e-9)
        np.testing.assert_allclose(model.predict(X), fitted_numbers().predict(X), rtol=1e-9)

    def test_same_seed_copies_and_threads(self):
        X, y = numbers()
        again = clone(fitted_numbers()).set_params(n_jobs=2).fit(X[:80], y[:80])
        for other in (again, pickle.loads(pickle.dumps(fitted_numbers()))):
            np.testing.assert_allclose(other.predict(X), fitted_numbers().predict(X), rtol=1e-9)

    def test_landmarks_are_close(self):
        X, y = numbers()
        model = clone(fitted_numbers()).set_params(n_landmarks=50).fit(X[:80], y[:80])
        assert len(model.named_estimators_["rbf"].kernel.Z) == 50
        assert np.corrcoef(model.predict(X), fitted_numbers().predict(X))[0, 1] > 0.95

    def test_quantiles_are_where_so_many_are_below(self):
        X, y = load_diabetes(return_X_y=True)
        model = sk.StructuredRegressor(loss="quantile", quantile=0.9, random_state=0)
        below = model.fit(X[:200], y[:200]).predict(X[200:]) > y[200:]
        assert 0.8 < below.mean() < 0.98

    @pytest.mark.parametrize("loss", ["absolute", "huber"])
    def test_outliers_do_not_move_the_median(self, loss, rng):
        X = rng.rand(200, 2)
        y = X[:, 0] + 1000.0 * (rng.rand(200) < 0.1)
        model = sk.StructuredRegressor(loss=loss, random_state=0).fit(X, y)
        new = rng.rand(100, 2)
        assert np.median(np.abs(model.predict(new) - new[:, 0])) < 0.03

    def test_units_of_y_do_not_matter(self):
        X, y = numbers()
        other = sk.StructuredRegressor(random_state=0).fit(X[:80], 1024.0 * y[:80] + 7.0)
        np.testing.assert_allclose(other.weights_, fitted_numbers().weights_, rtol=1e-3)
        wanted = 1024.0 * fitted_numbers().predict(X) + 7.0
        np.testing.assert_allclose(other.predict(X), wanted, rtol=1e-4)

    def test_missing_values_are_learned(self):
        X, y = numbers()
        X = X.copy()
        X[::6, 2] = np.nan
        model = sk.StructuredRegressor(random_state=0).fit(X[:80], y[:80])
        assert model.score(X[80:], y[80:]) > 0.25

    def test_bad_losses_are_refused(self):
        with pytest.raises(ValueError, match="loss must be one of"):
            sk.StructuredRegressor(loss="square").fit(*numbers())


class TestWeights:
    """What every room's own tests pass through too, also line by line."""

    @pytest.mark.parametrize("is_far", [False, True])
    def test_and_held_out_scores_are_those_of_honest_scores(self, is_far, rng):
        X, y = numbers()
        X, y, weight = X[:80], y[:80], rng.rand(80) + 0.1
        if is_far:  # farther than what kernels and trees learn, and predicted
            y = np.exp(y / 40.0)
            X = np.column_stack([X, y + 100.0 * rng.randn(80)])
        members = [("line", Ridge(0.1)), ("trees", Neighbors())]
        model = sk.StructuredRegressor(members, "quantile", 0.8, True, random_state=1)
        model.fit(X, y, weight)
        space = RealLine().fit(y, weight)
        loss, V = ResidualLoss(space, "quantile", quantile=0.8), space.pack(y)[:, None]
        weight = weight / weight.mean()
        parts = draw_folds(np.arange(80), np.random.RandomState(1), space.pack(y))
        honest = mixing.honest_scores(
            members, X, y, weight, parts, lambda one: space.pack(one.predict(X))[:, None]
        )
        weight = weight * mixing.effective(weight, range(80)) / 80
        a, b = mixing_weights(honest, V, weight, np.zeros(1), loss, 0.5)
        np.testing.assert_allclose(model.weights_, a, rtol=1e-3)
        np.testing.assert_allclose(model.intercept_, b, atol=1e-3)

        def right(theta):
            return r2_score(y, space.decode(theta), sample_weight=weight)

        each = [right(mixing.alone(mixing_weights, one, V, weight, loss, 1.0)) for one in honest]
        np.testing.assert_allclose(model.validation_scores_, each, rtol=1e-6)
        both = right(mixing.halves(mixing_weights, honest, V, weight, loss, 0.5))
        assert model.validation_score_ == pytest.approx(both, rel=2e-3)  # as the weights

    def test_trees_predict_means_or_the_quantile(self):
        for loss, quantile in (("huber", None), ("absolute", 0.5), ("quantile", 0.9)):
            model = sk.StructuredRegressor(loss=loss, quantile=0.9)
            model.loss_ = None
            assert model._trees(0).quantile == quantile

    def test_members_are_made_for_rows(self, rng, monkeypatch):
        monkeypatch.setattr(sk.StructuredRegressor, "_widest", 3)
        X = rng.randn(30, 4)
        for rows, names in ((X, NAMES), (sparse.csr_matrix(X), ["linear"])):
            model = sk.StructuredRegressor()
            model.loss_, model.random_state_ = ResidualLoss(RealLine().fit(X[:, 0])), rng
            assert [name for name, _ in model._members(rows)] == names

    def test_weights_are_equal_with_very_few_rows(self):
        X, y = numbers()
        model = sk.StructuredRegressor([("a", Ridge()), ("b", Neighbors())])
        model.fit(X[: FEWEST_ROWS - 1], y[: FEWEST_ROWS - 1])
        np.testing.assert_array_equal(model.weights_, [0.5, 0.5])
        assert np.isnan(model.validation_score_)

    @slow_as_python
    @pytest.mark.parametrize("share", [0.25, 0.21, 0.16, 0.07])
    def test_outputs_that_are_mostly_the_same_are_not_cut(self, share, rng):
        X = rng.randn(900, 2)
        y = (X[:, 0] > np.quantile(X[:, 0], 1.0 - share)) * np.exp(1.0 + 0.3 * X[:, 1])
        model = sk.StructuredRegressor(random_state=0).fit(X[:400], y[:400])
        predicted = model.predict(X[400:])
        assert predicted.sum() == pytest.approx(y[400:].sum(), rel=0.1)
        assert r2_score(y[400:], predicted) > 0.85

    @slow_as_python
    def test_validation_scores_are_of_outputs_as_they_are(self, rng):
        """Kernels and trees learn outputs that are cut; R² is about those that are not."""
        X = rng.randn(900, 2)
        y = np.exp(2.5 * (0.8 * X[:, 0] + 0.6 * rng.randn(900)))
        model = sk.StructuredRegressor(random_state=0).fit(X[:300], y[:300])
        assert model.validation_score_ < 0.5 and model.score(X[300:], y[300:]) < 0.5

    def test_a_regressor_mixes_predictions(self):
        X = np.random.RandomState(0).randn(24, 4)
        y = X @ np.arange(4.0)
        members = [(str(n), sk.PiSTOLRegressor(max_iter=n, random_state=0)) for n in (1, 2)]
        model = sk.StructuredRegressor(members, random_state=0).fit(X, y)
        space, pairs = model.space_, zip(model.weights_, model.estimators_, strict=True)
        theta = sum(a * space.pack(one.predict(X)) for a, one in pairs) + model.intercept_
        np.testing.assert_allclose(model.predict(X), space.decode(theta[:, None]), rtol=1e-12)
        assert model.intercept_.shape == (1,) and model.validation_score_ <= 1.0


def test_predictions_stay_near_the_range_of_outputs():
    X, y = numbers()
    far = np.array(X)
    far[::10] *= 1e6
    for extrapolate in (False, True):
        model = sk.StructuredRegressor(extrapolate=extrapolate, random_state=0).fit(X[:80], y[:80])
        ends = [np.min(y[:80]), np.max(y[:80])]
        margin = 0.1 * (ends[1] - ends[0])
        predicted = model.predict(far)
        assert (
            extrapolate
            or ends[0] - margin <= predicted.min() <= predicted.max() <= ends[1] + margin
        )
        model._mixed = model._mixed._replace(intercept=np.array([1e6]))
        assert (model.predict(X).max() > 1e6) == extrapolate
    with pytest.raises(ValueError, match="extrapolate must be a bool"):
        sk.StructuredRegressor(extrapolate="no").fit(X, y)


def test_one_wrong_cell_of_a_column_changes_little():
    X, y = numbers()
    wrong = np.array(X[:80])
    wrong[[3, 17, 40], [0, 1, 2]] *= 1e6
    scores = [
        sk.StructuredRegressor(random_state=0).fit(A, y[:80]).score(X[80:], y[80:])
        for A in (X[:80], wrong)
    ]
    assert scores[1] > scores[0] - 0.1
