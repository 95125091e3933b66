"""λ and B of FOLKLORE with the largest κ: mean log loss (nats) of one pass, defaults else.

Every row is predicted before it is learned; rows are shuffled, but elec2's. "first 300" are the
first of them, and so on: sets of 100 to 1,000 rows count as much as larger ones. The last columns
are geometric means of log losses over those of B = 1, λ = ½: of small sets, large, and both.
The mixture is of B = .25, 1, 4 and 16; the Gaussian forecaster has B = 1.
"""

import warnings

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks._common import Results, arguments
from benchmarks.data import covtype, load
from skstructured import FolkloreClassifier, GaussianAggregatingForecaster

LOADED = (load_iris, load_wine, load_breast_cancer, load_digits)
LAMBDAS, RADII = (0.25, 0.5, 1.0, 2.0), (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
GRID, LARGE = (0.25, 1.0, 4.0, 16.0), 5000


def streams():
    """Name, X, y of every set in the order it is learned."""
    for read in LOADED:
        yield read.__name__[5:], *shuffled(*read(return_X_y=True))
    for name in ("segment", "satimage", "river_phishing", "river_shuttle"):
        yield name, *shuffled(load(name)["X"], load(name)["y"])
    yield "abalone", *shuffled(load("abalone")["X"], load("abalone")["y_eqfreq"])
    yield "covtype", *covtype(LARGE)
    yield "elec2", load("elec2")["X"], load("elec2")["y"]


def shuffled(X, y):
    order = np.random.RandomState(0).permutation(len(y))
    return X[order], y[order]


def sets(quick):
    """(Name, whether small) -> X, y: whole sets of up to `LARGE` rows, and their first rows."""
    found = {}
    for name, X, y in streams():
        for n in (300, 1000) if len(y) > 1000 else (len(y),):
            found[f"{name} {min(n, len(y))}", True] = part(X, y, n)
        if len(y) > 1000 and not quick:
            found[f"{name} {min(LARGE, len(y))}", False] = part(X, y, LARGE)
        if quick and len(found) > 2:
            break
    return found


def part(X, y, n):
    """The first n rows, float64, and their classes as 0 … K − 1."""
    return np.asarray(X[:n], float), np.unique(y[:n], return_inverse=True)[1]


def candidates():
    """Label -> learner, the default before first."""
    grid = [(B, lam) for B in RADII for lam in LAMBDAS]
    for B, lam in [(1.0, 0.5)] + [pair for pair in grid if pair != (1.0, 0.5)]:
        yield f"B={B:<3g} lam={lam:g}", FolkloreClassifier(radius=B, alpha=lam)
    for factor in (0.5, 1.0, 2.0):
        yield (
            f"mixture, {factor:g}/B",
            [FolkloreClassifier(radius=B, alpha=factor / B) for B in GRID],
        )
    for lam in LAMBDAS[1:]:
        yield f"mixture, {lam:g}", [FolkloreClassifier(radius=B, alpha=lam) for B in GRID]
    for lam in LAMBDAS[1:]:
        yield f"Gaussian, {lam:g}", GaussianAggregatingForecaster(alpha=lam, random_state=0)


def log_loss(model, X, y):
    """Mean log loss, in nats, of the rounds as they are played; of the mixture of several."""
    parts = np.array([losses(part, X, y) for part in (model if type(model) is list else [model])])
    before = np.vstack([np.zeros(len(parts)), np.cumsum(parts, axis=1).T[:-1]]).T
    return (logsumexp(-before, axis=0) - logsumexp(-before - parts, axis=0)).mean()


def losses(model, X, y):
    """Log losses of the rounds, in nats."""
    return np.log(2.0) * model.play_and_learn(model.begin(X, y), np.arange(len(y))).surrogate


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, base = sets(args.quick), None
        small = np.array([is_small for _, is_small in data])
        out.say(f"{'':16}{' '.join(f'{n[:5]:>5}' for n, _ in data)}  small  large   both")
        out.say(f"{'':16}{' '.join(f'{n.split()[-1]:>5}' for n, _ in data)}")
        for label, model in candidates():
            found = np.array([log_loss(model, X, y) for X, y in data.values()])
            base = found if base is None else base
            logs = np.log(found / base)
            means = [np.exp(logs[part].mean()) for part in (small, ~small) if part.any()]
            both = np.exp(np.mean(np.log(means)))
            cells = " ".join(f"{loss:5.3f}" for loss in found)
            named = {name.replace(" ", "_"): v for (name, _), v in zip(data, found, strict=True)}
            columns = "".join(f"{value:7.3f}" for value in (*means, both))
            out.add(f"{label:16}{cells}{columns}", lam=label, both=both, **named)


if __name__ == "__main__":
    main()
