"""Queries and choices: ranks of documents, and which of some items somebody takes."""

import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks._timing import timed
from benchmarks.data import load
from benchmarks.peers import choices as logits
from benchmarks.peers._learners import summed_up
from benchmarks.peers.queries import Regression, Trees, learners
from skstructured.items.metrics import ndcg

#: Of the learners of `benchmarks.peers.queries`, the ones that are compared here.
OURS = ("StructuredRanker()", "ListwiseRanker()", 'kernel="linear"')

#: What is searched of LightGBM, by the NDCG of a fifth of the queries.
GRID = [
    {"num_leaves": leaves, "min_child_samples": least} for leaves in (7, 31) for least in (5, 20)
]


class SearchedTrees(Trees):
    """LightGBM's LambdaRank with the best of a grid, which is learned again with all queries."""

    def __init__(self):
        """Nothing is given."""

    def fit(self, X, y, qid):
        learned, judged = next(GroupKFold(5, shuffle=True, random_state=0).split(X, y, qid))
        found = []
        for given in GRID:
            trees = self._trees(given).fit(X[learned], y[learned], qid[learned])
            found.append(ndcg(y[judged], trees.predict(X[judged]), qid[judged], k=10))
        self.model = self._trees(GRID[int(np.argmax(found))]).fit(X, y, qid).model
        return self

    @staticmethod
    def _trees(given):
        from lightgbm import LGBMRanker

        return Trees(LGBMRanker(verbose=-1, n_jobs=1, **given), True)


def rankers(is_there):
    """Name, whether it is ours, and what makes it."""
    for name, make in learners():
        if name in OURS or isinstance(make(), (Regression, Trees)):
            yield name, name in OURS, make
    if is_there("lightgbm"):
        yield "LightGBM, LambdaRank, searched", False, SearchedTrees


def queries(quick, is_there):
    """The loss is 1 − NDCG at 10."""
    z = load("ltr_queries")
    X, y, qid = z["X"].astype(float), z["y"], z["qid"]
    folds = list(GroupKFold(5, shuffle=True, random_state=0).split(X, y, qid))[: 1 if quick else 5]
    found = []
    for name, is_builtin, make in rankers(is_there):
        runs = []
        make().fit(X[:300], y[:300], qid[:300])
        for train, test in folds:
            model, seconds = timed(lambda m=make, r=train: m().fit(X[r], y[r], qid[r]))
            runs.append((1.0 - ndcg(y[test], model.predict(X[test]), qid[test], k=10), seconds))
        found.append((name, is_builtin, *summed_up(runs)))
    yield "documents, queries", found


def choices(quick, is_there):
    """The loss is the negative log-likelihood of a round, of the rounds that are fitted."""
    known = (logits.Ours, logits.Xlogit, logits.Statsmodels)
    kinds = [kind for kind in known if kind.package is None or is_there(kind.package)]
    if quick or len(kinds) == 1:
        return
    for name, _, X, y, there, *_ in logits.published(quick):
        if name in ("travel modes", "electricity"):
            found, times = logits.fitted([kind(X, y, there) for kind in kinds], 5)
            order = sorted(kinds, key=lambda kind: kind.slow)
            rows = [
                (kind.name, kind is logits.Ours, -float(value[0]) / len(y), np.nan, seconds)
                for kind, value, seconds in zip(order, found, times, strict=True)
            ]
            yield f"{name}, choices", rows
