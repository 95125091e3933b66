"""What a linear learner of label sequences learns: weights of positions, starts, ends and steps."""

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import SCORES
from skstructured.optimizers import GradientDescent, ParameterFree, StepMixture, resolve_optimizer
from skstructured.sequences._decoding import Chains, rule_of
from skstructured.sequences._ragged import RoundMixture, RoundModel, RoundState, blocks_of
from skstructured.sequences._rounds import epoch_for

#: Wealth of the default optimiser; 100 for single rows.
WEALTH = 10_000.0

#: Steps of a mixture, by a bound on gradients that sequences seldom reach.
STEPS = (16.0, 64.0, 256.0)


def sequence_optimizer(given):
    """The optimiser of a parameter: "parameter_free" has more wealth than for single rows."""
    if isinstance(given, str) and given == "mixture":
        return StepMixture(STEPS, others=(ParameterFree(WEALTH),))
    is_default = isinstance(given, str) and given == "parameter_free"
    return ParameterFree(WEALTH) if is_default else resolve_optimizer(given)


class ChainModel(RoundModel):
    """Weights (k, p + intercept + 2 + k): of features, starts and ends, and of steps."""

    names = "sequences", "sequence"
    dtype = np.int64

    def _begin(self, learner, vectors, rates, mixed):
        rule_of(learner._decoder())
        self.intercept, self.k = learner._intercept, self.space.dim_
        self.scale = scale_of(learner, learner.n_features_in_, self.intercept)
        self.width = self.scale.columns
        features = self.width + self.intercept + 2 + self.k
        self.state = RoundState(features, self.k, vectors, rates, self.averaged, mixed)
        by_ratio = isinstance(self.optimizer, GradientDescent)
        flags = (mixed, self.loss.projects, by_ratio, self.loss.constants == "sharp")
        self.options = np.array((self.intercept, *flags), dtype=np.int64)

    def prepare(self, learner, batch):
        """With "auto", features that are all indicators are not divided by their deviations."""
        data = batch.rows.data
        if isinstance(learner.standardize, str) and np.all((data == 0.0) | (data == 1.0)):
            self.scale.divided = False
            self.scale.used = self.scale.centred and not batch.rows.is_sparse

    def blocks(self, batch, order, record):
        """Blocks of some thousand positions."""
        return blocks_of(order, batch.X.lengths, self.k, record == SCORES)

    def _loop(self):
        return epoch_for(self._experts(), self.loss.projects)

    def _results(self, truth, record):
        k, n = self.k, len(truth) * (record == SCORES)
        scores = np.empty((len(truth.values) if n else 0, k))
        return self.space.costs_, *np.empty((2, len(truth))), scores, np.empty((n, k, k))

    def _read(self, truth, results):
        _, losses, targets, scores, pairs = results
        pairs = np.repeat(pairs, truth.lengths, axis=0) if len(pairs) else pairs
        theta = Chains(scores, truth.offsets, pairs)
        return theta, truth, (self.loss.scale_ * losses, targets)

    def concatenated(self, scores):
        """`Chains` of several, one after the other; pairs of every step in all."""
        lengths = np.concatenate([np.diff(part.offsets) for part in scores])
        offsets = Ragged.from_lengths(np.empty(0), lengths).offsets
        unary = np.concatenate([part.unary for part in scores])
        return Chains(unary, offsets, np.concatenate([part.pair for part in scores]))

    def weights(self, averaged):
        """All weights, in units of X."""
        W, width = self._stored_weights(averaged), self.width + self.intercept
        return np.hstack([self.scale.fold(W[:, :width].copy()), W[:, width:]])

    def scores(self, batch, averaged):
        """Scores of sequences, as `Chains`."""
        W, p, k = self.weights(averaged), self.width, self.space.dim_
        unary = np.asarray(self.scale.completed(batch.rows).matrix @ W[:, :p].T)
        if self.intercept:
            unary = unary + W[:, p]
        unary[batch.offsets[:-1]] += W[:, -k - 2]
        unary[batch.offsets[1:] - 1] += W[:, -k - 1]
        return Chains(unary, batch.offsets, np.ascontiguousarray(W[:, -k:].T)[None])


class ChainMixture(RoundMixture, ChainModel):
    """Weights of several experts over the same sequences; scores are mixed."""


def chain_model(learner):
    """The model of a learner of sequences."""
    return (ChainMixture if isinstance(learner.optimizer_, StepMixture) else ChainModel)(learner)
