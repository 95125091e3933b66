"""
Boost shallow trees over a stream
=================================

Four classes on the squares of a chessboard, in two of six features with different units. Online
boosting combines trees of depth three that see every row once. Expert k is the sum of the first k
trees, and a hedge chooses which expert to follow.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstructured import AdaBoostOLMClassifier

CHUNK, SHOWN = 500, (0, 4, 9, 24, 49)


def chess_board(n, rng):
    """Rows and the colors of their squares."""
    X = rng.rand(n, 6)
    y = (4 * X[:, 0]).astype(int) % 2 + 2 * ((4 * X[:, 1]).astype(int) % 2)
    return X * [1.0, 1e4, 1.0, 1e-3, 1.0, 1.0], y


# %%
# The data are simulated. Every expert predicts a chunk of rows before it is learned.
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
# The figure shows the accuracy of five of the experts on the next 500 rows. Look at how much each
# further group of trees adds.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for expert, line in zip(SHOWN, (":", "-.", (0, (5, 1, 1, 1, 1, 1)), "--", "-"), strict=True):
    ax.plot(ends, found[:, expert], linestyle=line, label=f"expert {expert + 1}")
ax.axhline(0.25, color="gray", linewidth=0.8)
ax.set(xlabel="rows learned", ylabel=f"accuracy on the next {CHUNK} rows", ylim=(0.2, 1.0))
ax.legend(loc="lower right", ncols=3, fontsize="small")
plt.show()

# %%
# What we see: fifty trees are far more accurate than a single one, and each further group of trees
# adds less. The curves are nearly flat after a few thousand rows.
