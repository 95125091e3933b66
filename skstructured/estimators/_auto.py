"""The loss and the optimizer of learners over any space, by their parameters."""

from skstructured.decoders import resolve_decoder
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


def resolve_loss_and_optimizer(learner, space, columns, mixes=True, most_weights=1 << 20):
    """The loss and the optimizer of a learner over a fitted space, for rows of so many features.

    "auto" is a mixture, unless it `mixes` none, and for too many weights: each expert has as many.
    """
    given_decoder(learner)
    requested_loss, optimizer = learner.loss, learner.optimizer
    if fenchel_young_of(requested_loss) is None:
        loss = resolve_surrogate(requested_loss, space)
    else:
        terms = fenchel_young_of(requested_loss).terms(space, learner.regularizer)
        loss = fenchel_young_over(space, *terms)
    if is_auto(optimizer):
        is_cheap = space.dim_ * (columns + 1) <= most_weights and not learner._many_passes
        optimizer = "mixture" if is_cheap and mixes else "parameter_free"
    resolve = sequence_optimizer if space.reader.has_sequences else resolve_optimizer
    return loss, resolve(optimizer)
