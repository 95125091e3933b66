"""Decoders ψ: how scores become outputs."""

import copy

import numpy as np

from skstructured._foreign import check_vertices
from skstructured._validation import check_share
from skstructured.base import Decoder, resolve
from skstructured.metrics import gains
from skstructured.spaces import Birkhoff, Hypercube, OrdinalChain, Simplex
from skstructured.spaces._expected_f1 import best_label_sets

__all__ = [
    "MAP",
    "DiscountedGain",
    "ExpectedF1",
    "MinimumRisk",
    "Nearest",
    "Randomized",
    "Sampled",
    "Threshold",
]


def _nearest(mu, loss):
    return check_vertices(loss.space, "nearest", loss.space.nearest(mu), mu.shape)


class MAP(Decoder):
    """Maximum a posteriori: the linear oracle ``argmax_{y ∈ Y} <θ, y>``. Deterministic."""

    def mixture(self, theta, mu, loss):
        """y* = argmax <θ, y> and p = 0."""
        best = check_vertices(loss.space, "argmax", loss.space.argmax(theta), theta.shape)
        return best, np.zeros(len(theta))


class Nearest(Decoder):
    """The vertex nearest to ŷ_Ω(θ) in the pair's norm (Sakaue et al. 2024, Prop. 3.2 and C.1).

    Deterministic. For the target losses of the shipped spaces, which are affine in the truth as
    well, it is also the calibrated decoding ``argmin_{y'} L(y'; ŷ_Ω(θ))`` (Blondel 2019), but for
    costs that were given and for label sequences, where steps count in the norm: see `MinimumRisk`.
    """

    def mixture(self, theta, mu, loss):
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

    def mixture(self, theta, mu, loss):
        """y* = argmin of the expected loss and p = 0."""
        space, stay = loss.space, np.zeros(len(mu))
        costs = space.costs_ if isinstance(space, (Simplex, OrdinalChain)) else None
        if costs is None:
            return _nearest(mu, loss), stay
        risks = space.vertex_proba(np.asarray(mu)) @ costs.T
        return space.unpack(np.argmin(risks, axis=1)), stay


class Randomized(Decoder):
    """Randomized decoding (Sakaue et al. 2024, Algorithm 1).

    With y* the vertex nearest to ŷ_Ω(θ), ``Δ* = ‖y* − ŷ‖`` and ``p = min(1, 2Δ*/ν)``, returns y*
    with probability 1 − p and otherwise a vertex drawn with mean exactly ŷ. Then
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) S(θ; y)`` for every θ and y (Lemma 3.1).
    """

    exploits_gap = True

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = min(1, 2‖y* − μ‖/ν)."""
        anchor = _nearest(mu, loss)
        constants = loss.constants_of(mu.shape[1])
        order = 1 if constants.norm == "l1" else 2
        distance = np.linalg.norm(anchor - mu, ord=order, axis=1)
        return anchor, np.minimum(1.0, 2.0 * distance / constants.nu)

    def most_likely(self, theta, mu, loss):
        """y* (n, dim), without p."""
        return _nearest(mu, loss)


class Sampled(Decoder):
    """Always a vertex drawn with mean ŷ_Ω(θ); with entropies over vertices, a Gibbs sample."""

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = 1."""
        return _nearest(mu, loss), np.ones(len(mu))


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

    def __init__(self, gain="exponential"):
        self.gain = gain

    def mixture(self, theta, mu, loss):
        """y* = items by decreasing expected gain and p = 0."""
        self._only_over(Birkhoff, loss)
        m = round(mu.shape[1] ** 0.5)
        expected = mu.reshape(-1, m, m) @ gains(np.arange(m - 1, -1, -1), self.gain)
        positions = np.argsort(np.argsort(-expected, axis=1, kind="stable"), axis=1)
        return loss.space.unpack(positions), np.zeros(len(mu))


class ExpectedF1(Decoder):
    """The label set of the largest expected F1 of its row, from the marginals it is given.

    ``F1(y'; y) = 2<y', y>/(<y', 1> + <y, 1>)``, its expectation over independent labels of given
    probabilities. The maximum is exact, in O(d²) a row. Deterministic, on `Hypercube`.

    Online learners with `Shannon` that are fitted with it give it calibrated marginals, and how
    many times as likely the empty set is as independent labels make it; see Notes. All others, and
    learners whose decoder becomes "f1" after `fit`, give it ŷ_Ω(θ), which `predict_proba` shows.

    Parameters
    ----------
    zero_division : float, default=1.0
        F1 of no label where none is true, in [0, 1]; that of scikit-learn's
        ``f1_score(average="samples", zero_division=…)``, whose own default counts as 0.

    Raises
    ------
    ValueError
        When used: over any other space than `Hypercube`, or a `zero_division` outside [0, 1].

    Notes
    -----
    After few rounds scores are near 0, and so the many labels that are absent have probabilities
    that are too large: expected F1 would ask for most of them. `OnlineStructuredPredictor` and
    `KernelStructuredPredictor` give it ``σ(aθ_k + b + m θ̄)``, θ̄ the mean score of the row; they
    learn a > 0, b and m from the scores that rows had before they were learned (Platt 1999), a
    Newton step a row, row t with the weight t³, from a = 1, b = m = 0. Beside them is how often
    rows without labels came, and were expected, whose odds divided are r: the empty set is worth
    ``r · zero_division``. Other decoders and `predict_proba` have none of it.

    Of all sets of k labels the k likeliest are the best (Lewis 1995); sizes are compared by the
    dynamic programme of Ye et al. (2012). Scratch memory is (d+1)(d+2)/2 numbers. It is about the
    F1 of each row (``average="samples"``); for "micro" and "macro", which are about all rows, tune
    `Threshold`.

    References
    ----------
    Lewis (1995), "Evaluating and optimizing autonomous text classification systems"; Ye, Chai, Lee,
    Chieu (2012), "Optimizing F-measures: a tale of two approaches", section 4; Dembczyński,
    Waegeman, Cheng, Hüllermeier (2011), "An exact algorithm for F-measure maximization".
    """

    _calibration = None

    def __init__(self, zero_division=1.0):
        self.zero_division = zero_division

    def calibrated(self, calibration):
        """The same decoder, on marginals that are made of the scores θ and not ŷ_Ω(θ).

        Parameters
        ----------
        calibration : object
            ``marginals(theta)`` of scores (n, d) are the probabilities of the labels, and ``empty``
            is by how much likelier the empty set is than with independent labels.

        Returns
        -------
        ExpectedF1
        """
        other = copy.copy(self)
        other._calibration = calibration
        return other

    def mixture(self, theta, mu, loss):
        """y* = argmax E F1 and p = 0."""
        self._only_over(Hypercube, loss)
        empty = check_share("zero_division", self.zero_division)
        if self._calibration is not None:
            mu, empty = self._calibration.marginals(theta), empty * self._calibration.empty
        return best_label_sets(mu, empty), np.zeros(len(mu))


class Threshold(Decoder):
    """The labels whose marginal ŷ_Ω(θ) exceeds a threshold. Deterministic, on `Hypercube`.

    With ½ the nearest vertex, and the best label set for the Hamming loss. Where a wrong label
    costs a share t of what a missing one and a wrong one cost together, t is best.

    Parameters
    ----------
    threshold : float or array-like of shape (d,), default=0.5
        The threshold in [0, 1], or one a label. Searches reach it as ``decoder__threshold``.

    Raises
    ------
    ValueError
        When used: over any other space than `Hypercube`, or for thresholds outside [0, 1] or of
        another number than there are labels.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstructured import OnlineStructuredPredictor
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> model = OnlineStructuredPredictor("hypercube", decoder="threshold")
    >>> grid = {"decoder__threshold": [0.2, 0.35, 0.5]}
    >>> search = GridSearchCV(model, grid, scoring="f1_macro").fit(X, y)
    >>> sorted(search.best_params_)
    ['decoder__threshold']
    """

    def __init__(self, threshold=0.5):
        self.threshold = threshold

    def mixture(self, theta, mu, loss):
        """y* = 1 where μ exceeds the threshold and p = 0."""
        self._only_over(Hypercube, loss)
        return (mu > self._thresholds(mu.shape[1])).astype(np.float64), np.zeros(len(mu))

    def _thresholds(self, d):
        """The threshold as a number, or those of d labels as an array."""
        if np.ndim(self.threshold) == 0:
            return check_share("threshold", self.threshold)
        given = np.asarray(self.threshold)
        numbers = given.dtype.kind in "iuf" and bool(((given >= 0.0) & (given <= 1.0)).all())
        if given.shape != (d,) or not numbers:
            raise ValueError(
                f"threshold must be a number in [0, 1] or {d} of them, one a label; "
                f"got an array of {given.dtype} of shape {given.shape}: {given.tolist()!r:.60}."
            )
        return given


DECODERS = {
    "f1": ExpectedF1,
    "map": MAP,
    "min_risk": MinimumRisk,
    "nearest": Nearest,
    "randomized": Randomized,
    "sampled": Sampled,
    "threshold": Threshold,
}


def resolve_decoder(decoder):
    """Decoder of a short-cut or instance; see `skstructured.base.resolve`."""
    return resolve("decoder", decoder, DECODERS, Decoder)
