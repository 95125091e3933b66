"""Multiclass outputs: one basis vector per class."""

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._engine.compiled import kernel
from skstructured._engine.state import less
from skstructured.extend._types import Floats, Given, Packed, Seed
from skstructured.extend.output_space import Geometry
from skstructured.spaces._labels import LabelSpace


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
