"""
Learn rows larger than memory, in chunks of any size
====================================================

``partial_fit`` learns a stream in chunks of any size. The result is the same as that of one pass
over all rows, to the last bit. Sparse rows stay sparse.
"""

# %%
# The data are simulated, as a stand-in for a log that does not fit into memory: each chunk has 2000
# CSR rows of 50,000 features, about forty of them counts above zero. Some words depend on the
# class.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import SGDClassifier

from skstructured import OnlineStructuredPredictor

WIDTH, CLASSES = 50_000, 5


def chunk(number, rows=2000, words=40):
    """Chunk of that number: rows and classes."""
    rng = np.random.RandomState(number)
    y = rng.randint(CLASSES, size=rows)
    rare = (WIDTH * rng.rand(rows, words) ** 3).astype(int)  # small numbers are frequent words
    own = rng.rand(rows, words) < 0.15
    rare[own] = (rare // CLASSES * CLASSES + y[:, None])[own]  # these depend on the class
    pointers = np.arange(0, rows * words + 1, words)
    X = csr_matrix((np.ones(rows * words), rare.ravel(), pointers), (rows, WIDTH))
    X.sum_duplicates()
    return X, y


# %%
# Each chunk is predicted before it is learned, so the figure shows the accuracy on new rows.
# Compare the two curves: `SGDClassifier` learns in chunks too.

models = {
    "OnlineStructuredPredictor": OnlineStructuredPredictor(random_state=0),
    "SGDClassifier, log loss": SGDClassifier(loss="log_loss", random_state=0),
}
accuracy, seconds = {name: [] for name in models}, dict.fromkeys(models, 0.0)
for number in range(40):
    X, y = chunk(number)
    for name, model in models.items():
        if number:
            accuracy[name].append(model.score(X, y))
        start = perf_counter()
        model.partial_fit(X, y, classes=range(CLASSES))
        seconds[name] += perf_counter() - start

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, values in accuracy.items():
    print(f"{name:26} last chunk {values[-1]:.1%} right, {seconds[name] / 40 * 1e3:.0f} ms a chunk")
    ax.plot(np.arange(2000, 80_000, 2000), values, "o-", ms=3, label=name)
ax.set(xlabel="rows learned", ylabel="accuracy on the next 2000")
ax.legend()

# %%
# Chunks do not change the result: here are three of them at once, and in pieces of 700 rows.

X, y = zip(*(chunk(number) for number in range(3)), strict=True)
X, y = vstack(X, format="csr"), np.concatenate(y)
at_once = OnlineStructuredPredictor().partial_fit(X, y, classes=range(CLASSES))
pieces = OnlineStructuredPredictor()
for start in range(0, len(y), 700):
    pieces.partial_fit(X[start : start + 700], y[start : start + 700], classes=range(CLASSES))
print(f"the same weights, bit for bit: {np.array_equal(at_once.coef_, pieces.coef_)}")

plt.show()

# %%
# What we see: `OnlineStructuredPredictor` is more accurate than `SGDClassifier` on every new chunk.
# The size of the chunks does not change its weights.
