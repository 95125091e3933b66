"""L-BFGS on the weights."""

from scipy.optimize import minimize


class Trace:
    """Objectives and duality gaps of the iterations, and when they are good enough.

    Parameters
    ----------
    tol : float
        The gap to stop at.
    verbose : int
        Whether a line is printed for each iteration.
    """

    def __init__(self, tol, verbose):
        self.tol, self.verbose = tol, verbose
        self.values, self.gaps = [], []

    def add(self, value, gap):
        """Note an iteration; whether its gap is small enough."""
        self.values.append(float(value))
        self.gaps.append(float(gap))
        if self.verbose:
            print(f"iteration {len(self.values)}: objective {value:.8g}, gap {gap:.3g}")
        return self.good

    @property
    def good(self):
        """Whether the last gap is small enough."""
        return bool(self.gaps) and self.gaps[-1] <= self.tol


def lbfgs(objective, Theta, max_iter, trace, memory=10):
    """Weights near the optimum; the `trace` gets the iterations."""
    shape = Theta.shape
    value, gradient = objective.value_and_gradient(Theta)
    start = value, objective.gap(gradient)
    if start[1] <= trace.tol:
        trace.add(*start)
        return Theta
    last = {}  # the last point that was evaluated is the one accepted

    def function(flat):
        value, gradient = objective.value_and_gradient(flat.reshape(shape))
        last["gap"] = objective.gap(gradient)
        return value, gradient.ravel()

    def note(intermediate_result):
        if trace.add(intermediate_result.fun, last["gap"]):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": memory}
    options |= {"gtol": 0.0, "ftol": 0.0, "maxls": 50}
    found = minimize(
        function, Theta.ravel(), jac=True, method="L-BFGS-B", callback=note, options=options
    )
    if not trace.values:  # no step was found that is better than none
        trace.add(*start)
    return found.x.reshape(shape)
