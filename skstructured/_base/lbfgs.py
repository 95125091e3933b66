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


#: Steps that are remembered; evaluations of a line search, at most; what a step must gain, and how
#: flat its end must be, in units of the slope at its begin.
MEMORY, TRIALS, GAIN, FLAT = 10, 30, 1e-4, 0.9


def minimize_two_loops(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool],
) -> Floats:
    """Weights near the minimum, by L-BFGS without bounds.

    Parameters
    ----------
    function, start, max_iter, is_done
        As for `minimize_lbfgs`.

    References
    ----------
    Nocedal, Wright (2006), "Numerical optimization", Algorithms 7.4 and 7.5.
    """
    memory = Memory(start.size)
    x, (value, gradient) = start, function(start)
    for _ in range(max_iter):
        direction = memory.direction(gradient)
        found = _weak_wolfe(function, x, value, direction, float(np.vdot(gradient, direction)))
        if found is None:
            break
        step, x, value, after = found
        memory.add(step * direction, after - gradient)
        gradient = after
        if is_done(value, gradient):
            break
    return x


class Memory:
    """The last steps s and changes y of the gradient, as unit vectors, and products of them.

    The two loops use the products only. Vectors are read twice, in single precision.

    Parameters
    ----------
    size : int
        Number of weights.
    """

    def __init__(self, size: int) -> None:
        self.S, self.Y = np.zeros((2, MEMORY, size), dtype=np.float32)
        self.SY, self.YY = np.zeros((2, MEMORY, MEMORY))
        self.ratio = np.zeros(MEMORY)  # ‖s‖/‖y‖
        self.order: list[int] = []  # places of the steps, the oldest one first

    def add(self, s: Floats, y: Floats) -> None:
        """Remember a step, and forget the oldest; not if its curvature is not positive."""
        curvature = float(np.vdot(s, y))
        if not curvature > 0.0:
            return
        full = len(self.order) == MEMORY
        at = self.order[0] if full else len(self.order)
        self.order = [*self.order[full:], at]
        long, steep = np.linalg.norm(s), np.linalg.norm(y)
        np.multiply(s.ravel(), 1.0 / long, out=self.S[at], casting="same_kind")
        np.multiply(y.ravel(), 1.0 / steep, out=self.Y[at], casting="same_kind")
        self.SY[:, at], self.YY[at] = self.S @ self.Y[at], self.Y @ self.Y[at]
        self.YY[:, at], self.SY[at, at] = self.YY[at], curvature / long / steep
        self.ratio[at] = long / steep

    def direction(self, gradient: Floats) -> Floats:
        """Minus the approximate inverse of the Hessian times the gradient, by two loops."""
        size = float(np.linalg.norm(gradient))
        if not self.order or size == 0.0:
            return -gradient
        g = np.empty(gradient.size, dtype=np.float32)
        np.multiply(gradient.ravel(), 1.0 / size, out=g, casting="same_kind")
        along_s, along_y, (of_y, of_s) = self.S @ g, self.Y @ g, np.zeros((2, MEMORY))
        for i in reversed(self.order):
            of_y[i] = (along_s[i] - self.SY[i] @ of_y) / self.SY[i, i]
        unit = self.ratio[i := self.order[-1]] * self.SY[i, i]
        for i in self.order:
            inner = unit * (along_y[i] - self.YY[i] @ of_y) + self.SY[:, i] @ of_s
            of_s[i] = self.ratio[i] * of_y[i] - inner / self.SY[i, i]
        ahead = max(unit, np.abs(of_s).max())  # of any size, unlike single precision
        change = (of_s / ahead).astype(np.float32) @ self.S
        change -= (unit / ahead * of_y).astype(np.float32) @ self.Y
        found = np.multiply(change.reshape(gradient.shape), -size * ahead, dtype=np.float64)
        found -= unit * gradient
        return found


def _weak_wolfe(
    function: Any, x: Floats, value: float, direction: Floats, slope: float
) -> tuple[float, Floats, float, Floats] | None:
    """A step that gains enough and ends flat enough, by bisection; None if it finds nothing.

    Returns the step, and the weights, the objective and the gradient after it.
    """
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(TRIALS):
        after = x + step * direction
        found, gradient = function(after)
        if not found <= value + GAIN * step * slope:
            high = step
        elif np.vdot(gradient, direction) < FLAT * slope:
            low = step
        else:
            return step, after, found, gradient
        step = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return None
