"""What a fitted estimator keeps: through errors, changed parameters, weights, odd storage."""

import joblib
import numpy as np
import pytest
from conftest import INTERPRETED
from fitted import FITTED
from learners import SHIPPED
from plain import bandit_gaptron, predictor, second_order
from scipy import sparse
from sklearn.base import clone
from streams import two_classes

import skstructured as sk
from skstructured.optimizers import GradientDescent, PiSTOL
from skstructured.optimizers.pistol import PistolState


@pytest.mark.parametrize("optimizer", ["parameter_free", "pistol", PiSTOL(per_coordinate=True)])
def test_weights_change_the_scale_of_gradients_alone(optimizer, rng):
    X, y = two_classes(rng)
    light, heavy = (
        np.abs(predictor(optimizer=optimizer).fit(X, y, np.full(len(X), w)).coef_).max()
        for w in (1.0, 100.0)
    )
    assert heavy <= 1.5 * light


def test_a_capped_exponent_warns_and_has_no_certificate():
    X, y = np.ones((300, 2)), np.ones(300, dtype=int)
    model = predictor(optimizer=PiSTOL(1e-6, per_coordinate=True))
    with pytest.warns(sk.GuaranteeWarning, match="cut off"):
        model.partial_fit(X, y, classes=[0, 1])
    model = predictor(optimizer=PiSTOL(a=2.25, feature_norm=2.0), fit_intercept=False)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.certificate().regret(1.0) > 0.0
    model.model_.state.vector[PistolState.CAPPED] = 1.0
    with pytest.raises(sk.GuaranteeError, match="clipped"):
        model.certificate()


@pytest.mark.parametrize("fitted", [True, False])
def test_the_intercept_is_that_of_the_fit(fitted, rng):
    X, y = two_classes(rng)
    for model in (
        predictor(fit_intercept=fitted),
        bandit_gaptron(radius=2.0, fit_intercept=fitted, random_state=0),
        second_order(fit_intercept=fitted),
    ):
        model.fit(X, y)
        before, intercept = model.decision_function(X), model.intercept_
        model.set_params(fit_intercept=not fitted)
        np.testing.assert_array_equal(model.decision_function(X), before)
        np.testing.assert_array_equal(model.intercept_, intercept)
        assert np.any(intercept != 0.0) == fitted
        model.partial_fit(X, y)
        assert model.coef_.shape[1] == X.shape[1]


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_interruption_leaves_the_blocks_learned(error, rng, monkeypatch):
    X, y = two_classes(rng, n=10_000)
    model = predictor(average="uniform").partial_fit(X[:50], y[:50], classes=[0, 1])
    whole, unpack, blocks = clone(model), sk.spaces.Simplex.unpack, []

    def interrupted(self, packed):
        blocks.append(len(packed))
        if len(blocks) == 2:
            raise error
        return unpack(self, packed)

    monkeypatch.setattr(sk.spaces.Simplex, "unpack", interrupted)
    with pytest.raises(error):
        model.partial_fit(X, y)
    monkeypatch.undo()
    learned = model.t_ - 50
    assert learned == blocks[0] < len(X)
    model.partial_fit(X[learned:], y[learned:])
    whole.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X, y)
    np.testing.assert_array_equal(model.average_weights_, whole.average_weights_)


def test_strided_csr_values_are_read(rng):
    X, y = two_classes(rng)
    Z = sparse.csr_matrix(X)
    expected = predictor().fit(Z, y).coef_
    Z.data = np.repeat(Z.data, 2)[::2]
    np.testing.assert_array_equal(predictor().fit(Z, y).coef_, expected)


#: Modes of a mapped file, the strictest first.
MODES = ["r", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("c", "r+"))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("learner", list(SHIPPED))
@pytest.mark.short("online-r")
def test_a_model_mapped_from_disk_goes_on_learning(learner, mode, rng, tmp_path):
    X, y = two_classes(rng)
    model = clone(SHIPPED[learner]).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    file = (tmp_path / "model").read_bytes()
    scores = [model.decision_function(X)]
    for each in (model, joblib.load(tmp_path / "model", mmap_mode=mode)):
        np.testing.assert_array_equal(each.decision_function(X), scores[0])
        each.partial_fit(X[:1], y[:1]).partial_fit(X, y)
        if hasattr(each, "update"):
            actions, propensities = each.choose(X[:5])
            each.update(X[:5], actions, actions == y[:5], propensities)
        scores.append(each.decision_function(X))
    np.testing.assert_array_equal(*scores[1:])
    assert (tmp_path / "model").read_bytes() == file and np.any(scores[1] != scores[0])


def test_degenerate_certificates(rng):
    fixed = predictor(optimizer=GradientDescent(eta=0.1), fit_intercept=False)
    result = sk.evaluation.progressive_validate(
        fixed, np.zeros((9, 2)), np.arange(9) % 2, play="randomized"
    )
    assert result.expected_target_loss.sum() <= result.regret_bound() < np.inf
    X, y = two_classes(rng)
    free = predictor(optimizer="parameter_free").fit(X, y)
    assert free.certificate().regret(np.inf) == np.inf


#: Learners of streams, which count rows.
COUNTING = [
    name
    for name, case in FITTED.items()
    if hasattr(case.estimator, "partial_fit") and not name.startswith(("pipe", "table", "pred"))
]


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.short("online", "kernel", "default", "mixed", "sequences", "search results")
def test_t_counts_rows_of_the_stream(name):
    """Those of `fit` once, however many passes it makes; the row to continue with."""
    case = FITTED[name]
    first = case.halves()[0]
    model = clone(case.estimator).fit(*first)
    assert model.t_ == len(first[1])
    case.go_on(model)
    assert model.t_ == len(case.y)
