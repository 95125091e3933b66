"""Rankings with missing ranks: learned behind the others, in the middle, or not at all?

Share of label pairs in the wrong order, in %, on the other half of the rows, where all ranks are
known; `StructuredPredictor`, mean of two shuffles, 800 rows of a set at most. As many ranks of a
row are missing as a binomial variable has it, 30% or 60% on average: the last ones ("top lists"),
or any ("at random", where the order of the others is known, but not their ranks among all). "all
ranks" learns them before they are taken away. "behind" has NaN tied behind the others, which the
space does by itself; "middle" has NaN tied in the middle of the others; and "complete" learns the
rows without NaN alone, if there are ten or more.
"""

import numpy as np
from scipy.stats import rankdata

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import halves
from benchmarks.peers._packaged import rankings
from skstructured import StructuredPredictor
from skstructured.metrics import kendall_tau

SHUFFLES = 2
SHARES = (0.3, 0.6)
LEAST_ROWS, MOST_ROWS = 10, 800
WAYS = ("behind", "middle", "complete")


def top_lists(ranks, share, rng):
    """Ranks of the first labels of each row, NaN behind."""
    n, d = ranks.shape
    missing = rng.binomial(d, share, size=n)
    return np.where(ranks > missing[:, None], ranks, np.nan)


def at_random(ranks, share, rng):
    """Ranks that are known each with the same probability, others NaN."""
    return np.where(rng.rand(*ranks.shape) < share, np.nan, ranks)


def behind(y):
    """NaN tied behind the others, of which the order alone counts."""
    return rankdata(np.nan_to_num(y, nan=-np.inf), axis=1)


def middle(y):
    """NaN tied in the middle, in the order of the mean ranks of all rankings that agree with y."""
    known = (~np.isnan(y)).sum(axis=1, keepdims=True)
    place = rankdata(y, axis=1, nan_policy="omit") / (known + 1)
    return rankdata(np.nan_to_num(place, nan=0.5), axis=1)


KINDS = {"top lists": top_lists, "at random": at_random}


def error(X, y, X_new, y_new):
    """Pairs in the wrong order, in %."""
    model = StructuredPredictor("ranking", random_state=0).fit(X, y)
    return 50.0 * (1.0 - kendall_tau(model.predict(X_new), y_new, average=True))


def errors(rows, kind, share, seed):
    """Errors (3,) of the ways to learn a half of the rows whose ranks are missing in part."""
    X, ranks, X_new, truth = rows
    y = KINDS[kind](ranks, share, np.random.RandomState(seed))
    seen, whole = ~np.isnan(y).all(axis=1), ~np.isnan(y).any(axis=1)
    found = [error(X[seen], way(y[seen]), X_new, truth) for way in (behind, middle)]
    enough = whole.sum() >= LEAST_ROWS
    return [*found, error(X[whole], ranks[whole], X_new, truth) if enough else np.nan]


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        heads = "".join(f"{way:>10}" for way in ("all ranks", *WAYS))
        out.say(f"{'':12}{'':8}{'':14}{heads}")
        for name, X, y in rankings():
            if y.shape[1] < 4 or (args.quick and name != "bodyfat"):
                continue
            X, y = X[:MOST_ROWS], y[:MOST_ROWS]
            splits = [halves(X, y, seed) for seed in range(1 if args.quick else SHUFFLES)]
            best = np.mean([error(*rows) for rows in splits])
            for kind in KINDS:
                for share in SHARES:
                    found = [errors(rows, kind, share, k) for k, rows in enumerate(splits)]
                    means = [best, *np.mean(found, axis=0)]
                    row = dict(zip(("all_ranks", *WAYS), means, strict=True))
                    text = "".join(f"{v:10.2f}" for v in means)
                    line = f"{name:12}{y.shape[1]:2} labels {kind:10}{share:4.0%}{text}"
                    out.add(line, data=name, missing=kind, share=share, **row)


if __name__ == "__main__":
    main()
