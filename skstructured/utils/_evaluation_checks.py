"""Checks of what is said of a run: progressive validation, certificates, displays."""

from unittest import SkipTest

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.display import RegretDisplay
from skstructured.utils._trial import assert_same

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
