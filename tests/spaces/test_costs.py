"""Cost matrices of spaces, and the decoder of the least expected cost."""

import warnings

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import chains
from pairs import PAIRS, loss_of, space_of
from sklearn.base import clone

from skstructured import (
    ConditionalRandomField,
    OnlineStructuredPredictor,
    StructuralSVM,
    StructuredPredictor,
)
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged
from skstructured._learners.predictions import Decoding
from skstructured.decoders import MinimumRisk, Nearest
from skstructured.evaluation import progressive_validate
from skstructured.losses import FenchelYoung
from skstructured.regularizers import Shannon
from skstructured.sequences._decoding import SequenceLoss
from skstructured.spaces import LabelSequence, OrdinalChain, Simplex, resolve_space
from skstructured.spaces.sequence import Chains
from skstructured.utils import space_checks

K = 4
STEPS = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
ANY = np.random.RandomState(0).gamma(0.3, size=(K, K)) * (STEPS > 0)
COSTS = {"none": None, "any": ANY, "squares": STEPS**2, "tiny": 1e-300 * ANY, "one": STEPS == 3}


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("kind", [Simplex, OrdinalChain])
class TestClasses:
    @pytest.mark.parametrize("regularizer", ["shannon", "squared"])
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
    def test_risk_is_the_least_of_all(self, kind, costs, regularizer, scale, rng):
        space = kind(cost_matrix=costs).fit([3, 1, 2, 0])
        loss = FenchelYoung(space, regularizer)
        theta = scale * rng.randn(50, space.dim_)
        mu = loss.mean(theta)
        y, p = MinimumRisk().mixture(theta, mu, loss)
        A = costs
        if costs is None:
            A = STEPS if kind is OrdinalChain else STEPS > 0
        A = A / A.max()
        risks = space.vertex_proba(mu) @ A  # of predicted classes
        chosen = risks[np.arange(50), np.argmax(space.vertex_proba(y), axis=1)]
        np.testing.assert_allclose(chosen, risks.min(axis=1), atol=1e-12)
        np.testing.assert_allclose(MinimumRisk().most_likely(theta, mu, loss), y)
        every = space.vertices()
        exact = sum(
            space.expected_loss(y, np.broadcast_to(v, y.shape)) * space.vertex_proba(mu)[:, j]
            for j, v in enumerate(every)
        )
        np.testing.assert_allclose(exact, risks.min(axis=1), atol=1e-12)
        assert not p.any()

    def test_space_keeps_its_promises(self, kind, costs):
        for _, check in space_checks(kind(cost_matrix=costs), [3, 1, 2, 0]):
            check()


@pytest.mark.parametrize(
    "name", ["hypercube-shannon", "birkhoff-shannon", "permutahedron-squared", "k_subsets-squared"]
)
def test_other_spaces_take_the_nearest_vertex_whose_risk_is_the_least(name, rng):
    dim = PAIRS[name][2][-1]
    loss, space, theta = loss_of(name, dim), space_of(name, dim), rng.randn(20, dim)
    mu = loss.mean(theta)
    found = MinimumRisk().mixture(theta, mu, loss)[0]
    np.testing.assert_array_equal(found, Nearest().mixture(theta, mu, loss)[0])
    risks = [space.expected_loss(mu, np.repeat(v[None], 20, axis=0)) for v in space.vertices()]
    np.testing.assert_allclose(space.expected_loss(mu, found), np.min(risks, axis=0), atol=1e-12)


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_risk_is_the_least_of_all_sequences(costs, scale, rng):
    space = LabelSequence(costs).fit([[3, 1, 2, 0]])
    loss = SequenceLoss(space, Shannon(), 1.0)
    lengths = [1, 3, 2]
    codes = Ragged.from_lengths(np.zeros(6), lengths)
    unary, pair = scale * rng.randn(6, K), scale * rng.randn(1, K, K)
    found = Decoding(Chains(unary, codes.offsets, pair), loss, MinimumRisk()).anchor()
    A = (STEPS > 0) * 1.0 if costs is None else costs / np.max(costs)
    parts = Ragged(unary, codes.offsets).unstack()
    for M, rows, labels in zip(lengths, parts, found.unstack(), strict=True):
        every, scores = chains.all_scores(rows, pair)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        losses = A[every[None], every[:, None]].sum(axis=2) / M  # of the predicted, and the true
        risks = losses @ p
        mine = np.flatnonzero((every == labels).all(axis=1))[0]
        assert risks[mine] == pytest.approx(risks.min(), abs=1e-12)


def data(rng):
    y = rng.randint(3, size=200)
    return np.eye(3)[y] + rng.randn(200, 3), y


class TestLearners:
    costs = np.array([[0.0, 1.0, 1.0], [8.0, 0.0, 8.0], [1.0, 1.0, 0.0]])

    @pytest.mark.parametrize("space", ["simplex", "ordinal"])
    def test_costs_of_the_learner_are_those_of_the_space(self, space, rng):
        (X, y), costs, before = data(rng), self.costs, self.costs.copy()
        same, kind = {"decoder": "min_risk", "random_state": 0}, type(resolve_space(space))
        model = ConditionalRandomField(space, cost_matrix=costs, **same).fit(X, y)
        twin = ConditionalRandomField(kind(cost_matrix=costs), **same).fit(X, y)
        plain = ConditionalRandomField(space, **same).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), twin.predict(X))
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        mean = costs[y, model.predict(X)].mean() / 8.0
        assert model.score(X, y) == twin.score(X, y) == pytest.approx(1.0 - mean)
        assert mean < costs[y, plain.predict(X)].mean() / 8.0 - 0.01
        np.testing.assert_array_equal(costs, before)
        again = model.score(X, y)
        with pytest.raises(ValueError, match="must be 0 on its diagonal, got 1 at .0, 0."):
            model.set_params(cost_matrix=np.ones((3, 3))).fit(X, y)
        assert model.score(X, y) == again

    def test_online_rounds_are_judged_by_costs(self, rng):
        X, y = data(rng)
        model = OnlineStructuredPredictor(Simplex(self.costs), decoder="min_risk", random_state=0)
        result = progressive_validate(model, X, y, play="randomized")
        with pytest.warns(UserWarning, match="ignores the cost_matrix of Simplex"):
            near = progressive_validate(
                clone(model).set_params(decoder="nearest"), X, y, play="randomized"
            )
        assert set(np.unique(result.target_loss)) <= {0.0, 0.125, 1.0}
        assert result.target_loss.sum() < near.target_loss.sum()
        np.testing.assert_array_equal(result.expected_target_loss, result.target_loss)
        with pytest.raises(GuaranteeError, match="No regret bound for the decoder MinimumRisk"):
            result.estimator.certificate()
        bound = clone(model).set_params(decoder="randomized", average=False, optimizer="ogd")
        played = progressive_validate(bound.set_params(standardize=False), X, y, play="randomized")
        limit = played.estimator.certificate().bound(played.surrogate_loss.sum(), 10.0)
        assert played.expected_target_loss.sum() <= limit

    def test_margins_take_the_costs_of_the_space(self, rng):
        (X, y), costs = data(rng), self.costs.tolist()
        one = StructuralSVM(cost_matrix=costs, random_state=0).fit(X, y)
        two = StructuralSVM(Simplex(costs), random_state=0).fit(X, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        with pytest.raises(ValueError, match="cost_matrix was given twice"):
            StructuralSVM(Simplex(costs), cost_matrix=costs).fit(X, y)

        with pytest.raises(ValueError, match="cost_matrix was given twice"):
            ConditionalRandomField(Simplex(costs), cost_matrix=costs).fit(X, y)
        with pytest.raises(
            ValueError, match="cost_matrix is only supported for .*; got the space Hypercube"
        ):
            ConditionalRandomField("hypercube", cost_matrix=costs).fit(X, np.eye(3)[y])


@pytest.mark.parametrize("decoder", ["randomized", "sampled"])
@pytest.mark.parametrize("space", [Simplex, OrdinalChain])
def test_costs_given_are_used_by_decoders_that_draw(space, decoder, rng):
    X, y = data(rng)
    costs = np.array([[0.0, 1.0, 1.0], [20.0, 0.0, 1.0], [20.0, 1.0, 0.0]])
    model = OnlineStructuredPredictor(space(cost_matrix=costs), decoder=decoder, random_state=0)
    answers = model.fit(X, y).predict(X)
    score = model.score(X, y)
    assert score == pytest.approx(1.0 - np.mean(costs[y, answers]) / 20.0)
    np.testing.assert_array_equal(answers, model.set_params(decoder="min_risk").predict(X))
    assert score > model.set_params(decoder="nearest").score(X, y) + 0.02


@pytest.mark.skipif(INTERPRETED, reason="a minute as Python")
@pytest.mark.parametrize(
    ("kind", "decoder"),
    [
        (OnlineStructuredPredictor, "nearest"),
        (OnlineStructuredPredictor, "map"),
        (StructuredPredictor, "nearest"),
    ],
)
def test_decoders_without_costs_warn(kind, decoder, rng):
    (X, y), costs = data(rng), [[0, 9, 1], [1, 0, 1], [1, 1, 0]]
    model = kind(OrdinalChain(cost_matrix=costs), decoder=decoder, random_state=0)
    with pytest.warns(
        UserWarning, match='ignores the cost_matrix of OrdinalChain. Set decoder="min_risk"'
    ):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(decoder="min_risk").fit(X, y)
        model.set_params(space=OrdinalChain(), decoder="nearest").fit(X, y)


@pytest.mark.parametrize("space", ["simplex", "sequence"])
def test_costs_given_are_used_by_the_defaults(space, rng):
    y = rng.randint(2, size=200)
    X, costs = y[:, None] + rng.randn(200, 1), [[0, 1], [10, 0]]
    kind = {"simplex": Simplex, "sequence": LabelSequence}[space]
    if space == "sequence":
        X, y = X.reshape(40, 5, 1), y.reshape(40, 5)
    for model in (
        ConditionalRandomField(space, cost_matrix=costs, alpha=0.01),
        ConditionalRandomField(kind(costs), alpha=0.01),
        OnlineStructuredPredictor(kind(costs), random_state=0),
    ):
        answers, score = model.fit(list(X), list(y)).predict(list(X)), model.score(X, y)
        loss = np.where(answers == y, 0.0, np.where(y == 1, 1.0, 0.1))
        assert score == pytest.approx(1.0 - loss.mean())
        loss = loss if space == "simplex" else loss.mean(axis=1)
        np.testing.assert_array_equal(answers, model.set_params(decoder="min_risk").predict(X))
        np.testing.assert_array_equal(answers, model.sample(list(X), 0))
        np.testing.assert_allclose(model.expected_target_loss(list(X), list(y)), loss)
        assert score > model.set_params(decoder="nearest").score(X, y) + 0.02
    plain = ConditionalRandomField(space, alpha=0.01).fit(list(X), list(y)).predict(list(X))
    near = ConditionalRandomField(space, decoder="nearest", alpha=0.01).fit(list(X), list(y))
    np.testing.assert_array_equal(plain, near.predict(list(X)))
