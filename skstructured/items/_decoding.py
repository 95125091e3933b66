"""How scores of items become outputs, with exact expectations; rounds of each size at once."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import weighted_mean
from skstructured._learners.decoding import Decoding
from skstructured.extend._types import Floats, Given, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Losses
from skstructured.items._loss import ItemLoss, by_size


class ItemDecoding:
    """Scores of rounds, `Ragged`, what a decoder plays at them, and what that loses.

    Parameters
    ----------
    theta : Ragged
        Scores, one per item.
    loss : ItemLoss
        The loss.
    decoder : Decoder
        How scores become outputs.
    """

    def __init__(self, theta: Ragged, loss: ItemLoss, decoder: Decoder) -> None:
        self.theta, self.loss, self.decoder = theta, loss, decoder
        self._parts = [
            (which, Decoding(rows, loss.of(rows.shape[1]), decoder))
            for which, rows in by_size(theta)
        ]

    def _of_items(self, read: Any) -> Ragged:
        """Numbers of all items, by what is read of the rounds of each size, (n_m, m)."""
        values = np.empty(len(self.theta.values))
        for which, part in self._parts:
            values[self.theta.places(which)] = np.ravel(read(part))
        return Ragged(values, self.theta.offsets)

    def _of_rounds(self, V: Ragged, read: Any) -> Any:
        """Numbers (k, n) of rounds, by what is read of those of each size and of their truths."""
        found: Any = None
        for which, part in self._parts:
            rows = V.values[V.places(which)].reshape(len(which), -1)
            numbers = np.atleast_2d(read(part, rows))
            found = np.empty((len(numbers), len(self.theta))) if found is None else found
            found[:, which] = numbers
        return found

    def scores(self) -> Ragged:
        """The scores."""
        return self.theta

    def means(self) -> Ragged:
        """Regularized predictions."""
        return self._of_items(lambda part: part.mu)

    def most_likely(self) -> Ragged:
        """The decoder's most likely outputs, as vertices."""
        return self._of_items(lambda part: part._anchor())

    def draw(self, rng: Seed) -> Ragged:
        """Outputs that the decoder draws, as vertices."""
        rng = check_random_state(rng)
        return self._of_items(lambda part: part._drawn(rng))

    def expected_loss(self, V: Ragged) -> Floats:
        """Exact expected target losses (n,) where V is true."""
        return self._of_rounds(V, lambda part, rows: part.expected_loss(rows))[0]

    def expected_losses(self, V: Any) -> Floats:
        """Those (m,) of the only round against each of the truths V (m, dim)."""
        return self._parts[0][1].expected_losses(np.asarray(V, dtype=np.float64))

    def truths(self, V: Ragged) -> Ragged:
        """Truths as they are; a ValueError where there is not one number per item."""
        check_same_lengths(self.theta, V)
        return V

    def losses(self, V: Ragged, random_state: Seed = None) -> Losses:
        """The `Losses` of what is played where V was true."""
        rng = check_random_state(random_state)
        return Losses(*self._of_rounds(V, lambda part, rows: np.array(part.losses(rows, rng))))

    def sure_losses(self, V: Ragged) -> Any:
        """Surrogate losses, and target losses of the most likely outputs, (n,) each."""
        return tuple(self._of_rounds(V, lambda part, rows: np.array(part.sure_losses(rows))))

    def score(self, V: Ragged, sample_weight: Given) -> float:
        """1 − mean target loss of the most likely outputs."""
        return 1.0 - weighted_mean(self.sure_losses(V)[1], sample_weight)
