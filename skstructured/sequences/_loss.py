"""Fenchel–Young losses of label sequences, and their constants for sequences of any length."""

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._base.shared_docs import documented
from skstructured._chains import batch
from skstructured.losses import FenchelYoung, LossConstants
from skstructured.losses.oracles import KAPPA_0
from skstructured.regularizers import Shannon, SquaredNorm


class Chains:
    """Scores, or marginals, of label sequences.

    Attributes
    ----------
    unary : ndarray of shape (N, k)
        Of labels at positions.
    offsets : ndarray of shape (n + 1,)
        Sequence i has the rows ``offsets[i]:offsets[i + 1]``.
    pair : ndarray of shape (1, k, k) or (N, k, k)
        Of labels beside each other, of all steps alike or of each row and the next.
    vertices : list or None
        Where marginals are projections, (labels, weights) of what each is a mean of.
    """

    def __init__(self, unary, offsets, pair, vertices=None):
        self.unary = unary
        self.offsets = offsets
        self.pair = pair
        self.vertices = vertices

    def __len__(self):
        return len(self.offsets) - 1

    @property
    def arrays(self):
        """What functions of `skstructured._chains.batch` are handed."""
        return self.unary, self.offsets, self.pair

    def unstack(self):
        """Unary scores of the sequences, a list of (length, k)."""
        return Ragged(self.unary, self.offsets).unstack()

    def one(self, i):
        """Sequence i alone."""
        rows = slice(self.offsets[i], self.offsets[i + 1])
        pair = self.pair if len(self.pair) == 1 else self.pair[rows]
        return Chains(self.unary[rows], np.array([0, rows.stop - rows.start]), pair)

    def inner(self, other):
        """<scores, differences> (n,) with `other`, which has the pairs of every step."""
        single = np.einsum("nk,nk->n", self.unary, other.unary)
        pair = np.broadcast_to(self.pair, other.pair.shape) if len(self.pair) == 1 else self.pair
        return np.add.reduceat(
            single + np.einsum("nij,nij->n", pair, other.pair), self.offsets[:-1]
        )

    def sizes(self, order):
        """ℓ1 norms, or squared ℓ2 norms, (n,)."""
        power = np.abs if order == 1 else np.square
        rows = power(self.unary).sum(axis=1) + power(self.pair).sum(axis=(1, 2))
        return np.add.reduceat(rows, self.offsets[:-1])


def indicators(codes, k):
    """The embeddings of labels, as `Chains`."""
    values, N = codes.values, len(codes.values)
    unary, pair = np.zeros((N, k)), np.zeros((N, k, k))
    unary[np.arange(N), values] = 1.0
    inside = np.ones(N, dtype=bool)
    inside[codes.offsets[1:] - 1] = False
    at = np.flatnonzero(inside)
    pair[at, values[at], values[at + 1]] = 1.0
    return Chains(unary, codes.offsets, pair)


@documented(FenchelYoung)
class SequenceLoss(FenchelYoung):
    r"""The loss ``c (Ω*(θ) + Ω(y) − <θ, y>)`` of label sequences, ``−c ln p(y)`` for `Shannon`.

    Scores are `Chains`; truths are `Ragged` positions among the labels. The scale c of the theory
    is the largest that any length between `shortest` and `longest` needs, so that the surrogate gap
    is at least 1 − ln 2 for all: with `Shannon` ``(2M − 1)²/(2M ln 2)``.

    Parameters
    ----------
    {FenchelYoung: space, regularizer, scale, constants}
    shortest, longest : int, default=1, 1
        Lengths of sequences.
    stretch : float, default=1.0
        What turns the largest norm² that an optimiser was told into the largest C²/λ.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), section 2; Lafferty, McCallum, Pereira (2001); Niculae,
    Martins, Blondel, Cardie (2018).
    """

    #: Optimisers are told bounds on gradients.
    lipschitz = 1.0
    #: What regularized predictions are of positions and steps, not of classes.
    has_probabilities = False

    def __init__(
        self,
        space="sequence",
        regularizer=None,
        scale="theory",
        constants="paper",
        shortest=1,
        longest=1,
        stretch=1.0,
    ):
        super().__init__(space, regularizer, scale, constants)
        self.shortest = shortest
        self.longest = longest
        self.stretch = stretch

    @property
    def projects(self):
        """Whether means are projections (SparseMAP) rather than marginals."""
        if isinstance(self.regularizer, SquaredNorm):
            return True
        if not isinstance(self.regularizer, Shannon):
            name = type(self.regularizer).__name__
            raise ValueError(
                f"There is no oracle for LabelSequence with {name}; supported are Shannon and "
                "SquaredNorm."
            )
        return False

    def _needed(self, length):
        """4γ/(λν) for sequences of one length: the c at which there is no surrogate gap."""
        nu, _, gamma = self.space.geometry("l2" if self.projects else "l1", length=length)
        wide = 2 * length - 1
        if self.projects:
            return 4.0 * gamma / nu
        if self.constants == "sharp":
            return 16.0 * (0.5 / wide) * wide**2 / (KAPPA_0 * nu)
        return 4.0 * gamma * wide**2 / nu

    def constants_of(self, dim=None):
        """The `LossConstants` for the lengths there are, b in units of C²/λ."""
        if self.constants not in ("paper", "sharp"):
            raise ValueError(f'constants must be "paper" or "sharp", got {self.constants!r}.')
        needed = max(self._needed(self.shortest), self._needed(self.longest))
        c = self._check_scale(needed / np.log(2))
        norm, wide = "l2" if self.projects else "l1", 2 * self.longest - 1
        nu, diameter, gamma = self.space.geometry(norm, length=self.longest)
        sharp = self.constants == "sharp" and not self.projects
        lam = 1.0 if self.projects else KAPPA_0 / (4 * wide**2) if sharp else 1.0 / wide**2
        smooth = 2.0 * c * self.stretch * (2.0 / KAPPA_0 if sharp else 1.0)
        return LossConstants(1.0 - needed / c, c, 1.0, lam, nu, diameter, gamma, smooth, norm)

    def mean(self, theta):
        """Marginals of positions and steps, or the projection, as `Chains`."""
        if not self.projects:
            mu, log_z, pairs = batch.marginals(*theta.arrays, pairs="each")
            batch.check_possible(log_z)
            return Chains(mu, theta.offsets, pairs)
        found = [batch.sparse_map(one.unary, one.pair) for one in map(theta.one, range(len(theta)))]
        mu, pairs = (np.concatenate([getattr(f, name) for f in found]) for name in ("mu", "pairs"))
        return Chains(mu, theta.offsets, pairs, [(f.labels, f.weights) for f in found])

    def value(self, theta, V):
        """S(θ; y), (n,), of positions V among the labels."""
        c = self.constants_of().c
        if not self.projects:
            return -c * batch.log_probability(*theta.arrays, V.values)
        mu, truth = self.mean(theta), indicators(V, self.space.dim_)
        difference = Chains(mu.unary - truth.unary, mu.offsets, mu.pair - truth.pair)
        half = 0.5 * (truth.sizes(2) - mu.sizes(2))
        return c * np.maximum(theta.inner(difference) + half, 0.0)

    def check_residual(self, work):
        """Nothing here warns of residuals."""
