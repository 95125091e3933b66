"""
Ordinal regression with linear and kernel models
================================================

Friedman's function of ten features, in ten classes with equally many rows. Five of the features
matter, some of them nonlinearly, so a linear model is not enough.
"""

# %%
# The data are simulated; the classes are 0 to 9.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import RidgeCV
from sklearn.metrics import confusion_matrix, mean_absolute_error
from sklearn.model_selection import train_test_split

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor

X, response = make_friedman1(3000, noise=2.0, random_state=0)
y = np.digitize(response, np.quantile(response, np.linspace(0.1, 0.9, 9)))
X, X_new, y, y_new = train_test_split(X, y, random_state=0)

# %%
# The mean absolute error, in classes. Ridge regression is rounded to a class.

models = {
    "OnlineStructuredPredictor": OnlineStructuredPredictor("ordinal", random_state=0).fit(X, y),
    "KernelStructuredPredictor": KernelStructuredPredictor("ordinal", random_state=0).fit(X, y),
}
predicted = {name: model.predict(X_new) for name, model in models.items()}
predicted["RidgeCV, rounded"] = RidgeCV().fit(X, y).predict(X_new).round().clip(y.min(), y.max())
predicted["always the median"] = np.full(len(y_new), np.median(y))
for name, found in predicted.items():
    print(f"{name:26} {mean_absolute_error(y_new, found):.3f} classes off")

# %%
# The panels show true classes against predicted ones. Look at the width of the band around the
# diagonal: if classes are hard to separate, both models predict middle classes, the linear one more
# so.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name in zip(axes, models, strict=True):
    share = confusion_matrix(y_new, predicted[name], normalize="true")
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=0.8, origin="lower")
    ax.set(title=name, xlabel="predicted class", ylabel="true class")
figure.colorbar(image, ax=axes, label="share of the rows of this class")
plt.show()

# %%
# What we see: the kernel model is off by one class on average, less than the linear model and ridge
# regression. Nonlinear effects matter in these data.
