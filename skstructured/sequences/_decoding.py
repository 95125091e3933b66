"""How scores of label sequences become labels."""

import functools

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import weighted_mean
from skstructured._chains import batch
from skstructured.decoders import MAP, MinimumRisk, Nearest, Randomized, Sampled
from skstructured.extend.learner import Losses
from skstructured.sequences._loss import Chains, indicators
from skstructured.spaces.sequence import mean_of

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


class SequenceDecoding:
    """`skstructured._learners.decoding.Decoding` of label sequences, whose scores are `Chains`.

    y* is the best sequence for MAP, the label of the least expected cost at every position for
    `MinimumRisk`, else the vertex nearest to the mean; with probability p a draw with that mean is
    played instead: min(1, 2‖y* − μ‖/ν) for `Randomized`, 1 for `Sampled`, else 0.
    """

    def __init__(self, theta, loss, decoder):
        self.theta, self.loss, self.space = theta, loss, loss.space
        self.rule = rule_of(decoder)

    @functools.cached_property
    def mu(self):
        """Means, as `Chains`."""
        return self.loss.mean(self.theta)

    @functools.cached_property
    def positions(self):
        """Means of positions (N, k), for which those of steps are not needed."""
        if "mu" in vars(self) or self.loss.projects:
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
        truth, order = indicators(anchor, self.space.dim_), 2 if self.loss.projects else 1
        apart = Chains(truth.unary - self.mu.unary, truth.offsets, truth.pair - self.mu.pair)
        distance = apart.sizes(order) if order == 1 else np.sqrt(apart.sizes(order))
        norm = "l2" if self.loss.projects else "l1"
        nu = [self.space.geometry(norm, length=M).nu for M in (1, 2)]
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
