"""AdaBoost.OLM++ and its trees, against their literal forms and what is proved of them."""

import math
import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import boosting as naive
from naive.logistic import log_sum, softmax
from scipy import sparse
from scipy.optimize import minimize_scalar
from selection import test_the_room_as_python  # noqa: F401
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from benchmarks.adversaries import next_losses
from skstructured import AdaBoostOLMClassifier, GuaranteeError, OnlineTreeClassifier
from skstructured._engine.rows import Rows
from skstructured.estimators.boosting._rounds import (
    WeakState,
    correct,
    expert_shares,
    learn_correction,
    new_numbers,
    read_costs,
    root,
)

N = 60 if INTERPRETED else 400
K = 4
SMALL = {"n_estimators": 5, "shuffle": False, "random_state": 0}
TREE = OnlineTreeClassifier(max_depth=2, n_tests=3, patience=10)


def stream(rng, n=N, K=K, p=5):
    X = rng.randn(n, p)
    return X, np.argmax(X[:, :K] + 0.3 * rng.randn(n, K), axis=1)


def units(rng, X):
    """The same rows, each in units of its own, and some of them 0."""
    X = X * 10.0 ** rng.choice([-6, 0, 6], size=(len(X), 1))
    X[::11] = 0.0
    return X


def naive_trees(model):
    """Literal trees that try what the model's do."""
    return [
        naive.Tree(len(model.classes_), tried, model.model_.base.patience)
        for tried in model.model_.trees.tried
    ]


class Weak:
    """Any classifier as the literal boosting takes it."""

    def __init__(self, learner, K):
        self.learner, self.K, self.new = learner, K, True

    def predict(self, x, C):
        return 0 if self.new else int(self.learner.predict(x[None])[0])

    def update(self, x, C, y, weight):
        self.new, saved = False, weight * naive.savings(C[y])
        labels = np.flatnonzero(saved)
        rows, given = np.repeat(x[None], len(labels), axis=0), saved[labels]
        self.learner.partial_fit(rows, labels, classes=range(self.K), sample_weight=given)


def compare(model, reference, X, y, weight=None):
    """Play the stream by both; all that is seen of them must be equal."""
    rounds = model.begin(X, y, np.arange(reference.K))
    weight = np.ones(len(y)) if weight is None else weight
    losses = model.play_and_learn(rounds._replace(weight=weight), np.arange(len(y)), 0)
    for t in range(len(y)):
        votes, logs = reference.play_and_learn(X[t], y[t], weight[t])
        assert losses.expected[t] == pytest.approx(1.0 - votes[y[t]], abs=1e-9)
        assert losses.surrogate[t] == pytest.approx(-logs[y[t]], rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(model.model_.numbers[:, WeakState.MISTAKES], reference.mistakes)
    np.testing.assert_allclose(model.edges_, reference.edges / reference.weights, atol=1e-9)
    potentials = [regression.potential for regression in reference.regressions]
    np.testing.assert_allclose(model.model_.numbers[:, WeakState.POTENTIAL], potentials, rtol=1e-7)
    bounds = reference.regret_bounds()
    np.testing.assert_allclose(model.correction_regrets_, bounds, rtol=1e-7)
    assert all(reference.regret(i) <= bound + 1e-9 for i, bound in enumerate(bounds))
    for delta in (None, 0.1):
        stated = model.certificate(delta).bound(0.0, 0.0)
        assert stated == pytest.approx(reference.mistakes_bound(delta), rel=1e-7)
    for x, chain in zip(
        X[:9], np.stack(list(model.model_.chain(Rows.from_array(X[:9]))), axis=1), strict=True
    ):
        wanted = [s - log_sum(s) for s in reference.chain(x)[0][1:]]
        np.testing.assert_allclose(chain, wanted, rtol=1e-7, atol=1e-9)


#: Near 1, as rows of zeros make ties of totals of weight 1; and any, those of the first rows 0.
NEAR, ANY = (0.5, 0.9, 1.3), (0.0, 0.25, 1.0, 3.0, 20.0)


@pytest.mark.parametrize(
    ("lam", "change", "weights", "K"),
    [
        pytest.param(1.0, lambda rng, X: X, NEAR, 4, id="as they are"),
        pytest.param(1.0, lambda rng, X: X, ANY, 9, id="any weights"),
        pytest.param(0.1, units, NEAR, 4, id="in units"),
        pytest.param(10.0, units, NEAR, 4, id="in units, regularized"),
    ],
)
@pytest.mark.short("any weights")
@pytest.mark.interpreted
def test_the_compiled_loop_is_the_literal_algorithm(lam, change, weights, K, rng):
    """Rounds of weight 0 change nothing: not the clip of logits either, which grows with rounds."""
    X, y = stream(rng, min(N, 150), K, K + 1)
    X, model = change(rng, X), AdaBoostOLMClassifier(TREE, alpha=lam, **SMALL)
    model.begin(X, y, np.arange(K))
    weight = rng.choice(weights, size=len(y)) * rng.uniform(0.9, 1.1, size=len(y))
    weight[:4] *= weights is NEAR
    compare(model, naive.Boosting(K, naive_trees(model), lam), X, y, weight)


@pytest.mark.interpreted
def test_other_weak_learners_take_the_same_way(rng):
    X, y = stream(rng, 25)
    model = AdaBoostOLMClassifier(SGDClassifier(random_state=0), **SMALL)
    model.begin(X, y, np.arange(K))
    weak = [Weak(learner, K) for learner in pickle.loads(pickle.dumps(model.estimators_))]
    compare(model, naive.Boosting(K, weak, 1.0), X, y)


@pytest.mark.interpreted
def test_a_tree_alone_is_the_literal_tree(rng):
    X, y = stream(rng)
    model = OnlineTreeClassifier(max_depth=3, n_tests=4, patience=15, random_state=0)
    for rows in (X, units(rng, X), np.zeros_like(X)):
        weight = rng.rand(len(y))
        rounds = model.begin(rows, y, np.arange(K))._replace(weight=weight)
        reference = naive.Tree(K, model.model_.trees.tried[0], 15)
        losses = model.play_and_learn(rounds, np.arange(len(y)))
        for x, label, w, loss in zip(rows, y, weight, losses.target, strict=True):
            assert loss == float(reference.predict(x) != label)
            reference.update(x, 1.0 - np.eye(K), label, w)
        counts = np.array([reference.leaf(x).counts for x in rows])
        shares = counts / counts.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(rows), shares)


def test_of_equally_heavy_classes_the_first_answers():
    tree = OnlineTreeClassifier(random_state=0)
    tree.partial_fit(np.zeros((2, 1)), [2, 1], classes=np.arange(K))
    x = np.zeros((1, 1))
    losses = next_losses(tree, tree.resume(np.repeat(x, K, axis=0), np.arange(K)))
    assert tree.predict(x)[0] == np.argmin(losses) == 1


def test_an_empty_leaf_predicts_all_classes_alike(rng):
    X, y = stream(rng, 5)
    tree = OnlineTreeClassifier(random_state=0)
    tree.partial_fit(X, y, classes=np.arange(K), sample_weight=np.zeros(5))
    np.testing.assert_array_equal(tree.predict_proba(X), np.full((5, K), 1.0 / K))


@pytest.mark.interpreted
class TestCorrection:
    @pytest.mark.parametrize("a", [0.0, 1e-6, 1.0, 1e3, 1e20])
    def test_the_root_solves_its_equation(self, a):
        for c in (0.0, 1e-9, -0.3, 5.0, -40.0, 700.0):
            m = root(c, a)
            if a <= 1e3:
                tail = 1.0 / (1.0 + math.exp(-m)) - 0.5
                assert m + a * tail == pytest.approx(c, rel=1e-12, abs=1e-12 * (1 + a))
            assert abs(m) <= abs(c) and m * c >= 0.0

    @pytest.mark.parametrize("kind", ["rising", "random", "always right", "liar"])
    @pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
    def test_regret_is_below_the_bound_of_log_squared(self, kind, lam, rng):
        T = 200 if INTERPRETED else 1000
        answers, truths, inputs = correction_stream(kind, rng, T)
        state, losses = new_numbers(1, lam)[0], np.zeros(T)
        for t in range(T):
            s = inputs[t] - log_sum(inputs[t])
            p = np.exp(s)
            r, m, q = correct(answers[t], 1.0, math.log(max(t + 1, 2)), state, s, p)
            losses[t] = -s[truths[t]]
            learn_correction(r, m, q, answers[t] == truths[t], 1.0, state)
        clipped = np.log1p(math.e**2 / np.maximum(np.arange(1, T + 1), 2.0) ** 2).sum()
        best = minimize_scalar(
            lambda a: shifted_loss(a, answers, truths, inputs) + lam * a * a / 2,
            bounds=(-2, 2),
            method="bounded",
        )
        assert losses.sum() <= best.fun + state[WeakState.POTENTIAL] + clipped
        assert state[WeakState.POTENTIAL] <= log_squared(T, lam)


def correction_stream(kind, rng, T):
    """Weak answers, truths and logits (T, 3)."""
    truths, inputs = rng.randint(3, size=T), rng.randn(T, 3)
    if kind == "rising":  # logits that know the truth better and better
        inputs[np.arange(T), truths] += np.linspace(0, 20, T)
        return rng.randint(3, size=T), truths, inputs
    if kind == "liar":  # logits that are sure, and wrong
        inputs[np.arange(T), (truths + 1) % 3] += 15.0
        return (truths + (rng.rand(T) < 0.5)) % 3, truths, inputs
    return (truths + (rng.rand(T) < 0.3 * (kind == "random"))) % 3, truths, inputs


def shifted_loss(alpha, answers, truths, inputs):
    """Σ −log softmax(s + α e_l)_y."""
    Z = inputs.copy()
    Z[np.arange(len(Z)), answers] += alpha
    return sum(log_sum(z) - z[y] for z, y in zip(Z, truths, strict=True))


def log_squared(T, lam):
    """½(2√2 R + 2)(1 + ρ/2) ln(1 + TR/(8√2 λ)), R² = 1 + ln²T, ρ = R/(4√2 λ)."""
    R = math.sqrt(1.0 + math.log(T) ** 2)
    grown, rho = T * R / (8.0 * math.sqrt(2.0) * lam), R / (4.0 * math.sqrt(2.0) * lam)
    return 0.5 * (2.0 * math.sqrt(2.0) * R + 2.0) * (1.0 + rho / 2.0) * math.log1p(grown)


class TestHedge:
    @pytest.mark.parametrize("weights", [(1.0,), (2.0,), (20.0,), (412.0,), (0.0, 1e-3, 5.0, 1e6)])
    def test_mistakes_are_bounded_by_weight_against_an_adversary(self, weights):
        """The likeliest expert errs alone, and the others are right."""
        numbers, shares, lost = new_numbers(4, 1.0), np.empty(4), 0.0
        for t in range(200):
            w = weights[t % len(weights)]
            numbers[:, WeakState.HEAVIEST] = np.maximum(numbers[:, WeakState.HEAVIEST], w)
            expert_shares(numbers, shares)
            wrong = np.argmax(shares)
            lost += w * shares[wrong]
            numbers[wrong, WeakState.MISTAKES] += w
        price = max(1.0, *weights) * math.log(4)
        assert lost <= (numbers[:, WeakState.MISTAKES].min() + price) / (1.0 - math.exp(-1.0))

    @pytest.mark.parametrize("weight", [1.0, 7.0])
    def test_a_round_counts_its_own_weight(self, weight, rng):
        X, y = stream(rng)
        given = np.full(len(y), weight)
        model = AdaBoostOLMClassifier(TREE, **SMALL).fit(X, y, sample_weight=given)
        mistakes = model.model_.numbers[:, WeakState.MISTAKES]
        behind = mistakes - mistakes.min()
        weights = np.exp(-behind / weight)
        np.testing.assert_allclose(model.expert_weights_, weights / weights.sum())
        assert model.leader_ == np.argmin(behind)

    def test_draws_have_the_shares_of_the_hedge(self, rng):
        X, y = stream(rng)
        model = AdaBoostOLMClassifier(TREE, **SMALL).fit(X, y)
        model.model_.numbers[:, WeakState.MISTAKES] = [0.0, 1.0, 0.5, 3.0, 0.2]
        X = X[:50]
        staged = np.array(list(model.staged_predict(X)))
        drawn = np.array([model.sample(X, seed) for seed in range(300)])
        wanted = np.einsum("i,ink->nk", model.expert_weights_, staged[:, :, None] == np.arange(K))
        got = (drawn[:, :, None] == np.arange(K)).mean(axis=0)
        assert np.abs(got - wanted).max() < 0.15 and np.abs(got - wanted).mean() < 0.02
        np.testing.assert_array_equal(model.sample(X, 3), model.sample(X, 3))

    def test_predict_follows_the_leader(self, rng):
        X, y = stream(rng)
        model = AdaBoostOLMClassifier(TREE, **SMALL).fit(X, np.array(list("abcd"))[y])
        staged = list(model.staged_predict(X))
        probabilities = [np.exp(logits) for logits in model.model_.chain(Rows.from_array(X))]
        assert len(staged) == len(probabilities) == len(model.estimators_) == 5
        np.testing.assert_array_equal(model.predict(X), staged[model.leader_])
        np.testing.assert_array_equal(model.predict_proba(X), probabilities[model.leader_])
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        for expert, P in zip(staged, probabilities, strict=True):
            np.testing.assert_array_equal(expert, model.classes_[P.argmax(axis=1)])
            np.testing.assert_allclose(P.sum(axis=1), 1.0)


class TestWeakLearners:
    @pytest.mark.parametrize(
        ("estimator", "message"),
        [
            (KNeighborsClassifier(), "estimator must be .* no partial_fit"),
            (LinearRegression(), "estimator must be .* no partial_fit"),
            (SGDClassifier, "estimator must be .* no partial_fit"),
            ("tree", "estimator must be .* no partial_fit"),
            (make_pipeline(StandardScaler(), SGDClassifier()), "(?s)estimator .* no partial_fit"),
            (StandardScaler(), "estimator must be .* not a scikit-learn classifier"),
            (OnlineTreeClassifier(max_depth=0), "max_depth must be an integer from 1 to 12"),
            (OnlineTreeClassifier(n_tests=0), "n_tests must be an integer"),
        ],
    )
    def test_what_is_none_is_named(self, estimator, message, rng):
        X, y = stream(rng)
        model = AdaBoostOLMClassifier(**SMALL).fit(X, y)
        with pytest.raises(ValueError, match=message):
            model.set_params(estimator=estimator).fit(X, y)
        assert model.t_ == N

    def test_one_that_answers_with_no_class_is_named(self, rng):
        X, y = stream(rng, 10)
        with pytest.raises(ValueError, match="estimator must predict one of the classes"):
            AdaBoostOLMClassifier(Stubborn(), **SMALL).fit(X, y)

    @pytest.mark.parametrize("weak", [GaussianNB(), SGDClassifier(), Perceptron()], ids=str)
    @pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
    @pytest.mark.short(every=3)
    def test_those_of_scikit_learn_are_boosted(self, weak, rng):
        X, y = stream(rng, 150)
        model = AdaBoostOLMClassifier(weak, **SMALL).fit(X, y)
        assert model.score(X, y) > 0.6
        assert [type(e) for e in model.estimators_] == [type(weak)] * 5
        assert len({getattr(e, "random_state", e) for e in model.estimators_}) == 5

    def test_one_that_reads_no_csr_rows_is_named_and_nothing_changes(self, rng):
        X, y = stream(rng, 30)
        model = AdaBoostOLMClassifier(GaussianNB(), **SMALL)
        with np.errstate(all="ignore"):
            before = model.fit(X, y).model_.numbers.copy()
        with pytest.raises(ValueError, match="estimator=GaussianNB.* does not support sparse rows"):
            model.partial_fit(sparse.csr_matrix(X), y)
        np.testing.assert_array_equal(model.model_.numbers, before)

    def test_our_trees_are_seen_as_estimators(self, rng):
        X, y = stream(rng)
        model = AdaBoostOLMClassifier(TREE, **SMALL).fit(X, y)
        trees = model.estimators_
        assert all(tree.max_depth == 2 and tree.model_.trees.feature[0, 0] >= 0 for tree in trees)
        before = model.predict_proba(X)
        trees[0].partial_fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), before)
        first = next(model.staged_predict(X))
        agrees = [(tree.predict(X) == first).mean() for tree in model.estimators_]
        assert agrees[0] > 0.9

    @pytest.mark.exhaustive
    def test_csr_rows_reach_them(self, rng):
        X, y = stream(rng, 40)
        X[np.abs(X) < 0.5] = 0.0
        linear = Perceptron(fit_intercept=False)
        says_so = get_tags(linear).input_tags.sparse  # not so before scikit-learn 1.7
        for weak in (None, linear) if says_so else (None,):
            dense = AdaBoostOLMClassifier(weak, **SMALL).fit(X, y)
            csr = AdaBoostOLMClassifier(weak, **SMALL).fit(sparse.csr_matrix(X), y)
            shown = csr.predict_proba(sparse.csr_matrix(X))
            np.testing.assert_allclose(shown, dense.predict_proba(X), atol=1e-9)


class Stubborn(SGDClassifier):
    """It answers with no class at all."""

    def predict(self, X):
        return np.full(X.shape[0], 0.5)


def test_corrections_keep_their_bound_and_the_losses_fall_by_the_edges(rng):
    """(C.4) with the numbers at hand: Σℓ(s^N) ≤ T ln K − ½ Σ w_i γ_i² + Σ regrets."""
    X, y = stream(rng)
    model = AdaBoostOLMClassifier(TREE, **SMALL)
    rounds = model.begin(X, y, np.arange(K))
    total = 0.0
    for t in range(len(y)):
        *_, logits = model.model_.chain(Rows.from_array(X[t : t + 1]))
        total -= logits[0, y[t]]
        model.learn(rounds, np.array([t]))
    gained = 0.5 * (model.model_.numbers[:, 6] * model.edges_**2).sum()
    assert total <= len(y) * math.log(K) - gained + model.correction_regrets_.sum()


@pytest.mark.parametrize("K", [2, 4, 7])
def test_the_costs_are_those_of_the_paper(K, rng):
    """(C.1) is in the set of section 4.2, and what is saved makes 0-1 losses of costs."""
    s = 3.0 * rng.randn(K)
    C, state, saved = naive.cost_matrix(s), new_numbers(1, 1.0)[0], np.empty(K)
    assert np.all(C >= 0.0) and np.all(np.diag(C) == 0.0) and np.all(C.sum(axis=1) <= 1.0)
    for y in range(K):
        read_costs(y, 0, 2.5, state, softmax(s), saved)
        np.testing.assert_allclose(saved, 2.5 * naive.savings(C[y]), atol=1e-15)
        wrong = saved.sum() - saved  # the weighted 0-1 loss of every answer
        np.testing.assert_allclose(wrong - wrong[y], 2.5 * C[y], atol=1e-14)
        assert saved[y] > 0.0 and saved.min() == 0.0


def test_weak_learners_see_the_costs_of_every_class(rng):
    """A learner that is sure of a wrong class is taught all others, and that one not at all."""
    X, y = stream(rng, 30)
    model = AdaBoostOLMClassifier(Recording(), n_estimators=2, shuffle=False).fit(X, y)
    first, second = (learner.seen for learner in model.estimators_)
    assert all(list(labels) == [y[t]] for t, (labels, _) in enumerate(first))
    np.testing.assert_allclose([w[0] for _, w in first], 1.0 / K)
    assert any(len(labels) > 2 for labels, _ in second)
    assert all(y[t] in labels and len(labels) < K for t, (labels, _) in enumerate(second))
    assert all(np.all(w > 0.0) for _, w in second)


class Recording(ClassifierMixin, BaseEstimator):
    """Keeps the labels and weights it learns, and answers the last label."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.seen = [*getattr(self, "seen", []), (np.array(y), np.array(sample_weight))]
        self.classes_ = np.asarray(classes)
        return self

    def predict(self, X):
        return np.full(len(X), self.seen[-1][0][-1])


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 3.0)])
def test_mistakes_are_below_proposition_4_4(weights, rng):
    X, y = stream(rng)
    weight = rng.choice(weights, size=len(y))
    model = AdaBoostOLMClassifier(TREE, **SMALL)
    with pytest.raises(GuaranteeError, match="No bound before the first round"):
        model.certificate()
    rounds = model.begin(X, y, np.arange(K))._replace(weight=weight)
    losses = model.play_and_learn(rounds, np.arange(len(y)), 0)
    certificate = model.certificate()
    assert weight @ losses.expected <= certificate.bound(0.0, 0.0)
    assert weight @ losses.target <= model.certificate(0.01).bound(0.0, 0.0)
    assert model.model_.numbers[:, WeakState.MISTAKES].min() <= certificate.constants["mistakes"]
    with pytest.raises(GuaranteeError, match="holds for comparators"):
        certificate.bound(0.0, 1.0)
    for delta in (0.0, 1.0, "half"):
        with pytest.raises(ValueError, match="delta must"):
            model.certificate(delta)


def test_boosting_beats_its_weak_learner(rng):
    X = rng.randn(300 if INTERPRETED else 5000, 6)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > X[:, 3])
    half = len(y) // 2
    tree = OnlineTreeClassifier(random_state=0).fit(X[:half], y[:half])
    model = AdaBoostOLMClassifier(random_state=0).fit(X[:half], y[:half])
    gain = model.score(X[half:], y[half:]) - tree.score(X[half:], y[half:])
    assert gain > (-0.1 if INTERPRETED else 0.2)
