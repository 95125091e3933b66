"""Handwritten words: letters by conditional random fields, ours beside sklearn-crfsuite's.

The usual protocol (Taskar, Guestrin, Koller 2004) on the ocr set: one fold of words is learned, the
other nine are predicted, for each of the ten folds; a second table turns it round, for some folds.
Features are the 128 pixels, a bias, and the word's ends. Every learner searches the same penalties
by itself on a random third of what it may learn, then all of it is learned anew: the seconds are
those of this last `fit`, and of the search with it. CRFsuite also searches whether it has weights
for pairs it did not see. It runs in a Python of its own, ``--peer /path/to/python``, which has
sklearn-crfsuite.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

from benchmarks import data
from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from skstructured import ConditionalRandomField, OnlineStructuredPredictor
from skstructured._ragged import Ragged, Stacked

#: CRFsuite's c2 on the sum of losses; alpha is 2 c2/n on their mean.
PENALTIES = (10.0, 3.0, 1.0, 0.3)

#: How many folds are predicted from the other nine.
NINE = 1


class Ours:
    """A learner of this package on words, dense or CSR, with penalties where it has some."""

    def __init__(self, model, grid=(None,), csr=False):
        self.model, self.grid = model, grid
        arrays = data.load("ocr")
        X = arrays["X"].astype(np.float64)
        self.X = Stacked(sparse.csr_matrix(X) if csr else X, arrays["lengths"].astype(int))
        self.y = Ragged.from_lengths(arrays["y"].astype(int), arrays["lengths"])

    def run(self, penalty, learn, predict):
        """Letter error, and the seconds of `fit`."""
        alpha = {} if penalty is None else {"alpha": 2.0 * penalty / len(learn)}
        model = clone(self.model).set_params(**alpha)
        X, y = self.X[learn], self.y[learn]
        _, seconds = timed(lambda: model.fit(X, y))
        return 1.0 - model.score(self.X[predict], self.y[predict]), seconds


class Peer:
    """sklearn-crfsuite in another Python."""

    def __init__(self, python, grid):
        self.grid = grid
        script = Path(__file__).parent / "_ocr" / "peer.py"
        given = [python, str(script), str(data.path("ocr"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(given, text=True, **pipes)

    def run(self, params, learn, predict):
        """Letter error, and the seconds of `fit`."""
        job = {"params": params, "learn": learn.tolist(), "predict": predict.tolist()}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        wrong, letters, seconds = json.loads(self.process.stdout.readline())
        return wrong / letters, seconds


def searched(learner, learn, predict):
    """Error and seconds of what did best on a third of the words, seconds of all, its number."""
    mixed, cut = np.random.RandomState(0).permutation(learn), 2 * len(learn) // 3
    tried = [learner.run(given, mixed[:cut], mixed[cut:]) for given in learner.grid]
    best = int(np.argmin([error for error, _ in tried]))
    error, seconds = learner.run(learner.grid[best], learn, predict)
    return error, seconds, seconds + sum(taken for _, taken in tried), best


def learners(python):
    """Name and learner; the first one is compared with the others."""
    yield "CRF", Ours(ConditionalRandomField(), PENALTIES)
    yield "CRF, CSR", Ours(ConditionalRandomField(), PENALTIES, csr=True)
    for passes in (1, 5):
        online = OnlineStructuredPredictor("sequence", max_iter=passes, tol=None, random_state=0)
        yield f"online, passes: {passes}", Ours(online)
    if python is None:
        return
    seen = [{}, {"all_possible_states": True, "all_possible_transitions": True}]
    newton = {"algorithm": "lbfgs", "c1": 0.0}
    yield "crfsuite", Peer(python, [newton | {"c2": c} | s for c in PENALTIES for s in seen])
    for passes in (1, 5, 20):
        given = {"algorithm": "ap", "max_iterations": passes}
        yield f"crfsuite ap: {passes}", Peer(python, [given])


def splits(learn, folds):
    """Words to learn and words to predict, of every fold."""
    fold = data.load("ocr")["fold"]
    for number in range(folds):
        inside = fold == number
        words = np.flatnonzero(inside), np.flatnonzero(~inside)
        yield number, *(words if learn == "one" else words[::-1])


def table(out, every, learn, folds):
    """The lines of one protocol."""
    out.say(f"\n{learn} of ten folds learned, the rest predicted: letter error in %,")
    out.say("seconds of one fit, and with the search before it")
    out.say("fold" + "".join(f"{name:>30}" for name, _ in every))
    found = []
    for number, words, others in splits(learn, folds):
        found.append([searched(learner, words, others) for _, learner in every])
        tell(out, learn, number, every, found[-1])
    errors, ones, totals, _ = np.array(found).transpose(2, 1, 0)
    out.say("mean error and median seconds of the folds")
    middle = np.mean(errors, axis=1), np.median(ones, axis=1), np.median(totals, axis=1)
    tell(out, learn, "all", every, list(zip(*middle, strict=True)))


def main():
    """Print the tables."""
    args = arguments(__doc__, peer={"help": "a Python with sklearn-crfsuite"})
    with Results(__file__, args) as out:
        every = list(learners(args.peer))
        for _, learner in every:
            learner.run(learner.grid[0], np.arange(50), np.arange(50))  # which may compile
        table(out, every, "one", 1 if args.quick else 10)
        if not args.quick:
            table(out, every, "nine", NINE)


def tell(out, learn, fold, every, found):
    """A line of the table."""
    numbers = "".join(f"{100 * e:14.2f} {one:6.2f} s {total:5.1f} s" for e, one, total, *_ in found)
    row = {"table": learn, "fold": fold}
    for (name, _), (error, one, total, *best) in zip(every, found, strict=True):
        row |= {f"{name} error": error, f"{name} seconds": one, f"{name} searched": total}
        row |= {f"{name} best": number for number in best}
    out.add(f"{fold:<4}{numbers}", **row)


if __name__ == "__main__":
    main()
