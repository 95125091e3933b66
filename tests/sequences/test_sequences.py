"""Label sequences: the space, ragged input, what users see of learners, transformers, scores."""

import naive.sequences as literal
import numpy as np
import pytest
import sklearn
from conftest import INTERPRETED
from learner_checks import learner_checks
from naive import Descent
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from streams import words

import skstructured as sk
from skstructured.evaluation import progressive_validate
from skstructured.losses import FenchelYoung
from skstructured.optimizers import GradientDescent
from skstructured.sequences import (
    Stacked,
    label_f1,
    label_f1_scorer,
    position_accuracy,
    position_accuracy_scorer,
    sequence_accuracy,
    sequence_accuracy_scorer,
)
from skstructured.sequences._decoding import ChainRule, SequenceLoss
from skstructured.spaces.sequence import Chains, mean_per_sequence
from skstructured.streaming import fit_chunks

LETTERS = np.array(["a", "b", "c"])
PLAIN = {"standardize": False, "shuffle": False, "max_iter": 1}


def learner(**given):
    return sk.OnlineStructuredPredictor("sequence", **PLAIN | given)


def named(y):
    return [LETTERS[codes] for codes in y]


class TestSpace:
    space = sk.spaces.LabelSequence().fit(named(words()[1]))

    @pytest.mark.interpreted
    def test_embeddings_come_back(self):
        y = named(words()[1])
        back = self.space.decode(self.space.encode(y))
        assert len(back) == len(y) and all(map(np.array_equal, back, y))
        assert self.space.encode(y[:1] * 2).ndim == 2
        assert isinstance(self.space.encode([["a"], ["a", "b"]]), list)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("M", [1, 2, 3])
    def test_oracles_equal_a_search_over_all(self, M):
        V = self.space.vertices(M)
        assert np.array_equal(V, literal.vertices(M, 3))
        theta = np.random.RandomState(M).randn(20, V.shape[1])
        assert np.array_equal(self.space.argmax(theta), V[np.argmax(theta @ V.T, axis=1)])
        mu = np.array([literal.mean(row, V) for row in theta])
        apart = np.abs(mu[:, None] - V).sum(axis=2)
        chosen = np.abs(mu - self.space.nearest(mu)).sum(axis=1)
        np.testing.assert_allclose(chosen, apart.min(axis=1), atol=1e-12)

    @pytest.mark.parametrize("M", [1, 3])
    def test_the_nearest_is_that_of_all(self, M, rng):
        V, moved = self.space.vertices(M), 0
        unary, pair = rng.randn(30 * M, 3), 2.0 * rng.randn(1, 3, 3)
        theta = Chains(unary, np.arange(31) * M, pair)
        loss = SequenceLoss(self.space, sk.regularizers.Shannon(), scale=1.0)
        found = ChainRule("nearest").most_likely(theta, loss.mean(theta), loss).unstack()
        for scores, labels in zip(unary.reshape(30, M, 3), found, strict=True):
            whole = np.concatenate([scores.ravel(), np.tile(pair.ravel(), M - 1)])
            apart = np.sum((V - literal.mean(whole, V)) ** 2, axis=1)
            assert np.array_equal(V[apart.argmin()], literal.embedding(labels, 3))
            moved += apart.argmin() != (V @ whole).argmax()
        assert moved > 0 or M == 1  # it is not the most likely one

    @pytest.mark.interpreted
    def test_draws_have_the_mean(self):
        V = self.space.vertices(3)
        mu = literal.mean(np.random.RandomState(0).randn(V.shape[1]), V)
        n = 300 if INTERPRETED else 20_000
        drawn = np.asarray(self.space.sample(np.tile(mu, (n, 1)), 0)).mean(axis=0)
        assert (np.abs(drawn - mu) <= 5.0 * np.sqrt(mu * (1.0 - mu) / n) + 1e-12).all()

    @pytest.mark.parametrize(
        ("costs", "message"),
        [
            (np.ones((3, 3)), "be 0 on its diagonal"),
            (-np.eye(3), "not be negative, got -1 at .0, 0."),
            (np.zeros((3, 3)), "have a positive entry"),
            (np.eye(2), "have shape .3, 3. for 3 classes, got .2, 2."),
            ("no", "be a .3, 3. matrix of numbers"),
            ([[0, np.nan]], "be a .3, 3. matrix of numbers: .*NaN"),
        ],
    )
    def test_bad_costs_are_refused(self, costs, message):
        with pytest.raises(ValueError, match=f"cost_matrix must {message}"):
            sk.spaces.LabelSequence(costs).fit([["a", "b", "c"]])


def test_streams_are_validated_by_what_is_predicted():
    X, y = words(30)
    for play in ("predict", "randomized"):
        result = progressive_validate(learner(), X, y, play=play, batch_size=5)
        assert result.target_loss.shape == (30,)
        assert 0.0 < result.risk_bound(last=1.0) <= 1.0


class TestUse:
    def test_predictions_of_every_kind(self):
        X, y = words()
        model = sk.OnlineStructuredPredictor("sequence", random_state=0).fit(X, named(y))
        assert model.score(X, named(y)) > 0.7  # guessing: 0.33 or so
        for labels, marginals, best in zip(
            model.predict(X), model.predict_marginals(X), model.predict_nbest(X, 4), strict=True
        ):
            assert set(labels) <= set("abc")
            np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
            assert len(best) == min(4, 3 ** len(labels))
            found = [score for _, score in best]
            assert found == sorted(found, reverse=True)
        assert [len(part) for part in model.sample(X, 0)] == [len(part) for part in X]
        assert model.expected_target_loss(X, named(y)).shape == (len(X),)
        for decoder in ("map", "nearest"):
            model.set_params(decoder=decoder)
            exact = model.space_.target_loss(model.predict(X), named(y))
            np.testing.assert_allclose(model.expected_target_loss(X, named(y)), exact)
            best = [sorted_[0][0] for sorted_ in model.predict_nbest(X, 1)]
            if decoder == "map":
                assert all(map(np.array_equal, best, model.predict(X)))

    def test_every_form_of_input_is_the_same(self):
        X, y = words()
        lengths = [len(codes) for codes in y]
        model = learner().fit(X, y)
        for rows in (Stacked(np.concatenate(X), lengths), tuple(X), [x.tolist() for x in X]):
            assert np.array_equal(learner().fit(rows, y).coef_, model.coef_)
            assert np.array_equal(learner().fit(rows, [list(c) for c in y]).coef_, model.coef_)
        square, labels = np.random.RandomState(0).randn(6, 2, 3), np.zeros((6, 2), dtype=int)
        labels[0] = 1, 2
        assert learner().fit(square, labels).predict(square)[0].shape == (2,)

    def test_selection_and_searches_on_lists(self):
        X, y = words(50)
        groups = np.arange(len(X)) % 4
        model = sk.OnlineStructuredPredictor("sequence", max_iter=2, random_state=0)
        assert cross_val_score(model, X, y, cv=GroupKFold(3), groups=groups).mean() > 0.6
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        grid = [{"regularizer": ["shannon", "squared"]}, {"decoder": ["map"], "optimizer": ["ogd"]}]
        search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X_train, y_train)
        assert search.best_score_ > 0.6 and search.score(X_test, y_test) > 0.5

    def test_transformers(self):
        X, y = words()
        scaled = sk.SequenceTransformer(StandardScaler()).fit(X)
        rows = np.concatenate(scaled.transform(X).unstack())
        np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-12)
        for step in (MinMaxScaler(), RBFSampler(random_state=0)):
            model = make_pipeline(sk.SequenceTransformer(step), learner())
            assert cross_val_score(model, X, y, cv=2).mean() > 0.4
        given = make_pipeline(sk.SequenceTransformer(StandardScaler()), learner())
        given.set_params(sequencetransformer__transformer__with_mean=False)
        assert progressive_validate(
            given.fit(X, y)[-1], X, y, play="randomized"
        ).target_loss.shape == (len(X),)

    def test_dicts_as_crfsuite_has_them(self):
        X, y = words()
        dicts = [[{f"f{j}": v for j, v in enumerate(row)} for row in x] for x in X]
        model = make_pipeline(sk.SequenceTransformer(DictVectorizer()), learner())
        found = model.fit(dicts, y)[-1]
        np.testing.assert_allclose(found.coef_, learner().fit(X, y).coef_, atol=1e-10)
        answers = model.predict([[], *dicts, []])
        assert list(map(len, answers)) == [0, *map(len, y), 0]
        for empty in (0, 1):
            with pytest.raises(ValueError, match=f"Sequence {empty} of X is empty"):
                model.fit([[], dicts[0]] if empty == 0 else [dicts[0], []], y[:2])

    def test_scores_and_log_probabilities_are_those_of_the_weights(self):
        X, y = words()
        model = sk.OnlineStructuredPredictor("sequence", random_state=0).fit(X, y)
        parts = [model.coef_.T, model.intercept_, model.start_, model.end_, model.transitions_]
        W, wanted = np.vstack(parts), []
        for x, codes, best in zip(X, y, model.predict_nbest(X, 1), strict=True):
            V, theta = literal.vertices(len(x), 3), literal.scores(W, x, True)
            wanted.append(-literal.loss(theta, V, literal.embedding(codes, 3)))
            v = V[np.argmax(V @ theta)]
            np.testing.assert_allclose(best[0][1], v @ theta)
            assert np.array_equal(literal.embedding(best[0][0], 3), v)
        np.testing.assert_allclose(model.log_proba(X, y), wanted, rtol=1e-10, atol=1e-11)
        squared = sk.OnlineStructuredPredictor("sequence", "squared", max_iter=1)
        assert not hasattr(squared.fit(X[:9], y[:9]), "log_proba")

    def test_other_spaces_have_none_of_it(self):
        model = sk.OnlineStructuredPredictor().fit(np.eye(3), [0, 1, 2])
        for name in ("transitions_", "start_", "predict_marginals", "predict_nbest", "log_proba"):
            assert not hasattr(model, name)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("kind", ["dense", "csr", "no intercept"])
    def test_indicators_are_not_divided_by_fit(self, kind):
        """Dense ones are centered by the mean of the rows so far; 32 rows, each counts at once."""
        X, y = words()
        X, y = [(x > 0.0).astype(float) for x in X[:7]], y[:7]
        rows = [sparse.csr_matrix(x) for x in X] if kind == "csr" else X
        stacked, centered = np.concatenate(X), kind == "dense"
        assert len(stacked) <= 32
        means = np.cumsum(stacked, axis=0) / np.arange(1, len(stacked) + 1)[:, None]
        moved = np.split(stacked - centered * means, np.cumsum([len(x) for x in X])[:-1])
        given = {
            "optimizer": GradientDescent(eta=0.1),
            "loss": FenchelYoung(scale=4.0),
            "max_iter": 1,
        }
        given |= {"standardize": "auto", "fit_intercept": kind != "no intercept"}
        model = learner(**given, shuffle=False).fit(rows, y)
        intercept = given["fit_intercept"]
        descent = Descent((X[0].shape[1] + intercept + 5, 3), lambda sq: 0.4)
        last = literal.learn([descent], moved, y, 3, None, intercept).weights[-1, 0]
        if centered:
            last[X[0].shape[1]] -= means[-1] @ last[: X[0].shape[1]]
        np.testing.assert_allclose(model.last_weights_, last.T, rtol=1e-9, atol=1e-10)
        rows[0] = 2.0 * rows[0]
        model.fit(rows, y)
        assert model._scale.used and model._scale.divided

    def test_units_and_origins_do_not_matter(self):
        X, y = words()
        model = sk.OnlineStructuredPredictor("sequence", random_state=0).fit(X, y)
        other = sk.OnlineStructuredPredictor("sequence", random_state=0)
        other.fit([1e6 * x + 1e4 for x in X], y)
        predicted = other.predict([1e6 * x + 1e4 for x in X])
        assert np.mean(np.concatenate(predicted) == np.concatenate(model.predict(X))) > 0.99

    def test_names_of_columns_count(self):
        pandas = pytest.importorskip("pandas")
        X, y = words()
        frames = [pandas.DataFrame(x, columns=list("pqrs")) for x in X]
        model = learner().fit(frames, y)
        assert list(model.feature_names_in_) == list("pqrs")
        assert np.array_equal(model.coef_, learner().fit(X, y).coef_)
        with pytest.raises(ValueError, match="feature names"):
            model.predict([frame[list("qprs")] for frame in frames])
        frames[3] = frames[3][list("qprs")]
        with pytest.raises(ValueError, match="Sequence 3 of X has the columns"):
            model.predict(frames)

    def test_a_long_sequence(self):
        n = 200 if INTERPRETED else 20_000
        rng = np.random.RandomState(0)
        y = rng.randint(3, size=n)
        X = np.eye(3)[y] + 0.5 * rng.randn(n, 3)
        model = learner(max_iter=5).fit([X, X[:10]], [y, y[:10]])
        assert np.isfinite(model.coef_).all()
        assert model.score([X], [y]) > 0.6


def test_widths_classes_and_lengths():
    X, y = words(30)
    with pytest.raises(ValueError, match="expecting 4 features"):
        learner().fit(X, y).predict([x[:, :2] for x in X])
    with pytest.raises(ValueError, match="classes must be given"):
        learner().partial_fit(X, y)
    with pytest.raises(ValueError, match="lengths add up to 4"):
        Stacked(np.ones((5, 2)), [2, 2])
    with pytest.raises(ValueError, match="lengths must be positive integers"):
        Stacked(np.ones((5, 2)), [5, 0])


#: What these do to rows cannot be done to an array of sequences; the tests above do it to lists.
OF_MATRICES = ("check_sparse_rows", "check_wrong_rows_are_refused")


def _protocol_checks():
    """The shared checks of learners, over sequences of two rows as an array (n, 2, p)."""
    X = np.random.RandomState(0).randn(40, 2, 4)
    y = np.argmax(X[:, :, :3], axis=2)
    for average in (True,) if INTERPRETED else (False, True):
        given = learner(average=average, random_state=0)
        for name, check in learner_checks(given, X, y, [0, 1, 2]):
            if name in OF_MATRICES:
                continue
            yield pytest.param(check, id=f"{name}-{average}")


@pytest.mark.parametrize("check", list(_protocol_checks()))
def test_the_shared_checks_of_learners(check):
    check()


class TestScores:
    truth, predicted = [["a", "b"], ["b"], ["c", "c", "a"]], [["a", "a"], ["b"], ["c", "c", "a"]]

    @pytest.mark.interpreted
    def test_are_what_they_are_called(self):
        assert position_accuracy(self.truth, self.predicted) == pytest.approx(5 / 6)
        assert sequence_accuracy(self.truth, self.predicted) == pytest.approx(2 / 3)
        f1 = label_f1(self.truth, self.predicted, average=None)
        np.testing.assert_allclose(f1, [4 / 5, 2 / 3, 1.0])
        assert label_f1(self.truth, self.predicted, labels=["b"]) == pytest.approx(2 / 3)
        assert label_f1(self.truth, self.predicted) == pytest.approx(np.mean(f1))
        with pytest.raises(
            ValueError, match="Sequence 1 has 2 positions in y_true, but 1 labels in y_p"
        ):
            position_accuracy([["a"], ["a", "b"]], [["a"], ["a"]])

    @pytest.mark.parametrize("scorer", [position_accuracy_scorer, sequence_accuracy_scorer])
    def test_choose_in_searches(self, scorer):
        X, y = words(30)
        assert 0.0 < cross_val_score(learner(), X, y, cv=2, scoring=scorer).mean() <= 1.0
        assert cross_val_score(learner(), X, y, cv=2, scoring=label_f1_scorer).mean() > 0.0


@pytest.mark.interpreted
def test_means_over_positions():
    np.testing.assert_allclose(mean_per_sequence(np.arange(4.0), np.array([0, 1, 4])), [0.0, 2.0])


def test_sequences_come_out_as_matrices_and_no_frames():
    steps = sk.SequenceTransformer(StandardScaler())
    X = [np.arange(6.0).reshape(3, 2), np.ones((2, 2))]
    plain = steps.fit(X).transform(X)
    with sklearn.config_context(transform_output="pandas"):
        np.testing.assert_array_equal(steps.fit(X).transform(X).values, plain.values)
    with pytest.raises(ValueError, match="Unable to configure output for SequenceTransformer"):
        make_pipeline(steps, StandardScaler()).set_output(transform="pandas")


def test_streams_leave_the_transformer_that_was_given_as_it_is():
    given = StandardScaler()
    steps = sk.SequenceTransformer(given)
    for _ in range(2):
        steps.partial_fit([np.arange(6.0).reshape(3, 2), np.ones((2, 2))])
    assert vars(given) == vars(StandardScaler()) and steps.transformer is given
    assert steps.transformer_.n_samples_seen_ == 10


@pytest.mark.interpreted
def test_a_transformer_with_nothing_to_fit_is_a_step_of_a_stream():
    words = [[{"a": 1.0}, {"b": 2.0}], [{"b": 1.0}]]
    hashed = sk.SequenceTransformer(FeatureHasher(16))
    rows = hashed.transform(words)  # not fitted
    np.testing.assert_array_equal(
        rows.values.toarray(), clone(hashed).fit(words).transform(words).values.toarray()
    )
    learner = sk.OnlineStructuredPredictor("sequence", random_state=0)
    model = fit_chunks(make_pipeline(hashed, learner), [(words, [[0, 1], [1]])] * 3, classes=[0, 1])
    alone = clone(learner)
    for _ in range(3):
        alone.partial_fit(rows, [[0, 1], [1]], classes=[0, 1])
    np.testing.assert_array_equal(model[-1].coef_, alone.coef_)
    with pytest.raises(NotFittedError):
        sk.SequenceTransformer(StandardScaler()).transform([np.ones((2, 1))])


@pytest.mark.parametrize(
    "model",
    [
        sk.OnlineStructuredPredictor("sequence", optimizer="ogd"),
        sk.ConditionalRandomField(alpha=0.1),
        sk.StructuralSVM("sequence", alpha=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_empty_sequences_get_empty_answers(model):
    X, y = [np.eye(3)[[0, 1]], np.eye(3)[[2, 1, 0]]], [["a", "b"], ["c", "b", "a"]]
    model.fit(X, y)
    for empty in (np.zeros((0, 3)), sparse.csr_array((0, 3)), []):
        found = model.predict([X[0], empty, X[1], empty])
        assert [labels.tolist() for labels in found] == [["a", "b"], [], ["c", "b", "a"], []]
        (alone,) = model.predict([empty])
        assert alone.shape == (0,) and alone.dtype == found[0].dtype
    with_rows = {"predict_marginals": (0, 3), "sample": (0,)}
    for name, shape in with_rows.items():
        if hasattr(model, name):
            found = getattr(model, name)([np.zeros((0, 3)), X[1]])
            assert found[0].shape == shape and len(found[1]) == 3
    if hasattr(model, "predict_nbest"):
        assert model.predict_nbest([np.zeros((0, 3)), X[1]], 2)[0] == []
    with pytest.raises(ValueError, match="Sequence 1 of X is empty"):
        model.fit([X[0], X[1][:0]], y)


def test_a_transformer_that_could_not_be_fitted_leaves_nothing():
    model = sk.SequenceTransformer(StandardScaler())
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="infinity"):
            learn([[[np.inf]]])
        assert not hasattr(model, "transformer_")
    model.partial_fit([[[1.0], [3.0]]]).partial_fit([[[5.0]]])
    assert model.transformer_.mean_ == 3.0
    assert not hasattr(model.transformer, "mean_")


def test_tokens_in_the_place_of_dicts_are_named_and_empty_sentences_are_answered():
    sentences, tags = [["the", "dog"], ["cats"]], [["D", "N"], ["N"]]
    wanted = "dicts of features at every position .* got 'the'. Give each token as a dict"
    dicts = [[{"word": token} for token in sentence] for sentence in sentences]
    for transformer in (DictVectorizer(), FeatureHasher(8)):
        model = make_pipeline(sk.SequenceTransformer(transformer), learner())
        with pytest.raises(ValueError, match=wanted):
            model.fit(sentences, tags)
        with pytest.raises(ValueError, match=wanted):
            model.fit(dicts, tags).predict(sentences)
        assert [labels.shape for labels in model.predict([[], []])] == [(0,), (0,)]
        marginals = model[-1].predict_marginals(model[:-1].transform(dicts))  # as docstrings say
        assert [part.shape for part in marginals] == [(2, 2), (1, 2)]


def test_transformers_are_fitted_and_applied_in_one_call():
    class Shifted(StandardScaler):
        calls = 0

        def fit_transform(self, X, y=None):
            if y is not None and "bad" in y:
                raise ValueError("bad labels")
            type(self).calls += 1
            return self.fit(X).transform(X) + 1.0

    X, y = [np.arange(6.0).reshape(3, 2), np.ones((2, 2))], [["a", "b", "a"], ["b", "b"]]
    steps = sk.SequenceTransformer(Shifted())
    found, after = steps.fit_transform(X, y), steps.transform(X)
    assert Shifted.calls == 1 and found.lengths.tolist() == [3, 2]
    np.testing.assert_allclose(np.vstack(list(found)), np.vstack(list(after)) + 1.0)
    kept = steps.transformer_
    with pytest.raises(ValueError, match="bad labels"):
        steps.fit_transform(X, [["bad", "b", "a"], ["b", "b"]])
    assert steps.transformer_ is kept and not hasattr(steps.transformer, "mean_")
    with pytest.raises(ValueError, match="Sequence 2 of X is empty"):
        steps.fit_transform([*X, np.empty((0, 2))])
    assert steps.transformer_ is kept
