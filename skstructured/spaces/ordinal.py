"""Ordinal classes: the staircase vertices 1…1 0…0."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state, column_or_1d

from skstructured._base.component import inherit_parameters
from skstructured._engine.compiled import kernel
from skstructured._engine.state import less
from skstructured.extend._types import Floats, Given, Outputs, Packed, Seed
from skstructured.extend.output_space import Geometry
from skstructured.spaces.simplex import LabelSpace, Simplex, declared_order, log_softmax


@kernel
def staircase_projection(theta, truth, mu, params, work):
    """∇ = μ − y, μ the projection of θ on 1 ≥ μ_1 ≥ … ≥ μ_d ≥ 0; returns <θ,μ> − ½‖μ‖².

    Non-increasing isotonic fit by pooling adjacent violators, then clipping.
    """
    dim = theta.shape[0]
    means, sizes = work[:dim], work[dim : 2 * dim]
    blocks = 0
    for k in range(dim):
        mean, size = theta[k], 1.0
        while blocks > 0 and means[blocks - 1] <= mean:
            blocks -= 1
            size += sizes[blocks]
            if means[blocks] < mean:
                mean += (means[blocks] - mean) * (sizes[blocks] / size)
        means[blocks], sizes[blocks] = mean, size
        blocks += 1
    position, value = 0, 0.0
    for b in range(blocks):
        level = min(max(means[b], 0.0), 1.0)
        for _ in range(int(sizes[b])):
            mu[position] = level
            if level > 0.0:
                value += level * (theta[position] - 0.5 * level)
            position += 1
    less(mu, truth)
    return value


@kernel
def staircase_marginals(theta, truth, mu, params, work):
    """∇ = μ − y, μ_j = P(class ≥ j), P ∝ exp of (0, cumsum θ); returns the log-partition."""
    dim = theta.shape[0]
    total, top = 0.0, 0.0
    for k in range(dim):
        total += theta[k]
        work[k] = total
        top = max(top, total)
    tail = 0.0
    for k in range(dim - 1, -1, -1):
        tail += math.exp(work[k] - top)
        mu[k] = tail
    partition = tail + math.exp(-top)
    for k in range(dim):
        mu[k] /= partition
    less(mu, truth)
    return top + math.log(partition)


def staircase_rows(theta):
    """P(class ≥ j) (n, d) and log-partitions (n,) of every row; see `staircase_marginals`."""
    columns = np.ascontiguousarray(_prefix_sums(theta).T)
    top = columns.max(axis=0)
    tails = np.cumsum(np.exp(columns - top)[::-1], axis=0)[::-1]
    return np.ascontiguousarray((tails[1:] / tails[0]).T), top + np.log(tails[0])


def log_staircase(theta):
    """Log-probabilities (n, d+1) of the classes, P ∝ exp of (0, cumsum θ)."""
    return log_softmax(_prefix_sums(theta))


@inherit_parameters(Simplex)
class OrdinalChain(LabelSpace):
    r"""d+1 ordinal classes as staircases 1…1 0…0 in R^d, with the absolute loss.

    The j-th class (from 0) has j leading ones, so ``<θ, y>`` sums the first j scores. The target
    loss is ``|j − j'|/d`` [1]_. Regularizers: `Shannon` (the entropy over the d+1 vertices, a
    conditional random field; the default), `SquaredNorm` (isotonic fit [2]_).

    Parameters
    ----------
    categories : array-like of shape (d+1,) or None, default=None
        Labels in their order. None uses the order of an ordered pandas categorical, including
        categories without rows, and sorts numbers. Three or more strings such as "poor", "fair",
        "good" have no natural order and raise a ValueError. scikit-learn's ``cross_val_predict``
        sorts labels itself for every method except "predict".
    {Simplex: cost_matrix}

    Attributes
    ----------
    classes_ : ndarray of shape (d+1,)
        Labels in their order.
    costs_ : ndarray of shape (d+1, d+1) or None
        Costs in units of the largest, if there is a cost matrix.
    dim_ : int
        Number d of thresholds, one less than classes.

    See Also
    --------
    Simplex : Classes without an order.
    skstructured.StructuredRegressor : Regression, if y is a number.

    Notes
    -----
    Classes can be numbers of any kind, such as 2.5. Without `categories`, y is refused as
    continuous if it has fractions and, in more than 20 rows, more than half as many distinct
    numbers as rows.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), section 2.3; see `FenchelYoung`.

    .. [2] Blondel (2019). Structured prediction with projection oracles. NeurIPS.
    """

    _fractions = True

    default_regularizer = "shannon"
    has_indicators = is_ordered = True

    def __init__(self, categories: Given = None, cost_matrix: Given = None) -> None:
        self.categories = categories
        self.cost_matrix = cost_matrix

    def _dim_of(self, n_classes):
        return n_classes - 1

    def _find_classes(self, y):
        order = self._declared_order(y)
        if order is not None:
            _check_known("y", y, order)
            return order
        classes = _check_sortable(super()._find_classes(y))
        fractions = classes[classes != np.rint(classes)] if classes.dtype.kind == "f" else ()
        if len(fractions) > 0 and 20 < len(y) < 2 * len(classes):
            raise ValueError(
                "Unknown label type: continuous. Labels must be classes, "
                f"got {len(classes)} distinct numbers in {len(y)} rows, such as {fractions[0]:g}. "
                "If they are ordinal classes, list them: OrdinalChain(categories=[…]). For numbers "
                "use StructuredRegressor."
            )
        return classes

    def _declared_order(self, *labels):
        """`categories`, else those of the first ordered categorical among `labels`, else None."""
        declared = [self.categories, *map(declared_order, labels)]
        order = next((np.asarray(names) for names in declared if names is not None), None)
        if order is not None and (order.ndim != 1 or not 2 <= len(order) == len(set(order))):
            raise ValueError(
                f"categories must list at least two distinct labels, got {order.tolist()!r}."
            )
        return order

    def fit_stream(self, y: Outputs, classes: Given = None) -> Self:
        """Fit on the first chunk of a stream.

        The classes in their order are `categories`; else those of `classes` or else of `y` if that
        is an ordered categorical; else the labels `classes`, sorted, which are then required.
        """
        order = self._declared_order(classes, y)
        if order is None:
            super().fit_stream(y, classes)
            _check_sortable(self.classes_)
            return self
        _check_known("y", y, order)
        self._adopt(order)
        if classes is not None:
            self.check_classes(classes)
        return self

    def check_classes(self, classes: Given) -> None:
        """A ValueError unless `classes` are some of `classes_`: their order is known already."""
        _check_known("classes", classes, self.classes_)

    def unpack(self, packed: Packed) -> Floats:
        """Staircases (n, d) of class positions (n,)."""
        return _staircases(packed, self.dim_)

    def decode(self, V: Floats) -> Any:
        """Labels (n,) of staircases (n, d)."""
        return self.classes_[np.rint(np.sum(V, axis=1)).astype(np.intp)]

    def argmax(self, theta: Floats) -> Floats:
        """Best prefix: the class of the largest of (0, cumsum θ), ties to the lowest (n, d)."""
        prefix = _prefix_sums(theta)
        return _staircases(np.argmax(prefix, axis=1), prefix.shape[1] - 1)

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw one uniform u per row; coordinate j is 1 if μ_j > u."""
        u = check_random_state(random_state).random_sample((len(mu), 1))
        return (np.asarray(mu) > u).astype(np.float64)

    def vertices(self) -> Floats:
        """The d+1 staircases (d+1, d)."""
        d = self._dimension()
        return _staircases(np.arange(d + 1), d)

    def vertex_proba(self, mu: Floats) -> Floats:
        """Probabilities of the classes under a draw with mean μ: 1−μ_1, μ_1−μ_2, …, μ_d."""
        n = len(mu)
        bounded = np.concatenate([np.ones((n, 1)), mu, np.zeros((n, 1))], axis=1)
        return bounded[:, :-1] - bounded[:, 1:]

    def mean_proba(self, mu: Floats) -> Floats:
        """Class probabilities (n, d+1) that a mean stands for: `vertex_proba`."""
        return self.vertex_proba(mu)

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Target loss L(μ; y), affine in μ and in y: Σ|μ − y|/d, or Σ_ij P_i(y) A[i, j] P_j(μ)."""
        if self.costs_ is None:
            return super().expected_loss(mu, V)
        drawn, true = self.vertex_proba(mu), self.vertex_proba(V)
        return np.einsum("nk,nk->n", drawn @ self.costs_, true)

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """ν, D, γ of `OutputSpace`; with costs A, γ = max A[i, j]/|i − j| in ℓ1, √d times in ℓ2."""
        plain, costs = super().geometry(norm, dim), self.costs_
        if costs is None:
            return plain
        steps = np.abs(np.subtract.outer(np.arange(len(costs)), np.arange(len(costs))))
        gamma = (costs / np.maximum(steps, 1)).max()
        return plain._replace(gamma=float(gamma if norm == "l1" else gamma * plain.diameter))


def _check_known(name, labels, categories):
    """A ValueError that names labels outside `categories`."""
    missing = set(column_or_1d(labels, warn=True).tolist()) - set(categories.tolist())
    if missing:
        raise ValueError(
            f"{name} contains labels that are not in categories: {sorted(missing, key=repr)[:5]}; "
            f"the categories are {categories.tolist()[:10]}."
        )


def _check_sortable(classes):
    """`classes`; a ValueError for three words or more, rarely meant in alphabetical order."""
    if len(classes) > 2 and any(isinstance(label, (str, bytes)) for label in classes.tolist()):
        raise ValueError(
            f"y has string labels, {classes.tolist()[:5]}, whose order is unknown. "
            "Pass OrdinalChain(categories=[...]) with the labels from lowest to highest, or an "
            "ordered pandas categorical as y."
        )
    return classes


def _prefix_sums(theta):
    """(0, cumsum θ) of every row: the score of each class, (n, d+1)."""
    prefix = np.zeros((len(theta), np.shape(theta)[1] + 1))
    np.cumsum(theta, axis=1, out=prefix[:, 1:])
    return prefix


def _staircases(codes, dim):
    """Vertices with `codes` leading ones."""
    return (np.asarray(codes)[:, None] > np.arange(dim)).astype(np.float64)
