"""
Discrete choice: the value of travel time
=========================================

Train, Swissmetro or car: a conditional logit weights times and costs. It estimates the value of an
hour, and how the shares of the modes change with a price.

The trips are simulated, unless the environment variable SKSTRUCTURED_DATA names a folder with
``choice_swissmetro.npz``, the survey data.
"""

# %%
# Each trip has three modes, some of them not available, with the time (in hundreds of minutes), the
# cost (in hundreds of francs), and alternative-specific constants of train and car.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skstructured import ConditionalLogit

MODES, FEATURES = ("train", "Swissmetro", "car"), ("time", "cost", "train", "car")
file = Path(os.environ.get("SKSTRUCTURED_DATA", "data")) / "choice_swissmetro.npz"
if file.exists():
    with np.load(file) as z:
        X, available = z["X"][:, :, [0, 1, 3, 4]].astype(float), z["available"].astype(bool)
        chosen = z["y"]
else:
    rng, n = np.random.RandomState(0), 3000
    X = np.zeros((n, 3, 4))
    X[:, :, 0] = rng.gamma(6.0, 0.25, (n, 3)) * [1.0, 0.6, 1.0]
    X[:, :, 1] = rng.gamma(4.0, 0.25, (n, 3))
    X[:, 0, 2] = X[:, 2, 3] = 1.0
    available = rng.rand(n, 3) < [1.0, 1.0, 0.8]
    liked = X @ [-1.3, -1.1, -0.7, -0.2] + rng.gumbel(size=(n, 3))
    chosen = np.where(available, liked, -np.inf).argmax(axis=1)

# %%
# The ratio of two weights is the value of an hour, with a standard error by the delta method. The
# errors assume that all answers are independent. :doc:`/tasks/discrete_choice` has cluster-robust
# errors, for several answers per person.

model = ConditionalLogit().fit(X, chosen, available=available)
print(model.summary(feature_names=FEATURES))
time, cost = model.coef_[:2]
slope = np.array([1.0, -time / cost]) / cost
error = np.sqrt(slope @ model.covariance_[:2, :2] @ slope)
print(f"\nan hour less is worth {60 * time / cost:.0f} ± {60 * error:.0f} francs")

# %%
# The left panel has the weights with 95% intervals. The middle panel has the shares of the modes if
# trains cost between half and double. The right panel has the elasticities: how much the share of a
# mode, and those of the others, change in percent if its cost changes by one percent.

factors = np.linspace(0.5, 2.0, 16)
shares = []
for factor in factors:
    priced = X.copy()
    priced[:, 0, 1] *= factor
    shares.append(np.mean(model.predict_proba(priced, available=available), axis=0))
shares = np.array(shares)
proba = np.array(model.predict_proba(X, available=available))
effect = cost * X[:, :, 1]
effects = [
    [np.average(e[:, j], weights=proba[:, j]) for j in range(3)]
    for e in (effect * (1.0 - proba), -effect * proba)
]

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
left.errorbar(model.coef_, range(4), xerr=1.96 * model.standard_errors_, fmt="o", capsize=3)
left.set_yticks(range(4), FEATURES)
left.axvline(0.0, color="k", linewidth=0.8)
left.set_title("weights, 95% intervals")
middle.stackplot(factors, shares.T, labels=MODES)
middle.set(xlabel="price of trains, times", title="shares of modes", xlim=(0.5, 2.0))
middle.legend(loc="lower right")
right.bar(np.arange(3) - 0.2, effects[0], 0.4, label="own share")
right.bar(np.arange(3) + 0.2, effects[1], 0.4, label="shares of others")
right.set_xticks(range(3), MODES)
right.set_title("elasticity in the cost")
right.legend()
plt.show()

# %%
# What we see: both time and cost make a mode less likely, and their ratio is the value of an hour.
# When trains cost more, their share falls and those of Swissmetro and car rise.
