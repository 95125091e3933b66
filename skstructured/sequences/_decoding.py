"""How scores of label sequences become labels."""

import functools

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.docstrings import documented
from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import weighted_mean
from skstructured._chains import batch
from skstructured._learners.decoding import Decoding
from skstructured.decoders import MAP, MinimumRisk, Nearest, Randomized, Sampled
from skstructured.extend.learner import Losses
from skstructured.losses import FenchelYoung
from skstructured.losses.oracles import KAPPA_0
from skstructured.regularizers import Shannon, SquaredNorm
from skstructured.sequences._ragged import RoundLoss
from skstructured.spaces.sequence import mean_of


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

    @property
    def decoding(self):
        """How such scores become outputs."""
        return SequenceDecoding

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

    def less(self, other):
        """The difference from `other`, as `Chains`."""
        return Chains(self.unary - other.unary, self.offsets, self.pair - other.pair)

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


@documented(FenchelYoung, RoundLoss)
class SequenceLoss(RoundLoss):
    r"""The loss ``c (Ω*(θ) + Ω(y) − <θ, y>)`` of label sequences, ``−c ln p(y)`` for `Shannon`.

    Scores are `Chains`; truths are `Ragged` positions among the labels. With `Shannon` the scale of
    the theory is ``(2M − 1)²/(2M ln 2)``.

    Parameters
    ----------
    {FenchelYoung: space, regularizer, scale, constants}
    {RoundLoss: sizes, stretch}

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), section 2; Lafferty, McCallum, Pereira (2001); Niculae,
    Martins, Blondel, Cardie (2018).
    """

    #: What regularized predictions are of positions and steps, not of classes.
    has_probabilities = False

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

    @property
    def norm(self):
        """The norm in which Ω is strongly convex: "l1" or "l2"."""
        return "l2" if self.projects else "l1"

    @property
    def _is_sharp(self):
        return self.constants == "sharp" and not self.projects

    @property
    def curvature(self):
        """See `RoundLoss`."""
        return 2.0 / KAPPA_0 if self._is_sharp else 1.0

    def _needed(self, size):
        nu, diameter, gamma = self.space.geometry(self.norm, length=size)
        wide = 2 * size - 1
        if self.projects:
            needed, lam = 4.0 * gamma / nu, 1.0
        elif self._is_sharp:
            needed, lam = 16.0 * (0.5 / wide) * wide**2 / (KAPPA_0 * nu), KAPPA_0 / (4 * wide**2)
        else:
            needed, lam = 4.0 * gamma * wide**2 / nu, 1.0 / wide**2
        return needed, diameter, gamma, -lam, -nu

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
        half = 0.5 * (truth.sizes(2) - mu.sizes(2))
        return c * np.maximum(theta.inner(mu.less(truth)) + half, 0.0)

    def check_residual(self, work):
        """Nothing here warns of residuals."""


#: Decoders that sequences know, by the name of their rule.
RULES = {
    MAP: "map",
    MinimumRisk: "min_risk",
    Nearest: "nearest",
    Randomized: "randomized",
    Sampled: "sampled",
}

#: Rules that never draw, and need no mean of steps for it.
SURE = "map", "min_risk", "nearest"


def rule_of(decoder):
    """The name of a decoder's rule; a ValueError for one that is not for sequences."""
    if type(decoder) not in RULES:
        known = ", ".join(f'"{name}"' for name in RULES.values())
        raise ValueError(f"decoder must be one of {known} for label sequences, got {decoder!r}.")
    return RULES[type(decoder)]


class SequenceDecoding(Decoding):
    """`Decoding` of label sequences, whose scores and means are `Chains`.

    y* is the best sequence for MAP, the label of the least expected cost at every position for
    `MinimumRisk`, else the vertex nearest to the mean; with probability p a draw with that mean is
    played instead: min(1, 2‖y* − μ‖/ν) for `Randomized`, 1 for `Sampled`, else 0.
    """

    def __init__(self, theta, loss, decoder):
        super().__init__(theta, loss, decoder)
        self.rule = rule_of(decoder)

    @functools.cached_property
    def positions(self):
        """Means of positions (N, k), for which those of steps are not needed."""
        if self._mu is not None or self.loss.projects:
            return self.mu.unary
        mu, log_z, _ = batch.marginals(*self.theta.arrays)
        batch.check_possible(log_z)
        return mu

    @functools.cached_property
    def anchor(self):
        """y*, as `Ragged` positions among the labels."""
        if self.rule == "map":
            return Ragged(batch.viterbi(*self.theta.arrays)[0], self.theta.offsets)
        if self.rule == "min_risk":
            return self._least_risk()
        mu = self.mu
        nearest = batch.viterbi(2.0 * mu.unary - 1.0, mu.offsets, 2.0 * mu.pair - 1.0)[0]
        return Ragged(nearest, mu.offsets)

    def _least_risk(self):
        """The label of the least expected cost at every position, as `Ragged` positions."""
        risks = self.positions @ self.space.costs_.T
        return Ragged(np.argmin(risks, axis=1), self.theta.offsets)

    @property
    def answer(self):
        """What `predict` returns, as `Ragged` positions: y*; if costs are given, the least risk."""
        draws = self.rule not in SURE and self.space.cost_matrix is not None
        return self._least_risk() if draws else self.anchor

    def scores(self):
        """Unary scores, those of starts and ends in them, a list of (length, k)."""
        return self.theta.unstack()

    def means(self):
        """Means of positions, a list of (length, k)."""
        return Ragged(self.positions, self.theta.offsets).unstack()

    def most_likely(self):
        """The decoder's most likely labels, a list of arrays."""
        return self.space.named(self.answer)

    def chances(self, anchor):
        """P (n,)."""
        if self.rule != "randomized":
            return np.full(len(anchor), float(self.rule == "sampled"))
        apart = indicators(anchor, self.space.dim_).less(self.mu)
        distance = np.sqrt(apart.sizes(2)) if self.loss.projects else apart.sizes(1)
        nu = [self.space.geometry(self.loss.norm, length=M).nu for M in (1, 2)]
        return np.minimum(1.0, 2.0 * distance / np.where(anchor.lengths > 1, nu[1], nu[0]))

    def draw(self, rng):
        """Labels drawn by the rule, a list of arrays."""
        return self.space.named(self._drawn(check_random_state(rng)))

    def _drawn(self, rng):
        anchor = self.anchor
        played = rng.random_sample(len(anchor)) < self.chances(anchor)
        drawn = self._draw_mean(rng)
        values = np.where(np.repeat(played, anchor.lengths), drawn, anchor.values)
        return Ragged(values, anchor.offsets)

    def _draw_mean(self, rng):
        uniforms = rng.random_sample((1, len(self.mu.unary)))
        if self.mu.vertices is None:
            return batch.sample_mean(*self.mu.arrays, uniforms)[0]
        drawn = []
        for (labels, weights), u in zip(
            self.mu.vertices, uniforms[0, self.mu.offsets[:-1]], strict=True
        ):
            at = np.searchsorted(np.cumsum(weights), u * weights.sum(), "right")
            drawn.append(labels[min(at, len(weights) - 1)])
        return np.concatenate(drawn)

    def expected_loss(self, V):
        """Exact expected target losses (n,) where positions V are true."""
        space, anchor = self.space, self.anchor
        chances = self.chances(anchor)
        sure = self._costs(anchor, V)
        if not chances.any():
            return sure
        mean = mean_of(space.position_costs(self.mu.unary, V.values), V.offsets)
        return (1.0 - chances) * sure + chances * mean

    def expected_losses(self, V):
        """Those (m,) of the only sequence against each of the labels V (m of its length).

        V are `Ragged` positions among the labels, or embeddings of them.
        """
        if not isinstance(V, Ragged):
            unary, offsets, _ = self.space.chains(V)
            V = Ragged(np.argmax(unary, axis=1), offsets)
        return np.concatenate([self.expected_loss(V[i : i + 1]) for i in range(len(V))])

    def truths(self, y):
        """Labels y as `Ragged` positions among the labels; a ValueError where lengths differ."""
        V = self.space.pack(y)
        check_same_lengths(Ragged(self.theta.unary, self.theta.offsets), V)
        return V

    def losses(self, V, random_state=None):
        """The `Losses` of what is played where V was true."""
        rng = check_random_state(random_state)
        drawn = self.anchor if self.rule in SURE else self._drawn(rng)
        realised = self._costs(drawn, V)
        return Losses(realised, self.expected_loss(V), self.loss.value(self.theta, V))

    def sure_losses(self, V):
        """Surrogate losses, and target losses of the most likely labels, (n,) each."""
        return self.loss.value(self.theta, V), self._costs(self.answer, V)

    def _costs(self, played, V):
        return mean_of(self.space.costs_[played.values, V.values], V.offsets)

    def score(self, y, sample_weight):
        """1 − mean target loss of positions; sequences of weight w count w times."""
        V = self.truths(y)
        costs = self.space.costs_[self.answer.values, V.values]
        if sample_weight is not None:
            sample_weight = np.repeat(np.asarray(sample_weight), V.lengths)
        return 1.0 - weighted_mean(costs, sample_weight)
