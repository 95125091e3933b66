"""How an exported model scores rows: the arrays it needs, and the functions for their roles."""

import numpy as np

import skstructured.checkpoints._plain_chains as chained
import skstructured.checkpoints._plain_functions as plain
import skstructured.checkpoints._plain_logistic as logistic
from skstructured._base.rows_in_range import takes_gaps
from skstructured._engine.mixing import FLOOR, LABELS, SCORES
from skstructured._engine.standardize import RunningScale
from skstructured._learners.linear import LinearModel
from skstructured._learners.mixture import MixtureModel
from skstructured.checkpoints._schema import is_of_the_package
from skstructured.estimators.crf import ConditionalRandomField
from skstructured.estimators.kernel._margin_base import ResidualRegressor
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic._mixture import Mixture
from skstructured.estimators.logistic._state import FullMatrix
from skstructured.estimators.margin._base import MarginLearner
from skstructured.sequences._mixture import ChainMixture
from skstructured.sequences._model import ChainModel
from skstructured.spaces.simplex import log_softmax

EXPORTED = (
    "to_numpy exports OnlineStructuredPredictor, GaptronClassifier, MulticlassPerceptron, "
    "ConditionalRandomField, MaxMinMarginNetwork, StructuralSVM and QuadraticSurrogate with a "
    "linear kernel, PiSTOLClassifier and PiSTOLRegressor with a linear kernel, FolkloreClassifier "
    'and AioliClassifier with structure="full"'
)


def refuse(estimator, what):
    """Raise the ValueError that names what is not exported."""
    raise ValueError(f"{type(estimator).__name__} {what} is not exported: {EXPORTED}.")


def scores_of(estimator):
    """Arrays and roles by which a fitted estimator's scores are computed; a ValueError if none."""
    kind = type(estimator)
    if not is_of_the_package(kind.__module__, kind.__qualname__):
        refuse(estimator, "is not an estimator of this package, and")
    if isinstance(estimator, LogisticLearner):
        return _logistic(estimator)
    if isinstance(estimator, (ConditionalRandomField, MarginLearner)):
        return _batch(estimator)
    model = getattr(estimator, "_model", None)
    known = type(model) in (LinearModel, MixtureModel, ChainModel, ChainMixture)
    if not known or type(model.scale) is not RunningScale:
        kernel = getattr(estimator, "kernel", None)
        refuse(estimator, "" if kernel is None else f"with kernel={kernel!r}")
    return _online(estimator, model)


def _rows(estimator, fill, indicators=False):
    """What is done to rows before all else, and the array for it."""
    arrays = {"fill": fill if takes_gaps(estimator) else np.full(len(fill), np.nan)}
    return arrays, {"rows": plain.with_indicators if indicators else plain.filled}


def _split(W, width, intercept):
    """Weights (…, dim, p) and intercepts (…, dim)."""
    none = np.zeros(W.shape[:-1])
    return {"coef": W[..., :width], "intercept": W[..., width] if intercept else none}


def _online(estimator, model):
    """Those of a learner in one pass, over `model`."""
    scale, averaged = model.scale, bool(estimator.average)
    arrays, roles = _rows(estimator, scale.completed_by(), scale.indicators)
    if isinstance(model, ChainModel):
        return _chains(estimator, model, arrays, roles)
    if not isinstance(model, MixtureModel) or model.state.kind == SCORES:
        W = estimator._weights(averaged)
        return arrays | _split(W, model.width, model.intercept), roles | {"scores": plain.linear}
    arrays |= _split(model._matrices(), model.width, model.intercept)
    arrays |= {"shares": model.shares(averaged).sum(axis=1), "floor": np.float64(FLOOR)}
    labels = model.state.kind == LABELS
    return arrays, roles | {"scores": plain.mixed_labels if labels else plain.mixed_classes}


def _chains(estimator, model, arrays, roles):
    """Those of an online learner of sequences."""
    W, k = estimator._weights(bool(estimator.average)), model.space.dim_
    arrays |= _split(W, model.width, model.intercept)
    arrays |= {"start": W[:, -k - 2], "end": W[:, -k - 1], "transitions": W[:, -k:].T}
    return arrays, roles | {"chains": chained.with_bigrams}


def _batch(estimator):
    """Those of a learner in batch with a linear kernel."""
    if not hasattr(estimator, "coef_"):
        refuse(estimator, f"with kernel={estimator.kernel!r}")
    arrays, roles = _rows(estimator, estimator._means)
    arrays |= {"coef": estimator.coef_, "intercept": estimator.intercept_}
    if not hasattr(estimator, "transitions_"):
        return arrays, roles | {"scores": plain.linear}
    for name in ("start", "end", "transitions"):
        arrays[name] = getattr(estimator, f"{name}_")
    if not hasattr(estimator, "transition_coef_"):
        return arrays, roles | {"chains": chained.with_bigrams}
    arrays["transition_coef"] = estimator.transition_coef_
    return arrays, roles | {"chains": chained.with_feature_steps}


def _logistic(estimator):
    """Those of a second-order logistic learner, which has no weights."""
    kept = estimator._kept if estimator.iterate == "random" else None
    weights, scale = kept or (estimator._weights, estimator._scale)
    parts = weights.parts if isinstance(weights, Mixture) else (weights,)
    if any(type(part) is not FullMatrix for part in parts):
        structure = getattr(estimator, "structure", None)
        refuse(estimator, "" if structure is None else f"with structure={structure!r}")
    arrays, roles = _rows(estimator, scale.completed_by(), scale.indicators)
    mixed = isinstance(weights, Mixture)
    shares = log_softmax(-weights.losses[None] / weights.heaviest)[0] if mixed else np.zeros(1)
    inverses = [_whole(part.P, len(part.Q)) for part in parts]
    means, inverse = scale.affine()
    arrays |= {
        "means": means,
        "inverse": inverse,
        "intercept": np.float64(estimator._intercept),
        "R": np.float64(estimator._limit.R),
        "refuses": np.bool_(estimator._limit.refuses),
        "Q": parts[0].Q,
        "P": np.array(inverses),
        "H": np.einsum("nijab,njb->nia", np.array(inverses), np.array([w.G for w in parts])),
        "shares": np.exp(shares),
    }
    return arrays, roles | {"scores": logistic.improper}


def _whole(blocks, r):
    """P (r, r, p, p) of its blocks i ≤ j."""
    P, at = np.empty((r, r, *blocks.shape[1:])), 0
    for i in range(r):
        for j in range(i, r):
            P[i, j], P[j, i] = blocks[at], blocks[at].T
            at += 1
    return P


def is_regressor(estimator):
    """Whether predictions are numbers."""
    return isinstance(estimator, ResidualRegressor)
