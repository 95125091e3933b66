"""As many passes as the data bears: `max_iter="auto"` beside fixed numbers, over many sets.

Classes, grades, rankings and label sets, among them such as are mostly noise; raw rows, everything
else at its defaults. A row has mean surrogate losses of rows that were not learned, over the folds:
of "auto", of the number before it was the default ("usual": 10 passes; 20 with
a kernel), and of the best fixed number, chosen with the test rows; then points of `score`
("auto" and usual), and seconds of `fit`. Losses of spaces with large costs count by their ratios.
"""

import itertools
import time
import warnings

import numpy as np
from sklearn.model_selection import KFold

from benchmarks._common import Results, arguments
from benchmarks.data import a9a, load
from benchmarks.defaults import _sets as sets
from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor

FIXED = (1, 3, 5, 10, 20, 40, 80)

#: Fewer rows are divided into five folds, and each is learned in several orders.
FEW, SEEDS = 1000, 4

#: name -> learner, the usual number and its tol, the most rows, folds made of five.
KINDS = {
    "linear": (OnlineStructuredPredictor, {"max_iter": 10}, 20_000, 3),
    "kernel": (KernelStructuredPredictor, {"max_iter": 20}, 2500, 2),
}


def everything(kind, quick):
    """Name, space, X, y of every set."""
    for name, X, y in sets.classes(quick):
        yield name, "simplex", X, y
    for name, X, y in sets.noisy():
        yield name, "simplex", X, y
    if quick:
        return
    for name in ("phishing", "bananas", "shuttle"):
        arrays = load(f"river_{name}")
        yield name, "simplex", arrays["X"].astype(float), arrays["y"]
    if kind == "linear":
        yield "a9a", "simplex", *a9a()[:2]
    for name, X, y in sets.grades():
        yield f"{name}, grades", "ordinal", X, y
    for name, X, y in sets.rankings():
        yield f"{name}, ranks", "permutahedron", X, y
    for name, X, Y in sets.label_sets():
        if kind == "linear" or name != "bibtex":
            yield name, "hypercube", X, Y


def judged(model, train, test):
    """Mean surrogate loss and score of a fitted learner on test rows, and seconds of fitting."""
    started = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - started
    X, y = test
    theta, V = model.embedding_scores(X), model.space_.encode(y)
    return model.loss_.value(theta, V).mean(), model.score(X, y), seconds


def warm_up(learner, space, X, y):
    """Compile what a fit needs, so that no time has it."""
    learner(space).fit(X[:60], y[:60])


def compare(kind, space, X, y):
    """Means (learners, 3) over the folds, of "auto", usual and all fixed numbers; and passes."""
    learner, usual, most, folds = KINDS[kind]
    order = np.random.RandomState(0).permutation(X.shape[0])[:most]
    warm_up(learner, space, X, y)
    given = [{"max_iter": "auto"}, usual, *({"max_iter": n} for n in FIXED)]
    few, found, passes = len(order) < FEW, [], []
    parts = list(KFold(5).split(order))[: 5 if few else folds]
    for (train, test), seed in itertools.product(parts, range(SEEDS if few else 1)):
        pair = [(X[order[part]], y[order[part]]) for part in (train, test)]
        models = [learner(space, random_state=seed, **one) for one in given]
        found.append([judged(model, *pair) for model in models])
        passes.append(models[0].n_iter_)
    return np.mean(found, axis=0), np.mean(passes)


def table(out, kind, quick):
    """One row per set, and what the whole table says."""
    out.say(f"{kind}: loss of auto, usual, best (passes) | points of auto, usual | seconds")
    rows = []
    for name, space, X, y in everything(kind, quick):
        means, passes = compare(kind, space, X, np.asarray(y))
        (loss, score, seconds), usual = means[0], means[1]
        best = int(np.argmin(means[2:, 0]))
        row = {"auto": loss, "usual": usual[0], "best": means[2 + best, 0], "passes": passes}
        row |= {"score": 100 * score, "usual_score": 100 * usual[1]}
        row |= {"seconds": seconds, "usual_seconds": usual[2], "best_passes": FIXED[best]}
        text = f"  {name:18}{row['auto']:9.4f} {row['usual']:9.4f} {row['best']:9.4f} "
        text += f"({passes:4.1f}, {FIXED[best]:2}) | {row['score']:6.2f} {row['usual_score']:6.2f}"
        out.add(f"{text} | {seconds:8.4f} {usual[2]:8.4f}", table=kind, data=name, **row)
        rows.append((name, row))
    summary(out, kind, rows)


def summary(out, kind, rows):
    """Ratios over all sets, and the worst of them."""
    names = [name for name, _ in rows]
    get = {key: np.array([row[key] for _, row in rows]) for key in rows[0][1]}
    small = get["usual"] < 8.0  # log-losses and their like; grades and some ranks cost far more
    over_best = get["auto"][small].mean() / get["best"][small].mean()
    ratio, points = get["auto"] / get["usual"], get["score"] - get["usual_score"]
    worst, behind = int(np.argmax(ratio)), int(np.argmin(points))
    seconds = get["seconds"].sum() / get["usual_seconds"].sum()
    numbers = {
        "sets": len(rows),
        "mean loss over that of the best numbers": over_best,
        "loss over usual, geometric mean": np.exp(np.log(ratio).mean()),
        f"loss over usual, worst ({names[worst]})": ratio[worst],
        "points gained, mean": points.mean(),
        f"points gained, least ({names[behind]})": points[behind],
        "seconds over usual": seconds,
    }
    for text, value in numbers.items():
        out.add(f"  {text}: {value:.4g}", table=kind, data=text, value=value)


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            table(out, kind, args.quick)


if __name__ == "__main__":
    main()
