"""What else a mixture of steps could have among its experts: log-loss in nats with and without.

Adaptive steps for each coordinate (AdaGrad), second order (FOLKLORE), the labels before (how often
each label followed each other one, the last hundred or so counting most), and the mixture itself,
begun anew every 1,500 and every 6,000 rows. Each is mixed with the mixture by log-loss and the
share that thins out, and stands in brackets by itself.
"""

import math
import sys
import warnings

import numpy as np

from benchmarks._common import ROOT, Results, arguments
from benchmarks.defaults._streams import moving, still
from skstructured import FolkloreClassifier, OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

sys.path.append(str(ROOT / "docs" / "snippets"))
from coordinate_steps import AdaGrad

RESTARTS = (1500, 6000)
FORGET, LEAST = 0.99, 0.05


def learner(optimizer):
    return OnlineStructuredPredictor(decoder="map", optimizer=optimizer, random_state=0)


def played(model, X, y):
    """Log-losses (n,) in nats."""
    found = progressive_validate(model, X, y, random_state=0, play="randomized")
    loss = getattr(found.estimator, "loss_", None)
    return found.surrogate_loss * (math.log(2.0) if loss is None else 1.0 / loss.scale_)


def labels_before(y):
    """Log-losses of the labels that followed the last one."""
    counts, losses, before = np.ones((y.max() + 1,) * 2), np.empty(len(y)), 0
    for t, label in enumerate(y):
        losses[t] = -math.log(counts[before, label] / counts[before].sum())
        counts[before] *= FORGET
        counts[before, label] += 1.0
        counts[before] = np.maximum(counts[before], LEAST)
        before = label
    return losses


def restarted(X, y, every):
    """Log-losses of mixtures that know the last rows alone."""
    losses, labels = [], np.unique(y)
    for start in range(0, len(y), every):
        part, model = slice(start, start + every), learner("mixture")
        rounds = model.begin(X[part], y[part], labels)
        found = model.play_and_learn(rounds, np.arange(rounds.n_rounds))
        losses.append(found.surrogate / model.loss_.scale_)
    return np.concatenate(losses)


def mixed(columns):
    """Mean log-loss of a mixture by log-loss, with the share that thins out."""
    q = np.exp(-np.column_stack(columns))
    v, total = np.full(q.shape[1], 1.0 / q.shape[1]), 0.0
    for t in range(len(q)):
        played = v @ q[t]
        total -= math.log(played)
        alpha = min(0.5, 1.0 / ((t + 3) * math.log(t + 3) ** 2))
        v = (1.0 - alpha) * v * q[t] / played + alpha / len(v)
    return total / len(q)


def main():
    args = arguments(__doc__)
    heads = ("mixture", "AdaGrad", "FOLKLORE", "labels before", "restarts")
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out.say(f"{'':18}" + "".join(f"{head:>18}" for head in heads))
        streams = [*moving(args.quick), *(s for s in still(args.quick) if s[1] == "simplex")]
        for name, *rest in streams:
            X, y = rest[-2:]
            y = np.unique(y, return_inverse=True)[1]
            first = played(learner("mixture"), X, y)
            others = {
                "AdaGrad": [played(learner(AdaGrad()), X, y)],
                "FOLKLORE": [played(FolkloreClassifier(), X, y)],
                "labels before": [labels_before(y)],
                "restarts": [restarted(X, y, every) for every in RESTARTS],
            }
            text, row = f"{name:18}{first.mean():18.3f}", {"mixture": first.mean()}
            for other, columns in others.items():
                row[other] = mixed([first, *columns])
                alone = ",".join(f"{column.mean():.2f}" for column in columns)
                text += f"{f'{row[other]:.3f} ({alone})':>18}"
            out.add(text, data=name, **row)


if __name__ == "__main__":
    main()
