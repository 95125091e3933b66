"""What decoders are given: scores alone where these decide."""

import numpy as np
import pytest

from skstructured._learners.decoding import Decoding
from skstructured.decoders import MAP, Nearest
from skstructured.losses import FenchelYoung
from skstructured.spaces import Simplex


def decoding(theta, decoder):
    return Decoding(theta, FenchelYoung(Simplex().fit([0, 1, 2]), "shannon"), decoder)


def test_map_asks_for_no_means_and_others_do(monkeypatch, rng):
    theta = rng.randn(20, 3)
    wanted = decoding(theta, Nearest()).most_likely()
    asked = []
    mean = FenchelYoung.mean
    monkeypatch.setattr(FenchelYoung, "mean", lambda *given: asked.append(given) or mean(*given))
    np.testing.assert_array_equal(decoding(theta, MAP()).most_likely(), wanted)
    np.testing.assert_array_equal(wanted, theta.argmax(axis=1))
    assert not asked
    decoding(theta, Nearest()).most_likely()
    assert len(asked) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_an_error_for_all(bad, rng):
    theta = rng.randn(4, 3)
    theta[2, 1] = bad
    for decoder in (MAP(), Nearest()):
        with pytest.raises(ValueError, match="must not contain NaN or"):
            decoding(theta, decoder).most_likely()
    theta[2, 1] = -np.inf
    labels = decoding(theta, MAP()).most_likely()
    np.testing.assert_array_equal(labels, theta.argmax(axis=1))
