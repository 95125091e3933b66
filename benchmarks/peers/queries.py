"""Learning to rank on queries held out: NDCG, and seconds to fit, beside boosted trees and ridge.

201 queries, 3,005 documents, 301 features, grades 0 to 4; and simulated sets: grades of the product
of four of ten features, of a line, and of steps with an offset per query. Means over five folds by
query; all learners are at their defaults and get the features as they are, but that ridge
regression on the grades standardises them, and has its penalty searched in a second row. "one pass"
is `ListwiseRanker` as a stream. Seconds are medians of the fits, one thread each. Behind the NDCG
at 10 is its standard error over folds. Below, a stream of queries of 15 items with 300 features,
and choices as a stream: log-likelihoods of the weights after one pass, and while learning.
"""

import time

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import (
    ConditionalLogit,
    ItemStructuredPredictor,
    ListwiseRanker,
    StructuredRanker,
)
from skstructured.evaluation import progressive_validate
from skstructured.items.metrics import ndcg

PLACES = (1, 3, 5, 10)


class Ours:
    """A ranker, by `fit` or as a stream."""

    def __init__(self, how="fit", kind=ListwiseRanker, **given):
        self.how, self.model = how, kind(**given)

    def fit(self, X, y, qid):
        getattr(self.model, self.how)(X, y, qid)
        return self

    def predict(self, X):
        return self.model.predict(X)


class Regression(Ours):
    """Grades of single documents."""

    def __init__(self, model):
        self.model = make_pipeline(StandardScaler(), model)

    def fit(self, X, y, qid):
        self.model.fit(X, y)
        return self


class Trees(Ours):
    """Boosted trees, which want the rows of a query beside each other."""

    def __init__(self, model, by_group):
        self.model, self.by_group = model, by_group

    def fit(self, X, y, qid):
        order = np.argsort(qid, kind="stable")
        _, counts = np.unique(qid, return_counts=True)
        how = {"group": counts} if self.by_group else {"qid": qid[order]}
        self.model.fit(X[order], y[order], **how)
        return self


def learners():
    """Names and what makes them; packages that are not installed are left out."""
    yield "StructuredRanker()", lambda: Ours(kind=StructuredRanker, random_state=0)
    yield "one pass", lambda: Ours("partial_fit", random_state=0)
    yield 'kernel="linear"', lambda: Ours(kernel="linear", random_state=0)
    yield "ListwiseRanker()", lambda: Ours(random_state=0)
    yield "one pass of fit", lambda: Ours(max_iter=1, random_state=0)
    yield (
        'linear, "permutahedron"',
        lambda: Ours(loss="permutahedron", kernel="linear", random_state=0),
    )
    yield 'loss="permutahedron"', lambda: Ours(loss="permutahedron", random_state=0)
    yield "ridge on grades", lambda: Regression(Ridge())
    yield "ridge, searched", lambda: Regression(RidgeCV(np.logspace(-3, 5, 17)))
    try:
        from lightgbm import LGBMRanker

        yield "LightGBM, LambdaRank", lambda: Trees(LGBMRanker(verbose=-1, n_jobs=1), True)
    except ImportError:
        pass
    try:
        from xgboost import XGBRanker

        yield "XGBoost, LambdaRank", lambda: Trees(XGBRanker(n_jobs=1), False)
    except ImportError:
        pass


def simulated(kind, seed, n=400, m=8):
    """Rows, grades and queries whose grades depend on a product, on a line, or on steps."""
    rng = np.random.RandomState(seed)
    X, qid = rng.randn(n * m, 10), np.repeat(np.arange(n), m)
    if kind == "products":
        score = X[:, :4].prod(axis=1) + 0.1 * rng.randn(n * m)
    elif kind == "line":
        score = X @ rng.randn(10) + rng.randn(n * m)
    else:
        score = X[:, 0] + 2.0 * (X[:, 1] > 0) * X[:, 2] + 0.5 * rng.randn(n * m)
        score += 0.5 * np.repeat(rng.randn(n), m)
    return X, np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97])).astype(float), qid


def data_sets(quick):
    """Name, rows, grades, queries, and how often folds are drawn."""
    z = load("ltr_queries")
    yield "documents", z["X"].astype(float), z["y"], z["qid"], 1
    for kind, seeds in () if quick else (("products", 3), ("line", 1), ("steps", 1)):
        for seed in range(seeds):
            yield f"{kind} {seed}", *simulated(kind, seed), 1


def folds(X, y, qid, times):
    for seed in range(times):
        yield from GroupKFold(5, shuffle=True, random_state=seed).split(X, y, qid)


def rank_queries(out, title, X, y, qid, times):
    """The table of rankers."""
    out.say(f"\n{title:28s}" + "".join(f"{k:8d}" for k in PLACES) + "      ± seconds")
    for name, make in learners():
        found = []
        for train, test in folds(X, y, qid, times):
            started = time.perf_counter()
            model = make().fit(X[train], y[train], qid[train])
            seconds = time.perf_counter() - started
            scores = model.predict(X[test])
            found.append([*(ndcg(y[test], scores, qid[test], k=k) for k in PLACES), seconds])
        mean, median = np.mean(found, axis=0), np.median(found, axis=0)[-1]
        error = np.std([row[-2] for row in found], ddof=1) / np.sqrt(len(found))
        text = "".join(f"{value:8.3f}" for value in (*mean[:-1], error))
        scores = {f"ndcg_{k}": value for k, value in zip(PLACES, mean, strict=False)}
        scores |= {"error_10": error, "s": median}
        out.add(f"{name:28s}{text}{median:8.3f}", table=title, name=name, **scores)


def stream_queries(out, quick):
    """Microseconds for an item."""
    rng, n, m = np.random.RandomState(0), 200 if quick else 2000, 15
    X, y = rng.randn(n * m, 300), rng.randint(5, size=n * m)
    qid = np.repeat(np.arange(n), m)
    out.say(f"\n{n} queries of {m} items with 300 features, one pass, microseconds for an item")
    for optimizer in ("mixture", "parameter_free"):
        times = []
        for _ in range(6):
            model = ListwiseRanker(optimizer=optimizer)
            started = time.perf_counter()
            model.partial_fit(X, y, qid)
            times.append(1e6 * (time.perf_counter() - started) / (n * m))
        us = float(np.median(times[1:]))
        out.add(f"{optimizer:28s}{us:8.2f}", table="stream", name=optimizer, us=us)


def choose(out):
    """Choices as a stream, in the order of the people and shuffled."""
    out.say("\nchoices, log-likelihoods: the optimum, after one pass, and while learning")
    for name in ("swissmetro", "electricity"):
        z = load(f"choice_{name}")
        X, y = z["X"].astype(float), z["y"].astype(int)
        X = X[:, :, [0, 1, 3, 4]] if name == "swissmetro" else X
        there = z["available"].astype(bool) if "available" in z else np.ones(X.shape[:2], bool)
        best = ConditionalLogit().fit(X, y, available=there).log_likelihood_
        for order_of in ("in their order", "shuffled"):
            order = np.arange(len(y))
            if order_of == "shuffled":
                order = np.random.RandomState(0).permutation(order)
            rounds = [X[i][there[i]] for i in order]
            chosen = np.array([there[i][: y[i]].sum() for i in order])
            run = progressive_validate(
                ItemStructuredPredictor(), rounds, chosen, random_state=0, play="randomized"
            )
            proba = run.estimator.predict_proba(rounds)
            after = sum(np.log(p[k]) for p, k in zip(proba, chosen, strict=True))
            playing = -run.surrogate_loss.sum() / run.estimator.loss_.scale_
            bound = run.risk_bound()
            text = f"{name}, {order_of}:".ljust(28)
            out.add(
                f"{text}{best:10.2f}{after:10.2f}{playing:10.2f}; new choices: at most "
                f"{bound:.3f} wrong",
                table="choices",
                name=f"{name}, {order_of}",
                best=best,
                after=after,
                playing=playing,
                bound=bound,
            )


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for given in data_sets(args.quick):
            rank_queries(out, *given)
        stream_queries(out, args.quick)
        choose(out)


if __name__ == "__main__":
    main()
