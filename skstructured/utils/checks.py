"""Checks for your own learners and spaces, in the manner of scikit-learn's check_estimator."""

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from unittest import SkipTest

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.display import RegretDisplay
from skstructured.extend._types import Given, Outputs
from skstructured.extend.learner import OnlineLearner
from skstructured.extend.output_space import OutputSpace
from skstructured.utils._learner_checks import (
    PROTOCOL_CHECKS,
    LearnerTrial,
    assert_parameters_kept,
    assert_refused,
    assert_same,
    has_argument,
    learns_in_parts,
    reads_gaps,
    reads_sparse,
    wrong_outputs,
)
from skstructured.utils._space_checks import SPACE_CHECKS, SpaceTrial

__all__ = ["check_learner", "check_space", "learner_checks", "space_checks"]


def check_pickle(trial):
    """A learner that was pickled predicts the same, and goes on learning the same."""
    model, rounds = trial.learned(trial.half)
    other = pickle.loads(pickle.dumps(model))
    assert_same(trial.observe(model, rounds), trial.observe(other, rounds), "after pickling")
    wanted, got = trial.goes_on(model, rounds), trial.goes_on(other, rounds)
    assert_same(wanted, got, "rounds learned after pickling")


def check_clone(trial):
    """A clone of a learner that has learned is new, and learns the same."""
    model, rounds = trial.learned(trial.n)
    other = clone(model)
    assert not hasattr(other, "t_"), "a clone has t_"
    its = trial.begin(other)
    other.learn(its, trial.every)
    assert_same(trial.observe(model, rounds), trial.observe(other, its), "learned by a clone")


def check_parameters_are_kept(trial):
    """Learning changes no parameter, nor what is inside one."""
    model = trial.new()
    assert_parameters_kept(model, lambda: model.learn(trial.begin(model), trial.every), "learning")


def check_random_state(trial):
    """Two learners with the same ``random_state`` play and learn the same."""
    found = []
    for _ in range(2):
        model, rounds = trial.begun()
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append(losses._asdict() | trial.observe(model, rounds))
    assert_same(*found, "played again with the same random_state")


def check_sparse_rows(trial):
    """CSR rows are played, learned and predicted as dense ones, up to rounding.

    Not so where they are standardised, which only dense rows are centred for.
    """
    X = trial.X * (np.random.RandomState(0).rand(*trial.X.shape) < 0.5)
    found, trial = [], trial.without("standardize")
    for rows in (X, sparse.csr_matrix(X)):
        model, rounds = trial.begun(rows)
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append(losses._asdict() | trial.predictions(model, rows))
    assert_same(*found, "CSR rows", 1e-7)


def check_weight_zero(trial):
    """A row of weight zero is as one left out, however large."""
    rng, X = np.random.RandomState(0), trial.X.copy()
    weight, out = rng.randint(1, 4, size=trial.n) / 2.0, trial.every % 7 == 3
    X[out] *= 1000.0
    weight[out] = 0.0
    whole = trial.learn_part(trial.new(), X, trial.y, sample_weight=weight)
    rest = trial.new()
    trial.learn_part(rest, X[~out], trial.y[~out], sample_weight=weight[~out])
    wanted, got = trial.predictions(rest), trial.predictions(whole)
    assert_same(wanted, got, "rows of weight zero and without them", 1e-7)


def _takes_weights(trial):
    return learns_in_parts(trial) and has_argument(trial.subject.partial_fit, "sample_weight")


def check_wrong_rows_are_refused(trial):
    """NaN, unless tags allow it, infinity, and a wrong width are ValueErrors and change nothing."""

    def calls(model):
        for what, X, fitted in _wrong_rows(trial.X, reads_gaps(trial.subject)):
            for name, learn in _learning(trial, model, fitted).items():
                yield f"{what} in {name}", lambda learn=learn, X=X: learn(X, trial.y)
            for name in trial.predictions(model):
                yield f"{what} in {name}", lambda name=name, X=X: getattr(model, name)(X)

    _refuses(trial, calls)


def _wrong_rows(X, has_gaps):
    """What is wrong, rows, and whether only a fitted learner can tell."""
    for value in (np.inf, -np.inf) if has_gaps else (np.nan, np.inf, -np.inf):
        wrong = X.copy()
        wrong[len(X) // 2, -1] = value
        yield f"{value} in a row", wrong, False
    yield "rows without their last feature", X[:, :-1], True
    yield "rows with a feature more", np.hstack([X, X[:, :1]]), True


def check_wrong_outputs_are_refused(trial):
    """Outputs that the space does not have are ValueErrors and change nothing."""

    def calls(model):
        for what, y in wrong_outputs(trial.y):
            for name, learn in _learning(trial, model, True).items():
                yield f"{what} in {name}", lambda learn=learn, y=y: learn(trial.X, y)
            if trial.classes is not None:
                yield f"{what} in begin", lambda y=y: trial.begin(model, y=y)

    _refuses(trial, calls)


def check_wrong_lengths_are_refused(trial):
    """More rows than outputs or fewer are ValueErrors and change nothing; so is one output."""

    def calls(model):
        for rows, outputs in ((trial.n, trial.n - 1), (trial.n - 1, trial.n), (trial.n, 1)):
            for name, learn in _learning(trial, model, False).items():
                what = f"{rows} rows and {outputs} outputs in {name}"
                yield what, lambda learn=learn, n=rows, m=outputs: learn(trial.X[:n], trial.y[:m])

    _refuses(trial, calls)


def _learning(trial, model, fitted):
    """Name -> the ways to learn (X, y); those that begin anew are left out where `fitted`."""
    ways = {}
    if hasattr(model, "partial_fit"):
        ways["partial_fit"] = lambda X, y: trial.learn_part(model, X, y)
    if not fitted:
        ways["begin"] = lambda X, y: trial.begin(model, X, y)
        if hasattr(model, "fit"):
            ways["fit"] = model.fit
    return ways


def _refuses(trial, calls):
    """Whether a learner refuses calls, and is as before after each of them and after all."""
    model, rounds = trial.learned(trial.half)
    before, after = trial.observe(model, rounds), trial.goes_on(model, rounds)
    for what, call in calls(model):
        assert_refused(call, what)
        assert_same(before, trial.observe(model, rounds), f"after {what}")
    assert_same(after, trial.goes_on(model, rounds), "rounds learned after wrong input")


#: check -> whether it applies; None: always.
ESTIMATOR_CHECKS = {
    check_pickle: None,
    check_clone: None,
    check_parameters_are_kept: None,
    check_random_state: None,
    check_sparse_rows: reads_sparse,
    check_weight_zero: _takes_weights,
    check_wrong_rows_are_refused: None,
    check_wrong_outputs_are_refused: None,
    check_wrong_lengths_are_refused: None,
}


#: Bounds with probability 1 − RARELY are checked as if they were certain.
RARELY = 1e-6


def _validated(trial, estimator=None, **more):
    """A progressive validation of a new learner on the trial's stream."""
    estimator = trial.new() if estimator is None else estimator
    return progressive_validate(
        estimator, trial.X, trial.y, random_state=0, classes=trial.classes, **more
    )


def _losses(result):
    names = ("target_loss", "expected_target_loss", "surrogate_loss")
    return {name: getattr(result, name) for name in names}


def check_progressive_validation(trial):
    """Every round is played and learned by a clone; batches are played before they are learned."""
    result, (model, rounds) = _validated(trial), trial.begun()
    assert result.estimator.t_ == trial.n, f"{result.estimator.t_} of {trial.n} rounds learned"
    played = model.play_and_learn(rounds, trial.every, 0)
    wanted = dict(zip(_losses(result), played, strict=True))
    assert_same(wanted, _losses(result), "progressive_validate and play_and_learn")
    batches, (model, rounds) = _validated(trial, batch_size=trial.half), trial.learned(trial.half)
    second = trial.every[trial.half : 2 * trial.half]
    wanted = {"expected": model.play(rounds, second, 0).expected}
    got = {"expected": batches.expected_target_loss[second]}
    assert_same(wanted, got, "a second batch", 1e-9)


def check_pipeline(trial):
    """Behind a fitted scaler a learner plays and learns the scaled rows."""
    scaler = StandardScaler().fit(trial.X)
    behind = _validated(trial, make_pipeline(scaler, trial.new()))
    model, rounds = trial.begun(scaler.transform(trial.X))
    played = model.play_and_learn(rounds, trial.every, 0)
    wanted = dict(zip(_losses(behind), played, strict=True))
    assert_same(wanted, _losses(behind), "behind a StandardScaler")


def check_round_weights(trial):
    """`round_weights` are positive, one per round, of mean 1."""
    weight = trial.learned(trial.n)[0].round_weights(trial.n)
    assert np.shape(weight) == (trial.n,), f"round_weights are of shape {np.shape(weight)}"
    assert np.min(weight) > 0.0, f"a weight is {np.min(weight):.3g}"
    assert abs(np.mean(weight) - 1.0) <= 1e-9, f"their mean is {np.mean(weight):.6g}, not 1"


def check_certificate(trial):
    """A bound is finite and was kept, or a `GuaranteeError` says why there is none."""
    result = _validated(trial)
    for delta, loss in ((None, result.expected_target_loss), (RARELY, result.target_loss)):
        kind, (bound, why) = f"the bound with delta={delta}", _bound(result, delta)
        if bound is None:
            assert len(why.split()) > 3, f"a GuaranteeError must say why, got {why!r}"
        else:
            total = float(result.weight @ loss)
            assert np.isfinite(bound), f"{kind} is {bound}"
            assert total <= bound * (1.0 + 1e-9), f"{kind} is {bound:.6g}, the loss {total:.6g}"


def _bound(result, delta=None):
    """The bound of a run, or None; and why there is none."""
    try:
        return result.regret_bound(delta=delta), ""
    except GuaranteeError as error:
        return None, str(error)


def check_display(trial):
    """A `RegretDisplay` draws the cumulative expected loss, and the bound where there is one."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SkipTest("matplotlib is not installed") from error
    result = _validated(trial)
    display = RegretDisplay.from_result(result, ax=Figure().subplots())
    lines, (bound, _) = display.lines_[0], _bound(result)
    curve = np.cumsum(result.weight * result.expected_target_loss)
    wanted = {"rounds": trial.every + 1, "losses": curve}
    got = {"rounds": lines["loss"].get_xdata(), "losses": lines["loss"].get_ydata()}
    assert_same(wanted, got, "the curve of losses", 1e-12)
    assert ("bound" in lines) == (bound is not None), "a bound is drawn where there is none"
    if bound is not None:
        drawn = {"bound": lines["bound"].get_ydata()[-1]}
        assert_same({"bound": bound}, drawn, "the end of the curve of bounds", 1e-9)


#: check -> whether it applies; None: always.
EVALUATION_CHECKS = {
    check_progressive_validation: None,
    check_pipeline: None,
    check_round_weights: None,
    check_certificate: None,
    check_display: None,
}


def check_learner(
    learner: OnlineLearner, X: Given = None, y: Outputs | None = None, classes: Given = None
) -> None:
    """Check that a learner keeps what the protocol of `OnlineLearner` promises.

    Begins forget, plays learn nothing, no output enters what is played before its round, chunks
    are as good as one pass, bad input is refused and changes nothing, copies go on alike, a
    certificate holds. What a learner does not have (``partial_fit``, sparse rows, …) is not asked
    of it.

    Parameters
    ----------
    learner : OnlineLearner
        The learner; it is not changed.
    X : array-like of shape (n, p) or None, default=None
        Rows of a stream to try it on, 20 or more; None makes one of three classes.
    y : array-like or None, default=None
        Its outputs; for learners over another space than classes.
    classes : array-like or None, default=None
        All labels; None takes those of y, where outputs are labels.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the learner, the check and what is wrong.
    TypeError
        If it is no `OnlineLearner`.
    ValueError
        For X without y, y without X, or fewer than 20 rows.

    Warns
    -----
    SkipTestWarning
        For a check that needs a package that is not installed, or a space with listed vertices.

    See Also
    --------
    learner_checks : The checks one by one, for pytest.

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
    """The checks of `check_learner` one by one.

    Parameters
    ----------
    learner : OnlineLearner
        The learner; it is not changed.
    X, y, classes : array-like or None, default=None
        A stream to try it on, 20 rows or more, and all labels; None makes one of three classes.

    Yields
    ------
    name : str
        What is checked.
    check : callable
        Without arguments; raises an AssertionError if the learner fails, or unittest's SkipTest.

    Raises
    ------
    TypeError
        If it is no `OnlineLearner`.
    ValueError
        For X without y, y without X, or fewer than 20 rows.

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
    trial = LearnerTrial(learner, X, y, classes)
    yield from _named(trial, PROTOCOL_CHECKS | ESTIMATOR_CHECKS | EVALUATION_CHECKS)


def check_space(space: OutputSpace, outputs: Outputs) -> None:
    """Check that an output space keeps what learners, losses and bounds rely on.

    Its oracle is exact, draws have the mean they were drawn with, the target loss lies in [0, 1]
    and is affine in the prediction, the constants of `geometry` are true, bad outputs are refused.

    Parameters
    ----------
    space : OutputSpace
        Fitted, or not: then `outputs` fit a clone. It is not changed.
    outputs : array-like
        Example outputs as users write them, two different ones or more; the more the better where
        `vertices` does not list all of them.

    Raises
    ------
    AssertionError
        At the first check that fails; the message names the space, the check and what is wrong.
    TypeError
        If it is no `OutputSpace`.

    See Also
    --------
    space_checks : The checks one by one, for pytest.

    Examples
    --------
    >>> from skstructured.spaces import KSubsets
    >>> from skstructured.utils import check_space
    >>> check_space(KSubsets(k=2), [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])
    """
    _run_all(space_checks(space, outputs))


def space_checks(space: OutputSpace, outputs: Outputs) -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks of `check_space` one by one.

    Parameters
    ----------
    space : OutputSpace
        Fitted, or not: then `outputs` fit a clone. It is not changed.
    outputs : array-like
        Example outputs as users write them, two different ones or more.

    Yields
    ------
    name : str
        What is checked.
    check : callable
        Without arguments; raises an AssertionError if the space fails.

    Raises
    ------
    TypeError
        If it is no `OutputSpace`.

    Examples
    --------
    >>> from skstructured.spaces import Simplex
    >>> from skstructured.utils import space_checks
    >>> for name, check in space_checks(Simplex(), ["ham", "spam", "eggs"]):
    ...     check()
    """
    if not isinstance(space, OutputSpace):
        raise TypeError(f"space must be an OutputSpace, got {space!r}.")
    yield from _named(SpaceTrial(space, outputs), SPACE_CHECKS)


def _named(trial, checks):
    """Name and callable of the checks that apply."""
    for check, applies in checks.items():
        if applies is None or applies(trial):
            yield check.__name__, partial(_run, trial, check)


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
