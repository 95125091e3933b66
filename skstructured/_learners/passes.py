"""`fit`: passes over the rows, how well each went, and when to stop."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from skstructured._base.plugins import is_ours
from skstructured._base.validation import (
    ITEMS,
    check_bool,
    check_choice,
    check_integer,
    check_range_of_weights,
    check_real,
    unchanged_on_error,
)
from skstructured._learners.decoding import Decoding
from skstructured._learners.models import LOSSES, Model, Played
from skstructured._learners.pass_selection import PASSES, Tried, learned_rows
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Outputs, Packed
from skstructured.extend.learner import Batch
from skstructured.extend.output_space import OutputSpace

#: Seconds between two lines.
EVERY = 1.0


def is_verbose(model: object) -> bool:
    """Whether a learner's `verbose`, 0 where it has none, asks for lines."""
    verbose = getattr(model, "verbose", 0)
    if not isinstance(verbose, (bool, np.bool_)):
        check_integer("verbose", verbose, lowest=0)
    return verbose > 0


def with_progress(
    model: object, starts: Sequence[Any] | Array, total: int, what: str = "rows"
) -> Iterable[Any]:
    """The items of `starts`, where blocks start; a line per second, if `verbose` says so."""
    return _with_messages(starts, total, what) if is_verbose(model) else starts


def _with_messages(starts: Sequence[Any] | Array, total: int, what: str) -> Iterator[Any]:
    started = last = time.perf_counter()
    for done, start in enumerate(starts):
        now = time.perf_counter()
        if now - last >= EVERY:
            share = done / len(starts)
            print(f"{share:.0%} of {total} {what} learned in {now - started:.0f} s")
            last = now
        yield start


#: As many passes as rounds held out speak for.
AUTO = "auto"

#: Names by which other libraries take groups of items, such as the documents of a query.
GROUPS = ("group", "groups", "qid", "query_id")

#: More passes than this are a slip, and would never end.
MOST_PASSES = 10**9


class Passes:
    """`fit` of a learner that has `_start`, `_with_outputs`, `_learn` and `_model`.

    Parameters `max_iter`, `tol`, `shuffle`, `class_weight` and `verbose`.
    """

    max_iter: Any
    tol: float | None
    shuffle: bool
    class_weight: Any
    standardize: Any
    verbose: int
    space_: Any
    random_state_: np.random.RandomState
    _model: Model
    _read: Callable[..., Batch]
    _check_rows: Callable[..., None]
    _start: Callable[[OutputSpace, int], None]
    _unfitted_space: Callable[[], OutputSpace]
    _with_outputs: Callable[..., Batch]
    _learn: Callable[..., None]
    _decode: Callable[..., Decoding]
    warn_of_trouble: Callable[[], None]

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None, **params: Any) -> Self:
        """Learn from scratch, in at most `max_iter` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. C-ordered arrays and CSR matrices of float64 or float32 are not copied.
            If X is float32, later rows are rounded to it (docs/numbers.md); weights and predictions
            are float64.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds, positive ones between 1e-20 and 1e20.
        **params : dict
            None is taken: the error about a group of items says what is.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            For any other argument.
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        self._refuse(params)
        self._fit(X, y, sample_weight)
        return self

    def _refuse(self, params: dict[str, Any]) -> None:
        """Raise a TypeError for arguments that `fit` does not take; of groups it says what does."""
        if params:
            name = next(iter(params))
            about = f". {ITEMS}" if name in GROUPS else ""
            raise TypeError(
                f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}{about}"
            )

    def _fit(self, X: Features, y: Outputs, sample_weight: Given) -> None:
        self._check_max_iter()
        check_bool("shuffle", self.shuffle)
        is_verbose(self)
        if self.tol is not None:
            check_real("tol", self.tol, math.isfinite, "be a number or None")
        with unchanged_on_error(self, aside=True) as new:
            new._fit_anew(X, y, sample_weight)
        self.warn_of_trouble()

    def _fit_anew(self, X: Features, y: Outputs, sample_weight: Given) -> None:
        batch = self._read(X, reset=True)
        if self.standardize:  # afterwards, what was out of range is not seen any more
            self._check_rows(batch, fresh=True)
        self._expect(batch)
        self._start(self._space_of(batch, y, sample_weight), self._most_passes())
        batch = self._with_outputs(batch, y, sample_weight)
        self._make_passes(self._weigh_classes(batch))

    def _space_of(self, batch: Batch, y: Outputs, sample_weight: Given) -> Any:
        """The space, fitted to the outputs of rounds."""
        return self._unfitted_space().fit(y)

    def _expect(self, rounds: Batch) -> None:
        """Look at rounds that `fit` is about to learn, before anything is set up."""

    def _make_passes(self, rounds: Batch) -> None:
        """Learn until `max_iter`, or until a pass is no better than the best before it."""
        curve, started = [], time.perf_counter()
        self._model.prepare(self, rounds)
        passes, tol = self._passes_for(rounds)
        for _ in range(passes):
            curve.append(self._learn_pass(rounds))
            if self.verbose:
                seconds = time.perf_counter() - started
                loss, target = curve[-1]
                print(
                    f"pass {len(curve)}: surrogate loss {loss:.4f}, target loss {target:.4f}, "
                    f"{seconds:.2f} s"
                )
            if tol is not None and self._is_enough([loss for loss, _ in curve], tol):
                break
        self._model.settle(rounds.n_rounds)
        self.n_iter_ = len(curve)
        self.loss_curve_ = np.array(curve if self._recorded() else [], dtype=np.float64).reshape(
            -1, 2
        )

    def _check_max_iter(self) -> None:
        if isinstance(self.max_iter, str):
            check_choice("max_iter", self.max_iter, (AUTO,))
        else:
            check_integer("max_iter", self.max_iter, highest=MOST_PASSES)

    def _most_passes(self) -> int:
        """The most passes that `fit` may make; with a budget, which is for one, "auto" is 1."""
        if not isinstance(self.max_iter, str):
            return self.max_iter
        return PASSES[-1] if getattr(self, "budget", None) is None else 1

    def _passes_for(self, rounds: Batch) -> tuple[int, float | None]:
        """The passes to make, `max_iter` or as many as these rounds bear, and the `tol` in use.

        None where what was held out knows better.
        """
        tried, most = None, self._most_passes()
        search = self._model.search.for_rows(learned_rows(rounds))
        if isinstance(self.max_iter, str) and most > 1:
            tried, most = self._model.tried(self, rounds, search), search.usual
        self.validation_curve_ = np.zeros((0, 2)) if tried is None else tried.curve
        if tried is None:
            return most, self.tol
        if self.verbose:
            self._print_trials(tried)
        chosen = tried.chosen(search)
        self._model.factor = tried.factor(chosen)
        usual = chosen == self._model.search.usual
        return chosen, self.tol if usual else None

    def _print_trials(self, tried: Tried) -> None:
        for passes, loss in tried.curve:
            print(f"held out: surrogate loss {loss:.4f} after {passes:.0f} passes")

    def _recorded(self) -> bool:
        """Whether the losses of passes are of use to anybody."""
        return self._most_passes() > 1 or self.verbose > 0

    def _is_enough(self, losses: list[float], tol: float) -> bool:
        return len(losses) > 1 and not losses[-1] < min(losses[:-1]) * (1.0 - tol)

    def _learn_pass(self, rounds: Batch) -> tuple[float, float]:
        """Learn every round once; the mean surrogate and target loss of what was played."""
        order, told = self._visiting_order(rounds.n_rounds), []
        if not self._recorded():
            self._learn(rounds, order)
            return np.nan, np.nan

        def note(played: Played, weight: Floats) -> None:
            losses = played.losses
            if losses is None:
                losses = self._decode(played.theta, played.decoder).sure_losses(played.truth)
            told.append((weight @ losses[0], weight @ losses[1], weight.sum()))

        self._learn(rounds, order, note, LOSSES)
        surrogate, target, weight = np.sum(told, axis=0)
        total = max(weight, 1e-300)
        return surrogate / total, target / total

    def _visiting_order(self, n: int) -> Ints:
        return self.random_state_.permutation(n) if self.shuffle else np.arange(n)

    def _weigh_classes(self, rounds: Batch, stream: bool = False) -> Batch:
        """Rounds whose weights are multiplied by those of their classes."""
        if self.class_weight is None:
            return rounds
        self._check_class_weight(stream)
        weight = rounds.weight * self._class_weights(rounds.packed)  # type: ignore[operator]  # they have weights
        name = "sample_weight times class_weight"
        return rounds._replace(weight=check_range_of_weights(name, weight))

    def _check_class_weight(self, stream: bool) -> None:
        """A ValueError for a `class_weight` that is none, or none for what is learned."""
        given = self.class_weight
        if not (isinstance(given, dict) or (isinstance(given, str) and given == "balanced")):
            raise ValueError(f'class_weight must be a dict, "balanced" or None, got {given!r}.')
        if self.space_.task != "multiclass":
            name = type(self.space_).__name__
            raise ValueError(f"class_weight is for classes, not for the space {name}.")
        if stream and isinstance(given, str):
            raise ValueError(
                f"class_weight={given!r} is for fit, which sees all rows; partial_fit and "
                "progressive_validate take a dict of weights."
            )

    def _class_weights(self, packed: Packed) -> Floats:
        """What `class_weight` says of packed outputs (n,), whichever classes are among them."""
        space, given = self.space_, self.class_weight
        labels = space.classes_[packed] if is_ours(space) else space.decode(space.unpack(packed))
        if isinstance(given, str):
            return compute_sample_weight(given, labels)
        classes, weights = space.classes_, self._weight_of_each_class()
        seen, place = np.unique(labels, return_inverse=True)
        return np.array([weights[classes == label][0] for label in seen])[place.ravel()]

    def _weighs_classes(self) -> bool:
        """Whether the weight of a round tells something of its class."""
        given = getattr(self, "class_weight", None) is not None
        return given and bool(np.ptp(self._weight_of_each_class()) > 0.0)

    def _weight_of_each_class(self) -> Floats:
        """Weights in the order of ``classes_``; a ValueError for labels that are not there."""
        classes = self.space_.classes_
        return compute_class_weight(self.class_weight, classes=classes, y=classes)
