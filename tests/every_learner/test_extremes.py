"""The ends of the range that docs/numbers.md promises, for every optimizer and learner."""

import pickle
import tracemalloc
from functools import partial

import naive
import numpy as np
import pandas as pd
import plain
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad, FTRLProximal
from learners import EVERY_LEARNER, LINEAR_BY_DEFAULT, OVER_SPACES
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from streams import rows_of_norm_one

from skstructured import AdaBoostOLMClassifier, BanditReduction, OnlineTreeClassifier, optimizers
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.optimizers import AdaptiveGradientDescent, PiSTOL

K = 3
N = 30 if INTERPRETED else 200
STORAGES = {"dense": np.asarray, "csr": sparse.csr_array}


def online(**parameters):
    return plain.predictor(average="polynomial", fit_intercept=False, **parameters)


#: name -> (optimizer for features ``x`` and sample weights ``w`` times as large: the same
#: learner in other units)
OPTIMIZERS = {
    "ogd": lambda x, w: optimizers.GradientDescent(),
    "ogd, given C": lambda x, w: optimizers.GradientDescent(feature_norm=1.5 * x * w**0.5),
    "ogd, ball": lambda x, w: optimizers.GradientDescent(radius=0.7 / x),
    "adaptive": lambda x, w: optimizers.AdaptiveGradientDescent(1.5 / x),
    "parameter_free": lambda x, w: optimizers.ParameterFree(100.0 * w),
    "pistol": lambda x, w: optimizers.PiSTOL(b=w),
    "pistol per coordinate": lambda x, w: optimizers.PiSTOL(b=w, per_coordinate=True),
    "adagrad": lambda x, w: AdaGrad(0.1 / x),
    "ftrl": lambda x, w: FTRLProximal(0.1 / x, x * w, x * w * 0.1),
}

KINDS = ("logistic", "hinge", "smooth_hinge")
PLAIN = {"fit_intercept": False}
RANDOM = PLAIN | {"random_state": 0}


def in_balls(name, make, **given):
    """`make` with each loss, in a ball."""
    return {
        f"{name} {kind}": (lambda unit, kind=kind: make(kind, radius=0.7 / unit, **given), -1)
        for kind in KINDS
    }


#: name -> (learner for features ``unit`` times as large, the power of it that its weights have)
LEARNERS = {
    **{
        name: (lambda unit, make=make: online(optimizer=make(unit, 1.0)), -1)
        for name, make in OPTIMIZERS.items()
    },
    **in_balls("gaptron", plain.gaptron, average="polynomial", **PLAIN),
    "perceptron": (lambda unit: plain.perceptron(average="polynomial", **PLAIN), 1),
    "second order": (lambda unit: plain.second_order(alpha=unit**2, **PLAIN), -1),
    **in_balls("bandit gaptron", plain.bandit_gaptron, **RANDOM),
    "banditron": (lambda unit: plain.banditron(**RANDOM), 1),
    "soba": (lambda unit: plain.soba(unit**2, **RANDOM), -1),
    "confidit": (lambda unit: plain.confidit(**RANDOM), 0),
}

#: Not the same learner in other units, whatever its parameters.
OTHERS = {
    "newtron": lambda: plain.newtron(fit_intercept=False, random_state=0),
    "reduction": lambda: BanditReduction(online(), exploration=0.3, random_state=0),
    "boosting": lambda: AdaBoostOLMClassifier(n_estimators=5, random_state=0),
    "tree": lambda: OnlineTreeClassifier(random_state=0),
}
EVERY = {name: lambda make=make: make(1.0) for name, (make, _) in LEARNERS.items()} | OTHERS

#: Learners of rows as standardised, which may be as small as they like.
STANDARDIZED = {
    f"standardized {name}": lambda name=name: clone(EVERY_LEARNER[name])
    for name in ("default", "parameter free", *LINEAR_BY_DEFAULT, "confidit")
}
ENDS = [(name, norm) for name in EVERY for norm in (1e-141, 1e-101, 1.1e100, 1e153)]
ENDS += [(name, 1e153) for name in STANDARDIZED]

#: Powers of two just within the range for rows of norm 1 to 1.09, and for weights of 1.
UNITS = [2.0**-332, 2.0**332]
WEIGHTS = [2.0**-66, 2.0**66]


def learn(model, X, y):
    return model.partial_fit(X, y, classes=np.arange(K))


def all_weights(model):
    names = ("coef_", "last_weights_", "average_weights_")
    return [getattr(model, name) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", [*LEARNERS, "boosting", "tree"])
def test_learners_are_the_same_in_the_smallest_and_the_largest_unit(name, unit, storage, rng):
    X, y = rows_of_norm_one(rng, N)
    make, power = LEARNERS[name] if name in LEARNERS else (lambda unit: OTHERS[name](), 0)
    store = STORAGES[storage]
    plain, scaled = learn(make(1.0), store(X), y), learn(make(unit), store(unit * X), y)
    assert np.abs(getattr(plain, "coef_", 1.0)).max() > 1e-3
    for W, V in zip(all_weights(plain), all_weights(scaled), strict=True):
        np.testing.assert_allclose(V * (1.0 / unit) ** power, W, rtol=1e-9, atol=1e-12)
    answers = [
        model.predict_proba if name in OTHERS else model.predict for model in (plain, scaled)
    ]
    np.testing.assert_array_equal(answers[0](store(X)), answers[1](store(unit * X)))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("factor", WEIGHTS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_are_the_same_for_the_smallest_and_the_largest_weights(
    name, factor, storage, rng
):
    X, y = rows_of_norm_one(rng, N)
    X, weight = STORAGES[storage](X), rng.choice([1.0, 1.25], size=len(y))
    plain, scaled = (
        online(optimizer=OPTIMIZERS[name](1.0, unit)).fit(X, y, sample_weight=unit * weight)
        for unit in (1.0, factor)
    )
    for W, V in zip(all_weights(plain), all_weights(scaled), strict=True):
        np.testing.assert_allclose(V, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_and_weights_from_one_end_to_the_other(name, storage, rng):
    X, y = rows_of_norm_one(rng, N)
    X *= 10.0 ** rng.choice([-100, 0, 99.9], size=(len(X), 1))
    weight = 10.0 ** rng.choice([-19.9, 0, 19.9], size=len(X))
    X = STORAGES[storage](X)
    model = online(optimizer=OPTIMIZERS[name](1.0, 1.0))
    for average in ("polynomial", "uniform"):
        model.set_params(average=average).fit(X, y, sample_weight=weight)
        assert all(np.isfinite(W).all() for W in all_weights(model))
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("name", "norm"), ENDS)
def test_rows_beyond_the_range_are_refused_and_nothing_moves(name, norm, storage, rng):
    X, y = rows_of_norm_one(rng, 12)
    store, model = STORAGES[storage], (EVERY | STANDARDIZED)[name]()
    beyond, new = X.copy(), clone(model)
    beyond[7] *= norm / np.linalg.norm(beyond[7])
    learn(model, store(X), y)
    before, rounds = [W.copy() for W in all_weights(model)], model.t_
    message = (
        rf"Row 7 of X is too {'large' if norm > 1 else 'small'}: its Euclidean norm is {norm:.4g}"
    )
    for call in (model.fit, model.partial_fit, new.fit, partial(learn, new)):
        with pytest.raises(ValueError, match=message.replace("+", r"\+")):
            call(store(beyond), y)
        for W, V in zip(before, all_weights(model), strict=True):
            np.testing.assert_array_equal(W, V)
        assert model.t_ == rounds and not hasattr(new, "classes_")
    with pytest.raises(ValueError, match="Row 7 of X is too"):
        model.predict(store(beyond))
    beyond[7] = 0.0
    assert learn(model, store(beyond), y).t_ == rounds + 12


def test_a_constant_feature_makes_no_row_too_small(rng):
    X, y = rows_of_norm_one(rng, N)
    model = plain.predictor().fit(1e-200 * X, y)
    assert np.isfinite(model.coef_).all() and np.abs(model.intercept_).max() > 0.0
    assert model.predict_proba(1e-200 * X).sum() == pytest.approx(len(X))


@pytest.mark.parametrize("storage", STORAGES)
def test_scores_that_are_not_finite_end_in_an_error_and_count_what_was_learned(storage, rng):
    """A step far too large for the rows that follow."""
    X, y = rows_of_norm_one(rng, 12)
    store, model = STORAGES[storage], online(optimizer=optimizers.GradientDescent(eta=1e300))
    learn(model, store(1e-80 * X), y)
    assert np.isfinite(model.coef_).all()
    far = np.r_[1e-80 * X[:5], 1e90 * X[5:]]
    with pytest.raises(ValueError, match="The scores of row 5 of X are not finite"):
        model.partial_fit(store(far), y)
    assert model.t_ == 17 and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("growth", [1e12, 1e16, 1e60])
@pytest.mark.parametrize("name", ["ogd", "adaptive", "parameter_free", "pistol"])
@pytest.mark.parametrize("average", ["polynomial", "uniform"])
def test_averages_keep_their_digits_where_another_feature_follows(average, name, growth, rng):
    """A feature of scale 1, then one of scale `growth`, whose weights are as much smaller."""
    X, y = rows_of_norm_one(rng, N)
    X[: len(X) // 2, 2:], X[len(X) // 2 :, :2] = 0.0, 0.0
    X[: len(X) // 2, 0] += 1.0
    X[len(X) // 2 :, 2:] = growth * (X[len(X) // 2 :, 2:] + 1.0)
    model, mean = online(optimizer=OPTIMIZERS[name](1.0, 1.0)), np.zeros((K, 4))
    model.set_params(average=average)
    shares = naive.round_shares(np.ones(len(X)), average)
    for x, label, share in zip(X, y, shares, strict=True):
        if hasattr(model, "space_"):
            copy = pickle.loads(pickle.dumps(model))
            copy.optimizer_.scale_kernel(copy.model_.state.vector, float(x @ x), 1.0)
            mean += share * copy.last_weights_
        learn(model, x[None], [label])
    error = np.abs(model.average_weights_ - mean).max(axis=0)
    assert np.all(error <= 1e-9 * np.abs(mean).max(axis=0))


ROWS = 60 if INTERPRETED else 600
KEPT_SINGLE = ["ogd", AdaptiveGradientDescent(0.5), "parameter_free", "pistol"]
KEPT_SINGLE.append(PiSTOL(per_coordinate=True))
CLASSES = [0, 1, 2]
#: Learners that keep the dtype of their first rows.
SINGLES = ("online", "average", "uniform average", "per coordinate", "default", "gaptron")
SINGLES += ("default perceptron", "sampled", "bandit gaptron", "banditron")


@pytest.fixture
def rows(rng):
    """float32 rows of features in odd units, and classes that they decide."""
    Z = rng.randn(ROWS, 7)
    y = np.argmax(Z @ rng.randn(7, 3) + 0.5 * rng.randn(ROWS, 3), axis=1)
    y[:3] = CLASSES
    return (Z * [1, 10, 0.1, 1, 3, 1, 1] + [0, 30, 0, 0, 1, 1, 0]).astype(np.float32), y


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("optimizer", KEPT_SINGLE, ids=str)
def test_weights_are_those_of_float64(optimizer, storage, standardize, average, rows):
    X, y = storage(rows[0]), rows[1]
    model = predictor(optimizer=optimizer, standardize=standardize, average=average)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    assert single.coef_.dtype == single.decision_function(X).dtype == np.float64
    np.testing.assert_array_equal(single.last_weights_, double.last_weights_)
    np.testing.assert_array_equal(single.coef_, double.coef_)
    np.testing.assert_array_equal(single.decision_function(X), double.decision_function(X))


@pytest.mark.parametrize("space", list(OVER_SPACES))
@pytest.mark.short(*(name for name in OVER_SPACES if name != "pairs"))
def test_every_space_is_learned_from_float32_rows(space):
    model, X, y = OVER_SPACES[space]
    X = X.astype(np.float32)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(single.coef_, double.coef_)
    assert single.predict_mean(X).dtype == np.float64


def test_later_rows_are_rounded_as_the_first_were(rows):
    X, y = rows
    finer = X + np.float64(1e-9)
    single = predictor().partial_fit(X, y, CLASSES).partial_fit(finer, y)
    rounded = predictor().partial_fit(X, y, CLASSES).partial_fit(finer.astype(np.float32), y)
    np.testing.assert_array_equal(single.coef_, rounded.coef_)
    double = predictor().partial_fit(X.astype(np.float64), y, CLASSES).partial_fit(finer, y)
    assert np.any(double.coef_ != single.coef_)


@pytest.mark.filterwarnings("ignore:np.find_common_type")  # of pandas 2.0 itself
def test_frames_and_odd_arrays_of_float32(rows, tmp_path):
    X, y = rows
    wanted = predictor().fit(X, y).coef_
    np.save(tmp_path / "X.npy", X)
    memmap, frozen = np.load(tmp_path / "X.npy", mmap_mode="r"), X.copy()
    frozen.flags.writeable = False
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for other in (np.asfortranarray(X), memmap, frozen, frame, np.repeat(X, 2, axis=0)[::2]):
        model = predictor().fit(other, y)
        np.testing.assert_array_equal(model.coef_, wanted)
        model.partial_fit(other, y)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("learner", SINGLES)
@pytest.mark.short(every=20)
def test_x_is_not_copied(learner, storage, rng):
    X, y = rng.rand(50_000, 200).astype(np.float32), rng.randint(3, size=50_000)
    X, model = storage(X), clone(EVERY_LEARNER[learner])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    model.fit(X[:100], y[:100]).predict(X[:100])
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes
    tracemalloc.start()
    try:
        model.fit(X, y)
        model.partial_fit(X, y)
        model.decision_function(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 4


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("standardize", [False, True])
def test_numbers_that_float32_does_not_have_are_refused(standardize, value, rows):
    X, y = rows
    model = predictor(standardize=standardize).fit(X, y)
    before, Z = model.coef_.copy(), X.astype(np.float64)
    Z[4, 2] = value
    model.set_params(missing="error")
    for call in (model.partial_fit, lambda X, y: model.predict(X)):
        with pytest.raises(ValueError, match="NaN|infinity"):
            call(Z, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("learner", ["bandit gaptron", "banditron"])
def test_bandits_choose_and_update(learner, rows):
    X, y = rows
    single, double = (clone(EVERY_LEARNER[learner]).set_params(classes=CLASSES) for _ in range(2))
    for model, Z in ((single, X), (double, X.astype(np.float64))):
        for i in range(40):
            actions, propensities = model.choose(Z[i : i + 1])
            model.update(Z[i : i + 1], actions, actions == y[i : i + 1], propensities)
        assert not model._uncovered
        model.update(Z[:9], y[:9], np.ones(9), np.full(9, 0.5))
    error = np.abs(single.coef_ - double.coef_).max()
    assert error < 1e-4 * np.abs(double.coef_).max()


def test_standardised_rows_are_rounded_once(rng):
    X = rng.randn(50, 3) * 100.0 + 1e4
    X = X.astype(np.float32)
    scales = [RunningScale(3, True, True, dtype) for dtype in (np.float32, np.float64)]
    z, exact = (scale.apply(Rows.from_array(X))[0].X for scale in scales)
    assert z.dtype == np.float32
    np.testing.assert_allclose(z, exact, rtol=1e-6, atol=1e-6)
