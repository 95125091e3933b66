"""Table 1 of the max-min margin paper: ours beside its numbers and a tuned SVC, resumable.

Random splits 60/20/20, a Gaussian kernel, α by the loss on the second part (means start at those of
the α before), 50 passes at most; mean test losses ± standard errors. α is 2⁻¹ … 2⁻²⁰, where the
paper names 2⁻¹ … 2⁻¹⁰: its code takes 200 Gaussian features that are standardised again, so that
their squared norm is 200 where that of a kernel is 1, and λ down to 2⁻¹³·⁶; α/200 is 2⁻⁷·⁶ times
smaller. The column α is the median of the exponents chosen. ``--features`` runs these features in
the place of the kernel, and ``--on-test`` chooses α by the test loss, as that code does. SVC takes
C = 1/(αn). CRF has the logistic loss, and on ordinal classes predicts the median. Words have linear
models of their pixels. The paper does not say how it cut outputs into ordinal classes: "equal
width", equal frequency where nothing is said, "log" for equal widths of the logarithm, and
"published" for the classes of a public set: outputs of machine in steps of 50, the six largest
ones together, and repeated rows left out. A row is kept as soon as it is there: a second call goes
on where the first one ended. Of ocr the authors' code takes 2,000 words.
"""

import csv
import time
import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._common import ROOT, arguments, header
from benchmarks.data import load
from skstructured import (
    ConditionalRandomField,
    MaxMinMarginNetwork,
    QuadraticSurrogate,
    StructuralSVM,
)
from skstructured._base.ragged import Ragged, Stacked

#: Space, outputs, splits, the paper's mean losses of M3N, CRF, M4N; ordered classes in classes.
SETS = {
    "iris": ("simplex", "y", 14, 0.0333, 0.0308, 0.0333),
    "wine": ("simplex", "y", 14, 0.0256, 0.0214, 0.0235),
    "segment": ("simplex", "y", 14, 0.0664, 0.0643, 0.0609),
    "satimage": ("simplex", "y", 14, 0.122, 0.115, 0.119),
    "stocks": ("ordinal", "y_eqfreq", 14, 0.167, 0.168, 0.160),
    "stocks, equal width": ("ordinal", "y_eqwidth", 14, 0.167, 0.168, 0.160),
    "machine": ("ordinal", "y_eqfreq", 14, 0.634, 0.628, 0.628),
    "machine, equal width": ("ordinal", "y_eqwidth", 14, 0.634, 0.628, 0.628),
    "machine, log": ("ordinal", "y_cont", 14, 0.634, 0.628, 0.628),
    "machine, published": ("ordinal", "y_chu", 14, 0.634, 0.628, 0.628),
    "wisconsin": ("ordinal", "y_eqfreq", 14, 1.24, 1.26, 1.26),
    "wisconsin, equal width": ("ordinal", "y_eqwidth", 14, 1.24, 1.26, 1.26),
    "abalone": ("ordinal", "y_eqfreq", 14, 0.520, 0.526, 0.520),
    "abalone, equal width": ("ordinal", "y_eqwidth", 14, 0.520, 0.526, 0.520),
    "ranking_wine": ("birkhoff", "rank", 14, 0.0506, None, 0.0434),
    "ranking_vehicle": ("birkhoff", "rank", 14, 0.148, None, 0.150),
    "ranking_bodyfat": ("birkhoff", "rank", 14, 0.796, None, 0.796),
    "ocr": ("sequence", "y", 3, 0.162, 0.163, 0.162),
    "ocr, 2000 words": ("sequence", "y", 1, 0.162, 0.163, 0.162),
}
MODELS = {
    "M3N": StructuralSVM,
    "M4N": MaxMinMarginNetwork,
    "QS": QuadraticSurrogate,
    "CRF": ConditionalRandomField,
    "SVC": SVC,
}
ALPHAS = [2.0**-j for j in range(1, 21)]
#: The sums over words are long: fewer α, around what conditional random fields choose.
WORD_ALPHAS = [2.0**-j for j in range(8, 14)]
FEATURES = 200
RESULTS = ROOT / "benchmarks" / "papers" / "results"
FIELDS = ["set", "model", "split", "alpha", "loss", "seconds"]


def rows_of(name):
    """Rows and outputs of a set."""
    arrays, column = load(name.split(",")[0]), SETS[name][1]
    if name.startswith("ocr"):
        X = Stacked(arrays["X"].astype(np.float64), arrays["lengths"].astype(int))
        return X, Ragged.from_lengths(arrays["y"].astype(int), arrays["lengths"])
    if column == "y_chu":
        return arrays["X_chu"].astype(np.float64), arrays[column].astype(np.int64)
    y = arrays[column]
    if column == "y_cont":
        logs = np.log(y)
        y = np.digitize(logs, np.linspace(logs.min(), logs.max(), 11)[1:-1])
    return arrays["X"].astype(np.float64), y.astype(np.int64)


def gaussian_features(X, seed):
    """What the authors' code learns from: distances to random rows, all of them standardised."""
    X = StandardScaler().fit_transform(X)
    centers = X[np.random.RandomState(seed).permutation(len(X))[:FEATURES]]
    squares = (X**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2.0 * X @ centers.T
    return StandardScaler().fit_transform(np.exp(-squares / (2.0 * X.std(axis=0).sum())))


def split_of(name, seed, features):
    """Rows and outputs of the three parts."""
    X, y = rows_of(name)
    X = gaussian_features(X, seed) if features else X
    order = np.random.RandomState(seed).permutation(len(y))
    order = order[:2000] if name == "ocr, 2000 words" else order
    cuts = np.split(order, [int(0.6 * len(order)), int(0.8 * len(order))])
    return [(X[part], y[part]) for part in cuts]


def loss_of(model, space, X, y):
    """Mean loss in the units of the paper."""
    predicted = median(model, X) if is_median(model, space) else model.predict(X)
    if space == "ordinal":
        return float(np.abs(predicted - y).mean())
    if space == "sequence":
        return float(np.mean(np.concatenate(predicted) != y.values))
    return float(np.mean(np.asarray(predicted) != y))


def is_median(model, space):
    """Whether the least expected distance is to be found from probabilities."""
    return space == "ordinal" and isinstance(model, ConditionalRandomField)


def median(model, X):
    """Classes in the middle of the probabilities."""
    below = np.cumsum(model.predict_proba(X), axis=1)
    return model.classes_[(below < 0.5).sum(axis=1)]


def model_of(kind, space, features, seed):
    """A model without its α."""
    kernel = "linear" if features or space == "sequence" else "rbf"
    if kind == "SVC":
        return SVC(kernel=kernel, gamma="auto")
    given = {"kernel": kernel, "standardize": not features and space != "sequence"}
    if kind == "CRF":
        return MODELS[kind]("simplex", **given)
    if kind != "QS":
        given |= {"max_iter": 50, "tol": 1e-4, "warm_start": True, "random_state": seed}
    return MODELS[kind](space, **given)


def run(name, kind, seed, features, on_test):
    """α, test loss and seconds a fit of a tuned model."""
    train, valid, test = split_of(name, seed, features)
    valid = test if on_test else valid
    space = SETS[name][0]
    model, best, started = model_of(kind, space, features, seed), None, time.perf_counter()
    if kind == "SVC" and not features:
        scaler = StandardScaler().fit(train[0])
        train, valid, test = ((scaler.transform(X), y) for X, y in (train, valid, test))
    alphas = WORD_ALPHAS if space == "sequence" else ALPHAS
    for alpha in alphas:
        given = {"C": 1.0 / (alpha * len(train[1]))} if kind == "SVC" else {"alpha": alpha}
        model.set_params(**given).fit(*train)
        found = loss_of(model, space, *valid), alpha, loss_of(model, space, *test)
        best = found if best is None or found[0] < best[0] else best
    return best[1], best[2], (time.perf_counter() - started) / len(alphas)


def runs(kind, name, features):
    """Whether a model is for a set; linear random fields want too long for so many features."""
    space = SETS[name][0]
    classes = space in ("simplex", "ordinal")
    return {"SVC": classes, "CRF": classes and not features, "QS": space != "sequence"}.get(
        kind, True
    )


def kept(path):
    """Rows that are there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def fill(path, names, most, *how):
    """Run what is missing."""
    done = {(row["set"], row["model"], int(row["split"])) for row in kept(path)}
    with path.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS)
        if not done:
            writer.writeheader()
        tasks = ((n, k, s) for n in names for s in range(min(SETS[n][2], most)) for k in MODELS)
        for task in tasks:
            if task not in done and runs(task[1], task[0], how[0]):
                alpha, loss, seconds = run(*task, *how)
                row = dict(zip(FIELDS, (*task, alpha, loss, f"{seconds:.4f}"), strict=True))
                writer.writerow(row)
                lines.flush()


def cell(rows, name, kind):
    """Mean ± standard error, the median exponent of α, and how many."""
    found = [row for row in rows if row["set"] == name and row["model"] == kind]
    if not found:
        return f"{'':26}", 0
    values = np.array([float(row["loss"]) for row in found])
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    exponent = np.median([-np.log2(float(row["alpha"])) for row in found])
    return f"{values.mean():.4f} ± {error:.4f} (2^-{exponent:<2.0f})", len(found)


def table(path):
    """Lines of the table."""
    rows = kept(path)
    heads = "".join(f"{kind:26}" for kind in MODELS)
    lines = [f"{'set':24}splits  {heads}paper M3N  CRF    M4N     s/fit of M4N"]
    for name, (*_, m3n, crf, m4n) in SETS.items():
        cells = [cell(rows, name, kind) for kind in MODELS]
        taken = [float(r["seconds"]) for r in rows if r["set"] == name and r["model"] == "M4N"]
        if cells[0][1]:
            numbers = "".join(f"{text:26}" for text, _ in cells)
            papers = "  ".join(f"{x:.4f}" if x else "      " for x in (m3n, crf, m4n))
            seconds = np.mean(taken) if taken else float("nan")
            lines.append(f"{name:24}{cells[0][1]:4}    {numbers}{papers}  {seconds:.2f}")
    return lines


def main():
    flag = {"action": "store_true"}
    more = {"sets": {"nargs": "*", "default": list(SETS)}, "features": flag, "on-test": flag}
    args = arguments(__doc__, **more)
    stem = "m4n_tables" + "_features" * args.features + "_on_test" * args.on_test
    stem += "_quick" * args.quick
    path = RESULTS / f"{stem}.csv"
    warnings.simplefilter("ignore")
    names = [n for n in args.sets if not (args.features and SETS[n][0] == "sequence")]
    fill(path, names, 1 if args.quick else 14, args.features, args.on_test)
    text = "\n".join((*header(__file__), *table(path)))
    print(text)
    if args.quick:
        path.unlink()
    else:
        path.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
