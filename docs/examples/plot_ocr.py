"""
Words read letter by letter, and as a whole
===========================================

Handwritten words, with and without what letters say of each other.

The words are those of Taskar, Guestrin and Koller (2003): needs ``ocr.npz`` in the folder that the
environment variable SKSTRUCTURED_DATA names. To be quick it learns four of ten folds.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

from skstructured import OnlineStructuredPredictor
from skstructured.sequences import Stacked, position_accuracy, sequence_accuracy

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))

with np.load(Path(os.environ["SKSTRUCTURED_DATA"]) / "ocr.npz") as arrays:
    X = Stacked(csr_matrix(arrays["X"].astype(float)), arrays["lengths"])
    codes = Stacked(arrays["y"][:, None], arrays["lengths"])
    y, fold = [LETTERS[word[:, 0]] for word in codes], arrays["fold"]
learn, new = np.flatnonzero((fold > 0) & (fold < 5)), np.flatnonzero(fold == 0)

# %%
# Letters alone, and in a chain
# -----------------------------
words, truth = X[learn], [y[i] for i in learn]
unseen, letters = X[new], [y[i] for i in new]

alone = OnlineStructuredPredictor(max_iter=3, random_state=0)
alone.fit(words.values, np.concatenate(truth))
single = np.split(alone.predict(unseen.values), unseen.offsets[1:-1])

chain = OnlineStructuredPredictor("sequence", max_iter=3, random_state=0).fit(words, truth)
together = chain.predict(unseen)
for name, found in {"alone": single, "in a chain": together}.items():
    right, whole = position_accuracy(letters, found), sequence_accuracy(letters, found)
    print(f"letters {name}: {right:.1%} right, {whole:.1%} of whole words")


# %%
# Where the chain mends the most
# ------------------------------
# Below each letter the probabilities of the five likeliest.
def draw(ax, image, marginals, title):
    """A word, letter above letter, with probabilities."""
    length = len(marginals)
    for m in range(length):
        ax.imshow(1 - image[m].reshape(16, 8), cmap="gray", extent=(m + 0.2, m + 0.7, 0, 1.8))
        for place, letter in enumerate(np.argsort(-marginals[m])[:5]):
            share, height = marginals[m, letter], -0.45 * (place + 1)
            ax.barh(height, 0.9 * share, 0.4, left=m, color="C0", alpha=0.4)
            ax.text(m + 0.03, height, f"{LETTERS[letter]} {share:.0%}", va="center", size=7)
    ax.set(xlim=(0, length), ylim=(-2.6, 1.8), aspect="auto")
    ax.set_axis_off()
    ax.set_title(title, size=9, loc="left")


better = [
    np.sum(s != t) - np.sum(c != t) for s, c, t in zip(single, together, letters, strict=True)
]
mended = np.argsort(-np.array(better), kind="stable")[:3]
figure, axes = plt.subplots(3, 1, figsize=(8, 7.5), layout="constrained")
for ax, i in zip(axes, mended, strict=True):
    one, read = unseen[np.array([i])], (letters[i], single[i], together[i])
    title = "{}: read as {} alone, as {} in a chain".format(*map("".join, read))
    draw(ax, one.values.toarray(), chain.predict_marginals(one)[0], title)
plt.show()
