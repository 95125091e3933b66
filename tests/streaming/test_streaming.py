"""Chunks: learned and validated as the rows together are."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from learners import BINARY_LEARNERS, SHIPPED
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from toy_learner import NearestMean

from skstructured import OnlineStructuredPredictor, RiskMonitor
from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.extend.learner import OnlineLearner
from skstructured.guarantees.risk import RecentBound
from skstructured.streaming import array_chunks, fit_chunks

LEARNERS = {**SHIPPED, **BINARY_LEARNERS}


def rows(n=300, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 4)
    return X, (X @ rng.randn(4) > 0).astype(int)


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_validation_over_chunks_is_that_over_all_rows(name):
    X, y = rows(60)
    model = clone(LEARNERS[name])
    whole = progressive_validate(model, X, y, random_state=0, classes=[0, 1], play="randomized")
    parts = progressive_validate(
        model, array_chunks(X, y, 17), random_state=0, classes=[0, 1], play="randomized"
    )
    assert parts.n_rounds == 60 and parts.estimator.t_ == 60
    np.testing.assert_array_equal(parts.chunks[:, 0], [17, 17, 17, 9])
    for kind in ("expected_target_loss", "surrogate_loss"):  # draws of a block are drawn together
        mean = np.mean(getattr(whole, kind))
        np.testing.assert_allclose(getattr(parts, kind), mean, rtol=1e-12, equal_nan=True)
    np.testing.assert_array_equal(parts.estimator.predict(X), whole.estimator.predict(X))


def sequences(rows, labels):
    """Sequences of four rows, and of their labels."""
    return [[part[i : i + 4] for i in range(0, len(part), 4)] for part in (rows, labels)]


def cut(size, *parts):
    return [tuple(part[i : i + size] for part in parts) for i in range(0, len(parts[0]), size)]


BITS = np.random.RandomState(0).randint(2, size=(100, 5))
PLAYS = [
    {"batch_size": size, "play": play} for size in (1, 10) for play in ("predict", "randomized")
]
#: What is learned, from the features and labels of 100 rows, the chunks, and how it is validated.
VALIDATED = [
    *((OnlineStructuredPredictor(), lambda X, y: (X, y), 50, given) for given in PLAYS),
    (OnlineStructuredPredictor("sequence"), sequences, 5, {}),
    (OnlineStructuredPredictor("hypercube"), lambda X, y: (X, BITS), 30, {"classes": None}),
    (NearestMean(), lambda X, y: (X, y), 7, {}),
]


@pytest.mark.parametrize(("model", "make", "size", "given"), VALIDATED, ids=range(len(VALIDATED)))
@pytest.mark.short("[0356]")
def test_other_plays_batches_outputs_and_learners(model, make, size, given):
    given, (X, y) = {"random_state": 0, "classes": [0, 1], **given}, make(*rows(100))
    whole = progressive_validate(model, X, y, **given)
    parts = progressive_validate(model, cut(size, X, y), **given)
    for kind in ("expected_target_loss", "surrogate_loss"):
        mean = np.mean(getattr(whole, kind))
        np.testing.assert_allclose(getattr(parts, kind), mean, rtol=1e-12, equal_nan=True)
    assert parts.n_rounds == len(X)
    told = repr(parts)
    assert f"play={given.get('play', 'predict')!r}" in told and f"{len(X)} rounds" in told


def test_a_learner_of_ones_own_goes_on_with_rows_of_as_many_features():
    X, y = rows(40)
    assert NearestMean.resume is OnlineLearner.resume
    model = NearestMean()
    model.begin(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but those before it have 4"):
        model.resume(X[:, :3], y)


def test_pipelines_in_chunks():
    X, y = rows(512)
    for step in (StandardScaler(), StandardScaler().fit(X)):
        pipe = make_pipeline(step, "passthrough", OnlineStructuredPredictor(standardize=False))
        whole = progressive_validate(pipe, X, y, random_state=0, play="randomized")
        parts = progressive_validate(
            pipe, array_chunks(X, y, 256), random_state=0, play="randomized"
        )
        assert parts.surrogate_loss == pytest.approx(whole.surrogate_loss.mean(), rel=1e-12)
        assert parts.dependence == whole.dependence
    assert parts.risk_bound() < 1.0
    unfitted = make_pipeline(StandardScaler(), OnlineStructuredPredictor())
    with pytest.raises(GuaranteeError, match="'standardscaler'"):
        progressive_validate(unfitted, array_chunks(X, y, 256), play="randomized").risk_bound()


def test_the_recent_risk_is_that_of_monitors_which_begin_after_powers_of_two():
    losses = np.random.RandomState(0).random_sample(1000) < 0.2
    for chunk in (1, 7, 1000):
        risk = RecentBound(0.1)
        for start in range(0, 1000, chunk):
            risk.update(losses[start : start + chunk])
            n = min(start + chunk, 1000)
            k = max(k for k in range(11) if 2 * (2**k - 1) <= n)
            monitor = RiskMonitor(0.1 / ((k + 1) * (k + 2)), latch=True).update(
                losses[2**k - 1 : n]
            )
            assert risk.current.bound == monitor.bound_


def test_the_bounds_share_delta_between_them():
    """All of them together fail with delta at most: the sum of what each may fail with."""
    for window in (None, 3):
        risk, levels = RecentBound(0.3, window), {}
        for _ in range(600):
            for one in risk._alive:
                levels[one.start] = np.exp(-one.surprise)
            risk.update(np.zeros(1))
        starts = sorted(levels)
        assert starts == ([2**k - 1 for k in range(10)] if window is None else [*range(0, 600, 3)])
        for k, start in enumerate(starts):
            assert levels[start] == pytest.approx(0.3 / ((k + 1) * (k + 2)), rel=1e-12)
        assert sum(levels.values()) == pytest.approx(0.3 * (1.0 - 1.0 / (len(starts) + 1)))


@pytest.mark.skipif(INTERPRETED, reason="many rounds")
def test_the_promise_holds_as_often_as_it_says():
    rng, failed, n = np.random.RandomState(0), 0, 1000
    for losses in (rng.random_sample((n, 400)) < 0.3).astype(float):
        risk, fell = RecentBound(0.2), False
        for loss in losses.reshape(-1, 20):
            risk.update(loss)
            fell |= risk.current.bound < 0.3
        failed += fell
    assert failed <= n * 0.2


def test_fit_chunks_is_partial_fit():
    X, y = rows()
    whole = OnlineStructuredPredictor().partial_fit(X, y, classes=[0, 1])
    told = []
    chunks = array_chunks(X, y, 70)
    parts = fit_chunks(OnlineStructuredPredictor(), chunks, [0, 1], progress=told.append)
    assert told == [70, 140, 210, 280, 300]
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    fit_chunks(parts, chunks)
    assert parts.t_ == 600
    weighed = fit_chunks(OnlineStructuredPredictor(), [(X, y, y + 1.0)], [0, 1])
    direct = OnlineStructuredPredictor().partial_fit(X, y, [0, 1], sample_weight=y + 1.0)
    np.testing.assert_array_equal(weighed.coef_, direct.coef_)


def test_fit_chunks_takes_pipelines_and_scikit_learns_learners():
    X, y = rows()
    pipe = make_pipeline(MinMaxScaler(), None, SGDClassifier(random_state=0))
    assert fit_chunks(pipe, array_chunks(X, y, 100), [0, 1]).predict(X).shape == (300,)
    assert pipe[0].n_samples_seen_ == pipe[-1].t_ - 1 == 300
    texts = [["good film", "bad film"], ["good", "bad play"]]
    learner = make_pipeline(HashingVectorizer(n_features=64), OnlineStructuredPredictor())
    fit_chunks(learner, [(part, [1, 0]) for part in texts] * 5, classes=[0, 1])
    assert list(learner.predict(["good play", "bad"])) == [1, 0]


class OnlyFit(BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


ROWS, NEW = rows(), OnlineStructuredPredictor
ENDED, UNFITTED = iter([]), make_pipeline(OnlyFit(), OnlineStructuredPredictor())
WRONG = [
    (fit_chunks, MinMaxScaler(), ROWS, "Chunk 0 must be a tuple .X, y. or .X, y, sample"),
    (fit_chunks, NEW(), ROWS[0], "chunks must be an iterable of tuples"),
    (fit_chunks, NEW(), [], "one chunk or more, got none"),
    (fit_chunks, NEW(), ENDED, "got none. A generator can be iterated only once"),
    (fit_chunks, NEW(), [(1, 2, 3, 4)], "Chunk 0 .* got tuple of 4"),
    (fit_chunks, UNFITTED, [ROWS], "Step 'onlyfit' of the pipeline is not fitted"),
    (
        progressive_validate,
        NEW(),
        [ROWS, (*ROWS, 1)],
        "Chunk 1 must be a tuple .X, y., got tuple of",
    ),
    (progressive_validate, NEW(), ROWS[0], "chunks must be an iterable of tuples"),
    (progressive_validate, NEW(), ENDED, "one chunk or more"),
]


@pytest.mark.parametrize(("learn", "estimator", "chunks", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_chunk_is_named(learn, estimator, chunks, message):
    with pytest.raises(ValueError, match=message):
        learn(clone(estimator), chunks, classes=[0, 1])


def test_other_errors_say_what_to_do():
    X, y = ROWS
    with pytest.raises(TypeError, match="must have .or end in .* partial_fit, got OnlyFit"):
        fit_chunks(OnlyFit(), [ROWS], classes=[0, 1])
    with pytest.raises(
        ValueError, match="fixed by fit, or by classes= in the first call of partial_fit"
    ):
        progressive_validate(NEW(), [ROWS, (X, y + 1)])
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 2.0"):
        progressive_validate(NEW(), [ROWS], delta=2.0, play="randomized")


def test_arrays_in_chunks(tmp_path):
    X, y = rows()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frame = pd.DataFrame(X, columns=list("abcd"))
    for given, outputs in ((X, y), (mapped, y), (sparse.coo_matrix(X), y), (frame, pd.Series(y))):
        chunks = array_chunks(given, outputs, 70)
        assert [len(labels) for _, labels in chunks] == [70, 70, 70, 70, 20]
        parts = [part for part, _ in chunks]  # a second time
        assert not isinstance(parts[0], np.memmap)
        stacked = sparse.vstack(parts).toarray() if sparse.issparse(given) else np.vstack(parts)
        np.testing.assert_array_equal(stacked, X)
        np.testing.assert_array_equal(np.concatenate([labels for _, labels in chunks]), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: .300, 299."):
        array_chunks(X, y[:-1])
    with pytest.raises(ValueError, match="chunk_size must be an integer"):
        array_chunks(X, y, 0)


def test_a_validation_may_be_ended_by_what_its_bound_says():
    (X, y), told = rows(300), []

    def enough(rounds, run):
        told.append((rounds, run.n_rounds, run.risk_bound()))
        if told[-1][2] < 0.5:
            raise StopIteration
        return True  # which ends nothing

    chunks = array_chunks(X, y, 20)
    run = progressive_validate(
        OnlineStructuredPredictor(),
        chunks,
        classes=[0, 1],
        progress=enough,
        random_state=0,
        play="randomized",
    )
    assert [seen for *seen, _ in told] == [[20 * i, 20 * i] for i in range(1, len(told) + 1)]
    assert run.n_rounds == run.estimator.t_ == told[-1][0] < 300
    assert told[-1][2] == run.risk_bound() < 0.5 <= min(bound for *_, bound in told[:-1])


@pytest.mark.parametrize("learn", [fit_chunks, progressive_validate])
def test_errors_say_in_which_chunk_they_came_up(learn):
    X, y = rows(30)
    bad = [(X[:10], y[:10]), (X[10:25], y[10:25]), (np.abs(X) * np.inf, y)]
    with pytest.raises(ValueError, match="infinity") as caught:
        learn(OnlineStructuredPredictor(), bad, classes=[0, 1])
    assert caught.value.__notes__ == ["In chunk 2 (the first is 0), which begins after 25 rows."]


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_memory_does_not_grow_with_the_rounds():
    X, y = rows(1000)

    def peak(times):
        chunks = ((X, y) for _ in range(times))
        tracemalloc.start()
        progressive_validate(OnlineStructuredPredictor(), chunks, classes=[0, 1], play="randomized")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)
    assert peak(60) < 1.1 * peak(6)
