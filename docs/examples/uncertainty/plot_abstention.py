"""
Abstain if a mistake costs more than asking
===========================================

Three experts for breast cancer, weighted by their past losses, and a classifier that asks whenever
the probability of a mistake exceeds the cost of asking. The second part shows the effect on the
theory: if abstaining is cheap, the regret stops growing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import shuffle

from skstructured import AbstainingHedgeClassifier, OnlineStructuredPredictor
from skstructured.experts.hedge import AdaHedge

# %%
# Asking costs a tenth of a mistake
# ---------------------------------
#
# The dot is the share of rows that the classifier answers by its own choice. The curves are for all
# other shares, most confident rows first. Look at the dot: it is just before the steep right end of
# the curve.
X, y = shuffle(*load_breast_cancer(return_X_y=True), random_state=0)
experts = [GaussianNB(), KNeighborsClassifier(), OnlineStructuredPredictor(random_state=0)]
model = AbstainingHedgeClassifier(experts, abstention_cost=0.1).fit(X[:300], y[:300])

abstains, wrong = model.abstains(X[300:]), model.predict(X[300:]) != y[300:]
print(f"weights of the experts: {np.round(model.hedge_.weights_, 2)}")
print(f"always predicting: {wrong.mean():.2%} of {len(wrong)} new rows wrong")
print(f"abstaining on {abstains.mean():.1%} of them: {wrong[~abstains].mean():.2%} wrong")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for classifier, width in [(model, 4), *((expert, 1) for expert in model.estimators_)]:
    confidence = classifier.predict_proba(X[300:]).max(axis=1)
    answered = confidence >= np.unique(confidence)[::-1, None]  # from the most confident rows on
    mistakes = answered & (classifier.predict(X[300:]) != y[300:])
    coverage, risk = answered.mean(axis=1), mistakes.sum(axis=1) / answered.sum(axis=1)
    ax.plot(coverage, risk, lw=width, alpha=2 / (1 + width), label=type(classifier).__name__)
ax.plot(1.0 - abstains.mean(), wrong[~abstains].mean(), "o", color="C0")
ax.set(xlabel="share of rows predicted", ylabel="share of mistakes among them")
ax.set_title("breast cancer, new rows (dot: its own choice)")
ax.legend()

# %%
# The price of never asking
# -------------------------
#
# Two experts, one that always predicts yes and one that always predicts no; the labels are yes a
# little more often. The figure shows the worst of ten such streams, as means over ten seeds. Look
# at the slopes: with a cost of one half, abstaining has no advantage over a coin, and the regret
# grows with the square root of the number of rounds.
TILTS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
ROUNDS = np.unique(np.geomspace(10, 10_000, 25).astype(int))
COSTS = (0.3, 0.4, 0.5)


def regrets(tilt, seed):
    """Regret to the better expert after ROUNDS, for each of COSTS."""
    draws = np.random.RandomState(seed).random_sample(ROUNDS[-1])
    y = np.where(draws < 0.5 + tilt, 1.0, -1.0)
    losses = (1.0 - y[:, None] * np.array([1.0, -1.0])) / 2.0
    margin = 1.0 - 2.0 * AdaHedge(2).update(losses)
    sure, best = np.abs(margin), np.cumsum(losses, axis=0).min(axis=1)
    lost = [np.cumsum(sure * (margin < 0.0) + (1.0 - sure) * cost) for cost in COSTS]
    return (np.array(lost) - best)[:, ROUNDS - 1]


worst = np.max([np.mean([regrets(t, seed) for seed in range(10)], axis=0) for t in TILTS], axis=0)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for cost, curve in zip(COSTS, worst, strict=True):
    ax.plot(ROUNDS, curve, label=f"abstaining costs {cost}")
    print(f"cost {cost}: worst regret {curve[-1]:.2f} after {ROUNDS[-1]} rounds")
ax.set(xscale="log", yscale="log", xlabel="round", ylabel="worst regret")
ax.set_title("regret to the better of two constant experts")
ax.legend()
plt.show()

# %%
# What we see: by abstaining on a few percent of the rows, the classifier halves its error rate on
# the others. If abstaining costs less than half a mistake, the worst regret stays constant; at one
# half it keeps growing.
