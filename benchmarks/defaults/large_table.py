"""A table of ten million rows through the command line, in bounded memory.

Three numbers with gaps and a word of 300, in a CSV file that is written first. Accuracy in % on
100,000 rows that were not learned, beside a pipeline made by hand (means and indicators for gaps,
one-hot words, `LogisticRegression`) and boosted trees, both on the first million rows in memory.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks._common import Results, arguments
from benchmarks.defaults._by_command import learned
from benchmarks.defaults.tables import by_hand, trees

PART, SEEN, KINDS, HELD_OUT = 500_000, 1_000_000, 300, 100_000


def rows(rng, n, taste):
    """Rows, and whether they are bought."""
    shop = rng.randint(KINDS, size=n)
    frame = pd.DataFrame(np.round(rng.randn(n, 3), 4), columns=["price", "age", "visits"])
    score = taste[shop] - frame["price"] + 0.5 * frame["age"] + rng.logistic(size=n)
    frame = frame.mask(rng.rand(n, 3) < 0.1)
    frame["shop"] = np.array([f"shop{i}" for i in range(KINDS)])[shop]
    return frame.assign(y=(score > 0).astype(int))


def written(path, rng, n, taste):
    """Write a file of n rows in parts; the first of them as a frame."""
    kept = []
    for start in range(0, n, PART):
        part = rows(rng, min(PART, n - start), taste)
        part.to_csv(path, mode="a", header=start == 0, index=False)
        if start < SEEN:
            kept.append(part)
    return pd.concat(kept)


def beside(out, frame, held_out):
    """Lines about models that have the first rows in memory."""
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    for name, model in (("by hand", by_hand(X)), ("trees", trees(X))):
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        right = 100.0 * model.score(held_out.drop(columns="y"), held_out["y"])
        text = f"{name:12} {len(y):12,} rows {right:7.2f} % {seconds:8.1f} s"
        out.add(text, model=name, rows=len(y), accuracy=right, seconds=seconds)


def main():
    args = arguments(__doc__, rows={"type": int, "default": 10_000_000})
    rng = np.random.RandomState(0)
    taste, n = rng.randn(KINDS), 200_000 if args.quick else args.rows
    with tempfile.TemporaryDirectory() as folder, Results(__file__, args) as out:
        files = [Path(folder) / name for name in ("train.csv", "test.csv")]
        frame, held_out = written(files[0], rng, n, taste), rows(rng, HELD_OUT, taste)
        held_out.drop(columns="y").to_csv(files[1], index=False)
        out.say(f"{n:,} rows, {files[0].stat().st_size / 1e6:.0f} MB")
        said, seconds, memory, screen = learned(*files, folder)
        right = 100.0 * (said == held_out["y"].to_numpy()).mean()
        line = f"{'command':12} {n:12,} rows {right:7.2f} % {seconds:8.1f} s {memory:8.0f} MB"
        out.add(line, model="command", rows=n, accuracy=right, seconds=seconds, peak_mb=memory)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            beside(out, frame, held_out)
        out.say(screen.replace(f"{folder}/", ""))


if __name__ == "__main__":
    main()
