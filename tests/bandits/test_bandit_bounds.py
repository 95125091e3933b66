"""Bounds of bandit Gaptron and of the reduction: printed formulas, what they cover, what not."""

import copy
import math
import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from plain import bandit_gaptron, predictor
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from streams import noisy_classes

from benchmarks import adversaries
from skstructured import BanditReduction, GuaranteeError, GuaranteeWarning
from skstructured.optimizers import ParameterFree, PiSTOL
from skstructured.spaces import Simplex

K = 3


def learner(**given):
    return bandit_gaptron(**{"radius": 0.5, "classes": range(K), "random_state": 0} | given)


def rows(rng, n=120):
    X = rng.randn(n, 2)
    return X, np.argmax(X @ rng.randn(2, K), axis=1)


def step(model, x, label, storage=np.asarray):
    """Choose for one row and learn it at once."""
    action, propensity = model.choose(x)
    return model.update(storage(x), action, action == label, propensity)


def test_rounds_chosen_and_learned_one_by_one_are_covered(rng):
    X, y = rows(rng, 30)
    model = learner()
    for i in range(10):
        step(model, X[i : i + 1], y[i])
    model.partial_fit(X[10:20], y[10:20])
    model = pickle.loads(pickle.dumps(model))
    for i in range(20, 30):
        model.predict(X)  # looking is free
        step(model, X[i : i + 1], y[i], sparse.csr_array)
    whole = learner().fit(X, y)
    assert model.regret_bound() == pytest.approx(whole.regret_bound())
    model.choose(X[:1])  # a choice whose reward is still to come
    assert model.regret_bound() == pytest.approx(whole.regret_bound())
    model.fit(X, y)
    step(model, X[:1], y[0])
    assert model.regret_bound() > 0


def chosen(model, X, random_state=None):
    """Have the first of the rows learned as it was chosen."""
    actions, propensities = model.choose(X, random_state)
    model.update(X[:1], actions[:1], [1], propensities[:1])


#: What voids the bound of a model that has chosen `a` with propensity `p` for the first row.
OTHERS = {
    "row": lambda model, X, y, a, p: model.update(X[1:2], a, [1], p),
    "action": lambda model, X, y, a, p: model.update(X[:1], (a + 1) % K, [1], p),
    "propensity": lambda model, X, y, a, p: model.update(X[:1], a, [1], p / 2),
    "twice": lambda model, X, y, a, p: [model.update(X[:1], a, [1], p) for _ in range(2)],
    "no choice": lambda model, X, y, a, p: model.fit(X, y).update(X[:1], a, [1], p),
    "seed": lambda model, X, y, a, p: chosen(model.fit(X, y), X[:1], 0),
    "delayed": lambda model, X, y, a, p: [model.choose(X[1:2]), model.update(X[:1], a, [1], p)],
    "of a batch": lambda model, X, y, a, p: chosen(model.fit(X, y), X),
    "left out": lambda model, X, y, a, p: step(model, X[1:2], y[1]),
    "left out, then simulated": lambda model, X, y, a, p: model.partial_fit(X[1:2], y[1:2]),
}


@pytest.mark.parametrize("change", OTHERS)
def test_rounds_of_others_have_no_bound(change, rng):
    """Who drops the choices that please leaves mistakes only; who learns late plays by chance."""
    X, y = rows(rng, 30)
    model = learner().partial_fit(X, y)
    action, propensity = model.choose(X[:1])
    assert model.regret_bound() > 0
    OTHERS[change](model, X, y, action, propensity)
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()
    assert model.fit(X, y).regret_bound() > 0


def test_a_refused_update_may_be_made_again(rng):
    X, y = rows(rng)
    model = learner().partial_fit(X, y)
    action, propensity = model.choose(X[:1])
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="rewards must be"):
        model.update(X[:1], action, [7], propensity)
    for m in (model, before):
        m.update(X[:1], action, [1], propensity)
        assert m.regret_bound() > 0


@pytest.mark.parametrize(
    "adversary",
    [
        "LabelNoise",
        "GreedyAdversary",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("Drifting", "Separable")),
    ],
)
@pytest.mark.parametrize(
    ("kind", "exploration"),
    [("logistic", None), ("hinge", None), ("logistic", 0.0), ("smooth_hinge", None)],
)
@pytest.mark.short(every=16)
def test_mean_losses_stay_below_the_bound(kind, exploration, adversary):
    n = 40 if INTERPRETED or adversary == "GreedyAdversary" else 200
    stream, space = getattr(adversaries, adversary)(n_rounds=n, random_state=0), Simplex()
    excess, U = [], None
    for seed in range(3 if INTERPRETED else 6):
        given = {"radius": 0.5, "horizon": n, "exploration": exploration, "random_state": seed}
        result = adversaries.play(bandit_gaptron(kind, **given), stream, space.fit(range(K)))
        U = result.best_comparator() if U is None else U
        excess.append(result.expected_target_loss.sum() - result.regret_bound(U))
    assert np.mean(excess) + 5.0 * np.std(excess) / math.sqrt(len(excess)) <= 0.0
    with pytest.raises(GuaranteeError, match="expectation"):
        result.regret_bound(delta=0.05)


def test_regret_bounds_are_the_printed_formulas(rng):
    X, y = noisy_classes(rng, 100, 3, K, 0.3)
    largest = math.sqrt((X**2).sum(axis=1).max() + 1.0)
    reach, T, few = K * largest * 0.7, 10_000, 100
    ln2 = math.log(2)
    assert 2 * reach / ln2 > 2 * math.sqrt(few / ln2)  # in few rounds, the other of the two counts
    for kind, horizon, exploration, wanted in (
        ("logistic", T, None, reach * max(2 * reach / ln2, 2 * math.sqrt(T / ln2))),
        ("logistic", None, None, 3 * reach * math.sqrt(100 / ln2)),
        ("logistic", T, 0.0, math.exp(2 * 0.7 * largest) * reach**2 / ln2),
        ("hinge", T, None, max(K * reach**2 / (K - 1), 2 * reach * math.sqrt(T / 2))),
        ("smooth_hinge", T, None, max(4 * reach**2, 2 * reach * math.sqrt(2 * T))),
        ("logistic", few, None, 2 * reach**2 / ln2),
        ("hinge", few, None, K * reach**2 / (K - 1)),
        ("smooth_hinge", few, None, 4 * reach**2),
    ):
        model = bandit_gaptron(
            kind, radius=0.7, horizon=horizon, exploration=exploration, random_state=0
        )
        assert model.fit(X, y).regret_bound() == pytest.approx(wanted)


def test_rounds_without_a_theorem_say_so(rng):
    X, y = rows(rng, 30)

    def learned(loss="logistic", **parameters):
        return bandit_gaptron(loss, radius=1.0, random_state=0, **parameters).fit(X, y)

    batched = learned()
    actions, propensities = batched.choose(X[:2])
    batched.update(X[:2], actions, [1, 0], propensities)
    with pytest.warns(GuaranteeWarning):
        beyond = learned(horizon=20)
    for model, message in (
        (learned("hinge"), "Give a horizon: no anytime bound for loss='hinge'"),
        (learned(exploration=0.2), "for the theory's exploration .or 0., got 0.2"),
        (learned(feature_norm=0.5), "exceeded feature_norm=0.5"),
        (batched, "learner's own choices"),
        (beyond, "30 rounds exceed horizon=20"),
    ):
        with pytest.raises(GuaranteeError, match=message):
            model.regret_bound()
    assert learned(feature_norm=50.0).regret_bound() > 0


@pytest.mark.parametrize("intercept", [False, True])
def test_updates_measure_rows_with_their_intercept(intercept, rng):
    X = rng.randn(5, 3)
    model = learner(fit_intercept=intercept)
    for x in X:
        step(model, x[None], 0)
    wanted = np.sqrt((X**2).sum(axis=1).max() + intercept)
    assert model.certificate().constants["X"] == pytest.approx(wanted, rel=1e-12)


def reduction(optimizer, **parameters):
    estimator = predictor(optimizer=optimizer)
    return BanditReduction(estimator, classes=range(K), random_state=0, **parameters)


@pytest.mark.parametrize(
    ("norm", "optimizer", "horizon"),
    [
        *((norm, "parameter_free", None) for norm in (0, 0.0, np.float32(0.5), np.int64(2))),
        (1.0, PiSTOL(a=2.5, feature_norm=10.0), 10**6),
    ],
)
def test_exploration_is_that_of_the_theorem(norm, optimizer, horizon, rng):
    X, y = rows(rng)
    model = reduction(optimizer, radius=norm, horizon=horizon).fit(X, y)
    regret = model.estimator_.certificate().regret(float(norm))
    assert regret > 0.0
    assert model._rho() == pytest.approx(min(1.0, math.sqrt(K * regret / (horizon or 121))))


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (predictor(optimizer="pistol"), r"needs a ≥ 2.25, got a=0.08"),
        (predictor(optimizer=PiSTOL(a=3.0)), "set feature_norm"),
        (predictor(decoder="nearest"), "use decoder=.randomized."),
        (SGDClassifier(loss="log_loss"), "has no attribute 'certificate'"),
    ],
)
def test_learners_without_a_bound_are_refused_before_the_first_round(estimator, reason, rng):
    X, y = rows(rng)
    model = BanditReduction(estimator, classes=range(K), random_state=0)
    for use in (lambda: model.choose(X[:1]), lambda: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=f"exploration must be given, .*{reason}"):
            use()
        assert not hasattr(model, "classes_")
    assert model.set_params(exploration=0.5).partial_fit(X, y).t_ == len(X)


def test_a_row_beyond_the_bound_is_named_and_changes_nothing(rng):
    X, y = rows(rng)
    model = reduction(PiSTOL(a=2.5, feature_norm=10.0)).partial_fit(X, y)
    model.update(100.0 * X[:1], y[:1], [1], [1 / K])  # ρ = 1: it is taught
    assert model.estimator_.t_ == model.n_taught_
    before, state = model.t_, model.random_state_.get_state()[1].copy()
    for use in (
        lambda: model.choose(X[:1]),
        lambda: model.update(X[:1], y[:1], [1], [0.5]),
    ):
        with pytest.raises(ValueError, match="exploration must be given, .*set feature_norm"):
            use()
        np.testing.assert_array_equal(model.random_state_.get_state()[1], state)
    assert (model.t_, model.n_taught_) == (before, model.estimator_.t_)


@pytest.mark.parametrize("size", [1e-96, 1e-75, 1e-30, 1e30, 1e75, 1e99])
def test_regrets_of_rows_of_any_size_are_found(size, rng):
    """A regret was sought for ever from 1e75 on."""
    X, y = rows(rng)
    model = predictor(optimizer=ParameterFree(), fit_intercept=False)
    certificate, unit = model.fit(X, y).certificate(), size / np.abs(X).max()
    scaled = model.fit(unit * X, y).certificate()
    for norm in (0.0, 1e-3, 1.0, 1e3):
        wanted = certificate.regret(norm)
        assert scaled.regret(norm / unit) == pytest.approx(wanted, rel=1e-6)
    assert scaled.regret(1.0) >= 0.0
    assert scaled.regret(1e300) > 0.0
    assert scaled.regret(math.inf) == math.inf
