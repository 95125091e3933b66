"""Bandit learners on raw rows: taken as they are, standardised on the way, or scaled beforehand.

Wrong choices in % of one stream of the dense sets of classes, 3,000 rounds at most, three orders.
"beforehand" uses means of rows that no bandit has seen yet. Newtron only where K (p + 1) is at most
150.
"""

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes
from skstructured import (
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)

LEARNERS = {
    "Confidit": ConfiditClassifier(),
    "SOBA": SOBAClassifier(),
    "SOBA, exploration 0.1": SOBAClassifier(exploration=0.1),
    "Newtron": NewtronClassifier(),
    "Banditron": BanditronClassifier(),
}
WAYS = ("as they are", "standardised", "beforehand")
SHUFFLES, MOST, LARGEST_NEWTRON = 3, 3000, 150


def mistakes(learner, X, y, way, seed):
    """Wrong choices in % of one order."""
    order = np.random.RandomState(seed).permutation(len(y))[:MOST]
    X, y = X[order], y[order]
    X = StandardScaler().fit_transform(X) if way == "beforehand" else X
    model = clone(learner).set_params(standardize=way == "standardised", random_state=seed)
    return 100.0 * model.fit(X, y).n_mistakes_ / len(y)


def cell(name, learner, X, y, way):
    """The mean over orders; NaN where a learner refuses the rows, or would take too long."""
    size = len(np.unique(y)) * (X.shape[1] + 1)
    if name == "Newtron" and size > LARGEST_NEWTRON:
        return np.nan
    try:
        return float(np.mean([mistakes(learner, X, y, way, seed) for seed in range(SHUFFLES)]))
    except ValueError:
        return np.nan


def main():
    """Print the tables."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for name, learner in LEARNERS.items():
            out.say(f"\n{name}\n{'':16}" + "".join(f"{way:>14}" for way in WAYS))
            rows = []
            for data, X, y in classes(args.quick):
                rows.append([cell(name, learner, X, y, way) for way in WAYS])
                given = dict(zip(WAYS, rows[-1], strict=True))
                line = f"{data:16}" + "".join(f"{e:14.1f}" for e in rows[-1])
                out.add(line, learner=name, set=data, **given)
            whole = [row for row in rows if np.isfinite(row).all()]
            means = "".join(f"{e:14.1f}" for e in np.mean(whole, axis=0))
            out.say(f"{f'mean of {len(whole)}':16}" + means)


if __name__ == "__main__":
    main()
