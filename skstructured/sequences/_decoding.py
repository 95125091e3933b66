"""The loss of label sequences, and predictions from their scores."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured import _chains
from skstructured._base.component import available_if
from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import check_integer
from skstructured._learners.predictions import answer_empty, has_empty_sequence, reader_of
from skstructured.decoders import DECODERS
from skstructured.extend._types import Array, Features, Floats, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.losses import FenchelYoung
from skstructured.regularizers import KAPPA_0, Shannon, SquaredNorm
from skstructured.sequences._ragged import RoundLoss
from skstructured.spaces.sequence import Chains, indicators


class SequenceLoss(RoundLoss):
    r"""The loss ``c (Ω*(θ) + Ω(y) − <θ, y>)`` of label sequences, ``−c ln p(y)`` for `Shannon`.

    Scores are `Chains`; truths are `Ragged` positions among the labels. With `Shannon` the scale of
    the theory is ``(2M − 1)²/(2M ln 2)``.
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
    def smoothness_factor(self):
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
            mu, log_z, pairs = _chains.marginals(*theta.arrays, pairs="each")
            _chains.check_possible(log_z)
            return Chains(mu, theta.offsets, pairs)
        chains = map(theta.one, range(len(theta)))
        solutions = [_chains.sparse_map(chain.unary, chain.pair) for chain in chains]
        mu, pairs, labels, weights, _ = zip(*solutions, strict=True)
        vertices = list(zip(labels, weights, strict=True))
        return Chains(np.concatenate(mu), theta.offsets, np.concatenate(pairs), vertices)

    def positions(self, theta):
        """Means of positions (N, k) alone."""
        if self.projects:
            return self.mean(theta).unary
        mu, log_z, _ = _chains.marginals(*theta.arrays)
        _chains.check_possible(log_z)
        return mu

    def shown_means(self, theta):
        """Means of positions, a list of (length, k)."""
        return Ragged(self.positions(theta), theta.offsets).unstack()

    def mean_and_value(self, theta, V):
        """`mean` and `value`."""
        return self.mean(theta), self.value(theta, V)

    def value(self, theta, V):
        """S(θ; y), (n,), of positions V among the labels."""
        c = self.constants_of().c
        if not self.projects:
            return -c * _chains.log_probability(*theta.arrays, V.values)
        mu, truth = self.mean(theta), indicators(V, self.space.dim_)
        half = 0.5 * (truth.sizes(2) - mu.sizes(2))
        return c * np.maximum(theta.inner(mu.less(truth)) + half, 0.0)

    def rule(self, decoder):
        """The `ChainRule` of a decoder."""
        return ChainRule(rule_of(decoder))


def fenchel_young_over(space, *terms):
    """The loss of a regularizer, scale and constants over a space."""
    return (SequenceLoss if space.reader.has_sequences else FenchelYoung)(space, *terms)


def rule_of(decoder):
    """The name of a decoder's rule; a ValueError for one that is not for sequences."""
    names = ("map", "min_risk", "nearest", "randomized", "sampled")
    rules = {DECODERS[name]: name for name in names}
    if type(decoder) not in rules:
        supported = ", ".join(f'"{name}"' for name in names)
        raise ValueError(
            f"decoder must be one of {supported} for label sequences, got {decoder!r}."
        )
    return rules[type(decoder)]


class ChainRule(Decoder):
    """A decoder's rule for label sequences: it reads `Chains` and plays `Ragged` positions.

    y* is the best sequence for MAP, the label of the least expected cost at every position for
    `MinimumRisk`, else the vertex nearest to the mean; with probability p a draw with that mean is
    played instead: min(1, 2‖y* − μ‖/ν) for `Randomized`, 1 for `Sampled`, else 0.
    """

    def __init__(self, rule):
        self.rule = rule
        self.by_scores = rule in ("map", "min_risk")  # they need no mean of steps

    def mixture(self, theta, mu, loss):
        """Labels y*, `Ragged`, and probabilities p (n,) of leaving them."""
        anchor = self._anchor(theta, mu, loss)
        if self.rule != "randomized":
            return anchor, np.full(len(anchor), float(self.rule == "sampled"))
        apart = indicators(anchor, loss.space.dim_).less(mu)
        distance = np.sqrt(apart.sizes(2)) if loss.projects else apart.sizes(1)
        nu = [loss.space.geometry(loss.norm, length=M).nu for M in (1, 2)]
        return anchor, np.minimum(1.0, 2.0 * distance / np.where(anchor.lengths > 1, nu[1], nu[0]))

    def most_likely(self, theta, mu, loss):
        """What `predict` returns: y*; if costs are given, the least risk."""
        draws = self.rule in ("randomized", "sampled")
        if draws and loss.space.cost_matrix is not None:
            return least_risk_labels(theta, mu, loss)
        return self._anchor(theta, mu, loss)

    def _anchor(self, theta, mu, loss):
        if self.rule == "map":
            return theta.best()
        if self.rule == "min_risk":
            return least_risk_labels(theta, mu, loss)
        # vertices have one norm, so the largest product with the mean is nearest to it
        return mu.best()

    def decode(self, theta, mu, loss, random_state=None):
        """Labels drawn by the rule, `Ragged`."""
        rng = check_random_state(random_state)
        anchor, p = self.mixture(theta, mu, loss)
        leave = np.repeat(rng.random_sample(len(p)) < p, anchor.lengths)
        uniforms = rng.random_sample((1, len(leave)))
        return Ragged(np.where(leave, _drawn(mu, uniforms), anchor.values), anchor.offsets)


def least_risk_labels(theta, mu, loss):
    """The label of the least expected cost at every position, as `Ragged` positions."""
    unary = loss.positions(theta) if mu is None else mu.unary
    return Ragged(np.argmin(unary @ loss.space.costs_.T, axis=1), theta.offsets)


def _drawn(mu, uniforms):
    """Labels (N,) of sequences drawn with the means mu."""
    if mu.vertices is None:
        return _chains.sample_mean(*mu.arrays, uniforms)[0]
    drawn = []
    for (labels, weights), u in zip(mu.vertices, uniforms[0, mu.offsets[:-1]], strict=True):
        index = np.searchsorted(np.cumsum(weights), u * weights.sum(), "right")
        drawn.append(labels[min(index, len(weights) - 1)])
    return np.concatenate(drawn)


def _has_sequences(learner, subject="This method is"):
    """For `available_if`."""
    if not reader_of(learner).has_sequences:
        raise AttributeError(f"{subject} only available for space='sequence'.")
    return True


def _has_log_proba(learner):
    """For `available_if`."""
    loss = getattr(learner, "loss_", None)
    if not reader_of(learner).has_sequences or (loss is not None and loss.projects):
        raise AttributeError(
            "This method is only available for space='sequence' with regularizer='shannon'."
        )
    return True


def weights_of_sequences(what, selector):
    """A property, the scores `what`: a copy of ``part(W)``, or an error without sequences."""

    def read(self):
        self._fitted_model("weights are")
        _has_sequences(self, "transitions_, start_ and end_ are")
        return selector(self._weights()).copy()

    return property(read, doc=f'Scores {what}; for space="sequence".')


@available_if(_has_sequences)
def predict_marginals(self: Any, X: Features) -> list[Floats]:
    """Mean of the labels at every position.

    Returns
    -------
    list of n ndarrays of shape (length, k)
        For "shannon" the probabilities of the labels in `classes_`, of each position by itself;
        for "squared" their sparse counterpart.
    """
    if has_empty_sequence(self, X):
        return answer_empty(self, X, self.predict_marginals)
    return self._decoding(X).means()


@available_if(_has_sequences)
def predict_nbest(self: Any, X: Features, n: int = 10) -> list[list[tuple[Array, float]]]:
    """The n label sequences of the largest scores.

    Parameters
    ----------
    X : list of matrices (length, p)
        Sequences.
    n : int, default=10
        Number of outputs; fewer are returned if there are no more.

    Returns
    -------
    list
        For each sequence a list of (labels, score), the best first. With "shannon" the log
        probability of labels is their score less a number of the sequence, `log_partition`.
    """
    check_integer("n", n)
    if has_empty_sequence(self, X):
        return answer_empty(self, X, self.predict_nbest, n=n)
    theta = self._scores(X)
    codes, scores, counts = _chains.nbest(*theta.arrays, n)  # type: ignore[call-arg]  # three arrays
    best = [Ragged(row, theta.offsets) for row in codes]
    return [
        [(self.space_.classes_[best[j][i]], scores[i, j]) for j in range(counts[i])]
        for i in range(len(theta))
    ]


@available_if(_has_log_proba)
def log_proba(self: Any, X: Features, y: Outputs) -> Floats:
    """Log probabilities ln p(y | x) of whole label sequences.

    ``score(x, y) − log Z(x)``, summed as log p(y_{m+1} | y_m, x), so no digits are lost if both are
    large.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        For unknown labels, and lengths that differ.
    """
    theta, V = self._scores(X), self.space_.pack(y)
    check_same_lengths(theta, V)
    return _chains.log_probability(*theta.arrays, V.values)  # type: ignore[call-arg]


@available_if(_has_log_proba)
def log_partition(self: Any, X: Features) -> Floats:
    """``log Z(x) = log Σ_y exp(score(x, y))`` of every sequence, (n,)."""
    return _chains.marginals(*self._scores(X).arrays)[1]
