"""L-BFGS on smooth convex objectives of weights of any shape."""

from collections.abc import Callable
from typing import Any

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
