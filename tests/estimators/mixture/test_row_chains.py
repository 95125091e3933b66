"""`StructuredPredictor("sequence")`: a mixture scores positions, and a chain learns from it."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import skstructured as sk
from skstructured._base.ragged import Ragged, stack_rows
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._mixture import Mixture
from skstructured.estimators.mixture._sequences import (
    RowChain,
    held_out,
    log_probabilities,
    position_windows,
    score_of_views,
)
from skstructured.estimators.mixture._training import FEWEST_GROUPS, draw_folds
from skstructured.sequences import Stacked
from skstructured.spaces import LabelSequence

pytestmark = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")


def rings(seed=0, n=50):
    """Sequences of circles of three sizes, which tend to come again."""
    rng, X, y = np.random.RandomState(seed), [], []
    for _ in range(n):
        size = np.cumsum(rng.rand(rng.randint(1, 7)) < 0.4) % 3
        angle = 2.0 * np.pi * rng.rand(len(size))
        radius = 1.0 + size + 0.2 * rng.randn(len(size))
        X.append(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
        y.append(np.array(["large", "middle", "small"])[size])
    return X, y


def late(seed=0, n=40):
    """Labels that depend on the row before, and not by a line."""
    rng = np.random.RandomState(seed)
    X = [rng.randn(6, 2) for _ in range(n)]
    return X, [np.r_[0, (x[:-1, 0] * x[:-1, 1] > 0).astype(int)] for x in X]


X, Y = rings()
NEW = rings(1)


@pytest.fixture(scope="module")
def model():
    """One that has learned; tests must not change it."""
    return sk.StructuredPredictor("sequence", random_state=0).fit(X, Y)


@pytest.mark.parametrize("lengths", [[3], [1, 4, 1, 2], [1]])
def test_windows_have_the_rows_beside(lengths, rng):
    sequences = [rng.randn(length, 2) for length in lengths]
    wanted = np.vstack([mixing.windows(one) for one in sequences])
    np.testing.assert_array_equal(position_windows(stack_rows(sequences)), wanted)


def test_marginals_are_those_of_a_chain_over_log_probabilities(model):
    mixture, chain = model.estimators_
    assert list(model.named_estimators_) == ["rows", "chain"]
    assert isinstance(chain, sk.ConditionalRandomField)
    logs = [np.maximum(mixture.predict_log_proba(x), np.log(1e-6)) for x in NEW[0]]
    wanted = chain.predict_marginals(logs)
    found = model.predict_marginals(NEW[0])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
        np.testing.assert_allclose(one.sum(axis=1), 1.0)
    best = [model.classes_[mu.argmax(axis=1)] for mu in found]
    np.testing.assert_array_equal(np.concatenate(model.predict(NEW[0])), np.concatenate(best))


def test_sequences_are_predicted_alone_as_together(model):
    whole = model.predict_marginals(NEW[0])
    for x, wanted in zip(NEW[0], whole, strict=True):
        np.testing.assert_allclose(model.predict_marginals([x])[0], wanted, atol=1e-9)


def test_it_learns_behind_a_transformer(model):
    scaled = make_pipeline(sk.SequenceTransformer(MinMaxScaler()), clone(model)).fit(X, Y)
    assert scaled.score(*NEW) == pytest.approx(model.score(*NEW), abs=0.05)
    assert cross_val_score(model, X, Y, cv=2).min() > 0.7


def test_scores_of_positions_are_honest_by_sequence(rng):
    """Those of estimators that have not learned any position of the sequence."""
    groups = np.repeat(np.arange(30), 3)
    Z, y = rng.randn(90, 2), rng.randint(3, size=90)
    weight = np.repeat(rng.exponential(size=30) + 0.1, 3)
    weight[groups == 4] = 0.0
    members = [("bayes", GaussianNB()), ("smooth", GaussianNB(var_smoothing=0.1))]
    mixture = sk.StructuredPredictor(estimators=members, random_state=0)
    found = mixture._fit(Z, y, weight, groups)
    assert np.isnan(found[groups == 4]).all()
    again = sk.StructuredPredictor(estimators=members, random_state=0)
    some = weight > 0.0
    np.testing.assert_allclose(
        again._fit(Z[some], y[some], weight[some], groups[some]), found[some]
    )
    parts = np.full(len(groups), -1)
    units = np.unique(groups[some], return_inverse=True)[1]
    parts[some] = draw_folds(units, np.random.RandomState(0), y[some])
    for i in np.flatnonzero(groups % 7 == 0):
        rest = some & (parts != parts[i])
        ones = [clone(one).fit(Z[rest], y[rest], weight[rest]) for _, one in members]
        honest = [mixture.loss_.link(one.predict_proba(Z[[i]]))[0] for one in ones]
        theta = mixture.weights_ @ honest + mixture.intercept_
        np.testing.assert_allclose(found[i], theta, atol=1e-9)


def test_mixtures_hold_out_whole_sequences(monkeypatch):
    seen, fit = [], Mixture._fit

    def spied(self, X, y, weight, groups=None):
        seen.append(groups)
        return fit(self, X, y, weight, groups)

    monkeypatch.setattr(Mixture, "_fit", spied)
    sk.StructuredPredictor("sequence", random_state=0).fit(X, Y)
    wanted = np.repeat(np.arange(50), [len(x) for x in X])
    assert len(seen) == 2
    for groups in seen:
        np.testing.assert_array_equal(groups, wanted)


def test_chains_learn_honest_scores_alone(monkeypatch):
    monkeypatch.setattr(_training, "MOST_HELD_OUT", 30)
    seen, fit = [], sk.ConditionalRandomField.fit

    def spied(self, X, y, weight):
        seen.append((np.vstack(list(X)), weight))
        return fit(self, X, y, weight)

    monkeypatch.setattr(sk.ConditionalRandomField, "fit", spied)
    sk.StructuredPredictor("sequence", random_state=0).fit(X, Y)
    Z, weight = seen[0]
    without = np.repeat(weight == 0.0, [len(x) for x in X])
    assert np.sum(weight == 0.0) == 20
    np.testing.assert_allclose(Z[without], -np.log(3.0))  # of scores of 0
    assert np.abs(Z[~without] + np.log(3.0)).min() > 1e-6


def test_it_is_better_than_a_line(model):
    line = sk.OnlineStructuredPredictor("sequence", random_state=0).fit(X, Y)
    assert model.score(*NEW) > max(line.score(*NEW) + 0.15, 0.85)
    assert model.validation_score_ == pytest.approx(model.score(*NEW), abs=0.08)
    assert model.validation_scores_.shape == (2,)


def test_windows_are_learned_if_they_tell_more():
    model = sk.StructuredPredictor("sequence", random_state=0).fit(*late())
    assert list(model.named_estimators_) == ["windows", "chain"]
    assert model.score(*late(1)) > 0.7 > model.validation_scores_[0]
    assert model.validation_score_ == pytest.approx(model.validation_scores_[1], abs=0.02)
    trees = model.estimators_[0].estimators_[-1]
    assert trees.best_thresholds and trees.options["max_features"] == "sqrt"


def test_held_out_loss_and_score_are_of_chains_that_learn_the_other_parts(rng):
    theta, stacked = rng.randn(sum(map(len, X)), 3), stack_rows(X)
    y = Ragged(rng.randint(3, size=len(theta)), stacked.offsets)
    Z, weight = log_probabilities(theta, stacked), rng.exponential(size=50)
    parts, chain = np.arange(50) % 5, sk.ConditionalRandomField(alpha=0.02).fit(Z, y, weight)
    lost = right = 0.0
    for i in np.flatnonzero(parts < 3):
        rest = np.flatnonzero(parts != parts[i])
        one = sk.ConditionalRandomField(alpha=0.02, tol=0.1).fit(Z[rest], y[rest], weight[rest])
        lost -= weight[i] * one.log_proba(Z[[i]], y[[i]])[0]
        right += weight[i] * np.sum(one.predict(Z[[i]])[0] == y[[i]].values)
    sums = held_out(chain, Z, y, weight, parts)
    total = sum((weight * stacked.lengths)[parts < 3])
    np.testing.assert_allclose(sums.sum(axis=1), [lost, right, total], rtol=1e-3)
    assert (sums[:, parts >= 3] == 0.0).all() and (sums[2, parts < 3] > 0.0).all()


def test_scores_of_views_are_of_sequences_that_have_not_chosen_the_view(rng):
    """In noise the better one of two views is so by chance, and would have a score above ½."""
    scores = []
    for _ in range(300):
        right = rng.randint(2, size=(2, 40))
        views = [RowChain("rows", None, None, sums=np.array([1 - r, r, 1 + 0 * r])) for r in right]
        scores.append(score_of_views(views, rng.permutation(40)))
    assert np.mean(scores) < 0.5 + 2.5 * np.std(scores) / np.sqrt(300)
    one = RowChain("rows", None, None, sums=np.array([[0.0, 3, 1, 3], [1, 1, 0, 1], [1, 1, 2, 2]]))
    other = one._replace(sums=one.sums[:, ::-1])
    chosen = score_of_views([one, other], np.arange(4))  # even ones choose `one`, odd ones `other`
    assert chosen == pytest.approx((one.sums[1, 1::2].sum() + other.sums[1, ::2].sum()) / 6.0)
    assert chosen == pytest.approx(4.0 / 6.0)


def test_stacked_and_lists_are_the_same(model):
    rows = Stacked(np.vstack(X), [len(x) for x in X])
    again = clone(model).fit(rows, Y)
    for one, other in zip(again.predict_marginals(rows), model.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        kept.predict_marginals(X[:1])[0], model.predict_marginals(X[:1])[0]
    )


def test_sequences_of_weight_zero_change_nothing(model):
    weight = np.r_[np.ones(len(X)), np.zeros(9)]
    again = clone(model).fit(X + NEW[0][:9], Y + NEW[1][:9], weight)
    for one, other in zip(again.predict_marginals(X), model.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_label_of_one_sequence_alone_is_learned():
    y = [one.copy() for one in Y]
    y[3][:] = "rare"
    model = sk.StructuredPredictor("sequence", random_state=0).fit(X, y)
    assert model.predict_marginals(X[:1])[0].shape[1] == 4 and model.score(X, y) > 0.8


def test_every_answer_of_a_chain(model):
    empty, *rest = model.predict([X[0][:0], *NEW[0]])
    assert len(empty) == 0 and len(rest) == len(NEW[0])
    (labels, score), *_ = model.predict_nbest(NEW[0][:1], 2)[0]
    log_z = model.log_partition(NEW[0][:1])[0]
    assert score - log_z == pytest.approx(model.log_proba(NEW[0][:1], [labels])[0])
    drawn = model.sample(NEW[0], random_state=0)
    assert [len(one) for one in drawn] == [len(x) for x in NEW[0]]
    best = clone(model).set_params(decoder="map").fit(X, Y).predict(NEW[0][:1])[0]
    np.testing.assert_array_equal(best, labels)


@pytest.mark.exhaustive
def test_costs_are_minimized():
    costs = np.ones((3, 3)) - np.eye(3)
    costs[2, :2] = 20.0  # small ones must not be missed
    plain = sk.StructuredPredictor("sequence", random_state=0).fit(X, Y)
    model = sk.StructuredPredictor(LabelSequence(costs), random_state=0).fit(X, Y)
    told = [np.sum(np.concatenate(one.predict(NEW[0])) == "small") for one in (plain, model)]
    assert told[1] > told[0]


@pytest.mark.parametrize("kind", ["few", "sparse", "given"])
def test_others_are_learned_by_one_estimator(kind):
    rows = [sparse.csr_matrix(x) for x in X] if kind == "sparse" else X
    few = slice(0, FEWEST_GROUPS - 1 if kind == "few" else None)
    own = [("field", sk.ConditionalRandomField(alpha=0.1))] if kind == "given" else "auto"
    model = sk.StructuredPredictor("sequence", own, random_state=0).fit(rows[few], Y[few])
    names = {"given": "field", "sparse": "linear", "few": "chain"}
    assert list(model.named_estimators_) == [names[kind]]
    alone = model.estimators_[0].predict_marginals(rows)
    for one, other in zip(model.predict_marginals(rows), alone, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.isnan(model.validation_score_)


@pytest.mark.parametrize("kind", ["weights", "copies"])
def test_few_effective_sequences_are_few(kind):
    names, weight = np.arange(FEWEST_GROUPS), np.ones(FEWEST_GROUPS)
    if kind == "weights":
        weight[0] = 3.0
    else:
        names[-1] = 0
    sequences, labels = ([each[i] for i in names] for each in (X, Y))
    model = sk.StructuredPredictor("sequence", random_state=0).fit(sequences, labels, weight)
    assert list(model.named_estimators_) == ["chain"]


def test_few_sequences_are_enough_for_a_mixture():
    long = [np.concatenate(X[5 * i : 5 * i + 5]) for i in range(FEWEST_GROUPS)]
    labels = [np.concatenate(Y[5 * i : 5 * i + 5]) for i in range(FEWEST_GROUPS)]
    model = sk.StructuredPredictor("sequence", random_state=0).fit(long, labels)
    assert model.score(*NEW) > 0.75 and 0.5 < model.validation_score_ <= 1.0


def test_trees_of_positions_find_steps_in_few_of_many_columns():
    def steps(seed):
        rng = np.random.RandomState(seed)
        X = [rng.randn(8, 12) for _ in range(60)]
        return X, [(x[:, 0] * x[:, 1] > 0).astype(int) for x in X]

    model = sk.StructuredPredictor("sequence", random_state=0).fit(*steps(0))
    assert model.score(*steps(1)) > 0.88


def test_an_estimator_without_weights_learns_if_all_are_the_same():
    class Plain(sk.OnlineStructuredPredictor):
        def fit(self, X, y):
            return super().fit(X, y)

    members = [("plain", Plain("sequence", random_state=0))]
    model = sk.StructuredPredictor("sequence", members, random_state=0)
    assert model.fit(X, Y, np.full(50, 2.0)).score(X, Y) > 0.3
    with pytest.raises(TypeError, match="sample_weight"):
        clone(model).fit(X, Y, np.arange(50))


def test_checkpoints_have_mixtures_and_chains(model, tmp_path):
    save_checkpoint(model, tmp_path / "model")
    kept = load_checkpoint(tmp_path / "model")
    for one, other in zip(kept.predict_marginals(X), model.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_wrong_is_named_and_changes_nothing(model):
    kept = pickle.loads(pickle.dumps(model))
    bad = [x.copy() for x in X]
    bad[2][0, 0] = np.inf
    with pytest.raises(ValueError, match="Sequence 2 of X, position 0"):
        kept.fit(bad, Y)
    with pytest.raises(ValueError, match="X has 50 sequences, but y has 49"):
        kept.fit(X, Y[1:])
    np.testing.assert_array_equal(
        kept.predict_marginals(X[:1])[0], model.predict_marginals(X[:1])[0]
    )
