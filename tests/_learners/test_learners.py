"""The protocol of online learners, on every learner there is and on one written in the tests."""

import unittest

import numpy as np
import pytest
from conftest import INTERPRETED
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
from sklearn.decomposition import PCA
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from streams import largest_feature
from toy_learner import NearestMean

import skstructured
import skstructured as sk
from skstructured.__main__ import main
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.adversaries import GreedyAdversary, LabelNoise, play
from skstructured.items._online import ItemLearner
from skstructured.utils import learner_checks

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
    result = progressive_validate(EVERY_LEARNER[name], X, y, random_state=0)
    assert np.isin(result.target_loss, (0.0, 1.0)).all()
    if hasattr(result.estimator, "n_mistakes_"):
        assert result.estimator.n_mistakes_ == result.target_loss.sum()
    batches = progressive_validate(EVERY_LEARNER[name], X, y, batch_size=20, random_state=0)
    with pytest.raises(sk.GuaranteeError, match="not batches of 20"):
        batches.regret_bound()


def test_expected_losses_that_are_not_supplied_are_named(stream):
    model = NearestMean().fit(*stream)
    with pytest.raises(NotImplementedError, match="NearestMean has no expected_losses"):
        model.expected_losses(stream[0][:1], np.eye(3))


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
        result = progressive_validate(pipeline, X, y, random_state=0)
        alone = progressive_validate(predictor(), scaler.transform(X), y, random_state=0)
        np.testing.assert_array_equal(result.surrogate_loss, alone.surrogate_loss)
        assert result.regret_bound() == alone.regret_bound()

    def test_sparse_rows_stay_sparse(self, stream):
        X, y = stream
        pipeline = make_pipeline(MaxAbsScaler(), second_order())
        result = progressive_validate(pipeline, sparse.csr_matrix(X), y)
        assert sparse.issparse(result.rounds.X)
        dense = progressive_validate(pipeline, X, y)
        np.testing.assert_array_equal(result.target_loss, dense.target_loss)

    def test_a_step_that_cannot_see_chunks_is_refused_by_name(self, stream):
        pipeline = make_pipeline(PCA(2), predictor())
        with pytest.raises(ValueError, match="step 'pca' of the pipeline is not fitted"):
            progressive_validate(pipeline, *stream)
        for no_learner in (SGDClassifier(), make_pipeline(StandardScaler(), SGDClassifier())):
            with pytest.raises(TypeError, match="OnlineLearner of this library, got SGDC"):
                progressive_validate(no_learner, *stream)


@pytest.mark.parametrize(
    "learner", ["toy_learner:NearestMean", "skstructured:SecondOrderPerceptron"]
)
def test_the_command_line_plays_a_learner_of_ones_own(learner, tmp_path, capsys):
    rng = np.random.RandomState(0)
    rows = [f"{a:.3f},{b:.3f},{'xy'[int(a > b)]}" for a, b in rng.randn(40, 2)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,label", *rows]))
    assert main([str(path), "--learner", learner]) == 0
    summary = capsys.readouterr().out
    assert main([str(path), "--bounds", "--learner", learner]) == 0
    name, own, mistakes, share, *rest = capsys.readouterr().out.splitlines()[-1].split()
    assert (name, own, rest[:3]) == (learner.partition(":")[2], "own", ["none"] * 3)
    assert 0.0 < float(mistakes) < 20.0 and float(share) == pytest.approx(float(mistakes) / 40)
    assert f"{float(mistakes) / 40:.1%} wrong" in summary


@pytest.mark.parametrize("learner", ["nowhere:A", "skstructured:Nobody", "skstructured", ":"])
def test_the_command_line_names_a_learner_that_is_not_there(learner, capsys):
    assert main(["--learner", learner]) == 2
    assert "--learner must be MODULE:CLASS" in capsys.readouterr().err
    assert main(["--learner", "sklearn.linear_model:SGDClassifier"]) == 2
    assert "SGDClassifier is not an OnlineLearner" in capsys.readouterr().err
