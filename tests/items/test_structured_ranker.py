"""`StructuredRanker`: members that are honest by query, mixed by the loss of whole queries."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone

from skstructured import ListwiseRanker, StructuredRanker
from skstructured.estimators.mixture._training import FEWEST_GROUPS
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.items.metrics import ndcg
from skstructured.items.structured import Grades, QueryLoss

pytestmark = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")


def queries(seed=0, n=60, m=5):
    """Rows, grades and numbers of queries, whose grades depend on a product of features."""
    rng = np.random.RandomState(seed)
    qid = np.repeat(rng.permutation(10 * n)[:n], rng.randint(2, m + 1, size=n))
    X = rng.randn(len(qid), 3)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.1 * rng.randn(len(qid)), [-0.5, 0.3, 1.0])
    return X, y.astype(float), qid


X, Y, QID = queries()
NEW = queries(1)


@pytest.fixture(scope="module")
def ranker():
    """One that has learned; tests must not change it."""
    return StructuredRanker(random_state=0).fit(X, Y, QID)


def test_the_loss_of_queries_is_its_formula(rng):
    codes = np.unique(QID, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    grades, codes = Y[order], codes[order].astype(float)
    gains = 2.0**grades - 1.0
    totals = np.bincount(codes.astype(int), gains)[codes.astype(int)]
    sizes = np.bincount(codes.astype(int))[codes.astype(int)]
    shares = np.where(totals > 0.0, gains, 1.0) / np.where(totals > 0.0, totals, sizes)
    truth, loss = np.column_stack([shares, codes]), QueryLoss(Grades(grades, np.ones(len(grades))))
    theta = 3.0 * rng.randn(len(grades), 1)
    value, slope = loss.value_and_gradient(theta, truth)
    assert value.sum() == pytest.approx(mixing.query_loss(theta[:, 0], grades, codes), rel=1e-12)
    for i in range(0, len(grades), 17):
        moved = [theta.copy() for _ in range(2)]
        moved[0][i], moved[1][i] = theta[i] + 1e-6, theta[i] - 1e-6
        up, down = (loss.value_and_gradient(one, truth)[0].sum() for one in moved)
        assert slope[i, 0] == pytest.approx((up - down) / 2e-6, abs=1e-6)
    far, _ = loss.value_and_gradient(1e4 * theta, truth)
    assert np.isfinite(far).all()


def test_grades_are_learned_in_units_of_their_deviation():
    weight = np.arange(1.0, len(Y) + 1.0)
    units = Grades(Y, weight).unpack(Y[:, None])[:, 0]
    assert np.average(units, weights=weight) == pytest.approx(0.0, abs=1e-12)
    assert np.average(units**2, weights=weight) == pytest.approx(1.0)
    np.testing.assert_array_equal(
        Grades(0.0 * Y, weight).unpack(0.0 * Y[:, None]), 0.0 * Y[:, None]
    )


def test_scores_are_those_of_members_mixed(ranker):
    names = ["additive", "rbf", "laplacian", "arc-cosine", "trees"]  # boosting is not worth it
    assert list(ranker.named_estimators_) == names and (ranker.weights_ > 0.0).all()
    importance = ranker.estimators_[-1].forest.feature_importances_
    stretch = np.sqrt(importance / importance.mean())
    theta = ranker.weights_[0] * ranker.estimators_[0].predict(NEW[0])
    for a, member in zip(ranker.weights_[1:], ranker.estimators_[1:], strict=True):
        theta += a * mixing.member_scores(member, ranker.loss_, X, stretch, NEW[0])[:, 0]
    np.testing.assert_allclose(ranker.predict(NEW[0]), theta, rtol=1e-5, atol=1e-5)
    trees = ranker.estimators_[-1]
    assert trees.best_thresholds and len(trees.forest.roots) == 50
    assert trees.options == {"min_samples_leaf": 5, "max_features": "sqrt"}


def test_weights_minimize_the_loss_over_scores_of_queries_that_were_not_learned(monkeypatch):
    seen = {}
    weights = StructuredRanker._weights

    def spied(self, honest, training, packed):
        seen.update(honest=np.array(honest), training=training)
        return weights(self, honest, training, packed)

    monkeypatch.setattr(StructuredRanker, "_weights", spied)
    weight = np.random.RandomState(3).exponential(size=60) + 0.1
    each = weight[np.unique(QID, return_inverse=True)[1]]
    model = StructuredRanker(random_state=0).fit(X, Y, QID, sample_weight=each)
    honest, training = seen["honest"][:, :, 0], seen["training"]
    codes, grades = training.units, training.y[:, 0]
    assert all(len(set(training.parts[codes == q])) == 1 for q in range(60))
    own = training.parts == 2
    rest = [training.rows.X[~own], grades[~own], codes[~own]]
    line = clone(model.estimators_[0]).fit(*rest, sample_weight=training.weight[~own])
    np.testing.assert_allclose(honest[0, own], line.predict(training.rows.X[own]), atol=1e-9)

    def objective(z):
        theta, total = np.exp(z) @ honest, 0.1 * sum(one**2 for one in z)
        for q in range(60):
            at = codes == q
            loss = mixing.query_loss(theta[at], grades[at], codes[at])
            total += training.effective_share * training.weight[at][0] * loss
        return total

    z = np.log(model.weights_)
    for i in range(len(z)):
        step = np.zeros(len(z))
        step[i] = 1e-4
        slope = (objective(z + step) - objective(z - step)) / 2e-4
        assert slope == pytest.approx(0.0, abs=5e-3)
    np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-6)


def test_held_out_scores_are_ndcg(ranker, monkeypatch):
    score, judged = ranker.validation_score_, []
    assert ranker.validation_scores_.max() - 0.03 < score <= 1.0
    assert score == pytest.approx(ranker.score(*NEW), abs=0.06)
    least = StructuredRanker._least

    def spied(self, honest, training, part, *steps):
        if len(honest) > 1 and not isinstance(part, slice):
            judged.append(set(training.units[training.judged[part]]))
        return least(self, honest, training, part, *steps)

    monkeypatch.setattr(StructuredRanker, "_least", spied)
    clone(ranker).fit(X, Y, QID)
    assert len(judged) == 2 and judged[0] | judged[1] == set(range(60))
    assert not judged[0] & judged[1]


def test_it_learns_products_of_features(ranker):
    alone = ListwiseRanker(random_state=0).fit(X, Y, QID)
    assert ranker.score(*NEW) > alone.score(*NEW) + 0.05
    scores = ranker.predict(NEW[0])
    assert ranker.score(*NEW) == pytest.approx(ndcg(NEW[1], scores, NEW[2]))
    places = ranker.rank(NEW[0], NEW[2])
    for q in np.unique(NEW[2]):
        at = NEW[2] == q
        np.testing.assert_array_equal(np.argsort(places[at]), np.argsort(-scores[at]))


def test_lists_and_hidden_items_are_the_same_queries(ranker):
    rounds = [q == QID for q in dict.fromkeys(QID.tolist())]
    lists = [X[at] for at in rounds], [Y[at] for at in rounds]
    again = clone(ranker).fit(*lists)
    wanted = [ranker.predict(X[at]) for at in rounds]
    np.testing.assert_allclose(np.concatenate(again.predict(lists[0])), np.concatenate(wanted))
    more, hidden = np.vstack([X, 9.0 * X[:4]]), np.r_[np.ones(len(X)), np.zeros(4)].astype(bool)
    given = np.r_[Y, Y[:4]], np.r_[QID, QID[:4]]
    some = clone(ranker).fit(more, *given, available=hidden)
    np.testing.assert_allclose(some.predict(X), ranker.predict(X), atol=1e-9)
    assert np.isnan(some.predict(more, given[1], available=hidden)[-4:]).all()


def test_queries_of_weight_zero_change_nothing(ranker):
    rounds = [q == QID for q in dict.fromkeys(QID.tolist())]  # one of weight 0 before each
    rows = [[9.0 * X[at], X[at]] for at in rounds]
    more = (
        np.vstack([part for pair in rows for part in pair]),
        np.concatenate([np.r_[Y[at][::-1], Y[at]] for at in rounds]),
        np.concatenate([np.r_[QID[at] + 10_000, QID[at]] for at in rounds]),
    )
    weight = (more[2] < 10_000).astype(float)
    model = clone(ranker).fit(*more, sample_weight=weight)
    np.testing.assert_allclose(model.weights_, ranker.weights_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(NEW[0]), ranker.predict(NEW[0]), atol=1e-6)


def test_the_same_seed_gives_the_same_ranker(ranker):
    again = clone(ranker).set_params(n_jobs=2).fit(X, Y, QID)
    np.testing.assert_allclose(again.predict(NEW[0]), ranker.predict(NEW[0]), rtol=1e-6)
    kept = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(kept.predict(NEW[0]), ranker.predict(NEW[0]))


def test_of_sparse_rows_is_the_linear_ranker_alone():
    rows = sparse.csr_matrix(X * (X > 0.5))
    model = StructuredRanker(random_state=0).fit(rows, Y, QID)
    assert list(model.named_estimators_) == ["linear"]
    np.testing.assert_allclose(model.predict(rows), model.estimators_[0].predict(rows))
    assert np.isnan(model.validation_score_)


def test_members_of_few_queries_have_equal_weights():
    few = np.isin(QID, np.unique(QID)[: FEWEST_GROUPS - 1])
    model = StructuredRanker(random_state=0).fit(X[few], Y[few], QID[few])
    np.testing.assert_allclose(model.weights_, 1.0 / 5.0)
    assert np.isnan(model.validation_scores_).all()


def test_missing_values_are_learned(ranker):
    holes = X.copy()
    holes[::7, 2] = np.nan
    model = StructuredRanker(random_state=0).fit(holes, Y, QID)
    assert model.score(*NEW) > ranker.score(*NEW) - 0.1
    with pytest.raises(ValueError, match="NaN"):
        StructuredRanker(missing="error").fit(holes, Y, QID)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": -Y - 1.0}, "y must be finite numbers of at least 0"),
        ({"qid": None}, "qid is missing"),
        ({"qid": QID[:-1]}, "found inconsistent numbers of samples"),
        ({"X": np.where(X > 2.0, np.inf, X)}, "infinity|inf"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(given, message, ranker):
    model = pickle.loads(pickle.dumps(ranker))
    with pytest.raises(ValueError, match=message):
        model.fit(**({"X": X, "y": Y, "qid": QID} | given))
    np.testing.assert_array_equal(model.predict(NEW[0]), ranker.predict(NEW[0]))
    with pytest.raises(ValueError, match="n_landmarks must be an integer at least 1, got 0"):
        StructuredRanker(n_landmarks=0).fit(X, Y, QID)


def test_kernels_share_landmarks():
    X, grades, qid = (one[:90] for one in (*NEW,))
    for count, kept in ((2000, 90), (150, 50), (1, 1)):
        model = StructuredRanker(n_landmarks=count, random_state=0).fit(X, grades, qid)
        assert [len(one.kernel.Z) for one in model.estimators_[1:4]] == [kept] * 3


def test_features_are_stretched_by_n_landmarks_rows(monkeypatch, rng):
    """Three kernels share the landmarks, but not the rows that stretch their features."""
    n_reserved, fit = [], VertexTrees.fit
    monkeypatch.setattr(
        VertexTrees,
        "fit",
        lambda self, training: n_reserved.append(len(training.reserved)) or fit(self, training),
    )
    X, y, qid = rng.randn(200, 4), rng.randint(3, size=200), np.repeat(np.arange(40), 5)
    StructuredRanker(n_landmarks=60, random_state=0).fit(X, y, qid)
    assert n_reserved == [60]
