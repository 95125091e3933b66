"""
Boost shallow trees over a stream
=================================

Scikit-learn's digits, as a stream. Online boosting combines trees of depth three that see every row
once. Expert k is the sum of the first k trees, and a hedge chooses which expert to follow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

from skstructured import AdaBoostOLMClassifier

CHUNK, SHOWN = 100, (0, 4, 9, 24, 49)

# %%
# Every expert predicts a chunk of 100 rows before it is learned.
X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
model, ends, accuracy = AdaBoostOLMClassifier(random_state=0), [], []
for start in range(0, len(y), CHUNK):
    chunk = slice(start, start + CHUNK)
    if start > 0:
        ends.append(start)
        accuracy.append([np.mean(found == y[chunk]) for found in model.staged_predict(X[chunk])])
    model.partial_fit(X[chunk], y[chunk], classes=range(10))
accuracy = np.array(accuracy)
late = accuracy[-5:].mean(axis=0)
print(f"last 500 rows: expert 1 {late[0]:.2f}, expert 50 {late[-1]:.2f},")
print(f"the hedge follows expert {model.leader_ + 1}; first edges {model.edges_[:5].round(2)}")

# %%
# The figure shows the accuracy of five of the experts on the next 100 rows. Look at how much each
# further group of trees adds.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for expert, line in zip(SHOWN, (":", "-.", (0, (5, 1, 1, 1, 1, 1)), "--", "-"), strict=True):
    ax.plot(ends, accuracy[:, expert], linestyle=line, label=f"expert {expert + 1}")
ax.axhline(0.1, color="gray", linewidth=0.8)
ax.text(ends[-1], 0.11, "guessing", ha="right", color="gray", size=8)
ax.set(xlabel="rows learned", ylabel=f"accuracy on the next {CHUNK} rows", ylim=(0.0, 1.0))
ax.legend(loc="lower right", ncols=3, fontsize="small", bbox_to_anchor=(1.0, 0.15))
plt.show()

# %%
# What we see: on the last 500 rows a single tree of depth three is right for about half of the
# rows, and fifty trees for about 92%. Each further group of trees adds less.
