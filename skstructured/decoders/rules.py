"""Decoders over any space: the likeliest, the nearest, the least costly, and those that draw."""

import numpy as np

from skstructured._base.plugins import all_builtin, check_vertices
from skstructured._base.validation import check_share
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.losses.gap import GapSurrogate
from skstructured.metrics import gains
from skstructured.spaces import Birkhoff, OrdinalChain, Simplex


def _nearest(mu, loss):
    V = loss.space.nearest(mu)
    return V if all_builtin(loss.space) else check_vertices(loss.space, "nearest", V, mu.shape)


def _least_risk(mu, loss):
    """argmin of the expected target loss: of the costs, or the nearest vertex without costs."""
    space = loss.space
    costs = space.costs_ if isinstance(space, (Simplex, OrdinalChain)) else None
    if costs is None:
        return _nearest(mu, loss)
    return space.unpack(np.argmin(space.vertex_proba(np.asarray(mu)) @ costs.T, axis=1))


class MAP(Decoder):
    """Maximum a posteriori: the linear oracle ``argmax_{y ∈ Y} <θ, y>``. Deterministic."""

    by_scores = ignores_costs = True

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

    ignores_costs = True

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
    >>> for costs in (None, [[0, 20], [1, 0]]):  # the second: "well" of the ill costs 20
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


class GapDecoder(Decoder):
    """Gaptron's prediction: ``p' = (1 − max(a, ρ)) e_{y*} + max(a, ρ)/K`` with the gap a(θ).

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"} or None, default=None
        The surrogate whose gap is exploited; see `GapSurrogate`. None is that of the learner, and
        "logistic" where it has another loss.
    exploration : float, default=0.0
        ρ in [0, 1], the least mass spread over all classes.

    Notes
    -----
    Its theorems are those of `GaptronClassifier`; Lemma 3.1 of Sakaue et al. (2024), which
    `OnlineStructuredPredictor` relies on, does not hold for it.

    References
    ----------
    van der Hoeven (2020), Algorithm 1.
    """

    only_over = Simplex

    def __init__(self, loss: str | None = None, exploration: float = 0.0) -> None:
        self.loss = loss
        self.exploration = exploration

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* and max(a, ρ)."""
        self.check_space(loss)
        least = check_share("exploration", self.exploration)
        gaps = GapSurrogate(kind=self.kind_for(loss)).gaps(theta)
        return loss.space.argmax(theta), np.maximum(gaps, least)

    def kind_for(self, loss: Loss) -> str:
        """The kind of the surrogate whose gap is exploited with a learner's loss."""
        own = loss.kind if isinstance(loss, GapSurrogate) else "logistic"
        return own if self.loss is None else self.loss

    def keeps_bound(self, loss: Loss) -> bool:
        """Whether p' is Gaptron's for the loss: of the same kind, without further exploration."""
        same = isinstance(loss, GapSurrogate) and self.kind_for(loss) == loss.kind
        return same and self.exploration == 0.0

    def draw_mean(self, theta: Floats, mu: Floats) -> Floats:
        """Uniform: 1/K everywhere."""
        return np.full(np.shape(theta), 1.0 / np.shape(theta)[1])


class DiscountedGain(Decoder):
    """Calibrated decoding for NDCG on `Birkhoff`: items sorted by their expected gain.

    With P the matrix (items × positions) of a ranking and relevance ``m − 1 − position`` in the
    truth, ``NDCG(y'; y) = <P(y') discount, P(y) gain>/const`` is affine in the truth, so that its
    expectation under ŷ_Ω(θ) is largest where items are sorted by ``ŷ gain``. Deterministic.

    Parameters
    ----------
    gain : {"exponential", "linear"}, default="exponential"
        Whether an item gains 2^relevance − 1 or its relevance; see `skstructured.metrics.ndcg`.

    Raises
    ------
    ValueError
        Over any other space than `Birkhoff`.

    References
    ----------
    Blondel (2019), "Structured prediction with projection oracles", section 4 and appendix.
    """

    only_over = Birkhoff

    def __init__(self, gain: str = "exponential") -> None:
        self.gain = gain

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = items by decreasing expected gain and p = 0."""
        self.check_space(loss)
        m = round(mu.shape[1] ** 0.5)
        expected = mu.reshape(-1, m, m) @ gains(np.arange(m - 1, -1, -1), self.gain)
        positions = np.argsort(np.argsort(-expected, axis=1, kind="stable"), axis=1)
        return loss.space.unpack(positions), np.zeros(len(mu))
