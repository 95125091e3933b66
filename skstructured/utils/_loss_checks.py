"""Checks of the properties of a custom loss that optimizers and decoders rely on."""

from copy import deepcopy
from functools import cached_property
from unittest import SkipTest

import numpy as np
from sklearn.base import clone

from skstructured._base.validation import check_kernels
from skstructured.extend.surrogate import Surrogate
from skstructured.spaces import resolve_space
from skstructured.utils._space_checks import SpaceTrial, assert_close, assert_in_unit, only_if


class LossTrial:
    """A loss over a fitted space, true vertices, and scores of many sizes."""

    def __init__(self, loss, space, outputs):
        self.subject, self.over = loss, SpaceTrial(resolve_space(space), outputs)

    @cached_property
    def loss(self):
        """The loss, as learners make it for their space."""
        return self.subject.over(self.over.space)

    def rounds(self):
        """Scores θ without ties (n, dim), and the true vertex of each."""
        V, rng = self.over.some(), np.random.RandomState(0)
        theta = rng.randn(10 * len(V), V.shape[1]) * np.exp(rng.randn(10 * len(V), 1))
        return theta, np.tile(V, (10, 1))


def check_kernel_arguments(trial):
    """The kernel has the five arguments with which loops call it."""
    check_kernels(trial.loss)


def check_gradient(trial):
    """Small steps in θ change the loss by <g, step>: g is the gradient, with its sign."""
    (theta, V), length = trial.rounds(), 1e-5
    step = length * np.random.RandomState(1).randn(*theta.shape)
    g = trial.loss.value_and_gradient(theta, V)[1]
    change = trial.loss.value(theta + step, V) - trial.loss.value(theta - step, V)
    expected = 2.0 * np.einsum("nd,nd->n", g, step)
    wrong = ~(np.abs(change - expected) <= 1e-3 * np.abs(change) + 1e-3 * length)
    turned = " Its sign is wrong: g points where the loss falls." * bool(change @ expected < 0.0)
    assert not wrong.any(), (
        f"a step in θ changes the loss by {change[wrong][0]:.3g}, but <g, step> is "
        f"{expected[wrong][0]:.3g}: g must be the gradient in θ.{turned}"
    )


def check_true_outputs_have_the_least_loss(trial):
    """Scores whose best output is y have a lower loss if y is true than if another output is."""
    V = trial.over.some()
    theta = V - 0.5 * (V.min(axis=0) + V.max(axis=0))
    best = (trial.over.space.argmax(theta) == V).all(axis=1)
    if not best.any():
        raise SkipTest("no scores were found that are best for an example")
    for score, v in zip(theta[best], V[best], strict=True):
        loss = trial.loss.value(np.tile(score, (len(V), 1)), V)
        true = (v == V).all(axis=1)
        least, other = loss[true].max(), loss[~true].min()
        assert least < other, (
            f"scores that are best for the true output have the loss {least:.3g}, and "
            f"{other:.3g} if another output is true"
        )


@only_if(lambda trial: type(trial.subject).lipschitz is not Surrogate.lipschitz)
def check_lipschitz(trial):
    """No gradient is longer than `lipschitz`."""
    theta, V = trial.rounds()
    g = np.vstack([trial.loss.value_and_gradient(c * theta, V)[1] for c in (0.1, 1.0, 100.0)])
    largest, bound = np.linalg.norm(g, axis=1).max(), trial.loss.lipschitz
    assert largest <= bound * (1.0 + 1e-9), f"lipschitz is {bound:.6g}, but ‖g‖ is {largest:.6g}"


def check_mean(trial):
    """Means are finite, one per row of scores, and probabilities if the loss declares it."""
    theta, _ = trial.rounds()
    mu = np.asarray(trial.loss.mean(theta))
    assert mu.shape == theta.shape, f"mean has the shape {mu.shape}, not {theta.shape}"
    assert np.isfinite(mu).all(), "mean is not finite"
    if trial.loss.has_probabilities and hasattr(trial.over.space, "mean_proba"):
        assert_in_unit(trial.over.space.mean_proba(mu), "mean_proba of the mean", 1e-9)


def check_copies_of_losses(trial):
    """The loss itself is unchanged by `over`; its clones and copies have the same values."""
    original, rounds = repr(trial.subject), trial.rounds()
    expected = trial.loss.value(*rounds)
    assert repr(trial.subject) == original, f"over changed the loss to {trial.subject!r}"
    copies = {"cloned": clone(trial.subject), "copied": deepcopy(trial.subject)}
    for operation, copy in copies.items():
        value = copy.over(trial.over.space).value(*rounds)
        assert_close(value, expected, f"the value of a loss that was {operation}")
