"""Choose the number of passes (epochs) on held-out rounds.

Learners make 1, 2, 3, 5, 10, … passes over the other rounds, until more passes gain little or lose.
A number other than the usual one must be significantly better: by `doubt` standard errors of the
mean of the differences, and by 1%; and not significantly worse in the target loss.

Kernel models that are overconfident rarely make errors, but lose much if they do. Their scores are
multiplied by a factor below 1 if that is significantly better on the held-out rounds.
"""

import copy
from typing import Any, NamedTuple

import numpy as np

from skstructured.extend._types import Array, Floats, Ints
from skstructured.extend.learner import Batch
from skstructured.losses.fenchel_young import FenchelYoung

#: Numbers of passes that are tried.
TRIED_PASSES = (1, 2, 3, 5, 10, 20, 40, 80)

#: Factors of scores that are tried, as long as they lose less and less.
SCORE_FACTORS = (1.0, 0.8, 0.64, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16, 0.12, 0.1)


class Search(NamedTuple):
    """How numbers of passes are tried: chosen from tables, see ``benchmarks/defaults/passes.py``.

    The defaults are those of linear learners, which need few passes and rarely overfit.
    """

    usual: int = 10  # passes; more for few rounds, see `for_rows`
    least: int = 5  # passes after which the search may end
    most: int = 80  # passes after which it ends
    doubt: float = 1.5  # standard errors by which another number must be better
    gain: float = 0.02  # the search ends if the next number gains less than this share
    in_turns: int = 1000  # with at most so many rows all rounds are held out in turns
    plenty: int = 5000  # more rounds, and 20 per feature, are not overfitted: none is held out
    most_learned: int = 1 << 62  # rounds in a trial
    tempered: bool = False  # whether factors of scores are tried
    few: int = 1000  # with fewer rows `usual` passes visit as many as with so many
    tol: float | None = 1e-4  # the share by which each of the usual passes must reduce the loss

    def for_rows(self, rows: int, in_python: bool = False) -> "Search":
        """The search for a number of rows: with few, the default is more passes."""
        if in_python:  # the loss is slow: fewer rows and passes
            most, limit = min(self.most, 20), min(self.few, 400)
            return self._replace(in_turns=0, most_learned=1000, most=most, few=limit).for_rows(rows)
        if rows >= self.few:
            return self
        usual = min(self.usual * self.few // max(rows, 1), TRIED_PASSES[-1])
        return self._replace(usual=usual, least=usual)

    def has_plenty(self, rounds: int, features: int) -> bool:
        """Whether there are so many rounds that nothing need be tried."""
        return rounds > max(self.plenty, 20 * features)


LINEAR_SEARCH = Search()
#: Functions of a kernel overfit.
KERNEL_SEARCH = Search(
    20, 10, 10, 2.0, in_turns=500, plenty=1 << 62, most_learned=3000, tempered=True, few=0, tol=None
)
#: Weights of random features are many, and overfit as functions of a kernel do.
FOURIER_SEARCH = Search(in_turns=500, plenty=50_000, tempered=True, tol=None)


def alike_in(losses: Floats, weight: Floats, doubt: float, share: float = 0.01) -> Array:
    """Which rows of losses (m, n) may have the least mean: by standard errors, or by a share."""
    w = weight / weight.sum()
    means = losses @ w
    best = int(np.argmin(means))
    worse = means - means[best]
    errors = np.sqrt((losses - losses[best] - worse[:, None]) ** 2 @ w**2)
    return worse <= np.maximum(doubt * errors, share * abs(means[best]))


class ValidationCurve(NamedTuple):
    """The trials: m numbers of passes, and two losses of the n held-out rounds after each."""

    passes: Ints  # (m,)
    losses: Floats  # surrogate losses (m, n)
    targets: Floats  # target losses (m, n) of the most likely outputs
    factors: Floats  # of the scores (m,)
    weight: Floats  # (n,)

    @property
    def means(self) -> Floats:
        """Mean surrogate losses (m,)."""
        return self.losses @ self.weight / self.weight.sum()

    @property
    def curve(self) -> Floats:
        """Numbers of passes, and mean surrogate losses after them, (m, 2)."""
        return np.column_stack([self.passes, self.means])

    def factor(self, passes: int) -> float:
        """Factor of the scores after a number of passes, or the nearest number tried."""
        return float(self.factors[np.argmin(np.abs(np.log(self.passes / passes)))])

    def chosen(self, search: Search) -> int:
        """The number nearest to the usual one, of those that may be the best in both losses."""
        alike = alike_in(self.losses, self.weight, search.doubt)
        both = alike & alike_in(self.targets, self.weight, search.doubt, share=0.0)
        alike = both if both.any() else alike
        if alike[-1] and self.passes[-1] <= search.usual:
            return search.usual
        near = np.abs(np.log(self.passes[alike] / search.usual))
        return int(self.passes[alike][np.argmin(near)])

    def is_enough(self, search: Search) -> bool:
        """Whether more passes would gain little, or more than usual have not been better so far."""
        if self.passes[-1] < search.least:
            return False
        if self.passes[-1] > search.usual == self.chosen(search):
            return True
        means = self.means
        return bool(means[-1] > means[-2] * (1.0 - search.gain) or means[-1] > means.min())


class HoldoutFit:
    """A separate learner, which learns some rounds and is evaluated on the others."""

    def __init__(self, learner: Any, rounds: Batch, held_out: Ints, learned: Ints) -> None:
        self.learner, self.rounds = copy.copy(learner), rounds
        self.learner.model_ = learner.model_.fresh_copy()
        self.held_out, self.learned, self.passes = held_out, learned, 0

    def learn(self, passes: int, random_state: np.random.RandomState) -> None:
        """Learn up to a number of passes over the other rounds, then score the held-out ones."""
        while self.passes < passes:
            order = random_state.permutation(self.learned) if self.learner.shuffle else self.learned
            self.learner.learn_blocks(self.rounds, order)
            self.passes += 1
        model = self.learner.model_
        self.theta = model.scores_of(self.rounds, self.held_out, bool(self.learner.average))
        self.truth = model.truths(self.rounds.packed[self.held_out])

    def targets(self) -> Floats:
        """Target losses (n,) of the most likely outputs."""
        return self.learner.decode(self.theta).point_losses(self.truth)[1]

    def losses(self, factor: float) -> Floats:
        """Surrogate losses (n,) of the scores times a factor."""
        theta = self.theta if factor == 1.0 else factor * self.theta
        return self.learner.loss_.value(theta, self.truth)


def choose_factor(trials: list[HoldoutFit], weight: Floats, several: bool) -> tuple[float, Floats]:
    """The factor nearest to 1 of those that may be the best, and the losses with it."""
    losses: list[Floats] = []
    for factor in SCORE_FACTORS if several else SCORE_FACTORS[:1]:
        losses.append(np.concatenate([trial.losses(factor) for trial in trials]))
        if len(losses) > 1 and not losses[-1] @ weight < losses[-2] @ weight:
            break
    first = int(np.argmax(alike_in(np.array(losses), weight, 1.0)))
    return SCORE_FACTORS[first], losses[first]


def split_rounds(
    rounds: Batch, search: Search, random_state: np.random.RandomState, turns: int = 5
) -> list[Ints]:
    """Folds of the rounds of positive weight, each to be held out in turn; with many rows two.

    Of these the first, a seventh, is to be held out. Classes are spread over all folds.
    """
    order = random_state.permutation(rounds.learned)
    packed = rounds.packed
    if isinstance(packed, np.ndarray) and packed.ndim == 1 and packed.dtype.kind in "iu":
        order = order[np.argsort(packed[order], kind="stable")]
    if learned_rows(rounds) <= search.in_turns:
        return [np.sort(order[i::turns]) for i in range(turns)]
    others = np.delete(order, np.s_[::7])
    if len(others) > search.most_learned:
        others = others[np.linspace(0, len(others) - 1, search.most_learned).astype(np.intp)]
    return [np.sort(order[::7]), np.sort(others)]


def learned_rows(rounds: Batch) -> int:
    """Rows of the rounds of positive weight: of label sequences there are several in each."""
    rows = np.arange(rounds.n_rounds + 1) if rounds.offsets is None else rounds.offsets
    return int(np.diff(rows)[rounds.learned].sum())


def tried_passes(
    learner: Any, rounds: Batch, search: Search, min_rounds: int = 20
) -> ValidationCurve | None:
    """The trials of a learner that is prepared for its rounds; None for too few or plenty.

    A copy of its random state draws the held-out rounds, so the passes over all rounds are the same
    as in a learner with that `max_iter`.
    """
    rng, count = copy.deepcopy(learner.random_state_), len(rounds.learned)
    if count < min_rounds or search.has_plenty(count, learner.n_features_in_):
        return None
    folds = split_rounds(rounds, search, rng)
    held_out = folds if len(folds) > 2 else folds[:1]
    train = [np.sort(np.concatenate([q for q in folds if q is not fold])) for fold in held_out]
    trials = [HoldoutFit(learner, rounds, *of) for of in zip(held_out, train, strict=True)]
    weight = rounds.weights[np.concatenate(held_out)]
    several = search.tempered and isinstance(learner.loss_, FenchelYoung)
    curve: list[Any] = []
    for passes in TRIED_PASSES:
        for trial in trials:
            trial.learn(passes, rng)
        factor, losses = choose_factor(trials, weight, several)
        targets = np.concatenate([trial.targets() for trial in trials])
        curve.append((passes, losses, targets, factor))
        columns: Any = map(np.array, (*zip(*curve, strict=True), weight))
        tried = ValidationCurve(*columns)
        if tried.is_enough(search) or passes >= search.most:
            break
    return tried
