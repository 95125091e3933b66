"""Losses that users bring, and one broken in each place where it can be broken."""

import numpy as np

from skstructured.extend import Surrogate, kernel


@kernel
def squared_error(theta, truth, g, params, work):
    value = 0.0
    for k in range(theta.shape[0]):
        g[k] = theta[k] - truth[k]
        value += 0.5 * g[k] ** 2
    return value


@kernel
def uphill(theta, truth, g, params, work):
    value = squared_error(theta, truth, g, params, work)
    for k in range(theta.shape[0]):
        g[k] = -g[k]
    return value


@kernel
def twice(theta, truth, g, params, work):
    return 2.0 * squared_error(theta, truth, g, params, work)


@kernel
def repelled(theta, truth, g, params, work):
    value = -squared_error(theta, truth, g, params, work)
    for k in range(theta.shape[0]):
        g[k] = -g[k]
    return value


@kernel
def of_four(theta, truth, g, params):
    return 0.0


class LeastSquares(Surrogate):
    """Least squares on indicators."""

    kernel = staticmethod(squared_error)

    def __init__(self, space=None):
        self.space = space

    def mean(self, theta):
        return self.space.argmax(theta)


class Capped(LeastSquares):
    """The Euclidean distance, whose gradients have length 1."""

    lipschitz = 1.0

    @staticmethod
    def kernel(theta, truth, g, params, work):
        distance = np.linalg.norm(theta - truth)
        g[:] = (theta - truth) / distance
        return distance


class Uphill(LeastSquares):
    kernel = staticmethod(uphill)


class Twice(LeastSquares):
    kernel = staticmethod(twice)


class Repelled(LeastSquares):
    kernel = staticmethod(repelled)


class WritesNoGradient(LeastSquares):
    kernel = staticmethod(lambda theta, truth, g, params, work: g.fill(0.0) or 0.0)


class OfFour(LeastSquares):
    kernel = staticmethod(of_four)


class WithoutKernel(LeastSquares):
    kernel = None


class PlainLambda(LeastSquares):
    """A function in the body of a class gets the loss as its first argument."""

    kernel = lambda theta, truth, g, params, work: 0.0  # noqa: E731


class TooShort(Capped):
    lipschitz = 0.9


class MeansNothing(LeastSquares):
    def mean(self, theta):
        return np.full(np.shape(theta), np.nan)


class MeansOneLess(LeastSquares):
    def mean(self, theta):
        return super().mean(theta)[:, 1:]


class NotProbable(LeastSquares):
    has_probabilities = True

    def mean(self, theta):
        return 2.0 * super().mean(theta)


class Forgets(LeastSquares):
    """A parameter that the constructor does not keep."""

    def __init__(self, space=None, size=1.0):
        self.space, self.size = space, 2.0 * size


ARGUMENTS = {"check_kernel_arguments", "check_gradient", "check_true_outputs_have_the_least_loss"}
ARGUMENTS |= {"check_copies_of_losses"}

#: A broken loss -> the checks that it fails.
BROKEN = {
    Uphill(): {"check_gradient"},
    Twice(): {"check_gradient"},
    Repelled(): {"check_true_outputs_have_the_least_loss"},
    WritesNoGradient(): {"check_true_outputs_have_the_least_loss"},
    OfFour(): ARGUMENTS,
    PlainLambda(): ARGUMENTS,
    TooShort(): {"check_lipschitz"},
    MeansNothing(): {"check_mean"},
    MeansOneLess(): {"check_mean"},
    NotProbable(): {"check_mean"},
    Forgets(): {"check_copies_of_losses"},
}
