"""Multilabel outputs: one coordinate per label."""

import math
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state

from skstructured._engine.compiled import kernel
from skstructured._engine.gradients import less
from skstructured.extend._types import Floats, Outputs, Seed
from skstructured.extend.output_space import OutputSpace


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


def log_sigmoid(theta):
    """−log(1 + exp −θ) of every score (n, d), exact where it is far below 0 and nearly 0."""
    return -np.logaddexp(0.0, -theta)


NO_INDICATORS = (
    "y must be an indicator matrix of shape (n, d) with entries 0 and 1, got {}. Lists of labels "
    "become one by sklearn.preprocessing.MultiLabelBinarizer."
)


class Hypercube(OutputSpace):
    r"""Multilabel outputs as the vertices {0,1}^d of the hypercube, with the Hamming loss.

    A set of labels is a row of a 0/1 indicator matrix (n, d), dense or sparse. The target loss is
    ``L(y'; y) = (<y',1> + <y,1> − 2<y',y>)/d``, the share of wrong labels. Regularizers: `Shannon`
    (independent sigmoids; the default) and `SquaredNorm`.

    Attributes
    ----------
    dim_ : int
        d, the number of labels.
    label_names_ : list of str or None
        Columns of the y of `fit`, if it is a data frame.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), section 2.3 and appendix B.
    """

    task = "multilabel"
    default_regularizer = "shannon"

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
                f"y must have {self.dim_} columns, one per label, as at the first call; "
                f"got {V.shape[1]}."
            )
        return V

    def decode(self, V: Floats) -> Any:
        """Indicator matrix (n, d) of integers."""
        return np.asarray(V).astype(np.int64)

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

    def decompose(self, mu: Floats) -> tuple[Floats, Floats]:
        """Vertices (k, d) and weights (k,) with mean μ (d,): nested level sets, k ≤ d+1."""
        levels = np.unique(np.r_[0.0, mu, 1.0])
        vertices = (np.asarray(mu) >= levels[1:, None]).astype(np.float64)
        return vertices, np.diff(levels)


def _indicator_matrix(y):
    """Read `y` as a float64 0/1 matrix, or raise a ValueError that names the first wrong entry."""
    if issparse(y):
        y = y.toarray()
    elif _dimensions(y) != 2:
        raise ValueError(NO_INDICATORS.format(f"an array of {_dimensions(y)} dimension(s)"))
    elif np.asarray(y).dtype.kind in "SU":
        raise ValueError(NO_INDICATORS.format("texts"))
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
