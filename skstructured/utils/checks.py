"""Checks for custom learners and spaces, in the manner of scikit-learn's check_estimator."""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from unittest import SkipTest

from sklearn.exceptions import SkipTestWarning

from skstructured.extend._types import Given, Outputs
from skstructured.extend.learner import OnlineLearner
from skstructured.extend.output_space import OutputSpace
from skstructured.utils._learner_checks import LearnerTrial
from skstructured.utils._space_checks import SpaceTrial


def check_learner(
    learner: OnlineLearner, X: Given = None, y: Outputs | None = None, classes: Given = None
) -> None:
    """Check that a learner keeps the protocol of `OnlineLearner`.

    `begin` forgets, plays learn no rows, and no output changes the plays before its round. Chunks
    of any size give the same result. Bad input raises an error and changes no state. Copies
    continue alike, and a certificate holds. Checks of members that a learner does not have
    (``partial_fit``, sparse rows, …) are left out.

    Parameters
    ----------
    learner : OnlineLearner
        The learner; it is not changed.
    X : array-like of shape (n, p) or None, default=None
        Rows of a stream for the checks, 20 or more; None makes one of three classes.
    y : array-like or None, default=None
        Its outputs; for learners over another space than classes.
    classes : array-like or None, default=None
        All labels; None uses those of y, if outputs are labels.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the learner, the check and the fault.
    TypeError
        If it is not an `OnlineLearner`.
    ValueError
        For X without y, y without X, or fewer than 20 rows.

    Warns
    -----
    SkipTestWarning
        For a check that needs a space with listed vertices.

    See Also
    --------
    learner_checks : The checks one by one, for pytest.
    check_space : Check a custom space.

    Examples
    --------
    >>> from skstructured import MulticlassPerceptron, OnlineStructuredPredictor
    >>> from skstructured.utils import check_learner
    >>> check_learner(MulticlassPerceptron())

    A learner of multilabel outputs:

    >>> import numpy as np
    >>> X = np.random.RandomState(0).randn(30, 4)
    >>> check_learner(OnlineStructuredPredictor(space="hypercube"), X, X[:, :3] > 0.5)
    """
    _run_all(learner_checks(learner, X, y, classes))


def learner_checks(
    learner: OnlineLearner, X: Given = None, y: Outputs | None = None, classes: Given = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the checks of `check_learner` one by one.

    Parameters
    ----------
    learner : OnlineLearner
        The learner; it is not changed.
    X, y, classes : array-like or None, default=None
        A stream for the checks, 20 rows or more, and all labels; None makes one of three classes.

    Yields
    ------
    name : str
        The name of the check.
    check : callable
        Without arguments; raises an AssertionError if the learner fails, or unittest's SkipTest.

    Raises
    ------
    TypeError
        If it is not an `OnlineLearner`.
    ValueError
        For X without y, y without X, or fewer than 20 rows.

    See Also
    --------
    check_learner : All checks in one call.
    space_checks : The checks of a space.

    Examples
    --------
    >>> from skstructured import GaptronClassifier
    >>> from skstructured.utils import learner_checks
    >>> checks = dict(learner_checks(GaptronClassifier()))
    >>> checks["check_play_learns_nothing"]()

    With pytest::

        @pytest.mark.parametrize(("name", "check"), learner_checks(MyLearner()))
        def test_my_learner(name, check):
            check()
    """
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"learner must be an OnlineLearner, got {learner!r}.")
    yield from _named(LearnerTrial(learner, X, y, classes))


def check_space(space: OutputSpace, outputs: Outputs) -> None:
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

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the space, the check and the fault.
    TypeError
        If it is not an `OutputSpace`.

    See Also
    --------
    space_checks : The checks one by one, for pytest.
    check_learner : Check a custom learner.

    Examples
    --------
    >>> from skstructured.spaces import Hypercube
    >>> from skstructured.utils import check_space
    >>> check_space(Hypercube(), [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    """
    _run_all(space_checks(space, outputs))


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
    learner_checks : The checks of a learner.

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


def _named(trial):
    """Name and callable of the checks in the module of a trial that apply to it."""
    module = sys.modules[type(trial).__module__]
    for name, check in vars(module).items():
        own = name.startswith("check_") and check.__module__ == module.__name__
        if own and module.ONLY.get(check, bool)(trial):
            yield name, partial(_run, trial, check)


def _run(trial, check):
    try:
        check(trial)
    except AssertionError as error:
        raise AssertionError(f"{trial.subject!r} fails {check.__name__}: {error}") from error
    except SkipTest:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise AssertionError(f"{trial.subject!r} fails {check.__name__} with {what}") from error


def _run_all(checks):
    for name, check in checks:
        try:
            check()
        except SkipTest as reason:
            warnings.warn(f"{name} was skipped: {reason}", SkipTestWarning, stacklevel=3)
