"""L-BFGS on smooth convex objectives of weights of any shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from skstructured._engine.arrays import Floats


def minimize_lbfgs(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool] | None = None,
    bounds: tuple[float, float | None] | None = None,
    **options: Any,
) -> OptimizeResult:
    """SciPy's result of L-BFGS-B from `start`, its ``x`` in the shape of the start.

    Parameters
    ----------
    function : callable
        The objective and its gradient at weights.
    start : ndarray
        Weights to begin with.
    max_iter : int
        Most iterations; there are at most 20 evaluations for each.
    is_done : callable or None, default=None
        Whether an iteration with this objective and gradient is the last one, for example by a gap.
    bounds : tuple or None, default=None
        Lowest and highest value of every weight.
    **options
        Of SciPy. By default the last 20 steps are kept, and neither the size of the gradient nor
        the decrease of the objective stops a run.
    """
    last: dict[str, Floats] = {}  # the last point that was evaluated is the one accepted

    def evaluate(flat: Floats) -> tuple[float, Floats]:
        value, last["gradient"] = function(flat.reshape(start.shape))
        return value, last["gradient"].ravel()

    def note(intermediate_result: OptimizeResult) -> None:
        if is_done is not None and is_done(intermediate_result.fun, last["gradient"]):
            raise StopIteration

    limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "maxls": 50}
    limits |= {"gtol": 0.0, "ftol": 0.0} | options
    given = {"jac": True, "method": "L-BFGS-B", "callback": note, "options": limits}
    found = minimize(evaluate, start.ravel(), bounds=bounds and [bounds] * start.size, **given)
    found.x = found.x.reshape(start.shape)
    return found


def minimize_two_loops(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool],
) -> Floats:
    """Weights near the minimum; arguments as for `minimize_lbfgs`."""
    return minimize_lbfgs(function, start, max_iter, is_done, maxcor=10).x


def minimize_orthant_wise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    l1: float | Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool],
) -> Floats:
    """Weights near the minimum of an objective with ``Σ l1 |x|``, many of them exactly 0.

    They are differences of positive and negative parts, whose bound is 0.

    Parameters
    ----------
    function, start, max_iter, is_done
        As for `minimize_lbfgs`; the gradient is that of the smooth part alone.
    l1 : float or ndarray
        Strengths of the absolute weights, of the shape of the weights or broadcast to it.
    """

    def of_parts(parts: Floats) -> tuple[float, Floats]:
        value, gradient = function(parts[0] - parts[1])
        value += 2.0 * np.sum(l1 * parts.min(axis=0))  # counted in both parts
        return value, np.stack([l1 + gradient, l1 - gradient])

    def parts_are_done(value: float, slopes: Floats) -> bool:
        return is_done(value, 0.5 * (slopes[0] - slopes[1]))

    parts = np.stack([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
    found = minimize_lbfgs(of_parts, parts, max_iter, parts_are_done, (0.0, None), maxcor=10).x
    return found[0] - found[1]
