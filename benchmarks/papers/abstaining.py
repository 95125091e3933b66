"""What never abstaining costs: the worst regret over ten streams, docs/abstention.md.

Two experts, one of which always says yes and one no, and labels that are yes with probability ½ to
1; means over 20 seeds of the expected regret to the better expert, the worst stream of each number
of rounds.
"""

import numpy as np

from benchmarks._common import Results, arguments
from skstructured.experts.hedge import AdaHedge

TILTS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
ROUNDS, COSTS, SEEDS = (1_000, 30_000), (0.3, 0.4, 0.5), 20


def regrets(tilt, seed):
    """Regrets (costs, rounds) on one stream."""
    draws = np.random.RandomState(seed).random_sample(ROUNDS[-1])
    y = np.where(draws < 0.5 + tilt, 1.0, -1.0)
    losses = (1.0 - y[:, None] * np.array([1.0, -1.0])) / 2.0
    margin = 1.0 - 2.0 * AdaHedge(2).update(losses)
    sure, best = np.abs(margin), np.cumsum(losses, axis=0).min(axis=1)
    lost = [np.cumsum(sure * (margin < 0.0) + (1.0 - sure) * cost) for cost in COSTS]
    return (np.array(lost) - best)[:, np.array(ROUNDS) - 1]


def main():
    """Print the table."""
    args = arguments(__doc__)
    seeds = range(2 if args.quick else SEEDS)
    with Results(__file__, args) as out:
        means = [np.mean([regrets(tilt, seed) for seed in seeds], axis=0) for tilt in TILTS]
        for cost, (few, many) in zip(COSTS, np.max(means, axis=0), strict=True):
            line = (
                f"cost {cost}: {few:7.2f} after {ROUNDS[0]}, {many:7.2f} after {ROUNDS[1]} rounds"
            )
            out.add(line, cost=cost, few=few, many=many)


if __name__ == "__main__":
    main()
