"""The optimiser that "auto" stands for."""

from skstructured.optimizers import resolve_optimizer
from skstructured.sequences._model import sequence_optimizer
from skstructured.spaces import LabelSequence

#: The optimiser that is chosen by what is to be learned.
AUTO = "auto"

#: "auto" mixes steps for at most so many weights, because every expert has as many.
MOST_WEIGHTS = 1 << 20


def optimizer_for(learner, space, size):
    """The optimiser of a learner over a fitted space, of so many weights."""
    given, chains = learner.optimizer, isinstance(space, LabelSequence)
    if is_auto(given):
        mixed = size <= MOST_WEIGHTS and not learner._many_passes
        mixed = mixed and getattr(learner, "_mixes", True)
        given = "mixture" if mixed else "parameter_free"
    return (sequence_optimizer if chains else resolve_optimizer)(given)


def is_auto(given):
    """Whether an optimiser is chosen by what is to be learned."""
    return isinstance(given, str) and given == AUTO
