"""Weights of members, by the loss of the task over honest scores."""

from typing import Any

import numpy as np

from skstructured._base.lbfgs import minimize_lbfgs
from skstructured.extend._types import Floats

#: Strength of the prior, and bounds of logarithms of weights and of intercepts.
PRIOR, BOUNDS = 0.1, (-7.0, 7.0)

#: Steps at most, and those for a member by itself.
STEPS, FEW_STEPS = 200, 10

#: Logarithms of the factors of usual weights that are tried first, because the objective is not
#: convex in z: from weights that are far too large a step can end where all are nearly 0.
SCALES = range(-6, 1)


def mixing_weights(
    scores: Floats,
    V: Floats,
    weight: Floats,
    mean: Floats,
    loss: Any,
    usual: float,
    steps: int = STEPS,
) -> tuple[Floats, Floats]:
    r"""Weights a > 0 of members, and an intercept b, of the least loss.

    With scores θ_e(x_i) of members, vertices y_i, and weights w_i of sum n,

    .. math:: \min_{z, b} \sum_i w_i S(\sum_e e^{z_e} θ_e(x_i) + b; (1 - ε) y_i + ε m)
        + 0.1 ‖z - \ln u‖^2 + 0.1 ‖b‖^2, \quad ε = 1/(n + 1),

    and a = exp z, with the usual weight u. The truth is mixed with the mean m of all training rows,
    those without honest scores included, as if one more row had it,
    without which the scale of scores is infinite if classes are separable. For losses that are not
    linear in y, ε is 0.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n, dim)
    V : ndarray of shape (n, dim)
    weight : ndarray of shape (n,)
    mean : ndarray of shape (dim,)
        Mean vertex m.
    loss : FenchelYoung or Surrogate
    usual : float
        Weight u of a member without rows.
    steps : int, default=200
        Steps of L-BFGS at most.

    Returns
    -------
    a : ndarray of shape (n_members,)
    b : ndarray of shape (dim,)
    """
    n_members, n, dim = scores.shape
    rows, center = weight.sum(), np.log(usual)
    share = loss.linear_in_outputs / (rows + 1.0)
    truth = (1.0 - share) * V + share * mean
    flat = np.ascontiguousarray(scores.reshape(n_members, -1))

    def objective(z):
        a, far = np.exp(z[:n_members]), z - np.r_[np.full(n_members, center), np.zeros(dim)]
        value, slope = loss.objective((a @ flat).reshape(n, dim) + z[n_members:], truth)
        slope *= weight[:, None]
        gradient = np.r_[a * (flat @ slope.ravel()), slope.sum(axis=0)] + 2.0 * PRIOR * far
        return (weight @ value + PRIOR * far @ far) / rows, gradient / rows

    starts = [np.r_[np.full(n_members, center + scale), np.zeros(dim)] for scale in SCALES]
    start = min(starts, key=lambda z: objective(z)[0])
    z = minimize_lbfgs(objective, start, steps, bounds=BOUNDS, ftol=1e-9, gtol=1e-6).x
    return np.exp(z[:n_members]), z[n_members:]
