"""The protocol of online learners, on every learner there is and on one written in the tests."""

import pickle
import unittest

import numpy as np
import pytest
from bits import differences
from conftest import INTERPRETED
from fitted import FITTED
from learner_checks import learner_checks
from learners import (
    BINARY_LEARNERS,
    EVERY_LEARNER,
    OVER_SPACES,
    SHIPPED,
    TWO_CLASSES,
    binary_stream,
)
from plain import predictor, second_order
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from streams import largest_feature
from toy_learner import NearestMean

import skstructured
import skstructured as sk
from benchmarks.adversaries import GreedyAdversary, LabelNoise, play
from skstructured._engine.state import CACHE_LINE
from skstructured._learners.predictions import Decoding
from skstructured.evaluation import progressive_validate
from skstructured.items.predictor import ItemLearner
from skstructured.optimizers import OPTIMIZERS, PiSTOL

NAMED = {name: (learner,) for name, learner in EVERY_LEARNER.items()} | OVER_SPACES
NAMED |= {name: (learner, *binary_stream()) for name, learner in BINARY_LEARNERS.items()}
NAMED |= {name: (learner, *binary_stream()) for name, learner in TWO_CLASSES.items()}
#: One of each kind, which passes all checks; the others pass `FEW`, and all in the exhaustive run.
KINDS = (
    *("default", "parameter free", "gaptron hinge", "second order", "bandit gaptron", "soba"),
    *("toy", "trees", "matchings", "abstaining", "two classes, default pistol"),
    "two classes, pistol with a kernel",
)
FEW = ("check_learn_in_chunks", "check_pickle", "check_wrong_rows_are_refused")


def failing(name, checks=None):
    """What the checks of a learner say that fail."""
    wrong = []
    for what, check in learner_checks(*NAMED[name]):
        try:
            if checks is None or what in checks:
                check()
        except unittest.SkipTest:
            continue
        except AssertionError as error:
            wrong.append(str(error))
    return wrong


@pytest.fixture
def stream(rng):
    X, y = largest_feature(rng)
    return X, np.array(["a", "b", "c"])[y]


def test_every_public_learner_is_in_the_list():
    public = (getattr(skstructured, name) for name in skstructured.__all__)
    learners = {thing for thing in public if isinstance(thing, type)}
    learners = {one for one in learners if issubclass(one, sk.OnlineLearner)}
    learners -= {sk.PiSTOLRegressor, sk.OnlineLearner}  # real numbers, and the base
    learners -= {sk.StructuredPredictor}  # it mixes others: tests/estimators/test_stream_mixture.py
    learners = {one for one in learners if not issubclass(one, ItemLearner)}  # see tests/items
    listed = {type(one) for one in [*EVERY_LEARNER.values(), *BINARY_LEARNERS.values()]}
    assert learners == listed - {NearestMean}


@pytest.mark.parametrize("name", KINDS if INTERPRETED else NAMED)
@pytest.mark.short("default", "kernel plain", "indicators")
def test_the_public_checks_pass(name):
    assert failing(name, None if name in KINDS and not INTERPRETED else FEW) == []


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("name", [name for name in NAMED if name not in KINDS])
def test_all_public_checks_pass(name):
    assert failing(name) == []


@pytest.mark.parametrize("name", EVERY_LEARNER)
@pytest.mark.short(*KINDS[:6])
def test_mistakes_are_counted_and_batches_have_no_bound(name, stream):
    X, y = stream
    model = clone(EVERY_LEARNER[name])
    if hasattr(model, "standardize"):  # rows that are learned are by scales that know them
        model.set_params(standardize=False)
    result = progressive_validate(model, X, y, random_state=0, play="randomized")
    assert np.isin(result.target_loss, (0.0, 1.0)).all()
    if hasattr(result.estimator, "n_mistakes_"):
        assert result.estimator.n_mistakes_ == result.target_loss.sum()
    batches = progressive_validate(
        EVERY_LEARNER[name], X, y, batch_size=20, random_state=0, play="randomized"
    )
    with pytest.raises(sk.GuaranteeError, match="not batches of 20"):
        batches.regret_bound()


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.short(*KINDS[:6])
def test_adversaries_play_every_learner(name):
    learner = SHIPPED[name]
    space = sk.spaces.Simplex().fit([0, 1, 2])
    result = play(learner, GreedyAdversary(n_rounds=20, random_state=0), space, random_state=0)
    assert result.expected_target_loss.min() >= 2.0 / 3.0 - 1e-9  # the most likely loss of three
    noise = play(learner, LabelNoise(n_rounds=30, random_state=0), space, random_state=0)
    assert noise.estimator.t_ == 30


class TestPipelines:
    def test_steps_that_are_fitted_transform_as_they_are(self, stream):
        X, y = stream
        scaler = StandardScaler().fit(X[:10])
        pipeline = make_pipeline(scaler, predictor())
        result = progressive_validate(pipeline, X, y, random_state=0, play="randomized")
        alone = progressive_validate(
            predictor(), scaler.transform(X), y, random_state=0, play="randomized"
        )
        np.testing.assert_array_equal(result.surrogate_loss, alone.surrogate_loss)
        assert result.regret_bound() == alone.regret_bound()

    def test_sparse_rows_stay_sparse(self, stream):
        X, y = stream
        pipeline = make_pipeline(MaxAbsScaler(), second_order())
        result = progressive_validate(pipeline, sparse.csr_matrix(X), y, play="randomized")
        assert sparse.issparse(result.rounds.X)
        dense = progressive_validate(pipeline, X, y, play="randomized")
        np.testing.assert_array_equal(result.target_loss, dense.target_loss)

    def test_a_step_that_cannot_see_chunks_is_refused_by_name(self, stream):
        pipeline = make_pipeline(PCA(2), predictor())
        with pytest.raises(ValueError, match="Step 'pca' of the pipeline is not fitted"):
            progressive_validate(pipeline, *stream, play="randomized")
        for no_learner in (SGDClassifier(), make_pipeline(StandardScaler(), SGDClassifier())):
            with pytest.raises(TypeError, match="OnlineLearner of this library, got SGDC"):
                progressive_validate(no_learner, *stream, play="randomized")


LINEAR_AND_OTHERS = ("online", "average", "kernel", "sequences", "label sets")


def numbers(learner):
    """All arrays of a model, as bytes."""
    return pickle.dumps(learner.model_)


@pytest.mark.parametrize("name", LINEAR_AND_OTHERS)
def test_a_copy_learns_by_itself(name):
    case = FITTED[name]
    learner = case.started()
    before, own = numbers(learner), learner.model_
    learner.model_ = own.copy()
    case.go_on(learner)
    moved, learner.model_ = numbers(learner), own
    assert numbers(learner) == before != moved
    case.go_on(learner)
    assert numbers(learner) == moved


@pytest.mark.parametrize("name", LINEAR_AND_OTHERS)
def test_pickles_hold_no_addresses_of_kernels(name):
    learner = FITTED[name].started()
    twin = pickle.loads(pickle.dumps(learner))
    assert "_loops" not in vars(twin.model_)
    case = FITTED[name]
    case.go_on(twin)
    case.go_on(learner)
    assert not list(differences(twin.model_.state, learner.model_.state))


def test_errors_leave_the_lengths_of_sequences():
    case = FITTED["sequences"]
    learner = case.started()
    loss, sizes = learner.model_.loss, learner.loss_.sizes
    learner.set_params(class_weight={"a": 2.0})
    long = [np.tile(x, (9, 1)) for x in case.X], [np.tile(y, 9) for y in case.y]
    with pytest.raises(ValueError, match="class_weight"):
        learner.partial_fit(*long)
    assert learner.model_.loss is loss and learner.loss_.sizes == sizes
    learner.set_params(class_weight=None).partial_fit(*long)
    assert max(learner.loss_.sizes) == 9 * max(sizes)


def test_weights_that_were_unpickled_are_moved_to_a_cache_line(rng):
    X, y = rng.randn(20, 3), rng.randint(0, 3, 20)
    learner = sk.OnlineStructuredPredictor().partial_fit(X, y, classes=[0, 1, 2])
    twin = pickle.loads(pickle.dumps(learner))
    state, offset = twin.model_.state, np.zeros(learner.model_.state.Theta.size + 1)
    offset[1:] = state.Theta.ravel()
    state.Theta = offset[1:].reshape(state.Theta.shape)
    assert not state.placed and state.Theta.ctypes.data % CACHE_LINE
    np.testing.assert_array_equal(
        twin.partial_fit(X, y).last_weights_, learner.partial_fit(X, y).last_weights_
    )
    assert twin.model_.state.Theta.ctypes.data % CACHE_LINE == 0


@pytest.mark.exhaustive
def test_lengths_are_those_of_all_chunks():
    case = FITTED["sequences"]
    learner = case.started()
    seen = [len(x) for x in case.X]
    learner.partial_fit([x for x in case.X if len(x) == 2], [y for y in case.y if len(y) == 2])
    assert learner.loss_.sizes == (min(seen), max(seen))


@pytest.mark.parametrize("standardize", [False, "auto"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, PiSTOL(per_coordinate=True)], ids=str)
def test_scores_of_wide_rows_are_those_of_all_columns(optimizer, intercept, standardize, rng):
    """Rows with entries in few columns are scored from these alone."""
    X = sparse.random(60, 500, 0.01, format="csr", random_state=0)
    y = rng.randint(3, size=60)
    model = sk.OnlineStructuredPredictor(
        optimizer=optimizer, fit_intercept=intercept, standardize=standardize
    ).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    for rows in (X[50:], X[50:51], sparse.csr_matrix((2, 500))):
        batch = model._read(rows)
        assert model.model_._is_wide(batch.rows)
        every = model._read(rows.toarray())
        for averaged in (False, True):
            few = model.model_.scores(batch, averaged)
            np.testing.assert_allclose(few, model.model_.scores(every, averaged), atol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_an_error_for_all_decoders(bad, rng):
    theta, loss = rng.randn(4, 3), sk.FenchelYoung(sk.spaces.Simplex().fit([0, 1, 2]))
    theta[2, 1] = bad
    for decoder in (sk.decoders.MAP(), sk.decoders.Nearest()):
        with pytest.raises(ValueError, match="must not contain NaN or"):
            Decoding(theta, loss, decoder).most_likely()
    theta[2, 1] = -np.inf
    labels = Decoding(theta, loss, sk.decoders.MAP()).most_likely()
    np.testing.assert_array_equal(labels, theta.argmax(axis=1))
