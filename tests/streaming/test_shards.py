"""Means of estimators of shards, against exact fractions; and what has no mean."""

import functools
import pickle

import numpy as np
import pytest
from learners import OVER_SPACES
from naive.shards import mean_of
from plain import gaptron, perceptron, predictor
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from skstructured import average_fitted
from skstructured.optimizers import CoordinatePiSTOL, GradientDescent, PiSTOL
from skstructured.spaces import Simplex
from skstructured.utils._learner_checks import has_argument

N, P, SHARDS = 90, 4, 3

_rng = np.random.RandomState(0)
X = _rng.randn(N, P) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, -2.0]
Y = np.array(["a", "b", "c"])[np.argmax(X @ _rng.randn(P, 3) + _rng.randn(N, 3), axis=1)]
REAL = X @ [1.0, 0.1, 0.0, 0.5] + 0.1 * _rng.randn(N)

OPTIMISERS = {
    "ogd": "ogd",
    "adaptive": "adaptive",
    "parameter free": "parameter_free",
    "pistol": "pistol",
    "per coordinate": CoordinatePiSTOL(),
    "ball": GradientDescent(radius=0.5),
}
DEFAULT = functools.partial(sk.OnlineStructuredPredictor, optimizer="parameter_free")
LEARNERS = {
    **{f"{name}, last": predictor(optimizer=o) for name, o in OPTIMISERS.items()},
    **{f"{name}, averaged": DEFAULT(optimizer=o) for name, o in OPTIMISERS.items()},
    "uniform": DEFAULT(average="uniform"),
    "no intercept": DEFAULT(fit_intercept=False),
    "squared": DEFAULT(regularizer="squared", standardize=False),
    **{f"gaptron {kind}": sk.GaptronClassifier(kind) for kind in ("logistic", "smooth_hinge")},
    "gaptron hinge": gaptron("hinge"),
    "perceptron": sk.MulticlassPerceptron(),
    "plain perceptron": perceptron(),
    "pistol classifier": sk.PiSTOLClassifier(),
    "pistol, last": sk.PiSTOLClassifier(average=False, loss="hinge"),
    "kernel sgd in the primal": sk.AveragedKernelSGDClassifier(kernel="linear"),
}
SPACES = {
    name: (clone(learner).set_params(average=True), y)
    for name, (learner, _, y) in OVER_SPACES.items()
}


def learned(estimator, X, y, weight=None, classes=None):
    """A clone that has learned the rows as a stream."""
    model = clone(estimator)
    asks = classes is not None and has_argument(model.partial_fit, "classes")
    told = {"classes": classes} if asks else {}
    told |= {} if weight is None else {"sample_weight": weight}
    return model.partial_fit(X, y, **told)


def parts(n, shards=SHARDS, seed=1):
    """Disjoint places of rows, of very different numbers."""
    cuts = np.sort(np.random.RandomState(seed).choice(np.arange(5, n - 5), shards - 1, False))
    return np.split(np.random.RandomState(seed).permutation(n), cuts)


def sharded(estimator, X, y, classes=None, weight=None):
    """An estimator for each shard, and the sums of their weights."""
    weight = np.ones(len(y)) if weight is None else weight
    found = [learned(estimator, X[at], y[at], weight[at], classes) for at in parts(len(y))]
    return found, [weight[at].sum() for at in parts(len(y))]


def check_mean(model, shards, counts, names=("coef_", "intercept_", "last_weights_")):
    """Weights in units of X are the means of those of the shards, entry by entry."""
    real = isinstance(model, sk.PiSTOLRegressor)  # whose other weights are in units of their own
    for name in names + ("average_weights_",) * (model._model.averaged and not real):
        wanted = mean_of([getattr(shard, name) for shard in shards], counts)
        scale = max(np.abs(getattr(shard, name)).max(initial=0.0) for shard in shards)
        found = getattr(model, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15 * scale)
        assert found.shape == getattr(shards[0], name).shape


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_weights_are_the_mean(name, rng):
    weight = rng.randint(4, size=N) * 0.7
    shards, counts = sharded(LEARNERS[name], X, Y, ["a", "b", "c"], weight)
    model = average_fitted(shards)
    assert type(model) is type(shards[0]) and model.t_ == N and model.n_features_in_ == P
    check_mean(model, shards, counts)
    given = average_fitted(iter(shards), weights=(1, 2.5, 1e-3))
    check_mean(given, shards, (1, 2.5, 1e-3))
    theta = mean_of([shard._scores(X[:9]) for shard in shards], counts)
    np.testing.assert_allclose(model._scores(X[:9]), theta, rtol=1e-9, atol=1e-9)
    assert set(model.predict(X)) <= set("abc") and 0.0 <= model.score(X, Y) <= 1.0


@pytest.mark.parametrize("optimiser", sorted(OPTIMISERS))
@pytest.mark.parametrize("odd", ["tiny", "huge", "mixed", "far", "constant"])
def test_rows_of_odd_sizes(odd, optimiser):
    rows = X.copy()
    if odd == "constant":  # in one shard, and in all
        rows[:, 0], rows[parts(N)[0], 1] = 3.0, 2.0
    elif odd == "far":
        rows = rows + 1e8
    else:
        rows = rows * {"tiny": 1e-90, "huge": 1e90, "mixed": [1e-90, 1.0, 1e60, 1e90]}[odd]
    shards, counts = sharded(DEFAULT(optimizer=OPTIMISERS[optimiser]), rows, Y, ["a", "b", "c"])
    model = average_fitted(shards)
    for name in ("coef_", "intercept_", "last_weights_", "average_weights_"):
        for column, found in enumerate(getattr(model, name).T):
            given = [getattr(shard, name).T[column] for shard in shards]
            size = max(np.abs(one).max() for one in given)
            wanted = mean_of(given, counts)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15 * size)
    assert np.isfinite(model.embedding_scores(rows)).all()


@pytest.mark.parametrize("name", sorted(SPACES))
def test_over_every_space(name):
    estimator, y = SPACES[name]
    rows = X[: len(y)]
    space = y if y.ndim == 1 else None
    shards, counts = sharded(estimator, rows, y, None if space is None else np.unique(y))
    model = average_fitted(shards)
    check_mean(model, shards, counts)
    V = model.space_.unpack(model.space_.pack(y))
    losses = [shard.loss_.value(shard._scores(rows), V) for shard in shards]
    mean = np.average(losses, axis=0, weights=counts)
    found = model.loss_.value(model._scores(rows), V)
    assert np.all(found <= mean + 1e-9 * (1.0 + mean))
    assert model.predict(rows).shape == y.shape and model.score(rows, y) <= 1.0


CONVEX = sorted(name for name in LEARNERS if "perceptron" not in name and name != "gaptron hinge")


@pytest.mark.parametrize("name", CONVEX)
def test_the_mean_is_never_worse_than_the_mean_of_the_losses(name, rng):
    shards, counts = sharded(LEARNERS[name], X, Y, ["a", "b", "c"])
    model, new = average_fitted(shards), 3.0 * rng.randn(300, P) * X.std(axis=0)
    V = model.space_.unpack(rng.randint(3, size=300))
    losses = [shard.loss_.value(shard._scores(new), V) for shard in shards]
    mean = np.average(losses, axis=0, weights=counts)
    found = model.loss_.value(model._scores(new), V)
    assert np.all(found <= mean + 1e-12 * (1.0 + mean))
    assert found.mean() < mean.mean()  # the shards differ


def test_label_sequences(rng):
    lengths = rng.randint(1, 6, size=30)
    lengths[0], lengths[-1] = 9, 1
    words = [rng.randn(m, 3) for m in lengths]
    labels = [np.where(word[:, 0] > 0, "x", "y") for word in words]
    for average in ("polynomial", False):
        estimator = DEFAULT("sequence", average=average)
        shards = [
            learned(estimator, words[i : i + 10], labels[i : i + 10], None, ["x", "y"])
            for i in (0, 10, 20)
        ]
        model = average_fitted(shards, weights=[1, 2, 4])
        names = ("coef_", "intercept_", "last_weights_", "transitions_", "start_", "end_")
        check_mean(model, shards, [1, 2, 4], names)
        assert model.loss_.sizes == (1, 9) and model.t_ == 30
        packed = model.space_.pack(labels)
        given = [shard._thetas(shard._read(words)) for shard in (*shards, model)]
        *losses, found = (model.loss_.value(theta, packed) for theta in given)
        mean = np.average(losses, axis=0, weights=[1, 2, 4])
        assert np.all(found <= mean + 1e-12 * (1.0 + mean))
        assert model.score(words, labels) > 0.7 and len(model.predict_marginals(words[:2])) == 2
        before = pickle.dumps(model)
        rounds = pickle.loads(before).resume(words, labels)
        with pytest.raises(RuntimeError, match="is a mean of others"):
            model.partial_fit(words, labels)
        with pytest.raises(RuntimeError, match="is a mean of others"):
            model.learn(rounds, [0])
        assert pickle.dumps(model) == before
        assert model.fit(words, labels).t_ >= 30


@pytest.mark.parametrize("optimizer", ["mixture", "parameter_free", "ogd"])
@pytest.mark.parametrize("missing", [False, True])
def test_label_sequences_of_every_optimizer(optimizer, missing, rng):
    words = [rng.randn(m, 3) * [1.0, 5.0, 0.1] + 2.0 for m in rng.randint(1, 5, size=30)]
    labels = [np.where(word[:, 0] > 2.0, "x", "y") for word in words]
    estimator = sk.OnlineStructuredPredictor("sequence", optimizer=optimizer)
    shards = [
        learned(estimator, words[i : i + 10], labels[i : i + 10], None, ["x", "y"])
        for i in (0, 10, 20)
    ]
    model = average_fitted(shards, weights=[0.3, 2.5, 7.0])
    names = ("coef_", "intercept_", "transitions_", "start_", "end_")
    check_mean(model, shards, [0.3, 2.5, 7.0], names)
    if missing:
        gaps = [np.where(np.arange(3) == 1, np.nan, word) for word in words]
        mean = np.average([shard._scale.statistics[0] for shard in shards], 0, [0.3, 2.5, 7.0])
        filled = [np.where(np.isnan(word), mean, word) for word in gaps]
        for found, wanted in zip(model.predict(gaps), model.predict(filled), strict=True):
            np.testing.assert_array_equal(found, wanted)


ITEMS = {
    "ranker": sk.ListwiseRanker(random_state=0),
    "ranker, one step": sk.ListwiseRanker(optimizer="parameter_free", average=False),
    "choices": sk.ItemStructuredPredictor(random_state=0),
    "choices, squared": sk.ItemStructuredPredictor(regularizer="squared", optimizer="ogd"),
}


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_items(name, rng):
    rounds = [rng.randn(m, 3) * [1.0, 5.0, 0.1] for m in (3, 4, 2, 6, 3, 5, 2, 4, 3)]
    best = [int(np.argmax(matrix @ [1.0, -0.1, 2.0])) for matrix in rounds]
    y = [np.eye(len(m))[k] for m, k in zip(rounds, best, strict=True)] if "rank" in name else best
    weight = rng.randint(1, 4, size=9) * 0.7
    shards = [
        clone(ITEMS[name]).partial_fit(rounds[i::3], y[i::3], sample_weight=weight[i::3])
        for i in range(3)
    ]
    model = average_fitted(shards)
    check_mean(model, shards, [weight[i::3].sum() for i in range(3)], ("coef_",))
    every = model.loss_.over_sizes([len(matrix) for matrix in rounds])
    assert model.t_ == 9 and model.loss_.sizes == every.sizes and model._model.loss is model.loss_
    theta = model._thetas(model._read(rounds)).values
    np.testing.assert_allclose(theta, np.concatenate(rounds) @ model.coef_.ravel(), atol=1e-12)
    before = pickle.dumps(model)
    with pytest.raises(RuntimeError, match="is a mean of others"):
        model.partial_fit(rounds, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("given", [{"kernel": "rbf"}, {"kernel": "additive"}])
def test_items_without_weights_of_features_have_no_mean(given, rng):
    rounds, y = rng.randn(30, 3, 2), list(np.eye(3)[rng.randint(3, size=30)])
    shard = sk.ListwiseRanker(random_state=0, **given).fit(list(rounds), y)
    with pytest.raises(ValueError, match="no weights of features to average"):
        average_fitted([shard, shard])


@pytest.mark.parametrize("way", ["partial_fit", "fit"])
def test_real_outputs(way):
    """Also after `fit`, which learns in units of y that differ from shard to shard."""
    at = parts(N)
    shards = [getattr(sk.PiSTOLRegressor(random_state=0), way)(X[i], REAL[i]) for i in at]
    model = average_fitted(shards)
    counts = [len(i) * shard.n_iter_ for i, shard in zip(at, shards, strict=True)]
    check_mean(model, shards, counts, ("coef_", "intercept_"))
    wanted = mean_of([shard.predict(X) for shard in shards], counts)
    np.testing.assert_allclose(model.predict(X), wanted, rtol=1e-11, atol=1e-11)
    assert model.t_ == sum(counts)


def test_last_weights_of_real_outputs():
    shards = [
        sk.PiSTOLRegressor(average=False, random_state=0).fit(X[i], REAL[i]) for i in parts(N)
    ]
    assert len({shard.space_.scale for shard in shards}) == SHARDS
    wanted = mean_of([shard.predict(X) for shard in shards], [1, 2, 3])
    found = average_fitted(shards, weights=[1, 2, 3]).predict(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_sparse_rows(rng):
    rows = sparse.csr_matrix(X * (rng.rand(N, P) < 0.5))
    shards, counts = sharded(DEFAULT(), rows, Y, ["a", "b", "c"])
    model = average_fitted(shards)
    check_mean(model, shards, counts)
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows.toarray()))


def test_single_precision():
    shards, counts = sharded(DEFAULT(), X.astype(np.float32), Y, ["a", "b", "c"])
    model = average_fitted(shards)
    assert model.coef_.dtype == np.float64
    wanted = mean_of([shard._weights() for shard in shards], counts)
    np.testing.assert_allclose(model._weights(), wanted, rtol=1e-12)


def test_means_of_means(rng):
    weight = rng.randint(1, 4, size=N).astype(float)
    shards, _ = sharded(DEFAULT(), X, Y, ["a", "b", "c"], weight)
    model = average_fitted([average_fitted(shards[:2]), shards[2]])
    wanted = average_fitted(shards)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-12)
    np.testing.assert_allclose(model._scale.statistics, wanted._scale.statistics, rtol=1e-12)
    assert model.t_ == wanted.t_ == N


def test_a_mean_of_one_is_the_one():
    shard = learned(DEFAULT(), X, Y, None, ["a", "b", "c"])
    model = average_fitted([shard])
    np.testing.assert_array_equal(model.coef_, shard.coef_)
    np.testing.assert_array_equal(model.predict_proba(X), shard.predict_proba(X))


class TestTheResult:
    shards, _ = sharded(DEFAULT(random_state=0), X, Y, ["a", "b", "c"])

    def test_shares_nothing_with_the_shards(self):
        before = pickle.dumps(self.shards)
        model = average_fitted(self.shards)
        model.coef_[:], model.average_weights_[:], model.last_weights_[:] = 0.0, 0.0, 0.0
        model.sample(X)
        assert np.abs(model.coef_).max() > 0.0 and pickle.dumps(self.shards) == before
        self.shards[0].sample(X)
        assert model.predict(X).shape == (N,)

    def test_is_copied_and_pickled(self):
        model = average_fitted(self.shards)
        other = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert clone(model).get_params() == clone(self.shards[0]).get_params()
        assert not hasattr(clone(model), "t_")

    def test_is_saved(self, tmp_path):
        pytest.importorskip("skops")
        from skstructured.checkpoints import load_checkpoint, save_checkpoint

        model = average_fitted(self.shards)
        save_checkpoint(model, tmp_path / "mean.skops")
        other = load_checkpoint(tmp_path / "mean.skops")
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert other.t_ == N

    def test_does_not_go_on(self):
        model = average_fitted(self.shards)
        before = pickle.dumps(model)
        rounds = model.resume(X, Y)
        for call in (
            lambda: model.partial_fit(X, Y),
            lambda: model.learn(rounds, [0]),
            lambda: model.play_and_learn(rounds, [0]),
            lambda: model.expected_losses(X[:1], np.eye(3)),
        ):
            with pytest.raises(RuntimeError, match="average them again"):
                call()
        assert pickle.dumps(model) == before
        with pytest.raises(sk.GuaranteeError, match="mean of several"):
            model.certificate()

    def test_starts_anew(self):
        model = average_fitted(self.shards).fit(X, Y)
        fresh = clone(self.shards[0]).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, fresh.coef_)
        model.partial_fit(X, Y)
        assert model.t_ == fresh.t_ + N


FITTED = learned(DEFAULT(), X, Y, None, ["a", "b", "c"])


def _other(X=X, y=Y, classes=("a", "b", "c"), kind=DEFAULT, **parameters):
    return learned(kind(**parameters), X, y, None, classes)


def _regressor():
    return sk.PiSTOLRegressor().partial_fit(X, REAL)


REFUSED = {
    "none": (lambda: [], ValueError, "must hold one fitted"),
    "no list": (lambda: FITTED, TypeError, "must be a list of fitted estimators"),
    "unfitted": (lambda: [FITTED, DEFAULT()], NotFittedError, r"estimators\[1\] is not fitted"),
    "class": (lambda: [FITTED, _other(kind=sk.MulticlassPerceptron)], ValueError, "of one class"),
    "pipeline": (
        lambda: [make_pipeline(StandardScaler(), FITTED)],
        TypeError,
        "is a Pipeline",
    ),
    "second order": (
        lambda: [_other(kind=sk.SecondOrderPerceptron)],
        TypeError,
        "second-order",
    ),
    "logistic": (lambda: [_other(kind=sk.FolkloreClassifier)], TypeError, "second-order"),
    "foreign": (lambda: [SGDClassifier().fit(X, Y)], TypeError, "must be a linear learner"),
    "bandit": (
        lambda: [sk.BanditronClassifier().partial_fit(X, Y, classes=["a", "b", "c"])],
        TypeError,
        "bandit",
    ),
    "kernel": (
        lambda: [_other(kind=sk.KernelStructuredPredictor, max_iter=1)],
        ValueError,
        "learners with kernels keep rows",
    ),
    "pistol with a kernel": (
        lambda: [_other(kind=sk.PiSTOLClassifier, kernel="rbf")],
        ValueError,
        "kernel='linear' has a mean",
    ),
    "features": (lambda: [FITTED, _other(X[:, :3])], ValueError, "number of features: 3 and 4"),
    "classes": (
        lambda: [FITTED, _other(classes=("a", "b", "c", "d"))],
        ValueError,
        r"the classes: \['a', 'b', 'c', 'd'\] and",
    ),
    "dtype": (lambda: [FITTED, _other(X.astype(np.float32))], ValueError, "dtype"),
    "rows": (
        lambda: [FITTED, _other(sparse.csr_matrix(X))],
        ValueError,
        "whether their first rows were sparse: True and False",
    ),
    "average": (lambda: [FITTED, _other(average=False)], ValueError, "differ in average: False"),
    "kind of average": (lambda: [FITTED, _other(average="uniform")], ValueError, "in average"),
    "intercept": (lambda: [FITTED, _other(fit_intercept=False)], ValueError, "intercept"),
    "standardize": (
        lambda: [FITTED, _other(standardize=False)],
        ValueError,
        "differ in standardize",
    ),
    "optimiser": (
        lambda: [_other(optimizer=PiSTOL(a=a)) for a in (0.1, 0.2)],
        ValueError,
        "differ in optimizer",
    ),
    "decoder": (lambda: [FITTED, _other(decoder="map")], ValueError, "differ in decoder"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_mean(name):
    make, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        average_fitted(make())


def test_names_of_features():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(X, columns=list(names)) for names in ("abcd", "abdc")]
    shards = [_other(frame) for frame in frames]
    with pytest.raises(ValueError, match=r"feature names: \['a', 'b', 'd', 'c'\]"):
        average_fitted(shards)
    model = average_fitted([shards[0], _other(frames[0])])
    assert list(model.feature_names_in_) == list("abcd")


def test_spaces_that_differ():
    y = (X[:, :2] > 0).astype(int)
    shards = [learned(predictor("hypercube"), X, given) for given in (y, y[:, :1])]
    with pytest.raises(ValueError, match="differ in the"):
        average_fitted(shards)
    costs = np.ones((3, 3)) - np.eye(3)
    uneven = costs * [[1.0], [2.0], [1.0]]
    shards = [_other(space=Simplex(cost_matrix=given)) for given in (costs, uneven)]
    with pytest.raises(ValueError, match="differ in space"):
        average_fitted(shards)


def test_spaces_that_are_equal():
    costs = np.ones((3, 3)) - np.eye(3)
    shards = [_other(space=Simplex(cost_matrix=costs.copy())) for _ in range(2)]
    assert average_fitted(shards).score(X, Y) == shards[0].score(X, Y)


@pytest.mark.parametrize("weights", [[1.0], 3, [1, 2, 3], [1, 0], [1, -1], [1, np.nan], [1, "2"]])
def test_weights_out_of_range(weights):
    with pytest.raises(ValueError, match="weights"):
        average_fitted([FITTED, FITTED], weights)


def test_a_shard_without_weight():
    idle = learned(DEFAULT(), X, Y, np.zeros(N), ["a", "b", "c"])
    with pytest.raises(ValueError, match="no row of positive weight"):
        average_fitted([FITTED, idle])
    model = average_fitted([FITTED, idle], weights=[1, 1])
    np.testing.assert_allclose(model.coef_, 0.5 * FITTED.coef_, rtol=1e-12)


def test_parameters_that_may_differ():
    shards = [
        DEFAULT(random_state=i, max_iter=i + 1, tol=0.1 * i, verbose=0, shuffle=bool(i)).fit(X, Y)
        for i in range(2)
    ]
    assert average_fitted(shards).t_ == sum(shard.t_ for shard in shards)


@pytest.mark.parametrize("average", ["uniform", "polynomial"])
def test_a_mean_of_means_is_the_mean_of_all(average):
    """Shares go by what each has counted, those of a mean by all of its shards."""
    shards, _ = sharded(DEFAULT(average=average, optimizer="ogd"), X, Y, ["a", "b", "c"])
    assert len({shard.t_ for shard in shards}) == len(shards)
    nested = average_fitted([average_fitted(shards[:2]), *shards[2:]])
    whole = average_fitted(shards)
    for name in ("coef_", "intercept_", "last_weights_"):
        np.testing.assert_allclose(getattr(nested, name), getattr(whole, name), rtol=1e-9)
