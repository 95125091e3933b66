"""L-BFGS on smooth convex objectives of weights of any shape."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from skstructured._engine.arrays import Floats

#: The objective and its gradient at weights; whether an iteration with these is the last one.
Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]
Stop: TypeAlias = Callable[[float, Floats], bool]
Bounds: TypeAlias = tuple[float, float | None] | None


def minimize_lbfgs(
    function: Objective, start: Floats, max_iter: int, bounds: Bounds = None, **options: Any
) -> OptimizeResult:
    """SciPy's result of L-BFGS-B from `start`, its ``x`` in the shape of the start.

    By default neither the size of the gradient nor the decrease of the objective stops a run.
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


class LineSearch(NamedTuple):
    """What a step must gain, and how flat its end must be, in units of the slope at its start."""

    n_trials: int = 30
    gain: float = 1e-4
    flatness: float = 0.9


LINE_SEARCH = LineSearch()


def minimize_two_loops(function: Objective, start: Floats, max_iter: int, is_done: Stop) -> Floats:
    """Weights near the minimum, by L-BFGS without bounds; gradients are overwritten after use.

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
        np.subtract(after, gradient, out=gradient)
        memory.add(direction, gradient, step * (end - slope), step)
        gradient = after
        if is_done(value, gradient):
            break
    return x


def minimize_orthant_wise(
    function: Objective, start: Floats, l1: float | Floats, max_iter: int, is_done: Stop
) -> Floats:
    """Weights near the minimum of a smooth objective, a `function`, plus ``Σ l1 |x|``.

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
    for trial in range(LINE_SEARCH.n_trials):
        after = x + 0.5**trial * direction
        after[after * signs <= 0.0] = 0.0
        new_value, gradient = function(after)
        if new_value < value and new_value <= value + LINE_SEARCH.gain * np.vdot(slope, after - x):
            return after, new_value, gradient
    return None


class Memory:
    """The last steps s and changes y of the gradient, as unit vectors, and products of them."""

    # The two loops use the products only. Vectors are read twice, in single precision, and a block
    # of all of them at a time, which stays in the cache.

    #: Steps that are remembered, and numbers of each vector that are read at once.
    n_steps, block_size = 10, 1 << 14

    def __init__(self, size: int) -> None:
        n, block = self.n_steps, self.block_size
        self.vectors = np.zeros((2 * n, size), dtype=np.float32)
        self.S, self.Y = self.vectors[:n], self.vectors[n:]
        self.unit = np.empty(size, dtype=np.float32)  # the gradient's
        self.SY, self.YY = np.zeros((2, n, n))
        self.cosine, self.ratio = np.zeros((2, n))  # of s and y; ‖s‖/‖y‖
        self.order: list[int] = []  # places of the steps, the oldest one first
        self.blocks = [slice(start, start + block) for start in range(0, size, block)]

    def add(self, s: Floats, y: Floats, curvature: float, step: float = 1.0) -> None:
        """Remember step · s, whose product with y is its curvature if positive."""
        if not curvature > 0.0:
            return
        full = len(self.order) == self.n_steps  # the oldest step is then forgotten
        slot = self.order[0] if full else len(self.order)
        self.order = [*self.order[full:], slot]
        self.S[slot], long = _unit(s, self.S[slot])
        self.Y[slot], steep = _unit(y, self.Y[slot])
        self.cosine[slot], self.ratio[slot] = curvature / (step * long) / steep, step * long / steep

    def direction(self, gradient: Floats) -> tuple[Floats, float]:
        """Minus the approximate inverse Hessian times the gradient, and the slope along it."""
        g, size = _unit(gradient, self.unit)
        if not self.order or size == 0.0:
            return -gradient, -size * size
        along_s, along_y = self._products(g)
        of_y, of_s = np.zeros((2, self.n_steps))
        for i in reversed(self.order):
            of_y[i] = (along_s[i] - self.SY[i] @ of_y) / self.cosine[i]
        unit = self.ratio[i := self.order[-1]] * self.cosine[i]
        for i in self.order:
            inner = unit * (along_y[i] - self.YY[i] @ of_y) + self.SY[:, i] @ of_s
            of_s[i] = self.ratio[i] * of_y[i] - inner / self.cosine[i]
        return self._combined(np.concatenate([-of_s, unit * of_y]), size, -unit, gradient)

    def _products(self, g: Any) -> tuple[Floats, Floats]:
        """Of every s and y with g; those with the newest y are kept."""
        n, slot = self.n_steps, self.order[-1]
        products = np.zeros((2, 2 * n))
        for block in self.blocks:
            block_vectors = self.vectors[:, block]
            products += block_vectors @ self.Y[slot, block], block_vectors @ g[block]
        self.SY[:, slot], self.YY[slot] = products[0, :n], products[0, n:]
        self.SY[slot, slot], self.YY[:, slot] = 0.0, self.YY[slot]
        return products[1, :n], products[1, n:]

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
    for _ in range(LINE_SEARCH.n_trials):
        after = x + (direction if step == 1.0 else step * direction)
        new_value, gradient = function(after)
        if not new_value <= value + LINE_SEARCH.gain * step * slope:
            high = step
        elif (end := float(np.vdot(gradient, direction))) < LINE_SEARCH.flatness * slope:
            low = step
        else:
            return step, after, new_value, gradient, end
        step = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return None
