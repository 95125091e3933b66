"""Decoders: the most likely, nearest or least costly output, random ones, and sets of labels."""

import numpy as np

from skstructured._base.validation import all_builtin, check_share, check_vertices
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.losses.gap import GapSurrogate
from skstructured.spaces import Hypercube, Simplex
from skstructured.spaces.hypercube import best_label_sets


class ExpectedF1(Decoder):
    """Predict the set of labels with the largest expected F1 of its row.

    ``F1(y'; y) = 2<y', y>/(<y', 1> + <y, 1>)``, its expectation over independent labels with given
    marginals. The maximum is exact, in O(d²) per row. The decoder is deterministic and only
    supported for `Hypercube`.

    It reads ŷ_Ω(θ), the probabilities of `predict_proba`. Those of `StructuredPredictor` are
    calibrated by held-out rows. After few rounds an online learner gives the many absent labels
    probabilities that are too large, above all with ``optimizer="ogd"``: then tune `Threshold`.

    Parameters
    ----------
    zero_division : float, default=1.0
        F1 of predicting no label if none is true, in [0, 1]. It is that of scikit-learn's
        ``f1_score(average="samples", zero_division=…)``, whose default counts as 0.

    Raises
    ------
    ValueError
        When used, if the space is not `Hypercube`, or if `zero_division` is outside [0, 1].

    See Also
    --------
    Threshold : The labels whose marginals exceed a threshold.
    Nearest : The best set for the Hamming loss.

    Notes
    -----
    Among all sets of k labels, that of the k most probable ones is best [1]_; sizes are compared by
    the dynamic program of [2]_, section 4, see also [3]_. Scratch memory is (d+1)(d+2)/2 numbers.
    The F1 is that of each row (``average="samples"``); for "micro" and "macro", which average over
    all rows, tune `Threshold`.

    References
    ----------
    .. [1] Lewis (1995), "Evaluating and optimizing autonomous text classification systems".
    .. [2] Ye, Chai, Lee, Chieu (2012), "Optimizing F-measures: a tale of two approaches".
    .. [3] Dembczyński, Waegeman, Cheng, Hüllermeier (2011), "An exact algorithm for F-measure
       maximization".
    """

    only_over = Hypercube

    def __init__(self, zero_division: float = 1.0) -> None:
        self.zero_division = zero_division

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = argmax E F1 and p = 0."""
        self.check_space(loss)
        empty = check_share("zero_division", self.zero_division)
        return best_label_sets(mu, empty), np.zeros(len(mu))


class Threshold(Decoder):
    """Predict the labels whose marginal ŷ_Ω(θ) exceeds a threshold.

    A threshold of ½ gives the nearest vertex, the best set of labels for the Hamming loss. If a
    wrong label costs the share t of the cost of a missing and a wrong one together, t is best. The
    decoder is deterministic and only supported for `Hypercube`.

    Parameters
    ----------
    threshold : float, default=0.5
        The threshold, in [0, 1]. Grid searches tune it as ``decoder__threshold`` if the learner was
        given ``decoder=Threshold()``.

    Raises
    ------
    ValueError
        When used, if the space is not `Hypercube`, or if the threshold is outside [0, 1].

    See Also
    --------
    ExpectedF1 : The set with the largest expected F1, without a threshold to tune.
    Nearest : The same as the threshold 0.5.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.decoders import Threshold
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> model = OnlineStructuredPredictor("hypercube", decoder=Threshold())
    >>> grid = {"decoder__threshold": [0.2, 0.35, 0.5]}
    >>> search = GridSearchCV(model, grid, scoring="f1_macro").fit(X, y)
    >>> sorted(search.best_params_)
    ['decoder__threshold']
    """

    only_over = Hypercube

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = 1 if μ exceeds the threshold, else 0, and p = 0."""
        self.check_space(loss)
        threshold = check_share("threshold", self.threshold)
        return (mu > threshold).astype(np.float64), np.zeros(len(mu))


def _nearest(mu, loss):
    V = loss.space.nearest(mu)
    return V if all_builtin(loss.space) else check_vertices(loss.space, "nearest", V, mu.shape)


def _least_risk(mu, loss):
    """argmin of the expected target loss: of the costs, or the nearest vertex without costs."""
    space = loss.space
    costs = getattr(space, "costs_", None)  # spaces of classes have them
    if costs is None:
        return _nearest(mu, loss)
    return space.unpack(np.argmin(space.vertex_proba(np.asarray(mu)) @ costs.T, axis=1))


class MAP(Decoder):
    """Predict the most likely output (maximum a posteriori): ``argmax_{y ∈ Y} <θ, y>``.

    This is the linear oracle. The decoder is deterministic.

    See Also
    --------
    Nearest : The vertex nearest to the mean prediction.
    MinimumRisk : The output with the least expected cost.
    Randomized : Nearest or a random draw; the decoder of the regret bounds.
    """

    by_scores = ignores_costs = True

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = argmax <θ, y> and p = 0."""
        best = check_vertices(loss.space, "argmax", loss.space.argmax(theta), theta.shape)
        return best, np.zeros(len(theta))


class Nearest(Decoder):
    """Predict the vertex nearest to ŷ_Ω(θ), in the norm of the space and regularizer [1]_.

    The decoder is deterministic. For the target losses of the spaces of this package, it is also
    the calibrated decoding ``argmin_{y'} L(y'; ŷ_Ω(θ))`` of [2]_, because these losses are affine
    in the true output too. The exceptions are given costs and label sequences, whose steps count
    in the norm: see `MinimumRisk`.

    See Also
    --------
    MinimumRisk : The same for losses with costs.
    MAP : The most likely output.
    Randomized : Nearest or a random draw; the decoder of the regret bounds.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), propositions 3.2 and C.1; see `FenchelYoung`.
    .. [2] Blondel (2019), "Structured prediction with projection oracles".
    """

    ignores_costs = True

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = nearest vertex to μ and p = 0."""
        return _nearest(mu, loss), np.zeros(len(mu))


class MinimumRisk(Decoder):
    r"""Predict the output with the least expected target loss, ``argmin_{y'} L(y'; ŷ_Ω(θ))``.

    With costs A[true, predicted] and probabilities p of classes it is ``argmin_j Σ_i p_i A[i, j]``:
    the most likely class for zero-one costs, the median for |i − j|. For label sequences it decides
    at each position by the marginals there. Without costs that is the most likely label of each
    position, which may differ from "map" and "nearest", two rules for whole sequences. Costs are
    parameters of the spaces: ``Simplex(cost_matrix)``, ``OrdinalChain(cost_matrix=…)``,
    ``LabelSequence(cost_matrix)``. The decoder is deterministic.

    See Also
    --------
    Nearest : The same if there are no costs.
    MAP : The most likely output.
    ExpectedF1 : The set of labels with the largest expected F1.

    Notes
    -----
    Ties are decided for the first label. Without costs on "simplex" and "ordinal", and on every
    other space, the decoder is `Nearest`, which has the least expected loss for the target losses
    of this package [1]_, [2]_. It is also `Nearest` on a custom space with another target loss. The
    rule for sequences is in [3]_, section III.B.

    References
    ----------
    .. [1] Blondel (2019), "Structured prediction with projection oracles", section 4.
    .. [2] Nowak-Vila, Bach, Rudi (2020), "Consistent structured prediction with max-min margin
       Markov networks", section 2.
    .. [3] Rabiner (1989), "A tutorial on hidden Markov models".

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
    """Predict the nearest vertex or a random one (randomized decoding of [1]_, Algorithm 1).

    With y* the vertex nearest to ŷ_Ω(θ), ``Δ* = ‖y* − ŷ‖`` and ``p = min(1, 2Δ*/ν)``, it returns y*
    with probability 1 − p and otherwise a vertex drawn with mean exactly ŷ. Then
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) S(θ; y)`` for every θ and y (Lemma 3.1 of [1]_).

    See Also
    --------
    Nearest : Without random draws; it has no regret bound.
    Sampled : Always a random draw.
    GapDecoder : The randomized decoder of Gaptron.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024); see `FenchelYoung`.
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
    """Draw a vertex with mean ŷ_Ω(θ); with entropies over vertices this is a Gibbs sample.

    See Also
    --------
    Randomized : Draw only if no vertex is near enough.
    Nearest : The nearest vertex, without random draws.
    """

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = nearest vertex to μ and p = 1."""
        return _nearest(mu, loss), np.ones(len(mu))

    def most_likely(self, theta: Floats, mu: Floats, loss: Loss) -> Floats:
        """y* (n, dim); with costs the output of the least expected cost."""
        return _least_risk(mu, loss)


class GapDecoder(Decoder):
    """Predict as Gaptron does: ``p' = (1 − a) e_{y*} + a/K`` with the gap a(θ).

    The gap is that of the learner's loss (see `GapSurrogate`), or that of the logistic loss if the
    learner has another one.

    See Also
    --------
    GaptronClassifier : The learner of this decoder.
    Randomized : The randomized decoder of all spaces.

    Notes
    -----
    Its theorems are those of `GaptronClassifier`. Lemma 3.1 of Sakaue et al. (2024), which
    `OnlineStructuredPredictor` relies on, does not hold for it.

    References
    ----------
    van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass classification",
    Algorithm 1.
    """

    only_over = Simplex

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* and a."""
        self.check_space(loss)
        kind = loss.kind if isinstance(loss, GapSurrogate) else "logistic"
        return loss.space.argmax(theta), GapSurrogate(kind=kind).gaps(theta)

    def keeps_bound(self, loss: Loss) -> bool:
        """Whether a theorem of Gaptron is about the loss."""
        return isinstance(loss, GapSurrogate)

    def draw_mean(self, theta: Floats, mu: Floats) -> Floats:
        """Uniform: 1/K everywhere."""
        return np.full(np.shape(theta), 1.0 / np.shape(theta)[1])
