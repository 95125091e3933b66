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
    bounds : tuple or None, default=None
        Lowest and highest value of every weight.
    **options
        Of SciPy. By default the last 20 steps are kept, and neither the size of the gradient nor
        the decrease of the objective stops a run.
    """

    def evaluate(flat: Floats) -> tuple[float, Floats]:
        value, gradient = function(flat.reshape(start.shape))
        return value, gradient.ravel()

    limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "maxls": 50}
    limits |= {"gtol": 0.0, "ftol": 0.0} | options
    kwargs = {"jac": True, "method": "L-BFGS-B", "options": limits}
    result = minimize(evaluate, start.ravel(), bounds=bounds and [bounds] * start.size, **kwargs)
    result.x = result.x.reshape(start.shape)
    return result


#: Steps that are remembered; evaluations of a line search, at most; what a step must gain, and how
#: flat its end must be, in units of the slope at its begin.
MEMORY, TRIALS, GAIN, FLAT = 10, 30, 1e-4, 0.9

#: Numbers of each vector that is remembered in a block that is read at once.
BLOCK = 1 << 14


def minimize_two_loops(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    is_done: Callable[[float, Floats], bool],
) -> Floats:
    """Weights near the minimum, by L-BFGS without bounds.

    Parameters
    ----------
    function, start, max_iter
        As for `minimize_lbfgs`; gradients are overwritten after use.
    is_done : callable
        Whether an iteration with this objective and gradient is the last one, for example by a gap.

    References
    ----------
    Nocedal, Wright (2006), "Numerical optimization", Algorithms 7.4 and 7.5.
    """
    memory = Memory(start.size)
    x, (value, gradient) = start, function(start)
    for _ in range(max_iter):
        direction, slope = memory.direction(gradient)
        new_point = _weak_wolfe(function, x, value, direction, slope)
        if new_point is None:
            break
        step, x, value, after, end = new_point
        change = np.subtract(after, gradient, out=gradient)
        memory.add(direction, change, step * (end - slope), step)
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
        As for `minimize_two_loops`, with the gradient of the smooth part alone.
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
        direction, _ = memory.direction(slope)
        direction[direction * slope >= 0.0] = 0.0
        new_point = _within_orthant(function, x, value, direction, slope)
        if new_point is None:
            break
        x_previous, (x, value, after) = x, new_point
        s, y = x - x_previous, after - gradient
        memory.add(s, y, float(np.vdot(s, y)))
        gradient = after
        if is_done(value, gradient):
            break
    return x


def _least_slope(x: Floats, gradient: Floats, l1: float | Floats) -> Floats:
    """The subgradient of the whole objective that is nearest to 0."""
    return np.where(x == 0.0, gradient - np.clip(gradient, -l1, l1), gradient + l1 * np.sign(x))


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
        new_value, gradient = function(after)
        if new_value <= value + GAIN * np.vdot(slope, after - x) and new_value < value:
            return after, new_value, gradient
    return None


class Memory:
    """The last steps s and changes y of the gradient, as unit vectors, and products of them.

    The two loops use the products only. Vectors are read twice, in single precision, and a block
    of all of them at a time, which stays in the cache.

    Parameters
    ----------
    size : int
        Number of weights.
    """

    def __init__(self, size: int) -> None:
        self.vectors = np.zeros((2 * MEMORY, size), dtype=np.float32)
        self.S, self.Y = self.vectors[:MEMORY], self.vectors[MEMORY:]
        self.unit = np.empty(size, dtype=np.float32)  # the gradient's
        self.SY, self.YY = np.zeros((2, MEMORY, MEMORY))
        self.cosine, self.ratio = np.zeros((2, MEMORY))  # of s and y; ‖s‖/‖y‖
        self.order: list[int] = []  # places of the steps, the oldest one first
        self.blocks = [slice(first, first + BLOCK) for first in range(0, size, BLOCK)]

    def add(self, s: Floats, y: Floats, curvature: float, step: float = 1.0) -> None:
        """Remember step · s, whose product with y is its curvature, and forget the oldest step.

        Nothing changes if the curvature is not positive. A direction follows, which makes the
        products.
        """
        if not curvature > 0.0:
            return
        full = len(self.order) == MEMORY
        slot = self.order[0] if full else len(self.order)
        self.order = [*self.order[full:], slot]
        self.S[slot], long = _unit(s, self.S[slot])
        self.Y[slot], steep = _unit(y, self.Y[slot])
        self.cosine[slot], self.ratio[slot] = curvature / (step * long) / steep, step * long / steep

    def direction(self, gradient: Floats) -> tuple[Floats, float]:
        """Minus the approximate inverse of the Hessian times the gradient, and the slope along it.

        The slope is the product of the two.
        """
        g, size = _unit(gradient, self.unit)
        if not self.order or size == 0.0:
            return -gradient, -size * size
        along_s, along_y = self._products(g)
        of_y, of_s = np.zeros((2, MEMORY))
        for i in reversed(self.order):
            of_y[i] = (along_s[i] - self.SY[i] @ of_y) / self.cosine[i]
        unit = self.ratio[i := self.order[-1]] * self.cosine[i]
        for i in self.order:
            inner = unit * (along_y[i] - self.YY[i] @ of_y) + self.SY[:, i] @ of_s
            of_s[i] = self.ratio[i] * of_y[i] - inner / self.cosine[i]
        return self._combined(np.concatenate([-of_s, unit * of_y]), size, -unit, gradient)

    def _products(self, g: Any) -> tuple[Floats, Floats]:
        """Of every s and y with g; those with the newest y are kept."""
        slot, products = self.order[-1], np.zeros((2, 2 * MEMORY))
        for block in self.blocks:
            block_vectors = self.vectors[:, block]
            products += block_vectors @ self.Y[slot, block], block_vectors @ g[block]
        self.SY[:, slot], self.YY[slot] = products[0, :MEMORY], products[0, MEMORY:]
        self.SY[slot, slot], self.YY[:, slot] = 0.0, self.YY[slot]
        return products[1, :MEMORY], products[1, MEMORY:]

    def _combined(
        self, factors: Floats, size: float, unit: float, gradient: Floats
    ) -> tuple[Floats, float]:
        """size · Σ factors · vectors + unit · gradient, and its product with the gradient."""
        combination, largest = np.empty(gradient.shape), max(abs(unit), np.abs(factors).max())
        flat, flat_gradient, slope = combination.ravel(), gradient.ravel(), 0.0
        # factors of any size, unlike single precision
        factors = (factors / largest).astype(np.float32)
        for block in self.blocks:
            np.multiply(factors @ self.vectors[:, block], size * largest, out=flat[block])
            flat[block] += unit * flat_gradient[block]
            slope += float(flat_gradient[block] @ flat[block])
        return combination, slope


def _unit(vector: Floats, out: Any) -> tuple[Any, float]:
    """The vector over its norm in single precision, which is written, and the norm."""
    norm = float(np.linalg.norm(vector))
    return np.multiply(vector.ravel(), 1.0 / (norm or 1.0), out=out, casting="same_kind"), norm


def _weak_wolfe(
    function: Any, x: Floats, value: float, direction: Floats, slope: float
) -> tuple[float, Floats, float, Floats, float] | None:
    """A step that gains enough and ends flat enough, by bisection; None if it finds nothing.

    Returns the step, and the weights, the objective, the gradient and the slope after it.
    """
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(TRIALS):
        after = x + (direction if step == 1.0 else step * direction)
        new_value, gradient = function(after)
        if not new_value <= value + GAIN * step * slope:
            high = step
        elif (end := float(np.vdot(gradient, direction))) < FLAT * slope:
            low = step
        else:
            return step, after, new_value, gradient, end
        step = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return None
