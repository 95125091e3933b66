"""What runs over rounds and chunks may get wrong without a crash: each against literal rounds."""

import numpy as np
import pytest
from coordinate_steps import AdaGrad
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import skstructured as sk
from skstructured._engine.moments import Statistic
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import at_once
from skstructured.evaluation._result import StreamResult
from skstructured.evaluation.validation import split_pipeline


def rows(n=300, seed=0, p=3):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p)
    return X, (X[:, 0] + 0.5 * rng.randn(n) > 0.0).astype(int)


class TestResultsOfChunks:
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("bad", [1.5, -0.5])
    def test_a_loss_out_of_range_is_not_forgotten(self, bad):
        result = StreamResult(None, "last", 1, None, 0.05)
        good = np.full((3, 20), 0.25)
        result.add_chunk(good)
        assert result.risk_bound() < 1.0
        for losses in (np.full((3, 1), bad), good):
            result.add_chunk(losses)
        with pytest.raises(sk.GuaranteeError, match=r"target losses in \[0, 1\] only"):
            result.risk_bound()

    def test_means_and_chunks_are_those_of_the_losses(self):
        result, losses = StreamResult(None, "last", 1, None, 0.05), np.random.RandomState(0)
        losses = losses.random_sample((3, 10))
        for part in (losses[:, :3], losses[:, 3:3], losses[:, 3:]):
            result.add_chunk(part)
        named = [result.target_loss, result.expected_target_loss, result.surrogate_loss]
        np.testing.assert_allclose(named, losses.mean(axis=1), rtol=1e-12)
        np.testing.assert_allclose(result.chunks[2], [7, *losses[:, 3:].mean(axis=1)], rtol=1e-12)
        assert np.isnan(result.chunks[1][1:]).all() and result.n_rounds == 10

    @pytest.mark.parametrize("sizes", [(200, 150), (130, 1, 219), (350,)])
    def test_averages_over_chunks_by_hand(self, sizes):
        """Taken anew at the beginning of a chunk, and by the 64th part of all rounds so far."""
        X, y = rows(350)
        model = sk.OnlineStructuredPredictor(optimizer=AdaGrad(), average="polynomial")
        cuts = np.cumsum(sizes)[:-1]
        chunks = list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))
        result = sk.evaluation.progressive_validate(model, chunks, classes=[0, 1])
        twin = clone(model).partial_fit(X[:1], y[:1], classes=[0, 1])
        losses, done, end = [float(y[0] != 0)], 1, 0  # before the first row all scores are 0
        for size in sizes:
            end += size
            while done < end:
                part = slice(done, min(done + max(1, done // 64), end))
                losses += (twin.predict(X[part]) != y[part]).tolist()
                twin.partial_fit(X[part], y[part])
                done = part.stop
        assert result.expected_target_loss == pytest.approx(np.mean(losses), rel=1e-12)
        if len(sizes) == 1:
            whole = sk.evaluation.progressive_validate(model, X, y, classes=[0, 1])
            np.testing.assert_allclose(whole.expected_target_loss, losses, atol=1e-12)


class Recorder(TransformerMixin, BaseEstimator):
    """Rows less the mean of those seen by ``partial_fit``."""

    def fit(self, X, y=None):
        return self.partial_fit(X)

    def partial_fit(self, X, y=None):
        self.rows_ = np.vstack([getattr(self, "rows_", X[:0]), X])
        return self

    def transform(self, X):
        return X - self.rows_.mean(axis=0)


def test_steps_see_a_chunk_before_it_and_none_after():
    X, y = rows(600)
    first, second = (256, 512, 600), (0, 256, 512)
    once = np.vstack([X[a:b] - X[:b].mean(axis=0) for a, b in zip(second, first, strict=True)])
    wanted = [once[a:b] - once[:b].mean(axis=0) for a, b in zip(second, first, strict=True)]
    pipeline = make_pipeline(Recorder(), Recorder(), sk.OnlineStructuredPredictor())
    result = sk.evaluation.progressive_validate(pipeline, X, y, play="randomized")
    np.testing.assert_allclose(result.rounds.X, np.vstack(wanted), rtol=1e-9, atol=1e-12)
    assert not hasattr(pipeline[0], "rows_")
    _, transform = split_pipeline(make_pipeline(Recorder(), sk.OnlineStructuredPredictor()))
    np.testing.assert_allclose(transform(X), once, rtol=1e-12)
    again = X[:10] - np.vstack([X, X[:10]]).mean(axis=0)
    np.testing.assert_allclose(transform(X[:10]), again, rtol=1e-12)


def test_steps_of_fit_chunks_learn_a_chunk_before_they_transform_it():
    X, y = rows(90)
    seen, told = [], []

    class Keeps(GaussianNB):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            seen.append((X.copy(), sample_weight))
            return super().partial_fit(X, y, classes)

    chunks = [(X[i : i + 40], y[i : i + 40], np.arange(len(y[i : i + 40]))) for i in (0, 40, 80)]
    pipe = make_pipeline(Recorder(), Keeps())
    sk.streaming.fit_chunks(pipe, chunks, classes=[0, 1], progress=told.append)
    for (part, weight), i in zip(seen, (0, 40, 80), strict=True):
        np.testing.assert_allclose(part, X[i : i + 40] - X[: i + 40].mean(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(weight, np.arange(len(part)))
    assert told == [40, 80, 90]


@pytest.mark.exhaustive
def test_long_rows_are_named_behind_place_4096():
    X, y = 0.1 * np.ones((4300, 2)), np.arange(4300) % 2
    model = sk.FolkloreClassifier(feature_norm=2.0, standardize=False).partial_fit(
        X[:20], y[:20], [0, 1]
    )
    X[4200] = 50.0
    with pytest.raises(ValueError, match=r"Row 4200 of X has norm"):
        model.predict(X)


class TestUndo:
    def test_columns_that_grew_twice_are_as_before(self):
        scale = RunningScale(3, True, True)
        first = Rows.from_array(sparse.csr_matrix([[1.0, 0.0, 2.0]]))
        assert scale.makes_sparse(first)
        scale.apply(first)
        before = scale.statistics.copy()
        grown = np.array([[2.0, 1.0, 0.0], [3.0, 0.0, 0.5], [7.0, 4.0, 9.0]])
        found = scale.counted(Rows.from_array(sparse.csr_matrix(grown)), np.arange(3), np.ones(3))
        np.testing.assert_array_equal(scale.statistics, before)
        at_once(found.commit)
        assert scale.statistics[: Statistic.LOW, 0].max() == 7.0
        at_once(found.undo)
        np.testing.assert_array_equal(scale.statistics, before)
