"""The default α of conditional random fields beside fixed ones, and beside fixed strengths c/n.

Log-losses of the third of the rows (at most 3,000 in all) that were not learned, points of `score`
of "auto", the c of its α = c/n, and how many times as long as α = 1/n it took. Classes, grades and
label sets, raw features; letters of words as sequences.
"""

import time
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults import _sets as sets
from skstructured import ConditionalRandomField

ROWS = 3000
STRENGTHS = (10.0, 1.0, 0.1)


def everything(quick):
    """Name, space, X, y of every set."""
    for name, X, y in [*sets.classes(quick), *sets.noisy()]:
        yield name, "simplex", X, y
    if quick:
        return
    for name, X, y in sets.grades():
        yield f"{name}, grades", "ordinal", X, y
    for name, X, Y in sets.label_sets():
        if name != "bibtex":
            yield name, "hypercube", X, Y
    yield "words", "sequence", *words()


def words():
    """Words of handwritten letters, as sequences."""
    arrays = load("ocr")
    ends = np.cumsum(arrays["lengths"])[:-1]
    return np.split(arrays["X"].astype(float), ends)[:600], np.split(arrays["y"], ends)[:600]


def part_of(X, y, which):
    """Some of the rounds."""
    if isinstance(X, list):
        return [X[i] for i in which], [y[i] for i in which]
    return X[which], np.asarray(y)[which]


def judged(model, train, test):
    """Mean loss and points on other rounds, and seconds."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*train)
    seconds = time.perf_counter() - started
    X, y = test
    theta, truth = model._scores(X), model.space_.pack(y)
    truth = truth if model.space == "sequence" else model.space_.unpack(truth)
    return model.loss_.value(theta, truth).mean(), 100.0 * model.score(X, y), seconds


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        heads = "".join(f"{f'{c:g}/n':>10}" for c in STRENGTHS)
        out.say(f"{'':20}{'auto':>10}{'1e-3':>10}{heads}   points       c  time")
        for name, space, X, y in everything(args.quick):
            order = np.random.RandomState(0).permutation(len(y))[:ROWS]
            n = 2 * len(order) // 3
            train, test = part_of(X, y, order[:n]), part_of(X, y, order[n:])
            alphas = ["auto", 1e-3, *(c / n for c in STRENGTHS)]
            models = [
                ConditionalRandomField(space, alpha=alpha, random_state=0) for alpha in alphas
            ]
            models[0].fit(*train)  # what is compiled is in no time
            found = np.array([judged(model, train, test) for model in models])
            strength, ratio = models[0].alpha_ * n, found[0, 2] / found[3, 2]
            text = f"{name:20}" + "".join(f"{loss:10.4f}" for loss in found[:, 0])
            text += f"{found[0, 1]:9.2f} {strength:7.3g} {ratio:5.1f}"
            names = ("auto", "1e-3", *(f"{c:g}/n" for c in STRENGTHS))
            row = dict(zip(names, found[:, 0], strict=True))
            out.add(text, data=name, **row, points=found[0, 1], c=strength, time=ratio)


if __name__ == "__main__":
    main()
