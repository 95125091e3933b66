"""One row a call: the answers of one pass and of a fresh copy, bit for bit, and the same errors."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import skstructured as sk
from skstructured._base.validation import is_ready_row
from skstructured._learners.models import LinearModel
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import played_alone
from skstructured.checkpoints import load_checkpoint, save_checkpoint

CLASSES = np.arange(4)
ROWS = 20 if INTERPRETED else 90

#: Parameters, and the dtype of the rows.
CASES = {
    "defaults": ({}, np.float64),
    "single precision": ({}, np.float32),
    "rows as they are": ({"standardize": False}, np.float64),
    "single, as they are": ({"standardize": False, "optimizer": "ogd"}, np.float32),
    "no intercept": ({"fit_intercept": False}, np.float64),
    "last weights": ({"average": False}, np.float64),
    "scores mixed": ({"regularizer": "squared"}, np.float64),
    "ordinal": ({"space": "ordinal"}, np.float64),
    "weights of classes": ({"class_weight": {0: 3.0, 1: 0.5, 2: 1.0, 3: 1.0}}, np.float64),
    "ogd": ({"optimizer": "ogd", "average": "uniform"}, np.float64),
    "parameter-free": ({"optimizer": "parameter_free"}, np.float64),
    "adagrad": ({"optimizer": AdaGrad()}, np.float64),
}


def stream(dtype=np.float64, p=6):
    rng = np.random.RandomState(0)
    X = rng.randn(ROWS, p) * 10.0 ** rng.randint(-2, 3, size=p) + 1.0
    X[7] = 0.0
    y = (X / X.std(axis=0) @ rng.randn(p, 4)).argmax(axis=1)
    return X.astype(dtype), y, rng.choice([0.0, 0.3, 1.0, 2.5], size=ROWS)


def predictor(name="defaults"):
    parameters, dtype = CASES[name]
    return sk.OnlineStructuredPredictor(random_state=0, **parameters), *stream(dtype)


def begun(model, X, y):
    return model.partial_fit(X[:3], y[:3], classes=CLASSES)


def one_by_one(model, X, y, start, **given):
    for i in range(start, len(X)):
        of_row = {name: value[i : i + 1] for name, value in given.items()}
        model.partial_fit(X[i : i + 1], y[i : i + 1], **of_row)
    return model


def assert_same(one, other, X):
    """The same answers to every row, alone and together, and the same weights, to the last bit."""
    assert one.t_ == other.t_
    for name in ("coef_", "intercept_", "last_weights_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for rows in [X, *(X[i : i + 1] for i in range(0, len(X), 9))]:
        assert_array_equal(one.decision_function(rows), other.decision_function(rows))
        assert_array_equal(one.predict(rows), other.predict(rows))
        if hasattr(one, "predict_proba"):
            assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


@pytest.fixture
def alone(monkeypatch):
    """Rows that were learned by themselves, as they come."""
    learn, found = OnlineEstimator._learned_alone, []

    def recording(self, X, *given):
        done = learn(self, X, *given)
        found.extend([X] if done else [])
        return done

    monkeypatch.setattr(OnlineEstimator, "_learned_alone", recording)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_rows_one_by_one_are_one_pass(name, weighted, alone):
    model, X, y, weight = predictor(name)
    given = {"sample_weight": weight} if weighted else {}
    one, other = begun(model, X, y), begun(clone(model), X, y)
    one_by_one(one, X, y, 3, **given)
    assert len(alone) == (0 if model.class_weight else ROWS - 3)
    other.partial_fit(X[3:], y[3:], **{key: value[3:] for key, value in given.items()})
    assert_same(one, other, X)


def test_label_sets_perceptrons_gaps_and_labels_of_other_types_too(alone):
    X, y, _ = stream()
    gaps = np.where(np.random.RandomState(1).rand(*X.shape) < 0.1, np.nan, X)
    others = (y, y.astype(np.int32), y.astype(float), np.array(list("abcd"))[y])
    for model, rows, labels in (
        (sk.OnlineStructuredPredictor("hypercube"), X, (y[:, None] > np.arange(3)).astype(int)),
        (sk.MulticlassPerceptron(), X, y),
        *((sk.OnlineStructuredPredictor(), gaps, labels) for labels in others),
    ):
        given = {} if labels.ndim == 2 else {"classes": np.unique(labels)}
        one = model.set_params(random_state=0).partial_fit(rows[:3], labels[:3], **given)
        other = clone(one).partial_fit(rows, labels, **given)
        assert_same(one_by_one(one, rows, labels, 3), other, rows)
        assert len(alone) == ROWS - 3 if rows is X else 0 < len(alone) < ROWS - 3
        alone.clear()


@pytest.mark.skipif(INTERPRETED, reason="there is no quick way without compiled kernels")
@pytest.mark.parametrize("optimizer", ["mixture", "ogd", "parameter_free"])
@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("space", ["simplex", "hypercube"])
@pytest.mark.parametrize("plain", [True, False])
def test_one_row_is_played_as_many_are(space, plain, average, optimizer):
    """Scores, means and labels by the kernel for one row are those of the matrix of all rows."""
    X, y, _ = stream()
    Y = y if space == "simplex" else (y[:, None] > np.arange(3)).astype(int)
    model = sk.OnlineStructuredPredictor(
        space, optimizer=optimizer, average=average, standardize=not plain, fit_intercept=not plain
    )
    model.partial_fit(X, Y, **({"classes": CLASSES} if space == "simplex" else {}))
    X[5, 2] = X[5, 2] if plain else np.nan
    with_gaps = np.isnan(X).any(axis=1)
    theta, mu, labels = model.embedding_scores(X), model.predict_proba(X), model.predict(X)
    for i in range(len(X)):
        played = played_alone(model, X[i : i + 1])
        assert (played is None) == with_gaps[i]
        if played is not None:
            assert_allclose(played[0], theta[i], rtol=1e-9, atol=1e-12)
            assert_allclose(played[1], mu[i], rtol=1e-9, atol=1e-12)
        assert_array_equal(model.predict(X[i : i + 1]), labels[i : i + 1])
    last = model.set_params(average=False).embedding_scores(X)
    assert_allclose(played_alone(model, X[:1])[0], last[0], rtol=1e-9, atol=1e-12)
    if not average:  # which nobody kept, so that there are the last weights alone
        model.set_params(average=True)
        assert_array_equal(model.embedding_scores(X), last)
        assert_allclose(played_alone(model, X[:1])[0], last[0], rtol=1e-9, atol=1e-12)
    for other in ({"optimizer": AdaGrad()}, {"regularizer": "squared"}):
        model.set_params(**other).fit(X[:5], Y[:5])
        assert played_alone(model, X[:1]) is None


def fresh(model):
    """A copy that has nothing but what was learned."""
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_a_fresh_copy(name):
    """However predictions, rows, copies and weights that are looked at come in turns."""
    model, X, y, _ = predictor(name)
    begun(model, X, y)
    for i in range(3, 12):
        row = X[i : i + 1]
        model.predict(row), model.coef_
        copy = fresh(model)
        model.partial_fit(row, y[i : i + 1])
        assert_same(model, fresh(model), X[:30:5])
        if row.any():
            assert (model.decision_function(X[:1]) != copy.decision_function(X[:1])).any()
        assert_same(copy.partial_fit(row, y[i : i + 1]), model, X[:30:5])


def test_nothing_is_left_of_another_fit(tmp_path):
    """Another width, other steps, a stream after `fit`, and a checkpoint."""
    model, X, y, _ = predictor()
    begun(model, X, y).predict(X[:1])
    model.set_params(optimizer=sk.optimizers.StepMixture(steps=(2.0,), averages=False))
    narrow = np.ascontiguousarray(X[:, :4])
    for rows in (X, narrow):
        model.fit(rows, y)
        other = clone(model).fit(rows, y)
        model.predict_proba(rows[:1])
        one_by_one(model, rows, y, ROWS - 5)
        assert_same(model, other.partial_fit(rows[-5:], y[-5:]), rows)
    save_checkpoint(model, tmp_path / "model")
    loaded = load_checkpoint(tmp_path / "model")
    assert_same(one_by_one(loaded, narrow, y, 70 % ROWS), fresh(loaded), narrow)
    assert_same(one_by_one(model, narrow, y, 70 % ROWS), loaded, narrow)


def test_a_decoder_set_later_is_used_at_once():
    model, X, y, _ = predictor()
    begun(model, X, y).predict(X[:1])
    costs = np.where(np.eye(4) > 0, 0.0, [[1.0, 1e12, 1e12, 1e12]])
    model.set_params(decoder="min_risk").space_.set_params(cost_matrix=costs)._adopt(CLASSES)
    assert_array_equal(model.predict(X[:1]), model.predict(X[:20])[:1])
    assert (model.predict(X[:20]) == 0).all()


def test_scores_out_of_range_stop_a_row_and_leave_the_statistics():
    model, X, y, _ = predictor()
    begun(model, X, y)
    model.model_.state.Theta[:] = 1e308
    statistics = model._scale.statistics.copy()
    with pytest.raises(ValueError, match="The scores of row 0 of X are not finite"):
        model.partial_fit(X[3:4], y[3:4])
    assert_array_equal(model._scale.statistics, statistics)
    assert model.t_ == 3


@pytest.mark.parametrize("kind", ["standardized", "as they are", "rankers"])
def test_a_mean_of_others_learns_no_row(kind, rng):
    model, X, y, _ = predictor("ogd")
    if kind == "rankers":
        X, y = rng.randn(12, 5, 3), rng.randint(0, 3, (12, 5))
        model = sk.ListwiseRanker().partial_fit(X, y)
    else:
        begun(model.set_params(standardize=kind == "standardized"), X, y)
    mean = sk.average_fitted([model, fresh(model)])
    before = pickle.dumps(mean)
    with pytest.raises(RuntimeError, match="Averaged models"):
        mean.partial_fit(X[3:4], y[3:4])
    assert pickle.dumps(mean) == before


def test_a_signal_before_the_row_leaves_it(monkeypatch):
    model, X, y, _ = predictor()
    begun(model, X, y)

    def interrupted(self, *given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LinearModel, "learn_alone", interrupted)
        model.partial_fit(X[3:4], y[3:4])
    other = begun(clone(model), X, y)
    assert_same(model, other, X)
    assert_same(*(one.partial_fit(X[3:4], y[3:4]) for one in (model, other)), X)


@pytest.mark.parametrize(("name", "size"), [("defaults", 1e151), ("rows as they are", 1e101)])
def test_a_row_that_is_too_long_is_refused_by_itself(name, size):
    model, X, y, _ = predictor(name)
    begun(model, X, y)
    before = fresh(model)
    with pytest.raises(ValueError, match="Row 0 of X is too large"):
        model.partial_fit(np.full((1, X.shape[1]), size), y[:1])
    assert_same(model, before, X)


class TestSparseRows:
    """One CSR row skips scikit-learn's checks if it is what kernels read, and only then."""

    def rows(self):
        X, y, _ = stream()
        X = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
        X.sort_indices()
        return X, y

    def test_learn_and_answer_as_chunks_do(self):
        X, y = self.rows()
        whole = begun(sk.OnlineStructuredPredictor(random_state=0), X, y).partial_fit(X[3:], y[3:])
        single = begun(sk.OnlineStructuredPredictor(random_state=0), X, y)
        for i in range(3, len(y)):
            assert is_ready_row(single, X[i])
            single.partial_fit(X[i], y[i : i + 1])
        assert_array_equal(single.last_weights_, whole.last_weights_)
        answers = np.concatenate([whole.predict_proba(row) for row in X])
        assert_allclose(answers, whole.predict_proba(X), atol=1e-14)

    @pytest.mark.parametrize(
        ("indices", "indptr", "wanted"),
        [
            ([1, 6], [0, 2], "column index|must be|exceed|valid"),
            ([-1, 2], [0, 2], "negative|must be|valid"),
            ([0, 2], [0, 5], "indptr|valid|size"),
        ],
    )
    def test_whose_arrays_do_not_fit_are_refused(self, indices, indptr, wanted):
        X, y = self.rows()
        model = begun(sk.OnlineStructuredPredictor(random_state=0), X, y)
        row = X[5].copy()
        row.indices, row.data = np.array(indices, np.int32), np.ones(2)
        row.indptr = np.array(indptr, np.int32)
        assert not is_ready_row(model, row)
        with pytest.raises(ValueError, match=wanted):
            model.partial_fit(row, y[5:6])

    def test_in_another_form_are_checked_and_mean_the_same(self):
        X, y = self.rows()
        model = begun(sk.OnlineStructuredPredictor(random_state=0), X, y)
        plain, mixed = X[5], X[5].copy()
        mixed.indices, mixed.data = mixed.indices[::-1].copy(), mixed.data[::-1].copy()
        mixed.has_sorted_indices = False
        others = [mixed, plain.tocsc(), plain.astype(np.float32), sparse.csr_array(plain)]
        wide = plain.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        for row, ready in zip([*others, wide], [False, False, False, True, False], strict=True):
            assert is_ready_row(model, row) == ready
            assert_allclose(model.predict_proba(row), model.predict_proba(plain), atol=1e-6)
        narrow = sparse.csr_matrix(np.ones((1, 5)))
        assert not is_ready_row(model, narrow)
        with pytest.raises(ValueError, match="5 features"):
            model.predict(narrow)


def test_rows_that_are_refused_or_learned_otherwise_count_once_in_bounds(rng):
    X, Y = rng.randn(40, 3), np.tile([1.0, 2.5, 2.5], (40, 1))
    X[::5, 0] = np.nan  # rows with missing values are not learned by one call of a kernel
    whole = sk.OnlineStructuredPredictor("ranking", optimizer="ogd").partial_fit(X, Y)
    model = sk.OnlineStructuredPredictor("ranking", optimizer="ogd")
    for i in range(40):
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    constants = [each.certificate().constants for each in (model, whole)]
    assert constants[0] == pytest.approx(constants[1])
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((1, 3), np.inf), Y[:1], sample_weight=[50.0])
    assert model.certificate().constants == constants[0]


def test_a_block_that_stops_counts_the_rows_before_it_in_bounds(rng, monkeypatch):
    X, Y = rng.randn(40, 3), np.tile([1.0, 2.5, 2.5], (40, 1))
    weight = np.linspace(0.5, 3.0, 40)
    few, model = (sk.OnlineStructuredPredictor("ranking", optimizer="ogd") for _ in range(2))
    few.partial_fit(X[:20], Y[:20], sample_weight=weight[:20])
    model.partial_fit(X[:10], Y[:10], sample_weight=weight[:10])
    monkeypatch.setattr(LinearModel, "_learn", lambda *arguments: 10)
    with pytest.raises(ValueError, match="scores"):
        model.partial_fit(X[10:], Y[10:], sample_weight=weight[10:])
    noted = [(one.model_.state.heaviest, one.model_.state.between) for one in (model, few)]
    assert noted[0] == pytest.approx(noted[1])
