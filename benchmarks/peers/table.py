"""Accuracy and time of our learners beside other libraries', one table.

Needs whatever of river, vowpalwabbit, mord, skordinal, scikit-multilearn-ng, sklearn-crfsuite,
chaine, lightgbm, xlogit, statsmodels, pot, entmax and lapjv is installed in the same Python; what
is not is named and left out. Learners have their defaults ("scaled": behind a StandardScaler; ours
take raw rows), or are "searched": their grid is searched by three folds within every fit, and the
seconds are those of the whole search. Five folds: mean loss and its standard deviation over the
folds, and the median seconds of a fit, after one that is not counted and may compile. Behind each
of ours, the ratio to the best of the others: of losses, below 1 where ours is better, and of
seconds to that learner's (above 1: so many times faster). Tables with gaps and words, streams that
move, queries, choices, bandits, words and oracles follow. The short tables of the README and of
docs/peers.md are written anew.
"""

import importlib.metadata
import importlib.util
import warnings

from sklearn.model_selection import KFold

from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from benchmarks.peers import _bandits, _items, _oracles, _streams, _summary, _tables, _words
from benchmarks.peers._learners import summed_up
from benchmarks.peers._problems import problems

FOLDS = 5
PACKAGES = {
    "river": "river",
    "vowpalwabbit": "vowpalwabbit",
    "mord": "mord",
    "skordinal": "skordinal",
    "skmultilearn": "scikit-multilearn-ng",
    "sklearn_crfsuite": "sklearn-crfsuite",
    "chaine": "chaine",
    "lightgbm": "lightgbm",
    "xlogit": "xlogit",
    "statsmodels": "statsmodels",
    "ot": "pot",
    "entmax": "entmax",
    "lapjv": "lapjv",
}

#: What yields problems that have no rows of features and outputs.
FOUND = (_tables.rows, _streams.rows, _items.queries, _items.choices, _bandits.compare, _words.rows)


def is_there(package):
    """Whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


def measured(make, X, y, loss, folds):
    """Mean loss over folds, its deviation, and median seconds of a fit."""
    found = []
    for train, test in folds:
        model, seconds = timed(lambda train=train: make().fit(X[train], y[train]))
        found.append((loss(model.predict(X[test]), y[test]), seconds))
    return summed_up(found)


def compare(out, problem, quick):
    """The lines of one problem."""
    name, X, y, loss, learners = problem
    if quick:
        X, y = X[:300], y[:300]
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))[: 1 if quick else FOLDS]
    rows = []
    for learner, is_builtin, package, make in learners:
        if is_there(package):
            make().fit(X[:200], y[:200])
            rows.append((learner, is_builtin, *measured(make, X, y, loss, folds)))
    tell(out, name, rows)


def tell(out, name, rows):
    """Print learners of one problem, ours with ratios to the best of the others."""
    _, _, least, _, fast = min((row for row in rows if not row[1]), key=lambda row: row[2])
    out.say(f"\n{name}")
    for learner, is_builtin, loss, spread, seconds in sorted(rows, key=lambda row: row[2]):
        ratios = f"{loss / least:8.2f} {fast / seconds:8.1f}" if is_builtin else ""
        mark = "*" if is_builtin else " "
        line = f" {mark} {learner:50}{loss:9.4f} ±{spread:7.4f}{seconds:10.3f} s{ratios}"
        row = {"problem": name, "learner": learner, "ours": is_builtin, "loss": loss}
        out.add(line, **row, spread=spread, seconds=seconds)


def main():
    """Print the table."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    with Results(__file__, args) as out:
        have = {name: is_there(module) for module, name in PACKAGES.items()}
        versions = [f"{n} {importlib.metadata.version(n)}" for n, there in have.items() if there]
        out.say("with " + (", ".join(versions) or "no other library"))
        out.say("left out: " + (", ".join(n for n, there in have.items() if not there) or "none"))
        out.say(
            "* ours; loss and its deviation over folds, seconds of a fit; loss over that of the"
        )
        out.say("best of the others, and its seconds over ours")
        for problem in problems():
            compare(out, problem, args.quick)
        for find in FOUND:
            for rows in find(args.quick, is_there):
                tell(out, *rows)
        _oracles.compare(out, args.quick, is_there)
    if not args.quick:
        _summary.write()


if __name__ == "__main__":
    main()
