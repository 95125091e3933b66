"""Expected mistakes, bound and margin of every (space, regularizer) pair, on many streams.

Streams are real, noise, or adversarial: there each round is answered with the output of the largest
expected loss. The comparator is the best found in hindsight for the bound.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks.data import load
from skstructured.evaluation import progressive_validate
from skstructured.guarantees import best_comparator, comparator_losses

REGULARIZERS = {
    "simplex": ("shannon", "squared", "tsallis"),
    "hypercube": ("shannon", "squared"),
    "ordinal": ("shannon", "squared"),
}
OUTPUTS = {
    "simplex": np.arange(4),
    "hypercube": (np.arange(16)[:, None] >> np.arange(4)) & 1,
    "ordinal": np.arange(4),
}


def real_streams():
    """Names, spaces, X and y."""
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


def noise_streams():
    rng = np.random.RandomState(0)
    X = rng.randn(5000, 10)
    yield "noise", "simplex", X, rng.randint(5, size=5000)
    yield "noise", "hypercube", X, rng.randint(2, size=(5000, 6))
    yield "noise", "ordinal", X, rng.randint(6, size=5000)


def row(out, names, n, mistakes, comparator, bound):
    name, space, regularizer = names
    line = (
        f"{name:10} {space:10} {regularizer:9} {n:6d} {mistakes:10.1f} {comparator:11.1f} "
        f"{bound:10.1f} {bound - mistakes:10.1f} {mistakes / bound:7.3f}"
    )
    found = {"rounds": n, "mistakes": mistakes, "comparator": comparator, "bound": bound}
    out.add(line, stream=name, space=space, regularizer=regularizer, **found)


def learned(out, name, space, X, y):
    for regularizer in REGULARIZERS[space]:
        model = predictor(space=space, regularizer=regularizer)
        result = progressive_validate(model, X, y, random_state=0, play="randomized")
        U = result.best_comparator()
        comparator, bound = result.comparator_loss(U).sum(), result.regret_bound(U)
        mistakes = result.expected_target_loss.sum()
        row(out, (name, space, regularizer), len(X), mistakes, comparator, bound)


def play_adversary(model, X, outputs):
    """Learn X, each row with the output of the largest expected loss: those losses, the outputs."""
    expected, truths = [1.0], [outputs[0]]
    for x in X[1:]:
        losses = model.expected_target_loss(np.repeat(x[None], len(outputs), axis=0), outputs)
        truths.append(outputs[np.argmax(losses)])
        expected.append(losses.max())
        model.partial_fit(x[None], np.asarray(truths[-1:]))
    return sum(expected), np.asarray(truths)


def adversarial(out, space, regularizer, n):
    X, outputs = np.random.RandomState(0).randn(n, 5), OUTPUTS[space]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = predictor(space=space, regularizer=regularizer)
    classes = None if space == "hypercube" else outputs
    model.partial_fit(X[:1], outputs[:1], classes=classes)
    mistakes, truths = play_adversary(model, X, outputs)
    certificate, V = model.certificate(), model.space_.encode(truths)
    U = best_comparator(model.loss_, X, V, certificate.quadratic)
    comparator = comparator_losses(model.loss_, U, X, V).sum()
    bound = certificate.bound(comparator, np.linalg.norm(U))
    row(out, ("adversary", space, regularizer), n, mistakes, comparator, bound)


def main():
    args = arguments(__doc__)
    most = 200 if args.quick else None
    with Results(__file__, args) as out:
        out.say(
            f"{'stream':10} {'space':10} {'Omega':9} {'rounds':>6} {'mistakes':>10} "
            f"{'comparator':>11} {'bound':>10} {'margin':>10} {'ratio':>7}"
        )
        for name, space, X, y in (*real_streams(), *noise_streams()):
            learned(out, name, space, X[:most], y[:most])
        for space, regularizers in REGULARIZERS.items():
            for regularizer in regularizers:
                adversarial(out, space, regularizer, most or 2000)


if __name__ == "__main__":
    main()
