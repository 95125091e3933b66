"""What a linear learner of label sequences learns: weights of positions, starts, ends and steps."""

import numpy as np

from skstructured._chains.marginals import scratch_size
from skstructured._engine.rounds import NO_FLOATS
from skstructured._engine.state import DIM, EXTRA, FRESH
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import NOTHING
from skstructured.optimizers import ParameterFree, StepMixture, resolve_optimizer
from skstructured.sequences._decoding import rule_of
from skstructured.sequences._ragged import RoundKind
from skstructured.sequences._rounds import (
    INTERCEPT,
    PROJECTS,
    SHARP,
    gather_sequence,
    log_loss,
    prepare_sequence,
    projection_loss,
)
from skstructured.spaces.sequence import Chains, mean_of

#: Wealth of the default optimizer; 100 for single rows.
WEALTH = 10_000.0

#: Steps of a mixture, by a bound on gradients that sequences seldom reach.
STEPS = (16.0, 64.0, 256.0)


def sequence_optimizer(given):
    """The optimizer of a parameter: "parameter_free" has more wealth than for single rows."""
    if isinstance(given, str) and given == "mixture":
        return StepMixture(STEPS, others=(ParameterFree(WEALTH),))
    is_default = isinstance(given, str) and given == "parameter_free"
    return ParameterFree(WEALTH) if is_default else resolve_optimizer(given)


def mean_costs(gap, truth, costs):
    """Mean costs (n,) of the labels of the least expected cost, from means less truths (N, k)."""
    means = gap.copy()
    means[np.arange(len(gap)), truth.values] += 1.0
    return mean_of(costs[np.argmin(means @ costs.T, axis=1), truth.values], truth.offsets)


class ChainRounds(RoundKind):
    """Label sequences: Θ has rows of features, the intercept, starts and ends, and steps."""

    names = "sequences", "sequence"

    def __init__(self, learner):
        rule_of(learner._decoder())
        self.k, self.costs = learner.space_.dim_, learner.space_.costs_

    def new_scale(self, learner):
        """See `RoundKind`."""
        return scale_of(learner, learner.n_features_in_, learner._intercept)

    def constants(self, model):
        """See `RoundKind`."""
        projects, k = model.loss.projects, self.k
        options = np.zeros(SHARP + 1, dtype=np.int64)
        options[[DIM, EXTRA, FRESH]] = k, k, projects
        options[INTERCEPT], options[PROJECTS] = model.intercept, projects
        options[SHARP] = model.loss.constants == "sharp"
        return np.array([float(k)]), options

    def kernels(self, loss):
        """See `RoundKind`."""
        return projection_loss if loss.projects else log_loss, prepare_sequence, gather_sequence

    def reach(self, loss, lengths, by_ratio):
        """See `RoundKind`: M, or M/λ."""
        power = 0 if loss.projects or not by_ratio else 1 if loss.constants == "sharp" else 2
        return lengths * (2.0 * lengths - 1.0) ** power

    def rows_behind(self, k):
        """See `RoundKind`."""
        return 2 + k

    def prepare(self, scale, learner, batch):
        """With "auto", features that are all indicators are not divided by their deviations."""
        data = batch.rows.data
        if isinstance(learner.standardize, str) and np.all((data == 0.0) | (data == 1.0)):
            scale.divided = False
            scale.used = scale.centred and not batch.rows.is_sparse

    def numbers(self, model, record):
        """See `RoundKind`."""
        return self.k**2 if record > NOTHING else 0

    def scratch(self, loss, truth):
        """See `RoundKind`."""
        return 1 if loss.projects else scratch_size(int(truth.lengths.max()), self.k)

    def results(self, truth, record):
        """See `RoundKind`; gradients and losses, too."""
        if record == NOTHING:
            return NO_FLOATS, NO_FLOATS, NO_FLOATS
        size = (len(truth.values) + len(truth) * self.k) * self.k
        return np.empty(size), np.empty(size), np.empty(len(truth))

    def played(self, loss, truth, results):
        """See `RoundKind`."""
        scores, gradients, losses = results
        if len(losses) == 0:
            return Chains(np.empty((0, self.k)), truth.offsets, np.empty((0, 1, 1))), truth, None
        unary, pair = self._parts_of(truth, scores)
        gap, _ = self._parts_of(truth, gradients)
        theta = Chains(unary, truth.offsets, np.repeat(pair, truth.lengths, axis=0))
        return theta, truth, (loss.scale_ * losses, mean_costs(gap, truth, self.costs))

    def _parts_of(self, truth, numbers):
        """Numbers of rounds, of positions (N, k) and of steps (n, k, k)."""
        rows, k = numbers.reshape(-1, self.k), self.k
        counts = np.column_stack([truth.lengths, np.full(len(truth), k)]).ravel()
        is_step = np.repeat(np.arange(2 * len(truth)) % 2 == 1, counts)
        return rows[~is_step], rows[is_step].reshape(-1, k, k)

    def weights(self, model, W):
        """See `RoundKind`."""
        width = model.width + model.intercept
        return np.hstack([model.scale.fold(W[:, :width].copy()), W[:, width:]])

    def scores(self, model, batch, W):
        """Scores of sequences, as `Chains`."""
        p, k = model.width, self.k
        unary = np.asarray(model.scale.imputed(batch.rows).matrix @ W[:, :p].T)
        if model.intercept:
            unary = unary + W[:, p]
        unary[batch.offsets[:-1]] += W[:, -k - 2]
        unary[batch.offsets[1:] - 1] += W[:, -k - 1]
        return Chains(unary, batch.offsets, np.ascontiguousarray(W[:, -k:].T)[None])
