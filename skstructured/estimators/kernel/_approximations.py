"""Which random features belong to which kernel."""

import math

from skstructured._base.validation import check_choice, check_integer, check_real
from skstructured.estimators._auto import is_auto
from skstructured.estimators.kernel._features import DRAWN, FourierMap
from skstructured.estimators.kernel._relu import ReluMap
from skstructured.estimators.kernel._sketch import SketchMap

#: What `approximation` may be.
APPROXIMATIONS = ("none", "fourier", "sketch", "relu", "auto")

#: Random features, and those of `fit` where rows are many, of which more are worth their time.
USUAL, MORE = 1200, 4000

#: Rows, at most, of which "auto" takes all kernels.
ALL_KERNELS = 5000

#: Kernel -> its random features.
FEATURES_OF = dict.fromkeys(DRAWN, "fourier") | {"poly": "sketch", "arc-cosine": "relu"}


def features_of(kernel):
    """The approximation that belongs to a kernel; None where there is none."""
    return FEATURES_OF.get(kernel) if isinstance(kernel, str) else None


def has_features(learner):
    """Whether there are random features of a learner's kernel, as its parameters are."""
    found = features_of(learner.kernel)
    return found == "fourier" or (found is not None and _coef0(learner) >= 0.0)


def check_features(learner):
    """A ValueError unless the parameters `approximation`, `kernel` and its own go together."""
    given, kernel = learner.approximation, learner.kernel
    found = features_of(kernel)
    if found != given:
        names = " and ".join(repr(name) for name, one in FEATURES_OF.items() if one == given)
        right = f"{found!r} is for this one, and 'none'" if found else "'none'"
        raise ValueError(
            f"approximation={given!r} is for kernel={names}, got kernel={kernel!r}; "
            f"approximation={right} takes every kernel."
        )
    if given == "sketch":
        check_integer("degree", learner.degree)
    if given != "fourier" and _coef0(learner) < 0.0:
        raise ValueError(
            f"coef0 must be at least 0 with approximation={given!r}, whose rows have √coef0 as one "
            f"more feature, got {learner.coef0!r}."
        )


def _coef0(learner):
    return check_real("coef0", learner.coef0, math.isfinite, "be a number")


def wants_features(learner, rows):
    """Whether random features stand for the kernel, for so many rows of `fit`, 0 in a stream.

    A ValueError for parameters that do not go together.
    """
    check_choice("approximation", learner.approximation, APPROXIMATIONS)
    if not is_auto(learner.n_components):
        check_integer("n_components", learner.n_components)
    if learner.approximation == "auto":
        return rows > ALL_KERNELS and learner.budget is None and has_features(learner)
    if learner.approximation == "none":
        return False
    check_features(learner)
    if learner.budget is not None:
        raise ValueError(
            f"budget is for support rows, and with approximation={learner.approximation!r} there "
            f"are none: set budget=None, got {learner.budget!r}."
        )
    return True


def count_of(learner):
    """Random features of a learner: an even number where each has a cosine and a sine."""
    count, pairs = learner.n_components, features_of(learner.kernel) == "fourier"
    if is_auto(count):
        count = MORE if learner._many_rows else USUAL
    return count + count % 2 * pairs


def new_features(learner, multiscale, rng, dtype):
    """The map that makes φ, drawn anew; its width is still to be set."""
    p, n = learner.n_features_in_, count_of(learner)
    found = features_of(learner.kernel)
    if found == "sketch":
        return SketchMap(p, n, learner.degree, _coef0(learner), rng, dtype)
    if found == "relu":
        return ReluMap(p, n, _coef0(learner), rng, dtype)
    return FourierMap(learner.kernel, p, n, multiscale, rng, dtype)
