"""Learners that keep the protocol, and one broken in each place where it can be broken."""

from types import SimpleNamespace

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from toy_learner import NearestMean

from skstructured import GuaranteeError, OnlineStructuredPredictor
from skstructured.extend.learner import Losses
from skstructured.guarantees.certificates import Certificate


class Explorer(NearestMean):
    """`NearestMean` that plays any class now and then, with all that the checks may ask for."""

    def __init__(self, share=0.2, random_state=None):
        self.share, self.random_state = share, random_state

    def begin(self, X, y, classes=None):
        return super().begin(X.toarray() if sparse.issparse(X) else X, y, classes)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        kept = None
        if hasattr(self, "t_"):
            kept, _ = (self._sums, self._counts, self.t_), validate_data(self, X, reset=False)
        rounds = Explorer.begin(self, X, y, self.classes_ if classes is None else classes)
        if kept is not None:
            self._sums, self._counts, self.t_ = kept
        weight = np.ones(len(rounds.X)) if sample_weight is None else np.asarray(sample_weight)
        np.add.at(self._sums, rounds.packed, weight[:, None] * rounds.X)
        np.add.at(self._counts, rounds.packed, weight)
        self.t_ += len(rounds.X)
        return self

    def predict(self, X):
        return super().predict(X.toarray() if sparse.issparse(X) else X)

    def explored(self, rounds, which, n):
        """Probabilities of the classes (m, K) where the learner explores."""
        return np.full((n, len(self.classes_)), 1.0 / len(self.classes_))

    def play(self, rounds, which, random_state=None):
        truth, best = rounds.packed[which], self._nearest(rounds.X[which])
        P = self.share * self.explored(rounds, which, len(truth))
        P[np.arange(len(P)), best] += 1.0 - self.share
        u = check_random_state(random_state).random_sample((len(P), 1))
        drawn = np.minimum((np.cumsum(P, axis=1) <= u).sum(axis=1), P.shape[1] - 1)
        expected = np.clip(1.0 - P[np.arange(len(P)), truth], 0.0, 1.0)
        return Losses((drawn != truth).astype(float), expected, np.full(len(P), np.nan))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AWeightTooMany(Explorer):
    def begin(self, X, y, classes=None):
        rounds = super().begin(X, y, classes)
        return rounds._replace(weight=np.ones(len(rounds.X) + 1))


class BeginsWithANamespace(Explorer):
    def begin(self, X, y, classes=None):
        batch = super().begin(X, y, classes)
        return SimpleNamespace(X=batch.X, n_rounds=batch.n_rounds, **batch._asdict())


class Remembers(Explorer):
    def begin(self, X, y, classes=None):
        before = getattr(self, "_sums", None)
        rounds = super().begin(X, y, classes)
        self._sums += 0.0 if before is None or before.shape != self._sums.shape else before
        return rounds


class PlaysTheFirst(Explorer):
    """Its first play is the first output."""

    def begin(self, X, y, classes=None):
        rounds = super().begin(X, y, classes)
        self._first = rounds.packed[0]
        return rounds

    def _nearest(self, X):
        return super()._nearest(X) if self.t_ else np.full(len(X), self._first)


class LearnsInPlay(Explorer):
    def play(self, rounds, which, random_state=None):
        self._sums += len(which) == len(rounds.X)
        return super().play(rounds, which, random_state)


class CountsPlays(Explorer):
    def play(self, rounds, which, random_state=None):
        self.t_ += len(which) == 2
        return super().play(rounds, which, random_state)


class CountsTheLast(Explorer):
    """Counts rounds by the position of the last."""

    def learn(self, rounds, which):
        super().learn(rounds, which)
        self.t_ = max(which) + 1


class InPercent(Explorer):
    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        return losses._replace(target=100.0 * losses.target)


class OneLossShort(Explorer):
    def play(self, rounds, which, random_state=None):
        losses = super().play(rounds, which, random_state)
        return losses._replace(surrogate=losses.surrogate[:1])


class ExpectsItsBest(Explorer):
    """Leaves its exploration out of what it expects."""

    def play(self, rounds, which, random_state=None):
        wrong = self._nearest(rounds.X[which]) != rounds.packed[which]
        return super().play(rounds, which, random_state)._replace(expected=wrong.astype(float))


class MissesASureDraw(Explorer):
    """Its first draw is another than the one that is certain."""

    def play(self, rounds, which, random_state=None):
        losses = super().play(rounds, which, random_state)
        losses.target[:1] = 1.0 - losses.target[:1]
        return losses


class ExpectsNothing(Explorer):
    def play(self, rounds, which, random_state=None):
        losses = super().play(rounds, which, random_state)
        return losses._replace(expected=np.full(len(which), 2.0 / 3.0))


class CountsWhatItPlaysTwice(Explorer):
    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        self.t_ += 2 * (len(which) == 2)
        return losses


class LosesByTheCall(Explorer):
    """Its surrogate losses depend on how many rounds it is given at once."""

    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        return losses._replace(surrogate=np.full(len(which), float(len(which))))


class LearnsMoreWhenItPlays(Explorer):
    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        self._sums += 0.1
        return losses


class Foresees(Explorer):
    """Explores the next round's output."""

    def explored(self, rounds, which, n):
        return np.eye(len(self.classes_))[rounds.packed[(which + 1) % len(rounds.X)]]


class Peeks(Explorer):
    """Explores the round's own output."""

    def explored(self, rounds, which, n):
        return np.eye(len(self.classes_))[rounds.packed[which]]


class Expects(Explorer):
    """Supplies expected losses, and rightly so."""

    def expected_losses(self, x, V):
        best = np.eye(len(self.classes_))[self._nearest(x)[0]]
        return 1.0 - V @ (self.share / len(self.classes_) + (1.0 - self.share) * best)


class ExpectsWrongly(Expects):
    def expected_losses(self, x, V):
        return np.full(len(V), 2.0 / 3.0)


class LearnsFromExpecting(Expects):
    def expected_losses(self, x, V):
        self._sums *= [1.0, 1.0, 1.0, 9.0]
        return super().expected_losses(x, V)


class ForgetsWithChunks(Explorer):
    def learn(self, rounds, which):
        self._sums *= 0.5 if len(which) == 7 else 1.0
        super().learn(rounds, which)


class ForgetsWithCalls(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        first = not hasattr(self, "t_")
        super().partial_fit(X, y, classes, sample_weight)
        self._sums *= 1.0 if first else 0.5
        return self


class ForgetsWithSingleRows(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        first = not hasattr(self, "t_")
        super().partial_fit(X, y, classes, sample_weight)
        self._sums *= 0.5 if len(X) == 1 and not first else 1.0
        return self


class LearnsOtherRows(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        shifted = np.asarray(X) * [1.0, 1.0, 1.0, -9.0]
        return super().partial_fit(shifted, y, classes, sample_weight)


class FadesInPickles(Explorer):
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_sums" in state:
            state["_sums"] = state["_sums"] * [0.9, 1.0, 1.0, 2.0]
        return state


class DrawsFromElsewhere(Explorer):
    elsewhere = np.random.RandomState(0)

    def play(self, rounds, which, random_state=None):
        return super().play(rounds, which, self.elsewhere)


class DropsAColumnOfCSR(Explorer):
    def begin(self, X, y, classes=None):
        if sparse.issparse(X):
            X = X.toarray() * [1.0, 1.0, 1.0, 0.0]
        return super().begin(X, y, classes)


class CountsWeightZero(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        some = None if sample_weight is None else np.maximum(sample_weight, 0.5)
        return super().partial_fit(X, y, classes, some)


class TakesInfinity(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(np.nan_to_num(X, posinf=9.0), y, classes, sample_weight)


class RaisesAnotherError(Explorer):
    def predict(self, X):
        if np.shape(X)[1] != self.n_features_in_:
            raise IndexError("a column more or less")
        return super().predict(X)


class TakesAnyLabel(Explorer):
    def begin(self, X, y, classes=None):
        return super().begin(X, y, None if len(set(y)) > 3 else classes)


class CutsToLength(Explorer):
    def begin(self, X, y, classes=None):
        n = min(X.shape[0], len(y))
        return super().begin(X[:n], y[:n], classes)


class CountsWhatItRefuses(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        try:
            return super().partial_fit(X, y, classes, sample_weight)
        except ValueError:
            self.t_ += len(X)
            raise


class LearnsWhatItPlayedByHalf(Explorer):
    """A batch that it has just played moves it by half."""

    _played = ()

    def play(self, rounds, which, random_state=None):
        self._played = tuple(which) if len(which) > 1 else ()
        return super().play(rounds, which, random_state)

    def learn(self, rounds, which):
        before, self._played = self._played, ()
        super().learn(rounds, which)
        self._sums *= [1.0, 1.0, 1.0, 9.0] if before == tuple(which) else 1.0


class WeighsTwice(Explorer):
    def round_weights(self, n):
        return np.full(n, 2.0)


class Plain(OnlineStructuredPredictor):
    """Gradient descent over rows as they are."""

    def __init__(self, optimizer="ogd", standardize=False):
        super().__init__(optimizer=optimizer, standardize=standardize, average=False, tol=None)


class BoundsTooLow(Plain):
    def certificate(self, delta=None):
        return Certificate("Theorem 0", 1.0, -100.0)


class BoundsNothing(Plain):
    def certificate(self, delta=None):
        return Certificate("Theorem 0", 1.0, np.inf)


class GivesNoReason(Plain):
    def certificate(self, delta=None):
        raise GuaranteeError("No.")


#: A broken learner -> the checks that it fails, and all that it fails.
BROKEN = {
    AWeightTooMany(): {"check_begin_returns_rounds"},
    BeginsWithANamespace(): {"check_begin_returns_rounds"},
    Remembers(): {"check_begin_forgets"},
    PlaysTheFirst(): {"check_begin_learns_nothing"},
    LearnsInPlay(): {"check_play_learns_nothing"},
    CountsPlays(): {"check_rounds_are_counted"},
    CountsTheLast(): {"check_rounds_are_counted"},
    CountsWhatItPlaysTwice(): {"check_rounds_are_counted"},
    InPercent(): {"check_losses"},
    ExpectsItsBest(): {"check_expected_is_the_mean_of_target"},
    MissesASureDraw(share=0.0): {"check_expected_is_the_mean_of_target"},
    ExpectsNothing(): {"check_expected_is_the_mean_of_target"},
    LosesByTheCall(): {"check_play_and_learn_learns_as_learn"},
    LearnsMoreWhenItPlays(): {"check_play_and_learn_learns_as_learn"},
    Foresees(): {"check_later_outputs_do_not_enter"},
    Peeks(): {"check_a_rounds_own_output_does_not_enter"},
    ExpectsWrongly(): {"check_expected_losses"},
    LearnsFromExpecting(): {"check_expected_losses"},
    ForgetsWithChunks(): {"check_learn_in_chunks"},
    ForgetsWithCalls(): {"check_partial_fit_in_chunks"},
    ForgetsWithSingleRows(): {"check_partial_fit_in_chunks"},
    LearnsOtherRows(): {"check_partial_fit_learns_as_learn"},
    FadesInPickles(): {"check_pickle"},
    DropsAColumnOfCSR(): {"check_sparse_rows"},
    CountsWeightZero(): {"check_weight_zero"},
    TakesInfinity(): {"check_wrong_rows_are_refused"},
    RaisesAnotherError(): {"check_wrong_rows_are_refused"},
    TakesAnyLabel(): {"check_wrong_outputs_are_refused"},
    CutsToLength(): {"check_wrong_lengths_are_refused"},
    LearnsWhatItPlayedByHalf(): {"check_progressive_validation"},
    WeighsTwice(): {"check_round_weights"},
    BoundsTooLow(): {"check_certificate"},
    BoundsNothing(): {"check_certificate"},
    GivesNoReason(): {"check_certificate"},
    # What is wrong here is seen in several places, and nowhere else.
    OneLossShort(): {"check_losses", "check_progressive_validation"},
    CountsWhatItRefuses(): {
        f"check_wrong_{what}_are_refused" for what in ("rows", "outputs", "lengths")
    },
    DrawsFromElsewhere(): {
        "check_random_state",
        "check_sparse_rows",
        "check_progressive_validation",
    },
}
