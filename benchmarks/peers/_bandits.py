"""Classes with bandit feedback: the share of wrong choices over one stream, and its seconds.

Ours take raw rows; the others standardised ones, although no bandit could know their means before.
"""

from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import timed
from benchmarks.peers._learners import summed_up
from benchmarks.peers._problems import rows
from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    SOBAClassifier,
)

SHUFFLES = 5


def simulated(make):
    """Runs one of ours over a stream; the share of wrong choices."""

    def run(X, codes, K, seed):
        model = make(classes=range(K), random_state=seed).partial_fit(X, codes)
        return model.n_mistakes_ / len(codes)

    return run


def vowpal_wabbit(X, codes, K, seed):
    """Vowpal Wabbit's doubly robust exploration by its default share, 5%."""
    from vowpalwabbit import Workspace

    rng, wrong = np.random.RandomState(seed), 0
    model = Workspace(f"--cb_explore {K} --epsilon 0.05 --quiet")
    for row, code in zip(StandardScaler().fit_transform(X).tolist(), codes, strict=True):
        features = "| " + " ".join(f"{j}:{x:.5g}" for j, x in enumerate(row))
        share = np.array(model.predict(features))
        action = rng.choice(K, p=share / share.sum())
        wrong += action != code
        model.learn(f"{action + 1}:{float(action != code)}:{share[action]} {features}")
    return wrong / len(codes)


def linear_ucb(X, codes, K, seed):
    """river's LinUCB, an independent regression an action."""
    from river import bandit

    model, wrong = bandit.LinUCBDisjoint(seed=seed), 0
    names = [*map(str, range(X.shape[1]))]
    for row, code in zip(StandardScaler().fit_transform(X).tolist(), codes, strict=True):
        context = dict(zip(names, row, strict=True)) | {"one": 1.0}
        action = model.pull(range(K), context=context)
        wrong += action != code
        model.update(action, context, float(action == code))
    return wrong / len(codes)


#: Shares of rounds that explore: what the bounds ask for is nearly all of so short a stream.
GAPTRON = partial(BanditGaptronClassifier, radius=1.0, exploration=0.1)
REDUCTION = partial(BanditReduction, exploration=0.1)
LEARNERS = (
    ("BanditGaptron, exploration .1", True, "skstructured", simulated(GAPTRON)),
    ("Banditron", True, "skstructured", simulated(BanditronClassifier)),
    ("Confidit", True, "skstructured", simulated(ConfiditClassifier)),
    ("SOBA", True, "skstructured", simulated(SOBAClassifier)),
    ("BanditReduction, exploration .1", True, "skstructured", simulated(REDUCTION)),
    ("Vowpal Wabbit cb_explore, scaled", False, "vowpalwabbit", vowpal_wabbit),
    ("river LinUCB, scaled", False, "river", linear_ucb),
)


def compare(quick, is_there):
    """A problem's name and its rows of the table, where a peer is there."""
    if not any(is_there(package) for *_, package, _ in LEARNERS[-2:]):
        return
    for name in ("segment", "satimage"):
        X, y = rows(name)
        codes, found = np.unique(y, return_inverse=True)[1], []
        for learner, is_builtin, package, run in LEARNERS:
            if is_there(package):
                found.append((learner, is_builtin, *measured(run, X, codes, quick)))
        yield f"{name}, bandit feedback", found


def measured(run, X, codes, quick):
    """The mean share of wrong choices over shuffles, its deviation, and the median seconds."""
    K, runs = int(codes.max()) + 1, []
    run(X[:200], codes[:200], K, 0)
    for seed in range(1 if quick else SHUFFLES):
        order = np.random.RandomState(seed).permutation(len(X))[: 300 if quick else None]
        runs.append(timed(lambda order=order, seed=seed: run(X[order], codes[order], K, seed)))
    return summed_up(runs)
