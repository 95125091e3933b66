"""
Label ranking of digits: ranks or assignments
=============================================

Label ranking predicts the order of all classes, not only the most likely class. The true order of
the ten digits is that of a naive Bayes classifier, which sees the same pixels.
"""

# %%
# ``y[i, j]`` is the position of class j for row i, 0 for the first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured.metrics import kendall_tau

X, digit = load_digits(return_X_y=True)
scores = GaussianNB(var_smoothing=0.1).fit(X, digit).predict_joint_log_proba(X)
y = (-scores).argsort(axis=1).argsort(axis=1)
X, X_new, y, y_new = train_test_split(X, y, random_state=0, train_size=1000, test_size=500)

# %%
# Ranks are a permutation of 1 … m with m for the best; the space "ranking" needs them.

tau = {}
for kind in (OnlineStructuredPredictor, KernelStructuredPredictor):
    ranked = kind("ranking", random_state=0).fit(X, y.max() + 1 - y)
    tau[f'{kind.__name__}("ranking")'] = kendall_tau(y.max() + 1 - ranked.predict(X_new), y_new)
matched = OnlineStructuredPredictor("assignment", random_state=0).fit(X, y)
tau['OnlineStructuredPredictor("assignment")'] = kendall_tau(matched.predict(X_new), y_new)
ridge = RidgeCV().fit(X, y).predict(X_new).argsort(axis=1).argsort(axis=1)
tau["RidgeCV of the positions"] = kendall_tau(ridge, y_new)
for name, values in tau.items():
    print(f"{name:39} Kendall's tau {values.mean():.3f}")

# %%
# The left panel shows the agreement row by row, the worst first; look at the left end. The right
# panel shows the probabilities of all positions for one new row (circles are true).

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for name, values in tau.items():
    axes[0].plot(np.linspace(0, 1, len(values)), np.sort(values), label=name)
axes[0].set(xlabel="share of new rows, worst first", ylabel="Kendall's tau")
axes[0].legend(fontsize=8)
image = axes[1].imshow(matched.predict_proba(X_new[:1])[0], cmap="Blues", vmin=0, vmax=1)
axes[1].plot(y_new[0], range(len(y_new[0])), "o", ms=18, mfc="none", mec="tab:red")
axes[1].set(xlabel="position (0 = first)", ylabel="class", xticks=range(y.shape[1]))
figure.colorbar(image, ax=axes[1], label="probability")
plt.show()

# %%
# What we see: the space of ranks agrees most with the true order, with the linear and with the
# kernel model. Assignments agree less, but give a probability of every position.
