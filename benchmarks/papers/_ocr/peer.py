"""CRFsuite's wrappers on words of the ocr set, in a Python of its own: one job a line, JSON.

The first line that it prints lists the libraries that are there, of sklearn-crfsuite ("crfsuite")
and "chaine". A job has a library, the words to learn, those to predict, how often that is repeated,
and parameters; the answer has wrong letters, all letters, the seconds of `fit`, and the median
seconds of `predict`. It is called as ``python peer.py ocr.npz`` and needs no package but numpy and
one of the two.
"""

import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


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


def crfsuite(params, X, y):
    """A fitted model of sklearn-crfsuite."""
    from sklearn_crfsuite import CRF

    return CRF(**params).fit(X, y)


def chaine(params, X, y):
    """A fitted model of chaine, from the file that it trains into."""
    from chaine import Model, Trainer
    from chaine.logging import set_verbosity

    set_verbosity(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        Trainer(**params).train(X, y, model_filepath=path)
        return Model(path)


#: Libraries by their short names: the package, and what fits a model.
LIBRARIES = {"crfsuite": ("sklearn_crfsuite", crfsuite), "chaine": ("chaine", chaine)}


def timed(task):
    """What a task returns, and its seconds."""
    started = time.perf_counter()
    found = task()
    return found, time.perf_counter() - started


def answer(job, every):
    """Wrong letters, all letters, seconds of `fit`, median seconds of `predict`."""
    (X, y), (Z, truth) = (
        map(list, zip(*(every[i] for i in job[part]), strict=True)) for part in ("learn", "predict")
    )
    fit = LIBRARIES[job["library"]][1]
    model, seconds = timed(lambda: fit(job["params"], X, y))
    runs = [timed(lambda: model.predict(Z)) for _ in range(job["repeat"])]
    wrong = np.concatenate(runs[0][0]) != np.concatenate(truth)
    return [int(wrong.sum()), len(wrong), seconds, float(np.median([taken for _, taken in runs]))]


def main():
    """Answer jobs until there are no more."""
    found = [name for name, (package, _) in LIBRARIES.items() if importlib.util.find_spec(package)]
    print(json.dumps(found), flush=True)
    every = list(words(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), every)), flush=True)


if __name__ == "__main__":
    main()
