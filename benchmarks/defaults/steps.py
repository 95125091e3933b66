"""Optimisers, and the steps of those that have one, after one pass and ten.

Test error in % on the dense sets of classes, half of the rows learned (4,000 at most) and others
predicted, five shuffles; features standardised by the learner, and as they are (raw).
"""

import sys
import warnings

import numpy as np

from benchmarks._common import ROOT, Results, arguments
from benchmarks.defaults._sets import classes, halves
from skstructured import OnlineStructuredPredictor

sys.path.append(str(ROOT / "docs" / "snippets"))
from coordinate_steps import AdaGrad, FTRLProximal

STEPS = (0.03, 0.1, 0.3, 1.0, 3.0)
OPTIMIZERS = {
    "parameter_free": "parameter_free",
    "ogd": "ogd",
    "adaptive": "adaptive",
    "pistol": "pistol",
    **{f"adagrad {eta:g}": AdaGrad(eta) for eta in STEPS},
    **{f"ftrl {alpha:g}": FTRLProximal(alpha) for alpha in STEPS},
}
SHUFFLES = 5


def error(optimizer, arrays, passes, raw, seed):
    """Test error in % of one fit."""
    train, truth, test, wanted = halves(*arrays, seed)
    model = OnlineStructuredPredictor(
        optimizer=optimizer,
        standardize=not raw,
        max_iter=passes,
        random_state=seed,
    )
    return 100.0 * (1.0 - model.fit(train, truth).score(test, wanted))


def table(out, passes, raw, quick):
    """Errors of every optimizer on every set, and their means."""
    features = "raw" if raw else "standardised"
    out.say(f"\npasses: {passes}, features {features}")
    sets = list(classes(quick))
    out.say(f"{'':16}" + "".join(f"{name[:9]:>10}" for name, *_ in sets) + f"{'mean':>10}")
    for name, optimizer in OPTIMIZERS.items():
        found = [
            np.mean([error(optimizer, arrays, passes, raw, s) for s in range(SHUFFLES)])
            for _, *arrays in sets
        ]
        given = dict(zip((data for data, *_ in sets), found, strict=True))
        line = f"{name:16}" + "".join(f"{e:10.2f}" for e in (*found, np.mean(found)))
        out.add(line, optimizer=name, passes=passes, features=features, **given)


def main():
    """Print the tables."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    with Results(__file__, args) as out:
        for raw in (False, True):
            for passes in (1, 10):
                table(out, passes, raw, args.quick)


if __name__ == "__main__":
    main()
