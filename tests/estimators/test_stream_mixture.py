"""`StructuredPredictor` on streams: bins, weights after every row, and what is learned when."""

import contextlib
import copy
import itertools
import pickle
import tracemalloc
from functools import cache

import numpy as np
import pytest
from bits import differences
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from naive import stream as naive
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import skstructured as sk
from skstructured.estimators import _stream as stream_module
from skstructured.estimators._stream import QuantileBins, StreamMember, StreamMixture
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import PiSTOL


def steps(n=700, seed=0, p=4):
    """Rows of a chessboard, which bins of pairs learn and lines do not."""
    rng = np.random.RandomState(seed)
    X = rng.rand(n, p)
    return X, np.array(["black", "white"])[
        ((4 * X[:, 0]).astype(int) + (4 * X[:, 1]).astype(int)) % 2
    ]


def outputs(space, X):
    return {
        "multiclass": np.argmax(X[:, :3], axis=1),
        "multilabel": (X[:, :3] > 0.5).astype(int),
        "ordinal": (X[:, :3] > 0.5).sum(axis=1),
        "ranking": np.argsort(np.argsort(X[:, :3])) + 1,
        "assignment": np.argsort(X[:, :3], axis=1),
    }[space]


every_space = pytest.mark.parametrize(
    "space", ["multiclass", "multilabel", "ordinal", "ranking", "assignment"]
)


class TestBins:
    @pytest.mark.parametrize("p", [1, 2, 5])
    def test_are_those_of_the_literal_form(self, p, rng):
        X = rng.randn(300, p).round(1)
        X[::9, 0] = np.nan
        X[:, -1] = np.abs(X[:, -1])
        bins, Z = QuantileBins(X, rng), np.vstack([X[:40], 10.0 * rng.randn(40, p)])
        found = bins.transform(Z)
        columns = list(naive.names(bins.fine, bins.coarse, bins.pairs.tolist()))
        assert found.shape == (80, len(columns)) and found.has_sorted_indices
        for row, one in zip(Z, found, strict=True):
            wanted = naive.ones_of(row.tolist(), bins.fine, bins.coarse, bins.pairs.tolist())
            assert {columns[j] for j in one.indices} == wanted and np.all(one.data == 1.0)

    def test_hold_as_many_rows_each(self, rng):
        X = rng.gamma(0.5, size=(1600, 2))
        counts = np.asarray(QuantileBins(X, rng).transform(X)[:, :17].sum(axis=0)).ravel()
        np.testing.assert_allclose(counts[:16], 100.0, atol=2.0)
        np.testing.assert_array_equal(counts[16:], 0.0)

    def test_hold_as_many_rows_each_beside_gaps(self, rng):
        X = 1.0 + rng.rand(1000, 1)
        X[::2] = np.nan
        counts = np.asarray(QuantileBins(X, rng).transform(X).sum(axis=0)).ravel()
        np.testing.assert_allclose(counts[:16], 500 / 16, atol=2.0)
        assert counts[16] == 500.0

    def test_of_pairs_are_of_different_ones_and_not_too_many(self, rng):
        pairs = QuantileBins(rng.randn(50, 30), rng).pairs
        assert len({tuple(pair) for pair in pairs}) == len(pairs) == 60
        assert np.all(pairs[:, 0] < pairs[:, 1])


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_those_of_the_literal_rule(seed):
    rng = np.random.RandomState(seed)
    n, dim, few = 60, 4, 2 + seed % 2
    V = np.eye(dim)[rng.randint(dim, size=n)]
    if seed == 3:
        V = np.argsort(rng.rand(n, dim), axis=1) + 1.0
    means, weight = rng.dirichlet(np.ones(dim), (few, n)), rng.exponential(size=n)
    weight[::5] = 0.0
    mixture = StreamMixture([sk.OnlineStructuredPredictor()], None, rng)
    mixture.weights = start = rng.dirichlet(np.ones(few))
    parts = [
        mixture._mix(means[:, part], V[part], weight[part])
        for part in (slice(0, 1), slice(1, 17), slice(17, n))
    ]
    unit = 3.0 if seed == 3 else 1.0
    given = (
        means.tolist(),
        V.tolist(),
        weight.tolist(),
        start.tolist(),
        unit,
        StreamMixture.shared_weight,
    )
    said, v = naive.mixed(*given)
    np.testing.assert_allclose(np.concatenate(parts), said, atol=1e-12)
    np.testing.assert_allclose(mixture.weights, v, rtol=1e-9)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")
class TestStreams:
    def test_chessboards_are_learned_by_bins(self):
        X, y = steps(4000)
        run = progressive_validate(
            sk.StructuredPredictor(random_state=0), X, y, random_state=0, play="randomized"
        )
        line = progressive_validate(
            sk.OnlineStructuredPredictor(random_state=0), X, y, play="randomized"
        )
        assert run.target_loss[2000:].mean() < 0.2 < line.target_loss[2000:].mean()
        assert run.estimator.weights_[1] > 0.9
        assert run.risk_bound() > run.target_loss[2000:].mean()

    @every_space
    def test_chunks_of_any_size_learn_the_same(self, space, rng):
        X = rng.rand(StreamMixture.first_rows + 60, 4)
        y, labels = outputs(space, X), None
        if space in ("multiclass", "ordinal"):
            labels = np.unique(y)
        whole = sk.StructuredPredictor(space, random_state=0).partial_fit(X, y, classes=labels)
        parts = clone(whole)
        for part in np.split(
            np.arange(len(X)),
            [
                1,
                8,
                StreamMixture.first_rows - 1,
                StreamMixture.first_rows + 1,
                StreamMixture.first_rows + 30,
            ],
        ):
            parts.partial_fit(X[part], y[part], classes=labels)
        np.testing.assert_array_equal(parts.weights_, whole.weights_)
        np.testing.assert_array_equal(parts.predict_mean(X), whole.predict_mean(X))
        assert whole.t_ == parts.t_ == len(X) and len(whole.estimators_) == 2
        assert whole.score(X, y) > 0.7

    def test_what_is_said_is_of_rows_before_alone(self, rng):
        X, y = steps(StreamMixture.first_rows + 50)
        other = np.where(y == "black", "white", "black")
        runs = []
        for late in (y, other):
            mixture = sk.StructuredPredictor(random_state=0)
            rounds = mixture.begin(
                X,
                np.concatenate(
                    [y[: StreamMixture.first_rows + 20], late[StreamMixture.first_rows + 20 :]]
                ),
            )
            runs.append(mixture._learn_stream(rounds))
        np.testing.assert_array_equal(
            runs[0][: StreamMixture.first_rows + 21], runs[1][: StreamMixture.first_rows + 21]
        )
        assert (
            np.abs(
                runs[0][StreamMixture.first_rows + 21 :] - runs[1][StreamMixture.first_rows + 21 :]
            ).max()
            > 1e-3
        )

    def test_bins_begin_with_all_rows_before(self):
        X, y = steps(StreamMixture.first_rows)
        model = sk.StructuredPredictor(random_state=0).partial_fit(X, y, classes=np.unique(y))
        assert [member.learner.t_ for member in model.estimators_] == [
            StreamMixture.first_rows,
            StreamMixture.first_rows,
        ]
        np.testing.assert_array_equal(model.weights_, [0.5, 0.5])
        before = clone(model).partial_fit(X[:-1], y[:-1], classes=np.unique(y))
        assert len(before.estimators_) == 1

    def test_pickles_and_errors_change_nothing(self):
        X, y = steps(StreamMixture.first_rows + 40)
        model = sk.StructuredPredictor(random_state=0)
        model.partial_fit(X[:100], y[:100], classes=np.unique(y))
        other = pickle.loads(pickle.dumps(model))
        bad = X.copy()
        bad[120] = np.inf
        with pytest.raises(ValueError, match="inf"):
            model.partial_fit(bad[100:], y[100:])
        with pytest.raises(ValueError, match="green"):
            model.partial_fit(X[100:], np.full(len(X) - 100, "green"))
        for one in (model, other):
            one.partial_fit(X[100:], y[100:])
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
        assert model.t_ == len(X)

    def test_weights_of_rows_count(self, rng):
        X, y = steps(StreamMixture.first_rows + 100)
        labels, weight = np.unique(y), rng.exponential(size=len(X))
        some = sk.StructuredPredictor(random_state=0)
        some.partial_fit(X, y, classes=labels, sample_weight=weight)
        before, mean = some.weights_, some.predict_mean(X)
        assert before.sum() == pytest.approx(1.0)
        assert not np.allclose(clone(some).partial_fit(X, y, labels).weights_, before)
        some.partial_fit(X[:50], y[:50], sample_weight=np.zeros(50))
        np.testing.assert_array_equal(some.weights_, before)
        np.testing.assert_allclose(some.predict_mean(X), mean, atol=1e-12)

    def test_all_members_learn_the_weights_of_rows(self, rng):
        X, y = steps(200)
        pair = [(name, sk.OnlineStructuredPredictor(random_state=0)) for name in "ab"]
        model = sk.StructuredPredictor(estimators=pair, random_state=0)
        model.partial_fit(X, y, np.unique(y), rng.exponential(size=len(X)))
        one, other = (member.learner.coef_ for member in model.estimators_)
        np.testing.assert_array_equal(one, other)

    def test_rows_of_weight_0_make_no_bins(self, rng):
        """Neither alone, nor between the others, in chunks of any size."""
        X, y = steps(StreamMixture.first_rows + 300)
        labels, wrong = np.unique(y), rng.permutation(y)
        kept = sk.StructuredPredictor(random_state=0).partial_fit(X, y, labels)
        far = 1e3 * rng.rand(*X.shape)
        first = np.r_[far, X], np.r_[wrong, y], np.repeat([0.0, 1.0], len(X))
        turns = [np.stack(pair, 1).reshape(2 * len(X), -1) for pair in ((far, X), (wrong, y))]
        turns = turns[0], turns[1].ravel(), np.tile([0.0, 1.0], len(X))
        for rows, outputs, weight in (first, turns):
            for size in (len(rows), 250):
                model = sk.StructuredPredictor(random_state=0)
                for i in range(0, len(rows), size):
                    now = slice(i, i + size)
                    model.partial_fit(rows[now], outputs[now], labels, weight[now])
                np.testing.assert_allclose(model.predict_mean(X), kept.predict_mean(X), atol=1e-9)
                np.testing.assert_allclose(model.weights_, kept.weights_, rtol=1e-6)
                assert model.t_ == 2 * len(X)

    def test_members_are_judged_by_what_they_predict(self, rng):
        """Also members whose loops do not know what the averages predict."""
        X = rng.randn(300, 3) + 2.0
        y = ((X - 2.0) @ rng.randn(3, 4) + 1.5 * rng.randn(300, 4)).argmax(axis=1)
        online = sk.OnlineStructuredPredictor
        members = {
            "kernel": sk.KernelStructuredPredictor(),
            "adagrad": online(optimizer=AdaGrad()),
            "per coordinate": online(optimizer=PiSTOL(per_coordinate=True)),
            "sums": online(optimizer="ogd"),
        }
        model = sk.StructuredPredictor(estimators=list(members.items()))
        run = progressive_validate(model, X, y)
        alone = [clone(member) for member in members.values()]
        means = np.full((4, 300, 4), 0.25)
        for t in range(300):
            for e, member in enumerate(alone):
                means[e, t] = member.predict_mean(X[[t]])[0] if t else 0.25
                member.partial_fit(X[[t]], y[[t]], classes=range(4))
        given = (
            means.tolist(),
            np.eye(4)[y].tolist(),
            [1.0] * 300,
            [0.25] * 4,
            1.0,
            StreamMixture.shared_weight,
        )
        said, v = naive.mixed(*given)
        np.testing.assert_allclose(run.estimator.weights_, v, rtol=1e-6)
        np.testing.assert_array_equal(run.target_loss, np.argmax(said, axis=1) != y)
        parts = clone(model).partial_fit(X[:130], y[:130], range(4))
        parts.partial_fit(X[130:], y[130:])
        np.testing.assert_allclose(parts.weights_, v, rtol=1e-6)

    def test_wide_sparse_and_long_rows_have_the_line_alone(self, rng):
        y = np.arange(40) % 2
        for X in (rng.randn(40, 51), sparse.random(40, 60, 0.1, "csr", random_state=0)):
            model = sk.StructuredPredictor(random_state=0).partial_fit(X, y, classes=[0, 1])
            line = sk.OnlineStructuredPredictor(random_state=0)
            seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[0]
            line.set_params(random_state=seed).partial_fit(X, y, classes=[0, 1])
            np.testing.assert_allclose(model.predict_proba(X), line.predict_proba(X), atol=1e-12)

    def test_members_that_are_given_are_mixed(self, rng):
        X, y = steps(200)
        members = [
            ("line", sk.OnlineStructuredPredictor(random_state=0)),
            ("kernel", sk.KernelStructuredPredictor(random_state=0)),
        ]
        model = sk.StructuredPredictor(estimators=members, random_state=0)
        model.partial_fit(X, y, classes=np.unique(y))
        alone = [clone(member).partial_fit(X, y, np.unique(y)) for _, member in members]
        means = [v * one.predict_mean(X) for v, one in zip(model.weights_, alone, strict=True)]
        np.testing.assert_allclose(model.predict_mean(X), sum(means), atol=1e-12)
        assert model.weights_[0] != model.weights_[1]
        model.set_params(estimators=[("tree", DecisionTreeClassifier())])
        with pytest.raises(
            ValueError, match="is only supported for online estimators, which .'tree'. are not"
        ):
            clone(model).partial_fit(X, y, classes=np.unique(y))

    def test_class_weights_count_once(self):
        X, y = steps(StreamMixture.first_rows + 60)
        given = {"black": 3.0, "white": 0.5}
        weight = np.array([given[label] for label in y])
        one = sk.StructuredPredictor(class_weight=given, random_state=0)
        other = sk.StructuredPredictor(random_state=0)
        one.partial_fit(X, y, classes=np.unique(y))
        other.partial_fit(X, y, classes=np.unique(y), sample_weight=weight)
        np.testing.assert_allclose(one.predict_mean(X), other.predict_mean(X), atol=1e-12)
        members = [("line", sk.OnlineStructuredPredictor(class_weight=given))]
        model = sk.StructuredPredictor(estimators=members)
        with pytest.raises(
            ValueError, match="class_weight of .'line'. is not supported by partial_fit"
        ):
            model.partial_fit(X, y, classes=np.unique(y))

    def test_one_member_that_refuses_leaves_all_as_they_were(self):
        X, y = steps(60)
        given = [
            ("takes", sk.OnlineStructuredPredictor(random_state=0)),
            ("refuses", sk.OnlineStructuredPredictor(missing="error", random_state=0)),
        ]
        gaps = X[:3].copy()
        gaps[1, 1] = np.nan
        for how in ("partial_fit", "fit"):
            model = sk.StructuredPredictor(estimators=given, random_state=0)
            told = {"classes": np.unique(y)} if how == "partial_fit" else {}
            getattr(model, how)(X, y, **told)
            before, weights = model.predict_mean(X), model.weights_
            with pytest.raises(ValueError, match="NaN"):
                model.partial_fit(gaps, y[:3])
            np.testing.assert_array_equal(model.predict_mean(X), before)
            np.testing.assert_array_equal(model.weights_, weights)

    def test_what_cannot_go_on_is_refused_before_anything_is_learned(self, rng):
        X, y = steps(60)
        given = [
            ("line", sk.OnlineStructuredPredictor(random_state=0)),
            ("tree", DecisionTreeClassifier(random_state=0)),
        ]
        model = sk.StructuredPredictor(estimators=given, random_state=0).fit(X, y)
        before = model.predict_mean(X)
        with pytest.raises(ValueError, match="only supported for online estimators, which .'tree'"):
            model.partial_fit(X, y)
        np.testing.assert_array_equal(model.predict_mean(X), before)
        words, spelt = [rng.randn(4, 3) for _ in range(9)], [[0, 1, 0, 1]] * 9
        with pytest.raises(ValueError, match="only supports fit for label sequences"):
            sk.StructuredPredictor("sequence").partial_fit(words, spelt, classes=[0, 1])

    def test_gaps_have_bins_of_their_own(self, rng):
        X, y = steps(1500)
        missing = rng.rand(1500) < 0.3
        X[missing, 2], y = np.nan, np.where(missing, "white", "black")
        run = progressive_validate(
            sk.StructuredPredictor(random_state=0), X, y, random_state=0, play="randomized"
        )
        assert run.target_loss[700:].mean() < 0.02

    def test_late_labels_are_batches(self):
        X, y = steps(1200)
        model = sk.StructuredPredictor(random_state=0)
        late = progressive_validate(model, X, y, batch_size=50, random_state=0, play="randomized")
        soon = progressive_validate(model, X, y, random_state=0, play="randomized")
        assert soon.target_loss.mean() < late.target_loss.mean() < 0.5
        np.testing.assert_allclose(late.estimator.weights_, soon.estimator.weights_, rtol=1e-9)


def still(n, seed=0):
    """Rows of a noisy linear rule of three classes, which is learned soon."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 4)
    return X, np.argmax(X[:, :3] + 0.3 * rng.randn(n, 3), axis=1)


@cache
def fitted(space="multiclass"):
    """A predictor that has learned 120 rows; tests change copies of it."""
    X, y = still(120)
    y = y if space == "multiclass" else outputs(space, X)
    return sk.StructuredPredictor(space, random_state=0).fit(X, y)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")
class TestChunks:
    def test_predictions_are_those_of_all_rows(self, monkeypatch):
        X, y = still(StreamMixture.first_rows + 20)
        model = copy.deepcopy(fitted()).partial_fit(X, y)
        assert len(model.estimators_) == 3
        whole = model.predict_mean(X)
        monkeypatch.setattr(stream_module, "ROWS_AT_ONCE", 13)
        np.testing.assert_allclose(model.predict_mean(X), whole, atol=1e-9)

    def test_predictions_take_little_memory(self, rng, monkeypatch):
        X = rng.randn(StreamMixture.first_rows + 20, 20)
        model = sk.StructuredPredictor(random_state=0).partial_fit(X, X[:, 0] > 0.0, [False, True])
        rows = rng.randn(20_000, 20)
        monkeypatch.setattr(stream_module, "ROWS_AT_ONCE", 500)
        model.predict(rows[:10])
        tracemalloc.start()
        try:
            model.predict(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * rows.nbytes


@pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")
class TestAfterFit:
    def test_the_fitted_mixture_has_nearly_all_weight_and_predicts(self):
        X, y = still(200, seed=1)
        model = copy.deepcopy(fitted()).partial_fit(X[:1], y[:1])
        before = fitted().predict_mean(X)
        np.testing.assert_allclose(model.predict_mean(X), before, atol=0.01)
        rows = model._model.members[0].learner.read(X)
        np.testing.assert_allclose(model.estimators_[1].means_of(rows), before, atol=1e-9)
        assert len(model.estimators_) == 2 and model.weights_[1] > 0.99
        assert model.t_ == 121 and np.all(model.intercept_ == 0.0)
        for name in ("named_estimators_", "validation_scores_", "validation_score_"):
            assert not hasattr(model, name)

    def test_weights_are_those_of_the_literal_rule(self):
        X, y = still(60, seed=1)
        y = (y + 1) % 3
        model = copy.deepcopy(fitted()).partial_fit(X, y)
        first = StreamMember(clone(model.estimators_[0].learner))
        means = first.learned_means(first.read(X, y, [0, 1, 2], None))
        both = [means.tolist(), fitted().predict_mean(X).tolist()]
        V, ones = np.eye(3)[y].tolist(), [1.0] * 60
        _, v = naive.mixed(
            both,
            V,
            ones,
            [StreamMixture.shared_weight, 1.0 - StreamMixture.shared_weight],
            1.0,
            StreamMixture.shared_weight,
        )
        np.testing.assert_allclose(model.weights_, v, rtol=1e-6)

    def test_it_learns_no_further(self):
        X, y = still(StreamMixture.first_rows + 40, seed=1)
        model = copy.deepcopy(fitted()).partial_fit(X, y)
        frozen, rows = model.estimators_[1], model._model.members[0].learner.read(X)
        wanted = fitted().predict_mean(X)
        np.testing.assert_allclose(frozen.means_of(rows), wanted, atol=1e-9)
        assert len(model.estimators_) == 3

    @every_space
    @pytest.mark.short("multiclass", "ranking")
    def test_chunks_of_any_size_learn_the_same(self, space, rng):
        X = rng.randn(StreamMixture.first_rows + 60, 4)
        y = outputs(space, X[::-1])
        whole = copy.deepcopy(fitted(space)).partial_fit(X, y)
        parts = copy.deepcopy(fitted(space))
        for part in np.split(
            np.arange(len(X)),
            [
                1,
                8,
                StreamMixture.first_rows - 1,
                StreamMixture.first_rows + 1,
                StreamMixture.first_rows + 30,
            ],
        ):
            parts.partial_fit(X[part], y[part])
        np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=1e-6)
        np.testing.assert_allclose(parts.predict_mean(X), whole.predict_mean(X), atol=1e-9)
        assert parts.t_ == whole.t_ == 120 + len(X)

    def test_a_still_stream_loses_nothing_at_the_switch(self):
        X, y = still(StreamMixture.first_rows + 200)
        new, truth = still(1000, seed=1)
        model, ends = (
            copy.deepcopy(fitted()),
            [
                0,
                1,
                50,
                StreamMixture.first_rows - 1,
                StreamMixture.first_rows,
                StreamMixture.first_rows + 1,
                StreamMixture.first_rows + 200,
            ],
        )
        for start, stop in itertools.pairwise(ends):
            model.partial_fit(X[start:stop], y[start:stop])
            assert model.score(new, truth) > fitted().score(new, truth) - 0.02

    def test_a_change_is_followed(self):
        X, y = still(400, seed=1)
        new, truth = still(1000, seed=2)
        model, truth = copy.deepcopy(fitted()), (truth + 1) % 3
        assert model.score(new, truth) < 0.2
        model.partial_fit(X, (y + 1) % 3)
        assert model.score(new, truth) > 0.75 and model.weights_[1] < 0.1

    def test_rows_of_weight_zero_change_nothing(self):
        X, y = still(40, seed=1)
        model = copy.deepcopy(fitted()).partial_fit(X, y)
        weights, before = model.weights_, model.predict_mean(X)
        model.partial_fit(X, (y + 1) % 3, sample_weight=np.zeros(40))
        np.testing.assert_array_equal(model.weights_, weights)
        np.testing.assert_allclose(model.predict_mean(X), before, atol=1e-12)

    def test_errors_leave_the_fitted_mixture(self):
        X, y = still(40, seed=1)
        model, before = copy.deepcopy(fitted()), fitted().predict_mean(X)
        bad = X.copy()
        bad[20, 1] = np.inf
        for rows, labels, what in (
            (X[:, :3], y, "X has 3 features, but StructuredPredictor is expecting 4"),
            (bad, y, "inf"),
            (X, y + 1, "labels that are not among the classes: 3"),
        ):
            with pytest.raises(ValueError, match=what):
                model.partial_fit(rows, labels)
            assert model.t_ == 120 and not hasattr(model, "_model")
            np.testing.assert_array_equal(model.predict_mean(X), before)

    @pytest.mark.parametrize("first", [60, StreamMixture.first_rows + 20])
    def test_sparse_rows_of_a_dense_stream_are_learned_as_dense_ones(self, first):
        X, y = steps(StreamMixture.first_rows + 60)
        X[::3, 1] = 0.0
        stream = sk.StructuredPredictor(random_state=0)
        stream.partial_fit(X[:first], y[:first], classes=["black", "white"])
        dense = copy.deepcopy(stream).partial_fit(X[first:], y[first:])
        stream.partial_fit(sparse.csr_matrix(X[first:]), y[first:])
        assert stream.t_ == len(X) and len(stream.estimators_) == 2
        rows = X[:20], sparse.csr_matrix(X[:20])
        for given in rows:
            wanted = dense.predict_proba(X[:20])
            np.testing.assert_allclose(stream.predict_proba(given), wanted, atol=1e-9)

    def test_wrong_widths_name_the_predictor(self):
        X, y = steps(40)
        stream = sk.StructuredPredictor(random_state=0)
        stream.partial_fit(X, y, classes=["black", "white"])
        for call in (stream.predict, lambda rows: stream.partial_fit(rows, y)):
            with pytest.raises(ValueError, match="X has 3 features, but StructuredPredictor is"):
                call(X[:, :3])
        assert stream.t_ == 40

    def test_wide_sparse_rows_go_on(self, rng):
        X, y = sparse.random(60, 5000, 0.01, "csr", random_state=0), np.arange(60) % 2
        model = sk.StructuredPredictor(random_state=0).fit(X[:30], y[:30])
        model.partial_fit(X[30:40], y[30:40])
        whole = (
            sk.StructuredPredictor(random_state=0).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        )
        model.partial_fit(X[40:], y[40:])
        np.testing.assert_allclose(model.weights_, whole.weights_, rtol=1e-9)
        assert len(model.estimators_) == 2 and model.t_ == 60

    def test_missing_values_and_pickles_go_on(self):
        X, y = still(80, seed=1)
        X[::7, 1] = np.nan
        model = copy.deepcopy(fitted()).partial_fit(X[:40], y[:40])
        other = pickle.loads(pickle.dumps(model))
        for one in (model, other):
            one.partial_fit(X[40:], y[40:])
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
        assert np.isfinite(model.predict_proba(X)).all()

    def test_streams_that_are_validated_start_anew(self):
        X, y = still(80, seed=1)
        runs = [
            progressive_validate(one, X, y, random_state=0, play="randomized")
            for one in (copy.deepcopy(fitted()), clone(fitted()))
        ]
        np.testing.assert_array_equal(runs[0].target_loss, runs[1].target_loss)
        model = copy.deepcopy(fitted())
        model.begin(X, y)
        assert model.t_ == 0 and len(model._model.members) == 1 and not hasattr(model, "_mixed")

    def test_fit_starts_anew(self):
        X, y = still(120)
        model = copy.deepcopy(fitted()).partial_fit(X[:5], y[:5]).fit(X, y)
        assert (
            not hasattr(model, "_model")
            and len({*model.named_estimators_} - {"boosting"}) == 5
            and model.t_ == 120
        )
        np.testing.assert_array_equal(model.predict_mean(X), fitted().predict_mean(X))


def test_shares_come_back_after_a_change(rng):
    V = np.eye(2)[rng.randint(2, size=400)]
    right, wrong = 0.9 * V + 0.05, 0.9 * (1.0 - V) + 0.05
    first = np.where(np.arange(400)[:, None] < 200, right, wrong)
    second = np.where(np.arange(400)[:, None] < 200, wrong, right)
    mixture = StreamMixture([sk.OnlineStructuredPredictor()], None, rng)
    mixture.weights = np.full(2, 0.5)
    said = mixture._mix(np.array([first, second]), V, np.ones(400))
    errors = np.argmax(said, axis=1) != np.argmax(V, axis=1)
    assert errors.sum() < 15 and mixture.weights[1] > 0.99


def test_a_short_stream_of_given_members_is_mixed():
    X, y = steps(30)
    members = [(str(p), sk.OnlineStructuredPredictor(average=p, random_state=0)) for p in (0, 1)]
    members = [
        (name, m.set_params(average=bool(m.average), optimizer="ogd")) for name, m in members
    ]
    model = sk.StructuredPredictor(estimators=members, random_state=0)
    run = progressive_validate(model, X, y, random_state=0, play="randomized")
    late = progressive_validate(model, X, y, batch_size=10, random_state=0, play="randomized")
    assert run.estimator.t_ == late.estimator.t_ == 30
    whole = clone(model).partial_fit(X, y, classes=np.unique(y))
    parts = clone(model).partial_fit(X[:7], y[:7], classes=np.unique(y)).partial_fit(X[7:], y[7:])
    np.testing.assert_allclose(parts.predict_mean(X), whole.predict_mean(X), atol=1e-12)


class Interruption(BaseException):
    """What a handler of signals raises."""


#: What a block goes through, in order; a handler may raise in any of them, or behind.
STEPS = {StreamMember: ("read", "learned_means"), StreamMixture: ("_wait", "_mix")}


def interrupted_at(monkeypatch, place, behind):
    """Raise at the call of a step with the number `place`, before or behind; the calls so far."""
    calls = []
    for kind, names in STEPS.items():
        for name in names:
            step = getattr(kind, name)

            def stepped(*given, step=step):
                calls.append(step)
                breaks = len(calls) == place
                result = None if breaks and not behind else step(*given)
                if breaks:
                    raise Interruption
                return result

            monkeypatch.setattr(kind, name, stepped)
    return calls


def few_members(self, X):
    """A learner of unchanged rows, and one of their bins."""
    one = sk.OnlineStructuredPredictor(optimizer="ogd", standardize=False, random_state=0)
    return [one], clone(one)


def same(one, other):
    """Whether models have the same bits everywhere."""
    return not list(differences(copy.deepcopy(one), copy.deepcopy(other)))


@pytest.mark.parametrize("behind", [False, True])
def test_what_interrupts_a_block_leaves_those_before(behind, monkeypatch):
    """Bins begin in the second block; they are of 60 of 66 pairs, drawn at random."""
    monkeypatch.setattr(StreamMixture, "first_rows", 12)
    monkeypatch.setattr(sk.StructuredPredictor, "_stream_block", 5)
    monkeypatch.setattr(sk.StructuredPredictor, "_stream_members", few_members)
    X, y = steps(20, p=12)
    model = sk.StructuredPredictor(random_state=0).partial_fit(X[:6], y[:6], classes=np.unique(y))
    states, left = {6: copy.deepcopy(model)}, set()
    for start, stop in ((6, 11), (11, 16), (16, 20)):
        states[stop] = copy.deepcopy(model.partial_fit(X[start:stop], y[start:stop]))
    for place in itertools.count(1):
        model = copy.deepcopy(states[6])
        with monkeypatch.context() as patches:
            calls = interrupted_at(patches, place, behind)
            with contextlib.suppress(Interruption):
                model.partial_fit(X[6:], y[6:])
        if len(calls) < place:
            break
        assert same(model, states[model.t_])
        left.add(model.t_)
        assert same(model.partial_fit(X[model.t_ :], y[model.t_ :]), states[20])
    assert left == {6, 11, 16} and len(model.estimators_) == 2


def test_a_member_that_refuses_late_rows_leaves_all_blocks_unlearned(monkeypatch):
    """The second member takes no missing values; the first does."""
    monkeypatch.setattr(sk.StructuredPredictor, "_stream_block", 5)
    members = [
        ("gaps", sk.OnlineStructuredPredictor(optimizer="ogd", random_state=0)),
        ("none", sk.OnlineStructuredPredictor(optimizer="ogd", missing="error", random_state=0)),
    ]
    X, y = steps(30)
    model = sk.StructuredPredictor(estimators=members, random_state=0)
    model.partial_fit(X[:10], y[:10], classes=np.unique(y))
    before = copy.deepcopy(model)
    X[29, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X[10:], y[10:])
    assert same(model, before)
