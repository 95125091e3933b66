"""
Read handwritten words with a linear-chain model
================================================

Characters are easier to read within their word, because their neighbors have information on them.
The words are numbers made of scikit-learn's digits, with noise. If the environment variable
SKSTRUCTURED_DATA names a folder with ``ocr.npz``, they are handwritten words (Taskar, Guestrin,
Koller 2003).
"""

# %%
# X is a list of matrices with one row per character; y is a list of arrays of labels.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skstructured import OnlineStructuredPredictor
from skstructured.sequences import position_accuracy, sequence_accuracy

file = Path(os.environ.get("SKSTRUCTURED_DATA", "data")) / "ocr.npz"
if file.exists():
    with np.load(file) as words:
        cuts, fold, shape = np.cumsum(words["lengths"])[:-1], words["fold"], (16, 8)
        X = np.split(words["X"].astype(float), cuts)
        y = np.split(np.array(list("abcdefghijklmnopqrstuvwxyz"))[words["y"]], cuts)
    learn, new = np.flatnonzero((fold > 0) & (fold < 5)), np.flatnonzero(fold == 0)
else:
    rng, (images, digit), shape = np.random.RandomState(0), load_digits(return_X_y=True), (8, 8)
    codes = [(rng.randint(10) + (rng.rand(8) < 0.6).cumsum()) % 10 for _ in range(1500)]
    X = [images[[rng.choice(np.flatnonzero(digit == k)) for k in word]] for word in codes]
    X, y = [x + 4 * rng.randn(*x.shape) for x in X], [word.astype(str) for word in codes]
    learn, new = range(500), range(500, 1500)
X, X_new = [X[i] for i in learn], [X[i] for i in new]
y, y_new = [y[i] for i in learn], [y[i] for i in new]

# %%
# The same learner twice: character by character, and word by word. New words are like those that
# were learned; with words of another kind a chain may be less accurate than single characters.

alone = OnlineStructuredPredictor(max_iter=3, random_state=0).fit(np.vstack(X), np.concatenate(y))
chain = OnlineStructuredPredictor("sequence", max_iter=3, random_state=0).fit(X, y)
read = {"alone": [alone.predict(x) for x in X_new], "in a chain": chain.predict(X_new)}
for name, words in read.items():
    right, whole = position_accuracy(y_new, words), sequence_accuracy(y_new, words)
    print(f"{name:11} {right:.1%} of characters right, {whole:.1%} of words")


# %%
# The figure shows the words that the chain improves most. Below each character are the
# probabilities of the five most likely labels; look at how the right one wins against a similar
# character.
def draw(ax, images, marginals, title):
    """A word, character after character, with probabilities."""
    for m, (image, share) in enumerate(zip(images, marginals, strict=True)):
        ax.imshow(-image.reshape(shape), cmap="gray", extent=(m + 0.2, m + 0.7, 0, 1.8))
        for place, k in enumerate(np.argsort(-share)[:5]):
            height, text = -0.45 * (place + 1), f"{chain.classes_[k]} {share[k]:.0%}"
            ax.barh(height, 0.9 * share[k], 0.4, left=m, color="C0", alpha=0.4)
            ax.text(m + 0.03, height, text, va="center", size=7)
    ax.set(xlim=(0, len(images)), ylim=(-2.6, 1.8), aspect="auto")
    ax.set_axis_off()
    ax.set_title(title, size=9, loc="left")


wrong = {
    name: np.array([np.sum(a != b) for a, b in zip(words, y_new, strict=True)])
    for name, words in read.items()
}
mended = np.argsort(wrong["in a chain"] - wrong["alone"], kind="stable")[:3]
figure, axes = plt.subplots(3, 1, figsize=(8, 7.5), layout="constrained")
for ax, i in zip(axes, mended, strict=True):
    words = (y_new[i], *(words[i] for words in read.values()))
    title = "{}: read as {} alone, as {} in a chain".format(*map("".join, words))
    draw(ax, X_new[i], chain.predict_marginals([X_new[i]])[0], title)
plt.show()

# %%
# What we see: in a chain far fewer characters are wrong, and most words are read without a mistake.
# Neighboring characters decide when an image alone is ambiguous.
