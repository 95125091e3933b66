"""The mixture of steps against its literal form, its bounds, and what users see of it."""

import math
import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixture as literal
from pairs import LARGEST, PAIRS
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from streams import weighted_vertices

from skstructured import GuaranteeError, KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured.optimizers import AdaGrad, StepMixture

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
    experts.append(literal.Other(naive.ParameterFree(shape, diameter, 100.0)))
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
    model._learn(rounds, np.arange(X.shape[0]), lambda block, w: scores.append(block.theta), 2)
    return np.concatenate(scores), model


@pytest.mark.parametrize("average", ["polynomial", "uniform", False])
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_it_equals_the_literal_mixture(name, dim, average, rng):
    n = 30 if INTERPRETED or "k_subsets" in name else 400
    space, X, V, weight = weighted_vertices(name, dim, rng, n)
    weight = 4.0 * weight  # from 0 to 6: above 1 as well
    y = space.decode(V)
    for rows in (X, sparse.csr_array(X)):
        scores, model = played(model_of(name, space, average), rows, y, weight)
        wanted, losses, u = reference(name, model, X, V, weight, average)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(scores, wanted, atol=1e-9 * size)
        state = model._model.state
        np.testing.assert_allclose(state.shares, u, atol=1e-8)
        np.testing.assert_allclose(
            model.expert_losses_, losses.sum(axis=0), rtol=1e-8, atol=1e-6
        )
        np.testing.assert_allclose(model.expert_weights_.sum(axis=-1), 1.0)


@pytest.mark.parametrize("name", ["simplex-shannon", "hypercube-shannon", "permutahedron-squared"])
def test_predictions_are_what_the_next_round_plays(name, rng):
    dim = PAIRS[name][2][-1]
    space, X, V, weight = weighted_vertices(name, dim, rng, 40)
    y = space.decode(V)
    model = model_of(name, space).set_params(standardize=False)
    classes = np.arange(dim) if name.startswith("simplex") else None
    model.partial_fit(X[:30], y[:30], classes=classes)
    predicted = model.embedding_scores(X[30:31])
    batch = model._with_outputs(model._read(X[30:31]), y[30:31])
    theta = model._model.learn(batch, np.arange(1), np.ones(1), 2, len).theta
    np.testing.assert_allclose(predicted, theta, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": (0.0,)}, "steps must be a positive number, got 0.0"),
        ({"adaptive": (1.0, -1.0)}, "adaptive must be a positive number, got -1.0"),
        ({"share": 1.0}, r'share must be "thinning" or within \(0, 1\), got 1.0'),
        ({"share": ()}, 'share must be "thinning", a number or several of them, got none'),
        ({"share": "often"}, "share must be"),
        ({"averages": 2}, "averages must be"),
        ({"others": (AdaGrad(),)}, "others must be optimisers of one scale and step, got AdaGrad"),
        ({"others": ("adagrad",)}, "others"),
        ({"steps": (), "adaptive": (), "others": ()}, "must have one expert at least"),
    ],
)
def test_bad_parameters_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        OnlineStructuredPredictor(optimizer=StepMixture(**given)).fit([[0.0], [1.0]], [0, 1])


def test_kernels_and_sequences_refuse_it(rng):
    X, y = rng.randn(20, 2), rng.randint(2, size=20)
    with pytest.raises(ValueError, match="kernels and sequences have no loop for it"):
        KernelStructuredPredictor(optimizer="mixture").fit(X, y)
    with pytest.raises(ValueError, match="kernels and sequences have no loop for it"):
        OnlineStructuredPredictor("sequence", optimizer="mixture").fit([X], [y])


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
    with pytest.raises(AttributeError, match='set where optimizer="mixture"'):
        OnlineStructuredPredictor().fit(X, y).expert_weights_
