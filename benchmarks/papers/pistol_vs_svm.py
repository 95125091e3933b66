"""PiSTOL's figure: test error by the number of rows, beside SVMs whose C is searched.

a9a has Gaussian kernels with γ = 0.04 and C in 2^-1..2^3; covtype (class 2 against the rest, ten
numbers, standardised) γ = 0.125 and C in 2^0..2^6; news20 (bigrams, ten groups against ten, or all
twenty) linear kernels and C in 2^1..2^4. Searches take 5 folds. Ours have nothing to search; those
with their own γ are given no bandwidth. Seconds are the processor's, learning only, the search
included. What is measured is kept in a store, and --sets says what to measure, which may be none.
"""

import itertools
import sys

import numpy as np
from scipy import sparse

from benchmarks._common import Results, arguments
from benchmarks.papers._pistol_vs_svm import problems, store
from benchmarks.papers._pistol_vs_svm.picture import draw
from benchmarks.papers._pistol_vs_svm.tables import conclusions, table
from skstructured import PiSTOLClassifier


def warm_up():
    """Compile, so that no first fit is slow."""
    X, y = np.random.RandomState(0).randn(300, 3), np.arange(300)
    wide = sparse.csr_matrix(X)
    for kernel, rows in (("rbf", X), ("rbf", wide), ("linear", wide)):
        for classes, passes, raw in itertools.product((2, 3), (1, 2), (True, False)):
            model = PiSTOLClassifier(kernel, max_iter=passes, standardize=not raw)
            model.fit(rows, y % classes).predict(rows)
        PiSTOLClassifier(kernel).partial_fit(rows, y % 2, classes=[0, 1])


def trial():
    """A few rows of one set, kept nowhere."""
    few = problems.read_a9a()._replace(most=512)
    few = few._replace(X_test=few.X_test[:500], y_test=few.y_test[:500])
    return store.fill(few, keep=False, say=lambda line: None)


def measured(sets):
    """All in the store, after what these sets lack was measured."""
    warm_up()
    for name in sets:
        store.fill(problems.READERS[name](), say=lambda line: print(line, file=sys.stderr))
    return store.read()


def main():
    every = ",".join(problems.READERS)
    sets = {"default": every, "help": f'to measure: "" or names of {every}'}
    args = arguments(__doc__, sets=sets, picture={"help": "where to save the picture"})
    found = trial() if args.quick else measured(filter(None, args.sets.split(",")))
    with Results(__file__, args) as out:
        for run in sorted({row["run"] for row in found.values()}):
            out.say(f"measured in the run of {run}")
        out.say(f"lines tell how many of {problems.SHUFFLES} shuffles there are; if one, the first")
        for name in dict.fromkeys(key[0] for key in found):
            table(out, name, found)
        conclusions(out, found)
    if args.picture:
        draw(found, args.picture)


if __name__ == "__main__":
    main()
