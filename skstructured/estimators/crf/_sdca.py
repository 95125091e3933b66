"""Proximal stochastic dual coordinate ascent."""

import numpy as np

from skstructured._chains import batch
from skstructured._engine.rows import Rows
from skstructured.estimators.crf._ascent import ascend, entropies


class Sdca:
    r"""Weights by dual ascent, one sequence or row at a time.

    The dual of ``Σ c_i S_i + (α/2)‖Θ‖²`` is ``Σ c_i H(μ_i) − (α/2)‖Θ(μ)‖²`` with
    ``Θ(μ) = (1/α) Σ c_i (Φ_i y_i − Φ_i μ_i)``. A visit moves μ_i towards the marginals at its
    scores, by the exact step of the largest dual.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        True positions among the labels.
    rng : RandomState
        Shuffles each pass.

    References
    ----------
    Shalev-Shwartz, Zhang (2013), section 5; Le Priol, Piché, Lacoste-Julien (2018), algorithm 2.
    """

    def __init__(self, labels, rng):
        self.labels, self.rng = labels, rng

    def __call__(self, objective, Theta, max_iter, trace):
        """Weights near the optimum; the `trace` gets the passes."""
        layout, offsets, share = objective.layout, objective.offsets, objective.share
        rows = Rows.from_array(objective.X).arrays
        mu, pairs = self._start(objective, Theta)
        Theta = self._weights(objective, mu, pairs)
        entropy, slot = np.empty(len(share)), np.full(len(Theta), -1, dtype=np.int64)
        entropies(offsets, mu, pairs, entropy)
        flags = layout.intercept, int(layout.chains)
        counted = np.flatnonzero(share > 0.0)
        for _ in range(max_iter):
            order, state = self.rng.permutation(counted), (Theta, mu, pairs, slot, entropy)
            ascend(rows, offsets, order, share, objective.alpha, *flags, *state)
            if trace.add(*self._progress(objective, Theta, entropy)):
                break
        return Theta

    def _start(self, objective, Theta):
        """Marginals at the weights: uniform at zeros."""
        layout, offsets = objective.layout, objective.offsets
        scores = [objective.scores(i, Theta) for i in range(len(objective.blocks))]
        unary, pair = np.concatenate(scores), np.zeros((1, layout.dim, layout.dim))
        if layout.chains:
            start, end, pair = layout.edges(Theta)
            unary[offsets[:-1]] += start
            unary[offsets[1:] - 1] += end
            mu, _, pairs = batch.marginals(unary, offsets, pair[None], pairs="each")
            return mu, pairs
        return batch.marginals(unary, offsets, pair)[0], np.zeros((0, layout.dim, layout.dim))

    def _weights(self, objective, mu, pairs):
        """Θ(μ)."""
        layout, offsets = objective.layout, objective.offsets
        spread = np.repeat(objective.share, np.diff(offsets))
        gaps = -mu
        gaps[np.arange(len(mu)), self.labels] += 1.0
        gaps *= spread[:, None]
        parts = [objective.X.T @ gaps]
        if layout.intercept:
            parts.append(gaps.sum(axis=0)[None])
        if layout.chains:
            ends = np.array([gaps[offsets[:-1]].sum(axis=0), gaps[offsets[1:] - 1].sum(axis=0)])
            steps = objective.steps_of_truth - np.einsum("n,nij->ij", spread, pairs)
            parts += [ends, steps]
        return np.concatenate(parts) / objective.alpha

    def _progress(self, objective, Theta, entropy):
        """The objective, and its gap: to the dual, or to that at the marginals of the weights."""
        value, gradient = objective.value_and_gradient(Theta)
        square = 0.5 * objective.alpha * np.vdot(Theta, Theta)
        dual = objective.share @ entropy - square
        return value, min(max(value - dual, 0.0), objective.gap(gradient))
