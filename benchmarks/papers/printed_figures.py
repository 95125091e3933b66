"""Figures of the papers that show a function: is what they show what the formulas and oracles say?

[H] Figure 1: the surrogate gap of the smooth hinge loss, K = 2, η = 1/8, ‖x‖ = 1, by the margin z.
[N] Figures 1 and 3 to 6: kinks and cells of the partition functions of max-min losses, found as the
means that this package's oracles return for random scores. [O] Figure 2: slopes of PiSTOL's bound
on the excess risk for β = ½ (constants and logarithms left out), and E, the least risk.
"""

import numpy as np

from benchmarks._common import Results, arguments
from skstructured.estimators.margin._closed_forms import hamming, ordinal, zero_one

ETA = 1.0 / 8.0
DRAWS = 20_000


def gaps(z, gap):
    """Expected mistake + (η/2)‖g‖² − ℓ at margins z, where a is the gap map."""
    a = np.maximum(1.0 - np.abs(z), 0.0) ** 2 if gap else 0.0
    loss = np.where(z <= 0, 1.0 - 2.0 * z, np.maximum(1.0 - z, 0.0) ** 2)
    square = np.where(z <= 0, 4.0, 4.0 * np.maximum(1.0 - z, 0.0) ** 2)
    return (1.0 - a) * (z <= 0) + a / 2.0 + ETA / 2.0 * square - loss


def surrogate_gap(out):
    """Where the gap is positive with each gap map."""
    z = np.linspace(-2.0, 2.0, 400_001)
    for name, gap in (("a = 0", False), ("a = (1 − |z|)²", True)):
        values = gaps(z, gap)
        above = z[values > 1e-12]
        where = f"{above.min():.4f} to {above.max():.4f}" if len(above) else "nowhere"
        row = {"largest": float(values.max()), "where": where}
        out.add(f"{name:16} largest {values.max():7.4f}  above 0: {where}", table="[H] 1", **row)


def kinks(out):
    """Where the mean of the binary loss jumps, scores (t, −t)."""
    A, t = 1.0 - np.eye(2), np.linspace(-1.0, 1.0, 20_001)
    means = np.empty((len(t), 2))
    for i, s in enumerate(t):
        zero_one(A, np.array([s, -s]), np.zeros(2), 0.0, means[i], means[i])
    found = t[1:][np.abs(np.diff(means[:, 0])) > 1e-9]
    text = ", ".join(f"{x:.3f}" for x in found)
    out.add(f"two classes: kinks of the loss at {text}", table="[N] 1, 3", where=text)


def cells(out, draws):
    """How many means the oracles return."""
    rng, line = np.random.RandomState(0), np.arange(3.0)
    cases = {
        "three classes, 0-1 loss": (zero_one, 1.0 - np.eye(3), 3),
        "three ordinal classes": (ordinal, np.abs(line[:, None] - line), 3),
        "two labels, Hamming loss": (hamming, np.full((1, 1), 0.5), 2),
    }
    for name, (oracle, A, d) in cases.items():
        means = np.empty((draws, d))
        for mean in means:
            oracle(A, rng.randn(d), np.zeros(d), 0.0, mean, mean)
        found = len(np.unique(means.round(9), axis=0))
        out.add(f"{name:25} {found} means: cells of full dimension", table="[N] 4-6", cells=found)


def bound(T, E):
    """Theorem 2 at β = ½: the larger of two terms."""
    return np.maximum((E + 1.0 / T) ** 0.25 * T**-0.5, T ** (-2.0 / 3.0))


def slopes(out):
    """Slopes of the bound in log T, at few and at many rows."""
    for E in (0.0, 1e-4, 1e-2, 1e-1):
        row = {}
        for exponent in (1, 3, 5, 7, 9):
            T = np.array([0.9, 1.1]) * 10.0**exponent
            row[f"1e{exponent}"] = float(np.diff(np.log(bound(T, E)))[0] / np.diff(np.log(T))[0])
        text = "  ".join(f"T = {at} {slope:6.3f}" for at, slope in row.items())
        out.add(f"E = {E:<6g} slope {text}", table="[O] 2", E=E, **row)


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        out.say("[H] Figure 1: the surrogate gap")
        surrogate_gap(out)
        out.say("[N] Figures 1 and 3 to 6")
        kinks(out)
        cells(out, DRAWS // 10 if args.quick else DRAWS)
        out.say("[O] Figure 2: the bound on the excess risk, β = ½")
        slopes(out)


if __name__ == "__main__":
    main()
