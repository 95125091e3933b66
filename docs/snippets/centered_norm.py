"""A regularizer for labels, Ω(μ) = ½‖μ − ½‖²: a score of 0 means one half."""

import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.extend import ORACLES, Oracle, Regularizer, kernel
from skstructured.losses import FenchelYoung
from skstructured.spaces import Hypercube


class CenteredNorm(Regularizer):
    """Half the squared distance to the center of the cube."""


@kernel
def clip_around_half(theta, truth, gradient, params, work):
    """Write ŷ_j = min(1, max(0, ½ + θ_j)) minus the truth; return Ω*(θ) = <θ, ŷ> − ½‖ŷ − ½‖²."""
    conjugate = 0.0
    for j in range(theta.shape[0]):
        mean = min(1.0, max(0.0, 0.5 + theta[j]))
        conjugate += theta[j] * mean - 0.5 * (mean - 0.5) ** 2
        gradient[j] = mean - truth[j]
    return conjugate


def omega(mu, regularizer):
    """Return Ω(μ) for rows of means."""
    return 0.5 * ((mu - 0.5) ** 2).sum(axis=1)


# The pair (space, regularizer): compiled function, Ω, the norm of strong convexity, and its λ.
ORACLES[Hypercube, CenteredNorm] = Oracle(clip_around_half, omega, "l2", lambda dim: 1.0)

# First check the literal definition: ŷ maximizes <θ, μ> − Ω(μ), here over a grid.
loss = FenchelYoung(Hypercube().fit(np.zeros((1, 1))), CenteredNorm())
grid = np.linspace(0.0, 1.0, 1001)[:, None]
for theta in (-2.0, -0.3, 0.0, 0.25, 0.5, 7.0):
    best = grid[np.argmax(theta * grid[:, 0] - omega(grid, None))]
    assert np.abs(loss.mean([[theta]]) - best).max() < 1e-3

# Then learn; the constants above are in its regret bound.
rng = np.random.RandomState(0)
X = rng.randn(200, 5)
Y = (X @ rng.randn(5, 3) > 0).astype(int)
model = OnlineStructuredPredictor("hypercube", CenteredNorm(), random_state=0).fit(X, Y)
accuracy = model.score(X, Y)
