"""The mixture over streams of label sequences, beside one optimizer: its average and last weights.

Log-loss of whole sequences in nats, and labels in % that the most likely sequence had wrong, each
before the sequence was learned. Words of handwritten letters; built ones whose weights and
transitions stay, are drawn anew every 150 sequences, or walk.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

LABELS, FEATURES, DRAWN = 5, 10, 150
WALK = 0.02


def letters(n):
    """Words of handwritten letters, as sequences."""
    arrays = load("ocr")
    ends = np.cumsum(arrays["lengths"])[:-1]
    X, y = np.split(arrays["X"].astype(float), ends), np.split(arrays["y"], ends)
    order = np.random.RandomState(0).permutation(len(X))[:n]
    return [X[i] for i in order], [y[i] for i in order]


def built(n, kind):
    """Sequences of labels drawn one after the other, by weights and transitions."""
    rng, X, y = np.random.RandomState(0), [], []
    shape = (LABELS, FEATURES + LABELS)
    W = 1.5 * rng.randn(*shape)
    for i in range(n):
        fresh = 1.5 * rng.randn(*shape)
        if kind == "abrupt" and i % DRAWN == 0:
            W = fresh
        elif kind == "walk":
            W = W * np.sqrt(1.0 - WALK) + fresh * np.sqrt(WALK)
        x = rng.randn(rng.randint(3, 12), FEATURES)
        codes, before = [], np.zeros(LABELS)
        for row in x:
            codes.append(int(np.argmax(W @ np.append(row, before) + rng.gumbel(size=LABELS))))
            before = np.eye(LABELS)[codes[-1]]
        X.append(x)
        y.append(np.array(codes))
    return X, y


def judged(X, y, optimizer, average):
    """Mean log-loss, and errors of the most likely labels in %."""
    given = {"optimizer": optimizer, "average": average, "decoder": "map"}
    found = progressive_validate(OnlineStructuredPredictor("sequence", **given), X, y)
    loss = found.surrogate_loss.mean() / found.estimator.loss_.scale_
    return loss, 100.0 * found.target_loss.mean()


def main():
    args = arguments(__doc__)
    n = 100 if args.quick else 600
    streams = (
        {"words": letters(n)} if args.quick else {"words": letters(n), "more words": letters(3000)}
    )
    streams |= {f"built, {kind}": built(n, kind) for kind in ("still", "abrupt", "walk")}
    average = "polynomial"
    players = [("auto", average), ("parameter_free", average), ("parameter_free", False)]
    with Results(__file__, args) as out:
        out.say(f"{'':16}{'auto (mixture)':>20}{'averaged':>18}{'last':>18}")
        for name, (X, y) in streams.items():
            found = [judged(X, y, *player) for player in players]
            text = f"{name:16}" + "".join(f"{loss:12.3f}{wrong:6.1f}" for loss, wrong in found)
            heads = ("auto", "averaged", "last")
            row = {f"{head}_loss": loss for head, (loss, _) in zip(heads, found, strict=True)}
            row |= {f"{head}_wrong": wrong for head, (_, wrong) in zip(heads, found, strict=True)}
            out.add(text, data=name, **row)


if __name__ == "__main__":
    main()
