"""Expected mistakes, bound and margin of every (space, regularizer) pair on real, noise and
adversarial streams.

    python benchmarks/bounds.py > benchmarks/results/bounds.txt
"""

import sys

import numpy as np
from data import load
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.metrics import best_comparator, comparator_losses

REGULARIZERS = {
    "simplex": ("shannon", "squared", "tsallis"),
    "hypercube": ("shannon", "squared"),
    "ordinal": ("shannon", "squared"),
}


def streams():
    scaled = StandardScaler().fit_transform
    X, y = load_digits(return_X_y=True)
    yield "digits", "simplex", X / 16, y
    for name in ("satimage", "letter", "elec2"):
        arrays = load(name)
        yield name, "simplex", scaled(arrays["X"].astype(float)), arrays["y"]
    yeast, scene, abalone = load("ml_yeast"), load("ml_scene"), load("abalone")
    yield "ml_yeast", "hypercube", scaled(yeast["X"].astype(float)), yeast["Y"]
    yield "ml_scene", "hypercube", scaled(scene["X_train"].astype(float)), scene["Y_train"]
    yield "abalone", "ordinal", scaled(abalone["X"]), abalone["y_eqfreq"]
    rng = np.random.RandomState(0)
    X = rng.randn(5000, 10)
    yield "noise", "simplex", X, rng.randint(5, size=5000)
    yield "noise", "hypercube", X, rng.randint(2, size=(5000, 6))
    yield "noise", "ordinal", X, rng.randint(6, size=5000)


def row(name, space, regularizer, n, mistakes, comparator, bound):
    print(
        f"{name:10} {space:10} {regularizer:9} {n:6d} {mistakes:10.1f} {comparator:11.1f} "
        f"{bound:10.1f} {bound - mistakes:10.1f} {mistakes / bound:7.3f}",
        flush=True,
    )


def adversarial(space, regularizer, n=2000):
    """Each round is answered with the output of the largest expected loss."""
    rng = np.random.RandomState(0)
    X = rng.randn(n, 5)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = OnlineStructuredPredictor(space=space, regularizer=regularizer)
    y = {"simplex": np.arange(4), "ordinal": np.arange(4)}.get(space)
    y = ((np.arange(16)[:, None] >> np.arange(4)) & 1) if y is None else y
    classes = None if space == "hypercube" else y
    model.partial_fit(X[:1], y[:1], classes=classes)
    expected, truths = [1.0], [y[0]]
    for x in X[1:]:
        losses = model.expected_target_loss(np.repeat(x[None], len(y), axis=0), y)
        truths.append(y[np.argmax(losses)])
        expected.append(losses.max())
        model.partial_fit(x[None], np.asarray(truths[-1:]))
    certificate = model.certificate()
    V = model.space_.encode(np.asarray(truths))
    U = best_comparator(model.loss_, X, V, certificate.quadratic)
    comparator = comparator_losses(model.loss_, U, X, V).sum()
    bound = certificate.bound(comparator, np.linalg.norm(U))
    row("adversary", space, regularizer, n, sum(expected), comparator, bound)


def main():
    print(f"command: python {' '.join(sys.argv)}")
    print(
        f"{'stream':10} {'space':10} {'Omega':9} {'rounds':>6} {'mistakes':>10} {'comparator':>11} "
        f"{'bound':>10} {'margin':>10} {'ratio':>7}"
    )
    for name, space, X, y in streams():
        for regularizer in REGULARIZERS[space]:
            model = OnlineStructuredPredictor(space=space, regularizer=regularizer)
            result = progressive_validate(model, X, y, random_state=0)
            U = result.best_comparator()
            comparator, bound = result.comparator_loss(U).sum(), result.regret_bound(U)
            mistakes = result.expected_target_loss.sum()
            row(name, space, regularizer, len(X), mistakes, comparator, bound)
    for space, regularizers in REGULARIZERS.items():
        for regularizer in regularizers:
            adversarial(space, regularizer)


if __name__ == "__main__":
    main()
