"""Regret of online logistic regression: where online Newton steps pay e^B, and FOLKLORE does not.

The stream is that of the lower bound for proper learners of Hazan, Koren and Levy (2014): one
feature, the label always the same, a row of 1 − θ/2D with probability θ/2 ± ε and of −θ/2D else,
θ = D e^(−D), ε = √(θ/T)/16, D = 2B the largest |w_1 − w_0|. Regrets are against the best w with
|w| ≤ D, means of so many draws, in nats. Below it, FOLKLORE with the κ of the paper and with the
largest one, on labels that come in blocks: a tenth of one label, then the other.
"""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from benchmarks._common import Results, arguments
from benchmarks._pictures import pyplot
from skstructured import FolkloreClassifier, OnlineNewtonClassifier
from skstructured.estimators.logistic._rounds import largest_curvature
from skstructured.estimators.logistic.folklore import FolkloreMatrix
from skstructured.spaces.simplex import log_softmax

RADII, LENGTH, DRAWS = (1.0, 2.0, 3.0, 4.0), 100_000, 10


def hard_rows(D, T, rng):
    """Rows (T, 1) of the lower bound's stream."""
    theta = D * math.exp(-D)
    share = theta / 2 + rng.choice([-1, 1]) * math.sqrt(theta / T) / 16
    return np.where(rng.rand(T) < share, 1 - theta / (2 * D), -theta / (2 * D))[:, None]


def learners(B):
    """Name -> learner of rows as they are, of norm at most 1."""
    plain = {"radius": B, "feature_norm": 1.0, "standardize": False, "fit_intercept": False}
    return {
        "online Newton, γ of theory": OnlineNewtonClassifier(exp_concavity="theory", **plain),
        "FOLKLORE": FolkloreClassifier(**plain),
    }


def losses_of(model, X):
    """Log losses, in nats, of every round; the label is 1."""
    rounds = model.begin(X, np.ones(len(X), dtype=int), classes=[0, 1])
    return model.play_and_learn(rounds, np.arange(len(X))).surrogate * math.log(2.0)


def best_loss(X, D):
    """Log losses of the best fixed w with |w| ≤ D."""

    def total(w):
        return np.logaddexp(0.0, -w * X[:, 0]).sum()

    inner = minimize_scalar(total, bounds=(-D, D), method="bounded", options={"xatol": 1e-10}).x
    return np.logaddexp(0.0, -min((inner, D, -D), key=total) * X[:, 0])


def curves(B, T, draws):
    """Name -> mean regret after every round, (T,)."""
    found = {}
    for seed in range(draws):
        X = hard_rows(2 * B, T, np.random.RandomState(seed))
        best = best_loss(X, 2 * B)
        for name, model in learners(B).items():
            regret = np.cumsum(losses_of(model, X) - best)
            found[name] = found.get(name, 0.0) + regret / draws
    return found


def folklore_bound(B, T):
    """The corrected bound of Theorem 3.3 for K = 2, p = R = 1."""
    return 4 * B + np.log1p(T / 2) / (4 * largest_curvature(2 * B))


def printed_logits(y, lam, kappa):
    """Logits (T, 2) of AIOLI for the rows 1 and labels y, with any κ."""
    C, g, logits = 1.0 / lam, 0.0, np.zeros((len(y), 2))
    for t, label in enumerate(y):
        c = -C * g
        m = brentq(lambda m, C=C, c=c: m + C * (expit(m) - 0.5) - c, c - C, c + C)
        p = expit(m)
        a = 2.0 * kappa * p * (1.0 - p)
        C, g, logits[t, 1] = C / (1.0 + a * C), g + (p - label) - a * m, m
    return logits


def hard_streams(out, T, draws):
    """A line for every B and learner; B -> curves."""
    marks = [T // 100, T // 10, T]
    out.say(f"\nregret after {', '.join(f'{t:,}' for t in marks)} rounds, and FOLKLORE's bound")
    every = {B: curves(B, T, draws) for B in RADII}
    for B, found in every.items():
        for name, regret in found.items():
            numbers = "".join(f"{regret[t - 1]:9.2f}" for t in marks)
            named = {f"after_{t}": regret[t - 1] for t in marks}
            line = f"B = {B:g}  {name:<28}{numbers}{folklore_bound(B, T):9.1f}"
            out.add(line, table="hard stream", B=B, learner=name, **named)
    return every


def blocks(out, lengths):
    """The κ of the paper and the largest one: K = 2, p = 1, B = ½, x = 1."""
    out.say(
        "\nblocks of labels, B = ½: regret with the printed κ, the corrected one, and the bound"
    )
    for T in lengths:
        y = (np.arange(T) >= T // 10).astype(int)
        Y, ones, found = np.eye(2)[y], np.ones((T, 1)), []
        share = 1 / (1 + math.exp(-1.0))  # |w_1 − w_0| ≤ 1 stops it short of 0.9
        best = -(T // 10 * math.log(1 - share) + (T - T // 10) * math.log(share))
        ours = FolkloreMatrix(2, 1, 4.0, 0.5, 1.0).learn(ones, Y, np.ones(T))
        for logits in (printed_logits(y, 4.0, 1 / (0.5 + math.log(2) / 2)), ours):
            found.append(-np.sum(log_softmax(logits) * Y) - best)
        bound = folklore_bound(0.5, T)
        line = f"T = {T:>7,}  {found[0]:10.1f}{found[1]:10.2f}{bound:10.2f}"
        out.add(line, table="blocks", T=T, printed=found[0], corrected=found[1], bound=bound)


def draw(every, path):
    """Regret over rounds, a panel for every B."""
    plt = pyplot()
    figure, panels = plt.subplots(1, len(every), figsize=(12, 3.2), sharey=True)
    for panel, (B, found) in zip(panels, every.items(), strict=True):
        for name, regret in found.items():
            rounds = np.unique(np.geomspace(1, len(regret), 400).astype(int))
            panel.plot(rounds, regret[rounds - 1], label=name)
        panel.plot(rounds, folklore_bound(B, rounds), "k:", label="FOLKLORE's bound")
        panel.set(title=f"B = {B:g}", xscale="log", xlabel="rounds")
    panels[0].set_ylabel("regret, nats")
    panels[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    """Print the tables, and draw."""
    args = arguments(__doc__, picture={"help": "where to draw the curves"})
    T, draws = (2000, 2) if args.quick else (LENGTH, DRAWS)
    with Results(__file__, args) as out:
        every = hard_streams(out, T, draws)
        blocks(out, (1000,) if args.quick else (1000, 3000, 10_000, 30_000))
    if args.picture:
        draw(every, args.picture)


if __name__ == "__main__":
    main()
