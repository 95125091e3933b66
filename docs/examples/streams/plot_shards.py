"""
Train shards in parallel, and average the models
================================================

Every thread learns its own rows, and `average_fitted` makes one model of all: the mean of their
weights. With one optimizer, its surrogate loss is at most the mean of the threads' losses.
"""

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

from skstructured import OnlineStructuredPredictor, average_fitted
from skstructured.streaming import fit_chunks

# %%
# Scikit-learn's digits: 1,280 training rows and 517 test rows. Real shards have many more rows; few
# rows make the effect visible.

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
X, y, X_new, y_new = X[:1280], y[:1280], X[1280:], y[1280:]


def surrogate(model):
    """Mean surrogate loss on the new rows."""
    V = model.space_.encode(y_new)
    return model.loss_.value(model.embedding_scores(X_new), V).mean()


# %%
# The rows are in no particular order; shard i of k learns every k-th row, once.

counts = [1, 2, 4, 8, 16, 32]
single, merged = np.empty((2, len(counts))), np.empty((2, len(counts)))
for place, k in enumerate(counts):
    fitted = Parallel(n_jobs=2, prefer="threads")(
        delayed(fit_chunks)(
            OnlineStructuredPredictor(optimizer="parameter_free", random_state=0),
            [(X[i::k], y[i::k])],
            classes=range(10),
        )
        for i in range(k)
    )
    mean = average_fitted(fitted)
    merged[:, place] = mean.score(X_new, y_new), surrogate(mean)
    alone = [(shard.score(X_new, y_new), surrogate(shard)) for shard in fitted]
    single[:, place] = np.mean(alone, axis=0)
    print(f"{k:3} shards: {merged[0, place]:.1%} right, a single shard {single[0, place]:.1%}")

# %%
# The panels compare the mean of the shards with a single shard. Look at the right end: many small
# shards are less accurate one by one, but their random errors cancel in the mean.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for ax, row, label in zip(axes, range(2), ("accuracy", "surrogate loss"), strict=True):
    ax.semilogx(counts, merged[row], "o-", base=2, label="mean of the shards")
    ax.semilogx(counts, single[row], "o-", base=2, color="0.6", label="a single shard")
    ax.set(xlabel="number of shards", ylabel=f"{label} on new rows")
axes[0].legend()
plt.show()

# %%
# What we see: the mean of 32 shards of 40 rows is right for nearly nine in ten rows, one shard
# alone for two in three. A pass over all rows is more accurate than both, so use few large shards.
