"""What validating costs beside learning: `progressive_validate` over `partial_fit`, by `play`.

CSR rows of 20 entries in more and more columns, and dense rows; two classes, everything at its
defaults but for the optimizer. A line gives the seconds of learning and how many times as long a
validation takes, the median of ratios of the same turn.
"""

import numpy as np
from scipy import sparse

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

PLAYS = ("predict", "randomized")
ENTRIES, CLASSES = 20, np.arange(2)


def csr_rows(n, p, seed=0):
    """Rows of `ENTRIES` positive numbers in random columns."""
    rng = np.random.RandomState(seed)
    data, columns = 0.1 + rng.rand(n * ENTRIES), rng.randint(p, size=n * ENTRIES)
    X = sparse.csr_array((data, columns, np.arange(n + 1) * ENTRIES), shape=(n, p))
    X.sum_duplicates()
    return X, rng.randint(2, size=n)


def dense_rows(n, p, seed=0):
    """Rows of normal numbers."""
    rng = np.random.RandomState(seed)
    return rng.randn(n, p), rng.randint(2, size=n)


def compare(out, kind, optimizer, X, y, repeat):
    """Seconds of learning, and the ratios of all ways to validate."""
    model = OnlineStructuredPredictor(optimizer=optimizer)
    tasks = [lambda: OnlineStructuredPredictor(optimizer=optimizer).partial_fit(X, y, CLASSES)]
    tasks += [lambda play=play: progressive_validate(model, X, y, play=play) for play in PLAYS]
    times = in_turns(tasks, repeat)
    ratios = np.median(times[:, 1:] / times[:, :1], axis=0)
    seconds, (n, p) = np.median(times[:, 0]), X.shape
    row = {"kind": kind, "rows": n, "p": p, "optimizer": optimizer, "seconds": seconds}
    line = f"{kind:6}{n:8}{p:9} {optimizer:15}{seconds:9.4f}  "
    text = line + "".join(f"{ratio:12.2f}" for ratio in ratios)
    out.add(text, **row, **dict(zip(PLAYS, ratios, strict=True)))


def main():
    args = arguments(__doc__, repeat=7)
    n = 2000 if args.quick else 20_000
    with Results(__file__, args) as out:
        out.say("kind      rows  columns  optimizer        seconds     predict  randomized")
        for optimizer in ("parameter_free", "auto"):
            for p in (10, 100):
                compare(out, "dense", optimizer, *dense_rows(n, p), args.repeat)
            for p in (1000, 60_000, 1_000_000):
                compare(out, "CSR", optimizer, *csr_rows(n, p), args.repeat)


if __name__ == "__main__":
    main()
