"""Boost shallow trees over a stream, and look at the accuracy of every expert.

python docs/example_boosting.py [PICTURE.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from skstructured import AdaBoostOLMClassifier

CHUNK, SHOWN = 500, (0, 4, 9, 24, 49)


def chess_board(n, rng):
    """Four classes as the squares of a board over two of six features of different units."""
    X = rng.rand(n, 6)
    y = (4 * X[:, 0]).astype(int) % 2 + 2 * ((4 * X[:, 1]).astype(int) % 2)
    return X * [1.0, 1e4, 1.0, 1e-3, 1.0, 1.0], y


def main(picture="boosting.png"):
    X, y = chess_board(20_000, np.random.RandomState(0))
    model, ends, found = AdaBoostOLMClassifier(random_state=0), [], []
    for start in range(0, len(y), CHUNK):
        chunk = slice(start, start + CHUNK)
        if start > 0:  # predicted before they are learned
            ends.append(start)
            found.append([np.mean(seen == y[chunk]) for seen in model.staged_predict(X[chunk])])
        model.partial_fit(X[chunk], y[chunk], classes=range(4))
    found = np.array(found)
    print(f"last chunk: expert 1 {found[-1, 0]:.2f}, expert 50 {found[-1, -1]:.2f},")
    print(f"the hedge follows expert {model.leader_ + 1}; first edges {model.edges_[:5].round(2)}")
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for expert, line in zip(SHOWN, (":", "-.", (0, (5, 1, 1, 1, 1, 1)), "--", "-"), strict=True):
        axis.plot(ends, found[:, expert], linestyle=line, label=f"expert {expert + 1}")
    axis.axhline(0.25, color="gray", linewidth=0.8)
    axis.set(xlabel="rows learned", ylabel=f"accuracy on the next {CHUNK} rows", ylim=(0.2, 1.0))
    axis.legend(loc="lower right", ncols=5, fontsize="small")
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
