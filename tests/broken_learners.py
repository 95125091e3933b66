"""Learners that keep the protocol, and one broken in each place where it can be broken."""

from types import SimpleNamespace

import numpy as np
from breaking import broken, told
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from toy_learner import NearestMean

import skstructured as sk


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
        return sk.extend.Losses((drawn != truth).astype(float), expected, np.full(len(P), np.nan))

    def answer(self, rounds, which):
        return NearestMean.play(self, rounds, which)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Plain(sk.OnlineStructuredPredictor):
    """Gradient descent over rows as they are."""

    def __init__(self, optimizer="ogd", standardize=False):
        super().__init__(optimizer=optimizer, standardize=standardize, average=False)


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


class MissesASureDraw(Explorer):
    """Its first draw is another than the one that is certain."""

    def play(self, rounds, which, random_state=None):
        losses = super().play(rounds, which, random_state)
        losses.target[:1] = 1.0 - losses.target[:1]
        return losses


class CountsWhatItPlaysTwice(Explorer):
    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        self.t_ += 2 * (len(which) == 2)
        return losses


class LearnsMoreWhenItPlays(Explorer):
    def play_and_learn(self, rounds, which, random_state=None):
        losses = super().play_and_learn(rounds, which, random_state)
        self._sums += 0.1
        return losses


class ForgetsWithChunks(Explorer):
    def learn(self, rounds, which):
        self._sums *= 0.5 if len(which) == 7 else 1.0
        super().learn(rounds, which)


class ForgetsWithSingleRows(Explorer):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        first = not hasattr(self, "t_")
        super().partial_fit(X, y, classes, sample_weight)
        self._sums *= 0.5 if len(X) == 1 and not first else 1.0
        return self


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


class GivesNoReason(Plain):
    def certificate(self, delta=None):
        raise sk.GuaranteeError("No.")


ELSEWHERE = np.random.RandomState(0)
WRONG_ROWS, WRONG_OUTPUTS, WRONG_LENGTHS = (
    f"check_wrong_{what}_are_refused" for what in ("rows", "outputs", "lengths")
)
MEAN = "check_expected_is_the_mean_of_target"
VALIDATION = "check_progressive_validation"

#: A broken learner -> the checks that it fails, and all that it fails.
BROKEN = {
    Remembers(): {"check_begin_forgets"},
    PlaysTheFirst(): {"check_begin_learns_nothing"},
    LearnsInPlay(): {"check_play_learns_nothing"},
    CountsPlays(): {"check_rounds_are_counted"},
    CountsWhatItPlaysTwice(): {"check_rounds_are_counted"},
    MissesASureDraw(share=0.0): {MEAN},
    LearnsMoreWhenItPlays(): {"check_play_and_learn_learns_as_learn"},
    ForgetsWithChunks(): {"check_learn_in_chunks"},
    ForgetsWithSingleRows(): {"check_partial_fit_in_chunks"},
    LearnsWhatItPlayedByHalf(): {VALIDATION},
    CountsWhatItRefuses(): {WRONG_ROWS, WRONG_OUTPUTS, WRONG_LENGTHS},
    GivesNoReason(): {"check_certificate"},
}

#: Checks, a method, and what learners do instead that are broken there alone.
CHANGED = {
    ("check_begin_returns_rounds", "begin"): {
        "AWeightTooMany": told(weight=lambda none: np.ones(61)),
        "BeginsWithANamespace": lambda _, begin, *given: SimpleNamespace(
            X=(batch := begin(*given)).X, n_rounds=batch.n_rounds, **batch._asdict()
        ),
    },
    ("check_losses", "play_and_learn"): {"InPercent": told(target=lambda loss: 100.0 * loss)},
    ("check_losses", VALIDATION, "play"): {"OneLossShort": told(surrogate=lambda loss: loss[:1])},
    (MEAN, "play"): {"ExpectsNothing": told(expected=lambda loss: 0.0 * loss + 2.0 / 3.0)},
    ("check_play_and_learn_learns_as_learn", "play_and_learn"): {
        "LosesByTheCall": told(surrogate=lambda loss: np.full(len(loss), float(len(loss)))),
    },
    ("check_answers", "answer_and_learn"): {
        "LearnsWhatItAnswersTwice": lambda self, answer, rounds, which: (
            self.learn(rounds, which[:1]) or answer(rounds, which)
        ),
    },
    ("check_answers", "answer"): {
        "AnswersByTheCall": lambda _, answer, rounds, which: answer(rounds, which)._replace(
            expected=np.full(len(which), 0.5)
        ),
    },
    ("check_later_outputs_do_not_enter", "explored"): {
        "ExploresTheNextOutput": lambda _, explored, rounds, which, n: np.eye(3)[
            rounds.packed[(which + 1) % len(rounds.X)]
        ],
    },
    ("check_a_rounds_own_output_does_not_enter", "explored"): {
        "ExploresTheOutput": lambda _, explored, rounds, which, n: np.eye(3)[rounds.packed[which]],
    },
    ("check_partial_fit_in_chunks", "partial_fit"): {
        "LearnsOtherRows": lambda _, learn, X, *y: learn(np.asarray(X) * [1.0, 1.0, 1.0, -9.0], *y),
    },
    ("check_pickle", "__getstate__"): {
        "FadesInPickles": lambda _, state: {
            k: v * [0.9, 1.0, 1.0, 2.0] if k == "_sums" else v for k, v in state().items()
        },
    },
    ("check_sparse_rows", VALIDATION, "play"): {
        "DrawsFromElsewhere": lambda _, play, rounds, which, seed: play(rounds, which, ELSEWHERE),
    },
    ("check_sparse_rows", "begin"): {
        "DropsAColumnOfCSR": lambda _, begin, X, *y: begin(
            X.toarray() * [1.0, 1.0, 1.0, 0.0] if sparse.issparse(X) else X, *y
        ),
    },
    ("check_weight_zero", "partial_fit"): {
        "CountsWeightZero": lambda _, learn, X, y, classes, weight: learn(
            X, y, classes, None if weight is None else np.maximum(weight, 0.5)
        ),
    },
    (WRONG_ROWS, "partial_fit"): {
        "TakesInfinity": lambda _, learn, X, *y: learn(np.nan_to_num(X, posinf=9.0), *y),
    },
    (WRONG_ROWS, "predict"): {
        "RaisesAnIndexError": lambda self, predict, X: predict(X[:, range(self.n_features_in_)]),
    },
    (WRONG_OUTPUTS, "begin"): {
        "TakesAnyLabel": lambda _, begin, X, y, k: begin(X, y, None if len(set(y)) > 3 else k),
    },
    (WRONG_LENGTHS, "begin"): {
        "CutsToLength": lambda _, begin, X, y, k: begin(X[: len(y)], y[: X.shape[0]], k),
    },
    ("check_round_weights", "round_weights"): {"WeighsTwice": lambda _, call, n: np.full(n, 2.0)},
    ("check_certificate", "certificate"): {
        "BoundsTooLow": lambda *given: sk.guarantees.Certificate("Theorem 0", 1.0, -100.0),
        "BoundsNothing": lambda *given: sk.guarantees.Certificate("Theorem 0", 1.0, np.inf),
    },
}

for (*checks, method), kinds in CHANGED.items():
    base = Plain if method == "certificate" else Explorer
    for name, change in kinds.items():
        globals()[name] = broken(__name__, name, base, method, change)
        BROKEN[globals()[name]()] = set(checks)
