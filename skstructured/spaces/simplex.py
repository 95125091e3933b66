"""Class labels, and multiclass outputs: one basis vector per class."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)

from skstructured._engine.compiled import kernel
from skstructured._engine.state import less
from skstructured.extend._types import Floats, Given, Outputs, Packed, Seed
from skstructured.extend.output_space import Geometry, OutputSpace


def _softmax_of_list(theta: Floats, mu: Floats) -> tuple[float, float]:
    scores = theta.tolist()
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    total = sum(weights)
    mu[:] = [weight / total for weight in weights]
    return top, math.log(total)


@kernel(inline=True, python=_softmax_of_list)
def softmax_into(theta, mu):
    """μ = softmax(θ); returns max θ and log Σ exp(θ_k − max θ)."""
    top = theta[0]
    for k in range(1, theta.shape[0]):
        top = max(top, theta[k])
    total = 0.0
    for k in range(theta.shape[0]):
        mu[k] = math.exp(theta[k] - top)
        total += mu[k]
    inverse = 1.0 / total
    for k in range(theta.shape[0]):
        mu[k] *= inverse
    return top, math.log(total)


@kernel
def softmax(theta, truth, mu, params, work):
    """∇ = μ − y with μ = softmax(θ), into mu; returns Ω*(θ) = log Σ exp θ_k."""
    top, log_sum = softmax_into(theta, mu)
    less(mu, truth)
    return top + log_sum


def softmax_rows(theta):
    """Softmax(θ) (n, K) and log Σ exp θ_k (n,) of every row.

    NumPy reduces the columns of a transposed copy several times faster than short rows.
    """
    columns = np.array(theta.T, order="C")
    top = columns.max(axis=0)
    columns -= top
    np.exp(columns, out=columns)
    total = columns.sum(axis=0)
    columns /= total
    return np.ascontiguousarray(columns.T), top + np.log(total)


def log_softmax(theta):
    """Log softmax(θ) of every row (n, K), exact both far below 0 and near 0.

    ``θ_k − max θ − log1p(Σ exp(θ_j − max θ))``, the sum over all classes but the largest one.
    """
    first = np.argmax(theta, axis=1)[:, None]
    shifted = theta - np.take_along_axis(theta, first, axis=1)
    others = np.exp(shifted)
    np.put_along_axis(others, first, 0.0, axis=1)
    return shifted - np.log1p(others.sum(axis=1, keepdims=True))


@kernel(inline=True)
def sparsemax_into(theta, mu, support):
    """μ = Euclidean projection of θ on the simplex; returns <θ,μ> − ½‖μ‖².

    Condat's (2016) filter, started at the largest score: the pivot (Σ s − 1)/|support| only grows,
    and scores below it leave the support.
    """
    dim, first = theta.shape[0], 0
    for k in range(1, dim):
        if theta[k] > theta[first]:
            first = k
    top, size, pivot = theta[first], 1, -1.0
    support[0] = 0.0
    for k in range(dim):
        s = theta[k] - top
        if s > pivot and k != first:
            support[size] = s
            size += 1
            pivot += (s - pivot) / size
    previous_size = -1
    while size != previous_size:
        previous_size, size, total = size, 0, 0.0
        for t in range(previous_size):
            if support[t] > pivot:
                support[size] = support[t]
                total += support[t]
                size += 1
        pivot = (total - 1.0) / size
    value = top
    for k in range(dim):
        mu[k] = max(theta[k] - top - pivot, 0.0)
        if mu[k] > 0.0:
            value += mu[k] * (theta[k] - top - 0.5 * mu[k])
    return value


@kernel
def sparsemax(theta, truth, mu, params, work):
    """∇ = μ − y, μ the projection of θ on the simplex, into mu; returns <θ,μ> − ½‖μ‖²."""
    value = sparsemax_into(theta, mu, work)
    less(mu, truth)
    return value


@kernel
def entmax(theta, truth, mu, params, work):
    """∇ = μ − y, μ_k = [(α−1)(θ_k − τ)]₊^{1/(α−1)}; returns <θ,μ> − Σ μ^α/(α(α−1)).

    τ, which makes Σμ = 1, is found by Newton's method on the p-norm of [(α−1)θ − t]₊, p = 1/(α−1):
    convex and nearly linear in t, so a few steps from the left reach machine precision.
    """
    alpha, dim = params[0], theta.shape[0]
    power = 1.0 / (alpha - 1.0)
    top = theta[0]
    for k in range(1, dim):
        top = max(top, theta[k])
    t = -1.0
    for _ in range(60):
        total, slope = 0.0, 0.0
        for k in range(dim):
            z = (alpha - 1.0) * (theta[k] - top) - t
            if z > 0.0:
                term = z ** (power - 1.0)
                slope += term
                total += term * z
        norm = total ** (alpha - 1.0)
        move = (norm - 1.0) * total / (norm * slope)
        t += move
        if move <= 1e-16 * (1.0 + abs(t)):
            break
    total = 0.0
    for k in range(dim):
        z = (alpha - 1.0) * (theta[k] - top) - t
        mu[k] = z**power if z > 0.0 else 0.0
        total += mu[k]
    value = top
    for k in range(dim):
        mu[k] /= total
        if mu[k] > 0.0:
            value += mu[k] * (theta[k] - top) - mu[k] ** alpha / (alpha * (alpha - 1.0))
    less(mu, truth)
    return value


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


def basis_vectors(places, dim):
    """Basis vectors (n, dim) that are 1 at places (n,)."""
    V = np.zeros((len(places), dim))
    if len(places) == 1:  # at which arrays of indices would take most of the time
        V[0, places[0]] = 1.0
    else:
        V[np.arange(len(places)), places] = 1.0
    return V


class Simplex(LabelSpace):
    r"""Classes as the vertices of the probability simplex, with the zero-one loss or other costs.

    Class k is the basis vector :math:`e_k` of R^K. The target loss is ``L(y'; e_i) = 1 − y'_i``,
    the zero-one loss on vertices, or ``Σ_k A[i, k] y'_k`` with costs A. Regularizers: `Shannon`
    (softmax, logistic loss; the default), `SquaredNorm` (sparsemax), `Tsallis` (entmax).

    Parameters
    ----------
    cost_matrix : array-like of shape (K, K) or None, default=None
        Costs of mistakes: ``cost_matrix[i, j]`` is the cost of predicting class j if the true class
        is i, in the order of `classes_`. It is not negative, and 0 on the diagonal. Rows are true
        classes and columns are predictions, as in scikit-learn's ``confusion_matrix``. The target
        loss is the cost divided by the largest one. None is 1 for all mistakes, and for ordinal
        classes ``|i − j|``. `predict` minimizes the expected cost, unless the decoder is "nearest"
        or "map", for which a learner warns.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted class labels.
    costs_ : ndarray of shape (K, K) or None
        Costs in units of the largest, if there is a cost matrix.
    dim_ : int
        Number K of classes.

    See Also
    --------
    OrdinalChain : Ordered classes.
    Hypercube : Label sets.
    LabelSequence : Sequences of labels.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), section 2.3; see `FenchelYoung`.
    """

    scores_classes = True
    default_regularizer = "shannon"
    constant_sum = True

    def __init__(self, cost_matrix: Given = None) -> None:
        self.cost_matrix = cost_matrix

    def unpack(self, packed: Packed) -> Floats:
        """Basis vectors (n, K) of class positions (n,)."""
        return basis_vectors(packed, self.dim_)

    def decode(self, V: Floats) -> Any:
        """Labels (n,) of basis vectors (n, K)."""
        return self.classes_[np.asarray(V).argmax(axis=1)]

    def argmax(self, theta: Floats) -> Floats:
        """Basis vector of the largest score in each row (n, K); ties go to the first."""
        theta = np.asarray(theta)
        return basis_vectors(theta.argmax(axis=1), theta.shape[1])

    def nearest(self, mu: Floats) -> Floats:
        """Nearest vertex in ℓ1 and in ℓ2: the basis vector of the largest entry (n, K)."""
        return self.argmax(mu)

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw class k with probability μ_k, by inversion of the distribution function."""
        cumulative = np.cumsum(mu, axis=1)
        u = check_random_state(random_state).random_sample((len(mu), 1)) * cumulative[:, -1:]
        return basis_vectors((cumulative <= u).sum(axis=1), cumulative.shape[1])

    def vertices(self) -> Floats:
        """The K basis vectors (K, K)."""
        return np.eye(self._dimension())

    def vertex_proba(self, mu: Floats) -> Floats:
        """Probabilities of the classes under a draw with mean μ: μ itself (n, K)."""
        return mu

    def mean_proba(self, mu: Floats) -> Floats:
        """Class probabilities that a mean stands for: μ itself (n, K)."""
        return mu

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Zero-one loss L(μ; e_i) = 1 − μ_i, or Σ_k A[i, k] μ_k with costs A, of shape (n,)."""
        if self.costs_ is None:
            return 1.0 - np.einsum("nk,nk->n", mu, V)
        return np.einsum("nk,nk->n", np.asarray(mu) @ self.costs_, V)

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """ν, D, γ: ℓ1 (2, 2, ½); ℓ2 (√2, √2, √((K−1)/K)). Costs are at most the zero-one loss."""
        dim = self._dimension(dim)
        if norm == "l1":
            return Geometry(2.0, 2.0, 0.5)
        return Geometry(math.sqrt(2), math.sqrt(2), math.sqrt((dim - 1) / dim))
