"""Predictions of learners of label sequences, given the scores of new ones."""

from typing import Any

from skstructured._base.component import available_if
from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import check_integer
from skstructured._chains import batch
from skstructured._learners.predictions import answer_empty, has_empty_sequence, reader_of
from skstructured.extend._types import Array, Features, Floats, Outputs


def _has_sequences(learner, subject="This method is"):
    """For `available_if`."""
    if not reader_of(learner).has_sequences:
        raise AttributeError(f"{subject} only available for space='sequence'.")
    return True


def _has_log_proba(learner):
    """For `available_if`."""
    loss = getattr(learner, "loss_", None)
    if not reader_of(learner).has_sequences or (loss is not None and loss.projects):
        raise AttributeError(
            "This method is only available for space='sequence' with regularizer='shannon'."
        )
    return True


def weights_of_sequences(what, selector):
    """A property, the scores `what`: a copy of ``part(W)``, or an error without sequences."""

    def read(self):
        self._fitted_model("weights are")
        _has_sequences(self, "transitions_, start_ and end_ are")
        return selector(self._weights()).copy()

    return property(read, doc=f'Scores {what}; for space="sequence".')


@available_if(_has_sequences)
def predict_marginals(self: Any, X: Features) -> list[Floats]:
    """Mean of the labels at every position.

    Returns
    -------
    list of n ndarrays of shape (length, k)
        For "shannon" the probabilities of the labels in `classes_`, of each position by itself;
        for "squared" their sparse counterpart.
    """
    if has_empty_sequence(self, X):
        return answer_empty(self, X, self.predict_marginals)
    return self._decoding(X).means()


@available_if(_has_sequences)
def predict_nbest(self: Any, X: Features, n: int = 10) -> list[list[tuple[Array, float]]]:
    """The n label sequences of the largest scores.

    Parameters
    ----------
    X : list of matrices (length, p)
        Sequences.
    n : int, default=10
        Number of outputs; fewer are returned if there are no more.

    Returns
    -------
    list
        For each sequence a list of (labels, score), the best first. With "shannon" the log
        probability of labels is their score less a number of the sequence, `log_partition`.
    """
    check_integer("n", n)
    if has_empty_sequence(self, X):
        return answer_empty(self, X, self.predict_nbest, n=n)
    theta = self._scores(X)
    codes, scores, counts = batch.nbest(*theta.arrays, n)  # type: ignore[call-arg]  # three arrays
    best = [Ragged(row, theta.offsets) for row in codes]
    return [
        [(self.space_.classes_[best[j][i]], scores[i, j]) for j in range(counts[i])]
        for i in range(len(theta))
    ]


@available_if(_has_log_proba)
def log_proba(self: Any, X: Features, y: Outputs) -> Floats:
    """Log probabilities ln p(y | x) of whole label sequences.

    ``score(x, y) − log Z(x)``, summed as log p(y_{m+1} | y_m, x), so no digits are lost if both are
    large.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        For unknown labels, and lengths that differ.
    """
    theta, V = self._scores(X), self.space_.pack(y)
    check_same_lengths(theta, V)
    return batch.log_probability(*theta.arrays, V.values)  # type: ignore[call-arg]


@available_if(_has_log_proba)
def log_partition(self: Any, X: Features) -> Floats:
    """``log Z(x) = log Σ_y exp(score(x, y))`` of every sequence, (n,)."""
    return batch.marginals(*self._scores(X).arrays)[1]
