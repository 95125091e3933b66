"""Shortest paths on a grid: regret of decisions learned from paths, or from costs (PyEPO).

Data by the recipe of Elmachtoub and Grigas (2022), as PyEPO makes them: five features, costs of the
40 edges of a 5 × 5 grid that are polynomials of a linear function of them, times uniform noise from
0.5 to 1.5. 100 or 1,000 rows train, 1,000 others are decided. Regret is the cost of the chosen
paths over the cost of the shortest ones, less 1; a row has its mean over five seeds and the
standard error of that. "paths" learn from the shortest paths of the training rows, "costs" from the
costs of all edges. All models are linear but for the forest. PyEPO's losses train a linear layer by
Adam with the oracle of `GridPaths`, in batches of 32 rows. Its rate 0.01 and its passes, 100 for
100 rows and 60 for 1,000, were chosen among six settings by the regret of SPO+ for another seed.
"one path" is the shortest one for the mean costs. Without pyepo, its losses are left out.
"""

import importlib.util
import sys

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from benchmarks._common import ROOT, Results, arguments
from skstructured import OnlineStructuredPredictor

sys.path.append(str(ROOT / "docs" / "snippets"))
from grid_paths import GridPaths, normalized_regret, simulate

DEGREES, SIZES, SEEDS, TEST = (1, 2, 4, 6, 8), (100, 1000), (2, 3, 4, 5, 6), 1000
PASSES = {100: 100, 1000: 60}


class TwoStage:
    """A regression of the costs, and the shortest path for its predictions."""

    def __init__(self, regressor):
        self.regressor = regressor

    def fit(self, X, paths, costs):
        self.regressor.fit(X, costs)
        return self

    def predict(self, X):
        return GridPaths().argmax(-self.regressor.predict(X))


class FromPaths:
    """A predictor of this package, which does not see the costs."""

    def __init__(self, predictor):
        self.predictor = predictor

    def fit(self, X, paths, costs):
        self.predictor.fit(X, paths)
        return self

    def predict(self, X):
        return self.predictor.predict(X)


def learners(n, seed):
    """(name, what it learns from, estimator), in the order of the table."""
    yield "one path", "costs", TwoStage(DummyRegressor())
    yield "LinearRegression", "costs", TwoStage(LinearRegression())
    yield "random forest", "costs", TwoStage(RandomForestRegressor(random_state=seed))
    if importlib.util.find_spec("pyepo"):
        from benchmarks.peers._pyepo import Trained

        yield "PyEPO SPO+", "costs", Trained(GridPaths(), "SPO+", PASSES[n], seed)
        yield "PyEPO perturbed", "paths", Trained(GridPaths(), "perturbed", PASSES[n], seed)
    online = OnlineStructuredPredictor(GridPaths(), random_state=seed)
    yield "OnlineStructuredPredictor", "paths", FromPaths(online)


def measured(n, degree, seed):
    """{name: (what it learns from, regret, share of wrong edges)} of one data set."""
    X, costs = simulate(n + TEST, degree, seed)
    space = GridPaths()
    paths = space.argmax(-costs)
    found = {}
    for name, source, learner in learners(n, seed):
        chosen = learner.fit(X[:n], paths[:n], costs[:n]).predict(X[n:])
        regret = normalized_regret(chosen, paths[n:], costs[n:])
        found[name] = source, regret, space.expected_loss(chosen, paths[n:]).mean()
    return found


def summary(runs, column):
    """Mean over the runs, and its standard error."""
    values = np.array([run[column] for run in runs])
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def main():
    args = arguments(__doc__)
    sizes, seeds = (SIZES[:1], SEEDS[:2]) if args.quick else (SIZES, SEEDS)
    with Results(__file__, args) as out:
        out.say("regret, mean ± standard error; by degree; share of wrong edges in parentheses")
        out.say(f"{'rows, learner, learns from':44s}" + "".join(f"{d:<23d}" for d in DEGREES))
        for n in sizes:
            by_degree = [[measured(n, degree, seed) for seed in seeds] for degree in DEGREES]
            for name, (source, *_) in by_degree[0][0].items():
                cells, row = [], {}
                for degree, runs in zip(DEGREES, by_degree, strict=True):
                    runs = [run[name] for run in runs]
                    (mean, error), (wrong, _) = summary(runs, 1), summary(runs, 2)
                    cells.append(f"{mean:.3f} ± {error:.3f} ({wrong:.2f})")
                    row |= {f"regret_{degree}": mean, f"error_{degree}": error}
                    row |= {f"wrong_{degree}": wrong}
                text = f"{n:5d} {name:26s} {source:10s} " + "  ".join(cells)
                out.add(text, rows=n, learner=name, source=source, **row)


if __name__ == "__main__":
    main()
