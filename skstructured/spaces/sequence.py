"""Label sequences: a label at every position, scored alone and with the one before it."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from skstructured import _chains
from skstructured._base.component import inherit_parameters
from skstructured._base.ragged import Ragged, check_same_lengths, stack_labels
from skstructured.extend._types import Array, Floats, Given, Ints, Outputs, Seed, Vectors
from skstructured.extend.learner import SequenceReader
from skstructured.extend.output_space import Geometry
from skstructured.spaces.simplex import LabelSpace, Simplex


class Chains(Ragged):
    """Scores, or marginals, of label sequences: `unary` (N, k) of labels at positions, and `pair`.

    That is of neighboring labels, (1, k, k) for all steps or (N, k, k) for each row and the next.
    If marginals are projections, `vertices` has (labels, weights) of what each is a mean of.
    """

    def __init__(self, unary, offsets, pair, vertices=None):
        super().__init__(unary, offsets)
        self.unary, self.pair, self.vertices = unary, pair, vertices

    @property
    def arrays(self):
        """The arguments of functions of `skstructured._chains`."""
        return self.unary, self.offsets, self.pair

    @classmethod
    def of_rows(cls, unary, offsets, edges, pair):
        """Of the scores of positions (N, k), to which those of starts and ends are added."""
        unary = unary.copy()
        unary[offsets[:-1]] += edges[0]
        unary[offsets[1:] - 1] += edges[1]
        return cls(unary, offsets, pair)

    def best(self):
        """Labels of the largest scores, `Ragged` positions among the labels."""
        return Ragged(_chains.viterbi(*self.arrays)[0], self.offsets)

    def one(self, i):
        """Sequence i alone."""
        rows = slice(self.offsets[i], self.offsets[i + 1])
        pair = self.pair if len(self.pair) == 1 else self.pair[rows]
        return Chains(self.unary[rows], np.array([0, rows.stop - rows.start]), pair)

    @classmethod
    def joined(cls, parts):
        """Several, one after the other, of which each has the pairs of every step."""
        pair = np.concatenate([chains.pair for chains in parts])
        stacked = super().joined(parts)
        return cls(stacked.values, stacked.offsets, pair)

    def inner(self, other):
        """<scores, differences> (n,) with `other`, which has the pairs of every step."""
        single = np.einsum("nk,nk->n", self.unary, other.unary)
        pair = np.broadcast_to(self.pair, other.pair.shape) if len(self.pair) == 1 else self.pair
        return self.sums(single + np.einsum("nij,nij->n", pair, other.pair))

    def less(self, other):
        """The difference from `other`, as `Chains`."""
        return Chains(self.unary - other.unary, self.offsets, self.pair - other.pair)

    def sizes(self, order):
        """ℓ1 norms, or squared ℓ2 norms, (n,)."""
        power = np.abs if order == 1 else np.square
        return self.sums(power(self.unary).sum(axis=1) + power(self.pair).sum(axis=(1, 2)))


def indicators(codes, k):
    """The embeddings of labels, as `Chains`."""
    values, N = codes.values, len(codes.values)
    unary, pair = np.zeros((N, k)), np.zeros((N, k, k))
    unary[np.arange(N), values] = 1.0
    steps = np.delete(np.arange(N), codes.offsets[1:] - 1)
    pair[steps, values[steps], values[steps + 1]] = 1.0
    return Chains(unary, codes.offsets, pair)


@inherit_parameters(Simplex)
class LabelSequence(LabelSpace):
    r"""Sequences of labels, such as the letters of a word or the tags of a sentence.

    A sequence of M labels out of k is embedded by an indicator of every position and label, (M, k),
    followed by one of every step and pair of labels, (M − 1, k, k): Mk + (M − 1)k² numbers. The
    target loss is the share of wrong positions, or their mean cost. Regularizers: `Shannon` (a
    conditional random field [1]_; the default), `SquaredNorm` (SparseMAP [2]_).

    Parameters
    ----------
    {Simplex: cost_matrix}
        The target loss is the mean over positions.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        Sorted labels.
    costs_ : ndarray of shape (k, k)
        Costs in units of the largest.
    dim_ : int
        Number k of labels, the scores of a position.

    See Also
    --------
    OnlineStructuredPredictor : The online learner for this space.
    ConditionalRandomField : Batch models for this space.
    Simplex : Single labels.

    Notes
    -----
    Outputs y are lists of label arrays, of lengths from 1. Methods on embeddings accept and return
    lists of vectors, or arrays (n, dim) if all sequences have the same length. The guarantees are
    those of [3]_.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira (2001). Conditional random fields: probabilistic models for
       segmenting and labeling sequence data. ICML.

    .. [2] Niculae, Martins, Blondel, Cardie (2018). SparseMAP: differentiable sparse structured
       inference. ICML.

    .. [3] Sakaue, Bao, Tsuchiya, Oki (2024); see `FenchelYoung`.

    Examples
    --------
    >>> from skstructured.spaces import LabelSequence
    >>> space = LabelSequence().fit([["a", "b"], ["b", "b", "a"]])
    >>> [len(vector) for vector in space.encode([["a", "b"], ["b"]])]
    [8, 2]
    >>> space.target_loss([["a", "a"]], [["a", "b"]])
    array([0.5])
    """

    task = None
    reader = SequenceReader()
    instead_of_probabilities = " predict_marginals has those of every position."
    default_regularizer = "shannon"

    def __init__(self, cost_matrix: Given = None) -> None:
        self.cost_matrix = cost_matrix

    def fit(self, y: Outputs) -> Self:
        """Learn the labels from label arrays `y`; returns self."""
        return self._adopt(self._find_classes(stack_labels(y).values))

    def _costs(self, k):
        return 1.0 - np.eye(k) if self.cost_matrix is None else super()._costs(k)

    def pack(self, y: Outputs, accepts_unseen: bool = False) -> Ragged:
        """Positions of labels in `classes_`; ValueErrors list unknown labels.

        Parameters
        ----------
        y : list of label arrays
            Labels of sequences.
        accepts_unseen : bool, default=False
            Whether labels that are not among the classes are −1 instead of an error.

        Returns
        -------
        Ragged
        """
        stacked = stack_labels(y)
        return Ragged(super().pack(stacked.values, accepts_unseen), stacked.offsets)

    def unpack(self, packed: Ragged) -> Vectors:  # type: ignore[override]  # lists, too
        """Embeddings of packed outputs: a list, or an array if all have the same length."""
        ones = indicators(packed, self.dim_)
        chains = map(ones.one, range(len(packed)))
        vectors = [np.r_[chain.unary.ravel(), chain.pair[:-1].ravel()] for chain in chains]
        return np.array(vectors) if len({*map(len, vectors)}) == 1 else vectors

    def chains(self, vectors: Any) -> tuple[Floats, Ints, Floats]:
        """Scores, or marginals, of embeddings as arrays: unary (N, k), offsets, pair (N, k, k)."""
        if isinstance(vectors, Chains):
            return vectors.arrays
        k = self._dimension()
        vectors = [np.asarray(vector, dtype=np.float64) for vector in vectors]
        lengths = np.array([self._length(len(vector)) for vector in vectors])
        splits = [np.split(vector, [M * k]) for vector, M in zip(vectors, lengths, strict=True)]
        unary = np.concatenate([labels for labels, _ in splits]).reshape(-1, k)
        pairs = np.concatenate([np.r_[steps, np.zeros(k * k)] for _, steps in splits])
        return unary, Ragged.from_lengths(unary, lengths).offsets, pairs.reshape(-1, k, k)

    def _length(self, size):
        k = self.dim_
        length, remainder = divmod(size + k * k, k + k * k)
        if remainder or length < 1:
            raise ValueError(
                f"vertices of {k} labels must have M k + (M − 1) k² entries for a length M, got "
                f"{size}."
            )
        return length

    def decode(self, V: Vectors) -> list[Array]:
        """Labels, a list of arrays, of embeddings V, or of `Ragged` positions in `classes_`."""
        return [self.classes_[codes] for codes in self.codes(V).unstack()]

    def codes(self, V: Vectors | Ragged) -> Ragged:
        """`Ragged` positions in `classes_` of embeddings V; positions are unchanged."""
        if type(V) is Ragged:
            return V
        unary, offsets, _ = self.chains(V)
        return Ragged(np.argmax(unary, axis=1), offsets)

    def argmax(self, theta: Vectors) -> Vectors:  # type: ignore[override]  # lists, too
        """Embeddings of the labels of the largest score, by Viterbi's algorithm."""
        return self.unpack(Chains(*self.chains(theta)).best())

    def nearest(self, mu: Vectors) -> Vectors:  # type: ignore[override]  # lists, too
        """The vertex nearest to every mean, in ℓ1 and ℓ2: argmax <2μ − 1, y> (Prop. 3.2)."""
        return self.argmax([2.0 * np.asarray(mean) - 1.0 for mean in mu])

    def sample(self, mu: Vectors, random_state: Seed = None) -> Vectors:  # type: ignore[override]  # lists, too
        """Draw label sequences with these means, those of chains: step by step, exactly."""
        rng = check_random_state(random_state)
        unary, offsets, pairs = self.chains(mu)
        uniforms = rng.random_sample((1, len(unary)))
        return self.unpack(Ragged(_chains.sample_mean(unary, offsets, pairs, uniforms)[0], offsets))

    def vertices(self, length: int = 2) -> Floats:
        """All label sequences of one length, (k^length, dim)."""
        k = self._dimension()
        if k**length > 10**6:
            raise ValueError(
                f"{k}^{length} sequences are too many to list; at most 10^6 are supported."
            )
        codes = np.indices((k,) * length).reshape(length, -1).T
        lengths = np.full(len(codes), length)
        return np.asarray(self.unpack(Ragged.from_lengths(codes.ravel(), lengths)))

    def expected_loss(self, mu: Vectors | Ragged, V: Vectors | Ragged) -> Floats:
        """Target loss, affine in μ, of every embedding or of `Ragged` positions, (n,)."""
        truth = self.codes(V)
        if type(mu) is Ragged:
            return mean_per_sequence(self.costs_[mu.values, truth.values], truth.offsets)
        unary, _, _ = self.chains(mu)
        costs = np.einsum("nk,kn->n", unary, self.costs_[:, truth.values])
        return mean_per_sequence(costs, truth.offsets)

    def target_loss(self, y_pred: Outputs, y_true: Outputs) -> Floats:
        """Mean cost over the positions of each sequence, in [0, 1]; 1 at unseen true labels.

        Parameters
        ----------
        y_pred, y_true : list of label arrays
            Predicted and true labels, of the same lengths. True ones may be labels that `fit` has
            not seen.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            For unknown predicted labels, missing true ones, and lengths that differ.
        """
        predicted, truth = self.pack(y_pred), self.pack(y_true, accepts_unseen=True)
        check_same_lengths(predicted, truth)
        costs = self.costs_[predicted.values, truth.values]
        return mean_per_sequence(np.where(truth.values < 0, 1.0, costs), truth.offsets)

    def score_weights(self, y: Any, sample_weight: Given) -> Given:
        """Every position of a sequence counts as much as the sequence's weight."""
        lengths = np.array([*map(len, y)])
        return lengths * (1.0 if sample_weight is None else np.asarray(sample_weight))

    def geometry(self, norm: str, dim: int | None = None, length: int = 2) -> Geometry:
        """ν, D, γ for sequences of one length M.

        In ℓ1, γ is an upper bound; the least is 1/(2(2M − 1)).
        ℓ1: 4 (2 if M = 1), 2(2M − 1), 1/(2M); ℓ2: 2 (√2 if M = 1), √(2(2M − 1)), √((k−1)/(kM)).
        """
        k, M = self._dimension(dim), length
        if norm == "l1":
            return Geometry(4.0 if M > 1 else 2.0, 2.0 * (2 * M - 1), 0.5 / M)
        nu, gamma = 2.0 if M > 1 else math.sqrt(2.0), math.sqrt((k - 1) / (k * M))
        return Geometry(nu, math.sqrt(2.0 * (2 * M - 1)), gamma)


def mean_per_sequence(values, offsets):
    """Means (n,) of numbers (N,) over the positions of each sequence."""
    return np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)
