"""Weights of members, by the loss of the task over honest scores."""

from typing import Any

import numpy as np

from skstructured._base.lbfgs import minimize_lbfgs
from skstructured.extend._types import Floats


def share_of_mean(loss: Any, rows: float) -> float:
    """ε = 1/(n + 1) of n rows; 0 if the loss is not linear in y, or finite scores have none."""
    return 0.0 if not loss.linear_in_outputs or loss.has_margin else 1.0 / (rows + 1.0)


def mixing_weights(
    scores: Floats,
    V: Floats,
    weight: Floats,
    mean: Floats,
    loss: Any,
    usual: float,
    max_iter: int = 200,
    prior: float = 0.1,
) -> tuple[Floats, Floats]:
    r"""Weights a > 0 of members, and an intercept b, of the least loss.

    With scores θ_e(x_i) of members, vertices y_i, and weights w_i of sum n,

    .. math:: \min_{z, b} \sum_i w_i S(\sum_e e^{z_e} θ_e(x_i) + b; (1 - ε) y_i + ε m)
        + 0.1 ‖z - \ln u‖^2 + 0.1 ‖b‖^2, \quad ε = 1/(n + 1),

    and a = exp z, with the usual weight u. The truth is mixed with the mean m of all training rows,
    those without honest scores included, as if one more row had it,
    without which the scale of scores is infinite if classes are separable; see `share_of_mean`.
    """
    n_members, n, dim = scores.shape
    rows, center = weight.sum(), np.log(usual)
    share = share_of_mean(loss, rows)
    truth = (1.0 - share) * V + share * mean
    flat = np.ascontiguousarray(scores.reshape(n_members, -1))

    def objective(z):
        a, far = np.exp(z[:n_members]), z - np.r_[np.full(n_members, center), np.zeros(dim)]
        value, slope = loss.objective((a @ flat).reshape(n, dim) + z[n_members:], truth)
        slope *= weight[:, None]
        gradient = np.r_[a * (flat @ slope.ravel()), slope.sum(axis=0)] + 2.0 * prior * far
        return (weight @ value + prior * far @ far) / rows, gradient / rows

    # the objective is not convex in z: from far too large weights it can end with all nearly 0
    starts = [np.r_[np.full(n_members, center + log), np.zeros(dim)] for log in range(-6, 1)]
    start = min(starts, key=lambda z: objective(z)[0])
    z = minimize_lbfgs(objective, start, max_iter, bounds=(-7.0, 7.0), ftol=1e-9, gtol=1e-6).x
    return np.exp(z[:n_members]), z[n_members:]
