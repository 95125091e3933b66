"""Dense rows that lack features, NaN: completed by means, with indicators or without."""

import pickle
from functools import partial

import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from learners import BINARY_LEARNERS, EVERY_LEARNER, LINEAR_BY_DEFAULT
from odd_rows import rows_with_gaps
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import skstructured as sk
from skstructured._engine.moments import Statistic
from skstructured._engine.rows import Rows

N, P, FEW = 40 if INTERPRETED else 200, 4, 40
RULES = ("mean", "indicator")
every_rule = pytest.mark.parametrize("missing", RULES)
LINEAR = {
    "parameter_free": sk.OnlineStructuredPredictor(optimizer="parameter_free", random_state=0),
    "adagrad": sk.OnlineStructuredPredictor(optimizer=AdaGrad(), random_state=0),
    "default pistol": EVERY_LEARNER["default pistol"],
} | {name: EVERY_LEARNER[name] for name in LINEAR_BY_DEFAULT}
LEARNERS = LINEAR | {
    "mixture": sk.OnlineStructuredPredictor(random_state=0),
    "no intercept": sk.OnlineStructuredPredictor(fit_intercept=False, random_state=0),
    "label sets": sk.OnlineStructuredPredictor("hypercube", random_state=0),
    "ordinal": sk.OnlineStructuredPredictor("ordinal", random_state=0),
    "kernel": sk.KernelStructuredPredictor(gamma=0.2, random_state=0),
}
OTHERS = ("folklore", "online newton", "gaussian forecaster", "confidit")
LEARNERS |= {name: EVERY_LEARNER[name] for name in OTHERS}
BANDITS = [name for name, model in LEARNERS.items() if hasattr(model, "update")]
#: Others that take gaps, and fit.
OTHERS = ("pistol with a kernel", "kernel perceptron", "kernel descent", "aggregating forecaster")
OTHERS = {name: EVERY_LEARNER[name] for name in OTHERS} | {
    "numbers": sk.PiSTOLRegressor(random_state=0),
    "aioli": BINARY_LEARNERS["aioli"],
}


BATCH = {
    "field": sk.ConditionalRandomField("simplex"),
    "field, rbf": sk.ConditionalRandomField("simplex", kernel="rbf", alpha=0.1, random_state=0),
    "network": sk.MaxMinMarginNetwork(alpha=0.1, random_state=0),
    "network, rbf": sk.MaxMinMarginNetwork(kernel="rbf", alpha=0.1, random_state=0),
    "svm": sk.StructuralSVM(alpha=0.1, random_state=0),
    "svm, path": sk.StructuralSVM(alpha="path", random_state=0),
    "quadratic": sk.QuadraticSurrogate(),
    "quadratic, no intercept": sk.QuadraticSurrogate(fit_intercept=False),
}

SEQUENTIAL = {
    "field": sk.ConditionalRandomField(alpha=0.1),
    "network": sk.MaxMinMarginNetwork("sequence", alpha=0.1, random_state=0),
    "quadratic": sk.QuadraticSurrogate("sequence"),
}


def weighted_means(X, weight):
    """Weighted means of what is there, 0 of nothing."""
    there = np.ma.masked_invalid(np.asarray(X, dtype=np.float64))
    return np.ma.average(there, axis=0, weights=weight).filled(0.0)


def coefficients(model):
    return model.coef_ if hasattr(model, "coef_") else model.dual_coef_


def problem(name, rng, dtype=np.float64):
    """Rows with gaps, and outputs: classes, or sets of one label."""
    X, y = rows_with_gaps(rng, N, dtype)
    return X, np.eye(3, dtype=int)[y] if name == "label sets" else y


def new(name, missing):
    return clone((LEARNERS | OTHERS)[name]).set_params(missing=missing)


def default(missing, **given):
    return sk.OnlineStructuredPredictor(missing=missing, random_state=0, **given)


def learned(model, X, y, parts=1):
    for part in np.array_split(np.arange(len(y)), parts):
        model.partial_fit(X[part], y[part], classes=None if y.ndim > 1 else [0, 1, 2])
    return model


def scores_of(model, X):
    return getattr(model, "embedding_scores", getattr(model, "decision_function", model.predict))(X)


def weights_of(model):
    """All weights, in the units of rows as standardised; None where there are none."""
    if isinstance(model, sk.KernelStructuredPredictor):
        return None
    state = getattr(model, "_learned", getattr(model, "model_", None))
    state = getattr(state, "state", state)
    return getattr(state, "matrix", getattr(state, "W", getattr(model, "_W", None)))


def completed(X, model):
    """Rows with the means so far in their gaps."""
    return np.where(np.isnan(X), model._scale.statistics[0].astype(X.dtype), X)


def linear_scores(model, X):
    """``X coef_ᵀ + M missing_coef_ᵀ + intercept_``, means in the gaps of X."""
    theta = completed(X, model) @ model.coef_.T + model.intercept_
    return theta + (np.isnan(X) @ model.missing_coef_.T if hasattr(model, "missing_coef_") else 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_rule
@pytest.mark.parametrize("name", LEARNERS)
def test_they_are_learned_as_the_completed_rows(name, missing, dtype, rng):
    """Bit for bit as what is given the rows as standardised, with gaps 0, and the indicators."""
    X, y = problem(name, rng, dtype)
    ours = learned(new(name, missing), X, y)
    read, gap = X.astype(ours._dtype), np.isnan(X)
    Z = ours._scale.reset_copy().apply(Rows.from_array(read))[0].matrix
    scale = ours._scale.reset_copy()
    scale.indicators = False
    alone = scale.apply(Rows.from_array(read))[0].matrix
    assert not alone[gap].any()
    np.testing.assert_array_equal(Z, np.hstack([alone, gap]) if missing == "indicator" else alone)
    plain = learned(clone(LEARNERS[name]).set_params(standardize=False), Z, y)
    if weights_of(ours) is not None:
        np.testing.assert_array_equal(weights_of(ours), weights_of(plain))
        assert weights_of(ours).any()
    if name in BANDITS:  # which draw the same choices
        assert ours.n_mistakes_ == plain.n_mistakes_
    ready = ours._scale.transformed(Rows.from_array(read)).matrix
    np.testing.assert_array_equal(ready[:, P:], gap[:, : ready.shape[1] - P])
    wanted, tolerance = scores_of(plain, ready), 1e-9 if dtype == np.float64 else 1e-4
    atol = tolerance * np.abs(wanted).max()
    np.testing.assert_allclose(scores_of(ours, X), wanted, rtol=0.0, atol=atol)
    if missing == "mean":
        given = scores_of(ours, completed(X, ours))
        exact = dtype == np.float64  # means are not rounded to float32
        np.testing.assert_allclose(scores_of(ours, X), given, 0.0 if exact else 1e-4, atol)


@every_rule
@pytest.mark.parametrize("name", LINEAR)
def test_scores_are_those_of_the_weights(name, missing, rng):
    X, y = problem(name, rng)
    model = learned(new(name, missing), X, y)
    assert model.n_features_in_ == P and model.coef_.shape == (3, P)
    np.testing.assert_allclose(scores_of(model, X), linear_scores(model, X), rtol=1e-9, atol=1e-9)
    if missing == "indicator":
        assert model.missing_coef_.shape == (3, P)
        assert model.missing_coef_[:, 1:].any() and not model.missing_coef_[:, 0].any()
        assert getattr(model, "last_weights_", np.empty((3, 2 * P + 1))).shape == (3, 2 * P + 1)


@every_rule
@pytest.mark.parametrize("name", LEARNERS)
def test_chunks_learn_the_same(name, missing, rng):
    X, y = problem(name, rng)
    whole, parts = (learned(new(name, missing), X, y, count) for count in (1, 7))
    for model in (parts, pickle.loads(pickle.dumps(parts))):
        np.testing.assert_array_equal(scores_of(whole, X), scores_of(model, X))
        statistics = [one._scale.statistics[: Statistic.KEPT] for one in (whole, model)]
        np.testing.assert_array_equal(*statistics)
    if weights_of(whole) is not None:
        np.testing.assert_array_equal(weights_of(whole), weights_of(parts))


@pytest.mark.parametrize("name", ["mixture", "parameter_free", "label sets", "ordinal", "kernel"])
def test_fit_and_frames(name, rng):
    pd = pytest.importorskip("pandas")
    X, y = problem(name, rng)
    model = clone(LEARNERS[name]).set_params(max_iter=2).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = frame["b"].astype("Float64")
    frame["d"] = np.array([None] * N, dtype=object)
    named = clone(model).fit(frame, y)
    np.testing.assert_array_equal(scores_of(model, X), scores_of(named, frame))
    assert np.isfinite(scores_of(model, X)).all()


@every_rule
@pytest.mark.parametrize("name", LEARNERS | OTHERS)
def test_other_learners_take_them_as_well(name, missing, rng):
    """As the completed rows in predictions."""
    X, y = problem(name, rng)
    y = (y > 1).astype(int) if y.ndim == 1 and name != "ordinal" else y
    model = new(name, missing).fit(X, y)
    assert np.isfinite(scores_of(model, X)).all()
    if missing == "mean":
        names = ("predict_proba", "decision_function", "predict")
        answer = getattr(model, next(how for how in names if hasattr(model, how)))
        wanted = answer(completed(X, model))
        np.testing.assert_allclose(answer(X), wanted, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="NaN"):
        new(name, "error").fit(X, y)


@pytest.mark.parametrize("name", BANDITS)
def test_bandits_choose_and_update_where_features_are_missing(name, rng):
    """As with the means of the rows so far and this one, which counts before it is played."""
    X, y = problem(name, rng)
    model, x = learned(clone(LEARNERS[name]), X[:-1], y[:-1]), X[-1:]
    scale = model._scale.copy()
    scale.apply(Rows.from_array(x))
    filled = np.where(np.isnan(x), scale.statistics[0], x)
    np.testing.assert_allclose(model.decoding_proba(x), model.decoding_proba(filled), rtol=1e-6)
    actions, propensities = model.choose(x)
    before = weights_of(model).copy()
    model.update(x, actions, [1.0], propensities)
    assert np.isfinite(weights_of(model)).all() and model.t_ == N
    if name == "default bandit gaptron":
        assert not np.array_equal(before, weights_of(model))
        assert not model._uncovered  # the round was the one chosen, gaps and all


@every_rule
@pytest.mark.parametrize("average", [False, "polynomial"], ids=["last", "average"])
@pytest.mark.parametrize("name", ["mixture", "parameter_free", "adagrad"])
@pytest.mark.short("adagrad-last-mean", "adagrad-last-indicator")
def test_streams_are_validated_as_predicted_row_by_row(name, average, missing, rng):
    X, y = problem(name, rng)
    X, y = X[:25], y[:25]
    model = new(name, missing).set_params(average=average)
    found = sk.evaluation.progressive_validate(model, X, y, classes=[0, 1, 2])
    wanted = []
    for i in range(len(y)):
        if i:
            wanted.append(float(model.predict(X[i : i + 1])[0] != y[i]))
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    np.testing.assert_allclose(found.expected_target_loss[1:], wanted, rtol=1e-6, atol=1e-9)


@every_rule
def test_shards_are_put_together(missing, rng):
    X, y = problem("", rng)
    weights = [1.0, 2.5, 0.3]
    shards = [learned(default(missing), X[i::3], y[i::3]) for i in range(3)]
    merged = sk.average_fitted(shards, weights=weights)
    means = np.average([shard._scale.statistics[0] for shard in shards], 0, weights)
    np.testing.assert_allclose(merged._scale.statistics[0], means, rtol=1e-12)
    np.testing.assert_allclose(scores_of(merged, X), linear_scores(merged, X), 1e-9, 1e-9)
    assert merged._scale.reset_copy().indicators == (missing == "indicator")
    if missing == "indicator":
        wanted = np.average([shard.missing_coef_ for shard in shards], 0, weights)
        np.testing.assert_allclose(merged.missing_coef_, wanted, rtol=1e-9, atol=1e-12)


def test_label_sequences(rng):
    """As positions standardised beforehand, with their indicators; the last of them all missing."""
    lengths = rng.randint(1, 6, size=20)
    X = [rng.randn(m, 3) for m in lengths]
    y = [np.argmax(x, axis=1) for x in X]
    X = [np.where(rng.rand(*x.shape) < 0.3, np.nan, x) for x in X]
    model = sk.OnlineStructuredPredictor("sequence", missing="indicator")
    model.partial_fit(X, y, classes=range(3))
    stacked = np.vstack(X)
    Z = model._scale.reset_copy().apply(Rows.from_array(stacked))[0].matrix
    parts = np.split(Z, np.cumsum(lengths)[:-1])
    plain = sk.OnlineStructuredPredictor("sequence", standardize=False)
    plain.partial_fit(parts, y, classes=range(3))
    np.testing.assert_array_equal(model.transitions_, plain.transitions_)
    np.testing.assert_array_equal(model.missing_coef_, plain.coef_[:, 3:])
    unary, starts = linear_scores(model, stacked), np.cumsum([0, *lengths])
    unary[starts[:-1]] += model.start_
    unary[starts[1:] - 1] += model.end_
    np.testing.assert_allclose(np.vstack(model.embedding_scores(X)), unary, rtol=1e-9, atol=1e-9)
    X[7][0, 1] = np.inf
    with pytest.raises(ValueError, match="Sequence 7 of X, position 0"):
        model.partial_fit(X, y)


@every_rule
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "no intercept"])
def test_after_csr_rows_a_gap_is_0(name, missing, rng):
    """As an entry that is not stored; before they are learned, and in predictions."""
    X, y = problem(name, rng)
    filled, half, found = np.nan_to_num(X), N // 2, []
    for rows in (X, filled):
        one = learned(new(name, missing), sparse.csr_array(filled[:half]), y[:half])
        learned(one, rows[half:], y[half:], 3)
        found.append([scores_of(one, rows), scores_of(one, rows[:1])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert np.isfinite(ours).all()


def test_csr_rows_have_none(rng):
    X, y = problem("", rng)
    rows = sparse.csr_array(np.nan_to_num(X))
    model, plain = (learned(default(missing), rows, y) for missing in RULES[::-1])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    assert not model.missing_coef_.any()
    wide = sparse.csr_array(np.eye(1, P)).astype(float)  # few columns with entries
    np.testing.assert_array_equal(scores_of(model, wide), scores_of(plain, wide))
    for one in (model, plain):
        with pytest.raises(ValueError, match="NaN"):
            one.fit(sparse.csr_array(X), y)


def test_csr_rows_after_dense_ones(rng):
    X, y = problem("", rng)
    model, twin = (learned(default("indicator"), X, y) for _ in range(2))
    clean = np.nan_to_num(X)
    rows = sparse.csr_array(clean)
    np.testing.assert_allclose(scores_of(model, rows), scores_of(model, clean), rtol=1e-9)
    np.testing.assert_array_equal(
        scores_of(learned(twin, clean, y), X), scores_of(learned(model, rows, y), X)
    )


class TestIndicators:
    """What they add: features 0 and 1 beside the completed rows."""

    def test_what_a_gap_says_is_learned(self, rng):
        """Where a gap alone tells the class."""
        y = rng.randint(2, size=N)
        X = np.where(y[:, None] == 1, np.nan, rng.randn(N, 1))
        scores = [default(missing).fit(X, y).score(X, y) for missing in RULES]
        assert scores[1] == 1.0 and scores[0] < 0.9

    @pytest.mark.parametrize("name", ["mixture", "parameter_free", "no intercept", "kernel"])
    def test_rows_without_gaps_are_learned_as_without_them(self, name, rng):
        X, y = problem(name, rng)
        X = np.nan_to_num(X)
        found = [scores_of(learned(new(name, missing), X, y), X) for missing in RULES]
        np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)

    def test_sparse_rows_on_one_scale_of_a_kernel_learner_stay_as_they_are(self, rng):
        X, y = np.abs(rng.randn(N, P)), rng.randint(2, size=N)
        X = sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True))
        model, plain = (new("default pistol", missing).fit(X, y) for missing in RULES[::-1])
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))

    def test_weights_count_in_means_and_rows_of_weight_0_do_not(self, rng):
        X, y = problem("", rng)
        weight, found = rng.choice([0.0, 0.5, 2.5], N), []
        for kept in (weight >= 0.0, weight > 0.0):
            given = {"classes": [0, 1, 2], "sample_weight": weight[kept]}
            found.append(default("indicator").partial_fit(X[kept], y[kept], **given))
        np.testing.assert_array_equal(*(model.missing_coef_ for model in found))
        np.testing.assert_array_equal(*(scores_of(model, X) for model in found))

    def test_the_bound_holds_against_their_weights(self, rng):
        X, y = problem("", rng)
        model = default("indicator", optimizer="ogd", average=False)
        found = sk.evaluation.progressive_validate(
            model, X, y, classes=[0, 1, 2], play="randomized"
        )
        U = found.best_comparator()
        assert U.shape == (3, 2 * P + 1) and np.abs(U[:, P : 2 * P]).max() > 0.0
        assert found.expected_target_loss.sum() <= found.regret_bound(U)
        wide = found.estimator.comparison(found.rounds).X
        np.testing.assert_array_equal(wide[:, P:], np.isnan(X))

    def test_bandits_are_compared_on_the_rows_that_they_learn(self, rng):
        X, y = problem("", rng)
        model = new("default bandit gaptron", "indicator")
        rounds = model.begin(X, y)
        rows = model.comparison(rounds).X
        assert rows.shape == (N, 2 * P) and np.isfinite(rows).all()
        np.testing.assert_array_equal(rows, model._scale.copy().apply(rounds.rows)[0].matrix)

    def test_real_outputs(self, rng):
        X, y = problem("", rng)
        model = new("numbers", "indicator").fit(X, 3.0 * y + 5.0)
        np.testing.assert_allclose(model.predict(X), linear_scores(model, X), rtol=1e-9)
        assert model.missing_coef_.shape == (P,)

    def test_what_there_is_without_them(self, rng):
        X, y = problem("", rng)
        plain = default("mean")
        with pytest.raises(AttributeError, match="set by fit or partial_fit"):
            _ = plain.missing_coef_
        learned(plain, X, y)
        with pytest.raises(AttributeError, match='missing="indicator"'):
            _ = plain.missing_coef_
        raw = default("indicator", standardize=False)
        with pytest.raises(ValueError, match="NaN"):
            raw.fit(X, y)
        assert raw.fit(np.nan_to_num(X), y).last_weights_.shape == (3, P + 1)
        plain.set_params(missing="indicator")  # as it was fitted
        assert scores_of(plain, X).shape == (N, 3) and not hasattr(plain, "missing_coef_")


#: Parameters, a number among the rows, and what is said of it.
REFUSED = [
    ({"missing": "error"}, np.nan, "NaN"),
    ({"standardize": False}, np.nan, "NaN"),
    ({}, np.inf, "infinity"),
    ({}, 1e200, "too large"),
]


@pytest.mark.parametrize(("given", "spoil", "message"), REFUSED)
@pytest.mark.parametrize("name", ["mixture", "kernel", *BATCH])
def test_what_is_refused(name, given, spoil, message, rng):
    """By new learners, and by fitted ones that are given the parameter later."""
    X, y = rows_with_gaps(rng, FEW)
    X = np.nan_to_num(X)
    learner, bad = (LEARNERS | BATCH)[name], X.copy()
    bad[5, 2] = spoil
    with pytest.raises(ValueError, match=message):
        clone(learner).set_params(**given).fit(bad, y)
    model = clone(learner).fit(X, y)
    before = scores_of(model, X)
    model.set_params(**given)
    later = model.predict if name in BATCH else partial(model.partial_fit, y=y)
    if name in BATCH or "standardize" not in given:
        with pytest.raises(ValueError, match=message):
            later(bad)
    np.testing.assert_array_equal(scores_of(model, X), before)


@pytest.mark.parametrize("name", LEARNERS | OTHERS | BATCH)
def test_tags_tell(name):
    model = (LEARNERS | OTHERS | BATCH)[name]
    for given in ({}, {"missing": "error"}, {"standardize": False}):
        assert get_tags(clone(model).set_params(**given)).input_tags.allow_nan == (not given)
    for never in (sk.AdaBoostOLMClassifier(), sk.BanditReduction()):
        assert not get_tags(never).input_tags.allow_nan


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BATCH)
def test_batches_learn_the_completed_rows(name, dtype, rng):
    """Bit for bit, with weights of 0 too; and predict the completed ones, by the same means."""
    X, y = rows_with_gaps(rng, FEW, dtype)
    weight = rng.choice([0.0, 0.5, 2.5], FEW)
    model = clone(BATCH[name]).fit(X, y, sample_weight=weight)
    means = weighted_means(X, weight)
    np.testing.assert_allclose(model._means, means, rtol=1e-12, atol=1e-15)
    assert means[3] == 0.0 and means[:3].all()
    filled = np.where(np.isnan(X), model._means, X)
    plain = clone(model).fit(filled, y, sample_weight=weight)
    np.testing.assert_array_equal(coefficients(model), coefficients(plain))
    assert model.alpha_ == plain.alpha_ and coefficients(model).any()
    new = np.array([[np.nan, 20.0, np.nan, 1.0], [np.nan] * 4, [0.5, 80.0, 3.0, np.nan]])
    done = np.where(np.isnan(new), model._means, new)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(done))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "network" else ())
        for name in SEQUENTIAL
    ],
)
def test_label_sequences_are_completed_by_positions(name, rng):
    lengths = rng.randint(1, 6, size=15)
    X = [rng.randn(m, 3) + 2.0 for m in lengths]
    y = [np.argmax(x, axis=1) for x in X]
    X = [np.where(rng.rand(*x.shape) < 0.3, np.nan, x) for x in X]
    weight = rng.choice([0.0, 0.5, 2.5], 15)
    model = clone(SEQUENTIAL[name]).fit(X, y, sample_weight=weight)
    means = weighted_means(np.vstack(X), np.repeat(weight, lengths))
    np.testing.assert_allclose(model._means, means, rtol=1e-12)
    filled = [np.where(np.isnan(x), model._means, x) for x in X]
    plain = clone(model).fit(filled, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.transitions_, plain.transitions_)
    ours, theirs = model.decision_function(X), plain.decision_function(filled)
    np.testing.assert_array_equal(np.vstack(ours), np.vstack(theirs))
    X[7][0, 2] = np.inf
    with pytest.raises(ValueError, match="Sequence 7 of X, position 0"):
        model.predict(X)


@pytest.mark.exhaustive
def test_a_matrix_of_kernels_has_none(rng):
    X, y = rows_with_gaps(rng, FEW)
    Z = np.nan_to_num(X) / [1.0, 100.0, 3.0, 1.0]
    K = Z @ Z.T
    for kind in (sk.MaxMinMarginNetwork, sk.QuadraticSurrogate):
        model = kind(kernel="precomputed", alpha=1.0).fit(K, y)
        assert not get_tags(model).input_tags.allow_nan
        bad = K.copy()
        bad[1, 2] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            kind(kernel="precomputed").fit(bad, y)
        with pytest.raises(ValueError, match="NaN"):
            model.predict(bad)


@pytest.mark.parametrize("name", ["field", "network", "quadratic"])
def test_batches_of_csr_rows_have_none_and_means_of_zeros_too(name, rng):
    """Rows with gaps may be predicted after CSR ones: entries that are not stored are 0."""
    X, y = rows_with_gaps(rng, FEW)
    rows = sparse.csr_array(np.nan_to_num(X) * (rng.rand(FEW, 4) < 0.5))
    model = clone(BATCH[name]).fit(rows, y)
    np.testing.assert_allclose(model._means, rows.toarray().mean(axis=0), rtol=1e-12, atol=1e-15)
    filled = np.where(np.isnan(X), model._means, X)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(filled))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(sparse.csr_array(X), y)


def test_a_warm_start_goes_on_with_the_means_of_the_new_rows(rng):
    X, y = rows_with_gaps(rng, FEW)
    model = sk.ConditionalRandomField("simplex", alpha=0.1, warm_start=True).fit(X, y)
    model.fit(X[::2], y[::2])
    np.testing.assert_allclose(model._means, weighted_means(X[::2], np.ones(FEW // 2)), rtol=1e-12)
