"""Rankings with ties and missing ranks: each is the mean of the full rankings that it allows."""

import itertools

import numpy as np
import pytest
from plain import predictor
from scipy.stats import kendalltau, rankdata
from sklearn.base import clone

import skstructured as sk
from skstructured.estimators.margin._outputs import outputs_of
from skstructured.evaluation import progressive_validate
from skstructured.metrics import kendall_tau
from skstructured.spaces import Permutahedron

NAN = np.nan
LEARNERS = {
    "online": sk.OnlineStructuredPredictor("ranking", random_state=0),
    "kernel": sk.KernelStructuredPredictor("ranking", random_state=0),
    "mixture": sk.StructuredPredictor("ranking", random_state=0),
    "max-min margin": sk.MaxMinMarginNetwork("ranking", random_state=0),
    "structural SVM": sk.StructuralSVM("ranking", tol=0.01, random_state=0),
    "quadratic": sk.QuadraticSurrogate("ranking"),
}


def orders(y):
    """The permutations that agree with a row: ties in any order, NaN behind all numbers."""
    level = [-np.inf if np.isnan(v) else v for v in y]
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if level[i] > level[j]]
    every = itertools.permutations(range(1, len(y) + 1))
    return np.array([z for z in every if all(z[i] > z[j] for i, j in pairs)], dtype=float)


def weak_orders(d):
    """Mean ranks of all rankings of d items with ties."""
    grades = np.array(list(itertools.product(range(d), repeat=d)))
    return np.unique(rankdata(grades, axis=1), axis=0)


def of_size(d):
    return Permutahedron().fit([np.arange(1, d + 1)])


@pytest.mark.parametrize(
    "y",
    [
        [4, 3, NAN, NAN],
        [NAN, NAN, NAN, 4],
        [2.5, 2.5, 2.5, 2.5],
        [3.5, NAN, 3.5, NAN],
        [NAN, 4, 2, 3],
        [1, 3, 3, 3],
        [5, 2, NAN, 3.5, 3.5],
        [1.5, 1.5],
    ],
)
def test_an_encoded_ranking_is_the_mean_over_its_orders(y):
    space = Permutahedron().fit([y])
    np.testing.assert_allclose(space.encode([y])[0], orders(y).mean(axis=0), rtol=1e-15)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_losses_are_means_over_the_orders_minus_the_least(d):
    """At all rankings with ties, and all predictions."""
    space, every = of_size(d), of_size(d).vertices()
    for y in weak_orders(d):
        z = orders(y)
        literal = [space.target_loss(np.tile(play, (len(z), 1)), z).mean() for play in every]
        found = space.target_loss(every, np.tile(y, (len(every), 1)))
        np.testing.assert_allclose(found, np.array(literal) - min(literal), atol=1e-15)
        allowed = (every[:, None] == z[None]).all(axis=2).any(axis=1)
        np.testing.assert_array_equal(found == 0.0, allowed)
        assert found.min() == 0.0 and found.max() <= 1.0


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_constants_hold_at_ties(d, norm):
    """L(μ; y) ≤ γ‖μ − y‖, and a vertex has the loss 0 or the distance ν."""
    space = of_size(d)
    k, every, ties = space.geometry(norm), space.vertices(), weak_orders(d)
    rng = np.random.RandomState(d)
    means = np.concatenate([every, ties, rng.dirichlet(np.full(len(every), 0.1), 100) @ every])
    order = 1 if norm == "l1" else 2
    for y in ties:
        for points in (every, means):
            loss = space.expected_loss(points, np.broadcast_to(y, points.shape))
            away = np.linalg.norm(points - y, ord=order, axis=1)
            assert np.all(loss <= k.gamma * away + 1e-12) and loss.min() >= -1e-15
            if points is every:
                assert np.all((loss == 0.0) | (away >= k.nu - 1e-12))


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0, 1e4])
def test_lemma_3_1_holds_at_ties_for_means_over_their_orders(size, rng):
    """S ≥ c/2 ‖ŷ − y‖²; and E[L] + L(y; v) ≤ (1 − a) (S + c (Ω(v) − Ω(y))), v an order of y.

    Without what is added it fails near ties, except for two items.
    """
    for d in (2, 3, 5):
        loss, y = sk.FenchelYoung(of_size(d)), weak_orders(d)
        theta = size * np.concatenate([rng.randn(len(y), d), y, y[::-1]])
        y = np.tile(y, (3, 1))
        mu, value = loss.mean_and_value(theta, y)
        k, slack = loss.constants_of(), 1e-11 * (1.0 + np.abs(theta).sum(axis=1))
        assert np.all(value + slack >= 0.5 * k.c * ((mu - y) ** 2).sum(axis=1))
        expected = sk.decoders.Randomized().expected_loss(theta, mu, y, loss)
        v = loss.space.nearest(y)
        mean = value + k.c * (loss.omega(v) - loss.omega(y))
        assert np.all(expected + loss.space.expected_loss(y, v) <= (1.0 - k.a) * mean + slack)
        near = y - 1e-3 * (y - y.mean(axis=1, keepdims=True))
        mu, value = loss.mean_and_value(near, y)
        alone = sk.decoders.Randomized().expected_loss(near, mu, y, loss)
        assert np.any(alone > 10.0 * (1.0 - k.a) * value + 1e-12) == (d > 2)


def test_ranks_with_ties_are_decoded_as_they_are():
    for d in (2, 3, 4):
        y = weak_orders(d)
        np.testing.assert_array_equal(of_size(d).decode(y), y)
    assert of_size(3).decode(np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]])).dtype == np.int64


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[3, 2, 1], [1, 2, 2]], r"Row 1 of y, \[1, 2, 2\], must be \[1.0, 2.5, 2.5\] if its larg"),
        ([[1, NAN, NAN]], r"Row 0 of y, .*must be \[3.0, 1.5, 1.5\].*behind all others"),
        ([[1, 2, 3], [NAN, NAN, NAN]], "Row 1 of y ranks no item: all are NaN. Leave it out"),
        ([[0, 1.5, 1.5]], r"must be \[1.0, 2.5, 2.5\]"),
        ([[1, 2, 4]], r"Row 0 of y, \[1, 2, 4\], is not a permutation of 1..3"),
        ([["a", "b"]], "y must hold integers"),
        ([[NAN], [1]], "at least two items"),
    ],
)
def test_rankings_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Permutahedron().fit(y)


def test_the_remedy_of_the_error_is_accepted(rng):
    """Grades with missing ones, the largest the best."""
    y = np.where(rng.rand(50, 5) < 0.3, NAN, rng.randint(0, 4, (50, 5)))
    y[:, 0] = 2.0
    with pytest.raises(ValueError, match="For all rows this is ") as caught:
        Permutahedron().fit(y)
    remedy = str(caught.value).partition("this is scipy.stats.")[2].rstrip(".")
    ranks = eval(remedy, {"np": np, "rankdata": rankdata, "y": y})
    np.testing.assert_array_equal(Permutahedron().fit(ranks).encode(ranks), ranks)
    for row, found in zip(y[:10], ranks, strict=False):
        np.testing.assert_allclose(found, orders(row).mean(axis=0))


def rows(rng, n=90):
    """Features, full rankings, and the same as top lists with ties."""
    X = rng.randn(n, 3)
    full = (X @ rng.randn(3, 4) + 0.1 * rng.randn(n, 4)).argsort(axis=1).argsort(axis=1) + 1.0
    lists = np.where(full > rng.randint(1, 4, (n, 1)), full, NAN)
    lists[:20] = np.where(full[:20] > 2.0, 3.5, NAN)
    return X, full, lists


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_lists_and_ties(name, rng):
    """NaN as its mean rank; predictions are permutations, near the full rankings."""
    X, full, lists = rows(rng)
    completed = rankdata(np.nan_to_num(lists, nan=-np.inf), axis=1)
    model, same = (clone(LEARNERS[name]).fit(X, y) for y in (lists, completed))
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, same.predict(X))
    np.testing.assert_array_equal(np.sort(predicted, axis=1), np.tile([1, 2, 3, 4], (90, 1)))
    assert kendall_tau(predicted, full, average=True) > 0.7
    loss = model.space_.target_loss(predicted, lists)
    assert model.score(X, lists) == pytest.approx(1.0 - loss.mean())


@pytest.mark.parametrize("name", ["max-min margin", "quadratic"])
@pytest.mark.parametrize("first", [0, 11])
def test_losses_that_are_linear_in_y_learn_the_mean_over_the_orders(name, first, rng):
    """As rows repeated in all orders, each with its share of the weight."""
    X, _, lists = rows(rng, 12)
    lists[first] = [2.5, 2.5, 2.5, 2.5]
    every = [orders(y) for y in lists]
    sizes = np.array([len(z) for z in every])
    given = {"alpha": 0.1, "standardize": False}
    given |= {"tol": 1e-5, "max_iter": 3000} if name == "max-min margin" else {}
    one, repeated = (clone(LEARNERS[name]).set_params(**given) for _ in range(2))
    one.fit(X, lists)
    weight = np.repeat(1.0 / sizes, sizes)
    repeated.fit(np.repeat(X, sizes, axis=0), np.concatenate(every), sample_weight=weight)
    np.testing.assert_allclose(one.coef_, repeated.coef_, atol=2e-3)
    if name == "max-min margin":  # squares also have the variance over the orders
        assert one.loss_curve_[-1] == pytest.approx(repeated.loss_curve_[-1], abs=2e-5)


def test_constants_of_margins_do_not_depend_on_ties_of_the_first_row():
    """The default penalty is in units of the largest cost, which a row of ties does not have."""
    outputs = outputs_of(of_size(4), None)
    full, ties = np.array([[1.0, 2.0, 3.0, 4.0]]), np.full((1, 4), 2.5)
    assert outputs._bilinear(ties)[3] == pytest.approx(outputs._bilinear(full)[3], rel=1e-15)
    assert (
        outputs.unit(ties, None) == outputs.unit(full, None) == np.abs(outputs.costs(full)[0]).max()
    )


def test_a_structural_svm_is_penalized_for_the_loss_at_ties(rng):
    """max over y' of L(y'; y) + <θ, y' − y>, literally."""
    X, _, lists = rows(rng, 30)
    model = sk.StructuralSVM("ranking", alpha=0.1, standardize=False, fit_intercept=False, tol=1e-4)
    model.set_params(max_iter=5000, random_state=0).fit(X, lists)
    space, every = model.space_, model.space_.vertices()
    theta, V = X @ model.coef_.T, model.space_.encode(lists)
    literal = [
        np.max(space.expected_loss(every, np.tile(v, (len(every), 1))) + (every - v) @ t)
        for t, v in zip(theta, V, strict=True)
    ]
    objective = np.mean(literal) + 0.05 * np.sum(model.coef_**2)
    assert objective == pytest.approx(model.loss_curve_[-1], rel=1e-9)
    assert np.all(np.array(literal) >= space.target_loss(model.predict(X), lists) - 1e-12)


@pytest.mark.parametrize("constants", ["paper", "sharp"])
def test_a_stream_of_lists_keeps_its_regret_bound(constants, rng):
    """Also of noise with all kinds of ties before it."""
    X, _, lists = rows(rng)
    lists[:40] = weak_orders(4)[rng.randint(0, 75, 40)]
    loss = sk.FenchelYoung(constants=constants)
    model = predictor("ranking", loss=loss)
    result = progressive_validate(model, X, lists, random_state=0, play="randomized")
    assert 0.0 < result.expected_target_loss.sum() <= result.regret_bound()
    share = 1.0 - result.estimator.loss_.surrogate_gap
    assert np.all(result.expected_target_loss <= share * result.surrogate_loss + 1e-9)


def test_prediction_sets_contain_an_order_of_the_ties(rng):
    """Every pair that y orders is allowed in its order as often as the level asks."""
    X, _, lists = rows(rng, 600)
    sets = sk.PredictionSets(LEARNERS["online"], alpha=0.2, random_state=0)
    sets.fit(X[:300], lists[:300])
    allowed, y = sets.predict_set(X[300:]), Permutahedron().fit(lists).encode(lists[300:])
    ahead = y[:, :, None] > y[:, None, :]
    share = (allowed | ~ahead).all(axis=(1, 2)).mean()
    assert 0.72 < share < 0.9


def test_kendalls_tau_of_ties_is_the_mean_over_their_orders(rng):
    for d in (2, 3, 4):
        for y in weak_orders(d):
            play, z = rng.permutation(d) + 1.0, orders(y)
            literal = [kendalltau(play, one).statistic for one in z]
            assert kendall_tau([play], [y])[0] == pytest.approx(np.mean(literal), abs=1e-12)


def test_kendalls_tau_refuses_missing_ranks():
    for pair in ([[1, 2]], [[2, NAN]]), ([[2, NAN]], [[1, 2]]):
        with pytest.raises(ValueError, match="must not contain NaN. Complete ranks"):
            kendall_tau(*pair)
