r"""How many rows a second would 1 to 1000 workers learn? A model with numbers of this machine.

(a) *Shards*: W workers learn n/W rows each, every H rows of a worker (or at the end alone) the
models are averaged. With c seconds of learning a row, b bytes a row on the way from storage, B
bytes of a model, and m seconds to add one model to a sum,

    seconds = n/W · max(c, b/disk, W b/store) + rounds · sync,
    rounds = max(1, n/(W H)), sync = 2 ⌈log₂ W⌉ (latency + B/wire) + ⌈log₂ W⌉ m.

Reading and learning overlap, so that the slower counts; the storage that all share serves `store`
bytes a second in all. Models are summed along a tree and sent back along it. As in Amdahl's law the
first term shrinks with W and the second grows: the rows a second have a largest value.

(b) *One learner* fed by a stream, from however many readers: min(1/c, wire/b) rows a second.

It tells of time, not of errors: the average of W models is worse than one model of all rows. Nor
has it stragglers, failures, or the start of workers.
"""

import math
import pickle
from typing import NamedTuple

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._pictures import pyplot
from benchmarks._timing import median_seconds
from benchmarks.synthetic import dense_problem, sparse_problem
from skstructured import OnlineStructuredPredictor

#: What is not measured here.
ASSUMED = {
    "wire": 1.25e9,  # bytes/s between two workers: 10 Gbit/s
    "latency": 1e-4,  # s, for a message between two workers
    "disk": 5e8,  # bytes/s that a worker reads at most
    "store": 2e10,  # bytes/s that the storage serves to all workers together
    "rows": 1e9,  # n, rows in all
}

#: Workers, and rows of a worker between two averages; None: one average, at the end.
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
EVERY = (None, 10**6, 10**5)


class Measured(NamedTuple):
    """Of one kind of rows: c, b, B and m of the formula; and bytes of the pickled learner."""

    row: float
    row_bytes: float
    model_bytes: float
    merge: float
    pickled: float


def learner():
    """One pass in order over a stream, as a worker learns."""
    return OnlineStructuredPredictor(random_state=0)


def exchanged(model):
    """Arrays that a worker sends: weights that move, those that are averaged, and statistics."""
    return [model.coef_, model.intercept_, model.last_weights_, model._scale.statistics]


def measure(X, y, repeat):
    """`Measured`, from rows of one kind."""
    model = learner().partial_fit(X, y, classes=np.unique(y))
    row = median_seconds(lambda: model.partial_fit(X, y), repeat) / len(y)
    arrays, size = [np.ascontiguousarray(part) for part in exchanged(model)], X.shape[0]
    sums = [part.copy() for part in arrays]

    def merge():
        for total, part in zip(sums, arrays, strict=True):
            total += part

    nbytes = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    return Measured(
        row,
        nbytes / size,
        sum(part.nbytes for part in arrays),
        median_seconds(merge, repeat),
        len(pickle.dumps(model, protocol=5)),
    )


def shards(measured, workers, every, assumed=ASSUMED):
    """Rows a second of W workers that learn shards and average them."""
    n, wire = assumed["rows"], assumed["wire"]
    read = measured.row_bytes * max(1.0 / assumed["disk"], workers / assumed["store"])
    learning = n / workers * max(measured.row, read)
    rounds = 1.0 if every is None else max(1.0, n / (workers * every))
    deep = math.ceil(math.log2(workers))
    sync = 2.0 * deep * (assumed["latency"] + measured.model_bytes / wire) + deep * measured.merge
    return n / (learning + rounds * sync)


def one_learner(measured, assumed=ASSUMED):
    """Rows a second of one learner that is fed through a wire."""
    return min(1.0 / measured.row, assumed["wire"] / measured.row_bytes)


def kinds(quick):
    """Name -> rows and labels."""
    n = 1000 if quick else 20_000
    yield "dense, 10 classes x 100 features", dense_problem(n)[:2]
    yield "CSR, 100 of 10^6 features, 10 classes", sparse_problem(n, p=10**6)[:2]


def table(results, name, measured):
    """Print what was measured and the rows a second; columns (W, 1 + len(EVERY))."""
    results.say()
    results.say(name)
    line = (
        f"measured: {1e6 * measured.row:.2f} us a row of {measured.row_bytes:.0f} bytes; models "
        f"exchange {measured.model_bytes / 1e6:.3g} MB, added in {1e3 * measured.merge:.3g} ms; "
        f"a pickle has {measured.pickled / 1e6:.3g} MB"
    )
    results.add(line, table="measured", kind=name, **measured._asdict())
    alone = one_learner(measured)
    results.add(f"one learner, fed: {alone:,.0f} rows/s", table="one", kind=name, rate=alone)
    results.say("workers  averaged at the end  every 10^6 rows  every 10^5 rows")
    rates = np.array([[shards(measured, w, every) for every in EVERY] for w in WORKERS])
    for w, (end, million, often) in zip(WORKERS, rates, strict=True):
        line = f"{w:7} {end:20,.0f} {million:16,.0f} {often:16,.0f}"
        results.add(
            line, table="shards", kind=name, workers=w, end=end, million=million, often=often
        )
    return alone, rates


def draw(tables, path):
    """Rows a second by workers, a panel for each kind of rows."""
    figure, axes = pyplot().subplots(1, len(tables), figsize=(9.5, 4.0), layout="constrained")
    for axis, (name, (alone, rates)) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        for label, rate in zip(
            ("at the end", "every 10⁶ rows", "every 10⁵ rows"), rates.T, strict=True
        ):
            axis.loglog(WORKERS, rate, marker="o", markersize=3, label=f"shards, averaged {label}")
        axis.axhline(alone, color="black", linestyle="--", label="one learner, fed by a stream")
        axis.loglog(WORKERS, rates[0, 0] * np.array(WORKERS), color="0.7", linewidth=0.8)
        axis.set(title=name, xlabel="workers", ylabel="rows a second (model)")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    """Print the tables; draw the picture."""
    args = arguments(__doc__, repeat=5, picture={"help": "where to save the picture"})
    with Results(__file__, args) as results:
        units = {
            "wire": "bytes/s",
            "latency": "s",
            "disk": "bytes/s",
            "store": "bytes/s",
            "rows": "",
        }
        told = ", ".join(f"{name} {ASSUMED[name]:g} {unit}".strip() for name, unit in units.items())
        results.say(f"assumed, not measured: {told}")
        tables = {
            name: table(results, name, measure(X, y, args.repeat))
            for name, (X, y) in kinds(args.quick)
        }
        if args.picture:
            draw(tables, args.picture)


if __name__ == "__main__":
    main()
