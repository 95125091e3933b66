"""Gaptron's Table 1 (van der Hoeven 2020) as an experiment: mistakes, their bounds, time, growth.

    python benchmarks/table1_mistakes.py --pictures docs > benchmarks/results/table1_mistakes.txt

Features are standardised with the whole file's means; "unit rows" are scaled to ‖x‖ = 1 besides,
which is what Table 1 assumes. covtype: 100,000 rows drawn at random. A seed is another order of the
rows (another stream, where it is synthetic) and other draws of the learner. ± is the half-width of
a 95% confidence interval over seeds. Full information: mistakes are exact expectations over the
learner's own draw, 1 − p'(y); with bandit feedback they are counted. Learners too slow for a stream
play its first rounds only. The bound is the first seed's, for the best comparator that was found.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import functools
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from data import covtype, load
from scipy.stats import t as student
from sklearn.preprocessing import StandardScaler, normalize

from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    GaptronClassifier,
    MulticlassPerceptron,
    NewtronClassifier,
    OnlineStructuredPredictor,
    SecondOrderPerceptron,
    SOBAClassifier,
)
from skstructured.adversaries import Drifting, LabelNoise, Separable
from skstructured.evaluation import progressive_validate
from skstructured.metrics import best_comparator
from skstructured.spaces import Simplex
from skstructured.surrogates import GapMap, GapSurrogate

LOSSES = ("logistic", "hinge", "smooth_hinge")
#: The radius of the bandit Gaptron's ball is REACH/X: scores of a comparator reach 5.
REACH, CHECKPOINTS, ROUNDS = 5.0, 100, 10_000


class Learner(NamedTuple):
    name: str
    make: Callable  # of the horizon, the largest norm of a row and the seed
    bandit: bool = True
    seeds: int = 10
    most: Callable = lambda stream: stream.n  # rounds it plays at most
    loss: str = ""  # of the bound, for bandit learners


class Stream(NamedTuple):
    name: str
    draw: Callable  # of the seed; (X, y)
    classes: np.ndarray
    n: int
    p: int
    unit: bool = False


def learners():
    """Everyone of Table 1 that runs in less than O(T), and the reduction."""
    for loss in LOSSES:
        yield Learner(f"Gaptron {loss}", lambda T, C, s, k=loss: GaptronClassifier(loss=k), False)
    yield Learner("FY decoder", lambda T, C, s: GaptronClassifier(decoder="randomized"), False)
    yield Learner("Perceptron", lambda T, C, s: MulticlassPerceptron(), False)
    second = {"seeds": 5, "most": lambda stream: 10_000}
    yield Learner("2nd-order Perceptron", lambda T, C, s: SecondOrderPerceptron(), False, **second)
    for loss in LOSSES:
        yield Learner(f"Gaptron {loss}", gaptron(loss, REACH), loss=loss)
    yield Learner("Gaptron logistic, 1/X", gaptron("logistic", 1.0), loss="logistic")
    yield Learner("Banditron", lambda T, C, s: BanditronClassifier(horizon=T, random_state=s))
    yield Learner("SOBA", lambda T, C, s: SOBAClassifier(horizon=T, random_state=s), **second)
    yield Learner("SOBA, exploration 0.1", lambda T, C, s: soba(0.1, s), **second | {"seeds": 3})
    yield Learner("Confidit", lambda T, C, s: ConfiditClassifier(random_state=s), **second)
    newtron = {"seeds": 3, "most": lambda stream: 500 if slow(stream) else 5000}
    yield Learner(
        "Newtron", lambda T, C, s: NewtronClassifier(horizon=T, random_state=s), **newtron
    )
    few = {"seeds": 3, "most": lambda stream: 5000}
    yield Learner(
        "BanditReduction", lambda T, C, s: BanditReduction(horizon=T, random_state=s), **few
    )


def soba(exploration, seed):
    return SOBAClassifier(exploration=exploration, random_state=seed)


def slow(stream):
    """Whether Newtron's (Kp)×(Kp) systems are large."""
    return len(stream.classes) * (stream.p + 1) > 150


def gaptron(loss, reach):
    return lambda T, C, seed: BanditGaptronClassifier(
        loss=loss, radius=reach / C, horizon=T, random_state=seed
    )


def real(name, X, y, unit=False):
    """Standardised rows in an order of the seed."""
    X = StandardScaler().fit_transform(X)
    X = normalize(X) if unit else X

    def draw(seed):
        order = np.random.RandomState(seed).permutation(len(y))
        return X[order], y[order]

    return Stream(name + ", unit rows" * unit, draw, np.unique(y), *X.shape, unit)


def synthetic(name, adversary, K=4):
    space = Simplex().fit(np.arange(K))

    def draw(seed):
        return adversary.set_params(random_state=seed).draw(space)

    return Stream(name, draw, space.classes_, adversary.n_rounds, adversary.n_features)


def streams():
    letter, segment, shuttle = load("letter"), load("segment"), load("river_shuttle")
    sat = load("satimage")
    files = {
        "letter": (letter["X"].astype(float), letter["y"]),
        "satimage": (np.vstack([sat["X"], sat["X_test"]]) * 1.0, np.r_[sat["y"], sat["y_test"]]),
        "segment": (segment["X"], segment["y"]),
        "covtype": covtype(100_000),
        "shuttle": (shuttle["X"].astype(float), shuttle["y"]),
    }
    for unit in (False, True):
        yield from (real(name, *arrays, unit) for name, arrays in files.items())
    yield synthetic("separable", Separable(ROUNDS, margin=0.1))
    yield synthetic("noisy", LabelNoise(ROUNDS, noise=0.2))
    yield synthetic("drifting", Drifting(ROUNDS, n_phases=4))


def largest(X):
    """Largest ‖x‖, the intercept's 1 included; known in hindsight only."""
    return math.sqrt(1.0 + np.max(np.sum(X * X, axis=1)))


def play_full(model, X, y, classes):
    """Cumulative expected mistakes and what `progressive_validate` returns."""
    if isinstance(model, SecondOrderPerceptron):
        places, found = checkpoints(len(y)), []
        for rows in np.split(np.arange(len(y)), places[:-1] + 1):
            found.append(model.partial_fit(X[rows], y[rows], classes=classes).n_mistakes_)
        return np.array(found, dtype=float), None
    result = progressive_validate(model, X, y, classes=classes)
    return np.cumsum(result.expected_target_loss)[checkpoints(len(y))], result


def play_bandit(model, X, y, classes):
    rewards = model.simulate(X, y, classes).rewards
    return np.cumsum(1.0 - rewards)[checkpoints(len(y))], model


def checkpoints(n):
    """Rounds after which mistakes are noted, from 0."""
    return np.arange(1, CHECKPOINTS + 1) * n // CHECKPOINTS - 1


class Runs(NamedTuple):
    learner: Learner
    rounds: int
    curves: np.ndarray  # (seeds, CHECKPOINTS)
    spent: float  # seconds a round
    bound: float


def run(learner, stream, directions):
    """All seeds of a learner on a stream; the bound is the first seed's."""
    T, curves, times, bound = min(stream.n, learner.most(stream)), [], [], math.nan
    play = play_bandit if learner.bandit else play_full
    for seed in range(learner.seeds):
        X, y = (part[:T] for part in stream.draw(seed))
        C = largest(X)
        if seed == 0:
            play(learner.make(T, C, 0), X[:CHECKPOINTS], y[:CHECKPOINTS], stream.classes)
        started = time.perf_counter()
        curve, played = play(learner.make(T, C, seed), X, y, stream.classes)
        times.append((time.perf_counter() - started) / T)
        curves.append(curve)
        if seed == 0:
            bound = mistake_bound(learner, played, X, y, stream.classes, directions)
    return Runs(learner, T, np.array(curves), float(np.median(times)), bound)


def ridge_directions(X, y, classes):
    """Comparators of norm 1: logistic ridge fits on at most 5000 rows, from strong to weak."""
    space, rows = Simplex().fit(classes), slice(0, 5000)
    V = space.unpack(space.pack(y[rows]))
    loss, scale = GapSurrogate(space, "logistic"), len(V) * largest(X[rows]) ** 2
    penalties = scale * np.logspace(-2, -7, 6)
    fits = [best_comparator(loss, X[rows], V, penalty, max_iter=100) for penalty in penalties]
    return [U / max(np.linalg.norm(U), 1e-300) for U in fits]


def mistake_bound(learner, played, X, y, classes, directions):
    """The smallest bound over multiples of the directions; every U makes a valid one."""
    if learner.bandit and not learner.loss:
        return math.nan
    if learner.bandit:
        return bandit_bound(learner, played, X, y, classes, directions)
    if not isinstance(played.estimator if played else None, GaptronClassifier):
        return math.nan
    norms = np.r_[0.0, np.logspace(-2, 2.5, 28)]
    return min(played.regret_bound(a * U) for U in directions for a in norms)


def bandit_bound(learner, model, X, y, classes, directions):
    """min over ‖U‖ ≤ D of Σ ℓ_t(U), plus the regret."""
    norms = model.radius * np.r_[0.0, np.logspace(-1, 0, 6)]
    smallest = least_loss(learner.loss, X, y, classes, directions, norms)
    return smallest + model.regret_bound()


def least_loss(kind, X, y, classes, directions, norms):
    space = Simplex().fit(classes)
    loss, V = GapSurrogate(space, kind), space.unpack(space.pack(y))
    scores = [X @ U[:, :-1].T + U[:, -1] for U in directions]
    return min(loss.value(a * theta, V).sum() for theta in scores for a in norms)


def mean_and_width(values):
    """Mean and half-width of the 95% interval over the first axis."""
    n = len(values)
    width = student.ppf(0.975, n - 1) * np.std(values, axis=0, ddof=1) / math.sqrt(n)
    return np.mean(values, axis=0), width


def table(stream):
    """Play everyone on a stream, and print a line for each."""
    X, y = stream.draw(0)
    norms, K = np.sqrt(1.0 + (X * X).sum(axis=1)), len(stream.classes)
    print(
        f"\n{stream.name}: T={stream.n}, K={K}, {stream.p} features and the intercept, ‖x‖ mean "
        f"{norms.mean():.3g}, max {norms.max():.3g}; most frequent class wrong in "
        f"{100 * (1 - np.unique(y, return_counts=True)[1].max() / len(y)):.1f}%"
    )
    print(f"{'':30}{'rounds':>7}{'seeds':>6}{'mistakes':>18}{'%':>7}{'bound':>10}{'us/round':>10}")
    directions, found = ridge_directions(X, y, stream.classes), []
    for learner in learners():
        if stream.unit and learner.name in ("Newtron", "BanditReduction"):
            continue  # no time
        found.append(run(learner, stream, directions))
        line(found[-1])
    return found


def line(runs):
    mean, width = mean_and_width(runs.curves[:, -1])
    kind = "bandit" if runs.learner.bandit else "full  "
    bound = "-" if math.isnan(runs.bound) else f"{runs.bound:.0f}"
    broken = " BOUND BROKEN" if mean - width > runs.bound else ""
    print(
        f"{kind} {runs.learner.name:23}{runs.rounds:7}{len(runs.curves):6}"
        f"{f'{mean:.0f} ± {width:.0f}':>18}{100 * mean / runs.rounds:7.1f}{bound:>10}"
        f"{1e6 * runs.spent:10.2f}{broken}",
        flush=True,
    )


# Growth with T: W/MARGIN, W the model behind the separable stream, is in the ball of radius D.

MARGIN = 0.2
D = 1.0 / MARGIN
WIDE = math.sqrt(2.0) * D
GROWERS = {
    "Banditron": (lambda T, C, s: BanditronClassifier(horizon=T, random_state=s), "2/3"),
    "Gaptron logistic": (gaptron("logistic", WIDE), "1/2"),
    "Gaptron smooth_hinge": (gaptron("smooth_hinge", WIDE), "1/2"),
    "SOBA": (lambda T, C, s: SOBAClassifier(horizon=T, random_state=s), "1/2"),
}


def excess(make, adversary, T, seed):
    """Mistakes less those of the model behind the stream, on the same rounds."""
    space = Simplex().fit(np.arange(4))
    adversary.set_params(n_rounds=T, random_state=seed)
    X, y = adversary.draw(space)
    model = make(T, math.sqrt(2.0), seed)
    wrong = np.argmax(X @ adversary.model_.T, axis=1) != y
    return (1.0 - model.simulate(X, y, np.arange(4)).rewards).sum() - wrong.sum()


def exponent(T, values):
    """Slope of ln(mean over seeds) in ln T."""
    return np.polyfit(np.log(T), np.log(np.maximum(values.mean(axis=0), 1.0)), 1)[0]


def interval(T, values, draws=1000):
    """95% bootstrap interval of the exponent; a seed's runs of all T are drawn together."""
    rng, n = np.random.RandomState(0), len(values)
    slopes = [exponent(T, values[rng.randint(n, size=n)]) for _ in range(draws)]
    return np.percentile(slopes, [2.5, 97.5])


def growth():
    print("\nGROWTH: mistakes less those of the linear model that made the labels; K=4, 5 features")
    print(
        f"separable: margin {MARGIN}, so that in the ball of Gaptron, D = {D:g}, the hinge and the"
    )
    print("smooth hinge losses of a comparator are 0, and regret is mistakes. noisy: the theorems")
    print("compare with surrogate losses, linear in T (below): their exponents need not show here")
    for stream, adversary in (
        ("noisy", LabelNoise(noise=0.2)),
        ("separable", Separable(margin=MARGIN)),
    ):
        for name, (make, theory) in GROWERS.items():
            top, seeds = (16, 5) if name == "SOBA" else (18, 10)
            T = 2 ** np.arange(10, top + 1)
            values = [[excess(make, adversary, int(t), s) for t in T] for s in range(seeds)]
            grown(stream, name, theory, T, np.array(values))
    surrogate_regret()


def grown(stream, name, theory, T, values):
    cells = "".join(f"{v:9.0f}" for v in values.mean(axis=0))
    print(f"{stream:10}{name:21}{len(values):3} seeds, T=2^10...{cells}")
    parts = {"2^10..2^16": slice(0, 7)} | ({"2^14..2^18": slice(4, None)} if len(T) > 7 else {})
    for part, where in parts.items():
        low, high = interval(T[where], values[:, where])
        print(
            f"{'':13}exponent on {part}: {exponent(T[where], values[:, where]):.2f} "
            f"[{low:.2f}, {high:.2f}], theory's upper bound {theory}",
            flush=True,
        )


def surrogate_regret():
    """What the theorems bound: mistakes less the comparator's surrogate losses."""
    print("mistakes less Σ ℓ_t(U) of the best U found in the ball (noisy; one seed), and the bound")
    space = Simplex().fit(np.arange(4))
    for kind in ("logistic", "smooth_hinge"):
        for power in range(10, 19, 2):
            X, y = LabelNoise(2**power, noise=0.2, random_state=0).draw(space)
            model = gaptron(kind, WIDE)(2**power, math.sqrt(2.0), 0)
            mistakes = (1.0 - model.simulate(X, y, space.classes_).rewards).sum()
            norms = D * np.logspace(-1, 0, 6)
            directions = ridge_directions(X, y, space.classes_)
            loss = least_loss(kind, X, y, space.classes_, directions, norms)
            print(
                f"  {kind:13} T=2^{power}: mistakes {mistakes:8.0f}, Σ ℓ_t(U) {loss:8.0f}, regret "
                f"{mistakes - loss:8.0f}, bound {model.regret_bound():8.0f}"
            )


# Exploration: the randomized Fenchel-Young decoder against Gaptron's.

KS = (2, 4, 8, 16, 32, 64)
PLAYERS = {
    "FY decoder": lambda: GaptronClassifier(decoder="randomized"),
    "Gaptron": lambda: GaptronClassifier(),
    "Gaptron's p', FY's step": lambda: OnlineStructuredPredictor("simplex", decoder=GapMap()),
}


def explored(name, make, adversary, seeds=10):
    """Expected mistakes (seeds, len(KS)) with full information."""
    rows = []
    for seed in range(seeds):
        found = []
        for K in KS:
            space = Simplex().fit(np.arange(K))
            if "margin" in adversary.get_params():
                adversary.set_params(margin=0.1 / math.sqrt(K))
            X, y = adversary.set_params(random_state=seed).draw(space)
            result = progressive_validate(make(), X, y, classes=space.classes_)
            found.append(result.expected_target_loss.sum())
        rows.append(found)
    return np.array(rows)


def exploration():
    print("\nEXPLORATION: expected mistakes in 10000 rounds, full information, logistic loss, ")
    print("20 features; margin 0.1/√K where the model has ‖W‖_F = 1; noise 0.2; 10 seeds")
    found = {}
    for stream, adversary in (
        ("separable", Separable(ROUNDS, 20)),
        ("noisy", LabelNoise(ROUNDS, 20, noise=0.2)),
    ):
        print(f"{stream:26}" + "".join(f"{f'K={K}':>14}" for K in KS))
        for name, make in PLAYERS.items():
            values = found[stream, name] = explored(name, make, adversary)
            cells = zip(*mean_and_width(values), strict=True)
            print(f"  {name:24}" + "".join(f"{f'{m:.0f} ± {w:.0f}':>14}" for m, w in cells))
    return found


# Pictures: Okabe and Ito's colours.

COLOURS = {
    "Gaptron logistic": ("#D55E00", "-"),
    "Gaptron hinge": ("#D55E00", "--"),
    "Gaptron smooth_hinge": ("#D55E00", ":"),
    "Gaptron logistic, 1/X": ("#E69F00", "-."),
    "FY decoder": ("#0072B2", "-"),
    "Perceptron": ("#000000", "-"),
    "2nd-order Perceptron": ("#009E73", "-"),
    "Banditron": ("#000000", "-"),
    "SOBA": ("#009E73", "-"),
    "SOBA, exploration 0.1": ("#009E73", "--"),
    "Confidit": ("#CC79A7", "-"),
    "Newtron": ("#56B4E9", "-"),
    "BanditReduction": ("#0072B2", "--"),
}


def plotting():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_table(tables, path):
    plt = plotting()
    shown = ("satimage, unit rows", "noisy", "drifting")
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), sharex="col", layout="constrained")
    for column, name in zip(axes.T, shown, strict=True):
        for ax, bandit in zip(column, (False, True), strict=True):
            panel(ax, [runs for runs in tables[name] if runs.learner.bandit == bandit])
        column[0].set_title(name)
        column[1].set_xlabel("rounds")
    for row, feedback in zip(axes, ("full information", "bandit feedback"), strict=True):
        row[0].set_ylabel(f"cumulative mistakes, {feedback}")
        handles, labels = max(
            (ax.get_legend_handles_labels() for ax in row), key=lambda found: len(found[1])
        )
        row[2].legend(handles, labels, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.savefig(path, dpi=120)


def panel(ax, found):
    for runs in found:
        colour, style = COLOURS[runs.learner.name]
        mean, width = mean_and_width(runs.curves)
        rounds = checkpoints(runs.rounds) + 1
        ax.plot(rounds, mean, style, color=colour, label=runs.learner.name, lw=1.6)
        ax.fill_between(rounds, mean - width, mean + width, color=colour, alpha=0.2, lw=0)
    ax.set(xlim=(0, None), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)


def draw_exploration(found, path):
    plt = plotting()
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
    looks = zip(PLAYERS, ("#0072B2", "#D55E00", "#E69F00"), "osD", strict=True)
    looks = {name: (colour, marker) for name, colour, marker in looks}
    for (stream, name), values in found.items():
        ax, (colour, marker) = axes[int(stream == "noisy")], looks[name]
        mean, width = mean_and_width(values)
        ax.errorbar(KS, mean, width, color=colour, marker=marker, label=name, capsize=3)
        ax.set_xscale("log", base=2)
        ax.set(title=stream, xlabel="classes K", xticks=KS, xticklabels=KS, ylim=(0, ROUNDS))
    for ax in axes:
        ax.plot(KS, [ROUNDS * (1 - 1 / K) for K in KS], color="0.6", ls=":", label="guessing")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"expected mistakes in {ROUNDS} rounds")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", help="folder to save the pictures in")
    parser.add_argument("--only", nargs="*", help="names of streams, growth, exploration")
    args = parser.parse_args()
    warnings.simplefilter("error")
    started = time.perf_counter()
    print(f"command: python {' '.join(sys.argv)}")
    print(f"bandit Gaptron: D = {REACH:g}/X (1/X where it says so), horizon = rounds played")
    wanted = functools.partial(lambda only, name: not only or name in only, args.only)
    tables = {stream.name: table(stream) for stream in streams() if wanted(stream.name)}
    if wanted("growth"):
        growth()
    found = exploration() if wanted("exploration") else None
    if args.pictures and found:
        draw_exploration(found, f"{args.pictures}/exploration.png")
    if args.pictures and "drifting" in tables:
        draw_table(tables, f"{args.pictures}/table1_mistakes.png")
    spent = time.perf_counter() - started, time.process_time()
    print(f"\n{spent[0]:.0f} s in all, {spent[1]:.0f} s of one processor")


if __name__ == "__main__":
    main()
