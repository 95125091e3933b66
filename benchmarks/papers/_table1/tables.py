"""Mistakes of every learner on a stream, over seeds, with bounds and times."""

import math
from typing import NamedTuple

import numpy as np

from benchmarks._statistics import mean_and_width
from benchmarks._timing import timed
from benchmarks.papers._table1.bounds import mistake_bound, ridge_directions
from benchmarks.papers._table1.learners import Learner, learners
from benchmarks.papers._table1.streams import largest
from skstructured import SecondOrderPerceptron
from skstructured.evaluation import progressive_validate

CHECKPOINTS = 100


class Runs(NamedTuple):
    learner: Learner
    rounds: int
    curves: np.ndarray  # (seeds, CHECKPOINTS)
    spent: float  # seconds a round
    bound: float


def checkpoints(n):
    """Rounds after which mistakes are noted, from 0."""
    return np.arange(1, CHECKPOINTS + 1) * n // CHECKPOINTS - 1


def play_full(model, X, y, classes):
    """Cumulative expected mistakes and what `progressive_validate` returns."""
    if isinstance(model, SecondOrderPerceptron):
        places, found = checkpoints(len(y)), []
        for rows in np.split(np.arange(len(y)), places[:-1] + 1):
            found.append(model.partial_fit(X[rows], y[rows], classes=classes).n_mistakes_)
        return np.array(found, dtype=float), None
    result = progressive_validate(model, X, y, classes=classes, play="randomized")
    return np.cumsum(result.expected_target_loss)[checkpoints(len(y))], result


def play_bandit(model, X, y, classes):
    """Cumulative mistakes and the learner."""
    rewards = model.simulate(X, y, classes).rewards
    return np.cumsum(1.0 - rewards)[checkpoints(len(y))], model


def run(learner, stream, directions):
    """All seeds of a learner on a stream; the bound is the first seed's."""
    T, curves, times, bound = min(stream.n, learner.most(stream)), [], [], math.nan
    play, classes = play_bandit if learner.bandit else play_full, stream.classes
    for seed in range(learner.seeds):
        X, y = (part[:T] for part in stream.draw(seed))
        C = largest(X)
        if seed == 0:
            play(learner.make(T, C, 0), X[:CHECKPOINTS], y[:CHECKPOINTS], classes)
        model = learner.make(T, C, seed)
        (curve, played), spent = timed(lambda m=model, X=X, y=y: play(m, X, y, classes))
        times.append(spent / T)
        curves.append(curve)
        if seed == 0:
            bound = mistake_bound(learner, played, X, y, classes, directions)
    return Runs(learner, T, np.array(curves), float(np.median(times)), bound)


def hurried(learner):
    """A learner that plays two seeds of few rounds."""
    return learner._replace(seeds=2, most=lambda stream: 300)


def table(out, stream, quick):
    """Play everyone on a stream, with a line for each."""
    X, y = stream.draw(0)
    norms, K = np.sqrt(1.0 + (X * X).sum(axis=1)), len(stream.classes)
    wrong = 100 * (1 - np.unique(y, return_counts=True)[1].max() / len(y))
    out.say(
        f"\n{stream.name}: T={stream.n}, K={K}, {stream.p} features and the intercept, ‖x‖ mean "
        f"{norms.mean():.3g}, max {norms.max():.3g}; most frequent class wrong in {wrong:.1f}%"
    )
    titles = f"{'mistakes':>18}{'%':>7}{'bound':>10}{'us/round':>10}"
    out.say(f"{'':30}{'rounds':>7}{'seeds':>6}{titles}")
    directions, found = ridge_directions(X, y, stream.classes), []
    for learner in learners(stream):
        found.append(run(hurried(learner) if quick else learner, stream, directions))
        line(out, stream, found[-1])
    return found


def line(out, stream, runs):
    mean, width = mean_and_width(runs.curves[:, -1])
    feedback, seeds = "bandit" if runs.learner.bandit else "full", len(runs.curves)
    bound = "-" if math.isnan(runs.bound) else f"{runs.bound:.0f}"
    broken = " BOUND BROKEN" if mean - width > runs.bound else ""
    out.add(
        f"{feedback:6} {runs.learner.name:23}{runs.rounds:7}{seeds:6}"
        f"{f'{mean:.0f} ± {width:.0f}':>18}{100 * mean / runs.rounds:7.1f}{bound:>10}"
        f"{1e6 * runs.spent:10.2f}{broken}",
        **{"table": "mistakes", "stream": stream.name, "feedback": feedback},
        **{"learner": runs.learner.name, "rounds": runs.rounds, "seeds": seeds},
        **{"mean": mean, "half_width": width, "bound": runs.bound, "us": 1e6 * runs.spent},
    )
