"""
Boost shallow trees over a stream
=================================

Four classes as the squares of a board, over two of six features of different units; trees of
depth three, which see every row once. Each expert is the sum of so many trees, and a hedge tells
which expert to follow.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstructured import AdaBoostOLMClassifier

CHUNK, SHOWN = 500, (0, 4, 9, 24, 49)


def chess_board(n, rng):
    """Rows and the colours of their squares."""
    X = rng.rand(n, 6)
    y = (4 * X[:, 0]).astype(int) % 2 + 2 * ((4 * X[:, 1]).astype(int) % 2)
    return X * [1.0, 1e4, 1.0, 1e-3, 1.0, 1.0], y


# %%
# A chunk is predicted by every expert before it is learned.
X, y = chess_board(15_000, np.random.RandomState(0))
model, ends, found = AdaBoostOLMClassifier(random_state=0), [], []
for start in range(0, len(y), CHUNK):
    chunk = slice(start, start + CHUNK)
    if start > 0:
        ends.append(start)
        found.append([np.mean(seen == y[chunk]) for seen in model.staged_predict(X[chunk])])
    model.partial_fit(X[chunk], y[chunk], classes=range(4))
found = np.array(found)
print(f"last chunk: expert 1 {found[-1, 0]:.2f}, expert 50 {found[-1, -1]:.2f},")
print(f"the hedge follows expert {model.leader_ + 1}; first edges {model.edges_[:5].round(2)}")

# %%
# More trees are better once there were rows enough for them.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for expert, line in zip(SHOWN, (":", "-.", (0, (5, 1, 1, 1, 1, 1)), "--", "-"), strict=True):
    ax.plot(ends, found[:, expert], linestyle=line, label=f"expert {expert + 1}")
ax.axhline(0.25, color="gray", linewidth=0.8)
ax.set(xlabel="rows learned", ylabel=f"accuracy on the next {CHUNK} rows", ylim=(0.2, 1.0))
ax.legend(loc="lower right", ncols=3, fontsize="small")
plt.show()
