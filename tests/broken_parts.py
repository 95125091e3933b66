"""Optimizers and decoders that users bring, and some that are broken in one place each."""

import numpy as np

from skstructured import GuaranteeError
from skstructured.extend import (
    OWN,
    CoordinateOptimizer,
    Decoder,
    OnlineOptimizer,
    kernel,
    new_state,
)
from skstructured.guarantees import Certificate


@kernel
def descend(state, W, a, b, g):
    return W - 0.05 * g, a, b


@kernel
def ascend(state, W, a, b, g):
    return W + 0.05 * g, a, b


@kernel
def without_numbers(state, W, g):
    return W - 0.05 * g


@kernel
def weight_alone(state, W, a, b, g):
    return W - 0.05 * g


@kernel
def half_step(state, W, a, b, g):
    return W - 0.025 * g, a, b


@kernel
def unscaled(state, bound, weight):
    return 1.0


@kernel
def fixed_step(state, inner, square, bound, weight):
    return -state[OWN] * weight


@kernel
def unweighted_step(state, inner, square, bound, weight):
    return -state[OWN]


class Descent(CoordinateOptimizer):
    """Gradient descent with a fixed step."""

    coordinate_kernel = staticmethod(descend)


class Ascent(Descent):
    coordinate_kernel = staticmethod(ascend)


class OfThree(Descent):
    coordinate_kernel = staticmethod(without_numbers)


class WithoutRule(CoordinateOptimizer):
    pass


class WeightAlone(Descent):
    """Its kernel returns one number in the place of three."""

    coordinate_kernel = staticmethod(weight_alone)


class Steps(OnlineOptimizer):
    """Gradient descent with a fixed step, of the whole matrix."""

    scale_kernel = staticmethod(unscaled)
    step_kernel = staticmethod(fixed_step)
    entries = 1
    step = 0.01

    def init(self, loss):
        state = new_state(self.entries)
        state[OWN] = self.step
        return state


class StepsUpwards(Steps):
    step = -0.01


class WithoutStep(Steps):
    step_kernel = None


class Wanders(Steps):
    """Each state that is made has a larger step."""

    def init(self, loss):
        Wanders.step = 2.0 * Wanders.step
        return super().init(loss)


class NotANumberOnAverage(Steps):
    def average_weights(self, Theta, A, state, dim):
        return np.full(Theta.shape, np.nan)


class HalfSteps(Descent):
    coordinate_kernel = staticmethod(half_step)


class HalfStepsOfCSR(Descent):
    """Its steps are shorter if rows are CSR."""

    def move_and_score_kernel(self, dim, sparse, average=False):
        optimizer = HalfSteps() if sparse else Descent()
        return optimizer.move_and_score_kernel(dim, sparse, average)


class IgnoresWeights(Steps):
    step_kernel = staticmethod(unweighted_step)


class FadesInPickles(Steps):
    """Its weights are smaller after pickling."""

    share = 1.0

    def __reduce__(self):
        return faded, ()

    def __deepcopy__(self, memo):
        return self

    def weights(self, Theta, state, dim):
        return self.share * super().weights(Theta, state, dim)


def faded():
    optimizer = FadesInPickles()
    optimizer.share = 0.5
    return optimizer


class BoundsTooLow(Steps):
    def certificate(self, loss, state, delta=None):
        return Certificate("Theorem 0", 1.0, -100.0)


class GivesNoReason(Steps):
    def certificate(self, loss, state, delta=None):
        raise GuaranteeError("No.")


#: A broken optimizer -> the first check that it fails, and what the message says.
OPTIMIZERS = {
    Ascent(): ("check_loss_falls", r"grew from .* to .*: steps must go against the gradient"),
    StepsUpwards(): ("check_loss_falls", "steps must go against the gradient"),
    OfThree(): ("check_loss_falls", r"OfThree.coordinate_kernel must .*got \(state, W, g\)"),
    WithoutRule(): ("check_loss_falls", "WithoutRule.coordinate_kernel must be .*, got None"),
    WithoutStep(): ("check_loss_falls", r"WithoutStep.step_kernel must be .*, got None"),
    NotANumberOnAverage(): (
        "check_weights_are_finite",
        "average_weights_ has numbers",
    ),
    Wanders(): ("check_begin_forgets", "after a second begin"),
    FadesInPickles(): ("check_pickle", "after pickling"),
    HalfStepsOfCSR(): ("check_sparse_rows", "CSR rows"),
    IgnoresWeights(): ("check_weight_zero", "rows of weight zero and without them"),
    BoundsTooLow(): ("check_certificate", "the bound with delta=None is"),
    GivesNoReason(): ("check_certificate", r"a GuaranteeError must say why, got No\."),
}


class Halves(Decoder):
    """The nearest vertex, or a draw with probability one half."""

    def mixture(self, theta, mu, loss):
        return loss.space.nearest(mu), np.full(len(mu), 0.5)


class NoPair(Halves):
    def mixture(self, theta, mu, loss):
        return theta[:, :1]


class OneScore(Halves):
    def mixture(self, theta, mu, loss):
        return theta[:, :1], np.zeros(len(mu))


class Middle(Halves):
    def mixture(self, theta, mu, loss):
        return np.full(mu.shape, 0.5), np.zeros(len(mu))


class Certain(Halves):
    """A probability of 7."""

    def mixture(self, theta, mu, loss):
        return loss.space.nearest(mu), np.full(len(mu), 7.0)


class ForEachScore(Halves):
    def mixture(self, theta, mu, loss):
        return loss.space.nearest(mu), np.zeros(mu.shape)


class NotANumber(Halves):
    def mixture(self, theta, mu, loss):
        return loss.space.nearest(mu), np.full(len(mu), np.nan)


class MeanOfRows(Halves):
    """A row depends on the others."""

    def mixture(self, theta, mu, loss):
        return loss.space.nearest(mu), np.full(len(mu), mu[:, 0].mean())


class Overwrites(Halves):
    def mixture(self, theta, mu, loss):
        theta += 1.0
        return super().mixture(theta, mu, loss)


class MostLikelyMean(Halves):
    def most_likely(self, theta, mu, loss):
        return mu


class Optimist(Halves):
    def expected_loss(self, theta, mu, V, loss):
        return 0.5 * super().expected_loss(theta, mu, V, loss)


#: A broken decoder -> the checks that it fails.
DECODERS = {
    Middle(): {"check_vertices_and_probabilities", "check_draws"},
    Certain(): {"check_vertices_and_probabilities", "check_draws"},
    MeanOfRows(): {"check_rows_alone"},
    Overwrites(): {"check_rows_alone"},
    MostLikelyMean(): {"check_vertices_and_probabilities"},
    Optimist(): {"check_draws"},
}

#: A decoder -> what the error says that names it where it is used.
REFUSED = {
    NoPair(): "NoPair.mixture must return a pair of vertices and probabilities, got ndarray",
    OneScore(): r"OneScore.mixture must return an array of shape \(\d+, 3\), got \(\d+, 1\)",
    Middle(): r"Middle.mixture must return vertices of Simplex alone, got \[\[0.5, 0.5, 0.5\]",
    Certain(): r"Certain.mixture must return \d+ probabilities in \[0, 1\], got \[7.0",
    ForEachScore(): r"ForEachScore.mixture must return \d+ probabilities in \[0, 1\], got \[\[0",
    NotANumber(): r"NotANumber.mixture must return \d+ probabilities in \[0, 1\], got \[nan",
}
