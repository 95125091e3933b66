"""Items as standardised, with random features of them behind their own."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_integer
from skstructured._engine.arrays import Floats
from skstructured._engine.rows import DOUBLE, Rows
from skstructured._engine.standardize import Counted
from skstructured.estimators.kernel._features import FourierMap
from skstructured.estimators.kernel._features_model import BALANCE, SEEN
from skstructured.estimators.kernel._mapped_scale import MappedScale
from skstructured.estimators.kernel._values import counted_rows, width_of
from skstructured.extend._types import Ints
from skstructured.extend.learner import Batch


class MappedRounds(MappedScale):
    """`MappedScale` of items: rows of one round are standardised alike."""

    inner: Any

    @property
    def centred(self) -> bool:
        """Weights are those of rows as they are learned, and have no intercept folded in."""
        return False

    def counted_rounds(self, rows: Rows, order: Ints, weight: Floats, offsets: Ints) -> Counted:
        """See `RoundScale`."""
        found = self.inner.counted_rounds(rows, order, weight, offsets)
        mapped = self._mapped(found.rows.matrix[found.places])
        return found._replace(rows=mapped, places=np.arange(len(found.places)))

    def set_width(self, batch: Batch) -> None:
        """Take the width of the kernel from some of the rows."""
        weight = np.repeat(batch.weights, batch.X.lengths)
        chosen = counted_rows(weight, SEEN)
        some, scale, weight = batch.rows.taken(chosen), self.inner.anew(), weight[chosen]
        scale.apply_rounds(some, np.arange(len(chosen)), weight, np.array([0, len(chosen)]))
        Z = scale.transformed_matrix(some)
        Z = (Z.toarray() if hasattr(Z, "toarray") else Z)[:, : self.mapped]
        gamma, _ = width_of("multiscale", "rbf", self.mapped, Z, weight)
        self.features.set_width(gamma, BALANCE * self.mapped)


def mapped_rounds(scale: Any, learner: Any) -> MappedRounds:
    """A scale of rounds, and random features of the Gaussian kernel, of three widths, behind it."""
    check_integer("n_components", learner.n_components)
    p = learner.n_features_in_
    rng = check_random_state(learner.random_state_.randint(2**31 - 1))
    features = FourierMap("rbf", p, learner.n_components, True, rng, DOUBLE)
    features.set_width(width_of("multiscale", "rbf", p)[0], BALANCE * p)
    return MappedRounds(scale, features.drawn_for(False))
