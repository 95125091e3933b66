"""What a learner of label sequences says of new ones, given their scores."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import check_integer, weighted_mean
from skstructured._chains import batch
from skstructured._learners.gates import settled
from skstructured._learners.routing import routed
from skstructured.decoders import MAP, MinimumRisk, Nearest, Randomized, Sampled
from skstructured.extend.learner import Losses
from skstructured.sequences._decoding import Decoding
from skstructured.spaces.sequence import LabelSequence, mean_of

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


def over_sequences(learner, fresh=False):
    """Whether the outputs of a learner are label sequences, as fitted; `fresh` by its parameter."""
    known = {} if fresh else vars(learner)
    space = known["space_"] if "space_" in known else getattr(learner, "space", None)
    return isinstance(space, LabelSequence) or (isinstance(space, str) and space == "sequence")


def _has_sequences(learner):
    """For `available_if`."""
    if not over_sequences(learner):
        raise AttributeError("This method is for space='sequence'.")
    return True


def _has_log_proba(learner):
    """For `available_if`."""
    loss = getattr(learner, "loss_", None)
    if not over_sequences(learner) or (loss is not None and loss.projects):
        raise AttributeError("This method is for space='sequence' with regularizer='shannon'.")
    return True


for_sequences = routed(lambda: SequencePredictions, over_sequences)


class SequencePredictions:
    """Labels, marginals and draws of sequences, from `_thetas(Ragged)`, which are `Chains`.

    It stands before `DecodedPredictions`, whose methods it leaves alone over other spaces. Needs
    `_rows_of`, `_check_rows`, `space_`, `loss_`, and `_decoder()`.
    """

    @settled
    def _decoding(self, X):
        check_is_fitted(self)
        return Decoding(self._scores(X), self.loss_, rule_of(self._decoder()))

    @for_sequences
    def embedding_scores(self, X):
        """Scores of the labels at every position: a list of (length, k) arrays.

        Those of starts and ends are in them; `transitions_` come on top.
        """
        theta = self._scores(X)
        return Ragged(theta.unary, theta.offsets).unstack()

    @for_sequences
    def decision_function(self, X):
        """As `embedding_scores`."""
        return self.embedding_scores(X)

    @for_sequences
    def predict(self, X):
        """The decoder's most likely labels: a list of label arrays."""
        decoding = self._decoding(X)
        return self.space_.named(decoding.anchor)

    @available_if(_has_sequences)
    def predict_marginals(self, X):
        """Mean of the labels at every position.

        Parameters
        ----------
        X : list of n matrices (length, p)
            Sequences.

        Returns
        -------
        list of n ndarrays of shape (length, k)
            For "shannon" the probabilities of the labels in `classes_`, of each position by itself;
            for "squared" their sparse counterpart.
        """
        decoding = self._decoding(X)
        return Ragged(decoding.positions, decoding.theta.offsets).unstack()

    @for_sequences
    def predict_mean(self, X):
        """As `predict_marginals`."""
        return self.predict_marginals(X)

    @available_if(_has_sequences)
    def predict_nbest(self, X, n=10):
        """The n label sequences of the largest scores.

        Parameters
        ----------
        X : list of matrices (length, p)
            Sequences.
        n : int, default=10
            How many; fewer come back where there are no more.

        Returns
        -------
        list
            For each sequence a list of (labels, score), the best first. With "shannon" the log
            probability of labels is their score less a number of the sequence, `log_partition`.
        """
        check_integer("n", n)
        theta = self._scores(X)
        codes, scores, found = batch.nbest(*theta.arrays, n)
        best = [Ragged(row, theta.offsets) for row in codes]
        return [
            [(self.space_.classes_[best[j][i]], scores[i, j]) for j in range(found[i])]
            for i in range(len(theta))
        ]

    @available_if(_has_log_proba)
    def log_proba(self, X, y):
        """Log probabilities ln p(y | x) of whole label sequences.

        ``score(x, y) − log Z(x)``, added up by p(y_{m+1} | y_m, x), so that no digits are lost
        where both are large.

        Parameters
        ----------
        X : list of n matrices (length, p)
            Sequences.
        y : list of n label arrays
            Labels from `classes_`, of the same lengths.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            For unknown labels, and lengths that differ.
        """
        theta, V = self._scores(X), self.space_.pack(y)
        check_same_lengths(Ragged(theta.unary, theta.offsets), V)
        return batch.log_probability(*theta.arrays, V.values)

    @available_if(_has_log_proba)
    def log_partition(self, X):
        """``log Z(x) = log Σ_y exp(score(x, y))`` of every sequence, (n,)."""
        return batch.marginals(*self._scores(X).arrays)[1]

    @for_sequences
    def sample(self, X, random_state=None):
        """Draw the decoder's labels of every sequence: what the guarantees are about."""
        decoding = self._decoding(X)
        rng = self.random_state_ if random_state is None else check_random_state(random_state)
        return self.space_.named(decoding.draw(rng))

    @for_sequences
    def expected_target_loss(self, X, y):
        """Exact expectation of the target loss of `sample`, per sequence (n,)."""
        decoding, V = self._decoding(X), self.space_.pack(y)
        check_same_lengths(decoding.anchor, V)
        return decoding.expected_loss(V)

    @for_sequences
    def score(self, X, y, sample_weight=None):
        """1 − mean target loss of the positions of all sequences: the share of right labels.

        Sequences of weight w count w times.
        """
        predicted, V = self._decoding(X).anchor, self.space_.pack(y)
        check_same_lengths(predicted, V)
        costs = self.space_.costs_[predicted.values, V.values]
        if sample_weight is not None:
            sample_weight = np.repeat(np.asarray(sample_weight), V.lengths)
        return 1.0 - weighted_mean(costs, sample_weight)

    @for_sequences
    def _losses(self, theta, V, random_state=None):
        decoding = Decoding(theta, self.loss_, rule_of(self._decoder()))
        rng, costs = check_random_state(random_state), self.space_.costs_
        drawn = decoding.anchor if decoding.rule in SURE else decoding.draw(rng)
        realised = mean_of(costs[drawn.values, V.values], V.offsets)
        return Losses(realised, decoding.expected_loss(V), self.loss_.value(theta, V))

    @for_sequences
    def _losses_of_predictions(self, theta, V):
        decoding = Decoding(theta, self.loss_, rule_of(self._decoder()))
        costs = self.space_.costs_[decoding.anchor.values, V.values]
        return self.loss_.value(theta, V), mean_of(costs, V.offsets)
