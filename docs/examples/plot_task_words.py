"""
Task: read handwritten words
============================

Letters are easier to read in a word: what stands beside them tells. Without the data set of
handwritten words, scikit-learn's digits, with noise on them, make up numbers that count.
"""

# %%
# X is a list of matrices, a row a letter; y is a list of arrays of labels.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skstructured import OnlineStructuredPredictor
from skstructured.sequences import position_accuracy, sequence_accuracy

file = Path(os.environ.get("SKSTRUCTURED_DATA", "data")) / "ocr.npz"
if file.exists():
    with np.load(file) as words:
        cuts = np.cumsum(words["lengths"])[:-1]
        X, shape = np.split(words["X"].astype(float), cuts), (16, 8)
        y = np.split(np.array(list("abcdefghijklmnopqrstuvwxyz"))[words["y"]], cuts)
else:
    rng, (images, digit), shape = np.random.RandomState(0), load_digits(return_X_y=True), (8, 8)
    codes = [(rng.randint(10) + (rng.rand(8) < 0.6).cumsum()) % 10 for _ in range(1500)]
    X = [images[[rng.choice(np.flatnonzero(digit == k)) for k in word]] for word in codes]
    X = [image + 4 * rng.randn(*image.shape) for image in X]
    y = [word.astype(str) for word in codes]
X, X_new, y, y_new = train_test_split(X, y, test_size=1000, random_state=0)

# %%
# The same learner twice: letter by letter, and word by word. New words are the same few dozen
# words from other hands: on a vocabulary it never saw a chain may read worse than letters alone.

chain = OnlineStructuredPredictor("sequence", random_state=0).fit(X, y)
alone = OnlineStructuredPredictor(random_state=0).fit(np.vstack(X), np.concatenate(y))
read = {"alone": [alone.predict(x) for x in X_new], "in a chain": chain.predict(X_new)}
for name, words in read.items():
    letters, whole = position_accuracy(y_new, words), sequence_accuracy(y_new, words)
    print(f"{name:11} {letters:.1%} of letters right, {whole:.1%} of words")

# %%
# Four words that the chain reads and that are misread letter by letter.

mended = [
    i
    for i, word in enumerate(y_new)
    if np.all(word == read["in a chain"][i]) and np.sum(word != read["alone"][i]) > 1
]
figure, axes = plt.subplots(4, 1, figsize=(7, 6), layout="constrained")
for ax, i in zip(axes, mended, strict=False):
    ax.imshow(np.hstack([x.reshape(shape) for x in X_new[i]]), cmap="gray_r")
    ax.set_title("{} alone, {} in a chain".format(*("".join(words[i]) for words in read.values())))
    ax.set_axis_off()
plt.show()
