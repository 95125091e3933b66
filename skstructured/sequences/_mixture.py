"""A mixture of linear models of label sequences, each moved by an optimiser of its own."""

import numpy as np

from skstructured._engine.mixing import SCORES, fresh_weights
from skstructured._engine.state import DECAYS, SCALED_WEIGHT_SUM, WEIGHT_SUM, Learned
from skstructured._learners.expert_weights import ExpertWeights
from skstructured.optimizers import GradientDescent, StepMixture
from skstructured.sequences._mixture_epoch import mixture_epoch_for
from skstructured.sequences._model import ChainModel


class ChainMixtureState(Learned):
    """Weights of E experts, a row per feature, and how much each of them counts.

    Parameters
    ----------
    width, k : int
        Features of a position, the intercept included, and labels.
    vectors : ndarray of shape (E, length)
        The vectors of the experts' optimisers, one per row, filled up with zeros.
    rates : ndarray of shape (R,)
        Rates of sharing.
    summed : bool
        Whether the averages of the experts are experts too: their sums are columns behind.
    """

    #: Scores are mixed.
    kind = SCORES

    def __init__(self, width, k, vectors, rates, summed):
        features, experts = width + 2 + k, len(vectors)
        self.n_experts = experts * (2 if summed else 1)
        self.Theta = np.zeros((features, self.n_experts * k))
        self.vectors, self.rates, self.summed = vectors, rates, summed
        self.shares = fresh_weights(1, len(rates), self.n_experts)
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)
        self.numbers, self.slot = np.zeros(3), np.full(features, -1, dtype=np.int64)

    @property
    def vector(self):
        """The vector of the first expert, which counts the rounds as those of all others do."""
        return self.vectors[0]


class ChainMixture(ExpertWeights, ChainModel):
    """Weights of several experts over the same sequences; scores are mixed."""

    def __init__(self, learner):
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        if any(isinstance(expert, GradientDescent) for expert in self.optimizer.experts()):
            raise ValueError('others must not have "ogd" over sequences, whose steps are its own.')
        vectors = self.optimizer.init(self.loss)
        vectors[:, DECAYS] = float(learner._average_decays())
        self.averaged = bool(learner.average and self.optimizer.averages)
        self._set_up(learner, vectors)

    def _new_state(self, width, vector):
        given = (self.space.dim_, vector, self.optimizer.rates(), self.averaged)
        return ChainMixtureState(width, *given)

    def _loop(self):
        return mixture_epoch_for(self.optimizer.experts(), self.loss.projects)

    def _moved(self, state):
        """What the loop moves."""
        mixed = (state.shares, state.rates, state.totals, state.sums)
        numbers = (self.options, state.numbers, state.slot)
        return (state.Theta, state.summed, state.vectors, *mixed, *numbers)

    def _stored_weights(self, averaged):
        """The mean of the experts' weights (k, width + 2 + k), for rows as standardised."""
        state, k = self.state, self.space.dim_
        few = len(state.vectors)
        columns = np.split(state.Theta.T, state.n_experts)
        matrices = []
        for expert, W, vector in zip(
            self.optimizer.experts(), columns, state.vectors, strict=False
        ):
            matrices.append(expert.weights(W, vector, k))
        for W, A, vector in zip(columns[:few], columns[few:], state.vectors, strict=False):
            total = max(vector[WEIGHT_SUM], 1e-300)
            matrices.append((vector[SCALED_WEIGHT_SUM] * W + A) / total)
        v = self.shares(averaged)[0].sum(axis=0)
        return np.einsum("n,nkp->kp", v, np.array(matrices))

    def certificate(self, delta):
        """See `Model`."""
        return self.optimizer.certificate(self.certified_loss(), self.state, delta)


def chain_model(learner):
    """The model of a learner of sequences."""
    return (ChainMixture if isinstance(learner.optimizer_, StepMixture) else ChainModel)(learner)
