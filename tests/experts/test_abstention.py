"""Expert advice with abstention: the literal rule, Theorem 7, honest rows, and its manners."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from learners import binary_stream
from naive import hedge as naive
from plain import perceptron, predictor
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.adversaries import GreedyAdversary, next_losses, play
from skstructured import AbstainingHedgeClassifier, GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.spaces import Simplex

T = 60 if INTERPRETED else 400


class Column(ClassifierMixin, BaseEstimator):
    """Says the entry of a column of X, which is in [−1, 1]; never trained."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, self.column]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]


def columns(d, **parameters):
    """The meta-classifier over d fitted experts that say the columns of X."""
    experts = [Column(j).fit(None, [0, 1]) for j in range(d)]
    return AbstainingHedgeClassifier(experts, train=False, random_state=0, **parameters)


def said_and_truth(rng, n, d, kind):
    """Opinions (n, d) in multiples of 2⁻¹⁰, and labels 0 and 1."""
    y, good = rng.randint(2, size=n), rng.random_sample(d)
    right = rng.random_sample((n, d)) < good
    U = np.where(right, 1.0, -1.0) * (2.0 * y - 1.0)[:, None]
    if kind == "soft":
        U = np.rint(U * rng.random_sample((n, d)) * 1024) / 1024
    elif kind == "alternating":
        U = np.where((np.arange(n)[:, None] + np.arange(d)) % 2 == 0, 1.0, -1.0)
    elif kind == "clones":
        U = np.repeat(U[:, :1], d, axis=1)
    return U, y


@pytest.mark.parametrize("kind", ["hard", "soft", "alternating", "clones"])
@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("cost", [0.0, 0.3, 0.49])
def test_rounds_are_the_literal_rule_and_keep_theorem_7(d, cost, kind, rng):
    U, y = said_and_truth(rng, T, d, kind)
    twin = naive.Abstaining(d, cost)
    wanted = [twin.round(list(u), 2 * k - 1) for u, k in zip(U, y, strict=True)]
    result = progressive_validate(
        columns(d, abstention_cost=cost), U, y, random_state=0, play="randomized"
    )
    np.testing.assert_allclose(result.expected_target_loss, wanted, atol=1e-9)
    model = result.estimator
    np.testing.assert_allclose(model.hedge_.weights_, twin.hedge.weights(), atol=1e-9)
    told, _, b = twin.play(list(U[0]))
    assert model.decision_function(U[:1])[0] == pytest.approx(told, abs=1e-9)
    assert 1.0 - abs(told) == pytest.approx(b, abs=1e-9)
    bound = model.certificate().bound()
    assert bound == pytest.approx(twin.bound()) and np.sum(wanted) <= bound
    assert result.regret_bound() == pytest.approx(bound)
    np.testing.assert_allclose(result.comparator_loss(np.eye(d)[0]).sum(), model.expert_losses_[0])


@pytest.mark.parametrize("kind", ["split", "soft", "leader"])
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("cost", [0.1, 0.45])
def test_theorem_7_holds_for_experts_and_labels_that_know_the_weights(d, cost, kind, rng):
    model, lost = columns(d, abstention_cost=cost), 0.0
    model.begin(np.zeros((2, d)), [0, 1], classes=[0, 1])
    for _ in range(T):
        p = model.hedge_.weights_
        if kind == "split":  # as even a split of the weights as there is
            u = np.where((np.cumsum(p) - p / 2.0) < 0.5, 1.0, -1.0)[None]
        elif kind == "soft":
            u = np.rint(rng.uniform(-1.0, 1.0, size=(1, d)) * 64) / 64
        else:  # the leader against all others
            u = np.where(np.arange(d) == np.argmax(p), 1.0, -1.0)[None]
        losses = next_losses(model, model.resume(np.repeat(u, 2, axis=0), [0, 1]))
        k = int(np.argmax(losses)) if rng.random_sample() < 0.9 else rng.randint(2)
        lost += losses[k]
        model.partial_fit(u, [k])
    assert lost <= model.certificate().bound()


@pytest.mark.exhaustive
def test_theorem_7_holds_against_the_adversary_of_the_package():
    learner = AbstainingHedgeClassifier([perceptron(), predictor(), GaussianNB()], random_state=0)
    stream, space = GreedyAdversary(T // 2, random_state=0), Simplex().fit(["a", "b"])
    result = play(learner, stream, space, random_state=0)
    assert result.expected_target_loss.sum() <= result.estimator.certificate().bound()
    with pytest.raises(GuaranteeError, match="were not kept"):
        result.regret_bound()


class TestWhatItSays:
    def model(self, **parameters):
        return columns(2, **parameters).partial_fit([[1.0, -1.0]], [1], classes=[0, 1])

    def test_abstains_where_a_mistake_is_likelier_than_the_cost(self):
        model, X = self.model(), np.linspace(-1.0, 1.0, 41)[:, None] * np.ones(2)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.abstains(X), 1.0 - p.max(axis=1) > 0.3)
        np.testing.assert_allclose(np.abs(model.decision_function(X)), np.abs(X[:, 0]), atol=1e-6)
        assert model.set_params(abstention_cost=0.5).abstains(X).sum() == 0
        assert model.set_params(abstention_cost=0.0).abstains(X).sum() == 39

    @pytest.mark.parametrize(
        ("label", "kind"), [("?", object), (-1, np.int64), (np.nan, np.float64), (9.5, np.float64)]
    )
    def test_markers(self, label, kind):
        X, model = np.array([[0.1, 0.1], [0.9, 0.9], [-0.9, -0.9]]), self.model(abstain_label=label)
        said = model.predict(X)
        assert said.dtype == kind and list(said[1:]) == [1, 0]
        assert said[0] is label or said[0] == label or np.isnan(said[0])
        assert model.score(X, [1, 1, 1]) == pytest.approx(1 / 3)
        assert model.score(X, [1, 1, 1], sample_weight=[1.0, 4.0, 0.0]) == pytest.approx(0.8)
        assert list(model.set_params(abstain_label=None).predict(X)) == [1, 1, 0]

    def test_markers_among_words(self):
        model = AbstainingHedgeClassifier([GaussianNB()], abstain_label="don't know")
        X, y = binary_stream(100)
        said = model.fit(X, y).predict(X)
        assert said.dtype.kind == "U" and set(said) == {"no", "yes", "don't know"}
        with pytest.raises(ValueError, match="must not be one of the classes, got 'no'"):
            model.set_params(abstain_label="no").predict(X)

    def test_draws_abstain_with_probability_b(self):
        model, X = self.model(abstain_label=-1), np.tile([[0.4, 0.4]], (20000, 1))
        said = model.sample(X, random_state=0)
        shares = [np.mean(said == label) for label in (-1, 0, 1)]
        np.testing.assert_allclose(shares, [0.6, 0.0, 0.4], atol=0.02)
        coin = model.set_params(abstain_label=None).sample(X, random_state=0)
        assert np.mean(coin) == pytest.approx(0.7, abs=0.02)

    def test_answers_are_judged_as_predictions_if_nothing_is_known(self):
        model, X = columns(2, abstain_label=None), np.zeros((4, 2))
        rounds = model.begin(X, [0, 1, 1, 0], classes=[0, 1])
        found = model.answer(rounds, np.arange(4))
        np.testing.assert_array_equal(found.target, model.predict(X) != [0, 1, 1, 0])

    def test_draws_are_by_the_seed_or_the_generator_of_the_estimator(self):
        one, other = self.model(abstain_label=-1), self.model(abstain_label=-1)
        X, b = np.full((50, 2), 0.4), np.random.RandomState(3).random_sample(50) < 0.6
        for _ in range(2):
            np.testing.assert_array_equal(one.sample(X, random_state=3) == -1, b)
        np.testing.assert_array_equal(one.sample(X), other.sample(X))

    def test_without_a_row_it_knows_nothing(self):
        model = AbstainingHedgeClassifier([SGDClassifier(), GaussianNB()])
        model.begin(*binary_stream(20))
        X = binary_stream(20)[0]
        assert not model.decision_function(X).any() and model.abstains(X).all()


class TestExperts:
    def test_probabilities_decisions_and_labels_are_scaled(self):
        X, y = binary_stream(200)
        votes = VotingClassifier([("bayes", GaussianNB())])  # predicts, and nothing else
        for expert in (GaussianNB(), LinearSVC(), DecisionTreeClassifier(max_depth=2), votes):
            model = AbstainingHedgeClassifier([expert.fit(X, y)], train=False)
            model.partial_fit(X[:5], y[:5], classes=["yes", "no"])
            if hasattr(expert, "predict_proba"):
                said = 2.0 * expert.predict_proba(X)[:, 1] - 1.0
            elif expert is votes:
                said = np.where(expert.predict(X) == "yes", 1.0, -1.0)
            else:
                said = np.clip(expert.decision_function(X), -1.0, 1.0)
            np.testing.assert_allclose(model.decision_function(X), said, atol=1e-6)

    def test_rows_are_learned_after_they_were_scored(self):
        X, y = binary_stream(60)
        nb, told = GaussianNB(), []
        model = AbstainingHedgeClassifier([GaussianNB()])
        result = progressive_validate(model, X, y, play="randomized")
        for t in range(60):
            with np.errstate(all="ignore"):
                p = nb.predict_proba(X[t : t + 1])[0, 1] if t else 0.5
            told.append(0.0 if np.isnan(p) else 2.0 * p - 1.0)
            nb.partial_fit(X[t : t + 1], y[t : t + 1], classes=["no", "yes"])
        losses = (1.0 - np.where(y == "yes", 1.0, -1.0) * told) / 2.0
        np.testing.assert_allclose(result.comparator_loss([1.0]), losses, atol=1e-6)
        np.testing.assert_array_equal(result.estimator.estimators_[0].theta_, nb.theta_)

    def test_fitted_experts_are_kept_where_asked(self):
        X, y = binary_stream(200)
        fitted = LogisticRegression().fit(X[:100], y[:100])
        before = pickle.dumps(fitted)
        kept = AbstainingHedgeClassifier([fitted], train=False)
        frozen = AbstainingHedgeClassifier([FrozenEstimator(fitted), GaussianNB()])
        for model in (kept, AbstainingHedgeClassifier([fitted])):
            assert model.fit(X, y).estimators_[0] is fitted
        for model in (kept, frozen):
            result = progressive_validate(model, X[100:], y[100:], play="randomized")
            p = result.estimator.estimators_[0].predict_proba(X)
            np.testing.assert_array_equal(p, fitted.predict_proba(X))
        trained = AbstainingHedgeClassifier([fitted], train=True).fit(X, y).estimators_[0]
        assert trained is not fitted and pickle.dumps(fitted) == before
        sgd = SGDClassifier(random_state=0).partial_fit(X[:9], y[:9], classes=["no", "yes"])
        state = sgd.coef_.copy()
        more = AbstainingHedgeClassifier([sgd], train=True)
        more.partial_fit(X, y, classes=["no", "yes"])
        assert more.estimators_[0].t_ == 210.0
        np.testing.assert_array_equal(sgd.coef_, state)

    def test_experts_that_cannot_learn_so_are_named(self):
        X, y = binary_stream(40)
        with pytest.raises(ValueError, match="'svc' has no partial_fit to learn row by row"):
            model = AbstainingHedgeClassifier([("svc", LinearSVC())])
            model.partial_fit(X, y, classes=["no", "yes"])
        with pytest.raises(NotFittedError, match="'linearsvc' is not fitted"):
            AbstainingHedgeClassifier([LinearSVC()], train=False).fit(X, y)
        other = GaussianNB().fit(X, np.where(y == "no", "nay", "yes"))
        with pytest.raises(ValueError, match="'gaussiannb' has the class 'nay', which is not"):
            AbstainingHedgeClassifier([other], train=False).fit(X, y)

    @pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
    @pytest.mark.parametrize("size", [1, 7, 600])
    def test_fitted_experts_hear_chunks_of_any_size(self, size):
        """Products of matrices differ in the last bits with the rows beside; opinions do not."""
        rng = np.random.RandomState(0)
        X, n = rng.randn(4500, 40), 4500 if size == 600 else 300
        y = (X[:, :9].sum(axis=1) + rng.randn(4500) > 0).astype(int)
        experts = [LogisticRegression(C=c).fit(X[:99], y[:99]) for c in (1e-3, 1.0)]
        whole, parts = (AbstainingHedgeClassifier(experts) for _ in range(2))
        whole.partial_fit(X[:n], y[:n], classes=[0, 1])
        for i in range(0, n, size):
            parts.partial_fit(X[i : min(i + size, n)], y[i : min(i + size, n)], classes=[0, 1])
        np.testing.assert_array_equal(whole.expert_losses_, parts.expert_losses_)
        np.testing.assert_array_equal(whole.hedge_.weights_, parts.hedge_.weights_)

    def test_a_class_with_one_row(self):
        X, y = np.arange(8.0)[:, None], np.r_[np.zeros(7, int), 1]
        model = AbstainingHedgeClassifier([GaussianNB()]).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()

    def test_frames_with_words_and_rows_that_stay_sparse(self):
        X, y = binary_stream(80)
        frame = pd.DataFrame(X, columns=list("abcd")).assign(word=np.where(X[:, 0] > 0, "u", "v"))
        words = make_pipeline(
            make_column_transformer((OneHotEncoder(), ["word"])), LogisticRegression()
        )
        model = AbstainingHedgeClassifier([words]).fit(frame, y)
        assert model.score(frame, y) > 0.7 and list(model.feature_names_in_) == list(frame.columns)
        frozen, numbers = FrozenEstimator(model.estimators_[0]), frame[list("abcd")]
        for expert, rows in ((frozen, frame), (GaussianNB(), numbers)):
            for size in (1, 7):
                twin = AbstainingHedgeClassifier([expert])
                result = progressive_validate(
                    twin, rows, y, batch_size=size, random_state=0, play="randomized"
                )
                assert result.estimator.t_ == 80 and result.expected_target_loss.mean() < 0.4
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"a": "z"}))

        class Sees(BernoulliNB):
            def partial_fit(self, X, y, classes=None):
                assert sparse.issparse(X)
                return super().partial_fit(X, y, classes)

        model = AbstainingHedgeClassifier([Sees()])
        model.partial_fit(sparse.csr_matrix(X * (X > 0)), y, classes=["no", "yes"])


class TestParameters:
    def test_of_experts_can_be_set_and_searched(self):
        X, y = binary_stream(90)
        experts = [("nb", GaussianNB()), ("lr", LogisticRegression())]
        for listed in (experts, [expert for _, expert in experts]):
            model = AbstainingHedgeClassifier(listed)
            name = "lr" if listed is experts else "logisticregression"
            model.set_params(**{f"{name}__C": 0.5})
            assert model.get_params()[f"{name}__C"] == 0.5
            model.set_params(**{name: LinearSVC()})
            last = model.estimators[1]
            assert isinstance(last[1] if listed is experts else last, LinearSVC)
        model = AbstainingHedgeClassifier(experts)
        search = GridSearchCV(model, {"lr__C": [0.01], "abstention_cost": [0.1, 0.3]}, cv=2)
        assert search.fit(X, y).best_score_ > 0.7
        with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
            model.set_params(nobody=1)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"estimators": []}, "estimators must be a list of one classifier or more"),
            ({"estimators": None}, "estimators must be a list"),
            ({"estimators": [("a", 3)]}, "Expert 'a' must be a classifier"),
            ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, "not unique: .*'a'"),
            ({"estimators": [("a__b", GaussianNB())]}, "must not contain __: .*'a__b'"),
            ({"estimators": [(3, GaussianNB())]}, "Expert 'tuple' must be a classifier"),
            ({"estimators": [("cv", GaussianNB())]}, "conflict with .*'cv'"),
            ({"abstention_cost": 1.1}, r"abstention_cost must lie in \[0, 1\]"),
            ({"abstention_cost": -0.1}, r"abstention_cost must lie in \[0, 1\]"),
            ({"abstention_cost": np.nan}, r"abstention_cost must lie in \[0, 1\]"),
            ({"abstention_cost": [0.3]}, r"abstention_cost must lie in \[0, 1\]"),
            ({"train": "yes"}, "train must be 'auto', True or False"),
            ({"cv": 1}, "cv must be an integer at least 2"),
        ],
    )
    def test_wrong_ones_are_refused_and_nothing_moves(self, given, message):
        X, y = binary_stream(30)
        model = AbstainingHedgeClassifier([GaussianNB()]).fit(X, y)
        before = model.estimators_, model.hedge_, model.t_
        with pytest.raises(ValueError, match=message):
            model.set_params(**given).fit(X, y)
        assert (model.estimators_, model.hedge_, model.t_) == before

    def test_more_than_two_classes_are_refused(self):
        X = np.random.RandomState(0).randn(30, 2)
        model = AbstainingHedgeClassifier([GaussianNB()])
        with pytest.raises(ValueError, match="does not cover one-vs-rest"):
            model.fit(X, np.arange(30) % 3)
        with pytest.raises(ValueError, match="Only binary"):
            model.partial_fit(X, np.arange(30) % 2, classes=[0, 1, 2])

    def test_clones_with_fitted_experts(self):
        X, y = binary_stream(60)
        fitted = GaussianNB().fit(X, y)
        twin = clone(AbstainingHedgeClassifier([("nb", fitted)], train=False))
        assert twin.estimators[0][1] is not fitted
        assert cross_val_score(twin, X, y, cv=3).min() > 0.5
        with pytest.raises(NotFittedError):
            clone(AbstainingHedgeClassifier([fitted])).estimators[0].predict(X)


class TestGuarantees:
    def test_what_the_theorem_does_not_cover(self):
        X, y = binary_stream(30)
        model = AbstainingHedgeClassifier([GaussianNB()], abstention_cost=0.5)
        with pytest.raises(GuaranteeError, match="[Nn]o rounds yet"):
            model.certificate()
        model.partial_fit(X, y, classes=["no", "yes"])
        for cost in (0.5, 0.1):
            with pytest.raises(GuaranteeError, match="cost < 1/2 in every round; it was 0.5"):
                model.set_params(abstention_cost=cost).partial_fit(X, y).certificate()
        with pytest.raises(GuaranteeError, match="expectation"):
            model.certificate(delta=0.05)

    def test_the_certificate_in_numbers(self):
        X, y = binary_stream(200)
        result = progressive_validate(
            AbstainingHedgeClassifier([GaussianNB(), perceptron()]), X, y, play="randomized"
        )
        certificate, half = result.estimator.certificate(), [0.5, 0.5]
        assert certificate.constants["experts"] == 2 and certificate.constants["rounds"] == 200
        assert certificate.bound(10.0) == pytest.approx(10.0 + certificate.regret())
        assert result.regret_bound(half) >= result.regret_bound()
        assert result.expected_target_loss.sum() <= result.regret_bound(half)
        for wrong in ([1.0], [0.5, 0.6], [2.0, -1.0]):
            with pytest.raises(ValueError, match="shares of the 2 experts, of sum 1"):
                result.regret_bound(wrong)


def test_a_signal_or_a_bad_row_leaves_whole_rounds():
    """What one expert refuses, no expert has learned."""
    X, y = binary_stream(40)
    model = AbstainingHedgeClassifier([GaussianNB(), predictor()])
    model.partial_fit(X, y, classes=["no", "yes"])
    before, X = pickle.dumps(model), X.copy()
    X[30] *= 1e150  # more than the second expert takes
    with pytest.raises(ValueError, match="Row 30 of X is too large"):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="is too large"):
        model.partial_fit(X[30:31], y[30:31])
    assert model.t_ == 40 and model.estimators_[0].class_count_.sum() == 40


class Refuses(GaussianNB):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if X[0, 0] > 90.0:
            raise ValueError("more than 90")
        return super().partial_fit(X, y, classes, sample_weight)


class TestState:
    def test_experts_may_be_set_after_fit(self):
        X, y = binary_stream(60)
        model = AbstainingHedgeClassifier([GaussianNB(), KNeighborsClassifier()]).fit(X, y)
        before, neighbors = model.decision_function(X), model.estimators_[1]
        for experts in ([GaussianNB()], [("a", GaussianNB())] * 3, "none"):
            model.set_params(estimators=experts)
            np.testing.assert_array_equal(model.decision_function(X), before)
        model.partial_fit(X[:5], y[:5])
        assert model.t_ == 65 and len(model.estimators_) == 2
        assert model.estimators_[0].class_count_.sum() == 65 and model.estimators_[1] is neighbors
        assert len(model.set_params(estimators=[GaussianNB()]).fit(X, y).estimators_) == 1

    def test_an_expert_that_raises_leaves_whole_rounds(self):
        X, y = binary_stream(30)
        X = X.astype(float)
        X[17, 0] = 99.0
        for experts in ([Refuses(), GaussianNB()], [GaussianNB(), Refuses()]):
            model = AbstainingHedgeClassifier(experts)
            model.partial_fit(X[:5], y[:5], classes=np.unique(y))
            with pytest.raises(ValueError, match="more than 90"):
                model.partial_fit(X[5:], y[5:])
            other = [type(one) for one in experts].index(GaussianNB)
            twin = GaussianNB().partial_fit(X[:1], y[:1], classes=np.unique(y))
            for t in range(1, 18):
                twin.partial_fit(X[t : t + 1], y[t : t + 1])
            assert model.t_ == model.hedge_.n_rounds == 18
            np.testing.assert_array_equal(model.estimators_[other].theta_, twin.theta_)
            assert model.estimators_[1 - other].class_count_.sum() == 17
            new = clone(model)
            with pytest.raises(ValueError, match="more than 90"):
                new.partial_fit(X[17:], y[17:], classes=np.unique(y))
            assert set(vars(new)) - {"_lock"} == set(new.get_params(deep=False))

    def test_the_seed_reaches_experts_that_have_none(self):
        X, y = binary_stream(80)
        tree = DecisionTreeClassifier(max_features=1, splitter="random")
        given = [("a", make_pipeline(StandardScaler(), tree)), ("b", clone(tree))]
        given += [("own", clone(tree).set_params(random_state=7))]
        same = [AbstainingHedgeClassifier(given, random_state=3).fit(X, y) for _ in range(2)]
        np.testing.assert_array_equal(*(model.predict_proba(X) for model in same))
        seeds = [same[0].estimators_[0][-1].random_state]
        seeds += [one.random_state for one in same[0].estimators_[1:]]
        assert None not in seeds and seeds[2] == 7 and len(set(seeds)) == 3
        assert given[1][1].random_state is None
        unseeded = AbstainingHedgeClassifier(given).fit(X, y)
        assert unseeded.estimators_[1].random_state is None


def folds(codes):
    """The first third of each class, the second, and the third."""
    fold = np.empty(len(codes), dtype=int)
    for code in (0, 1):
        mine = np.flatnonzero(codes == code)
        fold[mine] = np.arange(len(mine)) * 3 // len(mine)
    return fold


def said_by_folds(X, codes):
    """Opinions of naive Bayes on each fold, learned from the others."""
    fold, said = folds(codes), np.empty(len(X))
    for k in range(3):
        out = fold != k
        twin = GaussianNB().fit(X[out], codes[out])
        said[~out] = 2.0 * twin.predict_proba(X[~out])[:, 1] - 1.0
    return said


class TestCalibration:
    @pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
    def test_it_is_by_the_other_folds(self, method):
        X, y = binary_stream(90)
        said = {
            how: AbstainingHedgeClassifier([GaussianNB()], calibrate=how, cv=3).fit(X, y)
            for how in (None, method)
        }
        codes = np.searchsorted(said[method].classes_, y)
        fold, raw, mapped = folds(codes), said_by_folds(X, codes), np.empty(90)
        for k in range(3):
            mapped[fold == k] = fitted_map(method, raw[fold != k], codes[fold != k])(raw[fold == k])
        sign = 2 * codes - 1
        for calibrate, opinion in ((None, raw), (method, mapped)):
            wanted = (0.5 * (1.0 - sign * opinion)).sum()
            assert said[calibrate].expert_losses_[0] == pytest.approx(wanted, abs=1e-3)
        last = GaussianNB().fit(X, y)
        wanted = fitted_map(method, raw, codes)(2.0 * last.predict_proba(X)[:, 1] - 1.0)
        np.testing.assert_allclose(said[method].decision_function(X), wanted, atol=1e-4)

    def test_bad_methods_and_streams(self):
        X, y = binary_stream(20)
        with pytest.raises(ValueError, match="calibrate must be one of 'sigmoid', 'isotonic'"):
            AbstainingHedgeClassifier([GaussianNB()], calibrate="beta").fit(X, y)
        said = []
        for how in (None, "isotonic"):
            model = AbstainingHedgeClassifier([GaussianNB()], calibrate=how)
            said.append(model.partial_fit(X, y, classes=np.unique(y)).decision_function(X))
        np.testing.assert_array_equal(*said)


def fitted_map(method, said, codes):
    """Opinions to calibrated opinions, by scikit-learn's own calibration."""
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    if method == "isotonic":
        model = IsotonicRegression(out_of_bounds="clip").fit(said, codes)
    else:
        model = _SigmoidCalibration().fit(said, codes)
    return lambda u: 2.0 * model.predict(u) - 1.0
