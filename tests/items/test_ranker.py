"""Learning to rank: truths, scores of rankings, curves, and what is odd."""

import itertools
import pickle

import numpy as np
import pytest
import sklearn
from conftest import INTERPRETED
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer, ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.utils import estimator_checks

from skstructured import ConditionalLogit, ItemStructuredPredictor, ListwiseRanker
from skstructured._base.ragged import Ragged
from skstructured.evaluation import progressive_validate
from skstructured.items import metrics
from skstructured.items._model import MappedRounds
from skstructured.items._reading import ranks_within_rounds, read_items, shares_of
from skstructured.items._spaces import TiedRanks
from skstructured.items.ranker import QuantileBinner


def queries(seed=0, n=60, p=5, most=9):
    """Rows, grades and numbers of queries."""
    rng = np.random.RandomState(seed)
    qid = np.repeat(rng.permutation(10 * n)[:n], rng.randint(1, most, size=n))
    X = rng.randn(len(qid), p)
    score = X @ np.arange(p) + rng.randn(len(qid))
    return X, np.digitize(score, np.quantile(score, [0.5, 0.8, 0.95])), qid


def lists(X, y, qid):
    rounds = [qid == q for q in dict.fromkeys(qid.tolist())]
    return [X[r] for r in rounds], [y[r] for r in rounds]


LOSSES = ["listnet", "sparse_listnet", "permutahedron"]


@pytest.mark.parametrize("loss", LOSSES)
def test_it_ranks_better_than_chance_and_streams_do(loss):
    X, y, qid = queries(n=100 if INTERPRETED else 300)
    train = qid % 3 > 0
    for fit in ("fit", "partial_fit"):
        ranker = ListwiseRanker(loss, "linear", random_state=0)
        model = getattr(ranker, fit)(X[train], y[train], qid[train])
        chance = metrics.ndcg(y[~train], np.zeros(sum(~train)), qid[~train])
        assert model.score(X[~train], y[~train], qid[~train]) > chance + 0.15
        order = np.argsort(np.abs(model.coef_))
        np.testing.assert_array_equal(order[-2:], [3, 4])


def test_a_query_that_is_split_over_two_calls_is_named():
    X, y, qid = queries(n=12)
    half = len(X) // 2
    cut = next(i for i in range(half, len(X)) if qid[i] == qid[i - 1])
    model = ListwiseRanker(kernel="linear").partial_fit(X[:cut], y[:cut], qid[:cut])
    before = model.coef_.copy()
    message = f"Round {qid[cut]} ended the last call of partial_fit and begins this.*in one call"
    with pytest.raises(UserWarning, match=message):  # warnings are errors here
        model.partial_fit(X[cut:], y[cut:], qid[cut:])
    np.testing.assert_array_equal(model.coef_, before)
    whole = np.flatnonzero(qid == qid[cut])
    model.partial_fit(X[whole[-1] + 1 :], y[whole[-1] + 1 :], qid[whole[-1] + 1 :])


@pytest.mark.parametrize("begin", ["fit", "one each"])
def test_names_that_come_again_are_no_split_queries(begin):
    X, y, qid = queries(n=4)
    model = ListwiseRanker(kernel="linear")
    if begin == "fit":  # whose last query may be the first of a stream
        last = qid == qid[-1]
        model.fit(X, y, qid).partial_fit(X[last], y[last], qid[last])
    else:
        for q in np.unique(qid):
            one = qid == q
            model.partial_fit(X[one], y[one], 0 * qid[one])
    assert np.isfinite(model.coef_).all()


def test_rank_sorts_by_predict_and_ties_are_in_the_order_given():
    X, y, qid = queries()
    model = ListwiseRanker(random_state=0).fit(X, y, qid)
    scores, places = model.predict(X), model.rank(X, qid)
    for q in np.unique(qid):
        np.testing.assert_array_equal(np.argsort(places[qid == q]), np.argsort(-scores[qid == q]))
    np.testing.assert_array_equal(model.rank(np.zeros((3, 5)), [1, 1, 1]), [1, 2, 3])
    rows, _ = lists(X, y, qid)
    wanted = np.concatenate(lists(X, scores, qid)[1])
    np.testing.assert_allclose(np.concatenate(model.predict(rows)), wanted)


def test_shares_and_ranks_are_their_formulas():
    items = read_items(np.zeros((7, 1)), [4, 4, 4, 9, 9, 9, 2])
    y, scores = np.array([2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0]), np.array([1.0, 1.0, 5.0])
    wanted = [3 / 4, 0, 1 / 4, 1 / 3, 1 / 3, 1 / 3, 1]
    np.testing.assert_allclose(shares_of(items, y).values, wanted)
    np.testing.assert_allclose(ranks_within_rounds(y, items.offsets), [3, 1, 2, 2, 2, 2, 1])
    np.testing.assert_allclose(ranks_within_rounds(scores, np.array([0, 3])), [1.5, 1.5, 3])


@pytest.mark.parametrize("tied", [[3.0, 1.5, 1.5], [2.0, 2.0, 2.0], [3.0, 2.0, 1.0]])
def test_losses_of_tied_ranks_are_means_over_the_orders_of_what_is_tied(tied):
    space, tied = TiedRanks(), np.array(tied)
    space.dim_ = 3
    orders = [np.array(p, dtype=float) for p in itertools.permutations([1, 2, 3])]
    fitting = [p for p in orders if np.all((p[:, None] > p) >= (tied[:, None] > tied))]
    np.testing.assert_allclose(np.mean(fitting, axis=0), tied)
    mu = np.array([2.5, 2.0, 1.5])
    wanted = np.mean([3.0 * (p @ p - p @ mu) * 2.0 / 24.0 for p in fitting])
    assert space.expected_loss(mu[None], tied[None])[0] == pytest.approx(wanted)
    model = ListwiseRanker("permutahedron").fit(np.eye(3), tied, [0, 0, 0])
    theta = Ragged(np.array([0.4, 0.1, -0.2]), [0, 3])
    losses = [model.loss_.value(theta, Ragged(p, [0, 3]))[0] for p in fitting]
    assert model.loss_.value(theta, Ragged(tied, [0, 3]))[0] == pytest.approx(np.mean(losses))


def test_scores_of_rankings_are_those_of_others():
    _, y, qid = queries(seed=2)
    rng = np.random.RandomState(0)
    scores = rng.randint(4, size=len(y)).astype(float)  # many ties
    of = [np.flatnonzero(qid == q) for q in np.unique(qid)]
    told = [i for i in of if len(i) > 1 and y[i].max() > 0]
    for k in (1, 3, None):
        wanted = [ndcg_score([2.0 ** y[i] - 1], [scores[i]], k=k) for i in told]
        alone = [1.0 for i in of if len(i) == 1 and y[i].max() > 0]
        assert metrics.ndcg(y, scores, qid, k=k) == pytest.approx(np.mean(wanted + alone))


def test_scores_of_rankings_weigh_queries_and_say_nan_where_nothing_is_said():
    score = metrics.ndcg
    y, scores, qid = [1, 0, 0, 1], [2.0, 1.0, 4.0, 3.0], [0, 0, 1, 1]
    one, other = score(y[:2], scores[:2], qid[:2]), score(y[2:], scores[2:], qid[2:])
    assert one != other
    both = score(y, scores, qid, sample_weight=[1.0, 3.0])
    assert both == pytest.approx((one + 3 * other) / 4)
    assert score(y, scores, qid, sample_weight=[1, 1, 3, 3]) == pytest.approx(both)
    assert score([y[:2], y[2:]], [scores[:2], scores[2:]]) == pytest.approx((one + other) / 2)
    assert np.isnan(score([0, 0], [1.0, 2.0], [5, 5]))
    grades, scores, qid = [*y[:2], 0, 0], [*scores[:2], 1.0, 2.0], [0, 0, 5, 5]
    assert np.isnan(score(grades, scores, qid, sample_weight=[0.0, 2.0]))
    assert score(grades, scores, qid, sample_weight=[0.5, 2.0]) == one
    for weight, message in (([0.0, 0.0], "positive sum"), ([1.0, -1.0], "Negative")):
        with pytest.raises(ValueError, match=message):
            score(grades, scores, qid, sample_weight=weight)


def test_weights_are_of_queries_or_of_their_rows():
    X, y, qid = queries()
    rng = np.random.RandomState(1)
    weight = rng.choice([0.0, 0.5, 3.0], size=len(np.unique(qid)))
    rows, grades = lists(X, y, qid)
    some = ListwiseRanker(random_state=0).partial_fit(rows, grades, sample_weight=weight)
    each = np.repeat(weight, [len(x) for x in rows])
    same = ListwiseRanker(random_state=0).partial_fit(X, y, qid, sample_weight=each)
    np.testing.assert_array_equal(some.coef_, same.coef_)


def test_searches_by_query_route_qid():
    X, y, qid = queries()
    with config_context(enable_metadata_routing=True):
        model = ListwiseRanker(random_state=0).set_fit_request(qid=True).set_score_request(qid=True)
        folds = GroupKFold(3).set_split_request(groups="qid")
        search = GridSearchCV(model, {"loss": LOSSES}, cv=folds).fit(X, y, qid=qid)
        assert search.best_score_ > 0.7
        scorer = make_scorer(metrics.ndcg, k=3).set_score_request(qid=True)
        again = GridSearchCV(model, {"loss": LOSSES}, cv=folds, scoring=scorer).fit(X, y, qid=qid)
        assert again.best_score_ != search.best_score_
    rows, grades = lists(X, y, qid)
    assert cross_val_score(ListwiseRanker(random_state=0), rows, grades, cv=3).mean() > 0.7


def test_searches_that_do_not_route_qid_are_told_how():
    X, y, qid = queries(n=12)
    search = GridSearchCV(ListwiseRanker(random_state=0), {"max_iter": [1]}, cv=GroupKFold(2))
    how = r"Scoring failed[\s\S]*set_score_request\(qid=True\)"
    with pytest.warns(UserWarning, match="non-finite"), pytest.warns(UserWarning, match=how):
        search.fit(X, y, qid=qid, groups=qid)


def test_a_search_goes_on_if_a_fold_has_no_relevant_item_of_positive_weight():
    X, y, qid = queries(n=12)
    y, weight = np.where(qid % 2, y, 0), np.where(qid % 2, 0.5, 2.0)
    folds = [(np.flatnonzero(qid % 2 == 1), np.flatnonzero(qid % 2 == 0))] * 2
    with config_context(enable_metadata_routing=True):
        model = ListwiseRanker(random_state=0).set_fit_request(qid=True, sample_weight=True)
        model.set_score_request(qid=True, sample_weight=True)
        search = GridSearchCV(model, {"max_iter": [1, 2]}, cv=folds, error_score="raise")
        with pytest.warns(UserWarning, match="test scores are non-finite"):
            search.fit(X, y, qid=qid, sample_weight=weight)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_progressive_validation_states_a_bound():
    X, y, qid = queries(n=200)
    rows, grades = lists(X, y, qid)
    run = progressive_validate(ListwiseRanker(), rows, grades, random_state=0, play="randomized")
    assert len(run.target_loss) == 200 and run.estimator.t_ == 200
    assert run.expected_target_loss.mean() < run.risk_bound() < 1.0
    model = ListwiseRanker().partial_fit(X, y, qid)
    np.testing.assert_array_equal(run.estimator.coef_, model.coef_)
    average = progressive_validate(ListwiseRanker(), rows, grades)
    assert average.surrogate_loss.shape == (200,)


def test_curves_are_steps_at_quantiles():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randn(400), rng.randint(3, size=400), np.ones(400)])
    X[::7, 0] = np.nan
    steps = QuantileBinner(X, np.ones(len(X)))
    known = X[~np.isnan(X[:, 0]), 0]
    np.testing.assert_allclose(
        steps.thresholds[steps.features == 0], np.quantile(known, np.arange(1, 20) / 20)
    )
    np.testing.assert_array_equal(steps.thresholds[steps.features == 1], [0, 1])
    assert (steps.features != 2).all()
    Z = steps.rows(X).matrix
    assert np.isnan(Z[::7, :19]).all() and not np.isnan(Z[1]).any()
    np.testing.assert_array_equal(Z[1, :19], known[0] > steps.thresholds[:19])
    np.testing.assert_array_equal(Z[:, 19:], X[:, 1:2] > [0, 1])


@pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")
def test_an_additive_ranker_learns_curves_goes_on_and_keeps_their_order_alone():
    rng = np.random.RandomState(0)
    qid, X = np.repeat(np.arange(400), 6), rng.randn(2400, 3)
    y = np.digitize(-np.abs(X[:, 0]) + 0.1 * rng.randn(2400), [-1.0, -0.5, -0.2])
    train, test = slice(0, 1800), slice(1800, None)
    curved = ListwiseRanker(kernel="additive", random_state=0).fit(X[train], y[train], qid[train])
    line = ListwiseRanker(kernel="linear", random_state=0).fit(X[train], y[train], qid[train])
    found = curved.score(X[test], y[test], qid[test])
    assert found > line.score(X[test], y[test], qid[test]) + 0.2
    assert len(curved.thresholds_) == len(curved.steps_) == 3 and not hasattr(curved, "coef_")
    curves = enumerate(zip(curved.thresholds_, curved.steps_, strict=True))
    apart = curved.predict(X[test]) - sum((X[test, j, None] > t) @ s for j, (t, s) in curves)
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)
    bent = clone(curved).fit(np.exp(X[train]), y[train], qid[train])
    np.testing.assert_allclose(bent.predict(np.exp(X[train])), curved.predict(X[train]), atol=1e-7)
    twin = pickle.loads(pickle.dumps(curved)).partial_fit(X[test], y[test], qid[test])
    for part in (slice(1800, 2100), slice(2100, None)):
        curved.partial_fit(X[part], y[part], qid[part])
    np.testing.assert_array_equal(twin.predict(X), curved.predict(X))


def test_by_default_curves_are_learned_of_dense_rows_and_lines_of_others():
    X, y, qid = queries()
    auto, additive, linear = (
        ListwiseRanker(kernel=kernel, random_state=0) for kernel in ("auto", "additive", "linear")
    )
    np.testing.assert_array_equal(
        auto.fit(X, y, qid).predict(X), additive.fit(X, y, qid).predict(X)
    )
    auto.partial_fit(X, y, qid)
    np.testing.assert_array_equal(auto.predict(X), additive.partial_fit(X, y, qid).predict(X))
    rows = sparse.csr_array(X)
    np.testing.assert_array_equal(auto.fit(rows, y, qid).coef_, linear.fit(rows, y, qid).coef_)
    stream = clone(auto).partial_fit(X, y, qid)
    np.testing.assert_array_equal(stream.coef_, clone(linear).partial_fit(X, y, qid).coef_)


def test_what_curves_do_not_take():
    X, y, qid = queries()
    model = ListwiseRanker(kernel="additive")
    with pytest.raises(ValueError, match="call fit on a first batch"):
        model.partial_fit(X, y, qid)
    rows, grades = lists(X, y, qid)
    with pytest.raises(ValueError, match="needs the quantiles of the features"):
        progressive_validate(model.fit(X, y, qid), rows, grades)
    with pytest.raises(ValueError, match="is only supported for dense rows"):
        clone(model).fit(sparse.csr_array(X), y, qid)
    with pytest.raises(AttributeError, match="set by fit with kernel='additive'"):
        _ = ListwiseRanker(kernel="linear").fit(X, y, qid).steps_


def test_odd_rounds():
    with pytest.raises(NotFittedError):
        ListwiseRanker().predict(np.ones((2, 2)))
    X = np.random.RandomState(0).randn(5, 2)
    for loss in LOSSES:
        model = ListwiseRanker(loss).partial_fit(X[:1], [1], [0])  # one item: nothing to learn
        np.testing.assert_array_equal(model.coef_, 0.0)
        model.partial_fit(np.ones((5, 2)), [0, 1, 2, 3, 4], [0] * 5)  # all items equal
        np.testing.assert_allclose(model.coef_, 0.0, atol=1e-12)
        model.partial_fit(X, [3] * 5, [0] * 5)  # all grades equal
        assert np.isfinite(model.predict(X)).all()
        assert np.isnan(model.score(X, [0] * 5, [0] * 5))
    rng = np.random.RandomState(0)
    for m in (7, 90):
        same = np.repeat(rng.randn(1, 30), m, axis=0)
        model = ListwiseRanker(standardize=False).partial_fit(same, np.arange(m) % 3, [0] * m)
        np.testing.assert_array_equal(model.coef_, 0.0)
    many = rng.randn(2000 if INTERPRETED else 100_000, 3)
    grades = np.digitize(many[:, 0], [1.0, 2.0, 3.0])
    model = ListwiseRanker().partial_fit(many, grades, np.zeros(len(many), dtype=int))
    assert model.coef_[0] > 3 * np.abs(model.coef_[1:]).max()


def test_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    X, y, qid = queries()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = ListwiseRanker(random_state=0).fit(frame, y, qid)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    plain = ListwiseRanker(random_state=0).fit(X, y, qid)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])


def test_gaps_in_items():
    X, y, qid = queries(n=200)
    X[::5, 4] = np.nan
    mean = ListwiseRanker(random_state=0).partial_fit(X, y, qid)
    assert np.isfinite(mean.predict(X)).all()
    marked = ListwiseRanker(missing="indicator", random_state=0).partial_fit(X, y, qid)
    assert marked.coef_.shape == (5,) and marked.missing_coef_.shape == (1, 5)
    ranges = marked.feature_ranges_
    completed = np.where(np.isnan(X), ranges.center, np.clip(X, ranges.low, ranges.high))
    by_hand = completed @ marked.coef_ + np.isnan(X) @ marked.missing_coef_[0]
    apart = marked.predict(X) - by_hand
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        ListwiseRanker(missing="error").fit(X, y, qid)


@pytest.mark.exhaustive
@pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")
def test_choices_subsets_and_assignments_in_every_form():
    rng = np.random.RandomState(0)
    X, pairs = rng.randn(200, 4, 3), rng.randn(150, 3, 3, 2)
    rows, qid = X.reshape(-1, 3), np.repeat(np.arange(200), 4)
    places, clicks = np.argmax(X @ [3.0, -2.0, 0.0], axis=1), (X @ [2.0, 1.0, 0.0] > 0.5) * 1
    best = np.array([linear_sum_assignment(x, maximize=True)[1] for x in pairs @ [1.0, -2.0]])
    models = []
    for space, given, y, least in (
        ("simplex", X, places, 0.9),
        ("hypercube", list(X), list(clicks), 0.9),
        ("birkhoff", pairs, best, 0.85),
    ):
        models.append(ItemStructuredPredictor(space, random_state=0).fit(given, y))
        assert models[-1].score(given, y) > least
        assert np.shape(models[-1].predict(given)) == np.shape(y)
    flat = clone(models[0]).fit(rows, np.eye(4, dtype=int)[places].ravel(), qid)
    np.testing.assert_array_equal(flat.coef_, models[0].coef_)
    found = flat.predict(rows, qid).reshape(-1, 4)
    np.testing.assert_array_equal(np.argmax(found, axis=1), models[0].predict(X))
    assert models[1].intercept_ < 0
    drawn = models[2].sample(pairs[:5], random_state=0)
    assert all(sorted(row) == [0, 1, 2] for row in np.array(drawn).tolist())


def test_models_with_random_features_are_refused():
    """They are of versions in which kernels of items were "rbf" too."""
    old = MappedRounds()
    old.inner = None
    with pytest.raises(ValueError, match=r'kernel="rbf".* is not supported any more'):
        pickle.loads(pickle.dumps(old))


def test_steps_go_by_the_weights_of_rounds():
    rng = np.random.RandomState(0)
    X, grades = rng.randn(60, 5, 3), rng.randint(0, 3, (60, 5))
    X[..., 2] = X[..., 2] > -1.0  # the largest value is a quantile
    weight = rng.choice([0.5, 2.0], 60)
    far = np.concatenate([1e4 + 1e3 * X, X])
    model = ListwiseRanker(kernel="additive", shuffle=False, random_state=0)
    wanted = clone(model).fit(X, grades, sample_weight=weight)
    nothing = np.r_[np.zeros(60), weight]
    found = clone(model).fit(far, np.concatenate([grades, grades]), sample_weight=nothing)
    for one, other in zip(found.thresholds_, wanted.thresholds_, strict=True):
        np.testing.assert_array_equal(one, other)
    alike = clone(model).fit(X, grades).thresholds_[0]
    assert not np.array_equal(alike, wanted.thresholds_[0])
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-6, atol=1e-9)


RNG = np.random.RandomState(0)
ROUNDS = [RNG.randn(3 + i % 2, 3) for i in range(90)]
CHOSEN = np.array([int(np.argmax(x @ [1.0, -1.0, 0.0] + RNG.gumbel(size=len(x)))) for x in ROUNDS])
X = np.concatenate(ROUNDS)
QID = np.repeat(np.arange(90), [len(x) for x in ROUNDS])
Y = np.concatenate([np.arange(len(x)) == k for x, k in zip(ROUNDS, CHOSEN, strict=True)]).astype(
    int
)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_searches_over_rows_with_qid():
    cv = GroupKFold(3).set_split_request(groups="qid")
    search = GridSearchCV(ConditionalLogit(), {"alpha": [1e-3, 100.0]}, cv=cv)
    search.fit(X, Y, qid=QID)
    assert search.best_params_["alpha"] < 100.0 and search.best_score_ > 0.5
    folds = [
        ConditionalLogit(1e-3).fit(X[a], Y[a], QID[a]).score(X[b], Y[b], QID[b])
        for a, b in GroupKFold(3).split(X, Y, QID)
    ]
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(folds))
    there = np.ones(len(X), dtype=bool)
    there[np.flatnonzero(Y == 0)[:5]] = False
    found = cross_val_score(
        ConditionalLogit(), X, Y, cv=cv, params={"qid": QID, "available": there}
    )
    assert len(found) == 3 and np.isfinite(found).all()
    weighted = ConditionalLogit().set_fit_request(sample_weight=True)
    weighted.set_score_request(sample_weight=True)
    params = {"qid": QID, "sample_weight": 1.0 + QID % 3}
    found = cross_validate(weighted, X, Y, cv=cv, params=params, return_estimator=True)
    a, _ = next(GroupKFold(3).split(X, Y, QID))
    one = ConditionalLogit().fit(X[a], Y[a], QID[a], None, 1.0 + QID[a] % 3)
    np.testing.assert_allclose(found["estimator"][0].covariance_, one.covariance_)
    assert sorted(ConditionalLogit().get_metadata_routing().consumes("predict_proba", ["qid"]))


def test_searches_over_matrices_need_no_routing():
    found = cross_val_score(ConditionalLogit(), ROUNDS, CHOSEN, cv=3)
    parts = np.array_split(np.arange(90), 3)
    rest = np.concatenate(parts[1:])
    one = ConditionalLogit().fit([ROUNDS[i] for i in rest], CHOSEN[rest])
    assert found[0] == one.score([ROUNDS[i] for i in parts[0]], CHOSEN[parts[0]])
    search = GridSearchCV(ConditionalLogit(), {"alpha": [1e-3, 100.0]}, cv=3).fit(ROUNDS, CHOSEN)
    assert search.best_params_["alpha"] == 1e-3


#: Checks of scikit-learn that fit nothing: those that do give rows without rounds.
WITHOUT_DATA = (
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
)


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_scikit_learn_checks_the_logit(name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("ConditionalLogit", ConditionalLogit(alpha=0.1))
