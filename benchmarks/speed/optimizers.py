"""Cost of one pass: every optimiser, with and without averages, beside constant-step OGD.

All learners take turns on the same arrays; a line gives medians, and the median of the ratios to
the constant step of the same turn.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._timing import in_turns
from benchmarks.data import a9a, bibtex, news20
from benchmarks.synthetic import FEW, problems
from skstructured.optimizers import PiSTOL

LEARNERS = {
    "ogd": {},
    "ogd, averaged": {"average": True},
    "adaptive": {"optimizer": "adaptive"},
    "adaptive, averaged": {"optimizer": "adaptive", "average": True},
    "parameter_free": {"optimizer": "parameter_free"},
    "parameter_free, averaged": {"optimizer": "parameter_free", "average": True},
    "pistol": {"optimizer": "pistol"},
    "pistol, averaged": {"optimizer": "pistol", "average": True},
    "pistol per coordinate": {"optimizer": PiSTOL(per_coordinate=True)},
}
FEWER = {name: LEARNERS[name] for name in LEARNERS if "ogd" in name or "parameter_free" in name}


def real_problems(quick):
    """Titles, (X, y, X_test, y_test) and the space."""
    tags, tagged = bibtex()
    news, topics, *others = news20()
    order = np.random.default_rng(0).permutation(len(topics))  # the file is sorted by topic
    for name, (X, y, *test), space in (
        ("a9a", a9a(), "simplex"),
        ("bibtex, 159 labels", (tags[::2], tagged[::2], tags[1::2], tagged[1::2]), "hypercube"),
        ("news20, 20 classes", (news[order], topics[order], *others), "simplex"),
    ):
        X, y = (X[:FEW], y[:FEW]) if quick else (X, y)
        (n, p), entries = X.shape, X.nnz / X.shape[0]
        yield f"{name}: CSR n={n}, p={p}, {entries:.0f} non-zeros", (X, y, *test), space


def table(out, title, problem, repeat, learners=LEARNERS, space="simplex"):
    X, y, X_test, y_test = problem
    models = {name: predictor(space=space, **given) for name, given in learners.items()}
    times = in_turns([lambda m=model: m.fit(X, y) for model in models.values()], repeat)
    spent, ratios = np.median(times, axis=0), np.median(times / times[:, :1], axis=0)
    out.say(f"{title}: us a row, times ogd, accuracy on other rows")
    for (name, model), t, ratio in zip(models.items(), spent, ratios, strict=True):
        us, accuracy = t / X.shape[0] * 1e6, model.score(X_test, y_test)
        row = {"us": us, "times_ogd": ratio, "accuracy": accuracy}
        line = f"  {name:26} {us:7.2f} {ratio:7.2f} {accuracy:8.3f}"
        out.add(line, problem=title, learner=name, **row)
    averages(out, list(models), times)


def averages(out, names, times):
    """What averaging costs, as the median of ratios in one turn."""
    for name in (name for name in names if f"{name}, averaged" in names):
        averaged, plain = (times[:, names.index(n)] for n in (f"{name}, averaged", name))
        extra = np.median(averaged / plain) - 1.0
        out.say(f"  averaging adds {100 * extra:.0f}% to {name}")


def main():
    args = arguments(__doc__, repeat=41)
    with Results(__file__, args) as out:
        for title, problem in problems(args.quick):
            table(out, title, problem, args.repeat)
        for title, problem, space in real_problems(args.quick):
            table(out, title, problem, args.repeat, FEWER, space)


if __name__ == "__main__":
    main()
