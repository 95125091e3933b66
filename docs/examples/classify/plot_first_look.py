"""
Learn digits in one pass, and bound the error of new rows
=========================================================

One pass over the digits, unscaled. Every row is predicted before it is learned, so the errors so
far are errors on unseen rows. They give an upper bound on the error of new rows, with 95%
confidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.utils import shuffle

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
model = OnlineStructuredPredictor()
run = progressive_validate(model, X, y)
bound = run.risk_bound(delta=0.05)
print(f"new rows: at most {bound:.1%} wrong, with 95% confidence")

# %%
# The same for scikit-learn's learner of streams, also without tuning. It needs a step size and
# scaled features. Ten rows are predicted at a time, then learned.
sgd, wrong = SGDClassifier(random_state=0), np.ones(len(y))
for start in range(0, len(y), 10):
    ten = slice(start, start + 10)
    if start > 0:
        wrong[ten] = sgd.predict(X[ten]) != y[ten]
    sgd.partial_fit(X[ten], y[ten], classes=range(10))

# %%
# The figure shows the error over the last 200 rows. Look at the dashed line: it is the bound for
# new rows, for the models of the second half.


def last_rows(losses, window=200):
    """Mean loss of the last so many rounds, at each round."""
    total = np.concatenate([np.zeros(window), np.cumsum(losses)])
    return (total[window:] - total[:-window]) / np.minimum(np.arange(1, len(losses) + 1), window)


figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.plot(100 * last_rows(wrong), color="0.6", label="SGDClassifier()")
ax.plot(100 * last_rows(run.target_loss), lw=2, label="OnlineStructuredPredictor()")
half = [len(y) // 2, len(y)]
ax.plot(half, [100 * bound] * 2, "k--", label="new rows, at most (95%)")
ax.set(xlabel="rows seen, each once", ylabel="% wrong, last 200 rows", ylim=(0, 40))
ax.set_title("digits, raw pixels, nothing tuned")
ax.legend()
plt.show()

# %%
# What we see: the error falls quickly in the first few hundred rows, and stays below that of
# `SGDClassifier`. The bound is above the mean error of the second half, and needs no test set.
