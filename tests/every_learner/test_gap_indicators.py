"""Indicators of what dense rows lack: learned as features 0 and 1 beside the completed rows."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import skstructured as sk
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.evaluation import progressive_validate
from skstructured.extend import Batch

N = 40 if INTERPRETED else 200
P = 4

#: Learners whose weights are read by `state_of`.
LEARNERS = {
    "mixture": sk.OnlineStructuredPredictor(random_state=0),
    "parameter_free": sk.OnlineStructuredPredictor(optimizer="parameter_free", random_state=0),
    "adagrad": sk.OnlineStructuredPredictor(optimizer="adagrad", random_state=0),
    "no intercept": sk.OnlineStructuredPredictor(fit_intercept=False, random_state=0),
    "label sets": sk.OnlineStructuredPredictor("hypercube", random_state=0),
    "gaptron": sk.GaptronClassifier(random_state=0),
    "perceptron": sk.MulticlassPerceptron(random_state=0),
    "pistol": sk.PiSTOLClassifier(random_state=0),
    "kernel": sk.KernelStructuredPredictor(gamma=0.2, random_state=0),
    "folklore": sk.FolkloreClassifier(random_state=0),
    "newton": sk.OnlineNewtonClassifier(random_state=0),
    "forecaster": sk.GaussianAggregatingForecaster(random_state=0),
    "second order": sk.SecondOrderPerceptron(random_state=0),
    "bandit gaptron": sk.BanditGaptronClassifier(radius=1.0, random_state=0),
    "banditron": sk.BanditronClassifier(random_state=0),
    "newtron": sk.NewtronClassifier(random_state=0),
    "soba": sk.SOBAClassifier(random_state=0),
    "confidit": sk.ConfiditClassifier(random_state=0),
}

#: Those whose scores are linear in the rows as standardised.
LINEAR = [
    name for name in LEARNERS if name not in ("mixture", "no intercept", "kernel", "confidit")
]
LINEAR = [name for name in LINEAR if name not in ("folklore", "newton", "forecaster", "label sets")]


def gaps(rng, dtype=np.float64):
    """Rows of features of many sizes with gaps, in the second where its class is 1; labels."""
    whole = (rng.randn(N, P) * [1.0, 100.0, 0.01, 1.0] + [0.0, 50.0, 3.0, 0.0]).astype(dtype)
    y = (whole[:, 1] > 50.0).astype(int) + (whole[:, 2] > 3.0)
    holes = rng.rand(N, P) < np.where(y[:, None] == 1, 0.5, 0.1)
    holes[:, 0] = False  # never missing
    return np.where(holes, np.nan, whole).astype(dtype), y


def outputs(name, y):
    return np.eye(3, dtype=int)[y] if name == "label sets" else y


def learned(model, X, y, parts=1):
    for part in np.array_split(np.arange(len(y)), parts):
        model.partial_fit(X[part], y[part], classes=None if y.ndim > 1 else [0, 1, 2])
    return model


def indicated(name):
    return clone(LEARNERS[name]).set_params(missing="indicator")


def scores_of(model, X):
    return getattr(model, "embedding_scores", model.decision_function)(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LEARNERS)
def test_they_are_learned_beside_the_completed_rows(name, dtype, rng):
    """Bit for bit as what is given the rows as standardised, with gaps 0, and the indicators."""
    X, y = gaps(rng, dtype)
    y = outputs(name, y)
    ours = learned(indicated(name), X, y)
    read = X.astype(ours._dtype)
    Z = ours._scale.anew().apply(Rows.from_array(read))[0].matrix
    gap = np.isnan(X)
    scale = RunningScale(P, ours._scale.centred, True, ours._scale.dtype)
    alone = scale.apply(Rows.from_array(read))[0].matrix
    np.testing.assert_array_equal(Z, np.hstack([alone, gap]))
    plain = learned(clone(LEARNERS[name]).set_params(standardize=False), Z, y)
    ready = ours._scale.transformed(Rows.from_array(read)).matrix
    np.testing.assert_array_equal(ready[:, P:], gap)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    wanted = scores_of(plain, ready)
    largest = np.abs(wanted).max()
    np.testing.assert_allclose(scores_of(ours, X), wanted, rtol=0.0, atol=tolerance * largest)
    if hasattr(ours, "_state") and name != "kernel":
        np.testing.assert_array_equal(ours._state.matrix, plain._state.matrix)


@pytest.mark.parametrize("name", LINEAR)
def test_scores_are_those_of_the_weights(name, rng):
    """``X coef_ᵀ + M missing_coef_ᵀ + intercept_``, means in the gaps of X."""
    X, y = gaps(rng)
    model = learned(indicated(name), X, y)
    assert model.n_features_in_ == P
    assert model.coef_.shape == model.missing_coef_.shape == (3, P)
    M = np.isnan(X)
    theta = np.where(M, model._scale.statistics[0], X) @ model.coef_.T + model.intercept_
    theta += M @ model.missing_coef_.T
    np.testing.assert_allclose(scores_of(model, X), theta, rtol=1e-9, atol=1e-9)
    assert model.missing_coef_[:, 1:].any() and not model.missing_coef_[:, 0].any()
    if hasattr(model, "last_weights_"):
        assert model.last_weights_.shape == (3, 2 * P + 1)


@pytest.mark.parametrize("name", LEARNERS)
def test_chunks_and_passes(name, rng):
    X, y = gaps(rng)
    y = outputs(name, y)
    whole, parts = (learned(indicated(name), X, y, count) for count in (1, 7))
    np.testing.assert_array_equal(scores_of(whole, X), scores_of(parts, X))
    again = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(scores_of(whole, X), scores_of(again, X))
    fitted = indicated(name).fit(X, y)
    assert np.isfinite(scores_of(fitted, X)).all()
    assert get_tags(fitted).input_tags.allow_nan


def test_what_a_gap_says_is_learned(rng):
    """Where a gap alone tells the class."""
    y = rng.randint(2, size=N)
    X = np.where(y[:, None] == 1, np.nan, rng.randn(N, 1))
    models = [sk.OnlineStructuredPredictor(missing=rule, random_state=0) for rule in RULES]
    scores = [model.fit(X, y).score(X, y) for model in models]
    assert scores[1] == 1.0 and scores[0] < 0.9


RULES = ("mean", "indicator")


@pytest.mark.parametrize("name", ["mixture", "parameter_free", "no intercept", "kernel"])
def test_rows_without_gaps_are_learned_as_without_indicators(name, rng):
    X, y = gaps(rng)
    X = np.nan_to_num(X)
    found = [
        scores_of(learned(clone(LEARNERS[name]).set_params(missing=m), X, y), X) for m in RULES
    ]
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


def test_csr_rows_have_none(rng):
    X, y = gaps(rng)
    rows = sparse.csr_array(np.nan_to_num(X))
    model, plain = (sk.OnlineStructuredPredictor(missing=m, random_state=0) for m in RULES[::-1])
    for one in (model, plain):
        learned(one, rows, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    assert not model.missing_coef_.any()
    wide = sparse.csr_array(np.eye(1, P)).astype(float)  # few columns with entries
    np.testing.assert_array_equal(scores_of(model, wide), scores_of(plain, wide))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(sparse.csr_array(X), y)


def test_csr_rows_after_dense_ones(rng):
    X, y = gaps(rng)
    model = learned(sk.OnlineStructuredPredictor(missing="indicator", random_state=0), X, y)
    clean = np.nan_to_num(X)
    rows = sparse.csr_array(clean)
    np.testing.assert_allclose(scores_of(model, rows), scores_of(model, clean), rtol=1e-9)
    twin = clone(model)
    for one, given in ((twin, clean), (model, rows)):
        learned(one if one is model else learned(one, X, y), given, y)
    np.testing.assert_array_equal(scores_of(twin, X), scores_of(model, X))


def test_sparse_rows_on_one_scale_of_a_kernel_learner_stay_as_they_are(rng):
    X = np.abs(rng.randn(N, P))
    X, y = sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), rng.randint(2, size=N)
    model, plain = (sk.PiSTOLClassifier(missing=m, random_state=0).fit(X, y) for m in RULES[::-1])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_weights_count_in_means_and_rows_of_weight_0_do_not(rng):
    X, y = gaps(rng)
    weight = rng.choice([0.0, 0.5, 2.5], N)
    model, fewer = (sk.OnlineStructuredPredictor(missing="indicator") for _ in range(2))
    model.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    kept = weight > 0.0
    fewer.partial_fit(X[kept], y[kept], classes=[0, 1, 2], sample_weight=weight[kept])
    np.testing.assert_array_equal(model.missing_coef_, fewer.missing_coef_)
    np.testing.assert_array_equal(scores_of(model, X), scores_of(fewer, X))


@pytest.mark.parametrize("play", ["last", "average"])
@pytest.mark.parametrize("name", ["mixture", "parameter_free", "adagrad"])
def test_streams_are_validated_as_predicted_row_by_row(name, play, rng):
    X, y = gaps(rng)
    X, y = X[:60], y[:60]
    model = indicated(name).set_params(average=play == "average" and "polynomial")
    found = progressive_validate(model, X, y, classes=[0, 1, 2], play=play)
    wanted = []
    for i in range(len(y)):
        if i:
            wanted.append(model.expected_target_loss(X[i : i + 1], y[i : i + 1])[0])
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    np.testing.assert_allclose(found.expected_target_loss[1:], wanted, rtol=1e-6, atol=1e-9)


def test_the_bound_holds_against_weights_of_indicators(rng):
    X, y = gaps(rng)
    model = sk.OnlineStructuredPredictor(optimizer="ogd", average=False, missing="indicator")
    found = progressive_validate(model, X, y, classes=[0, 1, 2])
    U = found.best_comparator()
    assert U.shape == (3, 2 * P + 1) and np.abs(U[:, P : 2 * P]).max() > 0.0
    assert found.expected_target_loss.sum() <= found.regret_bound(U)
    wide = found.estimator.comparison(found.rounds).X
    np.testing.assert_array_equal(wide[:, P:], np.isnan(X))


def test_bandits_are_compared_on_the_rows_that_they_learn(rng):
    X, y = gaps(rng)
    model = sk.BanditGaptronClassifier(radius=1.0, missing="indicator", random_state=0)
    rounds = model.begin(X, y)
    rows = model.comparison(rounds).X
    assert rows.shape == (N, 2 * P) and np.isfinite(rows).all()
    np.testing.assert_array_equal(rows, model._scale.copy().apply(rounds.rows)[0].matrix)


def test_label_sequences(rng):
    """As positions standardised beforehand, with their indicators; the last of them all missing."""
    lengths = rng.randint(1, 6, size=20)
    X = [rng.randn(m, 3) for m in lengths]
    y = [np.argmax(x, axis=1) for x in X]
    X = [np.where(rng.rand(*x.shape) < 0.3, np.nan, x) for x in X]
    model = sk.OnlineStructuredPredictor("sequence", missing="indicator")
    model.partial_fit(X, y, classes=range(3))
    stacked = np.vstack(X)
    Z = model._scale.anew().apply(Rows.from_array(stacked))[0].matrix
    parts = np.split(Z, np.cumsum(lengths)[:-1])
    plain = sk.OnlineStructuredPredictor("sequence", standardize=False)
    plain.partial_fit(parts, y, classes=range(3))
    np.testing.assert_array_equal(model.transitions_, plain.transitions_)
    np.testing.assert_array_equal(model.missing_coef_, plain.coef_[:, 3:])
    M = np.isnan(stacked)
    unary = np.where(M, model._scale.statistics[0], stacked) @ model.coef_.T
    unary = unary + M @ model.missing_coef_.T + model.intercept_
    found = np.vstack(model.embedding_scores(X))
    starts = np.cumsum([0, *lengths])
    unary[starts[:-1]] += model.start_
    unary[starts[1:] - 1] += model.end_
    np.testing.assert_allclose(found, unary, rtol=1e-9, atol=1e-9)


def test_shards_are_put_together(rng):
    X, y = gaps(rng)
    model = sk.OnlineStructuredPredictor(missing="indicator", random_state=0)
    shards = [learned(clone(model), X[i::3], y[i::3]) for i in range(3)]
    merged = sk.average_fitted(shards)
    shares = [shard.t_ / N for shard in shards]
    wanted = sum(w * shard.missing_coef_ for w, shard in zip(shares, shards, strict=True))
    np.testing.assert_allclose(merged.missing_coef_, wanted, rtol=1e-9, atol=1e-12)
    M = np.isnan(X)
    theta = np.where(M, merged._scale.statistics[0], X) @ merged.coef_.T + merged.intercept_
    theta += M @ merged.missing_coef_.T
    np.testing.assert_allclose(scores_of(merged, X), theta, rtol=1e-9, atol=1e-9)
    assert merged._scale.anew().indicators


def test_checkpoints_keep_them(rng, tmp_path):
    X, y = gaps(rng)
    model = learned(sk.OnlineStructuredPredictor(missing="indicator", random_state=0), X, y)
    save_checkpoint(model, tmp_path / "model")
    other = load_checkpoint(tmp_path / "model")
    np.testing.assert_array_equal(scores_of(model, X), scores_of(other, X))
    for one in (model, other):
        learned(one, X, y)
    np.testing.assert_array_equal(model.missing_coef_, other.missing_coef_)


def test_real_outputs(rng):
    X, y = gaps(rng)
    model = sk.PiSTOLRegressor(missing="indicator", random_state=0).fit(X, 3.0 * y + 5.0)
    M = np.isnan(X)
    filled = np.where(M, model._scale.statistics[0], X)
    wanted = filled @ model.coef_ + M @ model.missing_coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), wanted, rtol=1e-9)
    assert model.missing_coef_.shape == (P,)


def test_what_there_is_without_them(rng):
    X, y = gaps(rng)
    plain = sk.OnlineStructuredPredictor(random_state=0)
    with pytest.raises(AttributeError, match="set by fit or partial_fit"):
        _ = plain.missing_coef_
    learned(plain, X, y)
    with pytest.raises(AttributeError, match='missing="indicator"'):
        _ = plain.missing_coef_
    raw = sk.OnlineStructuredPredictor(missing="indicator", standardize=False)
    with pytest.raises(ValueError, match="NaN"):
        raw.fit(X, y)
    assert raw.fit(np.nan_to_num(X), y).last_weights_.shape == (3, P + 1)
    plain.set_params(missing="indicator")  # as it was fitted
    assert scores_of(plain, X).shape == (N, 3) and not hasattr(plain, "missing_coef_")


def test_a_round_is_foreseen(rng):
    """`expected_losses` plays a row with gaps as the stream would."""
    X, y = gaps(rng)
    model = learned(indicated("mixture"), X[:-1], y[:-1])
    V = np.eye(3)
    foreseen = model.expected_losses(X[-1:], V)
    rounds = Batch(model.resume(X[-1:], y[-1:]).rows, np.array([y[-1]]))
    played = model.play_and_learn(rounds, np.arange(1))
    assert foreseen[y[-1]] == pytest.approx(played.expected[0], rel=1e-9)
