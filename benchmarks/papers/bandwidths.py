"""No bandwidth to choose: mistakes with gamma="multiscale", "scale", and single ones.

`KernelStructuredPredictor` with its defaults otherwise. Single γ are multiples of one over the
median squared distance of standardised rows. Half of the rows, 4,000 at most, are learned, the rest
(4,000 at most) predicted; means over three shuffles.
"""

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes, halves
from skstructured import KernelStructuredPredictor

CLASSES = ("iris", "wine", "digits", "segment", "satimage", "letter")
MULTIPLES = {"1/16": 1 / 16, "1/4": 1 / 4, "1": 1.0, "4": 4.0, "16": 16.0}
NAMED = ("multiscale", "scale")
SHUFFLES, SAMPLED = 3, 1000


def median_distance(X):
    """Median ‖x − z‖² of standardised rows, of some of them."""
    return np.median(pdist(StandardScaler().fit_transform(X)[:SAMPLED], "sqeuclidean"))


def widths(X):
    """Names and values of gamma."""
    single = {name: m / median_distance(X) for name, m in MULTIPLES.items()}
    return {name: name for name in NAMED} | single


def mistakes(X, y, seed):
    """Wrong classes in %, of every gamma."""
    X, y, Z, truth = halves(X, y, seed)
    models = (KernelStructuredPredictor(gamma=g, random_state=0) for g in widths(X).values())
    return [100 * np.mean(model.fit(X, y).predict(Z) != truth) for model in models]


def line(out, name, found):
    """A set's line: mistakes of every gamma, and the smallest of a single one."""
    numbers = dict(zip((*NAMED, *MULTIPLES), found, strict=True))
    best = min(numbers[multiple] for multiple in MULTIPLES)
    told = "".join(f"{value:11.2f}" for value in found)
    out.add(f"{name:10}{told}{best:11.2f}", set=name, best_single=best, **numbers)


def conclusion(out, table):
    """The means, and multiscale beside the single gamma that is best on average."""
    line(out, "mean", table.mean(axis=0))
    means = dict(zip((*NAMED, *MULTIPLES), table.mean(axis=0), strict=True))
    best = min(MULTIPLES, key=means.get)
    apart = means["multiscale"] - means[best]
    out.say(f"multiscale less the single gamma that is best on average, {best}: {apart:+.2f}")
    apart = np.mean(table[:, 0] - table[:, len(NAMED) :].min(axis=1))
    out.say(f"multiscale less the best single gamma of every set: {apart:+.2f}")


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        heads = (*NAMED, *(f"{name}/med" for name in MULTIPLES), "best of 5")
        out.say("\nmistakes in %\n" + " " * 10 + "".join(f"{head:>11}" for head in heads))
        table = []
        for name, X, y in classes(args.quick):
            if name in CLASSES:
                seeds = range(1 if args.quick else SHUFFLES)
                table.append(np.mean([mistakes(X, y, seed) for seed in seeds], axis=0))
                line(out, name, table[-1])
        conclusion(out, np.array(table))


if __name__ == "__main__":
    main()
