"""Row-wise transformers, and scores, of label sequences."""

import itertools
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import f1_score, make_scorer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import available_if
from skstructured._base.ragged import (
    TOKENS_ADVICE,
    Ragged,
    Stacked,
    around_empty,
    check_same_lengths,
    has_empty,
    stack_labels,
    stack_rows,
)
from skstructured.extend._types import Array, Features, Floats, Given, Outputs


def _has(method):
    return lambda self: getattr(getattr(self, "transformer_", self.transformer), method)


class SequenceTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Apply a transformer of rows to every position of sequences.

    All positions are passed to `transformer` in one call. So scalers, `RBFSampler`,
    `DictVectorizer` or `FeatureHasher` work on lists of sequences in the same way as on rows.
    Pipelines only pass on methods that scikit-learn knows. For others, such as `predict_marginals`,
    transform first: ``pipeline[-1].predict_marginals(pipeline[:-1].transform(X))``.

    Parameters
    ----------
    transformer : estimator
        Transformer with ``fit`` and ``transform`` over rows, or over a list of dicts. A stateless
        one, such as `FeatureHasher`, can transform before ``fit``, so it can be a step in a stream.

    Attributes
    ----------
    transformer_ : estimator
        The fitted copy.

    Raises
    ------
    ValueError
        For sequences that are empty or of different widths, with the number of the sequence; and
        for the errors of `transformer`.

    See Also
    --------
    OnlineStructuredPredictor : The online learner, with ``space="sequence"``.
    ConditionalRandomField : Batch models of label sequences.
    TableEncoder : Encoder of tables with strings, dates and missing values.

    Examples
    --------
    >>> from sklearn.feature_extraction import DictVectorizer
    >>> from skstructured import SequenceTransformer
    >>> words = [[{"word": "a"}, {"word": "b", "last": True}], [{"word": "b"}]]
    >>> [part.shape for part in SequenceTransformer(DictVectorizer()).fit_transform(words)]
    [(2, 3), (1, 3)]
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Features, y: Any = None) -> Self:
        """Fit a copy of `transformer` to the rows of all positions.

        Parameters
        ----------
        X : list of sequences
            Matrices (length, p), or lists of dicts.
        y : list of label arrays or None, default=None
            Labels of all positions, passed to `transformer` as one array.

        Returns
        -------
        self
        """
        stacked = _stack(X)
        labels = stacked_labels(stacked, y)
        self.transformer_ = _applied(clone(self.transformer).fit, stacked, labels)
        return self

    def transform(self, X: Features) -> Stacked | list[Any]:
        """Transform the sequences to `Stacked` matrices, which behave like a list of matrices.

        The method ``unstack()`` returns a list. If sequences are empty, the result is a list with
        (0, p) matrices for them.
        """
        check_is_fitted(self)
        transformer = getattr(self, "transformer_", self.transformer)  # one that has nothing to fit
        if isinstance(X, list) and has_empty(X):
            width = getattr(transformer, "n_features_in_", None)
            other: Any = [{}] if width is None else np.zeros((1, width))
            return around_empty(
                X, lambda rest: _rebuilt(_stack(rest), transformer.transform), other
            )
        return _rebuilt(_stack(X), transformer.transform)

    def fit_transform(self, X: Features, y: Any = None) -> Stacked | list[Any]:
        """Fit the transformer, and transform the sequences."""
        transformer = clone(self.transformer)
        if not hasattr(transformer, "fit_transform"):
            return self.fit(X, y).transform(X)
        stacked = _stack(X)
        labels = stacked_labels(stacked, y)
        transformed = _rebuilt(stacked, lambda rows: transformer.fit_transform(rows, labels))
        self.transformer_ = transformer
        return transformed

    @available_if(_has("partial_fit"))
    def partial_fit(self, X: Features, y: Any = None) -> Self:
        """Fit the copy of `transformer` incrementally, with further sequences."""
        stacked = _stack(X)
        fitted = self.transformer_ if hasattr(self, "transformer_") else clone(self.transformer)
        self.transformer_ = _applied(fitted.partial_fit, stacked, stacked_labels(stacked, y))
        return self

    @available_if(_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Given = None) -> Array:
        """Names of the features of positions."""
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "transformer_") or not get_tags(self.transformer).requires_fit

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = get_tags(self.transformer).requires_fit
        return tags


def _applied(method, stacked, *labels):
    """What a method of a transformer returns for the rows of all positions."""
    try:
        return method(stacked.values, *labels)
    except AttributeError as error:  # of vectorizers, which take the items of a dict
        row = stacked.values[0]
        if not isinstance(row, str):
            raise
        requirement = "dicts of features at every position for this transformer"
        raise ValueError(f"X must hold {requirement}, got {row!r}. {TOKENS_ADVICE}") from error


def _rebuilt(stacked, transform):
    """The rows of all positions, transformed, as sequences."""
    values = _applied(transform, stacked)
    values = values if sparse.issparse(values) else np.asarray(values)
    if values.shape[0] != stacked.offsets[-1]:
        raise ValueError(
            f"transformer must return one row for each of the {stacked.offsets[-1]} positions, "
            f"got {values.shape[0]} rows."
        )
    return Stacked(values, stacked.lengths)


def _stack(X):
    """All positions one after the other: a matrix, or a list of dicts or strings."""
    first = X[0] if hasattr(X, "__len__") and len(X) else None
    if not hasattr(X, "offsets") and isinstance(first, (list, tuple)):
        _check_lists(X)
        lengths = [len(sequence) for sequence in X]
        if 0 in lengths:
            index = lengths.index(0)
            raise ValueError(f"Sequence {index} of X is empty; it needs at least one position.")
        rows = list(itertools.chain.from_iterable(X))
        if isinstance(rows[0], (dict, str)):
            return Ragged.from_lengths(rows, lengths)
    return stack_rows(X)


def _check_lists(X):
    """A ValueError for sequences that are lists, and one among them that has no length."""
    for i, entry in enumerate(X):
        if sparse.issparse(entry) or not hasattr(entry, "__len__"):
            raise ValueError(
                f"Sequence {i} of X must be a list, as those before it; got {type(entry).__name__}."
            )


def stacked_labels(rows, y):
    """Labels of all positions one after the other, or None without labels."""
    if y is None:
        return None
    labels = stack_labels(y)
    check_same_lengths(rows, labels)
    return labels.values


def _pairs(y_true, y_pred):
    names = "y_true", "y_pred"
    truth, predicted = map(stack_labels, (y_true, y_pred), names)
    check_same_lengths(truth, predicted, names)
    return truth, predicted


def position_accuracy(y_true: Outputs, y_pred: Outputs) -> float:
    """Compute the share of positions with the right label, over all sequences.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        True and predicted labels, of the same lengths.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For empty sequences, and lengths that differ, with the number of the sequence.

    See Also
    --------
    sequence_accuracy : The share of sequences without a wrong label.
    label_f1 : F1 of labels, for rare labels.

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
    """Compute the share of sequences without a wrong label.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        True and predicted labels, of the same lengths.

    Returns
    -------
    float

    See Also
    --------
    position_accuracy : The share of positions with the right label.
    label_f1 : F1 of labels, for rare labels.
    """
    truth, predicted = _pairs(y_true, y_pred)
    return float(np.mean(truth.sums((truth.values != predicted.values).astype(int)) == 0))


def label_f1(
    y_true: Outputs, y_pred: Outputs, labels: Given = None, average: str | None = "macro"
) -> float | Floats:
    """Compute F1 of labels over the positions of all sequences; see `sklearn.metrics.f1_score`.

    Parameters
    ----------
    y_true, y_pred : list of label arrays
        True and predicted labels, of the same lengths.
    labels : list or None, default=None
        Labels that count; for tags, for example, all except the "outside" tag. None is all.
    average : {"macro", "micro", "weighted", None}, default="macro"
        How to average the F1 of labels; None returns one number per label.

    Returns
    -------
    float or ndarray

    See Also
    --------
    position_accuracy : The share of positions with the right label.
    sequence_accuracy : The share of sequences without a wrong label.
    """
    truth, predicted = _pairs(y_true, y_pred)
    options = {"labels": labels, "average": average, "zero_division": 0.0}
    return f1_score(truth.values, predicted.values, **options)


position_accuracy_scorer = make_scorer(position_accuracy)
sequence_accuracy_scorer = make_scorer(sequence_accuracy)
label_f1_scorer = make_scorer(label_f1)
