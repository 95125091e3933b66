"""A budget of support rows on streams that stay and that move: rows right before they are learned.

Chunks of 50 rows are predicted, then learned; at most 3,000 rows. "drop" lets the rows of the least
coefficients go, without handing these over; "none" has no budget, "averaged" is the default average
over rounds, "majority" says the class that was seen most, and "last" the label before. Of the
streams named .686 one of two classes has that share, as in the stream where budgets were found to
be worse than the majority, of which nothing else is known.
"""

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import Kernel, KernelStructuredPredictor
from skstructured.estimators.kernel import _expansion

MOST, CHUNK = 3000, 50


def still():
    """Streams of rows in a drawn order."""
    sets = [("digits", *load_digits(return_X_y=True))]
    for name in ("segment", "satimage", "letter"):
        sets.append((name, load(name)["X"].astype(float), load(name)["y"]))
    for name, X, y in sets:
        order = np.random.RandomState(0).permutation(len(y))[:MOST]
        yield name, X[order], y[order]


def moving():
    """Rows in the order of time, and three that move: turning, turned over, clusters."""
    elec = load("elec2")
    yield "elec2", elec["X"][:MOST].astype(float), elec["y"][:MOST]
    cover = load("covtype")
    yield "covtype, in order", cover["X_num"][:MOST].astype(float), cover["y"][:MOST]
    rng = np.random.RandomState(0)
    X, t = rng.randn(MOST, 2), np.arange(MOST) / MOST * 4.0 * np.pi
    yield "turning", X, (X[:, 0] * np.cos(t) + X[:, 1] * np.sin(t) > 0).astype(int)
    y = (np.sin(2.0 * X[:, 0]) + X[:, 1] > 0).astype(int)
    yield "turned over", X, np.where(np.arange(MOST) // 750 % 2, 1 - y, y)
    y, way = rng.randint(3, size=MOST), np.array([1.0, -1.0, 0.5])
    centres = 2.0 * rng.randn(3, 2)[y] + 3.0 * way[y, None] * np.c_[np.cos(t), np.sin(t)]
    yield "clusters", centres + rng.randn(MOST, 2), y
    yield from uneven()


def uneven(most=MOST):
    """Streams that turn, switch to and fro, and get new concepts; one class has 68.6% of rows."""
    rng = np.random.RandomState(1)
    X, t = rng.randn(most, 2), np.arange(most) / most * 4.0 * np.pi
    turned = X[:, 0] * np.cos(t) + X[:, 1] * np.sin(t)
    sign = np.where(np.arange(most) // (most // 4) % 2, -1.0, 1.0)
    Z, W = rng.randn(most, 5), rng.randn(6, 5)
    new = np.einsum("ij,ij->i", Z, W[np.arange(most) * 6 // most])
    switched = sign * (np.sin(2.0 * X[:, 0]) + X[:, 1])
    for name, rows, score in (("turning", X, turned), ("switching", X, switched), ("new", Z, new)):
        yield f"{name}, .686", rows, (score > np.quantile(score, 0.686)).astype(int)


def dropped(G, coefs, stay, leave):
    """Coefficients without those that leave."""
    coefs = coefs.copy()
    coefs[:, leave] = 0.0
    return coefs


def right(X, y, budget, average=False):
    """Share of rows that were right before they were learned, in %."""
    model = KernelStructuredPredictor(
        kernel=Kernel(budget=budget), average=average, decoder="nearest", random_state=0
    )
    classes, found = np.unique(y), 0
    for start in range(0, len(y), CHUNK):
        part = slice(start, start + CHUNK)
        found += np.sum(model.predict(X[part]) == y[part]) if start else 0
        model.partial_fit(X[part], y[part], classes=classes)
    return 100.0 * found / (len(y) - CHUNK)


def majority(y):
    """Share that the class that was seen most is right, in %."""
    seen, found = dict.fromkeys(np.unique(y), 0), 0
    for label in y:
        found += label == max(seen, key=seen.get)
        seen[label] += 1
    return 100.0 * found / len(y)


def measured(X, y):
    """Right rows by budget, with coefficients handed over and dropped."""
    row, own = {"none": right(X, y, None), "majority": majority(y)}, _expansion.projected_onto_kept
    row["last"] = 100.0 * np.mean(y[1:] == y[:-1])
    row["none, averaged"] = right(X, y, None, "polynomial")
    row["100, averaged"] = right(X, y, 100, "polynomial")
    for budget in (50, 100, 200):
        row[f"{budget}"] = right(X, y, budget)
        _expansion.projected_onto_kept = dropped
        row[f"{budget}, drop"] = right(X, y, budget)
        _expansion.projected_onto_kept = own
    return row


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for kind, streams in (("still", still), ("moving", moving)):
            for name, X, y in list(streams())[: 1 if args.quick else None]:
                row = measured(X, y)
                cells = "  ".join(f"{what} {value:.1f}" for what, value in row.items())
                out.add(f"  {kind:7}{name:18}{cells}", stream=name, kind=kind, **row)


if __name__ == "__main__":
    main()
