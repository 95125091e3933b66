"""One dense row a call, as servers learn: what is done to blocks of rows, less what they need.

A call of ``partial_fit`` with one row would else take three times as long, for blocks, copies and
checks of what is known. Nothing is kept between calls, so that nothing gets stale.
"""

from typing import Any

import numpy as np

from skstructured._base.validation import (
    check_lengths,
    check_weights,
    is_ready,
    norms_of,
    refuse_row,
)
from skstructured._engine.rows import DOUBLE
from skstructured._engine.single_row import REFUSED
from skstructured._learners.models import Model
from skstructured.extend._types import Array, Floats, Given, Outputs

#: The weight of a round that is given none; it is not written to.
ONE = np.ones(1)


def played_alone(learner: Any, X: Any) -> Floats | None:
    """Scores and means (2, dim) at X where it is one row; None where it takes more than a kernel.

    Rows that have to be refused are among those that do.
    """
    play = getattr(getattr(learner, "_model", None), "play_alone", None)
    if play is None or not (learner.average and is_ready(learner, X)):
        return None
    if len(X) > 1 or X.dtype != DOUBLE:
        return None
    return play(X, norms_of(learner)[1])


class OneRow:
    """Learners whose `_model` may learn a row by itself."""

    space_: Any
    _model: Model
    _calibrator: Any

    def _learned_alone(self, X: Any, y: Outputs, classes: Given, sample_weight: Given) -> bool:
        """Learn the one row of X; False, and nothing is done, where it takes more than that.

        That is before the first row, for rows that are several, sparse, of another dtype or width,
        out of range or with gaps, and for learners that weigh classes or calibrate scores.
        """
        if classes is not None or not (is_ready(self, X) and self._learns_alone()):
            return False
        if len(X) > 1:
            return False
        model: Any = self._model
        packed = self.space_.pack(y)
        check_lengths(1, len(packed))
        weight = ONE if sample_weight is None else self._checked_weight(sample_weight, packed)
        V = model.truths(packed)
        with model.lock:
            stopped = model.learn_alone(X, norms_of(self), V, weight)
        if stopped == REFUSED:
            return False
        if stopped >= 0:
            refuse_row(self, X, 0)
        return True

    def _learns_alone(self) -> bool:
        """Whether the model takes a row by itself, and nobody else has to be told of it."""
        model: Any = getattr(self, "_model", None)
        if not getattr(model, "learns_alone", False):
            return False
        model.state.check_moves()
        vector = model.state.vector
        owned = type(vector) is np.ndarray and vector.flags.writeable
        plain = getattr(self, "class_weight", None) is None and self._calibrator is None
        return owned and plain

    def _checked_weight(self, sample_weight: Given, packed: Array) -> Floats:
        """The weight of the round, as of any."""
        return check_weights(sample_weight, packed, 1, stream=True)
