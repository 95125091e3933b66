"""Decoders of rankings and of surrogates with a gap: what is played, and with which chance."""

import naive
import numpy as np
import pytest

from skstructured.decoders import GapDecoder
from skstructured.losses import GapSurrogate
from skstructured.spaces import Simplex


@pytest.mark.parametrize("kind", ["logistic", "hinge", "smooth_hinge"])
def test_a_gap_is_spread_over_all_classes(kind, rng):
    """The best class has 1 − a, and each class a/K."""
    loss = GapSurrogate(kind=kind).over(Simplex().fit(np.arange(4)))
    theta, decoder = rng.randn(30, 4) * rng.rand(30, 1), GapDecoder()
    best, leave = decoder.mixture(theta, loss.mean(theta), loss)
    a = [naive.gap_surrogate(kind, row, 0)[2] for row in theta]
    np.testing.assert_array_equal(best, np.eye(4)[theta.argmax(axis=1)])
    np.testing.assert_allclose(leave, a, rtol=1e-12)
    np.testing.assert_array_equal(
        decoder.draw_mean(theta, loss.mean(theta)), np.full((30, 4), 0.25)
    )
