"""Growth of the surrogate regret on the stream of the lower bound (Sakaue et al. 2024, App. H).

Theorem 5.2 says Ω(B²/ln² d) for every learner, Theorem 5.1 O(B²) for this one, with B = ‖U'‖_F.
Run ``python benchmarks/lower_bound.py``; everything is an expectation over the decoder, averaged
over ``SEEDS`` draws of the classes.
"""

import math

import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.adversaries import LowerBound, play
from skstructured.spaces import Simplex

SEEDS = 20


def measure(d, T, B=None, intercept=False):
    """M, ‖U'‖², mean regret of the first M rounds and of all, least regret, regret bound."""
    space, rows = Simplex().fit(np.arange(d)), []
    for seed in range(SEEDS):
        stream = LowerBound(T, comparator_norm=B, random_state=seed)
        result = play(OnlineStructuredPredictor(fit_intercept=intercept), stream, space)
        U = np.pad(stream.comparator_, ((0, 0), (0, int(intercept))))
        M = stream.comparator_.shape[1] - 1
        compared = result.comparator_loss(U)
        regret = result.expected_target_loss - compared
        bound = result.regret_bound(U) - compared.sum()
        rows.append([M, np.sum(U**2), regret[:M].sum(), regret.sum(), stream.least_regret_, bound])
    return np.mean(rows, axis=0)


def slope(x, y):
    """Slope of a line through (ln x, ln y)."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def show(title, labels, table):
    print(f"\n{title}")
    print(
        f"{'':>10} {'M':>6} {'B²':>9} {'first M':>9} {'regret':>9} {'least':>9} {'Thm 5.1':>9}",
        end="",
    )
    print(f" {'regret/M':>9} {'regret/B²':>9}")
    for label, row in zip(labels, table, strict=True):
        print(f"{label:>10} {row[0]:6.0f}", *(f"{value:9.3f}" for value in row[1:]), end=" ")
        print(f"{row[3] / row[0]:9.3f} {row[3] / row[1]:9.3f}")
    M, norm_sq, first, regret, least, _ = np.transpose(table)
    print(
        f"log-log slope in B²: regret {slope(norm_sq, regret):.3f}, of the first M rounds ", end=""
    )
    print(
        f"{slope(norm_sq, first):.3f}, least {slope(norm_sq, np.abs(least)):.3f} (theory: 1); ",
        end="",
    )
    print(f"in M: regret {slope(M, regret):.3f}, first M rounds {slope(M, first):.3f}")


def main():
    lengths = [2**k for k in range(6, 14)]
    for d in (2, 10):
        table = [measure(d, T) for T in lengths]
        show(f"d = {d}, B = √2 ln(dT), T growing", [f"T=2^{k}" for k in range(6, 14)], table)
        logs, regret = [math.log(d * T) for T in lengths], np.array(table)[:, 3]
        print(f"log-log slope of the regret in ln(dT): {slope(logs, regret):.3f} (theory: 2)")
        fixed = math.log(d * 2**13) ** 2
        norms = [math.sqrt(fixed + 2**k * math.log(2 * d) ** 2) for k in range(4, 12)]
        table = [measure(d, 2**13, B) for B in norms]
        show(f"d = {d}, T = 2^13, B growing", [f"B={B:.1f}" for B in norms], table)
        table = [
            measure(d, T, math.hypot(math.log(d * T), math.sqrt(T / 2) * math.log(2 * d)))
            for T in lengths
        ]
        show(f"d = {d}, M = T/2, T growing", [f"T=2^{k}" for k in range(6, 14)], table)
        print(f"log-log slope of the regret in T: {slope(lengths, np.array(table)[:, 3]):.3f}")
    table = [
        measure(d, 2**13, math.hypot(math.log(d * 2**13), 16 * math.log(2 * d)))
        for d in (2, 4, 8, 16, 32)
    ]
    print("\nM = 256, T = 2^13, d growing: regret·ln²(2d)/B² is what the theorem keeps from below")
    for d, row in zip((2, 4, 8, 16, 32), table, strict=True):
        print(
            f"d={d:<3} regret {row[3]:9.3f}  regret/B² {row[3] / row[1]:.4f}"
            f"  regret ln²(2d)/B² {row[3] * math.log(2 * d) ** 2 / row[1]:.4f}"
        )


if __name__ == "__main__":
    main()
