"""Growth of the mistakes with T: the model behind the separable stream is in the ball of radius D.

W/MARGIN is in it, where W is that model; its hinge and smooth hinge losses are then 0.
"""

import math

import numpy as np

from benchmarks._plain import banditron, soba
from benchmarks._statistics import slope
from benchmarks.adversaries import LabelNoise, Separable
from benchmarks.papers._table1.bounds import least_loss, ridge_directions
from benchmarks.papers._table1.learners import gaptron_of, timely
from skstructured.spaces import Simplex

MARGIN = 0.2
D = 1.0 / MARGIN
WIDE = math.sqrt(2.0) * D
#: Who plays, the exponent of theory, the largest power of two and the seeds.
GROWERS = {
    "Banditron": (timely(banditron), "2/3", 18, 10),
    "Gaptron logistic": (gaptron_of("logistic", WIDE), "1/2", 18, 10),
    "Gaptron smooth_hinge": (gaptron_of("smooth_hinge", WIDE), "1/2", 18, 10),
    "SOBA": (timely(soba), "1/2", 16, 5),
}
TITLE = f"""
GROWTH: mistakes less those of the linear model that made the labels; K=4, 5 features
separable: margin {MARGIN}, so that in the ball of Gaptron, D = {D:g}, the hinge and the
smooth hinge losses of a comparator are 0, and regret is mistakes. noisy: the theorems
compare with surrogate losses, linear in T (below): their exponents need not show here"""


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
    return slope(T, values.mean(axis=0), 1.0)


def interval(T, values, draws=1000):
    """95% bootstrap interval of the exponent; a seed's runs of all T are drawn together."""
    rng, n = np.random.RandomState(0), len(values)
    slopes = [exponent(T, values[rng.randint(n, size=n)]) for _ in range(draws)]
    return np.percentile(slopes, [2.5, 97.5])


def growth(out, quick):
    out.say(TITLE)
    for stream, adversary in (
        ("noisy", LabelNoise(noise=0.2)),
        ("separable", Separable(margin=MARGIN)),
    ):
        for name, (make, theory, top, seeds) in GROWERS.items():
            top, seeds = (12, 2) if quick else (top, seeds)
            T = 2 ** np.arange(10, top + 1)
            values = [[excess(make, adversary, int(t), s) for t in T] for s in range(seeds)]
            grown(out, stream, name, theory, T, np.array(values))
    surrogate_regret(out, 12 if quick else 18)


def grown(out, stream, name, theory, T, values):
    """The mean for every T, and exponents on all of them (as far as 2^16) and on the largest."""
    means = values.mean(axis=0)
    cells = "".join(f"{v:9.0f}" for v in means)
    line = f"{stream:10}{name:21}{len(values):3} seeds, T=2^10...{cells}"
    row = {f"T{t}": mean for t, mean in zip(T, means, strict=True)}
    out.add(line, table="growth", stream=stream, learner=name, seeds=len(values), **row)
    for where in (slice(0, 7), slice(4, None))[: 1 + (len(T) > 7)]:
        part, found = T[where], exponent(T[where], values[:, where])
        low, high = interval(part, values[:, where])
        powers = f"2^{np.log2(part[0]):.0f}..2^{np.log2(part[-1]):.0f}"
        text = f"{'':13}exponent on {powers}: {found:.2f} [{low:.2f}, {high:.2f}], theory's upper"
        row = {"powers": powers, "exponent": found, "low": low, "high": high, "theory": theory}
        out.add(f"{text} bound {theory}", table="exponent", stream=stream, learner=name, **row)


def surrogate_regret(out, top):
    """What the theorems bound: mistakes less the comparator's surrogate losses."""
    out.say(
        "mistakes less Σ ℓ_t(U) of the best U found in the ball (noisy; one seed), and the bound"
    )
    for kind in ("logistic", "smooth_hinge"):
        for power in range(10, top + 1, 2):
            mistakes, loss, bound = surrogate_losses(kind, 2**power)
            regret = mistakes - loss
            out.add(
                f"  {kind:13} T=2^{power}: mistakes {mistakes:8.0f}, Σ ℓ_t(U) {loss:8.0f}, regret "
                f"{regret:8.0f}, bound {bound:8.0f}",
                **{"table": "surrogate regret", "learner": f"Gaptron {kind}", "rounds": 2**power},
                **{"mean": mistakes, "loss": loss, "regret": regret, "bound": bound},
            )


def surrogate_losses(kind, T):
    """Mistakes, the smallest Σ ℓ_t(U) found in the ball, and the bound on their difference."""
    space = Simplex().fit(np.arange(4))
    X, y = LabelNoise(T, noise=0.2, random_state=0).draw(space)
    model = gaptron_of(kind, WIDE)(T, math.sqrt(2.0), 0)
    mistakes = (1.0 - model.simulate(X, y, space.classes_).rewards).sum()
    directions, norms = ridge_directions(X, y, space.classes_), D * np.logspace(-1, 0, 6)
    loss = least_loss(kind, X, y, space.classes_, directions, norms)
    return mistakes, loss, model.regret_bound()
