"""
Bound the error of new rows without a test set
==============================================

One pass over independent rows gives an upper bound on the loss on new rows, because each row was
predicted before it was learned. No rows are held out, and the bound has a confidence level.
"""

# %%
# A thousand of scikit-learn's digits are learned. The other 797 stand for new rows: in practice you
# do not have them, here they check the bound.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle

from skstructured import OnlineStructuredPredictor, RiskMonitor
from skstructured.evaluation import progressive_validate

digits = shuffle(*load_digits(return_X_y=True), random_state=0)
X, X_new, y, y_new = train_test_split(*digits, train_size=1000, shuffle=False)
model = OnlineStructuredPredictor()
run = progressive_validate(model, X, y)
print(f"while learning          {run.expected_target_loss.mean():.1%} wrong")
print(f"risk_bound(delta=0.05)  {run.risk_bound(delta=0.05):.1%} of new rows, at most")
print(f"on the 797 other rows   {1 - run.estimator.score(X_new, y_new):.1%} wrong")

# %%
# The bound is about the model of a random one of the last 500 rounds. ``risk_curve`` holds for
# all rounds at once, so you may look at it at any time; it is about the rounds so far. Look at the
# black dots: they are the errors on the other rows, of the model that the same pass had after so
# many rows. They should be below the bounds.

learner, dots = OnlineStructuredPredictor(), []
for start in range(0, 1000, 50):
    learner.partial_fit(X[start : start + 50], y[start : start + 50], classes=range(10))
    dots.append(1 - learner.score(X_new, y_new))

rounds = np.arange(1, 1001)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(rounds, run.risk_curve(delta=0.05), label="bound for all rounds so far")
ax.plot(
    rounds, np.cumsum(run.expected_target_loss) / rounds, label="mean loss of the rounds so far"
)
ax.plot(np.arange(50, 1001, 50), dots, "k.", label="error on the 797 other rows")
ax.hlines(run.risk_bound(delta=0.05), 500, 1000, "tab:red", label="bound for the last 500 rounds")
ax.set(xlabel="rows learned", ylabel="share wrong", ylim=(0, 1))
ax.legend()

# %%
# How often does it fail? Here are 50 runs on rows in other orders. Each point is the bound and the
# error of that run's model on the rows that were left out. Points above the gray line would be
# failures.

bounds, errors = [], []
for seed in range(50):
    A, B, a, b = train_test_split(*digits, train_size=1000, random_state=seed)
    run = progressive_validate(model, A, a)
    bounds.append(run.risk_bound())
    errors.append(1 - run.estimator.score(B, b))
failed = np.sum(np.array(errors) > bounds)
print(f"the error was above the bound in {failed} of 50 runs")
figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot([0, 0.2], [0, 0.2], color="0.7")
ax.plot(bounds, errors, ".")
ax.set(
    xlabel="bound",
    ylabel="error on the 797 other rows",
    xlim=(0, 0.2),
    ylim=(0, 0.2),
    aspect="equal",
)

# %%
# `RiskMonitor` does the same for any other learner, while it runs: first add the losses, then
# learn.

other, monitor = SGDClassifier(random_state=0), RiskMonitor(delta=0.05)
other.partial_fit(X[:100], y[:100], classes=range(10))
for start in range(100, len(X), 50):
    rows = slice(start, start + 50)
    monitor.update(other.predict(X[rows]) != y[rows])
    other.partial_fit(X[rows], y[rows])
print(f"SGDClassifier: {monitor.mean_:.1%} wrong while learning, risk at most {monitor.bound_:.1%}")

plt.show()

# %%
# What we see: the errors on the other rows are below the bounds, in one run and in all of the 50
# runs. The bound of the last half of the rounds is smaller than that of all rounds so far.
