"""Output spaces: the interface."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _num_samples

from skstructured._base.component import Component
from skstructured._base.validation import all_builtin, check_sign, check_vertices
from skstructured.extend._by_vertices import project
from skstructured.extend._types import Array, Floats, Given, Kernel, Outputs, Packed, Seed
from skstructured.extend.learner import RowReader


class Geometry(NamedTuple):
    """Constants of an output space in one norm (section 2 of Sakaue et al. 2024).

    Attributes
    ----------
    nu : float
        ν, the least distance between two distinct vertices.
    diameter : float
        D, the diameter of conv(Y).
    gamma : float
        γ, the least constant with ``L(μ; y) ≤ γ ‖μ − y‖`` on conv(Y) × Y.

    See Also
    --------
    OutputSpace : Returns them by `geometry`.
    skstructured.losses.LossConstants : The constants of a loss over a space.
    """

    nu: float
    diameter: float
    gamma: float


class OutputSpace(Component, ABC):
    """Embed a finite set of outputs as vertices Y ⊂ R^dim, with a target loss; the base class.

    A custom space only needs `argmax`. The other members have defaults that are right for every set
    of 0/1 vectors: outputs are the vectors themselves, the target loss is the Hamming loss, the
    constants are those of the hypercube, and an active-set method over the oracle projects and
    draws.

    Attributes
    ----------
    dim_ : int
        Dimension of the embedding, set by `fit`.

    See Also
    --------
    skstructured.spaces.Simplex, skstructured.spaces.Hypercube : Spaces of this kind.
    skstructured.utils.check_space : Check a custom space.
    Geometry : The constants of a space.
    """

    #: How scikit-learn sees a learner over this space: "multiclass", "multilabel" or None.
    task: str | None = None
    #: Whether θ has one score for each of `classes_`, as scikit-learn wants it of a classifier.
    scores_classes: bool = False
    #: Short-cut of the regularizer that a loss over this space uses where none is given.
    default_regularizer: str = "squared"
    #: What the error for a method that the space does not have says of others.
    instead_of_probabilities: str = " Use predict_mean; a custom space may define the method."
    #: Whether all vertices have the same sum, so that a number added to all scores changes nothing:
    #: losses and projections then take it off first, which keeps the digits behind it.
    constant_sum: bool = False
    #: Whether each coordinate of a vertex is one yes-or-no answer, 0 or 1: margin losses are then
    #: summed over them.
    has_indicators: bool = False
    #: Whether outputs may lie between vertices, as tied ranks do.
    has_ties: bool = False
    #: ``oracle(theta, vertex)``, a numba function that writes the vertex `argmax` would return for
    #: one row: projections then run compiled. None calls `argmax` from Python.
    oracle_kernel: Kernel | None = None
    #: Whether the rows of a round are the m² pairs of m items, those of the first item first: in
    #: lists, outputs then have an integer for each item, as `encode` reads them.
    over_pairs: bool = False
    #: How learners read X and y: one row per output, unless the space has sequences.
    reader: RowReader = RowReader()

    @abstractmethod
    def argmax(self, theta: Floats) -> Floats:
        """Linear oracle: a vertex that maximizes <θ, y> for every row of theta (n, dim)."""

    def fit(self, y: Outputs) -> Self:
        """Learn the dimension from outputs (n, dim); returns self."""
        self.dim_ = check_array(y, dtype=np.float64, input_name="y").shape[1]
        self.encode(y)
        return self

    def fit_stream(self, y: Outputs, classes: Given = None) -> Self:
        """Fit on the first chunk of a stream, of which `y` may not show every output."""
        self.fit(y)
        if classes is not None:
            self.check_classes(classes)
        return self

    def check_classes(self, classes: Given) -> None:
        """A ValueError unless `classes` are those that scikit-learn passes to ``partial_fit``.

        For multilabel outputs these are the values 0 and 1; the learner's own `classes_` are
        accepted too.
        """
        expected: Any = getattr(self, "classes_", self.label_names() if self.task else ())
        passed, expected = (set(np.ravel(labels).tolist()) for labels in (classes, expected))  # type: ignore[arg-type]
        if passed != expected and not (self.task == "multilabel" and passed <= {0, 1}):
            name = type(self).__name__
            raise ValueError(f"classes={classes!r} was given, but {name} has no class labels.")

    def label_names(self) -> Array:
        """`classes_` of learners over a space without: columns of y that have names, or numbers."""
        numbers, names = np.arange(self.dim_), getattr(self, "label_names_", None)
        has_names = names is not None and names != [*map(str, numbers)]
        return np.array(names) if has_names else numbers

    def pack(self, y: Outputs) -> Packed:
        """Validate outputs and return a compact array, one entry per sample, for `unpack`."""
        return self._encoded(y)

    def unpack(self, packed: Packed) -> Floats:
        """Vertices (n, dim) of packed outputs; learners call it block by block to bound memory."""
        return packed

    def encode(self, y: Outputs) -> Floats:
        """Vertices (n, dim) of user-side outputs; a ValueError names a row outside the space."""
        V = check_array(y, dtype=np.float64, order="C", input_name="y")
        if V.shape[1] != self._dimension():
            raise ValueError(f"y must have {self.dim_} columns, got {V.shape[1]}.")
        outside = (self._best(2.0 * V - 1.0) != V).any(axis=1)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            check_sign(self, 2.0 * V[row] - 1.0)
            raise ValueError(f"Row {row} of y, {V[row].tolist()[:20]}, {self.refusal(V[row])}.")
        return V

    def refusal(self, v: Floats) -> str:
        """Why `v` (dim,) is not a vertex: the end of an error's sentence."""
        return f"is not a vertex of {type(self).__name__}"

    def decode(self, V: Floats) -> Any:
        """User-side outputs of vertices (n, dim): the inverse of `encode`."""
        return np.rint(V).astype(np.int64)

    def nearest(self, mu: Floats) -> Floats:
        """Vertex nearest to every row of mu: for 0/1 vertices argmax <2μ − 1, y> (Prop. 3.2)."""
        return self._best(2.0 * np.asarray(mu) - 1.0)

    def _best(self, theta: Floats) -> Floats:
        """`argmax`; that of a custom space is checked, and only called for different rows."""
        if all_builtin(self):
            return self.argmax(theta)
        rows, places = np.unique(theta, axis=0, return_inverse=True)
        return check_vertices(self, "argmax", self.argmax(rows), rows.shape)[places.ravel()]

    def decompose(self, mu: Floats) -> tuple[Floats, Floats]:
        """Convex decomposition of one mean.

        Parameters
        ----------
        mu : ndarray of shape (dim,)
            A point of conv(Y).

        Returns
        -------
        vertices : ndarray of shape (k, dim), k ≤ dim + 1
        weights : ndarray of shape (k,)
            Positive, with sum 1 and ``weights @ vertices = mu``.
        """
        _, vertices, weights, _ = project(self, mu)
        return vertices, weights

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw one vertex for every row of mu (n, dim), with expectation exactly that row."""
        rng = check_random_state(random_state)
        drawn = np.empty(np.shape(mu))
        for i, row in enumerate(np.asarray(mu)):
            vertices, weights = self.decompose(row)
            drawn[i] = vertices[rng.choice(len(weights), p=weights / weights.sum())]
        return drawn

    def vertices(self) -> Floats:
        """All vertices (m, dim), for spaces small enough to list."""
        raise ValueError(f"The vertices of {type(self).__name__} are not listed.")

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Target loss L(μ; y), affine in μ: (<μ,1> + <y,1> − 2<μ,y>)/dim, of shape (n,)."""
        return np.mean(mu + V - 2.0 * mu * V, axis=1)

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """Constants ν, D, γ in `norm`, as a `Geometry`; a lower ν or larger D, γ is valid too.

        For 0/1 vertices and the Hamming loss: ℓ1 (1, d, 1/d); ℓ2 (1, √d, 1/√d).
        """
        dim = self._dimension(dim)
        if norm == "l1":
            return Geometry(1.0, float(dim), 1.0 / dim)
        return Geometry(1.0, math.sqrt(dim), 1.0 / math.sqrt(dim))

    def target_loss(self, y_pred: Outputs, y_true: Outputs) -> Floats:
        """Target loss in [0, 1] of each sample.

        Parameters
        ----------
        y_pred, y_true : array-like
            User-side outputs, in the form `encode` accepts.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            If an output is outside the space, or the numbers of outputs differ.
        """
        check_consistent_length(y_pred, y_true)
        return self.expected_loss(self._encoded(y_pred), self._encoded(y_true))

    def _encoded(self, y: Outputs) -> Floats:
        """`encode`, which a subclass may have replaced, checked."""
        return check_vertices(self, "encode", self.encode(y), (_num_samples(y), self._dimension()))

    def over(self, length: int) -> Self:
        """The space of one output over so many rows, of rounds that have any number of them."""
        space = clone(self)
        space.dim_ = length
        return space

    def score_weights(self, y: Any, sample_weight: Given) -> Given:
        """Weights of outputs in a score, which is a mean over them."""
        return sample_weight

    def _dimension(self, dim: int | None = None) -> int:
        dim = getattr(self, "dim_", None) if dim is None else dim
        if dim is None:
            name = type(self).__name__
            raise NotFittedError(f"This {name} does not know its size yet: call {name}.fit(y).")
        return dim

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dim_")
