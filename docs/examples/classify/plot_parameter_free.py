"""
One fit instead of fifty: no step size to tune
==============================================

Gradient descent needs a step size, which is usually tuned by grid search: eleven steps, five folds.
The optimizer "parameter_free" bets on its own gradients and has no step size. "mixture", the
default in a single pass, combines it with others.
"""

# %%
# One pass over scikit-learn's digits, with eleven step sizes and without any. The curve is the test
# error of each step size; the cross is the step size found by cross-validation, and the line is the
# error without a step size.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import GradientDescent

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
steps = np.logspace(-5, 0, 11)
descent = OnlineStructuredPredictor(optimizer=GradientDescent(), max_iter=1, random_state=0)
free = OnlineStructuredPredictor(optimizer="parameter_free", max_iter=1, random_state=0)


def seconds(model, X):
    """Time to fit, the first call of which may compile."""
    model.fit(X, y)
    start = perf_counter()
    model.fit(X, y)
    return perf_counter() - start


errors = [1 - descent.set_params(optimizer__eta=eta).fit(X, y).score(X_new, y_new) for eta in steps]
search = GridSearchCV(descent, {"optimizer__eta": steps})
times = [seconds(model, X) for model in (free, search)]
chosen = search.best_params_["optimizer__eta"]
without, tuned = (1 - model.score(X_new, y_new) for model in (free, search))
print(f"no step size:     {without:.1%} wrong, {times[0]:.3f} s")
print(f"tuned step size:  {tuned:.1%} wrong, {times[1]:.3f} s, step size {chosen:.2g}")
print(f"other step sizes: {min(errors):.1%} to {max(errors):.1%} wrong")

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(steps, errors, "o-", label="GradientDescent(eta=step size)")
ax.plot(chosen, tuned, "kx", ms=12, mew=2, label="step size found by grid search")
ax.axhline(without, color="tab:orange", label='optimizer="parameter_free"')
ax.set(xscale="log", yscale="log", xlabel="step size", ylabel="error on test rows")
ax.legend()

# %%
# A tuned step size does not transfer to other units. Here features are not standardized, and
# multiplied by a number. Look at the minima of the curves: the best steps move by the
# square of the number, while the error without a step size does not change. (Planes separate the
# digits almost without mistakes, so steps that are too large do little harm here.)

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
given = {"max_iter": 1, "standardize": False, "fit_intercept": False, "random_state": 0}
steps = np.logspace(-8, 3, 23)
for i, factor in enumerate((0.1, 1.0, 10.0)):
    errors = []
    for eta in steps:
        model = OnlineStructuredPredictor(optimizer=GradientDescent(eta=eta), **given)
        errors.append(1 - model.fit(X * factor, y).score(X_new * factor, y_new))
    free = OnlineStructuredPredictor(optimizer="parameter_free", **given).fit(X * factor, y)
    error = 1 - free.score(X_new * factor, y_new)
    best = steps[np.argmin(errors)]
    print(f"features times {factor}: no step size {error:.1%}, best step size {best:.1g}")
    ax.plot(steps, errors, color=f"C{i}", label=f"features times {factor}")
ax.axhline(error, color="0.3", ls="--", label='optimizer="parameter_free", all three')
ax.set(xscale="log", yscale="log", xlabel="step size", ylabel="error on test rows")
ax.legend()

plt.show()

# %%
# What we see: the error without a step size is as low as that of the best of eleven step sizes, in
# a small part of the time. It is also the same in all units, while the best step size is not.
