"""Theorem 4: items with features against an adversary, losses and their bound."""

import numpy as np

from benchmarks.adversaries import next_losses
from skstructured._base.ragged import Ragged
from skstructured.items import ItemStructuredPredictor

FEATURES = 3


def rounds(rng, n):
    """Matrices (m_t, p) of 2 to 6 items, the largest singular value of each from 0.3 to 1."""
    found = [rng.randn(rng.randint(2, 7), FEATURES) for _ in range(n)]
    return [rng.uniform(0.3, 1.0) * x / np.linalg.norm(x, 2) for x in found]


def play(X, optimizer, hostile, rng):
    """Expected losses, and the truths: the costliest item, or the best by hidden weights."""
    model = ItemStructuredPredictor(
        optimizer=optimizer, standardize=False, fit_intercept=False, average=False, random_state=0
    )
    w, total, truths = rng.randn(FEATURES), 0.0, [np.eye(len(X[0]))[0]]
    model.partial_fit(X[:1], truths)
    for x in X[1:]:
        losses = next_losses(model, model.resume([x] * len(x), list(np.eye(len(x)))))
        chosen = int(np.argmax(losses) if hostile else np.argmax(x @ w))
        total, truth = total + losses[chosen], np.eye(len(x))[chosen]
        truths.append(truth)
        model.partial_fit([x], [truth])
    return model, total, truths, w


def smallest_bound(model, X, truths, w, rng):
    """The least bound over zero and some directions of several lengths."""
    certificate, loss = model.certificate(), model.model_.certified_loss()
    offsets = np.cumsum([0, *map(len, X)])
    V, rows, found = Ragged(np.concatenate(truths), offsets), np.concatenate(X), []
    for direction in (w, model.coef_, *rng.randn(5, FEATURES)):
        unit = direction / np.linalg.norm(direction)
        for norm in (0.0, *np.geomspace(1e-2, 100.0, 25)):
            losses = loss.value(Ragged(rows @ (norm * unit), offsets), V).sum()
            found.append(certificate.bound(losses, norm))
    return float(min(found))


def run(results, quick):
    """A line for every optimizer and kind of stream."""
    n = 30 if quick else 3000
    for optimizer in ("ogd", "parameter_free", "mixture"):
        for hostile in (True, False):
            rng = np.random.RandomState(0)
            X = rounds(rng, n)
            model, total, truths, w = play(X, optimizer, hostile, rng)
            bound = smallest_bound(model, X, truths, w, rng)
            kind = "adversary" if hostile else "linear"
            line = f"items, {optimizer:14} {kind:9}: {total:7.1f} of {n}, at most {bound:.1f}"
            row = {"optimizer": optimizer, "kind": kind, "loss": float(total), "bound": bound}
            results.add(line, table="items", rounds=n, **row)
