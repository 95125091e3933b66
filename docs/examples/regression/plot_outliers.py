"""
Predict the bulk of the outputs where some are outliers
=======================================================

A curve, and one output in five far above it. Least squares run after the outliers; a loss whose
slope is bounded does not. `PiSTOLRegressor` has such a loss, and neither C nor bandwidth to search.
"""

# %%
# Outliers are among the rows that are learned. What counts is the distance to the curve itself.

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
    "KernelRidge, searched": GridSearchCV(KernelRidge(kernel="rbf"), grid),
    "HuberRegressor()": HuberRegressor(),
}
found = {name: model.fit(X, y).predict(X) for name, model in models.items()}
for name, values in found.items():
    print(f"{name:22} off the curve by {np.abs(values - curve).mean():.2f} on average")

# %%
# `SVR` has a bounded slope too, and a C that fits a standard deviation of about one.
# `HuberRegressor` is a straight line, and the best choice where the truth is one.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.75", label="rows")
ax.plot(X[:, 0], curve, "k:", label="the curve")
for name, values in found.items():
    ax.plot(X[:, 0], values, label=name)
ax.set(xlabel="x", ylabel="y")
ax.legend(fontsize=8)

# %%
# Quantiles: nine of ten outputs are below the upper curve. Here the outliers are what is asked for.

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
