"""Words read letter by letter, with and without what letters say of each other.

python docs/example_ocr.py [PICTURE.png]

The words are those of Taskar, Guestrin and Koller (2003): the file ocr.npz in the folder that
SKSTRUCTURED_DATA names.
"""

import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

from skstructured import OnlineStructuredPredictor
from skstructured.sequences import Stacked, position_accuracy, sequence_accuracy

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def read():
    """Images of words as sequences of CSR rows, their letters, and the fold of each word."""
    folder = Path(os.environ.get("SKSTRUCTURED_DATA", Path(__file__).parents[2] / "shared/data"))
    if not (folder / "ocr.npz").exists():
        sys.exit(f"{folder / 'ocr.npz'} is not there: set SKSTRUCTURED_DATA to its folder.")
    with np.load(folder / "ocr.npz") as arrays:
        X = Stacked(csr_matrix(arrays["X"].astype(float)), arrays["lengths"])
        y = Stacked(arrays["y"][:, None], arrays["lengths"])
        return X, [LETTERS[codes[:, 0]] for codes in y], arrays["fold"]


def draw(ax, image, marginals, title):
    """A word, letter above letter, with the probabilities of the five likeliest letters."""
    length = len(marginals)
    for m in range(length):
        ax.imshow(1 - image[m].reshape(16, 8), cmap="gray", extent=(m + 0.2, m + 0.7, 0, 1.8))
        best = np.argsort(-marginals[m])[:5]
        for place, letter in enumerate(best):
            share = marginals[m, letter]
            height = -0.45 * (place + 1)
            ax.barh(height, 0.9 * share, 0.4, left=m, color="C0", alpha=0.4)
            ax.text(m + 0.03, height, f"{LETTERS[letter]} {share:.0%}", va="center", size=7)
    ax.set(xlim=(0, length), ylim=(-2.6, 1.8), aspect="auto")
    ax.set_axis_off()
    ax.set_title(title, size=9, loc="left")


def main(picture):
    X, y, fold = read()
    learn, new = np.flatnonzero(fold > 0), np.flatnonzero(fold == 0)
    words, truth = X[learn], [y[i] for i in learn]
    chain = OnlineStructuredPredictor("sequence", random_state=0).fit(words, truth)
    alone = OnlineStructuredPredictor(random_state=0)
    alone.fit(words.values, np.concatenate(truth))
    unseen, letters = X[new], [y[i] for i in new]
    single = np.split(alone.predict(unseen.values), unseen.offsets[1:-1])
    together = chain.predict(unseen)
    for name, found in {"alone": single, "in a chain": together}.items():
        right, whole = position_accuracy(letters, found), sequence_accuracy(letters, found)
        print(f"letters {name}: {right:.1%} right, {whole:.1%} of whole words")
    better = [
        np.sum(s != t) - np.sum(c != t) for s, c, t in zip(single, together, letters, strict=True)
    ]
    figure, axes = plt.subplots(4, 1, figsize=(8, 10), layout="constrained")
    mended = np.argsort(-np.array(better), kind="stable")[: len(axes)]
    for ax, i in zip(axes, mended, strict=True):
        one = unseen[np.array([i])]
        marginals, words = chain.predict_marginals(one)[0], (letters[i], single[i], together[i])
        title = "{}: read as {} alone, as {} in a chain".format(*map("".join, words))
        draw(ax, one.values.toarray(), marginals, title)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["ocr.png"]))
