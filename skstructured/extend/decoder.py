"""The interface of decoders."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.component import Component
from skstructured._base.validation import check_mixture, check_vertices
from skstructured.extend._types import Floats, Loss, Seed
from skstructured.extend.surrogate import Surrogate


class Decoder(Component, ABC):
    """Map scores to outputs: with probability p a draw with mean μ, else y*; the base class.

    Every decoder is this mixture, so a custom one only has to define `mixture`. Draws, exact
    probabilities and exact expected losses follow from it.

    See Also
    --------
    skstructured.decoders.Randomized, skstructured.decoders.Nearest : Decoders of this kind.
    Surrogate, OutputSpace : Other components.
    """

    #: Whether E[L(ψ(θ); y)] ≤ (1 − a) S(θ; y) holds for this decoder (Lemma 3.1).
    exploits_gap = False

    #: Whether costs of the space do not enter what it answers.
    ignores_costs = False

    #: Whether `most_likely` reads finite scores alone, and may be given None for their means.
    by_scores = False

    def keeps_bound(self, loss: Loss) -> bool:
        """Whether a theorem bounds the losses of the decoder if `loss` is learned."""
        return self.exploits_gap and not isinstance(loss, Surrogate)

    @abstractmethod
    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """Vertices y* (n, dim) and probabilities p (n,) of leaving them for a draw with mean μ."""

    def _checked(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """`mixture`; that of a custom decoder is checked."""
        mixture = self.mixture(theta, mu, loss)
        if type(self).mixture.__module__.startswith("skstructured."):
            return mixture
        return check_mixture(self, mixture, loss.space, np.shape(theta))

    #: The kind of space that it is for; None for every space.
    only_over: type | None = None

    def check_space(self, loss: Loss) -> None:
        """Raise a ValueError if the decoder does not support the space of the loss."""
        kind = self.only_over
        if kind is not None and not isinstance(loss.space, kind):
            rule = f"is only supported for {kind.__name__}; got the space"
            raise ValueError(f"decoder={type(self).__name__}() {rule} {type(loss.space).__name__}.")

    def draw_mean(self, theta: Floats, mu: Floats) -> Floats:
        """Mean (n, dim) of the draws that leave y*: ŷ_Ω(θ), unless a decoder overrides it."""
        return mu

    def most_likely(self, theta: Floats, mu: Floats, loss: Loss) -> Floats:
        """The deterministic output y* (n, dim)."""
        return self._checked(theta, mu, loss)[0]

    def decode(self, theta: Floats, mu: Floats, loss: Loss, random_state: Seed = None) -> Floats:
        """Draw an output for each row.

        Parameters
        ----------
        theta, mu : ndarray of shape (n, dim)
            Scores and regularized predictions ŷ_Ω(θ).
        loss : FenchelYoung
            The loss over a fitted space.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n, dim)
            Vertices.
        """
        rng = check_random_state(random_state)
        anchor, p = self._checked(theta, mu, loss)
        leave = rng.random_sample(len(p)) < p
        drawn = anchor.copy()
        if leave.any():
            means = self.draw_mean(theta, mu)[leave]
            sampled = loss.space.sample(means, rng)
            drawn[leave] = check_vertices(loss.space, "sample", sampled, means.shape)
        return drawn

    def expected_vertex(self, theta: Floats, mu: Floats, loss: Loss) -> Floats:
        """E[ψ(θ)] = (1 − p) y* + p μ, of shape (n, dim)."""
        anchor, p = self._checked(theta, mu, loss)
        return anchor + p[:, None] * (self.draw_mean(theta, mu) - anchor)

    def expected_loss(self, theta: Floats, mu: Floats, V: Floats, loss: Loss) -> Floats:
        """Exact E[L(ψ(θ); y)] = (1 − p) L(y*; y) + p L(μ; y), of shape (n,)."""
        anchor, p = self._checked(theta, mu, loss)
        stay, leave = loss.space.expected_loss(anchor, V), self.draw_mean(theta, mu)
        return (1 - p) * stay + p * loss.space.expected_loss(leave, V)
