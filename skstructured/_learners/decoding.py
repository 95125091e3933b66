"""How a decoder turns scores into outputs, with exact expectations."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_lengths, weighted_mean
from skstructured.extend.learner import Losses


class Decoding:
    """Scores (n, dim), what a decoder plays at them, and what that loses.

    Parameters
    ----------
    theta : ndarray of shape (n, dim)
        Scores.
    loss : FenchelYoung or Surrogate
        The loss over a fitted space.
    decoder : Decoder
        How scores become outputs.
    """

    def __init__(self, theta, loss, decoder):
        self.theta, self.loss, self.decoder, self.space = theta, loss, decoder, loss.space
        self._mu = None

    @property
    def mu(self):
        """Regularized predictions (n, dim)."""
        if self._mu is None:  # functools.cached_property takes longer than a row
            self._mu = self.loss.mean(self.theta)
        return self._mu

    def scores(self):
        """The scores, as users see them."""
        return self.theta

    def means(self):
        """The regularized predictions, as users see them."""
        return self.mu

    def most_likely(self):
        """The decoder's most likely outputs, in the form of y."""
        return self.space.decode(self._anchor())

    def _anchor(self):
        return self.decoder.most_likely(self.theta, self.mu, self.loss)

    def draw(self, rng):
        """Outputs that the decoder draws, in the form of y."""
        return self.space.decode(self._drawn(rng))

    def _drawn(self, rng):
        return self.decoder.decode(self.theta, self.mu, self.loss, rng)

    def expected_vertex(self):
        """E[ŷ] (n, dim) over the draw."""
        return self.decoder.expected_vertex(self.theta, self.mu, self.loss)

    def expected_loss(self, V):
        """Exact expected target losses (n,) where the vertices V (n, dim) are true."""
        return self.decoder.expected_loss(self.theta, self.mu, V, self.loss)

    def expected_losses(self, V):
        """Those (m,) of the only row against each of the vertices V (m, dim)."""
        same = [np.repeat(row, len(V), axis=0) for row in (self.theta, self.mu)]
        return self.decoder.expected_loss(*same, V, self.loss)

    def truths(self, y):
        """Outputs y as vertices; a ValueError unless there is one per row."""
        V = self.space._encoded(y)
        check_lengths(len(self.theta), len(V))
        return V

    def losses(self, V, random_state=None):
        """The `Losses` of what is played where V was true."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        drawn = self._drawn(check_random_state(random_state))
        return Losses(self.space.expected_loss(drawn, V), self.expected_loss(V), surrogate)

    def sure_losses(self, V):
        """Surrogate losses, and target losses of the most likely outputs, (n,) each."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        return surrogate, self.space.expected_loss(self._anchor(), V)

    def score(self, y, sample_weight):
        """1 − mean target loss of the most likely outputs."""
        loss = self.space.target_loss(self.most_likely(), y)
        return 1.0 - weighted_mean(loss, sample_weight)
