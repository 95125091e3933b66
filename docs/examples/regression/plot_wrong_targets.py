"""
Robust regression: some targets are wrong by a factor of ten
============================================================

A few typing errors in the targets can ruin a fit by least squares. A loss with bounded slope limits
the effect of each row.
"""

# %%
# Scikit-learn's diabetes data, unscaled. In a share of the training rows the target is multiplied
# by ten, as if somebody had typed a zero too many. The test rows are not changed.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import HuberRegressor, RidgeCV
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import PiSTOLRegressor

X, y = load_diabetes(return_X_y=True, scaled=False)
models = {
    'PiSTOLRegressor("linear")': PiSTOLRegressor("linear", random_state=0),
    "StandardScaler, HuberRegressor()": make_pipeline(StandardScaler(), HuberRegressor()),
    "StandardScaler, RidgeCV()": make_pipeline(StandardScaler(), RidgeCV()),
}
shares, seeds = np.linspace(0.0, 0.2, 6), range(5)
error = {name: np.zeros((len(shares), len(seeds))) for name in models}
for place, share in enumerate(shares):
    for seed in seeds:
        X_old, X_new, y_old, y_new = train_test_split(X, y, random_state=seed)
        wrong = np.random.RandomState(seed).rand(len(y_old)) < share
        for name, model in models.items():
            predicted = model.fit(X_old, np.where(wrong, 10 * y_old, y_old)).predict(X_new)
            error[name][place, seed] = mean_absolute_error(y_new, predicted)

# %%
# The figure shows the mean absolute error on test rows; bands are standard deviations over five
# splits. Look at the left end too: with correct targets the three models are equally accurate.

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, values in error.items():
    mean, spread = values.mean(axis=1), values.std(axis=1)
    print(f"{name:33} no wrong targets {mean[0]:.1f}, 20% wrong {mean[-1]:.1f}")
    ax.plot(100 * shares, mean, "o-", label=name)
    ax.fill_between(100 * shares, mean - spread, mean + spread, alpha=0.2)
ax.set(xlabel="wrong targets, % of the training rows", ylabel="mean absolute error on test rows")
ax.set_ylim(0, None)
ax.legend(fontsize=8)
plt.show()

# %%
# What we see: with 8% wrong targets the error of ridge regression is more than twice as large.
# `HuberRegressor` and `PiSTOLRegressor` barely change; the second needs no scaler.
