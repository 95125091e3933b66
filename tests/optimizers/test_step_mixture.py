"""The mixture of steps against its literal form, its bounds, and what users see of it."""

import math

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixture as literal
from pairs import LARGEST, PAIRS
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from spanning_trees import SpanningTrees
from streams import next_scores, weighted_vertices

from skstructured import GuaranteeError, OnlineStructuredPredictor
from skstructured._engine import mixing
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import ParameterFree, StepMixture
from skstructured.optimizers.step_mixture import overhead

STEPS, ADAPTIVE = (0.25, 2.0), (0.5, 3.0)
SHARES = ("thinning", 0.02)
KINDS = {"simplex-shannon": "classes", "hypercube-shannon": "labels"}


def model_of(name, space, average="polynomial", **given):
    mixture = StepMixture(**{"steps": STEPS, "adaptive": ADAPTIVE, "share": SHARES, **given})
    return predictor(
        space=clone(space), regularizer=PAIRS[name][1], optimizer=mixture, average=average
    )


def reference(name, model, X, V, weight, average, rates=SHARES):
    shape, loss = (V.shape[1], X.shape[1] + 1), model.loss_
    experts = [literal.RelativeStep(shape, eta) for eta in STEPS]
    experts += [literal.RootStep(shape, length) for length in ADAPTIVE]
    diameter = model.space_.geometry("l2").diameter
    experts.append(naive.ParameterFree(shape, diameter, 100.0))
    X = np.hstack([X, np.ones((len(X), 1))])
    kind = KINDS.get(name, "scores")
    return literal.play_mixture(experts, loss, X, V, weight, rates, kind, average)


def played(model, X, y, weight):
    """Scores of every round, learned in chunks."""
    model = clone(model)
    scores = []
    classes = getattr(model, "classes_", None)
    rounds = model.begin(X, y, classes)
    rounds = rounds._replace(weight=np.asarray(weight, dtype=float))
    model.learn_blocks(
        rounds, np.arange(X.shape[0]), lambda block, w: scores.append(block.theta), 2
    )
    return np.concatenate(scores), model


@pytest.mark.parametrize("average", ["polynomial", "uniform", False])
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_it_equals_the_literal_mixture(name, dim, average, rng):
    n = 30 if INTERPRETED or "k_subsets" in name else 150
    space, X, V, weight = weighted_vertices(name, dim, rng, n)
    weight = 4.0 * weight  # from 0 to 6: above 1 as well
    y = space.decode(V)
    for rows in (X, sparse.csr_array(X)):
        scores, model = played(model_of(name, space, average), rows, y, weight)
        wanted, losses, u = reference(name, model, X, V, weight, average)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(scores, wanted, atol=1e-9 * size)
        state = model.model_.state
        np.testing.assert_allclose(state.shares, u, atol=1e-8)
        np.testing.assert_allclose(model.expert_losses_, losses.sum(axis=0), rtol=1e-8, atol=1e-6)
        np.testing.assert_allclose(model.expert_weights_.sum(axis=-1), 1.0)


@pytest.mark.parametrize("name", ["simplex-shannon", "hypercube-shannon", "permutahedron-squared"])
def test_predictions_are_what_the_next_round_plays(name, rng):
    dim = PAIRS[name][2][-1]
    space, X, V, _ = weighted_vertices(name, dim, rng, 40)
    y = space.decode(V)
    model = model_of(name, space).set_params(standardize=False)
    classes = np.arange(dim) if name.startswith("simplex") else None
    model.partial_fit(X[:30], y[:30], classes=classes)
    predicted = model.embedding_scores(X[30:31])
    batch = model._with_outputs(model._read(X[30:31]), y[30:31])
    theta = model.model_.learn(batch, np.arange(1), np.ones(1), 2).theta
    np.testing.assert_allclose(predicted, theta, atol=1e-12)


@pytest.mark.parametrize("play", ["predict", "randomized"])
@pytest.mark.parametrize("store", [np.asarray, np.float32, sparse.csr_array])
def test_losses_without_a_compiled_kernel_are_mixed_too(store, play, rng):
    """Spanning trees, whose means are found by an oracle in Python."""
    space = SpanningTrees([(0, 1), (1, 2), (0, 2)], 3)
    X = rng.randn(20, 2)
    y = np.array([[1, 1, 0], [0, 1, 1]])[(X[:, 0] > 0).astype(int)]
    found = progressive_validate(OnlineStructuredPredictor(space), store(X), y, play=play)
    assert found.estimator.expert_names_[0] == "RelativeStep()"
    assert np.isfinite(found.surrogate_loss).all()
    assert found.expected_target_loss[10:].mean() < 0.75 * found.expected_target_loss[0]
    np.testing.assert_array_equal(found.estimator.predict(store(X[:2])).sum(axis=1), 2)


@pytest.mark.skipif(INTERPRETED, reason="kernels are Python there")
def test_experts_of_plain_python_are_refused():
    class Plain(ParameterFree):
        scale_kernel = staticmethod(lambda state, x_sq, weight: 1.0)

    with pytest.raises(ValueError, match="others must have compiled functions, got Plain"):
        OnlineStructuredPredictor(optimizer=StepMixture(others=(Plain(),))).fit(
            [[0.0], [1.0]], [0, 1]
        )


@pytest.mark.parametrize("given", [{}, {"average": False}, {"fit_intercept": False}])
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_a_few_rows_are_scored_as_many_are(name, dim, given, rng):
    """By the weights as they are stored; gaps too, and without averages."""
    n = 20 if INTERPRETED or "k_subsets" in name else 100
    space, X, V, _ = weighted_vertices(name, dim, rng, n)
    X[rng.rand(*X.shape) < 0.1] = np.nan
    classes = np.arange(dim) if name.startswith("simplex") else None
    for rows in (X, X.astype(np.float32)):
        model = model_of(name, space).set_params(standardize=True, **given)
        model.begin(rows, space.decode(V), classes)
        model.learn_blocks(model.resume(rows, space.decode(V)), np.arange(n))
        many = model.embedding_scores(rows)
        few = np.vstack([model.embedding_scores(rows[i : i + 3]) for i in range(0, n, 3)])
        np.testing.assert_allclose(few, many, atol=1e-12 * (1.0 + np.abs(many).max()))


def test_experts_are_told_by_name_weight_and_loss(rng):
    X, y = rng.randn(300, 2), rng.randint(2, size=300)
    model = OnlineStructuredPredictor(optimizer="mixture").partial_fit(X, y, classes=[0, 1])
    names, weights = model.expert_names_, model.expert_weights_
    assert names[0] == "RelativeStep()"
    assert names[6] == "ParameterFree()"
    assert names[13] == "average of ParameterFree()"
    assert weights.shape == model.expert_losses_.shape == (14,)
    assert weights.sum() == pytest.approx(1.0)
    alone = OnlineStructuredPredictor(optimizer="mixture", average=False)
    alone.partial_fit(X, y, classes=[0, 1])
    assert alone.expert_weights_.shape == (7,)
    with pytest.raises(AttributeError, match='with optimizer="mixture"'):
        _ = OnlineStructuredPredictor().fit(X, y).expert_weights_


def overhead_of(model):
    return model.certificate().constants["overhead"]


@pytest.mark.parametrize("heaviest", [1.0, 3.0])
@pytest.mark.parametrize("name", ["simplex-shannon", "hypercube-shannon", "simplex-squared"])
@pytest.mark.short(every=6)
def test_it_loses_no_more_than_any_expert_and_the_overhead(name, heaviest, rng):
    """The bound by its literal formula, and the losses below it, on outputs that are hostile."""
    dim, n = 3, 40 if INTERPRETED else 1500
    space, X, V, _ = weighted_vertices(name, dim, rng, n)
    vertices = space.vertices()
    model = model_of(name, space).set_params(random_state=0)
    model.partial_fit(
        X[:1], space.decode(V[:1]), classes=np.arange(dim) if "simp" in name else None
    )
    total, first = 0.0, model.expert_losses_.copy()
    outputs = [space.decode(v[None]) for v in vertices]
    for t in range(1, n):
        w = heaviest if t % 3 else 1.0
        theta = next_scores(model, X[t : t + 1], outputs[0], w)
        surrogate = model.loss_.value(np.repeat(theta, len(vertices), axis=0), vertices)
        worst = int(np.argmax(surrogate)) if t % 7 else 0
        total += w * float(surrogate[worst]) / model.loss_.scale_
        model.partial_fit(
            X[t : t + 1], space.decode(vertices[worst : worst + 1]), sample_weight=[w]
        )
    groups, rates, experts = model.model_.state.shares.shape
    if name in KINDS:
        wanted = groups * heaviest * (math.log(experts) + math.log(rates) + 3.8)
    else:
        gap = model.model_.state.totals[2]
        wanted = gap * (2.0 + 3.8 / math.log(experts * rates))
    assert overhead_of(model) == pytest.approx(wanted)
    assert total <= (model.expert_losses_ - first).min() + wanted
    assert total > (model.expert_losses_ - first).min() - wanted  # the sums are of the same losses


def test_one_heavy_round_after_many_light_ones_costs_no_more_than_the_bound():
    """Its weight is known before it is played: odds of a rate that is too large break the bound."""
    n, heavy = 100, 3000.0
    X, y = np.ones((n + 1, 1)), np.r_[np.zeros(n, dtype=int), 1]
    weight = np.r_[np.ones(n), heavy]
    slow_and_fast = StepMixture(steps=(1e-9, 16.0), adaptive=(), others=(), share="thinning")
    model = OnlineStructuredPredictor(
        optimizer=slow_and_fast, average=False, standardize=False, fit_intercept=False
    )
    scores, model = played(model, X, y, weight)
    rounds = model.loss_.value(scores, np.eye(2)[y]) / model.loss_.scale_
    assert overhead(model.model_.state) == pytest.approx(heavy * (math.log(2) + 3.8))
    assert weight @ rounds <= model.expert_losses_.min() + overhead(model.model_.state)


def test_the_certificate_is_that_of_the_bettor_and_the_overhead(rng):
    X, y = rng.randn(400, 3), rng.randint(3, size=400)
    mixture = OnlineStructuredPredictor(optimizer="mixture", standardize=False)
    alone = OnlineStructuredPredictor(optimizer="parameter_free", standardize=False)
    for model in (mixture, alone):
        model.partial_fit(X, y, classes=[0, 1, 2])
    found, k = mixture.certificate(), mixture.loss_.constants_of()
    assert found.constants["overhead"] == pytest.approx(math.log(14) + math.log(3) + 3.8)
    price = (1 - k.a) * k.c * found.constants["overhead"]
    for norm in (0.0, 1.0, 10.0):
        wanted = alone.certificate().regret(norm) + price
        assert found.regret(norm) == pytest.approx(wanted)
        assert found.bound(7.0, norm) == pytest.approx(7.0 + wanted)
    least = min(found.losses.values())
    assert found.bound_of_experts() == pytest.approx((1 - k.a) * k.c * least + price)
    result = progressive_validate(mixture, X, y, play="randomized")
    assert result.expected_target_loss.sum() < found.bound_of_experts()


def test_no_bound_is_stated_where_none_is_known(rng):
    X, y = rng.randn(30, 2), rng.randint(2, size=30)
    for given in ({"share": 0.01}, {"others": ()}):
        model = OnlineStructuredPredictor(optimizer=StepMixture(**given)).fit(X, y)
        with pytest.raises(GuaranteeError, match="thinning|No expert has a bound"):
            model.certificate().regret(1.0)


def turned(kind, rng, n=12_000, p=5, K=3):
    """Rows and classes whose weights are others from time to time."""
    X, W, y = rng.randn(n, p), 2.0 * rng.randn(K, p), np.empty(n, dtype=int)
    for t in range(n):
        if kind == "abrupt" and t % 3000 == 0:
            W = 2.0 * rng.randn(K, p)
        if kind == "gradual":
            W = W * math.sqrt(1 - 1e-3) + 2.0 * math.sqrt(1e-3) * rng.randn(K, p)
        y[t] = np.argmax(W @ X[t] + rng.gumbel(size=K))
    return X, y


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("kind", ["abrupt", "gradual", "still"])
@pytest.mark.short("abrupt")
def test_it_follows_what_changes_and_loses_nothing_where_nothing_does(kind, rng):
    X, y = turned(kind, rng)
    losses = {
        name: progressive_validate(OnlineStructuredPredictor(optimizer=name), X, y, play=play)
        for name, play in (("mixture", "randomized"), ("parameter_free", "predict"))
    }
    mixed, still = (losses[name].surrogate_loss.mean() for name in losses)
    assert mixed < (1.01 if kind == "still" else 0.9) * still


def test_predictions_after_a_change_are_those_of_who_leads(rng):
    X, y = turned("abrupt", rng, n=300 if INTERPRETED else 4000)
    model = OnlineStructuredPredictor(optimizer="mixture").partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    theta = model.embedding_scores(X[-50:])
    model.set_params(average=False)  # the last weights alone
    assert not np.allclose(theta, model.embedding_scores(X[-50:]))


@pytest.mark.parametrize("first", [1e-300, 1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("rates", [("thinning",), SHARES])
def test_evidence_of_a_round_that_weighs_far_more_is_kept(first, rates):
    """AdaHedge, whose rate falls with that round by as much; literal weights."""
    rng, many = np.random.RandomState(0), 4
    wanted, few = literal.HedgeWeights(rates, many), len(rates)
    u, sums = np.full((1, few, many), 1.0 / (few * many)), np.zeros(many)
    totals = np.array([0.0, 1.0, 0.0])
    for w in (first, first, 0.7, 3.0, 0.2):
        losses = rng.rand(many)
        mixing.learn_losses(u, StepMixture(share=rates).rates(), totals, w * losses, sums)
        wanted.learn(losses, w)
        np.testing.assert_allclose(u[0], wanted.u, rtol=1e-9, atol=1e-15)
        assert totals[mixing.MixtureTotal.GAP] == pytest.approx(wanted.gap, rel=1e-9)
    assert u.max() > 2.0 * u.min()


def test_all_experts_are_mixed_or_those_that_are_no_averages(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    model = OnlineStructuredPredictor(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    inner, batch, found = model.model_, model.read(X), []
    W = inner._stored_matrices(inner.state.parts(), True)
    for averaged in (True, False):
        shares = inner.shares(averaged)
        found.append(inner.scores(batch, averaged))
        for z, played in zip(inner.scale.transformed_matrix(batch.rows), found[-1], strict=True):
            theta, wanted, v = W @ np.r_[z, 1.0], np.empty(3), np.empty(len(W))
            mixing.mix(inner.state.kind, shares, theta, model.loss_.mean(theta), v, wanted)
            np.testing.assert_allclose(played, wanted, rtol=1e-9, atol=1e-9)
        assert shares[:, :, 7:].any() == averaged
    assert np.abs(found[0] - found[1]).max() > 1e-3
