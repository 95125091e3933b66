"""Decoders over any space: the likeliest, the nearest, the least costly, and those that draw."""

import numpy as np

from skstructured._base.foreign import check_vertices, is_plain
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.spaces import OrdinalChain, Simplex


def _nearest(mu, loss):
    V = loss.space.nearest(mu)
    return V if is_plain(loss.space) else check_vertices(loss.space, "nearest", V, mu.shape)


def _costs(space):
    """The costs that were given to a space of classes, None if there are none."""
    return space.costs_ if isinstance(space, (Simplex, OrdinalChain)) else None


def _least_risk(mu, loss):
    """argmin of the expected target loss: of the costs, or the nearest vertex without costs."""
    space, costs = loss.space, _costs(loss.space)
    if costs is None:
        return _nearest(mu, loss)
    return space.unpack(np.argmin(space.vertex_proba(np.asarray(mu)) @ costs.T, axis=1))


class MAP(Decoder):
    """Maximum a posteriori: the linear oracle ``argmax_{y ∈ Y} <θ, y>``. Deterministic."""

    by_scores = True

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = argmax <θ, y> and p = 0."""
        best = check_vertices(loss.space, "argmax", loss.space.argmax(theta), theta.shape)
        return best, np.zeros(len(theta))


class Nearest(Decoder):
    """The vertex nearest to ŷ_Ω(θ) in the pair's norm (Sakaue et al. 2024, Prop. 3.2 and C.1).

    Deterministic. For the target losses of the shipped spaces, which are affine in the truth as
    well, it is also the calibrated decoding ``argmin_{y'} L(y'; ŷ_Ω(θ))`` (Blondel 2019), but for
    costs that were given and for label sequences, where steps count in the norm: see `MinimumRisk`.
    """

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = nearest vertex to μ and p = 0."""
        return _nearest(mu, loss), np.zeros(len(mu))


class MinimumRisk(Decoder):
    r"""The output of the least expected target loss, ``argmin_{y'} L(y'; ŷ_Ω(θ))``. Deterministic.

    With costs A[predicted, true] and probabilities p of classes it is ``argmin_i Σ_j A[i, j] p_j``:
    the likeliest class for zero-one costs, the median for |i − j|. Label sequences have it at every
    position by itself, with the marginals there: the likeliest label of each, without costs, which
    may differ from "map" and from "nearest", two rules for whole sequences. Costs are parameters of
    the spaces: ``Simplex(cost_matrix)``, ``OrdinalChain(cost_matrix=…)``,
    ``LabelSequence(cost_matrix)``.

    Notes
    -----
    Of equals, the first label. Without costs on "simplex" and "ordinal", and on every other space,
    it is `Nearest`, which has the least expected loss for the target losses of shipped spaces; a
    space of one's own with another target loss is asked for its nearest vertex too.

    References
    ----------
    Blondel (2019), "Structured prediction with projection oracles", section 4; Nowak-Vila, Bach,
    Rudi (2020), "Consistent structured prediction with max-min margin Markov networks", section 2;
    for sequences Rabiner (1989), "A tutorial on hidden Markov models", section III.B.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import ConditionalRandomField
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), ["well", "well", "ill", "ill"]
    >>> for costs in (None, [[0, 1], [20, 0]]):  # the second: "well" of the ill costs 20
    ...     model = ConditionalRandomField("simplex", decoder="min_risk", cost_matrix=costs)
    ...     print(model.set_params(alpha=0.1).fit(X, y).predict([[-0.5]]))
    ['well']
    ['ill']
    """

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = argmin of the expected loss and p = 0."""
        return _least_risk(mu, loss), np.zeros(len(mu))


class Randomized(Decoder):
    """Randomized decoding (Sakaue et al. 2024, Algorithm 1).

    With y* the vertex nearest to ŷ_Ω(θ), ``Δ* = ‖y* − ŷ‖`` and ``p = min(1, 2Δ*/ν)``, returns y*
    with probability 1 − p and otherwise a vertex drawn with mean exactly ŷ. Then
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) S(θ; y)`` for every θ and y (Lemma 3.1).
    """

    exploits_gap = True

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = nearest vertex to μ and p = min(1, 2‖y* − μ‖/ν)."""
        anchor = _nearest(mu, loss)
        nu = loss.space.geometry(loss.norm, mu.shape[1]).nu
        distance = np.linalg.norm(anchor - mu, ord=1 if loss.norm == "l1" else 2, axis=1)
        return anchor, np.minimum(1.0, 2.0 * distance / nu)

    def most_likely(self, theta: Floats, mu: Floats, loss: Loss) -> Floats:
        """y* (n, dim), without p; with costs the output of the least expected cost."""
        return _least_risk(mu, loss)


class Sampled(Decoder):
    """Always a vertex drawn with mean ŷ_Ω(θ); with entropies over vertices, a Gibbs sample."""

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = nearest vertex to μ and p = 1."""
        return _nearest(mu, loss), np.ones(len(mu))

    def most_likely(self, theta: Floats, mu: Floats, loss: Loss) -> Floats:
        """y* (n, dim), without p; with costs the output of the least expected cost."""
        return _least_risk(mu, loss)
