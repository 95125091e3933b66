"""
Second-order learners, with and without a hyperparameter
========================================================

Second-order learners have good probabilities after one pass. Online Newton steps need a curvature γ
that fits the data; the forecasters of `FolkloreClassifier` have no hyperparameter to tune.
"""

# %%
# Log losses (in bits) of one pass over unscaled rows, each predicted before it is learned. Online
# Newton steps are run with four values of γ.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.utils import shuffle

from skstructured import FolkloreClassifier, OnlineNewtonClassifier
from skstructured.evaluation import progressive_validate

gammas = [0.001, 0.01, 0.1, 1.0]
learners = {f"Newton steps, γ = {g}": OnlineNewtonClassifier(exp_concavity=g) for g in gammas}
learners["FolkloreClassifier()"] = FolkloreClassifier()

data = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "iris": load_iris(return_X_y=True),
}
# %%
# Each panel is one data set. Compare the colored curve, without a hyperparameter, with the gray
# ones: which γ is the best differs between the panels.

bits = {name: [] for name in data}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, (name, (X, y)) in zip(axes, data.items(), strict=True):
    X, y = shuffle(X, y, random_state=0)
    for i, (learner, model) in enumerate(learners.items()):
        losses = progressive_validate(model, X, y, play="randomized").surrogate_loss
        rounds = np.arange(1, len(losses) + 1)
        bits[name].append(losses.mean())
        print(f"{name:14} {learner:28} mean log loss {losses.mean():.3f} bits")
        style = (
            {"lw": 1, "color": str(0.2 + 0.18 * i)} if i < 4 else {"lw": 2, "color": f"C{i - 4}"}
        )
        ax.plot(rounds, np.cumsum(losses) / rounds, label=learner, **style)
    ax.set(title=name, xscale="log", yscale="log", xlabel="round")
axes[0].set_ylabel("mean log loss so far, bits")
axes[0].legend(fontsize=8)

plt.show()

# %%
# What we see: the best of four values of γ is as good as `FolkloreClassifier` on one of the three
# data sets, and worse on the others. Finding that value needs a grid search.
