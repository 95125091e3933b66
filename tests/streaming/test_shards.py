"""Means of estimators of shards, against exact fractions; and what has no mean."""

import functools
import pickle

import numpy as np
import pytest
from learner_checks import has_argument
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
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.optimizers import CoordinatePiSTOL, GradientDescent, PiSTOL
from skstructured.spaces import Simplex

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
    for name in names + ("average_weights_",) * (model.model_.averaged and not real):
        wanted = mean_of([getattr(shard, name) for shard in shards], counts)
        scale = max(np.abs(getattr(shard, name)).max(initial=0.0) for shard in shards)
        found = getattr(model, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15 * scale)
        assert found.shape == getattr(shards[0], name).shape


def check_losses(model, shards, counts, V, rows):
    """Losses are convex: those of the mean are not above the mean of those of the shards."""
    *losses, found = (model.loss_.value(one._scores(rows), V) for one in (*shards, model))
    mean = np.average(losses, axis=0, weights=counts)
    assert np.all(found <= mean + 1e-9 * (1.0 + mean))


def check_ended(model, X, y):
    """A mean learns no further rows, and stays what it is."""
    before = pickle.dumps(model)
    rounds = pickle.loads(before).resume(X, y)
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.learn(rounds, [0]),
        lambda: model.play_and_learn(rounds, [0]),
    ):
        with pytest.raises(RuntimeError, match=r"Averaged models .* average them again"):
            call()
    assert pickle.dumps(model) == before


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


@pytest.mark.parametrize("optimizer", sorted(OPTIMISERS))
@pytest.mark.parametrize("odd", ["tiny", "huge", "mixed", "far", "constant"])
def test_rows_of_odd_sizes(odd, optimizer):
    rows = X.copy()
    if odd == "constant":  # in one shard, and in all
        rows[:, 0], rows[parts(N)[0], 1] = 3.0, 2.0
    elif odd == "far":
        rows = rows + 1e8
    else:
        rows = rows * {"tiny": 1e-90, "huge": 1e90, "mixed": [1e-90, 1.0, 1e60, 1e90]}[odd]
    shards, counts = sharded(DEFAULT(optimizer=OPTIMISERS[optimizer]), rows, Y, ["a", "b", "c"])
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
    check_losses(model, shards, counts, model.space_.unpack(model.space_.pack(y)), rows)
    assert model.predict(rows).shape == y.shape and model.score(rows, y) <= 1.0


@pytest.mark.parametrize(
    "given",
    [{"average": "polynomial"}, {"average": False}, {"optimizer": "ogd"}, {"optimizer": "mixture"}],
    ids=str,
)
def test_label_sequences(given, rng):
    lengths = rng.randint(1, 6, size=30)
    lengths[0], lengths[-1] = 9, 1
    words = [rng.randn(m, 3) * [1.0, 5.0, 0.1] + [0.0, 2.0, 2.0] for m in lengths]
    labels = [np.where(word[:, 0] > 0.0, "x", "y") for word in words]
    estimator, counts = DEFAULT("sequence", **given), [1.0, 2.0, 4.0]
    shards = [
        learned(estimator, words[i : i + 10], labels[i : i + 10], None, ["x", "y"])
        for i in (0, 10, 20)
    ]
    model = average_fitted(shards, weights=counts)
    check_mean(model, shards, counts, ("coef_", "intercept_", "transitions_", "start_", "end_"))
    if given != {"optimizer": "mixture"}:
        check_mean(model, shards, counts, ("last_weights_",))
    assert model.loss_.sizes == (1, 9) and model.t_ == 30
    check_losses(model, shards, counts, model.space_.pack(labels), words)
    assert model.score(words, labels) > 0.7 and len(model.predict_marginals(words[:2])) == 2
    gaps = [np.where(np.arange(3) == 1, np.nan, word) for word in words]
    mean = np.average([shard._scale.statistics[0] for shard in shards], 0, counts)
    filled = [np.where(np.isnan(word), mean, word) for word in gaps]
    for found, wanted in zip(model.predict(gaps), model.predict(filled), strict=True):
        np.testing.assert_array_equal(found, wanted)
    check_ended(model, words, labels)
    assert model.fit(words, labels).t_ >= 30


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
    assert model.t_ == 9 and model.loss_.sizes == every.sizes and model.model_.loss is model.loss_
    theta = model._thetas(model._read(rounds)).values
    np.testing.assert_allclose(theta, np.concatenate(rounds) @ model.coef_.ravel(), atol=1e-12)
    before = pickle.dumps(model)
    with pytest.raises(RuntimeError, match="Averaged models"):
        model.partial_fit(rounds, y)
    assert pickle.dumps(model) == before


def test_items_without_weights_of_features_have_no_mean(rng):
    rounds, y = rng.randn(30, 3, 2), list(np.eye(3)[rng.randint(3, size=30)])
    shard = sk.ListwiseRanker(kernel="additive", random_state=0).fit(list(rounds), y)
    with pytest.raises(ValueError, match="no weights of features to average"):
        average_fitted([shard, shard])


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_real_outputs(way, average):
    """Also after `fit`, which learns in units of y that differ from shard to shard."""
    new, at = sk.PiSTOLRegressor(average=average, random_state=0), parts(N)
    shards = [getattr(clone(new), way)(X[i], REAL[i]) for i in at]
    model = average_fitted(shards)
    counts = [len(i) * shard.n_iter_ for i, shard in zip(at, shards, strict=True)]
    check_mean(model, shards, counts, ("coef_", "intercept_"))
    lows, highs = zip(*(shard.feature_ranges_[2:4] for shard in shards), strict=True)
    assert np.array_equal(model.feature_ranges_[2:4], [np.min(lows, 0), np.max(highs, 0)])
    inside = X[((np.max(lows, axis=0) <= X) & (np.min(highs, axis=0) >= X)).all(axis=1)]
    wanted = mean_of([shard.predict(inside) for shard in shards], counts)
    np.testing.assert_allclose(model.predict(inside), wanted, rtol=1e-11, atol=1e-11)
    assert model.t_ == N and len(inside) > N / 2
    far = np.vstack([1e9 * X[:5], np.clip(1e9 * X[:5], *model.feature_ranges_[2:4])])
    assert np.array_equal(*np.split(model.predict(far), 2))
    assert way == "partial_fit" or len({shard.space_.scale for shard in shards}) == SHARDS


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

    def test_is_copied_pickled_and_saved(self, tmp_path):
        model = average_fitted(self.shards)
        save_checkpoint(model, tmp_path / "mean.skops")
        for other in (load_checkpoint(tmp_path / "mean.skops"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
            assert other.t_ == N
        assert clone(model).get_params() == clone(self.shards[0]).get_params()
        assert not hasattr(clone(model), "t_")

    def test_does_not_go_on(self):
        model = average_fitted(self.shards)
        check_ended(model, X, Y)
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


#: Another shard beside one of `FITTED`, and in what both differ.
DIFFERENT = {
    "class": ({"kind": sk.MulticlassPerceptron}, "of one class"),
    "features": ({"X": X[:, :3]}, "number of features: 3 and 4"),
    "classes": ({"classes": [*"abcd"]}, r"the classes: \['a', 'b', 'c', 'd'\] and"),
    "dtype": ({"X": X.astype(np.float32)}, "dtype"),
    "rows": ({"X": sparse.csr_matrix(X)}, "whether their first rows were sparse: True and False"),
    "average": ({"average": False}, "differ in average: False"),
    "kind of average": ({"average": "uniform"}, "in average"),
    "intercept": ({"fit_intercept": False}, "intercept"),
    "standardize": ({"standardize": False}, "differ in standardize"),
    "optimizer": ({"optimizer": PiSTOL(a=0.1)}, "differ in optimizer"),
    "decoder": ({"decoder": "map"}, "differ in decoder"),
}


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_shards_that_differ_have_no_mean(name):
    given, message = DIFFERENT[name]
    first = _other(optimizer=PiSTOL(a=0.2)) if name == "optimizer" else FITTED
    with pytest.raises(ValueError, match=message):
        average_fitted([first, _other(**given)])


PIPELINE = make_pipeline(StandardScaler(), FITTED)
REFUSED = [
    (lambda: [], ValueError, "must have one fitted"),
    (lambda: FITTED, TypeError, "must be a list of fitted estimators"),
    (lambda: [FITTED, DEFAULT()], NotFittedError, r"estimators\[1\] is not fitted"),
    (lambda: [PIPELINE], TypeError, "is a Pipeline"),
    (lambda: [_other(kind=sk.SecondOrderPerceptron)], TypeError, "second-order"),
    (lambda: [_other(kind=sk.FolkloreClassifier)], TypeError, "second-order"),
    (lambda: [SGDClassifier().fit(X, Y)], TypeError, "must be a linear learner"),
    (lambda: [_other(kind=sk.BanditronClassifier)], TypeError, "bandit"),
    (lambda: [_other(kind=sk.KernelStructuredPredictor)], ValueError, "with kernels keep rows"),
    (lambda: [_other(kind=sk.PiSTOLClassifier, kernel="rbf")], ValueError, "Use kernel='linear'"),
]


@pytest.mark.parametrize(("make", "kind", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_has_no_mean(make, kind, message):
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
    shards = [_other(space=Simplex(cost_matrix=c)) for c in (costs, uneven, costs.copy())]
    with pytest.raises(ValueError, match="differ in space"):
        average_fitted(shards[:2])
    assert average_fitted(shards[::2]).score(X, Y) == shards[0].score(X, Y)


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
        DEFAULT(random_state=i, max_iter=i + 1, verbose=0, shuffle=bool(i)).fit(X, Y)
        for i in range(2)
    ]
    assert average_fitted(shards).t_ == sum(shard.t_ for shard in shards)


@pytest.mark.parametrize("average", ["uniform", "polynomial"])
def test_a_mean_of_means_is_the_mean_of_all(average, rng):
    """Shares go by what each has counted, those of a mean by all of its shards."""
    weight, new = rng.randint(1, 4, size=N) * 1.0, DEFAULT(average=average, optimizer="ogd")
    shards, _ = sharded(new, X, Y, ["a", "b", "c"], weight)
    assert len({shard.t_ for shard in shards}) == len(shards)
    nested = average_fitted([average_fitted(shards[:2]), *shards[2:]])
    whole = average_fitted(shards)
    assert nested.t_ == whole.t_ == N
    np.testing.assert_allclose(nested._scale.statistics, whole._scale.statistics, rtol=1e-12)
    for name in ("coef_", "intercept_", "last_weights_"):
        np.testing.assert_allclose(getattr(nested, name), getattr(whole, name), rtol=1e-9)
