"""Handwritten words: letters by conditional random fields, ours beside sklearn-crfsuite and chaine.

The usual protocol (Taskar, Guestrin, Koller 2004) on the ocr set: one fold of words is learned, the
other nine are predicted, for each of the ten folds; a second table turns it round, for some folds.
Features are the 128 pixels, a bias, and the word's ends. Every learner searches the same penalties
by cross-validation in three parts of what it may learn (where that is nine folds, on one of them),
the same for all, then all of it is learned anew: the seconds are those of this last `fit`, and of
the search with it. sklearn-crfsuite also searches whether there are weights for pairs they did not
see. It and chaine run in a Python of their own, ``--peer /path/to/python``; which of the two it
does not have is skipped; chaine, which wraps the same CRFsuite, has c2 = 3. The last table has
words predicted in a second, each library from features in its own format: best sequences ("map")
for CRFsuite, and ours with that rule and with others.
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
from skstructured._base.ragged import Ragged, Stacked

#: CRFsuite's c2 on the sum of losses; alpha is 2 c2/n on their mean.
PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1)

#: How many folds are predicted from the other nine, by whom; how many parts penalties are searched
#: with, of which only one is held out where there are many words.
NINE, ALSO_NINE, PARTS, MANY = 3, ("CRF", "online", "crfsuite"), 3, 2000

#: Libraries that are measured beside ours, in a Python of their own.
PEERS = ("crfsuite", "chaine")


class Ours:
    """A learner of this package on words, dense or CSR, with penalties where it has some."""

    def __init__(self, model, grid=(None,), csr=False):
        self.model, self.grid = model, grid
        arrays = data.load("ocr")
        X = arrays["X"].astype(np.float64)
        self.X = Stacked(sparse.csr_matrix(X) if csr else X, arrays["lengths"].astype(int))
        self.y = Ragged.from_lengths(arrays["y"].astype(int), arrays["lengths"])

    def run(self, penalty, learn, predict, repeat=1):
        """Wrong letters, all letters, seconds of `fit`, median seconds of `predict`."""
        alpha = {} if penalty is None else {"alpha": 2.0 * penalty / len(learn)}
        model = clone(self.model).set_params(**alpha)
        X, y, Z = self.X[learn], self.y[learn], self.X[predict]
        _, seconds = timed(lambda: model.fit(X, y))
        runs = [timed(lambda: model.predict(Z)) for _ in range(repeat)]
        wrong = np.concatenate(runs[0][0]) != self.y[predict].values
        return wrong.sum(), len(wrong), seconds, np.median([taken for _, taken in runs])


class Peers:
    """CRFsuite's wrappers in another Python."""

    def __init__(self, python):
        script = Path(__file__).parent / "_ocr" / "peer.py"
        given = [python, str(script), str(data.path("ocr"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(given, text=True, **pipes)
        self.libraries = json.loads(self.process.stdout.readline())

    def ask(self, **job):
        """The answer to a job; see `_ocr/peer.py`."""
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


class Peer:
    """A library in another Python."""

    def __init__(self, peers, library, grid):
        self.peers, self.library, self.grid = peers, library, grid

    def run(self, params, learn, predict, repeat=1):
        """Wrong letters, all letters, seconds of `fit`, median seconds of `predict`."""
        words = {"learn": learn.tolist(), "predict": predict.tolist(), "repeat": repeat}
        return self.peers.ask(library=self.library, params=params, **words)


def searched(learner, learn, predict):
    """Error and seconds of what did best in cross-validation, seconds of all, its number."""
    grid, total, best = learner.grid, 0.0, 0
    if len(grid) > 1:
        parts = np.array_split(np.random.RandomState(0).permutation(learn), PARTS)
        rests = [np.concatenate(parts[:i] + parts[i + 1 :]) for i in range(PARTS)]
        pairs = list(zip(rests, parts, strict=True))[: 1 if len(learn) > MANY else PARTS]
        tried = [[learner.run(g, *words) for words in pairs] for g in grid]
        wrong, _, seconds, _ = np.sum(tried, axis=1).T
        best, total = int(np.argmin(wrong)), seconds.sum()
    wrong, letters, seconds, _ = learner.run(grid[best], learn, predict)
    return wrong / letters, seconds, seconds + total, best


def learners(peers):
    """Name and learner; the first one is compared with the others."""
    yield "CRF", Ours(ConditionalRandomField(), PENALTIES)
    yield "CRF, CSR", Ours(ConditionalRandomField(), PENALTIES, csr=True)
    for passes in (1, 5):
        online = OnlineStructuredPredictor("sequence", max_iter=passes, random_state=0)
        yield f"online, passes: {passes}", Ours(online)
    seen = [{}, {"all_possible_states": True, "all_possible_transitions": True}]
    newton = {"algorithm": "lbfgs", "c1": 0.0}
    for library in peers.libraries if peers else ():
        grid = [newton | {"c2": c} | s for c in PENALTIES for s in seen]
        yield library, Peer(peers, library, grid if library == PEERS[0] else grid[2:3])
        for passes in (1, 5, 20) if library == "crfsuite" else ():
            given = {"algorithm": "ap", "max_iterations": passes}
            yield f"crfsuite ap: {passes}", Peer(peers, library, [given])


def throughput(out, peers, repeat):
    """Words predicted in a second, from features as each library has them."""
    newton = {"algorithm": "lbfgs", "c1": 0.0, "c2": PENALTIES[-1]}
    every = {
        f'CRF, "{decoder}", {"CSR" if csr else "dense"}': Ours(
            ConditionalRandomField(decoder=decoder), PENALTIES[-1:], csr
        )
        for decoder in ("map", "min_risk", "nearest")
        for csr in (False, True)
    }
    every |= {
        f"{name}, dicts": Peer(peers, name, [newton]) for name in getattr(peers, "libraries", ())
    }
    _, learn, predict = next(splits("one", 1))
    out.say(f"\none fold learned, the {len(predict)} words of the rest predicted: words a second")
    for name, learner in every.items():
        learner.run(learner.grid[0], learn[:50], predict[:50])  # which may compile
        seconds = learner.run(learner.grid[0], learn, predict, repeat)[3]
        speed = len(predict) / seconds
        out.add(f"{name:<26}{speed:10.0f}", table="throughput", learner=name, words=speed)


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
    args = arguments(__doc__, peer={"help": "a Python with sklearn-crfsuite, chaine, or both"})
    with Results(__file__, args) as out:
        peers = Peers(args.peer) if args.peer else None
        for name in PEERS if peers else ():
            if name not in peers.libraries:
                out.say(f"{name} is not installed there: skipped")
        every = list(learners(peers))
        for _, learner in every:
            learner.run(learner.grid[0], np.arange(50), np.arange(50))  # which may compile
        table(out, every, "one", 1 if args.quick else 10)
        if not args.quick:
            some = [found for found in every if found[0].split(",")[0].split()[0] in ALSO_NINE]
            table(out, [found for found in some if "CSR" not in found[0]], "nine", NINE)
        throughput(out, peers, 1 if args.quick else 9)


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
