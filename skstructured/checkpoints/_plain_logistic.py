"""What an exported second-order logistic learner scores with; see `_plain_functions`."""
# ruff: noqa: F821  # roles are named in the module that is written

import numpy as np

from skstructured.checkpoints._plain_functions import M, softmax


def standardized(X):
    """Rows in units of the deviations, and 1 behind them where there is an intercept."""
    Z = (rows(X) - M["means"]) * M["inverse"]
    Z = np.clip(np.hstack([Z, np.ones((len(Z), int(M["intercept"])))]), -1e60, 1e60)
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    if M["refuses"] and (norms > M["R"] * (1.0 + 1e-12)).any():
        raise ValueError(f"X has rows longer than R={M['R']:g}.")
    return Z * (M["R"] / np.maximum(norms, M["R"]))[:, None] if M["R"] < np.inf else Z


def improper(X):
    """Logarithms of the probabilities of one learner, or of several, mixed."""
    Z = standardized(X)
    p = [softmax(logits(Z, P, H)) for P, H in zip(M["P"], M["H"], strict=True)]
    return np.log(np.maximum(np.einsum("i,ink->nk", M["shares"], p), 1e-300))


def logits(Z, P, H):
    """The z = g − A softmax(z) of rows, by Newton's method."""
    Q, theta = M["Q"], np.empty((len(Z), M["Q"].shape[1]))
    for x, out in zip(Z, theta, strict=True):
        A = 0.5 * Q.T @ (P @ x @ x) @ Q
        out[:] = settled(A, 0.5 * np.diag(A) - 0.5 * (H @ x) @ Q)
    return theta


def settled(A, g):
    """The z of A and g: q = softmax(g − Aq) minimises ½qᵀAq + log Σ exp(g − Aq)."""
    unit = max(1.0, 1.0 + np.abs(g).max()) + max(A.diagonal().max(), 0.0)
    q, cold = np.full(len(g), 1.0 / len(g)), min(1.0, 20.0 / unit)
    while True:
        for _ in range(100):
            s = softmax(cold * (g - A @ q)[None])[0]
            if np.abs(A @ (s - q)).max() <= (1e-15 if cold == 1.0 else 1e-3) * unit:
                break
            system = np.eye(len(g)) + cold * (np.diag(s) - np.outer(s, s)) @ A
            step, before = np.linalg.solve(system, s - q), height(A, g, cold, q)
            for _ in range(60):
                if height(A, g, cold, q + step) - before <= 1e-14 * cold * unit:
                    break
                step = 0.5 * step
            q = q + step
        if cold == 1.0:
            return g - A @ q
        cold = min(1.0, 8.0 * cold)


def height(A, g, cold, q):
    """What `settled` minimises, with A and g times `cold`."""
    z = cold * (g - A @ q)
    return 0.5 * cold * q @ A @ q + z.max() + np.log(np.exp(z - z.max()).sum())
