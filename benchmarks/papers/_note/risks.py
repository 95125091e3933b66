"""Theorem 2: certificates along a pass over letter, and how often bounds fail in simulations."""

import numpy as np
from sklearn.utils import shuffle

from benchmarks.data import load
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.guarantees.risk import path

LEARNED, DELTA = 14_000, 0.05
SHOWN = np.unique(np.geomspace(20, 14_000, 80).astype(int))


def rows():
    """X and y of the rows that are learned, and of the others, on the scale of the others."""
    arrays = load("letter")
    X, y = shuffle(arrays["X"].astype(float), arrays["y"], random_state=0)
    others = X[LEARNED:]
    X = (X - others.mean(axis=0)) / others.std(axis=0)
    return X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:]


def curve(results, quick):
    """Losses of the averages so far, their certificate, and the error on other rows."""
    X, y, X_new, y_new = rows()
    n = 500 if quick else len(X)
    model = OnlineStructuredPredictor(decoder="nearest", optimizer="parameter_free")
    run = progressive_validate(model, X[:n], y[:n], random_state=0)
    losses = run.expected_target_loss
    weights, bounds = path(losses, DELTA)
    means = np.cumsum(losses) / np.arange(1, n + 1)
    weighted = np.cumsum(weights * losses) / np.cumsum(weights)
    held_out = float(np.mean(run.estimator.expected_target_loss(X_new, y_new)))
    for t in SHOWN[n >= SHOWN]:
        mean, weighed, bound = (float(of[t - 1]) for of in (means, weighted, bounds))
        line = f"letter, row {t:6}: mean {mean:.4f}, weighted {weighed:.4f}, at most {bound:.4f}"
        results.add(line, table="letter", row=int(t), mean=mean, weighted=weighed, bound=bound)
    half = losses[n // 2 :]
    bound = run.risk_bound(DELTA, 0.5)
    line = f"second half: mean {half.mean():.4f}, at most {bound:.4f}; other rows {held_out:.4f}"
    results.add(line, table="letter end", mean=float(half.mean()), bound=bound, held_out=held_out)


def draw(kind, rng, T):
    """Losses and their risks, known before each."""
    risks = {"constant": np.full(T, 0.3), "rare": np.full(T, 0.02)}.get(kind)
    if kind == "falling":
        risks = 0.05 + 0.6 / np.sqrt(np.arange(1.0, T + 1.0))
    return (rng.rand(T) < risks).astype(float), risks


def fails(kind, delta, horizon, rng, T):
    """Whether a bound was ever below the weighted mean of the risks."""
    losses, risks = draw(kind, rng, T)
    weights, bounds = path(losses, delta, horizon)
    return bool(np.any(bounds < np.cumsum(weights * risks) / np.cumsum(weights) - 1e-12))


def coverage(results, quick):
    """Shares of failures in repeats."""
    T, repeats = 2000, 100 if quick else 4000
    for delta in (0.05, 0.2):
        for kind in ("constant", "rare", "falling"):
            rng = np.random.RandomState(0)
            shares = [
                float(np.mean([fails(kind, delta, horizon, rng, T) for _ in range(repeats)]))
                for horizon in (T, 0)
            ]
            line = f"{kind:9} δ = {delta}: failed {shares[0]:.4f} (T known), {shares[1]:.4f}"
            row = {"delta": delta, "known": shares[0], "any_time": shares[1]}
            results.add(line, table="coverage", kind=kind, **row)
