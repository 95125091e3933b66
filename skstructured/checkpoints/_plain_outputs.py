"""How an exported model makes outputs of scores: the arrays it needs, and the functions."""

import numpy as np

import skstructured.checkpoints._plain_chains as chained
import skstructured.checkpoints._plain_functions as plain
from skstructured.checkpoints._plain_parts import is_regressor, refuse
from skstructured.decoders import MAP, GapDecoder, MinimumRisk, Nearest, Randomized, Sampled
from skstructured.decoders import Threshold as ByThreshold
from skstructured.estimators.margin._base import MarginLearner
from skstructured.losses import FenchelYoung
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss
from skstructured.losses.margins import IndicatorMargins
from skstructured.regularizers import Shannon, SquaredNorm, Tsallis
from skstructured.spaces import (
    Hypercube,
    KSubsets,
    LabelSequence,
    OrdinalChain,
    Permutahedron,
    Simplex,
)
from skstructured.spaces._signs import Signs

#: Means of a Fenchel–Young loss, by space and regularizer.
MEANS = {
    (Simplex, Shannon): plain.softmax,
    (Simplex, SquaredNorm): plain.sparsemax,
    (Simplex, Tsallis): plain.entmax,
    (Hypercube, Shannon): plain.sigmoid,
    (Hypercube, SquaredNorm): plain.clipped,
    (OrdinalChain, Shannon): plain.tails,
    (OrdinalChain, SquaredNorm): plain.falling,
    (Permutahedron, SquaredNorm): plain.unchanged,
    (KSubsets, SquaredNorm): plain.capped,
}

#: Decoders that predict the vertex nearest to the mean.
NEAREST = (Nearest, Randomized, Sampled)


def outputs_of(estimator):
    """Arrays and roles by which scores become predictions; a ValueError where that is not known."""
    space = estimator.space_
    if is_regressor(estimator):
        unit = {"unit": np.float64(space.scale), "centre": np.float64(space.centre)}
        return unit, {"predict": plain.number}
    arrays = _labels(estimator, space)
    if isinstance(estimator, MarginLearner):
        return arrays, {"predict": _largest(space)}
    decoder = estimator._decoder()
    if type(decoder) not in (*NEAREST, MAP, MinimumRisk, GapDecoder, ByThreshold):
        refuse(estimator, f"with decoder={estimator.decoder!r}")
    if type(space) is LabelSequence:
        return _of_sequences(estimator, space, decoder, arrays)
    if type(space) is Signs:
        return arrays, _of_signs(estimator)
    made, roles = _means(estimator, space, estimator.loss_)
    if not roles and type(decoder) is MinimumRisk and getattr(space, "costs_", None) is not None:
        refuse(estimator, f"with loss={estimator.loss!r} and costs")
    arrays |= made
    return arrays, roles | {"predict": _decoded(space, decoder if roles else MAP(), arrays)}


def _labels(estimator, space):
    """Arrays of the space: its classes, costs, how many labels."""
    if type(space) not in (Simplex, Signs, *(kind for kind, _ in MEANS), LabelSequence):
        refuse(estimator, f"over {type(space).__name__}, whose outputs numpy alone does not find,")
    arrays = {}
    if type(space) in (Simplex, Signs, OrdinalChain, LabelSequence):
        arrays["classes"] = _plain_classes(estimator, space.classes_)
    if type(space) is KSubsets:
        arrays["k"] = np.int64(space.k)
    return arrays


def _plain_classes(estimator, classes):
    """Classes as an array that a file can hold without pickles."""
    found = np.array(classes.tolist()) if classes.dtype.kind == "O" else classes
    if found.dtype.kind == "O" or found.tolist() != classes.tolist():
        refuse(estimator, f"with classes of mixed or other types, {classes.tolist()[:3]!r},")
    return found


def _largest(space):
    """What a margin learner predicts: the output of the largest score."""
    over = {
        Simplex: plain.largest,
        OrdinalChain: plain.largest,
        Hypercube: plain.labels_positive,
        Permutahedron: plain.ranks,
        KSubsets: plain.top_k,
        LabelSequence: chained.best_labels,
    }
    return over[type(space)]


def _of_signs(estimator):
    """Of classes with a score each against the rest."""
    roles = {"predict": plain.largest_or_positive}
    known = {"predict_proba": plain.proba_of_signs} if estimator.loss_.has_probabilities else {}
    return roles | known


def _means(estimator, space, loss):
    """The arrays and functions of means that are probabilities; none where they are vertices."""
    if not isinstance(loss, FenchelYoung) and not (
        type(loss) is GapSurrogate and loss.has_probabilities
    ):
        if type(loss) not in (ZeroOneLoss, IndicatorMargins, GapSurrogate):
            refuse(estimator, f"with {loss!r}")
        return {}, {}
    regularizer = loss._terms()[1] if isinstance(loss, FenchelYoung) else Shannon()
    mean = MEANS.get((type(space), type(regularizer)))
    if mean is None:
        refuse(estimator, f"with {regularizer!r}")
    arrays = {"alpha": np.float64(regularizer.alpha)} if mean is plain.entmax else {}
    if type(space) is Permutahedron:
        return arrays, {"mean": mean}
    graded = type(space) is OrdinalChain
    return arrays, {"mean": mean, "predict_proba": plain.proba_of_grades if graded else plain.proba}


def _decoded(space, decoder, arrays):
    """The function that predicts, by a space and a decoder; it may add to the arrays."""
    kind = type(decoder)
    nearest = kind in NEAREST or kind is MinimumRisk
    if kind is MinimumRisk and getattr(space, "costs_", None) is not None:
        arrays["costs"] = space.costs_
        return plain.least_risk
    if type(space) is Hypercube:
        cut = decoder._thresholds(space.dim_) if kind is ByThreshold else 0.5
        arrays["threshold"] = np.asarray(cut, dtype=np.float64)
        return plain.labels_positive if kind is MAP else plain.labels_above
    if type(space) is OrdinalChain:
        return plain.nearest_grade if nearest else plain.best_grade
    if type(space) is Simplex:
        return plain.likeliest if nearest else plain.largest
    return plain.ranks if type(space) is Permutahedron else plain.top_k


def _of_sequences(estimator, space, decoder, arrays):
    """Of label sequences."""
    kind, projects = type(decoder), estimator.loss_.projects
    if projects and kind is not MAP:
        refuse(estimator, f'with regularizer="squared" and decoder={estimator.decoder!r}')
    roles = {} if projects else {"predict_marginals": chained.chain_marginals}
    if kind is MAP:
        return arrays, roles | {"predict": chained.best_labels}
    if kind is MinimumRisk:
        return arrays | {"costs": space.costs_}, roles | {"predict": chained.labels_of_least_risk}
    return arrays, roles | {"predict": chained.nearest_labels}
