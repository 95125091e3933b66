"""Several learners of probabilities, mixed by how well each has done."""

import numpy as np

from skstructured._base.validation import check_size
from skstructured._engine.state import Learned
from skstructured.guarantees.certificates import Certificate
from skstructured.spaces.simplex import log_softmax


def grid_of(B):
    """The values of `radius`, a number or a sequence of them."""
    if np.ndim(B) == 0:
        return (check_size("radius", B),)
    values = tuple(check_size("radius", value) for value in B)
    if not values:
        raise ValueError(
            f"radius must be a positive number or a non-empty sequence of them, got {B!r}."
        )
    return values


class MixtureCertificate(Certificate):
    """The regret of a mixture: that of its best part whose ball has U, plus the mixture's own.

    Parameters
    ----------
    parts : list of Certificate
        Those of the parts, in one unit.
    price : float
        ln of how many, times the largest weight of a round or 1, in the same unit.
    """

    def __init__(self, parts, price):
        radius = max(part.radius for part in parts)
        constants = {"parts": len(parts), "radius": radius, "rounds": parts[0].constants["rounds"]}
        super().__init__("Theorem 3.3, mixed", None, None, radius, constants, parts[0].unit)
        self.parts, self.price = parts, price

    def regret(self, norm):
        """The regret against a comparator with ‖U‖_F = norm, in the largest ball."""
        self.check_inside(norm)
        allowed = [part for part in self.parts if norm <= part.radius * (1 + 1e-9)]
        return self.price + min(part.regret(norm) for part in allowed)


class Mixture(Learned):
    r"""The mixture Σ_i v_i p_i of learners, by their losses with weights w (Vovk 1998).

    In round t, with m the largest weight up to it, or 1 where that is less,

    .. math:: v_i ∝ \exp\Big(-\frac1m \sum_{s<t} w_s ℓ_s(p_i)\Big).

    Its loss is at most that of the best learner plus m ln N, N how many they are: with rate 1/m,
    ``exp(−w ℓ(p)/m)`` is a power of p that is concave, so that a round costs at most what
    ``−m ln mean_i exp(−L_i/m)`` grows by, and that only falls when m grows.

    Parameters
    ----------
    parts : sequence
        Objects that `LogisticLearner` learns with.
    """

    def __init__(self, parts):
        self.parts = tuple(parts)
        self.losses, self.heaviest = np.zeros(len(self.parts)), 1.0

    @property
    def structure(self):
        """What the parts keep of their matrices."""
        return self.parts[0].structure

    @property
    def residual(self):
        """The largest residual of a part."""
        return max(part.residual for part in self.parts)

    @property
    def limits(self):
        """How large rounds may be for every part."""
        return [limit for part in self.parts for limit in part.limits]

    @property
    def products(self):
        """About how many products a round takes."""
        return sum(part.products for part in self.parts)

    def learn(self, X, truth, weight):
        """Play and learn rows; the logarithms (n, K) of the mixture played."""
        logs = np.array([log_softmax(part.learn(X, truth, weight)) for part in self.parts])
        losses = np.maximum(-weight[:, None] * np.einsum("ink,nk->ni", logs, truth), 0.0)
        total = np.cumsum(np.vstack([self.losses, losses]), axis=0)
        heaviest = np.maximum.accumulate(np.r_[self.heaviest, weight])
        self.losses, self.heaviest = total[-1], float(heaviest[-1])
        return _mixed(logs, total[:-1] / heaviest[1:, None])

    def logits(self, X):
        """Logarithms (n, K) of the mixture; nothing is learned."""
        logs = np.array([log_softmax(part.logits(X)) for part in self.parts])
        return _mixed(logs, np.repeat(self.losses[None] / self.heaviest, len(X), axis=0))


def _mixed(logs, losses):
    """Log Σ_i v_i exp(logs_i) with v ∝ exp(−losses), (n, K)."""
    shares = log_softmax(-losses).T[:, :, None] + logs
    top = shares.max(axis=0)
    return top + np.log(np.exp(shares - top).sum(axis=0))
