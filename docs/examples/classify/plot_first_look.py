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
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import shuffle

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
model = OnlineStructuredPredictor()
run = progressive_validate(model, X, y)
bound = run.risk_bound(delta=0.05)
print(f"new rows: at most {bound:.1%} wrong, with 95% confidence")

# %%
# The same for scikit-learn's learner of streams, also row by row and without tuning. It needs
# scaled features: standardized by the rows so far, or divided by 16, the largest pixel. With
# `average=True` it averages its weights, as `OnlineStructuredPredictor` does by default.


def errors(sgd, scaler):
    """Whether each row is predicted wrongly before it is learned."""
    wrong = np.ones(len(y))
    for i in range(len(y)):
        row = scaler.partial_fit(X[i : i + 1]).transform(X[i : i + 1])
        if i > 0:
            wrong[i] = sgd.predict(row)[0] != y[i]
        sgd.partial_fit(row, y[i : i + 1], classes=range(10))
    return wrong


sixteenth = MaxAbsScaler().fit(np.full((1, 64), 16.0))  # more rows of pixels do not change it
rivals = {
    "SGDClassifier(), standardized": errors(SGDClassifier(random_state=0), StandardScaler()),
    "SGDClassifier(average=True), pixels / 16": errors(
        SGDClassifier(average=True, random_state=0), sixteenth
    ),
}

# %%
# The figure shows the error over the last 200 rows. The dashed line is the bound for new rows, for
# the mean error rate of the models of the second half. The dotted line is the mean in that half.


def last_rows(losses, window=200):
    """Mean loss of the last so many rounds, at each round."""
    total = np.concatenate([np.zeros(window), np.cumsum(losses)])
    return (total[window:] - total[:-window]) / np.minimum(np.arange(1, len(losses) + 1), window)


figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, wrong), color in zip(rivals.items(), ("0.75", "0.5"), strict=True):
    ax.plot(100 * last_rows(wrong), color=color, label=name)
ax.plot(100 * last_rows(run.target_loss), lw=2, label="OnlineStructuredPredictor()")
half = [len(y) // 2, len(y)]
ax.plot(half, [100 * bound] * 2, "k--", label="mean on new rows, at most (95%)")
ax.plot(
    half, [100 * np.mean(run.target_loss[half[0] :])] * 2, "k:", label="mean of the second half"
)
ax.set(xlabel="rows seen, each once", ylabel="% wrong, last 200 rows", ylim=(0, 40))
ax.set_title("digits, row by row, nothing tuned")
ax.legend()
plt.show()

# %%
# What we see: the error falls quickly in the first few hundred rows, and its mean is lower than
# those of both `SGDClassifier`. Near row 1,200 the line is above the bound. The bound is for the
# mean of the second half, and windows of 200 rows vary by about 3 percentage points by chance. The
# bound needs no test set.
for name, wrong in {**rivals, "OnlineStructuredPredictor()": run.target_loss}.items():
    print(f"{name}: {wrong.mean():.1%} wrong, {wrong[half[0] :].mean():.1%} in the second half")
