"""The protocol of online learners, on every learner there is and on one written in the tests."""

import matplotlib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy_learner import NearestMean

import skstructured
from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    GaptronClassifier,
    GuaranteeError,
    MulticlassPerceptron,
    NewtronClassifier,
    OnlineLearner,
    OnlineStructuredPredictor,
    SecondOrderPerceptron,
    SOBAClassifier,
)
from skstructured.__main__ import main
from skstructured.adversaries import GreedyAdversary, LabelNoise, play
from skstructured.display import RegretDisplay
from skstructured.evaluation import progressive_validate
from skstructured.spaces import Simplex

matplotlib.use("Agg")

LEARNERS = [
    OnlineStructuredPredictor(),
    OnlineStructuredPredictor(optimizer="parameter_free", average=True),
    GaptronClassifier(),
    GaptronClassifier("hinge"),
    MulticlassPerceptron(),
    SecondOrderPerceptron(),
    BanditGaptronClassifier(radius=1.0, random_state=0),
    BanditronClassifier(random_state=0),
    SOBAClassifier(random_state=0),
    NewtronClassifier(random_state=0),
    ConfiditClassifier(random_state=0),
    BanditReduction(exploration=0.5, random_state=0),
    NearestMean(),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)


@pytest.fixture
def stream(rng):
    X = rng.randn(60, 4)
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]


def test_every_public_learner_is_in_the_list():
    public = [getattr(skstructured, name) for name in skstructured.__all__]
    learners = {thing for thing in public if isinstance(thing, type)}
    learners = {thing for thing in learners if issubclass(thing, OnlineLearner)}
    assert learners - {OnlineLearner} == {type(learner) for learner in LEARNERS} - {NearestMean}
    assert len(learners) == 11


@each_learner
def test_progressive_validation_plays_and_learns_every_round(learner, stream):
    X, y = stream
    result = progressive_validate(learner, X, y, random_state=0)
    assert result.estimator.t_ == len(X) and not hasattr(learner, "t_")
    assert np.isin(result.target_loss, (0.0, 1.0)).all()
    expected = result.expected_target_loss
    assert expected.shape == (60,) and ((expected >= 0.0) & (expected <= 1.0)).all()
    assert result.surrogate_loss.shape == (60,)
    if hasattr(result.estimator, "n_mistakes_"):
        assert result.estimator.n_mistakes_ == result.target_loss.sum()
    again = clone(learner)
    again.learn(again.begin(X, y), np.arange(60))
    np.testing.assert_array_equal(again.predict(X), result.estimator.predict(X))


@each_learner
def test_batches_are_played_before_they_are_learned(learner, stream):
    X, y = stream
    result = progressive_validate(learner, X, y, batch_size=20, random_state=0)
    model = clone(learner)
    rounds = model.begin(X, y)
    model.learn(rounds, np.arange(20))
    wanted = model.play(rounds, np.arange(20, 40), 0).expected
    np.testing.assert_allclose(result.expected_target_loss[20:40], wanted)
    with pytest.raises(GuaranteeError):
        result.regret_bound()


@each_learner
def test_a_later_output_does_not_enter_what_is_played(learner, stream):
    X, y = stream
    other = y.copy()
    other[30:] = np.roll(y[30:], 1)
    first, second = (
        progressive_validate(learner, X, labels, random_state=0, classes=["a", "b", "c"])
        for labels in (y, other)
    )
    np.testing.assert_array_equal(first.expected_target_loss[:30], second.expected_target_loss[:30])
    same = other[30] == y[30]
    assert (first.expected_target_loss[30] == second.expected_target_loss[30]) or not same


@each_learner
def test_a_certificate_is_a_number_or_says_why_not(learner, stream):
    result = progressive_validate(learner, *stream, random_state=0)
    try:
        bound = result.regret_bound()
    except GuaranteeError as error:
        assert len(str(error)) > 20
    else:
        assert result.expected_target_loss.sum() <= bound < np.inf
        assert np.isfinite(result.surrogate_regret())


@each_learner
def test_a_display_draws_every_learner(learner, stream):
    result = progressive_validate(learner, *stream, random_state=0)
    display = RegretDisplay.from_result(result)
    drawn = [line.get_ydata() for line in display.ax_.get_lines()]
    assert any(len(y) == 60 or len(y) > 2 for y in drawn)
    matplotlib.pyplot.close("all")


@each_learner
def test_expected_losses_are_those_of_the_next_round(learner, stream):
    X, y = stream
    model = clone(learner)
    rounds = model.begin(X, y)
    model.learn(rounds, np.arange(40))
    if isinstance(model, NearestMean):
        with pytest.raises(NotImplementedError, match="NearestMean has no expected_losses"):
            model.expected_losses(X[40:41], np.eye(3))
        return
    possible = model.expected_losses(X[40:41], np.eye(3))
    played = model.play_and_learn(rounds, np.array([40]), 0)
    assert possible[rounds.packed[40]] == pytest.approx(played.expected[0])
    assert 0.0 <= possible.min() and possible.sum() == pytest.approx(2.0)


@pytest.mark.parametrize(
    "learner",
    [learner for learner in LEARNERS if not isinstance(learner, NearestMean)],
    ids=str,
)
def test_adversaries_play_every_learner(learner):
    space = Simplex().fit([0, 1, 2])
    result = play(learner, GreedyAdversary(n_rounds=20, random_state=0), space, random_state=0)
    assert result.expected_target_loss.min() >= 2.0 / 3.0 - 1e-9  # the most likely loss of three
    noise = play(learner, LabelNoise(n_rounds=30, random_state=0), space, random_state=0)
    assert noise.estimator.t_ == 30


def test_bandit_bounds_hold_on_noise():
    space = Simplex().fit([0, 1])
    learner = BanditGaptronClassifier(radius=0.5, random_state=0)
    stream = LabelNoise(n_rounds=3000, noise=0.1, random_state=0)
    result = play(learner, stream, space)
    bound = result.regret_bound()
    assert result.expected_target_loss.sum() <= bound
    assert bound == pytest.approx(
        result.comparator_loss(result.best_comparator()).sum() + result.estimator.regret_bound()
    )
    with pytest.raises(GuaranteeError, match="expectation"):
        result.regret_bound(delta=0.05)


class TestPipelines:
    def test_steps_that_are_fitted_transform_as_they_are(self, stream):
        X, y = stream
        scaler = StandardScaler().fit(X[:10])
        pipeline = make_pipeline(scaler, OnlineStructuredPredictor())
        result = progressive_validate(pipeline, X, y, random_state=0)
        alone = progressive_validate(
            OnlineStructuredPredictor(), scaler.transform(X), y, random_state=0
        )
        np.testing.assert_array_equal(result.surrogate_loss, alone.surrogate_loss)
        assert result.regret_bound() == alone.regret_bound()

    def test_others_see_each_chunk_before_they_transform_it(self, rng):
        X, y = rng.randn(600, 4), rng.randint(3, size=600)
        pipeline = make_pipeline(StandardScaler(), IncrementalPCA(2), OnlineStructuredPredictor())
        result = progressive_validate(pipeline, X, y, random_state=0)
        scaler = StandardScaler().partial_fit(X[:256])
        scaled = [scaler.transform(X[:256])]
        scaled.append(scaler.partial_fit(X[256:512]).transform(X[256:512]))
        scaled.append(scaler.partial_fit(X[512:]).transform(X[512:]))
        pca, rows = IncrementalPCA(2), []
        Z = np.vstack(scaled)
        for start in (0, 256, 512):
            chunk = Z[start : start + 256]
            rows.append(pca.partial_fit(chunk).transform(chunk))
        np.testing.assert_allclose(result.rounds.X, np.vstack(rows))
        with pytest.raises(NotFittedError):
            pipeline[0].transform(X)

    def test_sparse_rows_stay_sparse(self, stream):
        X, y = stream
        pipeline = make_pipeline(MaxAbsScaler(), SecondOrderPerceptron())
        result = progressive_validate(pipeline, sparse.csr_matrix(X), y)
        assert sparse.issparse(result.rounds.X)
        dense = progressive_validate(pipeline, X, y)
        np.testing.assert_array_equal(result.target_loss, dense.target_loss)

    def test_a_step_that_cannot_see_chunks_is_refused_by_name(self, stream):
        pipeline = make_pipeline(PCA(2), OnlineStructuredPredictor())
        with pytest.raises(ValueError, match="step 'pca' of the pipeline is not fitted"):
            progressive_validate(pipeline, *stream)
        for no_learner in (SGDClassifier(), make_pipeline(StandardScaler(), SGDClassifier())):
            with pytest.raises(TypeError, match="OnlineLearner, got SGDClassifier"):
                progressive_validate(no_learner, *stream)


@pytest.mark.parametrize(
    "learner", ["toy_learner:NearestMean", "skstructured:SecondOrderPerceptron"]
)
def test_the_command_line_plays_a_learner_of_ones_own(learner, tmp_path, capsys):
    rng = np.random.RandomState(0)
    rows = [f"{a:.3f},{b:.3f},{'xy'[int(a > b)]}" for a, b in rng.randn(40, 2)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,label", *rows]))
    assert main(["--data", str(path), "--target", "label", "--learner", learner]) == 0
    name, own, mistakes, share, *rest = capsys.readouterr().out.splitlines()[-1].split()
    assert (name, own, rest[:3]) == (learner.partition(":")[2], "own", ["none"] * 3)
    assert 0.0 < float(mistakes) < 20.0 and float(share) == pytest.approx(float(mistakes) / 40)


@pytest.mark.parametrize("learner", ["nowhere:A", "skstructured:Nobody", "skstructured", ":"])
def test_the_command_line_names_a_learner_that_is_not_there(learner, capsys):
    assert main(["--learner", learner]) == 2
    assert "--learner wants MODULE:CLASS" in capsys.readouterr().err
    assert main(["--learner", "sklearn.linear_model:SGDClassifier"]) == 2
    assert "SGDClassifier is no OnlineLearner" in capsys.readouterr().err


@parametrize_with_checks([NearestMean()])
def test_scikit_learn_checks_of_a_learner_in_the_tests(estimator, check):
    check(estimator)
