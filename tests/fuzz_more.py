"""More for the fuzzer: learners of numbers, of label sequences and in batch, and their inputs."""

import numpy as np
from fuzz_inputs import chance, features, outputs, pick
from plain import predictor

import skstructured as sk
from skstructured.sequences import Stacked

KERNELS = ("linear", "linear", "rbf", "poly", "laplacian")


def numbers(rng, areas):
    model = sk.PiSTOLRegressor(
        kernel=pick(rng, KERNELS),
        loss=pick(rng, ("huber", "epsilon_insensitive", "absolute")),
        max_iter=rng.randint(1, 4),
        average=pick(rng, (False, "polynomial")),
    )
    return model, "numbers", 1, None


def sequences(rng, areas):
    size = rng.randint(2, 4)
    model = pick(
        rng,
        (
            predictor("sequence", average=pick(rng, (False, "polynomial"))),
            predictor("sequence", "squared", optimizer=pick(rng, ("ogd", "parameter_free"))),
            predictor("sequence", decoder="sampled", standardize="auto"),
            sk.ConditionalRandomField(
                transitions=pick(rng, ("bigram", "features", "none")), max_iter=rng.randint(1, 6)
            ),
            sk.ConditionalRandomField(
                solver="sdca",
                decoder=pick(rng, ("map", "min_risk", "sampled")),
                max_iter=rng.randint(1, 6),
            ),
            sk.MaxMinMarginNetwork("sequence", kernel=pick(rng, KERNELS), max_iter=2),
            sk.StructuralSVM("sequence", kernel=pick(rng, KERNELS), max_iter=2),
        ),
    )
    return model, "sequences", size, None


BATCH_SPACES = {
    "simplex": "labels",
    "ordinal": "grades",
    "hypercube": "sets",
    "birkhoff": "positions",
    "permutahedron": "ranks",
}


def batch(rng, areas):
    size, space = rng.randint(2, 4), pick(rng, tuple(BATCH_SPACES))
    dual = pick(rng, (sk.MaxMinMarginNetwork, sk.StructuralSVM))
    several = pick(rng, ("simplex", "hypercube", "ordinal", "birkhoff"))
    model, space = pick(
        rng,
        (
            (
                dual(
                    space,
                    kernel=pick(rng, KERNELS),
                    alpha=pick(rng, ("auto", "auto", 0.1, 1e-8, "path")),
                    solver=pick(rng, ("auto", "frank_wolfe")),
                    line_search=bool(rng.randint(2)),
                    warm_start=bool(rng.randint(2)),
                    max_iter=rng.randint(1, 20),
                ),
                space,
            ),
            (sk.QuadraticSurrogate(space, kernel=pick(rng, KERNELS)), space),
            (
                sk.ConditionalRandomField(
                    several,
                    regularizer=pick(rng, (None, None, "squared")),
                    warm_start=bool(rng.randint(2)),
                    max_iter=rng.randint(1, 20),
                ),
                several,
            ),
            (
                sk.ConditionalRandomField(
                    "simplex", solver="sdca", kernel=pick(rng, KERNELS), max_iter=rng.randint(1, 9)
                ),
                "simplex",
            ),
        ),
    )
    return model, BATCH_SPACES[space], size, None


def sequence_features(rng, n, width, areas):
    """n sequences of features, as a list, an array or `Stacked`; sometimes wrong."""
    if chance(rng, 0.1):
        name = pick(rng, tuple(WRONG_SEQUENCES))
        return WRONG_SEQUENCES[name](rng, n, width), name
    lengths, wrong = rng.randint(1, 4, size=n), None
    parts = [features(rng, length, width, areas) for length in lengths]
    for X, trouble in parts:
        trouble = None if trouble == "a row of X less" else trouble  # labels are as many
        wrong = wrong or trouble or (None if X is not None else "no X")
    if wrong is None and chance(rng, 0.3):
        lengths = np.full(n, 2) if chance(rng, 0.5) else lengths
        X, trouble = features(rng, int(lengths.sum()), width, areas)
        if trouble is None:
            return Stacked(np.asarray(X) if isinstance(X, list) else X, lengths), None
    return [X for X, _ in parts], wrong


WRONG_SEQUENCES = {
    "an empty sequence": lambda rng, n, width: [np.zeros((0, width))] * n,
    "no sequences": lambda rng, n, width: [],
    "one matrix": lambda rng, n, width: rng.randn(n, width),
    "text for sequences": lambda rng, n, width: "abc",
    "widths that differ": lambda rng, n, width: [rng.randn(2, width), rng.randn(2, width + 1)],
    "None among sequences": lambda rng, n, width: [None] * n,
    "a number": lambda rng, n, width: 3.0,
}


def sequence_labels(rng, X, size, may_be_wrong=True):
    """A list of labels for each of the sequences X, sometimes wrong."""
    try:
        lengths = getattr(X, "lengths", None)
        if lengths is None:
            lengths = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
    except TypeError:
        lengths = [2]
    flat = outputs(rng, int(np.sum(lengths)), "labels", size, may_be_wrong=False)[0]
    y = np.split(np.asarray(flat), np.cumsum(lengths)[:-1]) if len(lengths) else []
    if may_be_wrong and len(y) and chance(rng, 0.1):
        name = pick(rng, tuple(WRONG_LABELS))
        return WRONG_LABELS[name](y), name
    return ([part.tolist() for part in y] if chance(rng, 0.3) else y), None


WRONG_LABELS = {
    "a label less": lambda y: [*y[:-1], y[-1][:-1]],
    "labels of a sequence less": lambda y: y[:-1],
    "labels flat": lambda y: 7,
    "no labels": lambda y: None,
    "labels a matrix": lambda y: [part[:, None] for part in y],
    "NaN labels": lambda y: [np.full(len(part), np.nan) for part in y],
}
