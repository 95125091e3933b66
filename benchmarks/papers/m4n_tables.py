"""Table 1 of the max-min margin paper on its smaller sets: ours beside its numbers, resumable.

Fourteen random splits 60/20/20, a Gaussian kernel, α of 2⁻¹ … 2⁻¹⁰ by the loss on the second part
(means start at those of the α before), 50 passes at most; mean test losses ± standard errors.
A row is kept as soon as it is there: a second call goes on where the first one ended.
"""

import csv
import time
import warnings

import numpy as np

from benchmarks._common import ROOT, arguments
from benchmarks.data import load
from skstructured import MaxMinMarginNetwork, QuadraticSurrogate, StructuralSVM

#: Space, outputs, and the paper's mean losses of M3N and M4N; ordered classes in units of a class.
SETS = {
    "iris": ("simplex", "y", 0.0333, 0.0333),
    "wine": ("simplex", "y", 0.0256, 0.0235),
    "segment": ("simplex", "y", 0.0664, 0.0609),
    "satimage": ("simplex", "y", 0.122, 0.119),
    "stocks": ("ordinal", "y_eqfreq", 0.167, 0.160),
    "machine": ("ordinal", "y_eqfreq", 0.634, 0.628),
    "wisconsin": ("ordinal", "y_eqfreq", 1.24, 1.26),
    "abalone": ("ordinal", "y_eqfreq", 0.520, 0.520),
    "ranking_wine": ("birkhoff", "rank", 0.0506, 0.0434),
    "ranking_vehicle": ("birkhoff", "rank", 0.148, 0.150),
    "ranking_bodyfat": ("birkhoff", "rank", 0.796, 0.796),
}
MODELS = {"M3N": StructuralSVM, "M4N": MaxMinMarginNetwork, "QS": QuadraticSurrogate}
ALPHAS = [2.0**-j for j in range(1, 11)]
SPLITS = 14
RESULTS = ROOT / "benchmarks" / "papers" / "results"
FIELDS = ["set", "model", "split", "alpha", "loss", "seconds"]


def split_of(name, seed):
    """Rows and outputs of the three parts."""
    arrays, column = load(name), SETS[name][1]
    X, y = arrays["X"].astype(np.float64), arrays[column].astype(np.int64)
    order = np.random.RandomState(seed).permutation(len(y))
    cuts = np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])
    return [(X[part], y[part]) for part in cuts]


def loss_of(model, X, y):
    """Mean loss in the units of the paper."""
    predicted = model.predict(X)
    if model.space == "ordinal":
        return float(np.abs(predicted - y).mean())
    return 1.0 - model.score(X, y)


def run(name, kind, seed):
    """α, test loss and seconds a fit of a tuned model."""
    train, valid, test = split_of(name, seed)
    model = MODELS[kind](SETS[name][0], kernel="rbf")
    if kind != "QS":
        model.set_params(max_iter=50, tol=1e-4, warm_start=True, random_state=seed)
    best, started = None, time.perf_counter()
    for alpha in ALPHAS:
        model.set_params(alpha=alpha).fit(*train)
        found = loss_of(model, *valid), alpha, loss_of(model, *test)
        best = found if best is None or found[0] < best[0] else best
    return best[1], best[2], (time.perf_counter() - started) / len(ALPHAS)


def kept(path):
    """Rows that are there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def fill(path, names, splits):
    """Run what is missing."""
    done = {(row["set"], row["model"], int(row["split"])) for row in kept(path)}
    with path.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS)
        if not done:
            writer.writeheader()
        for task in ((n, k, s) for n in names for s in range(splits) for k in MODELS):
            if task not in done:
                alpha, loss, seconds = run(*task)
                writer.writerow(
                    dict(zip(FIELDS, (*task, alpha, loss, f"{seconds:.4f}"), strict=True))
                )
                lines.flush()


def table(path):
    """Lines of the table."""
    rows = kept(path)
    lines = [
        "set             splits    M3N              M4N              QS               "
        "paper M3N  M4N  s/fit"
    ]
    for name, (_, _, m3n, m4n) in SETS.items():
        cells, seconds, count = [], float("nan"), 0
        for kind in MODELS:
            found = [row for row in rows if row["set"] == name and row["model"] == kind]
            values, count = np.array([float(row["loss"]) for row in found]), len(found)
            if count:
                error = values.std(ddof=1) / np.sqrt(count) if count > 1 else float("nan")
                cells.append(f"{values.mean():.4f} ± {error:.4f}")
            if count and kind == "M4N":
                seconds = np.mean([float(row["seconds"]) for row in found])
        if count:
            lines.append(
                f"{name:18}{count:4}   {'  '.join(cells)}   {m3n:.4f}  {m4n:.4f}  {seconds:.2f}"
            )
    return lines


def main():
    args = arguments(__doc__, sets={"nargs": "*", "default": list(SETS)})
    path = RESULTS / ("m4n_tables_quick.csv" if args.quick else "m4n_tables.csv")
    warnings.simplefilter("ignore")
    fill(path, args.sets, 1 if args.quick else SPLITS)
    text = "\n".join(table(path))
    print(text)
    if args.quick:
        path.unlink()
    else:
        path.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
