"""Gaps of conditional random fields are ‖∇‖²/(2α), also where features are tiny."""

import numpy as np
import pytest
from naive import crf as naive
from scipy.optimize import approx_fprime
from sklearn.base import clone

from skstructured import ConditionalRandomField
from skstructured._base.ragged import Ragged
from skstructured.estimators.crf._objective import ChainObjective, Layout

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LENGTHS = (2, 1, 3, 2)


def words(scale=1.0):
    """Sequences of two labels and their weights."""
    rng = np.random.RandomState(0)
    X = [scale * rng.randn(M, 2) for M in LENGTHS]
    return X, [np.arange(M) % 2 for M in LENGTHS], np.array([1.0, 3.0, 0.5, 2.0])


@pytest.mark.parametrize("alpha", [0.01, 0.5])
def test_the_gap_of_lbfgs_is_the_squared_gradient(alpha):
    X, y, weights = words()
    model = ConditionalRandomField(alpha=alpha, max_iter=2, tol=1e-9, standardize=False)
    model.fit(X, y, weights)
    parts = [model.coef_, model.intercept_, model.start_, model.end_, model.transitions_]
    shapes = [part.shape for part in parts]

    def literal(flat):
        return naive.sequence_objective(naive.split(flat, shapes), X, y, alpha, weights)

    slope = approx_fprime(np.concatenate([part.ravel() for part in parts]), literal, 1e-7)
    assert model.duality_gap_ == pytest.approx(slope @ slope / (2.0 * alpha), rel=1e-3)


@pytest.mark.parametrize("scale", [1e-4, 1e-3])
def test_the_gap_is_above_what_is_left_with_tiny_features(scale):
    """The loss is nearly linear then, and what is left nearly ‖∇‖²/(2α)."""
    X = scale * np.random.RandomState(0).randn(40, 2)
    y = (X[:, 0] > 0).astype(int)
    model = ConditionalRandomField("simplex", alpha=1e-3, fit_intercept=False, standardize=False)
    model.set_params(tol=1e-14)
    best = clone(model).fit(X, y).loss_curve_[-1]
    short = model.set_params(tol=1.0).fit(X, y)  # it stops at weights of 0
    assert 0.0 <= short.loss_curve_[-1] - best <= short.duality_gap_ + 1e-13
    assert short.loss_curve_[-1] - best > 0.9 * short.duality_gap_


@pytest.mark.parametrize("block", [1, 2, 5])
def test_blocks_of_sequences_equal_enumeration(block):
    X, y, weights = words()
    share, layout = weights / weights.sum(), Layout(2, 2, True, True)
    labels = Ragged.from_lengths(np.concatenate(y), LENGTHS)
    objective = ChainObjective(np.vstack(X), labels, share, 0.3, layout, block=block)
    assert len(objective.blocks) > 1

    def literal(flat):
        Theta = flat.reshape(layout.shape)
        return naive.sequence_objective([Theta[:2].T, *Theta[2:5], Theta[5:]], X, y, 0.3, share)

    Theta = np.random.RandomState(1).randn(*layout.shape)
    with objective:
        value, gradient = objective.value_and_gradient(Theta)
    assert value == pytest.approx(literal(Theta.ravel()), rel=1e-12)
    np.testing.assert_allclose(
        gradient.ravel(), approx_fprime(Theta.ravel(), literal, 1e-6), atol=1e-5
    )


def test_a_fit_that_fails_leaves_every_attribute():
    X, y, _ = words()
    model = ConditionalRandomField(alpha=0.1).fit(X, y)
    model.set_params(warm_start=True)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="warm_start=True goes on"):
        model.fit(X, [row + 5 for row in y])
    after = vars(model)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
