"""Multilabel outputs: one coordinate per label."""

import math
from typing import Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, log_expit
from sklearn.utils import check_array, check_random_state

from skstructured._engine.compiled import kernel
from skstructured._engine.state import less
from skstructured.extend._types import Floats, Outputs, Seed
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces.simplex import LabelSpace


@kernel
def clip(theta, truth, mu, params, work):
    """∇ = μ − y with μ = clip(θ, 0, 1), into mu; returns <θ,μ> − ½‖μ‖²."""
    value = 0.0
    for k in range(theta.shape[0]):
        mu[k] = min(max(theta[k], 0.0), 1.0)
        if mu[k] > 0.0:
            value += mu[k] * (theta[k] - 0.5 * mu[k])
    less(mu, truth)
    return value


@kernel
def sigmoid(theta, truth, mu, params, work):
    """∇ = μ − y with μ_k = 1/(1 + exp −θ_k), into mu; returns Σ log(1 + exp θ_k)."""
    value = 0.0
    for k in range(theta.shape[0]):
        e = math.exp(-abs(theta[k]))
        mu[k] = (1.0 if theta[k] >= 0.0 else e) / (1.0 + e)
        value += max(theta[k], 0.0) + math.log1p(e)
    less(mu, truth)
    return value


def sigmoid_rows(theta):
    """1/(1 + exp −θ_k) (n, d) and Σ log(1 + exp θ_k) (n,) of every row."""
    return expit(theta), -log_expit(-theta).sum(axis=1)


class Hypercube(OutputSpace):
    r"""Multilabel outputs as the vertices {0,1}^d of the hypercube, with the Hamming loss.

    A set of labels is a row of a 0/1 indicator matrix (n, d), dense or sparse. The target loss is
    ``L(y'; y) = (<y',1> + <y,1> − 2<y',y>)/d``, the share of wrong labels. Regularizers: `Shannon`
    (independent sigmoids; the default) and `SquaredNorm`.

    Attributes
    ----------
    dim_ : int
        Number d of labels.
    label_names_ : list of str or None
        Columns of the y of `fit`, if it is a data frame.

    See Also
    --------
    Simplex : Classes, if exactly one label is true.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), section 2.3 and appendix B; see `FenchelYoung`.
    """

    task = "multilabel"
    default_regularizer = "shannon"
    has_indicators = True

    def fit(self, y: Outputs) -> Self:
        """Learn the number of labels from an indicator matrix (n, d); returns self."""
        self.dim_ = _indicator_matrix(y).shape[1]
        self.label_names_ = [str(name) for name in getattr(y, "columns", ())] or None
        return self

    def encode(self, y: Outputs) -> Floats:
        """Indicator matrix (n, d) as float64; a ValueError names an entry other than 0 or 1."""
        V = _indicator_matrix(y)
        if V.shape[1] != self._dimension():
            raise ValueError(
                f"y must have {self.dim_} columns, one per label, as in training; got {V.shape[1]}."
            )
        return V

    def argmax(self, theta: Floats) -> Floats:
        """Labels with a positive score (n, d)."""
        return (np.asarray(theta) > 0).astype(np.float64)

    def nearest(self, mu: Floats) -> Floats:
        """Nearest vertex in every norm: μ rounded, ½ to 0 (n, d)."""
        return (np.asarray(mu) > 0.5).astype(np.float64)

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw the labels independently, label k with probability μ_k."""
        u = check_random_state(random_state).random_sample(np.shape(mu))
        return (u < mu).astype(np.float64)

    def vertices(self) -> Floats:
        """All 2^d multilabel outputs (2^d, d); d ≤ 16."""
        d = self._dimension()
        if d > 16:
            raise ValueError(f"2^{d} vertices are too many to list; at most d = 16 is supported.")
        return ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(np.float64)

    def mean_proba(self, mu: Floats) -> Floats:
        """Probability of each label that a mean stands for: μ itself (n, d)."""
        return mu


def _indicator_matrix(y):
    """Read `y` as a float64 0/1 matrix, or raise a ValueError that names the first wrong entry."""
    y = y.toarray() if issparse(y) else y
    n_dimensions = _dimensions(y)
    if n_dimensions != 2 or np.asarray(y).dtype.kind in "SU":
        kind = "strings" if n_dimensions == 2 else f"an array of {n_dimensions} dimension(s)"
        raise ValueError(
            f"y must be an indicator matrix of shape (n, d) with entries 0 and 1, got {kind}. "
            "Convert lists of labels with sklearn.preprocessing.MultiLabelBinarizer."
        )
    V = check_array(y, dtype=np.float64, order="C", input_name="y")
    wrong = (V != 0.0) & (V != 1.0)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"y must hold only 0 and 1, got {V[i, j]:g} in row {i}, column {j} "
            "(an indicator matrix has one column per label)."
        )
    return V


def _dimensions(y):
    """Dimensions of `y` as an array; 1 for a list of lists of different lengths."""
    try:
        return np.ndim(y)
    except ValueError:
        return 1


@kernel
def _count_distributions(p, counts):
    """counts[k(k+1)/2 + t] = P(t of the first k labels are true), for every k and t ≤ k."""
    counts[0] = 1.0
    for k in range(p.shape[0]):
        row_start, after = k * (k + 1) // 2, (k + 1) * (k + 2) // 2
        for t in range(k + 2):
            without = (1.0 - p[k]) * counts[row_start + t] if t <= k else 0.0
            counts[after + t] = without + (p[k] * counts[row_start + t - 1] if t > 0 else 0.0)


@kernel
def best_size(p, empty, counts, inverse):
    """The k for which the first k labels of p (d,), which falls, have the best expected F1.

    With S_k and R_k the numbers of true labels among the first k and behind them, E F1 is
    ``Σ_t P(S_k = t) 2t r_k(k + t)``, with ``r_k(α) = E 1/(α + R_k)``; ``r_d(α) = 1/α``, and
    ``r_{k−1}(α) = p_k r_k(α + 1) + (1 − p_k) r_k(α)``: all terms are positive, O(d²) in all. No
    label has ``empty · P(S_d = 0)``. Of equals the smallest k. counts is ((d+1)(d+2)/2,), inverse
    (2d+1,).
    """
    d = p.shape[0]
    _count_distributions(p, counts)
    best, size = empty * counts[d * (d + 1) // 2], 0
    for a in range(1, 2 * d + 1):
        inverse[a] = 1.0 / a
    for k in range(d, 0, -1):
        value, row = 0.0, k * (k + 1) // 2
        for t in range(1, k + 1):
            value += counts[row + t] * (2.0 * t * inverse[k + t])
        if value > best or (value == best and size > 0):
            best, size = value, k
        for a in range(1, 2 * k):
            inverse[a] = p[k - 1] * inverse[a + 1] + (1.0 - p[k - 1]) * inverse[a]
    return size


@kernel
def _best_sizes(P, empty, counts, inverse, sizes):
    """`best_size` of every row of P."""
    for i in range(P.shape[0]):
        sizes[i] = best_size(P[i], empty, counts, inverse)


def best_label_sets(mu, empty):
    """Sets of labels (n, d) of the largest expected F1 for independent labels of marginals μ.

    For each size k the most likely k labels are the best set (Lewis 1995); `best_size` finds k.
    `empty` is the value of the empty set if no label is true.
    """
    order = np.argsort(-mu, axis=1, kind="stable")
    falling, sizes = np.take_along_axis(mu, order, axis=1), np.empty(len(mu))
    d = mu.shape[1]
    counts, inverse = np.empty((d + 1) * (d + 2) // 2), np.empty(2 * d + 1)
    _best_sizes(np.ascontiguousarray(falling), float(empty), counts, inverse, sizes)
    V = np.empty(mu.shape)
    np.put_along_axis(V, order, (np.arange(d) < sizes[:, None]).astype(np.float64), axis=1)
    return V


class Signs(LabelSpace):
    """Two classes as −1 and 1 (dim 1); K > 2 classes as the vectors of K signs with a single 1."""

    scores_classes = True

    def _dim_of(self, n_classes):
        return 1 if n_classes == 2 else n_classes

    def unpack(self, packed):
        """Vertices (n, dim) of class positions (n,)."""
        return self.vertices()[packed]

    def vertices(self):
        """Those of all classes, (K, dim)."""
        if self._dimension() == 1:
            return np.array([[-1.0], [1.0]])
        return 2.0 * np.eye(self.dim_) - 1.0

    def _positions(self, V):
        V = np.asarray(V)
        return (V[:, 0] > 0.0).astype(np.intp) if V.shape[1] == 1 else np.argmax(V, axis=1)

    def decode(self, V):
        """Labels (n,) of vertices."""
        return self.classes_[self._positions(V)]

    def argmax(self, theta):
        """The vertex of the largest score; for two classes 1 if the score is above 0."""
        return self.unpack(self._positions(theta))

    nearest = argmax

    def vertex_proba(self, mu):
        """Probabilities (n, K) of the classes under a draw with mean μ in conv(Y)."""
        share = 0.5 + 0.5 * np.asarray(mu)
        return np.hstack([1.0 - share, share]) if share.shape[1] == 1 else share

    def mean_proba(self, mu):
        """Class probabilities (n, K) of shares (1 + μ)/2, one against the rest, made to sum to 1.

        If all are 0, the classes are equally likely.
        """
        share = self.vertex_proba(mu)
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, share / np.maximum(total, 1e-300), 1.0 / share.shape[1])

    def expected_loss(self, mu, V):
        """Zero-one loss L(μ; v), affine in μ, of shape (n,)."""
        agreement = np.einsum("nk,nk->n", mu, V)
        if self.dim_ == 1:
            return 0.5 - 0.5 * agreement
        return 0.25 * (self.dim_ - agreement)
