"""sklearn-crfsuite on words of the ocr set, in a Python of its own: one job a line, JSON.

A job has the words to learn, those to predict, and parameters; the answer has wrong letters, all
letters, and the seconds of `fit`. It is called as ``python peer.py ocr.npz`` and needs no package
but numpy and sklearn-crfsuite.
"""

import json
import sys
import time

import numpy as np
from sklearn_crfsuite import CRF


def words(path):
    """Features of every word, as dictionaries a letter, and its letters."""
    with np.load(path) as arrays:
        X, y, lengths = arrays["X"], arrays["y"].astype(str), arrays["lengths"]
    ends = np.cumsum(lengths)
    for first, stop in zip(ends - lengths, ends, strict=True):
        letters = [dict.fromkeys(map(str, np.flatnonzero(x)), 1.0) for x in X[first:stop]]
        for letter in letters:
            letter["bias"] = 1.0
        letters[0]["first"] = letters[-1]["last"] = 1.0
        yield letters, y[first:stop].tolist()


def main():
    """Answer jobs until there are no more."""
    every = list(words(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        model = CRF(**job["params"])
        X, y = zip(*(every[i] for i in job["learn"]), strict=True)
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        X, y = zip(*(every[i] for i in job["predict"]), strict=True)
        wrong = np.concatenate(model.predict(X)) != np.concatenate(y)
        print(json.dumps([int(wrong.sum()), len(wrong), seconds]), flush=True)


if __name__ == "__main__":
    main()
