"""The passes of `fit` over its rounds, and lines about how far they have come."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from skstructured._base.validation import check_integer
from skstructured._learners.models import BlockResult, Record
from skstructured._learners.pass_selection import TRIED_PASSES, learned_rows, tried_passes
from skstructured.extend._types import Array, Floats
from skstructured.extend.learner import Batch


def make_passes(learner: Any, rounds: Batch) -> None:
    """Learn until `max_iter`, or until a pass does not improve on the best one.

    Learners without `max_iter` make one pass, which is not recorded.
    """
    if not hasattr(learner, "max_iter"):
        learn_pass(learner, rounds)
        return
    curve, started = [], time.perf_counter()
    learner.model_.prepare(learner, rounds)
    passes, tol = passes_for(learner, rounds)
    for _ in range(passes):
        curve.append(learn_pass(learner, rounds))
        if learner.verbose:
            seconds = time.perf_counter() - started
            loss, target = curve[-1]
            print(
                f"pass {len(curve)}: surrogate loss {loss:.4f}, target loss {target:.4f}, "
                f"{seconds:.2f} s"
            )
        *earlier_losses, last = (loss for loss, _ in curve)
        if tol is not None and earlier_losses and not last < min(earlier_losses) * (1.0 - tol):
            break
    learner.model_.finish_fit(rounds.n_rounds)
    learner.n_iter_ = len(curve)
    recorded = curve if records_losses(learner) else []
    learner.loss_curve_ = np.array(recorded, dtype=np.float64).reshape(-1, 2)


def most_passes(learner: Any) -> int:
    """The most passes that `fit` may make."""
    if not hasattr(learner, "max_iter"):
        return 1
    return TRIED_PASSES[-1] if isinstance(learner.max_iter, str) else learner.max_iter


def passes_for(learner: Any, rounds: Batch) -> tuple[int, float | None]:
    """The passes to make, `max_iter` or as many as these rounds bear, and the `tol` in use.

    Without a parameter `tol` it is that of "auto", and None if the number of passes is given or was
    chosen on held-out rows.
    """
    tried, most = None, most_passes(learner)
    in_python = getattr(learner.loss_, "calls_python", False)
    search = learner.model_.search.for_rows(learned_rows(rounds), in_python)
    tol = getattr(learner, "tol", search.tol if isinstance(learner.max_iter, str) else None)
    if isinstance(learner.max_iter, str) and most > 1:
        tried, most = tried_passes(learner, rounds, search), search.usual
    learner.validation_curve_ = np.zeros((0, 2)) if tried is None else tried.curve
    if tried is None:
        return most, tol
    if learner.verbose:
        for passes, loss in tried.curve:
            print(f"held out: surrogate loss {loss:.4f} after {passes:.0f} passes")
    chosen = tried.chosen(search)
    learner.model_.factor = tried.factor(chosen)
    return chosen, tol if chosen == learner.model_.search.usual else None


def records_losses(learner: Any) -> bool:
    """Whether the losses of passes are of use to anybody."""
    return hasattr(learner, "max_iter") and (most_passes(learner) > 1 or learner.verbose > 0)


def learn_pass(learner: Any, rounds: Batch) -> tuple[float, float]:
    """Learn every round once; the mean surrogate and target loss before learning."""
    order, sums = rounds.order(learner.random_state_ if learner.shuffle else None), []
    if not records_losses(learner):
        learner.learn_blocks(rounds, order)
        return np.nan, np.nan

    def note(played: BlockResult, weight: Floats) -> None:
        losses = played.losses
        if losses is None:
            losses = learner.decode(played.theta).point_losses(played.truth)
        sums.append((weight @ losses[0], weight @ losses[1], weight.sum()))

    learner.learn_blocks(rounds, order, note, Record.LOSSES)
    surrogate, target, weight = np.sum(sums, axis=0)
    return surrogate / weight, target / weight


SECONDS_BETWEEN_LINES = 1.0


def is_verbose(model: object) -> bool:
    """Whether a learner's `verbose`, by default 0, asks for lines."""
    verbose = getattr(model, "verbose", 0)
    if not isinstance(verbose, (bool, np.bool_)):
        check_integer("verbose", verbose, lowest=0)
    return verbose > 0


def with_progress(
    model: object, starts: Sequence[Any] | Array, total: int, what: str = "rows"
) -> Iterable[Any]:
    """The items of `starts`, the starts of blocks; with `verbose`, a line is printed per second."""
    return _with_messages(starts, total, what) if is_verbose(model) else starts


def _with_messages(starts: Sequence[Any] | Array, total: int, what: str) -> Iterator[Any]:
    started = last = time.perf_counter()
    for done, start in enumerate(starts):
        clock = time.perf_counter()
        if clock - last >= SECONDS_BETWEEN_LINES:
            print(f"{done / len(starts):.0%} of {total} {what} learned in {clock - started:.0f} s")
            last = clock
        yield start
