"""
Regression that ignores outliers
================================

A curve, with one output in five far above it. Least squares follow the outliers; a loss with
bounded slope does not. `PiSTOLRegressor` has such a loss, and neither C nor a bandwidth to tune.
"""

# %%
# The data are simulated, and the outliers are among the training rows. The error is the distance to
# the curve itself.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from skstructured import PiSTOLRegressor

rng = np.random.RandomState(0)
X = np.sort(rng.uniform(-3, 3, size=(400, 1)), axis=0)
curve = np.sin(2 * X[:, 0]) + X[:, 0] / 2
y = curve + 0.2 * rng.randn(400) + np.where(rng.rand(400) < 0.2, 6.0, 0.0)

grid = {"alpha": 10.0 ** np.arange(-4, 2), "gamma": 10.0 ** np.arange(-2, 2)}
models = {
    'PiSTOLRegressor("rbf")': PiSTOLRegressor("rbf", random_state=0),
    "SVR()": SVR(),
    "KernelRidge, tuned": GridSearchCV(KernelRidge(kernel="rbf"), grid),
    "HuberRegressor()": HuberRegressor(),
}
found = {name: model.fit(X, y).predict(X) for name, model in models.items()}
for name, values in found.items():
    print(f"{name:22} off the curve by {np.abs(values - curve).mean():.2f} on average")

# %%
# Look at which of the curves are pulled up by the outliers. `SVR` has a loss of bounded slope too,
# and a C that fits a standard deviation of about one. `HuberRegressor` is a linear model, and the
# best choice if the true curve is a line.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.75", label="rows")
ax.plot(X[:, 0], curve, "k:", label="true curve")
for name, values in found.items():
    ax.plot(X[:, 0], values, label=name)
ax.set(xlabel="x", ylabel="y")
ax.legend(fontsize=8)

# %%
# Quantile regression: nine of ten outputs are below the upper curve. Here the outliers are part of
# the answer.

levels = (0.1, 0.5, 0.9)
figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.75")
for level in levels:
    model = PiSTOLRegressor("rbf", loss="quantile", quantile=level, random_state=0).fit(X, y)
    values = model.predict(X)
    ax.plot(X[:, 0], values, label=f"quantile {level}")
    print(f"quantile {level}: {np.mean(y < values):.0%} of the outputs are below")
ax.set(xlabel="x", ylabel="y")
ax.legend()
plt.show()

# %%
# What we see: `PiSTOLRegressor` and `SVR` stay close to the curve. `KernelRidge`, tuned on rows
# with outliers, is pulled far above it, and the linear model cannot follow it.
