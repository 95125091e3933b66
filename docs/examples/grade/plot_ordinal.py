"""
Ordinal regression: one class off is better than three
======================================================

Ordinal classes have an order, and a prediction that is one class off is better than one that is
three off. The space ``"ordinal"`` learns with the absolute error as its loss.
"""

# %%
# The progression of diabetes after one year, in five classes with equally many patients.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV, SGDClassifier
from sklearn.model_selection import KFold, cross_val_predict

from skstructured import OnlineStructuredPredictor

X, progression = load_diabetes(return_X_y=True)
stage = np.digitize(progression, np.quantile(progression, [0.2, 0.4, 0.6, 0.8]))
models = {
    'OnlineStructuredPredictor("ordinal")': OnlineStructuredPredictor("ordinal", random_state=0),
    "OnlineStructuredPredictor()": OnlineStructuredPredictor(random_state=0),
    "SGDClassifier()": SGDClassifier(random_state=0),
}
folds = KFold(5, shuffle=True, random_state=0)
off = {name: cross_val_predict(model, X, stage, cv=folds) - stage for name, model in models.items()}
ridge = cross_val_predict(RidgeCV(), X, stage, cv=folds).round()
off["RidgeCV(), rounded"] = ridge.astype(int) - stage
for name, errors in off.items():
    print(f"{name:36} {np.abs(errors).mean():.3f} classes off on average")

# %%
# The figure shows how many classes the predictions are off. Look at the right end, large mistakes:
# classifiers that ignore the order are right as often, but far off more often. Rounded ridge
# regression is rarely far off, but right less often, because it prefers the middle classes.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for i, (name, errors) in enumerate(off.items()):
    share = np.bincount(np.abs(errors), minlength=5) / len(stage)
    ax.bar(np.arange(5) + 0.2 * (i - 1.5), share, 0.18, label=name)
ax.set(xlabel="classes off", ylabel="share of patients")
ax.legend()

# %%
# With the regularizer "shannon" the classes have probabilities. In the figure patients are sorted
# by the expected class; look at how the mass moves from one class to the next, without splitting
# between the ends.

model = OnlineStructuredPredictor("ordinal", regularizer="shannon", random_state=0)
P = cross_val_predict(model, X, stage, cv=folds, method="predict_proba")
P = P[np.argsort(P @ np.arange(5))]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
colors = plt.get_cmap("viridis")(np.linspace(0, 1, 5))
ax.stackplot(np.arange(len(P)), P.T, colors=colors, labels=[f"class {k}" for k in range(5)])
ax.set(
    xlabel="patients, by expected class", ylabel="probability", xlim=(0, len(P) - 1), ylim=(0, 1)
)
figure.legend(loc="outside right center")

plt.show()

# %%
# What we see: the model that uses the order has the smallest mean absolute error. Its probabilities
# are concentrated on neighboring classes.
