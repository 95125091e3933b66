"""Conditional logits of published models: log-likelihoods, weights, standard errors and seconds.

Beside xlogit and statsmodels, those that are installed in the same Python; choice-learn is left
out, because it needs TensorFlow. Published are Biogeme's model of travel modes, with and without
the headway, and mlogit's of electricity suppliers. All get arrays in the form that they want.
Timed is the fit with standard errors, in turns, after one that is not counted; statsmodels, which
takes seconds, by itself, from its first fit on, and on two problems. The last problem is generated:
more rounds and features than the published ones.
"""

import importlib.metadata
import importlib.util
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns, timed
from benchmarks.data import load
from skstructured import ConditionalLogit

MODES = ("time", "cost", "headway", "constant of train", "constant of car")
SUPPLY = ("price", "contract", "local", "known", "time of day", "seasonal")


def published(quick):
    """(name, features, X (n, m, p), y, available, log-likelihood, weights) of published models."""
    z = load("choice_swissmetro")
    given = z["y"], z["available"].astype(bool)
    weights = [-1.2779, -1.0838, -0.7012, -0.1546]
    plain = [0, 1, 3, 4]
    names = [MODES[j] for j in plain]
    yield "travel modes", names, z["X"][:, :, plain].astype(float), *given, -5331.252, weights
    yield "with headway", MODES, z["X"].astype(float), *given, -5315.386, None
    z = load("choice_electricity")
    there = np.ones(z["X"].shape[:2], dtype=bool)
    weights = [-0.6252, -0.1083, 1.4422, 0.9955, -5.4628, -5.8400]
    yield "electricity", SUPPLY, z["X"].astype(float), z["y"], there, -4958.649, weights
    rng, n = np.random.default_rng(0), 1000 if quick else 20_000
    X = rng.standard_normal((n, 5, 20))
    y = (X @ rng.standard_normal(20) + rng.gumbel(size=(n, 5))).argmax(axis=1)
    there = np.ones((n, 5), dtype=bool)
    yield f"generated, {n} rounds", [f"x{j}" for j in range(20)], X, y, there, None, None


class Ours:
    """`ConditionalLogit` on an array (n, m, p)."""

    name, package, slow = "ConditionalLogit", None, False

    def __init__(self, X, y, there):
        self.given = X, y, None, there

    def fit(self):
        model = ConditionalLogit().fit(*self.given)
        return model.log_likelihood_, model.coef_, model.standard_errors_


class Xlogit:
    """xlogit's MultinomialLogit on rows of all alternatives."""

    name, package, slow = "xlogit", "xlogit", False

    def __init__(self, X, y, there):
        n, m, p = X.shape
        self.given = {
            "X": X.reshape(-1, p),
            "y": (np.arange(m) == y[:, None]).ravel().astype(int),
            "varnames": [f"x{j}" for j in range(p)],
            "ids": np.repeat(np.arange(n), m),
            "alts": np.tile(np.arange(m), n),
            "avail": there.ravel().astype(float),
            "verbose": 0,
        }

    def fit(self):
        from xlogit import MultinomialLogit

        model = MultinomialLogit()
        model.fit(**self.given)
        return model.loglikelihood, np.asarray(model.coeff_), np.asarray(model.stderr)


class Statsmodels:
    """statsmodels' ConditionalLogit on rows of available alternatives."""

    name, package, slow = "statsmodels", "statsmodels", True

    def __init__(self, X, y, there):
        n, m, _ = X.shape
        marks = (np.arange(m) == y[:, None]).astype(int)
        self.given = marks[there], X[there], np.repeat(np.arange(n), m).reshape(n, m)[there]

    def fit(self):
        from statsmodels.discrete.conditional_models import ConditionalLogit as Theirs

        marks, rows, groups = self.given
        found = Theirs(marks, rows, groups=groups).fit(disp=0)
        return found.llf, np.asarray(found.params), np.asarray(found.bse)


def fitted(learners, repeat):
    """What each fits, and median seconds; those that are slow have no first call."""
    fast, slow = ([one for one in learners if one.slow == kind] for kind in (False, True))
    times = np.median(in_turns([one.fit for one in fast], repeat), axis=0).tolist()
    found = [one.fit() for one in fast]
    for one in slow:
        runs = [timed(one.fit) for _ in range(repeat)]
        found.append(runs[0][0])
        times.append(float(np.median([taken for _, taken in runs])))
    return found, times


def compare(out, problem, repeat, kinds):
    """The lines of one problem."""
    name, features, X, y, there, likelihood, weights = problem
    slow = name in ("travel modes", "electricity")
    learners = [kind(X, y, there) for kind in kinds if slow or not kind.slow]
    told = "" if likelihood is None else f", published log-likelihood {likelihood:.3f}"
    out.say(f"\n{name}: {len(y)} rounds, {X.shape[2]} features{told}")
    found, times = fitted(learners, repeat)
    _, coef, errors = found[0]
    for one, (value, w, se), taken in zip(learners, found, times, strict=True):
        apart, errors_apart = np.abs((w - coef) / errors).max(), np.abs(se / errors - 1).max()
        ratio = taken / times[0]
        line = f"   {one.name:18}{value:14.4f}{apart:12.1e}{errors_apart:12.1e}"
        row = {"problem": name, "learner": one.name, "log-likelihood": value, "apart": apart}
        row |= {"errors apart": errors_apart, "seconds": taken, "ratio": ratio}
        out.add(f"{line}{taken:10.4f} s{ratio:8.1f}", table="fits", **row)
    if weights is not None:
        show_weights(out, name, features, coef, errors, weights)


def show_weights(out, name, features, coef, errors, weights):
    """Published weights, ours and their standard errors."""
    out.say(f"   {'weight of':20}{'published':>12}{'ours':>12}{'std err':>10}")
    for feature, theirs, w, se in zip(features, weights, coef, errors, strict=True):
        line = f"   {feature:20}{theirs:12.4f}{w:12.4f}{se:10.4f}"
        row = {"problem": name, "feature": feature, "published": theirs, "weight": w}
        out.add(line, table="weights", **row, **{"standard error": se})


def main():
    """Print the tables."""
    args = arguments(__doc__, repeat=5)
    warnings.simplefilter("ignore")
    kinds = [
        kind
        for kind in (Ours, Xlogit, Statsmodels)
        if kind.package is None or importlib.util.find_spec(kind.package)
    ]
    with Results(__file__, args) as out:
        peers = [kind.package for kind in kinds if kind.package]
        versions = [f"{name} {importlib.metadata.version(name)}" for name in peers]
        out.say("with " + (", ".join(versions) or "no other library"))
        out.say(
            "log-likelihood; weights apart from ours, in standard errors; standard errors apart,"
        )
        out.say("as a share; seconds of a fit, and over ours")
        for problem in published(args.quick):
            compare(out, problem, args.repeat, kinds)


if __name__ == "__main__":
    main()
