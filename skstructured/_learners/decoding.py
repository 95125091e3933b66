"""How a decoder turns scores into outputs, with exact expectations."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import check_same_lengths
from skstructured._base.validation import check_lengths, weighted_mean
from skstructured.extend._types import Floats, Given, Outputs, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Losses
from skstructured.extend.surrogate import Surrogate


class Decoding:
    """Scores (n, dim), the decoder's outputs for them, and their losses.

    Scores of label sequences and of items are `Ragged`, and so are their outputs; the loss then has
    a `rule` for decoders of them. `mu` are the loss's means at the scores, if known.
    """

    def __init__(self, theta: Any, loss: Any, decoder: Decoder, mu: Floats | None = None) -> None:
        self.theta, self.loss, self.decoder, self.space = theta, loss, decoder, loss.space
        self._mu: Any = mu
        self._ragged = hasattr(theta, "unstack")
        if self._ragged:
            self.decoder = loss.rule(decoder)

    @property
    def mu(self) -> Any:
        """Regularized predictions (n, dim)."""
        if self._mu is None:  # functools.cached_property takes longer than a row
            self._mu = self.loss.mean(self.theta)
        return self._mu

    def scores(self) -> Any:
        """The scores, as users see them."""
        return self.theta.unstack() if self._ragged else self.theta

    def means(self) -> Any:
        """The regularized predictions, as users see them."""
        return self.loss.shown_means(self.theta) if self._ragged else self.mu

    def most_likely(self) -> Any:
        """The decoder's most likely outputs, in the form of y."""
        return self.space.decode(self.anchor())

    def anchor(self) -> Any:
        """Vertices of the most likely outputs."""
        theta = self.theta.values if self._ragged else self.theta
        is_by_scores = self.decoder.by_scores and self._mu is None and np.isfinite(theta).all()
        mu: Any = None if is_by_scores else self.mu
        return self.decoder.most_likely(self.theta, mu, self.loss)

    def draw(self, rng: Seed) -> Any:
        """Outputs that the decoder draws, in the form of y."""
        return self.space.decode(self.drawn(rng))

    def drawn(self, rng: Seed) -> Any:
        """Vertices that the decoder draws."""
        return self.decoder.decode(self.theta, self.mu, self.loss, rng)

    def expected_vertex(self) -> Floats:
        """E[ŷ] (n, dim) over the draw."""
        return self.decoder.expected_vertex(self.theta, self.mu, self.loss)

    def expected_loss(self, V: Any) -> Floats:
        """Exact expected target losses (n,) if the vertices V (n, dim) are true."""
        return self.decoder.expected_loss(self.theta, self.mu, V, self.loss)

    def truths(self, y: Outputs) -> Any:
        """Outputs y as vertices; a ValueError unless there is one per row."""
        if self._ragged:
            packed = self.space.pack(y)
            check_same_lengths(self.theta, packed)
            return packed
        V = self.space._encoded(y)
        check_lengths(len(self.theta), len(V))
        return V

    def losses(self, V: Any, random_state: Seed = None) -> Losses:
        """The `Losses` of the decoder's outputs if V is true."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        drawn = self.drawn(check_random_state(random_state))
        return Losses(self.space.expected_loss(drawn, V), self.expected_loss(V), surrogate)

    def point_losses(self, V: Any) -> tuple[Floats, Floats]:
        """Surrogate losses, and target losses of the most likely outputs, (n,) each."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        return surrogate, self.space.expected_loss(self.anchor(), V)

    def score(self, y: Outputs, sample_weight: Given) -> float:
        """1 − mean target loss of the most likely outputs; that of sequences is of positions."""
        y_pred = self.most_likely()
        weight = self.space.score_weights(y_pred, sample_weight)
        return 1.0 - weighted_mean(self.space.target_loss(y_pred, y), weight)


class LargestScores:
    """Outputs of the largest scores (n, dim), of estimators without a surrogate loss."""

    def __init__(self, theta: Floats, space: Any) -> None:
        self.theta, self.space = theta, space

    def most_likely(self) -> Any:
        """Outputs in the form of y."""
        return self.space.decode(self.space.argmax(self.theta))

    def point_losses(self, V: Floats) -> tuple[Floats, Floats]:
        """NaN, and target losses (n,) if the vertices V are true."""
        lost = self.space.expected_loss(self.space.argmax(self.theta), V)
        return np.full(len(lost), np.nan), lost

    def losses(self, V: Floats, random_state: Seed = None) -> Losses:
        """The `Losses` if the vertices V are true; nothing is drawn."""
        return answered(self, V)


def answered(decoding: Any, V: Any) -> Losses:
    """The `Losses` of the most likely outputs if V is true."""
    surrogate, lost = decoding.point_losses(V)
    return Losses(lost, lost, surrogate)


def check_keeps_bound(decoder: Decoder, loss: Any) -> None:
    """Raise a GuaranteeError if no theorem is about a loss that is played by a decoder."""
    if not decoder.keeps_bound(loss):
        raise GuaranteeError(
            f"No bound is known for loss={loss!r} with decoder {decoder!r}."
            if isinstance(loss, Surrogate)
            else f"No regret bound for the decoder {type(decoder).__name__}: use "
            "decoder='randomized'. To bound the error on new data use the risk_bound() of "
            "progressive_validate."
        )
