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


def minimize_orthant_wise(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    l1: float | Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool],
) -> Floats:
    """Weights near the minimum of a smooth objective plus ``Σ l1 |x|``, many of them exactly 0.

    Parameters
    ----------
    function, start, max_iter, is_done
        As for `minimize_lbfgs`, with the gradient of the smooth part alone.
    l1 : float or ndarray
        Strengths of the absolute weights, of the shape of the weights or broadcast to it.

    References
    ----------
    Andrew, Gao (2007), "Scalable training of L1-regularized log-linear models", Algorithm 1.
    """
    memory = Memory(start.size)
    x, (value, gradient) = start, function(start)
    for _ in range(max_iter):
        slope = _least_slope(x, gradient, l1)
        direction = memory.direction(slope)
        direction[direction * slope >= 0.0] = 0.0
        found = _within_orthant(function, x, value, direction, slope)
        if found is None:
            break
        before, (x, value, after) = x, found
        memory.add(x - before, after - gradient)
        gradient = after
        if is_done(value, gradient):
            break
    return x


def _least_slope(x: Floats, gradient: Floats, l1: float | Floats) -> Floats:
    """The subgradient of the whole objective that is nearest to 0."""
    shrunk = gradient - np.clip(gradient, -l1, l1)
    return np.where(x == 0.0, shrunk, gradient + l1 * np.sign(x))


def _within_orthant(
    function: Any, x: Floats, value: float, direction: Floats, slope: Floats
) -> tuple[Floats, float, Floats] | None:
    """Weights, objective and gradient after a step that gains enough; None if it finds none.

    Weights that would change their sign become 0; those of 0 get the sign of the descent.
    """
    signs = np.where(x == 0.0, -np.sign(slope), np.sign(x))
    for trial in range(TRIALS):
        after = x + 0.5**trial * direction
        after[after * signs <= 0.0] = 0.0
        found, gradient = function(after)
        if found <= value + GAIN * np.vdot(slope, after - x) and found < value:
            return after, found, gradient
    return None


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
