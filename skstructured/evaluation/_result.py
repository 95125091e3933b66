"""The result of a progressive validation: losses, comparators, bounds, certificates."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.component import inherit_parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_real
from skstructured._learners.weights import class_weights
from skstructured.extend._types import Floats, Given
from skstructured.guarantees import risk
from skstructured.guarantees.comparators import best_measured, measured


@dataclass(repr=False)
class ProgressiveResult:
    """Result of a progressive validation, round by round.

    Attributes
    ----------
    target_loss : ndarray of shape (n,)
        Target loss of the output of the round.
    expected_target_loss : ndarray of shape (n,)
        Its exact expectation over the decoder; the same for ``play="predict"``.
    surrogate_loss : ndarray of shape (n,)
        S_t of the weights played, the learner's surrogate loss, scale included.
    estimator : estimator
        The learner after the last round.
    batch_size : int
        Rounds played with the same model.
    rounds : Batch
        The rounds as the learner read them.
    play : {"predict", "randomized"}
        Which outputs were evaluated, see `progressive_validate`.
    dependence : str or None
        Why the rows were not independent draws for the learner that played them, if known.

    See Also
    --------
    progressive_validate : Returns it for arrays.
    StreamResult : The result for chunks, which keeps means.
    RegretDisplay : Draw one or several results.
    """

    target_loss: Floats
    expected_target_loss: Floats
    surrogate_loss: Floats
    estimator: Any
    batch_size: int
    rounds: Any = None
    play: str = "predict"
    dependence: str | None = None

    def __repr__(self):
        n = len(self.target_loss)
        mean = float(np.mean(self.expected_target_loss)) if n else float("nan")
        rounds = f"{n} rounds of {type(self.estimator).__name__}"
        loss = f"mean expected target loss {mean:.4g}"
        return f"ProgressiveResult({rounds}, {loss}, play={self.play!r})"

    @property
    def weight(self) -> Floats:
        """Weights of the rounds in sums of losses, (n,), of mean 1.

        All 1, except with ``class_weight``. Divided by their mean, as in the objective,
        and so in its certificate.
        """
        learned = self._learned_weights()
        return learned / (float(np.mean(learned)) or 1.0) if len(learned) else learned

    def _learned_weights(self):
        """Weights of the rounds in the learner's objective, (n,)."""
        weight = getattr(self.rounds, "weight", None)
        weight = np.ones(len(self.expected_target_loss)) if weight is None else weight
        learned, counted = np.zeros(len(weight)), weight > 0.0
        number = self.estimator.round_weights(int(np.count_nonzero(counted)))
        learned[counted] = weight[counted] * (number / number[:1])
        return learned

    def comparator_loss(self, U: ArrayLike) -> Floats:
        """Surrogate losses S_t(U) of a fixed comparator.

        Parameters
        ----------
        U : array-like of shape (dim, p) or, with an intercept, (dim, p + 1)
            The comparator; the intercept is the last column. For advice of experts their shares
            (d,), of sum 1.

        Returns
        -------
        ndarray of shape (n,)
        """
        return measured(self.estimator.comparison(self.rounds), U)

    def best_comparator(self, delta: float | None = None) -> Floats:
        """The comparator U that (nearly) minimizes `regret_bound`, by L-BFGS; (dim, p [+ 1]).

        For advice of experts the best of them, (d,).
        """
        certificate, weight = self._certificate(delta), self._learned_weights()
        return best_measured(certificate, self.estimator.comparison(self.rounds), weight)

    def surrogate_regret(self, U: Given = None) -> float:
        """Surrogate regret Σ w_t (E[L_t] − S_t(U)), w_t the `weight`: what theorems bound.

        Parameters
        ----------
        U : array-like or None, default=None
            The comparator; None takes `best_comparator`.

        Returns
        -------
        float
        """
        U = self.best_comparator() if U is None else U
        return float(self.weight @ (self.expected_target_loss - self.comparator_loss(U)))

    def regret_bound(self, U: Given = None, delta: float | None = None) -> float:
        """Bound on the target loss ``Σ w_t E[L_t]``: ``Σ w_t S_t(U)`` plus the theorem's regret.

        The weights w_t are those of `weight`, 1 but for ``class_weight``.

        Parameters
        ----------
        U : array-like or None, default=None
            The comparator; None takes the one that makes the bound smallest.
        delta : float or None, default=None
            None bounds Σ w_t E[L_t]; a number bounds Σ w_t L_t with probability 1 − delta.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If no theorem covers the run; the message has the reason.
        """
        U = self.best_comparator(delta) if U is None else np.asarray(U, dtype=np.float64)
        weight = self._learned_weights()  # as the certificate counts them
        comparator, unit = float(weight @ self.comparator_loss(U)), float(np.mean(weight)) or 1.0
        return self._certificate(delta).bound(comparator, float(np.linalg.norm(U))) / unit

    def risk_bound(self, delta: float = 0.05, last: float = 0.5) -> float:
        r"""Upper bound on the expected loss of the last rounds' models on a new row.

        With probability at least 1 − delta over independent rows,

        .. math:: \frac{\sum_t λ_t R_t}{\sum_t λ_t} \le \frac{\sum_t λ_t L_t + \ln(1/δ)
            + \sum_t ψ(λ_t) (L_t - m_t)^2}{\sum_t λ_t}

        over the last rounds; L_t is the expected target loss of round t, R_t the risk of what
        played it: the expected target loss on a new row. λ_t, m_t and ψ are those of
        `skstructured.guarantees.risk_bound`. The left side is the risk of the rule of one of these
        rounds, drawn with probability proportional to λ_t.

        Parameters
        ----------
        delta : float, default=0.05
            Probability in (0, 1) that the bound fails.
        last : float, default=0.5
            Share of the rounds, the last ones, that are certified, in (0, 1].

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        ValueError
            For a delta outside (0, 1).
        GuaranteeError
            For a `last` outside (0, 1]; for so few rounds that no losses could make the bound less
            than 1; for rows seen beforehand by a step of a pipeline, rounds with sample weights,
            ``class_weight`` with ``play="randomized"`` and ``batch_size=1`` (the output then
            depends on the weight, which reveals the class), and losses outside [0, 1].

        Warns
        -----
        GuaranteeWarning
            If the test of `RiskMonitor` at level delta finds that the risk rose within these
            rounds; `changed_` is about all rounds. If the bound is below their mean loss. If a
            test at level delta finds that outputs of neighboring rows are alike beyond chance, as
            in rows sorted by label (not for label sequences and items).

        Notes
        -----
        The rows must be independent draws from the distribution that new rows come from, in an
        order that is independent of them, and each new to the learner: sorted, drifting or
        repeated rows void the number, and only some of these are seen. `delta`, `last`
        and the learner must be chosen without these rows, and the labels known beforehand. If
        the best of k runs is taken, use ``delta/k``. Batches keep it: a row is new to the weights
        before its batch, whatever else they play. So do bandits, whose play includes exploration.

        References
        ----------
        Howard, Ramdas, McAuliffe, Sekhon (2021), Theorem 4; Waudby-Smith, Ramdas (2024), Theorem 2.
        On independent rows Cesa-Bianchi, Conconi, Gentile (2004), "On the generalization ability of
        on-line learning algorithms".
        """
        losses, fewest = self._new_row_losses(), risk.fewest_losses(delta)
        n_last = max(1, round(_share(last) * len(losses)))
        if n_last < fewest:
            got = f"got {n_last}: the last {last} of {len(losses)}"
            needed = f"a bound below 1 needs at least {fewest} rounds"
            raise GuaranteeError(f"With delta={delta} {needed}, {got}.")
        packed = getattr(self.rounds, "packed", None)
        if isinstance(packed, np.ndarray):  # label sequences and items have no distance
            risk.warn_of_order(risk.OrderTest.of_rows(packed, delta))
        return risk.risk_bound(losses[-n_last:], delta)

    def risk_curve(self, delta: float = 0.05) -> Floats:
        """Bound on the mean risk up to every round, valid for all rounds at once, (n,).

        Parameters
        ----------
        delta : float, default=0.05
            Probability in (0, 1) that any point of the curve fails.

        Returns
        -------
        ndarray of shape (n,)
            ``RiskMonitor.bound_`` of the expected target losses up to the round.

        Raises
        ------
        ValueError
            For a delta outside (0, 1).
        GuaranteeError
            For rows that do not stand for new ones: see `risk_bound`.
        """
        return risk.risk_curve(self._new_row_losses(), delta)

    @property
    def changed_(self) -> bool:
        """Whether the test of `RiskMonitor` finds, at level 0.05, that the risk rose at some time.

        Of all rounds' expected target losses; False if `risk_curve` is not available.
        """
        try:
            return risk.rise_found(self._new_row_losses(), 0.05) is not None
        except GuaranteeError:
            return False

    def _new_row_losses(self):
        """Expected target losses, each of a row new to what played it; else a GuaranteeError."""
        if self.dependence is not None:
            raise GuaranteeError(f"The risk on new rows needs independent rows: {self.dependence}")
        weight = getattr(self.rounds, "weight", None)
        if weight is not None and np.ptp(weight) > 0.0 and not self._weighed_by_class():
            reason = "the rows do not stand for new ones one for one"
            raise GuaranteeError(f"No risk is stated for rounds with sample weights: {reason}.")
        losses, are_in_range = _clip_losses(self.expected_target_loss)
        if not are_in_range:
            raise GuaranteeError("The risk is bounded for target losses in [0, 1] only.")
        return losses

    def _weighed_by_class(self):
        """Whether the weights of the rounds are those of ``class_weight`` and nothing else."""
        learner, rounds = self.estimator, self.rounds
        is_weighed = getattr(learner, "class_weight", None) is not None
        return is_weighed and np.array_equal(rounds.weight, class_weights(learner, rounds))

    def _certificate(self, delta=None):
        if self.play != "randomized":
            run = f"this run used play={self.play!r}"
            raise GuaranteeError(f"Regret bounds require play='randomized'; {run}.")
        if self.batch_size > 1:
            batches = f"batches of {self.batch_size}"
            raise GuaranteeError(f"The bounds are about learning after every round, not {batches}.")
        return self.estimator.certificate(delta)


def _clip_losses(losses):
    """Losses in [0, 1], and whether all were in it up to rounding."""
    clipped = np.clip(losses, 0.0, 1.0)
    return clipped, bool(np.all(np.abs(clipped - losses) <= 1e-9))


def _share(last):
    """`last` as a float; a GuaranteeError unless it is a share."""
    try:
        return check_real("last", last, lambda v: 0.0 < v <= 1.0, "be a share in (0, 1]")
    except ValueError as error:
        raise GuaranteeError(str(error)) from None


@inherit_parameters(ProgressiveResult)
class StreamResult:
    """Result of a progressive validation over chunks; its size does not grow with the rounds.

    Attributes
    ----------
    n_rounds : int
        Rounds played and learned.
    target_loss, expected_target_loss, surrogate_loss : float
        Means over all rounds, as `ProgressiveResult` has them round by round; NaN without any.
    chunks : ndarray of shape (m, 4)
        For every chunk its number of rounds, and the three means within it.
    estimator : estimator
        The learner after the last round.
    {ProgressiveResult: batch_size, play, dependence}
    delta : float
        Probability that `risk_bound` fails; and, apart from it, that `changed_` is wrong.
    changed_ : bool
        Whether a test at level delta found that the risk rose at some time: rows that changed, or
        a learner that got worse.

    See Also
    --------
    progressive_validate : Returns it for chunks.
    ProgressiveResult : The result for arrays, round by round.
    """

    def __init__(
        self, estimator: Any, play: str, batch_size: int, dependence: str | None, delta: float
    ) -> None:
        self._rise, self._order = risk.RiseTest(delta), risk.OrderTest(delta)
        self._risk, self._in_range = risk.RecentBound(delta), True
        self._rows: list[tuple[float, ...]] = []
        self.estimator, self.play, self.batch_size = estimator, play, batch_size
        self.dependence, self.delta = dependence, delta
        self.n_rounds, self._sums = 0, np.zeros(3)
        self.target_loss = self.expected_target_loss = self.surrogate_loss = math.nan

    def add_chunk(self, losses: Floats, packed: Any = None) -> None:
        """Add the losses (3, m) of a chunk, and its packed outputs."""
        if isinstance(packed, np.ndarray):
            self._order.update(packed)
        m, sums = losses.shape[1], losses.sum(axis=1)
        self._rows.append((m, *(sums / m if m else np.full(3, math.nan))))
        self.n_rounds, self._sums = self.n_rounds + m, self._sums + sums
        means = self._sums / self.n_rounds if self.n_rounds else np.full(3, math.nan)
        self.target_loss, self.expected_target_loss, self.surrogate_loss = means.tolist()
        expected, are_in_range = _clip_losses(losses[1])
        self._in_range &= are_in_range
        self._risk.update(expected)
        self._rise.update(expected)

    @property
    def chunks(self) -> Floats:
        """One row per chunk: rounds, mean target, expected target and surrogate loss."""
        return np.array(self._rows, dtype=np.float64).reshape(-1, 4)

    @property
    def changed_(self) -> bool:
        """Whether the test of `RiskMonitor`, at level delta, found that the risk ever rose."""
        return self._rise.found_at is not None

    def risk_bound(self) -> float:
        r"""Upper bound on the expected loss of the last rounds' models on a new row.

        Unlike `ProgressiveResult.risk_bound` it holds at any time: with probability 1 − delta
        after every number of rounds at once, so the bound may decide when to stop a stream; delta
        was given to `progressive_validate`. It is that of a `RiskMonitor` over rounds that begin
        after a power of two, at least the last half.

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        GuaranteeError
            For rows seen beforehand by a step of a pipeline, ``class_weight`` if the output depends
            on it, and losses outside [0, 1].

        Warns
        -----
        GuaranteeWarning
            If the test of `RiskMonitor` found a rise of the risk within these rounds, if the bound
            is below their mean loss, or if outputs of neighboring rows are alike beyond chance.
            Each test is wrong at any time with probability at most delta.

        References
        ----------
        Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic
        confidence sequences", Theorem 4.
        """
        if self.dependence is not None:
            raise GuaranteeError(f"The risk on new rows needs independent rows: {self.dependence}")
        if not self._in_range:
            raise GuaranteeError("The risk is bounded for target losses in [0, 1] only.")
        risk.warn_of_order(self._order)
        running_bound, found_at = self._risk.current, self._rise.found_at
        within = found_at is not None and found_at > running_bound.start
        risk.warn_of_rise(found_at if within else None, running_bound.bound, running_bound.mean)
        return running_bound.bound

    def __repr__(self):
        name, chunks = type(self.estimator).__name__, f"{len(self._rows)} chunks"
        loss = f"mean expected target loss {self.expected_target_loss:.4g}"
        rounds = f"{self.n_rounds} rounds of {name} in {chunks}"
        return f"StreamResult({rounds}, {loss}, play={self.play!r})"
