"""
Learn a drifting stream: which expert leads
===========================================

The weights behind the labels change after every 2,000 rows (concept drift). ``partial_fit`` with
its defaults mixes experts of several step sizes and their averages. The averages lead before the
first change, and the experts themselves after each change. The times of the changes are not given.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstructured import OnlineStructuredPredictor

rng = np.random.default_rng(0)
n, period, n_classes = 8000, 2000, 3
X = rng.normal(size=(n, 5))
W = 1.5 * rng.normal(size=(n // period, 5, n_classes))
scores = np.einsum("np,npk->nk", X, W[np.arange(n) // period])
y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)

# %%
# Rows are simulated, and come in chunks of 100; each chunk is predicted before it is learned.

learners = {
    "mixture (default)": OnlineStructuredPredictor(),
    "one optimizer, averaged": OnlineStructuredPredictor(optimizer="parameter_free"),
}
right = {name: [] for name in learners}
leads = []
for start in range(0, n, 100):
    rows, labels = X[start : start + 100], y[start : start + 100]
    for name, model in learners.items():
        if start:
            right[name].append(model.score(rows, labels))
        model.partial_fit(rows, labels, classes=range(n_classes))
    leads.append(learners["mixture (default)"].expert_weights_)

# %%
# The upper panel shows the share of right predictions; look at how fast it recovers after each
# change. The lower panel shows the weights of the experts and of their averages.

accuracy = {name: float(np.mean(shares)) for name, shares in right.items()}
for name, share in accuracy.items():
    print(f"{name}: {share:.2f} right")

leads, half = np.array(leads), len(leads[0]) // 2
rounds = 100 * np.arange(1, len(leads) + 1)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
for name, shares in right.items():
    smooth = np.convolve(shares, np.ones(5) / 5, mode="valid")
    above.plot(rounds[5:], smooth, label=f"{name}: {accuracy[name]:.2f}")
above.set(ylabel="accuracy", ylim=(0.0, 1.0))
above.legend(loc="lower right", ncols=2, fontsize=9)
below.stackplot(
    rounds,
    leads[:, :half].sum(axis=1),
    leads[:, half:].sum(axis=1),
    labels=["experts", "their averages"],
)
below.set_xlabel("rows learned")
below.set_ylabel("weight")
below.legend(loc="lower right")
plt.show()

# %%
# What we see: the mixture recovers within a few hundred rows after each change, while the single
# averaged optimizer needs most of a period. At the first change the weight moves from the averages
# to the experts themselves.
