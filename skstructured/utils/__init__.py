"""Checks for authors of components, in the manner of scikit-learn's check_estimator."""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from unittest import SkipTest

from sklearn.exceptions import SkipTestWarning

from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Surrogate
from skstructured.utils._component_checks import DecoderTrial, LossTrial, StreamTrial, three_classes
from skstructured.utils._space_checks import SpaceTrial

__all__ = [
    "check_decoder",
    "check_loss",
    "check_optimizer",
    "check_space",
    "loss_checks",
    "space_checks",
]


def check_space(space: OutputSpace, outputs: Outputs) -> str:
    """Check the properties of an output space that learners, losses and bounds rely on.

    Its oracle is exact, draws have the mean they were drawn with, the target loss is in [0, 1] and
    affine in the prediction, the constants of `geometry` are true, bad outputs raise an error.

    Parameters
    ----------
    space : OutputSpace
        Fitted, or not: then `outputs` fit a clone. It is not changed.
    outputs : array-like
        Example outputs as users write them, at least two different ones. If `vertices` does not
        list all outputs, more examples make a better check.

    Returns
    -------
    str
        How many checks passed, and how many were skipped.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the space, the check and the fault.
    TypeError
        If it is not an `OutputSpace`.

    See Also
    --------
    space_checks : The checks one by one, for pytest.
    check_loss : Check a custom loss.

    Examples
    --------
    >>> from skstructured.spaces import Hypercube
    >>> from skstructured.utils import check_space
    >>> check_space(Hypercube(), [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    '14 checks passed, 0 skipped'
    """
    return _run_all(space_checks(space, outputs))


def space_checks(space: OutputSpace, outputs: Outputs) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the checks of `check_space` one by one.

    Parameters
    ----------
    space : OutputSpace
        Fitted, or not: then `outputs` fit a clone. It is not changed.
    outputs : array-like
        Example outputs as users write them, at least two different ones.

    Yields
    ------
    name : str
        The name of the check.
    check : callable
        Without arguments; raises an AssertionError if the space fails.

    Raises
    ------
    TypeError
        If it is not an `OutputSpace`.

    See Also
    --------
    check_space : All checks in one call.
    loss_checks : The checks of a loss.

    Examples
    --------
    >>> from skstructured.spaces import Simplex
    >>> from skstructured.utils import space_checks
    >>> for name, check in space_checks(Simplex(), ["ham", "spam", "eggs"]):
    ...     check()
    """
    if not isinstance(space, OutputSpace):
        raise TypeError(f"space must be an OutputSpace, got {space!r}.")
    yield from _named(SpaceTrial(space, outputs))


def check_loss(loss: Surrogate, space: str | OutputSpace, outputs: Outputs) -> str:
    """Check the properties of a custom loss that optimizers and decoders rely on.

    Its kernel has the right arguments and writes the gradient of the value that it returns, with
    its sign. Scores of the true output have the least loss. No gradient is longer than `lipschitz`.
    A loss with another update than its gradient, such as `ZeroOneLoss`, does not pass.

    Parameters
    ----------
    loss : Surrogate
        The loss; it is not changed.
    space : str or OutputSpace
        The space for which it is checked, as for a learner.
    outputs : array-like
        Example outputs as users write them, at least two different ones.

    Returns
    -------
    str
        How many checks passed, and how many were skipped.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the loss, the check and the fault.
    TypeError
        If it is not a `Surrogate`.

    See Also
    --------
    loss_checks : The checks one by one, for pytest.
    check_space, check_optimizer : Check a custom space or optimizer.

    Examples
    --------
    >>> from skstructured.losses import GapSurrogate
    >>> from skstructured.utils import check_loss
    >>> check_loss(GapSurrogate(kind="smooth_hinge"), "multiclass", ["ham", "spam", "eggs"])
    '6 checks passed, 0 skipped'
    """
    return _run_all(loss_checks(loss, space, outputs))


def loss_checks(
    loss: Surrogate, space: str | OutputSpace, outputs: Outputs
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the checks of `check_loss` one by one.

    Parameters
    ----------
    loss : Surrogate
        The loss; it is not changed.
    space : str or OutputSpace
        The space for which it is checked.
    outputs : array-like
        Example outputs as users write them, at least two different ones.

    Yields
    ------
    name : str
        The name of the check.
    check : callable
        Without arguments; raises an AssertionError if the loss fails.

    Raises
    ------
    TypeError
        If it is not a `Surrogate`.

    See Also
    --------
    check_loss : All checks in one call.
    space_checks : The checks of a space.

    Examples
    --------
    >>> from skstructured.losses import IndicatorMargins
    >>> from skstructured.utils import loss_checks
    >>> for name, check in loss_checks(IndicatorMargins(), "ordinal", [0, 1, 2]):
    ...     check()
    """
    if not isinstance(loss, Surrogate):
        raise TypeError(f"loss must be a Surrogate, got {loss!r}.")
    yield from _named(LossTrial(loss, space, outputs))


def check_optimizer(optimizer: OnlineOptimizer) -> str:
    """Check the properties of a custom optimizer that learners rely on.

    A linear learner uses it on a convex problem. Its kernels have the right arguments, `init`
    returns a new state that they can use, the loss is not larger after learning, and weights are
    finite. Chunks of any size, pickled copies and CSR rows give the same result. Rows of weight
    zero change nothing. A regret bound holds, or a `GuaranteeError` gives the reason why no bound
    is known.

    Parameters
    ----------
    optimizer : OnlineOptimizer
        The optimizer; it is not changed.

    Returns
    -------
    str
        How many checks passed, and how many were skipped.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the optimizer, the check and the fault.
    TypeError
        If it is not an `OnlineOptimizer`.

    See Also
    --------
    check_loss, check_decoder : Check a custom loss or decoder.

    Examples
    --------
    >>> from skstructured.optimizers import AdaptiveGradientDescent
    >>> from skstructured.utils import check_optimizer
    >>> check_optimizer(AdaptiveGradientDescent())
    '9 checks passed, 0 skipped'
    """
    if not isinstance(optimizer, OnlineOptimizer):
        raise TypeError(f"optimizer must be an OnlineOptimizer, got {optimizer!r}.")
    learner = OnlineStructuredPredictor(optimizer=optimizer)
    return _run_all(_named(StreamTrial(learner, *three_classes())))


def check_decoder(
    decoder: Decoder,
    space: str | OutputSpace = "multiclass",
    outputs: Outputs = ("a", "b", "c"),
    loss: Surrogate | None = None,
) -> str:
    """Check the properties of a custom decoder that predictions and bounds rely on.

    `mixture` returns vertices of the space and probabilities, for each row by itself. Draws have
    the mean loss that `expected_loss` returns.

    Parameters
    ----------
    decoder : Decoder
        The decoder; it is not changed.
    space : str or OutputSpace, default="multiclass"
        The space for which it is checked, as for a learner.
    outputs : array-like, default=("a", "b", "c")
        Example outputs as users write them, at least two different ones.
    loss : Surrogate or None, default=None
        The loss whose means it decodes; None is the `FenchelYoung` loss of the space.

    Returns
    -------
    str
        How many checks passed, and how many were skipped.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the decoder, the check and the fault.
    TypeError
        If it is not a `Decoder`.

    See Also
    --------
    check_space, check_loss : Check a custom space or loss.

    Examples
    --------
    >>> from skstructured.decoders import Randomized
    >>> from skstructured.utils import check_decoder
    >>> check_decoder(Randomized(), "ordinal", [0, 1, 2])
    '3 checks passed, 0 skipped'
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"decoder must be a Decoder, got {decoder!r}.")
    return _run_all(_named(DecoderTrial(decoder, space, outputs, loss)))


def _named(trial):
    """Name and callable of the checks, functions of such a trial, that apply to it."""
    for name, check in vars(sys.modules[type(trial).__module__]).items():
        is_check = getattr(check, "__annotations__", {}) == {"trial": type(trial)}
        if is_check and getattr(check, "applies", bool)(trial):
            yield name, partial(_run, trial, check)


def _run(trial, check):
    try:
        check(trial)
    except SkipTest:
        raise
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f" with {type(error).__name__}"
        message = f"{trial.subject!r} fails {check.__name__}{kind}: {error}"
        raise AssertionError(message) from error


def _run_all(checks):
    """Run the checks; returns how many passed and were skipped, as text."""
    passed = skipped = 0
    for name, check in checks:
        try:
            check()
            passed += 1
        except SkipTest as reason:
            skipped += 1
            warnings.warn(f"{name} was skipped: {reason}", SkipTestWarning, stacklevel=3)
    return f"{passed} checks passed, {skipped} skipped"
