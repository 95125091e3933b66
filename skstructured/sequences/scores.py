"""Scores of predicted label sequences, and scorers of them for searches."""

import numpy as np
from sklearn.metrics import f1_score, make_scorer

from skstructured._base.ragged import check_same_lengths, stack_labels
from skstructured.extend._types import Floats, Given, Outputs

__all__ = [
    "label_f1",
    "label_f1_scorer",
    "position_accuracy",
    "position_accuracy_scorer",
    "sequence_accuracy",
    "sequence_accuracy_scorer",
]


def _pairs(y_true, y_pred):
    names = "y_true", "y_pred"
    truth, predicted = map(stack_labels, (y_true, y_pred), names)
    check_same_lengths(truth, predicted, names)
    return truth, predicted


def position_accuracy(y_true: Outputs, y_pred: Outputs) -> float:
    """Share of the positions of all sequences whose label is right.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        Of the same lengths.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For empty sequences, and lengths that differ, by the number of the sequence.

    Examples
    --------
    >>> from skstructured.sequences import position_accuracy, sequence_accuracy
    >>> truth, predicted = [["a", "b"], ["b"]], [["a", "a"], ["b"]]
    >>> round(position_accuracy(truth, predicted), 2), sequence_accuracy(truth, predicted)
    (0.67, 0.5)
    """
    truth, predicted = _pairs(y_true, y_pred)
    return float(np.mean(truth.values == predicted.values))


def sequence_accuracy(y_true: Outputs, y_pred: Outputs) -> float:
    """Share of the sequences all of whose labels are right.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        Of the same lengths.

    Returns
    -------
    float
    """
    truth, predicted = _pairs(y_true, y_pred)
    wrong = np.add.reduceat((truth.values != predicted.values).astype(int), truth.offsets[:-1])
    return float(np.mean(wrong == 0))


def label_f1(
    y_true: Outputs, y_pred: Outputs, labels: Given = None, average: str | None = "macro"
) -> float | Floats:
    """F1 of labels over the positions of all sequences; see `sklearn.metrics.f1_score`.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        Of the same lengths.
    labels : list or None, default=None
        Which labels count, as for tags all but that of "none of them".
    average : {"macro", "micro", "weighted", None}, default="macro"
        How the F1 of labels make one number; None returns one per label.

    Returns
    -------
    float or ndarray
    """
    truth, predicted = _pairs(y_true, y_pred)
    given = {"labels": labels, "average": average, "zero_division": 0.0}
    return f1_score(truth.values, predicted.values, **given)


position_accuracy_scorer = make_scorer(position_accuracy)
sequence_accuracy_scorer = make_scorer(sequence_accuracy)
label_f1_scorer = make_scorer(label_f1)
