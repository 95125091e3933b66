"""Growth of the surrogate regret on the stream of the lower bound (Sakaue et al. 2024, App. H).

Theorem 5.2 says Ω(B²/ln² d) for every learner, Theorem 5.1 O(B²) for this one, with B = ‖U'‖_F.
Everything is an expectation over the decoder, averaged over 20 draws of the classes.
"""

import math

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._statistics import slope
from benchmarks.adversaries import LowerBound, play
from skstructured.spaces import Simplex

COLUMNS = ("M", "B_sq", "first_M", "regret", "least", "bound")


def measure(d, T, B, seeds):
    """M, ‖U'‖², mean regret of the first M rounds and of all, least regret, regret bound."""
    space, rows = Simplex().fit(np.arange(d)), []
    for seed in range(seeds):
        stream = LowerBound(T, radius=B, random_state=seed)
        result = play(predictor(fit_intercept=False), stream, space)
        U, M = stream.comparator_, stream.comparator_.shape[1] - 1
        compared = result.comparator_loss(U)
        regret = result.expected_target_loss - compared
        bound = result.regret_bound(U) - compared.sum()
        rows.append([M, np.sum(U**2), regret[:M].sum(), regret.sum(), stream.least_regret_, bound])
    return np.mean(rows, axis=0)


def show(out, title, labels, table):
    """A line for every label, and the slopes; returns the regrets."""
    out.say(f"\n{title}")
    out.say(
        f"{'':>10} {'M':>6} {'B²':>9} {'first M':>9} {'regret':>9} {'least':>9} {'Thm 5.1':>9} "
        f"{'regret/M':>9} {'regret/B²':>9}"
    )
    for label, row in zip(labels, table, strict=True):
        numbers = " ".join(
            f"{value:9.3f}" for value in (*row[1:], row[3] / row[0], row[3] / row[1])
        )
        named = dict(zip(COLUMNS, row, strict=True))
        out.add(f"{label:>10} {row[0]:6.0f} {numbers}", table=title, case=label, **named)
    M, norm_sq, first, regret, least, _ = np.transpose(table)
    out.say(
        f"log-log slope in B²: regret {slope(norm_sq, regret):.3f}, of the first M rounds "
        f"{slope(norm_sq, first):.3f}, least {slope(norm_sq, np.abs(least)):.3f} (theory: 1); "
        f"in M: regret {slope(M, regret):.3f}, first M rounds {slope(M, first):.3f}"
    )
    return regret


def longer(out, d, powers, seeds):
    """T grows, and B with it, as slowly as the theorem lets it."""
    T = [2**k for k in powers]
    table = [measure(d, t, None, seeds) for t in T]
    title = f"d = {d}, B = √2 ln(dT), T growing"
    regret = show(out, title, [f"T=2^{k}" for k in powers], table)
    growth = slope([math.log(d * t) for t in T], regret)
    out.say(f"log-log slope of the regret in ln(dT): {growth:.3f} (theory: 2)")


def longer_and_larger(out, d, powers, seeds):
    """T grows, and B with it, so that M = T/2."""
    T = [2**k for k in powers]
    norms = [math.hypot(math.log(d * t), math.sqrt(t / 2) * math.log(2 * d)) for t in T]
    table = [measure(d, t, B, seeds) for t, B in zip(T, norms, strict=True)]
    title = f"d = {d}, M = T/2, T growing"
    regret = show(out, title, [f"T=2^{k}" for k in powers], table)
    out.say(f"log-log slope of the regret in T: {slope(T, regret):.3f}")


def larger(out, d, power, seeds):
    """B grows on streams of one length."""
    T = 2**power
    norms = [
        math.hypot(math.log(d * T), math.sqrt(2**k) * math.log(2 * d)) for k in range(4, power - 1)
    ]
    table = [measure(d, T, B, seeds) for B in norms]
    show(out, f"d = {d}, T = 2^{power}, B growing", [f"B={B:.1f}" for B in norms], table)


def more_classes(out, power, seeds):
    T = 2**power
    title = f"M = 256, T = 2^{power}, d growing"
    out.say(f"\n{title}: regret·ln²(2d)/B² is what the theorem keeps from below")
    for d in (2, 4, 8, 16, 32):
        row = measure(d, T, math.hypot(math.log(d * T), 16 * math.log(2 * d)), seeds)
        share = row[3] / row[1]
        out.add(
            f"d={d:<3} regret {row[3]:9.3f}  regret/B² {share:.4f}"
            f"  regret ln²(2d)/B² {share * math.log(2 * d) ** 2:.4f}",
            **({"table": title, "case": f"d={d}"} | dict(zip(COLUMNS, row, strict=True))),
        )


def main():
    args = arguments(__doc__)
    power, seeds = (9, 2) if args.quick else (13, 20)
    with Results(__file__, args) as out:
        for d in (2, 10):
            longer(out, d, range(6, power + 1), seeds)
            larger(out, d, power, seeds)
            longer_and_larger(out, d, range(6, power + 1), seeds)
        more_classes(out, power, seeds)


if __name__ == "__main__":
    main()
