"""The loss and the optimizer of learners over any space, by their parameters."""

from skstructured._base.validation import check_weights
from skstructured._learners.weights import with_class_weights
from skstructured.decoders import resolve_decoder
from skstructured.extend.learner import Batch
from skstructured.losses import fenchel_young_of, resolve_surrogate
from skstructured.optimizers import resolve_optimizer
from skstructured.sequences._decoding import fenchel_young_over
from skstructured.sequences._model import sequence_optimizer


def is_auto(value):
    """Whether a parameter is chosen by the learning task."""
    return isinstance(value, str) and value == "auto"


def draw_seeds(rng, size=None):
    """A random seed, or an array of them."""
    return rng.randint(2**31 - 1, size=size)


def given_decoder(learner):
    """The decoder of a learner's parameter."""
    return resolve_decoder(learner.decoder)


def pack_outputs(learner, y, sample_weight):
    """Packed outputs of a fitted space, and their weights; sets `classes_`."""
    space = learner.space_
    vars(learner).pop("classes_", None)  # of another space
    if space.task is not None or hasattr(space, "classes_"):
        learner.classes_ = getattr(space, "classes_", space.label_names())
    packed = space.pack(y)
    weight = check_weights(sample_weight, packed, len(packed))
    if learner.class_weight is not None:
        weight = with_class_weights(learner, Batch(None, packed, weight), False).weights
    return packed, weight


def resolve_loss_and_optimizer(learner, space, columns, mixes, most_weights=1 << 20):
    """The loss and the optimizer of a learner over a fitted space, for rows of so many features.

    "auto" is a mixture, unless it `mixes` none, and for too many weights: each expert has as many.
    """
    template, optimizer = fenchel_young_of(learner.loss), learner.optimizer
    if template is None:
        loss = resolve_surrogate(learner.loss, space)
    else:
        loss = fenchel_young_over(space, *template.terms(space, learner.regularizer))
    if is_auto(optimizer):
        is_cheap = space.dim_ * (columns + 1) <= most_weights
        optimizer = "mixture" if is_cheap and mixes else "parameter_free"
    resolve = sequence_optimizer if space.reader.has_sequences else resolve_optimizer
    return loss, resolve(optimizer)
