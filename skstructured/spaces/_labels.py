"""Class labels, shared by the spaces whose outputs are single labels."""

from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d

from skstructured.extend._types import Floats, Given, Outputs, Packed
from skstructured.extend.output_space import OutputSpace


def check_costs(cost_matrix, k):
    """Costs (k, k) at [predicted, true] of a matrix at [true, predicted]; a ValueError if bad."""
    try:
        A = check_array(cost_matrix, dtype=np.float64, input_name="cost_matrix")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"cost_matrix must be a ({k}, {k}) matrix of numbers: {error}") from error
    if A.shape != (k, k):
        raise ValueError(f"cost_matrix must have shape {(k, k)} for {k} classes, got {A.shape}.")
    if (A < 0.0).any():
        i, j = np.argwhere(A < 0.0)[0]
        raise ValueError(f"cost_matrix must not be negative, got {A[i, j]:g} at [{i}, {j}].")
    if np.diag(A).any():
        i = int(np.flatnonzero(np.diag(A))[0])
        raise ValueError(f"cost_matrix must be 0 on its diagonal, got {A[i, i]:g} at [{i}, {i}].")
    if not A.any():
        raise ValueError("cost_matrix must have a positive entry, got zeros only.")
    return np.ascontiguousarray(A.T)


#: As an object, which compares ten times as fast as the type that it is of.
INT64 = np.dtype(np.int64)


def one_column(y, warn=False):
    """Labels as a 1-d array; a ValueError for rows of outputs names the spaces that take them."""
    try:
        return column_or_1d(y, warn=warn)
    except ValueError as error:
        if "1d array" not in str(error):
            raise
        raise ValueError(
            f"{error} For outputs that are rows use another space: 'multilabel' (0/1 indicators), "
            "'assignment' (positions of items), 'ranking' (ranks) or 'sequence' (a label per "
            "position)."
        ) from error


def class_codes(y, classes, accepts_unseen=False, fractions=False):
    """Positions of labels `y` in sorted `classes`; a ValueError lists the labels not found.

    With `accepts_unseen` they are −1, unless they are missing, or fractions without `fractions`.
    """
    if not (isinstance(y, np.ndarray) and y.ndim == 1):
        y = one_column(y)
    if y.dtype == INT64 == classes.dtype and len(y) > 0:
        low, last = classes.item(0), len(classes) - 1
        if classes.item(last) - low == last:
            codes = y - low if low else y  # exact modulo 2⁶⁴: labels below wrap around
            is_single = len(y) == 1  # a maximum of one takes longer than all the rest
            if 0 <= codes.item() <= last if is_single else codes.view(np.uint64).max() <= last:
                return codes
    codes = _search(y, classes)
    unknown = classes[codes] != y
    if np.any(unknown):
        shown = ", ".join(sorted({repr(v) for v in y[unknown].tolist()})[:5])
        first_classes = ", ".join(map(repr, classes[:10].tolist())) + ", …" * (len(classes) > 10)
        integers = y.dtype.kind != "f" or not (y[unknown] % 1.0 > 0.0).any()
        if accepts_unseen and (integers or fractions):
            _refuse_missing(y)
            return np.where(unknown, -1, codes)
        raise ValueError(
            f"y contains labels that are not among the classes: {shown}; "
            f"the classes are {first_classes}. They are fixed by fit, or by classes= in the first "
            "call of partial_fit." + ("" if integers else " For numbers use StructuredRegressor.")
        )
    return codes


def _search(y, classes):
    """Index that each label has, or would have, in `classes`."""
    last = len(classes) - 1
    if y.dtype.kind in "iu" and classes.dtype.kind in "iu":
        low = int(classes[0])
        if int(classes[-1]) - low == last:  # exact for integers of every width, modulo 2⁶⁴
            offsets = y.astype(np.uint64) - np.uint64(low % 2**64)
            return np.minimum(offsets, np.uint64(last)).astype(np.intp)
        y = y.astype(classes.dtype)  # what does not fit is found elsewhere, and unequal there
    try:
        return np.minimum(np.searchsorted(classes, y), last)
    except TypeError:  # labels of another type: none is found
        return np.zeros(len(y), dtype=np.intp)


def _refuse_missing(y):
    """A ValueError that names the first row with the label None or NaN."""
    for i, label in enumerate(y.tolist()):
        if label is None or (isinstance(label, float) and label != label):
            raise ValueError(f"Input y contains {label} in row {i}; every row needs a label.")


def distinct_labels(y, fractions=False):
    """Sorted distinct labels of a 1-d y: at least two, no NaN or mixed types.

    Fractions are refused unless `fractions`.
    """
    if np.isscalar(y):
        raise ValueError(f"labels must be a list, such as classes=range(4), got {y!r}.")
    y = one_column(y, warn=True)
    if y.dtype.kind == "O":
        _refuse_missing(y)
    try:
        classes = np.unique(y)
    except TypeError as error:
        raise ValueError(f"y holds labels that cannot be sorted: {error}.") from error
    if classes.dtype.kind == "f":
        assert_all_finite(classes, input_name="y")
        if not fractions and np.any(classes != np.rint(classes)):
            raise ValueError(
                "Unknown label type: continuous. Labels must be classes, "
                f"got fractions such as {classes[classes != np.rint(classes)][0]:g}. "
                "For numbers use StructuredRegressor; for classes that are fractions pass "
                "y.astype(str)."
            )
    if len(classes) < 2:
        description = f"{len(y)} rows of one class, {classes[0]!r}" if len(y) else "no rows"
        raise ValueError(f"y must hold at least two classes, got {description}.")
    return classes


def declared_order(y):
    """The categories of an ordered pandas categorical, in their order; None for any other y."""
    is_frame = hasattr(y, "iloc") and y.shape[1:] == (1,)
    dtype = y.dtypes.iloc[0] if is_frame else getattr(y, "dtype", None)
    return np.asarray(dtype.categories) if getattr(dtype, "ordered", False) else None


class LabelSpace(OutputSpace):
    """Base of the spaces whose outputs are single labels, `classes_` in the order of vertices."""

    task: str | None = "multiclass"
    cost_matrix: Given = None  # a parameter where a space takes costs
    costs_: Any = None
    #: Whether classes are in an order, in which near ones cost less.
    is_ordered = False
    _fractions = False  # whether numbers that are no integers may be labels

    def fit(self, y: Outputs) -> Self:
        """Learn the classes from labels `y` of shape (n,); returns self."""
        return self._adopt(self._find_classes(y))

    def _adopt(self, classes):
        self.classes_, self.costs_ = classes, self._costs(len(classes))
        self._sorter = np.argsort(self.classes_)
        self.dim_ = self._dim_of(len(self.classes_))
        return self

    def _dim_of(self, n_classes):
        return n_classes

    def _costs(self, k):
        """Costs (k, k) [predicted, true] in units of the largest; None for those of the space."""
        if self.cost_matrix is None:
            return None
        costs = check_costs(self.cost_matrix, k)
        return costs / costs.max()

    def _find_classes(self, y):
        """The classes, in their order, that labels `y` show."""
        return distinct_labels(y, self._fractions)

    def fit_stream(self, y: Outputs, classes: Given = None) -> Self:
        """Fit on the labels `classes`, which the first chunk of a stream must bring along."""
        if classes is None:
            raise ValueError(
                "classes must be given on the first call to partial_fit: "
                "the first chunk may not contain every label."
            )
        return self._adopt(distinct_labels(classes, self._fractions))

    def check_classes(self, classes: Given) -> None:
        """A ValueError unless `classes` are the fitted ones, in any order."""
        labels = np.ravel(classes).tolist()  # type: ignore[arg-type]
        if set(labels) != set(self.classes_.tolist()):
            raise ValueError(
                f"classes={labels!r} differ from the fitted ones, {self.classes_.tolist()!r:.200}."
            )

    def pack(self, y: Outputs, accepts_unseen: bool = False) -> Packed:
        """Positions of labels in `classes_`; a ValueError lists unknown labels.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        accepts_unseen : bool, default=False
            Whether labels that are not among the classes are −1 instead of an error.

        Returns
        -------
        ndarray of shape (n,)
        """
        if not hasattr(self, "classes_"):
            self._dimension()  # raises a NotFittedError
        codes = class_codes(y, self.classes_[self._sorter], accepts_unseen, self._fractions)
        return np.append(self._sorter, -1)[codes] if accepts_unseen else self._sorter[codes]

    def encode(self, y: Outputs) -> Floats:
        """Vertices (n, dim) of labels y (n,); a ValueError lists labels outside the classes."""
        return self.unpack(self.pack(y))

    def target_loss(self, y_pred: Outputs, y_true: Outputs) -> Floats:
        """Target loss in [0, 1] of each sample; 1 if the true label is not among the classes.

        Parameters
        ----------
        y_pred, y_true : array-like of shape (n,)
            Predicted and true labels. True ones may be labels that `fit` has not seen, as in a
            fold of cross-validation without a rare class.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            For unknown predicted labels, missing true ones, and numbers of labels that differ.
        """
        check_consistent_length(y_pred, y_true)
        truth = self.pack(y_true, accepts_unseen=True)
        return np.where(truth < 0, 1.0, self.expected_loss(self.encode(y_pred), self.unpack(truth)))
