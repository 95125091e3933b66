"""Dense rows that lack features, NaN: learned as if the means so far stood in their gaps."""

import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import skstructured as sk
from skstructured._engine.rows import Rows
from skstructured.evaluation import progressive_validate

N = 40 if INTERPRETED else 300
LEARNERS = {
    "mixture": sk.OnlineStructuredPredictor(optimizer="mixture", random_state=0),
    "parameter_free": sk.OnlineStructuredPredictor(optimizer="parameter_free", random_state=0),
    "label sets": sk.OnlineStructuredPredictor("hypercube", random_state=0),
    "ordinal": sk.OnlineStructuredPredictor("ordinal", random_state=0),
    "kernel": sk.KernelStructuredPredictor(random_state=0),
}

#: Others that take gaps, and fit.
OTHERS = [
    sk.GaptronClassifier(random_state=0),
    sk.MulticlassPerceptron(random_state=0),
    sk.PiSTOLClassifier(random_state=0),
    sk.PiSTOLClassifier("rbf", max_iter=2, random_state=0),
    sk.PiSTOLRegressor(random_state=0),
    sk.KernelPerceptronClassifier(max_iter=2, random_state=0),
    sk.AveragedKernelSGDClassifier(max_iter=2, random_state=0),
    sk.FolkloreClassifier(random_state=0),
    sk.AioliClassifier(random_state=0),
    sk.OnlineNewtonClassifier(random_state=0),
    sk.GaussianAggregatingForecaster(random_state=0),
    sk.AggregatingForecaster(random_state=0),
    sk.SecondOrderPerceptron(random_state=0),
    sk.BanditGaptronClassifier(radius=1.0, random_state=0),
    sk.BanditronClassifier(random_state=0),
    sk.NewtronClassifier(random_state=0),
    sk.SOBAClassifier(random_state=0),
    sk.ConfiditClassifier(random_state=0),
]

#: Of these: those with weights that `weights_of` reads, in the units of rows as standardised.
DENSE = [model for model in OTHERS if type(model).__module__.startswith("skstructured.bandits")]
DENSE.append(sk.SecondOrderPerceptron(shuffle=False))


def gaps(rng, dtype=np.float64):
    """Rows of features of many sizes, three in ten missing, the last one always; labels."""
    whole = (rng.randn(N, 4) * [1.0, 100.0, 0.01, 1.0] + [0.0, 50.0, 3.0, 0.0]).astype(dtype)
    y = (whole[:, 1] > 50.0).astype(int) + (whole[:, 2] > 3.0)
    X = np.where(rng.rand(N, 4) < 0.3, np.nan, whole).astype(dtype)
    X[:, 3] = np.nan
    return X, y


def outputs(name, y):
    return np.eye(3, dtype=int)[y] if name == "label sets" else y


def weights_of(model):
    """Weights of a bandit, or of the second-order Perceptron."""
    if hasattr(model, "_state"):
        return model._state.matrix
    return model._W if hasattr(model, "_W") else model._learned.W


def learned(model, X, y, parts=1):
    for part in np.array_split(np.arange(len(y)), parts):
        model.partial_fit(X[part], y[part], classes=None if y.ndim > 1 else [0, 1, 2])
    return model


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LEARNERS)
def test_they_are_learned_as_the_completed_rows(name, dtype, rng):
    """As standardised, one by one, by a scale of their own; bit for bit."""
    X, y = gaps(rng, dtype)
    y = outputs(name, y)
    model = learned(clone(LEARNERS[name]), X, y)
    scale = model._scale.anew()
    Z = scale.apply(Rows.from_array(X))[0].matrix
    np.testing.assert_array_equal(Z[np.isnan(X)], 0.0)
    if name != "kernel":
        plain = learned(clone(model).set_params(standardize=False), Z, y)
        ours, theirs = model._model.state, plain._model.state
        np.testing.assert_array_equal(ours.parts[0], theirs.parts[0])
    filled = np.where(np.isnan(X), scale.statistics[0].astype(dtype), X)
    tolerance = 0.0 if dtype == np.float64 else 1e-4  # means are not rounded to float32
    given, wanted = model.embedding_scores(X), model.embedding_scores(filled)
    np.testing.assert_allclose(given, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", LEARNERS)
def test_chunks_learn_the_same(name, rng):
    X, y = gaps(rng)
    y = outputs(name, y)
    whole, parts = (learned(clone(LEARNERS[name]), X, y, count) for count in (1, 7))
    np.testing.assert_array_equal(whole.embedding_scores(X), parts.embedding_scores(X))
    np.testing.assert_array_equal(whole._scale.statistics, parts._scale.statistics)


@pytest.mark.parametrize("name", LEARNERS)
def test_fit_and_frames(name, rng):
    pd = pytest.importorskip("pandas")
    X, y = gaps(rng)
    y = outputs(name, y)
    model = clone(LEARNERS[name]).set_params(max_iter=2).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = frame["b"].astype("Float64")
    frame["d"] = np.array([None] * N, dtype=object)
    named = clone(model).fit(frame, y)
    np.testing.assert_array_equal(model.embedding_scores(X), named.embedding_scores(frame))
    assert np.isfinite(model.embedding_scores(X)).all()


@pytest.mark.parametrize("model", OTHERS, ids=repr)
def test_other_learners_take_them_as_well(model, rng):
    """As the completed rows in predictions; and what they lack changes nothing where it is 0."""
    X, y = gaps(rng)
    y = (y > 1).astype(int)
    model = clone(model).fit(X, y)
    scale = model._scale
    filled = np.where(np.isnan(X), scale.statistics[0], X)
    how = "predict" if isinstance(model, sk.PiSTOLRegressor) else "predict_proba"
    scores = getattr(model, how if hasattr(model, how) else "decision_function")
    np.testing.assert_allclose(scores(X), scores(filled), rtol=1e-9, atol=1e-12)
    assert get_tags(model).input_tags.allow_nan
    strict = clone(model).set_params(missing="error")
    assert not get_tags(strict).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        strict.fit(X, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", DENSE, ids=repr)
def test_bandits_and_the_second_order_perceptron_learn_the_completed_rows(model, dtype, rng):
    """Bit for bit, in one chunk and in seven; bandits draw the same choices."""
    X, y = gaps(rng, dtype)
    ours, parts = (learned(clone(model), X, y, count) for count in (1, 7))
    Z = ours._scale.anew().apply(Rows.from_array(X.astype(ours._dtype)))[0].matrix
    plain = learned(clone(model).set_params(standardize=False), Z, y)
    np.testing.assert_array_equal(weights_of(ours), weights_of(plain))
    np.testing.assert_array_equal(weights_of(ours), weights_of(parts))
    assert ours.n_mistakes_ == plain.n_mistakes_ and weights_of(ours).any()


@pytest.mark.parametrize("model", DENSE[:-1], ids=repr)
def test_bandits_choose_and_update_where_features_are_missing(model, rng):
    """As with the means of the rows so far and this one, which counts before it is played."""
    X, y = gaps(rng)
    model = learned(clone(model), X[:-1], y[:-1])
    x = X[-1:]
    scale = model._scale.copy()
    scale.apply(Rows.from_array(x))
    filled = np.where(np.isnan(x), scale.statistics[0], x)
    np.testing.assert_allclose(model.decoding_proba(x), model.decoding_proba(filled), rtol=1e-6)
    actions, propensities = model.choose(x)
    before = weights_of(model).copy()
    model.update(x, actions, [1.0], propensities)
    assert np.isfinite(weights_of(model)).all() and model.t_ == N
    if isinstance(model, sk.BanditGaptronClassifier):
        assert not np.array_equal(before, weights_of(model))
        assert not model._uncovered  # the round was the one chosen, gaps and all


@pytest.mark.parametrize("play", ["iterates", "last", "average"])
@pytest.mark.parametrize("name", ["mixture", "parameter_free"])
def test_streams_are_validated(name, play, rng):
    X, y = gaps(rng)
    found = progressive_validate(clone(LEARNERS[name]), X, y, play=play)
    filled = np.nan_to_num(X, nan=0.0)
    other = progressive_validate(clone(LEARNERS[name]), filled, y, play=play)
    assert np.isfinite(found.surrogate_loss).all()
    losses = [result.expected_target_loss.mean() for result in (found, other)]
    assert INTERPRETED or losses[0] < losses[1]


def test_shards_are_put_together(rng):
    X, y = gaps(rng)
    model = sk.OnlineStructuredPredictor(random_state=0)
    shards = [learned(clone(model), X[i::3], y[i::3]) for i in range(3)]
    merged = sk.average_fitted(shards, weights=[1.0, 2.5, 0.3])
    means = np.average([shard._scale.statistics[0] for shard in shards], 0, [1.0, 2.5, 0.3])
    np.testing.assert_allclose(merged._scale.statistics[0], means, rtol=1e-12)
    filled = np.where(np.isnan(X), means, X)
    np.testing.assert_allclose(merged.embedding_scores(X), merged.embedding_scores(filled))
    assert np.isfinite(merged.embedding_scores(X)).all()


def test_sequences(rng):
    X = [rng.randn(4, 3) for _ in range(20)]
    y = [np.argmax(x, axis=1) for x in X]
    X[3][1, 2] = X[0][0, 0] = np.nan
    model = sk.OnlineStructuredPredictor("sequence").partial_fit(X, y, classes=range(3))
    assert np.isfinite(model.embedding_scores(X)[3]).all()
    X[7][2, 1] = np.inf
    with pytest.raises(ValueError, match="sequence 7 of X, position 2"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("given", "spoil", "message"),
    [
        ({"missing": "error"}, np.nan, "NaN"),
        ({"standardize": False}, np.nan, "NaN"),
        ({}, np.inf, "infinity"),
        ({}, 1e200, "too large"),
        ({"missing": "median"}, np.nan, "missing must be one of 'mean', 'indicator', 'error', got"),
    ],
)
@pytest.mark.parametrize("kind", [sk.OnlineStructuredPredictor, sk.KernelStructuredPredictor])
def test_what_is_refused(kind, given, spoil, message, rng):
    X, y = gaps(rng)
    X[:, 3] = 0.0
    X = np.nan_to_num(X) if given else X
    X[5, 2] = spoil
    with pytest.raises(ValueError, match=message):
        kind(**given).fit(X, y)
    model = kind().fit(np.nan_to_num(X, posinf=0.0) % 7.0, y)
    before = model.embedding_scores(X[:3])
    model.set_params(**given)
    if "standardize" not in given and "median" not in given.values():
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y)
    np.testing.assert_array_equal(model.embedding_scores(X[:3] * 1.0), before)


def test_csr_rows_have_no_gaps(rng):
    X, y = gaps(rng)
    with pytest.raises(ValueError, match="NaN"):
        sk.OnlineStructuredPredictor().fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("missing", ["mean", "indicator"])
@pytest.mark.parametrize("model", [*LEARNERS.values(), *DENSE], ids=repr)
def test_after_csr_rows_a_gap_is_0(model, missing, rng):
    """As an entry that is not stored; before they are learned, and in predictions."""
    X, y = gaps(rng)
    y = outputs("label sets" if getattr(model, "space", "") == "hypercube" else "", y)
    filled, half = np.nan_to_num(X), N // 2
    found = []
    for rows in (X, filled):
        one = clone(model).set_params(missing=missing)
        learned(one, sparse.csr_array(filled[:half]), y[:half])
        learned(one, rows[half:], y[half:], 3)
        scores = getattr(one, "embedding_scores", one.decision_function)
        found.append([scores(rows), scores(rows[:1])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.isfinite(ours).all()


def test_tags_tell():
    for kind in (sk.OnlineStructuredPredictor, sk.KernelStructuredPredictor):
        assert get_tags(kind()).input_tags.allow_nan
        assert not get_tags(kind(missing="error")).input_tags.allow_nan
        assert not get_tags(kind(standardize=False)).input_tags.allow_nan
    assert not get_tags(sk.AdaBoostOLMClassifier()).input_tags.allow_nan
    assert not get_tags(sk.BanditReduction()).input_tags.allow_nan
