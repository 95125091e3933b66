"""What a linear learner of label sequences learns: weights of positions, starts, ends and steps."""

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._chains.marginals import scratch_size
from skstructured._engine.rounds import NO_FLOATS
from skstructured._engine.state import DIM, EXTRA, FRESH
from skstructured._learners.models import NOTHING
from skstructured.optimizers import GradientDescent, ParameterFree, StepMixture, resolve_optimizer
from skstructured.sequences._decoding import Chains, rule_of
from skstructured.sequences._ragged import RoundModel, blocks_of
from skstructured.sequences._rounds import (
    INTERCEPT,
    PROJECTS,
    SHARP,
    gather_sequence,
    log_loss,
    prepare_sequence,
    projection_loss,
)
from skstructured.spaces.sequence import mean_of

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


def mean_costs(gap, truth, costs):
    """Mean costs (n,) of the most likely label at each position, from means less truths (N, k)."""
    means = gap.copy()
    means[np.arange(len(gap)), truth.values] += 1.0
    return mean_of(costs[np.argmax(means, axis=1), truth.values], truth.offsets)


class ChainModel(RoundModel):
    """Weights (k, p + intercept + 2 + k): of features, starts and ends, and of steps."""

    names = "sequences", "sequence"

    def _set_up(self, learner, vectors):
        rule_of(learner._decoder())
        self.k = self.space.dim_
        super()._set_up(learner, vectors)
        self.state.which[:] = isinstance(self.optimizer, GradientDescent)

    def _take_kernels(self):
        projects, k = self.loss.projects, self.k
        self.params, self.options = np.array([float(k)]), np.zeros(SHARP + 1, dtype=np.int64)
        self.options[[DIM, EXTRA, FRESH]] = k, k, projects
        self.options[INTERCEPT], self.options[PROJECTS] = self.intercept, projects
        self.options[SHARP] = self.loss.constants == "sharp"

    def _more_rows(self):
        return 2 + self.k

    def prepare(self, learner, batch):
        """With "auto", features that are all indicators are not divided by their deviations."""
        data = batch.rows.data
        if isinstance(learner.standardize, str) and np.all((data == 0.0) | (data == 1.0)):
            self.scale.divided = False
            self.scale.used = self.scale.centred and not batch.rows.is_sparse

    def blocks(self, batch, order, record):
        """Blocks of some thousand positions."""
        return blocks_of(order, batch.X.lengths, self.k, record > NOTHING)

    def _kernels(self):
        loss = projection_loss if self.loss.projects else log_loss
        return None, loss, prepare_sequence, gather_sequence

    def _scratch(self, truth):
        size = 1 if self.loss.projects else scratch_size(int(truth.lengths.max()), self.k)
        return np.zeros((1, size))

    def _results(self, truth, record):
        if record == NOTHING:
            return NO_FLOATS, NO_FLOATS, NO_FLOATS
        size = (len(truth.values) + len(truth) * self.k) * self.k
        return np.empty(size), np.empty(size), np.empty(len(truth))

    def _read(self, truth, results):
        scores, gradients, losses = results
        if len(losses) == 0:
            return Chains(np.empty((0, self.k)), truth.offsets, np.empty((0, 1, 1))), truth, None
        unary, pair = self._parts_of(truth, scores)
        gap, _ = self._parts_of(truth, gradients)
        theta = Chains(unary, truth.offsets, np.repeat(pair, truth.lengths, axis=0))
        targets = mean_costs(gap, truth, self.space.costs_)
        return theta, truth, (self.loss.scale_ * losses, targets)

    def _parts_of(self, truth, numbers):
        """Numbers of rounds, of positions (N, k) and of steps (n, k, k)."""
        rows, k = numbers.reshape(-1, self.k), self.k
        counts = np.column_stack([truth.lengths, np.full(len(truth), k)]).ravel()
        is_step = np.repeat(np.arange(2 * len(truth)) % 2 == 1, counts)
        return rows[~is_step], rows[is_step].reshape(-1, k, k)

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
