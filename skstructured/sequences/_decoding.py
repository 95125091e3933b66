"""How scores of label sequences become labels."""

import functools

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._chains import batch
from skstructured.sequences._loss import Chains, indicators
from skstructured.spaces.sequence import mean_of


class Decoding:
    """How scores of sequences become labels: by a decoder's rule, with exact expectations.

    y* is the best sequence for MAP, the label of the least expected cost at every position for
    `MinimumRisk`, else the vertex nearest to the mean; with probability p a draw with that mean is
    played instead: min(1, 2‖y* − μ‖/ν) for `Randomized`, 1 for `Sampled`, else 0.
    """

    def __init__(self, theta, loss, rule):
        self.theta, self.loss, self.rule = theta, loss, rule

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
            risks = self.positions @ self.loss.space.costs_.T
            return Ragged(np.argmin(risks, axis=1), self.theta.offsets)
        mu = self.mu
        found = batch.viterbi(2.0 * mu.unary - 1.0, mu.offsets, 2.0 * mu.pair - 1.0)[0]
        return Ragged(found, mu.offsets)

    def chances(self, anchor):
        """P (n,)."""
        if self.rule != "randomized":
            return np.full(len(anchor), float(self.rule == "sampled"))
        truth, order = indicators(anchor, self.loss.space.dim_), 2 if self.loss.projects else 1
        apart = Chains(truth.unary - self.mu.unary, truth.offsets, truth.pair - self.mu.pair)
        distance = apart.sizes(order) if order == 1 else np.sqrt(apart.sizes(order))
        norm = "l2" if self.loss.projects else "l1"
        nu = [self.loss.space.geometry(norm, length=M).nu for M in (1, 2)]
        return np.minimum(1.0, 2.0 * distance / np.where(anchor.lengths > 1, nu[1], nu[0]))

    def draw(self, rng):
        """Labels drawn by the rule."""
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
        space, anchor = self.loss.space, self.anchor
        chances = self.chances(anchor)
        sure = mean_of(space.costs_[anchor.values, V.values], V.offsets)
        if not chances.any():
            return sure
        mean = mean_of(space.position_costs(self.mu.unary, V.values), V.offsets)
        return (1.0 - chances) * sure + chances * mean
