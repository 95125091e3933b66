"""A classifier that may say nothing: what it costs, and how its regret stops to grow.

python docs/example_abstention.py [PICTURE.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import shuffle

from skstructured import AbstainingHedgeClassifier, OnlineStructuredPredictor
from skstructured.display import RiskCoverageDisplay
from skstructured.hedge import AdaHedge

COST = 0.1
#: How much likelier than ½ the one label is.
TILTS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
ROUNDS = np.unique(np.geomspace(10, 30000, 25).astype(int))


def regrets(costs, n, seeds=20):
    """Worst mean regret over the tilts after ROUNDS; the experts say always yes and always no."""
    found = np.zeros((len(TILTS), len(costs), len(ROUNDS)))
    for i, tilt in enumerate(TILTS):
        for seed in range(seeds):
            y = np.where(np.random.RandomState(seed).random_sample(n) < 0.5 + tilt, 1.0, -1.0)
            losses = (1.0 - y[:, None] * np.array([1.0, -1.0])) / 2.0
            margin = 1.0 - 2.0 * AdaHedge(2).update(losses)
            sure, best = np.abs(margin), np.cumsum(losses, axis=0).min(axis=1)
            for j, cost in enumerate(costs):
                lost = np.cumsum(sure * (margin < 0.0) + (1.0 - sure) * cost)
                found[i, j] += (lost - best)[ROUNDS - 1] / seeds
    return found.max(axis=0)


def draw_coverage(ax):
    X, y = shuffle(*load_breast_cancer(return_X_y=True), random_state=0)
    experts = [GaussianNB(), KNeighborsClassifier(), OnlineStructuredPredictor(random_state=0)]
    model = AbstainingHedgeClassifier(experts, abstention_cost=COST).fit(X[:300], y[:300])
    RiskCoverageDisplay.from_estimator(model, X[300:], y[300:], name="hedged", ax=ax, lw=3)
    for expert in model.estimators_:
        RiskCoverageDisplay.from_estimator(expert, X[300:], y[300:], ax=ax, lw=1)
    abstains, wrong = model.abstains(X[300:]), model.predict(X[300:]) != y[300:]
    print(f"weights of the experts: {np.round(model.hedge_.weights_, 2)}")
    print(f"always predicting: {wrong.mean():.2%} of {len(wrong)} new rows wrong")
    print(f"abstaining on {abstains.mean():.1%} of them: {wrong[~abstains].mean():.2%} wrong")
    ax.set_title("breast cancer, new rows (dot: its own choice)")


def main(picture):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    draw_coverage(axes[0])
    costs = (0.3, 0.4, 0.5)
    for cost, curve in zip(costs, regrets(costs, ROUNDS[-1]), strict=True):
        axes[1].plot(ROUNDS, curve, label=f"abstaining costs {cost}")
        print(f"cost {cost}: worst regret {curve[-1]:.2f} after {ROUNDS[-1]} rounds")
    axes[1].set(xscale="log", yscale="log", xlabel="round", ylabel="worst regret")
    axes[1].set_title("regret to the better of two constant experts")
    axes[1].legend()
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["abstention.png"]))
