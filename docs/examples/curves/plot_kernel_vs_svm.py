"""
Kernels beside an SVM whose C and γ are searched
================================================

For classes that no plane separates most people take an SVM with a Gaussian kernel, and search C and
γ. `KernelStructuredPredictor` has neither, and takes features as they are.
"""

# %%
# Three arms of a spiral. One feature is in metres and the other in millimetres.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skstructured import KernelStructuredPredictor

rng = np.random.RandomState(0)
y = rng.randint(3, size=900)
turn = 3.5 * np.sqrt(rng.rand(900))
angle = turn + 2 * np.pi * y / 3 + 0.15 * rng.randn(900)
X = np.stack([turn * np.cos(angle), 1000 * turn * np.sin(angle)], axis=1)

grid = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": [0.01, 0.1, 1, 10]}
models = {
    "KernelStructuredPredictor()": KernelStructuredPredictor(random_state=0),
    "SVC()": SVC(),
    "scaler, SVC, 20 C and γ": GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid),
}

# %%
# Regions of the classes, learned from half of the rows; the dots are the others.

X_old, X_new, y_old, y_new = train_test_split(X, y, random_state=0, test_size=0.5)
across = np.meshgrid(np.linspace(-3.8, 3.8, 150), np.linspace(-3800, 3800, 150))
pixels = np.stack(across, axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    regions = model.fit(X_old, y_old).predict(pixels).reshape(across[0].shape)
    ax.contourf(
        *across, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=["C0", "C1", "C2"], alpha=0.3
    )
    ax.scatter(*X_new.T, c=[f"C{k}" for k in y_new], s=4)
    ax.set(title=f"{name}: {model.score(X_new, y_new):.1%}", xlabel="metres")
axes[0].set_ylabel("millimetres")

# %%
# Two data sets of scikit-learn, raw, with the time that each took. Pixels have one scale already:
# there an SVC is better, and standardising does harm, to both. ``standardize=False`` leaves them.

models["… standardize=False"] = KernelStructuredPredictor(standardize=False, random_state=0)
for title, load in {"wine": load_wine, "digits": load_digits}.items():
    X, y = load(return_X_y=True)
    X_old, X_new, y_old, y_new = train_test_split(X, y, random_state=0, test_size=0.5)
    for name, model in models.items():
        start = perf_counter()
        score = model.fit(X_old, y_old).score(X_new, y_new)
        print(f"{title:7} {name:28} {score:.1%} right, {perf_counter() - start:.2f} s")

plt.show()
