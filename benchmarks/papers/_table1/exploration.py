"""Exploration: the randomized Fenchel-Young decoder against Gaptron's, by the number of classes."""

import math

import numpy as np

from benchmarks._plain import gaptron, predictor
from benchmarks._statistics import mean_and_width
from benchmarks.adversaries import LabelNoise, Separable
from benchmarks.papers._table1.streams import ROUNDS
from skstructured.decoders import GapDecoder
from skstructured.evaluation import progressive_validate
from skstructured.spaces import Simplex

KS = (2, 4, 8, 16, 32, 64)
PLAYERS = {
    "FY decoder": lambda: gaptron(decoder="randomized"),
    "Gaptron": lambda: gaptron(),
    "Gaptron's p', FY's step": lambda: predictor("simplex", decoder=GapDecoder()),
}
TITLE = """
EXPLORATION: expected mistakes in {rounds} rounds, full information, logistic loss,
20 features; margin 0.1/√K where the model has ‖W‖_F = 1; noise 0.2; {seeds} seeds"""


def expected(make, adversary, K):
    """Expected mistakes with full information."""
    space = Simplex().fit(np.arange(K))
    if "margin" in adversary.get_params():
        adversary.set_params(margin=0.1 / math.sqrt(K))
    X, y = adversary.draw(space)
    result = progressive_validate(make(), X, y, classes=space.classes_, play="randomized")
    return result.expected_target_loss.sum()


def explored(make, adversary, seeds):
    """Expected mistakes (seeds, len(KS))."""
    found = []
    for seed in range(seeds):
        adversary.set_params(random_state=seed)
        found.append([expected(make, adversary, K) for K in KS])
    return np.array(found)


def exploration(out, quick):
    """Expected mistakes for every (stream, player), which are printed."""
    rounds, seeds, found = 200 if quick else ROUNDS, 2 if quick else 10, {}
    out.say(TITLE.format(rounds=rounds, seeds=seeds))
    for stream, adversary in (
        ("separable", Separable(rounds, 20)),
        ("noisy", LabelNoise(rounds, 20, noise=0.2)),
    ):
        out.say(f"{stream:26}" + "".join(f"{f'K={K}':>14}" for K in KS))
        for name, make in PLAYERS.items():
            found[stream, name] = explored(make, adversary, seeds)
            line(out, stream, name, *mean_and_width(found[stream, name]))
    return found


def line(out, stream, name, means, widths):
    cells = zip(means, widths, strict=True)
    text = f"  {name:24}" + "".join(f"{f'{m:.0f} ± {w:.0f}':>14}" for m, w in cells)
    row = {f"K{K}": mean for K, mean in zip(KS, means, strict=True)}
    row |= {f"K{K}_half_width": width for K, width in zip(KS, widths, strict=True)}
    out.add(text, table="exploration", stream=stream, learner=name, **row)
