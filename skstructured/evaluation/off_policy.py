"""Off-policy evaluation: the value of a policy, estimated from the log of another."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from skstructured._base.validation import check_choice, check_integer, check_real, check_weights
from skstructured.bandits._base import check_entries, read_numbers, refuse, warn_of_certainty
from skstructured.bandits._item_base import places_of, read_actions, rows_of
from skstructured.evaluation._conformity import places
from skstructured.extend._types import Floats, Given, Ints
from skstructured.items._reading import Items, read_items

#: Probabilities of a round may sum to 1 up to this.
ROUNDING = 1e-6

#: Numbers are finite if they are at most this in size.
LARGEST = np.finfo(np.float64).max


def read_table(given: Any, name: str, qid: Any = None) -> Items:
    """Numbers of the actions of n rounds: (n, K), n vectors (m,), or with qid (N,); no others."""
    if qid is not None:
        flat = np.asarray(given, dtype=np.float64)
        if flat.ndim != 1:
            raise ValueError(f"{name} must have shape (N,) if qid is given, got {flat.shape}.")
        return read_items(flat, qid)
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in given]
    except (TypeError, ValueError):
        rows = []
    if not rows or any(row.ndim != 1 or len(row) == 0 for row in rows):
        raise ValueError(
            f"{name} must be a matrix (n, K), or a list of one array (m,) per round, of numbers "
            "for each of its actions."
        )
    n = len(rows)
    codes = np.repeat(np.arange(n), [*map(len, rows)])
    return Items(np.concatenate(rows), codes, np.arange(n), True, None)


def read_policy(given: Any, qid: Any = None) -> Items:
    """Probabilities of the actions; a ValueError names a round that does not have them."""
    table = read_table(given, "policy", qid)
    sums = table.sums(np.where(table.values >= 0.0, table.values, np.nan))
    wrong = ~(np.abs(sums - 1.0) <= ROUNDING)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        row = table.values[table.offsets[i] : table.offsets[i + 1]]
        raise ValueError(
            f"policy must have non-negative probabilities of sum 1 in every round; those of round "
            f"{i} begin with {row[:5].tolist()} and sum to {row.sum():.6g}."
        )
    return table


def read_finite(name: str, given: Any, n: int) -> Floats:
    """Finite numbers (n,) as float64."""
    return read_numbers(name, given, n, LARGEST, "finite", "round")


def read_actions_of(actions: Any, lengths: Ints, classes: Any) -> Ints:
    """Positions (n,) of logged actions in their rounds, or among `classes`."""
    if classes is None:
        return places_of(actions, lengths, ", or labels with classes=…")
    given, classes = np.asarray(actions), np.asarray(classes)
    check_entries("actions", given, len(lengths))
    if classes.ndim != 1 or len(set(classes.tolist())) != len(classes):
        raise ValueError(f"classes must be distinct labels, (K,), got {classes.tolist()!r}.")
    if (lengths != len(classes)).any():
        raise ValueError(f"policy must have a column for each of the {len(classes)} classes.")
    codes = places(given, classes)
    refuse(codes < 0, given, "actions", f"one of the classes {classes[:10].tolist()}", "round")
    return codes


class Log(NamedTuple):
    """A log and a policy: positions of the actions, rewards, and the estimate that is requested.

    Attributes
    ----------
    policy : Items
        Probabilities π.
    at : ndarray of shape (n,)
        Positions of the logged actions among the values of the policy.
    rewards, propensities, weight : ndarray of shape (n,)
        Those of the rounds.
    rewards_of : ndarray of shape (N,) or None
        Estimated rewards q of all actions.
    """

    policy: Items
    at: Ints
    rewards: Floats
    propensities: Floats
    weight: Floats
    rewards_of: Floats | None

    @property
    def ratios(self) -> Floats:
        """π(a_t)/p_t of the rounds."""
        return self.policy.values[self.at] / self.propensities


def width_of(
    log: Log, method: str, unweighted: bool, reward_range: Any, min_propensity: Any
) -> float:
    """The width of the range that the numbers of the estimate must lie in."""
    if method == "snips" or not unweighted:
        raise ValueError(
            'interval="bernstein" is only supported for method="ips" and "dr" without '
            'sample_weight; use interval="normal".'
        )
    low, high = _read_range(reward_range)
    if log.rewards.min() < low or log.rewards.max() > high:
        raise ValueError(f"rewards must lie in reward_range=({low:g}, {high:g}).")
    least = check_real("min_propensity", min_propensity, lambda v: 0.0 < v <= 1.0, "lie in (0, 1]")
    if (log.propensities < least).any():
        raise ValueError(f"propensities must be at least min_propensity={least:g} in all rounds.")
    if method == "ips":
        return (max(high, 0.0) - min(low, 0.0)) / least
    q = log.rewards_of[log.policy.values > 0.0]  # type: ignore[index]  # "dr" has them
    if q.min() < low or q.max() > high:
        raise ValueError(f"reward_estimates must lie in reward_range=({low:g}, {high:g}).")
    return (high - low) * (2.0 / least - 1.0)


def _read_range(given):
    """Bounds on rewards."""
    bounds = np.asarray(given, dtype=object)
    real = [isinstance(v, Real) and math.isfinite(v) for v in bounds.ravel()]
    if bounds.shape != (2,) or not all(real) or not bounds[0] < bounds[1]:
        wanted = "must be two finite numbers (low, high), low < high"
        raise ValueError(f"reward_range {wanted}, got {given!r}.")
    return float(bounds[0]), float(bounds[1])


def bernstein(phi: Floats, delta: float, width: float) -> float:
    """Margin of the empirical Bernstein bound on either side."""
    n, surprise = len(phi), math.log(4.0 / delta)
    spread = math.sqrt(2.0 * float(np.var(phi, ddof=1)) * surprise / n)
    return spread + 7.0 * width * surprise / (3.0 * (n - 1))


class PolicyValue(NamedTuple):
    """The value of a policy per round, as estimated from a log.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error.
    interval : tuple of two floats
        A confidence interval of the value.
    effective_sample_size : float
        ``(Σ w_t)²/Σ w_t²``, with w_t = π(a_t)/p_t times the weight of the round. It is the number
        of rounds played by the policy itself that the log is worth, at most that of its rounds.
    estimates : ndarray of shape (n,)
        The estimate of every round; `value` is their mean, for "snips" up to a difference of the
        order of 1/n. Subtract those of two policies on one log to get the standard error of the
        difference.

    See Also
    --------
    off_policy_value : Makes it.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    effective_sample_size: float
    estimates: Floats


def off_policy_value(
    actions: ArrayLike,
    rewards: ArrayLike,
    propensities: ArrayLike,
    policy: Any,
    *,
    qid: Given = None,
    method: Literal["ips", "snips", "dr"] = "snips",
    reward_estimates: Any = None,
    interval: Literal["normal", "bernstein"] = "normal",
    delta: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    min_propensity: float | None = None,
    classes: Given = None,
    sample_weight: Given = None,
) -> PolicyValue:
    r"""Estimate the reward of a policy per round, from rounds played by another policy.

    The log has actions a_t, rewards r_t and propensities p_t, the probabilities with which the
    actions were chosen; π_t is the policy's distribution in round t. With ``w_t = π_t(a_t)/p_t``,

    - "ips", inverse propensity scores [1]_: the mean of ``w_t r_t``;
    - "snips", self-normalized [3]_: ``Σ w_t r_t/Σ w_t``;
    - "dr", doubly robust [2]_: the mean of ``Σ_a π_t(a) q_t(a) + w_t (r_t − q_t(a_t))``, with
      estimates q of the rewards of all actions.

    Parameters
    ----------
    actions : array-like of shape (n,)
        Positions of the logged actions in their rounds, from 0; labels with `classes`.
    rewards : array-like of shape (n,)
        Rewards of the logged actions: any real numbers.
    propensities : array-like of shape (n,)
        Probabilities with which the actions were chosen, in (0, 1].
    policy : array-like of shape (n, K), list of n arrays (m,), or with `qid` of shape (N,)
        Probabilities of all actions of every round under the policy, which must not depend on the
        rewards of the log. ``decoding_proba`` of a bandit returns them; 0 and 1 are a policy
        without randomness.
    qid : array-like of shape (N,) or None, default=None
        Round of each number of `policy` and `reward_estimates`, in any order; rounds are ordered by
        the first entry of each.
    method : {"ips", "snips", "dr"}, default="snips"
        The estimator. "ips" is unbiased and noisy. "snips" is less noisy, does not change if a
        constant is added to all rewards, and has a bias of the order of 1/n. "dr" is unbiased for
        any q, and has less noise the better q is.
    reward_estimates : array-like, list of n arrays (m,) or None, default=None
        Estimated rewards q, in the form of `policy`, for "dr". The estimates of a round must not
        depend on its own reward: use `cross_fitted_rewards`.
    interval : {"normal", "bernstein"}, default="normal"
        How the confidence interval is computed. "normal" uses the standard error, for many rounds.
        "bernstein" uses an inequality that holds for any number of independent rounds; it supports
        "ips" and "dr".
    delta : float, default=0.05
        Probability in (0, 1) that the interval does not contain the value.
    reward_range : tuple of two floats or None, default=None
        Bounds on all rewards, known beforehand, for "bernstein".
    min_propensity : float or None, default=None
        A lower bound on all propensities of the logging policy, known beforehand, for "bernstein".
    classes : array-like of shape (K,) or None, default=None
        Labels of the columns of `policy`. None: actions are positions.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights s_t of rounds: means are weighted. Not supported for "bernstein".

    Returns
    -------
    PolicyValue

    Raises
    ------
    ValueError
        If propensities are outside (0, 1], rows of `policy` are not distributions, arrays differ in
        length, actions are unknown, or fewer than two rounds have a positive weight. If "snips" is
        used and the policy never plays a logged action; if "dr" has no estimates; if "bernstein"
        has no bounds, or the log does not keep to them.

    Warns
    -----
    GuaranteeWarning
        If all propensities are 1 although there was more than one action: such a log has no
        information on other policies.

    See Also
    --------
    cross_fitted_rewards : Estimates of the rewards of all actions, for "dr".
    PolicyValue : The result.
    skstructured.bandits.BanditRounds : Replay labeled rows as a log of a bandit.
    skstructured.bandits.LinUCB : A policy.

    Notes
    -----
    The rounds must be independent, the logged propensities right, and positive for every action
    that the policy plays; the value is the expectation over rounds like these. The standard error
    of the estimate v, with φ_t the numbers whose mean it is, is

    .. math:: \sqrt{\frac{n}{n-1}} \frac{\sqrt{\sum_t s_t^2 (φ_t - v)^2}}{\sum_t s_t}.

    For "snips", by the delta method, ``φ_t = v + w_t (r_t − v)/w̄``, w̄ the weighted mean of the
    w_t. The interval "normal" is ``v ∓ z_{1 − δ/2}`` standard errors. The interval "bernstein"
    ([4]_, Theorem 4, on either side with δ/2) is
    ``v ∓ (√(2 V ln(4/δ)/n) + 7 B ln(4/δ)/(3 (n − 1)))``, V the sample variance of the φ_t, and B
    the width of their range. With rewards in [a, b] and propensities of at least p, B is
    ``(max(b, 0) − min(a, 0))/p`` for "ips" and ``(b − a)(2/p − 1)`` for "dr" with q in [a, b],
    which must not depend on the log.

    If the logging policy learned from the log, "ips" and "dr" stay unbiased; standard errors are
    then approximate.

    References
    ----------
    .. [1] Horvitz, Thompson (1952), "A generalization of sampling without replacement from a finite
       universe".
    .. [2] Dudík, Langford, Li (2011), "Doubly robust policy evaluation and learning".
    .. [3] Swaminathan, Joachims (2015), "The self-normalized estimator for counterfactual
       learning".
    .. [4] Maurer, Pontil (2009), "Empirical Bernstein bounds and sample variance penalization".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.evaluation import off_policy_value
    >>> rng = np.random.RandomState(0)
    >>> actions = rng.randint(3, size=1000)  # chosen at random
    >>> rewards = actions + rng.normal(size=1000)  # action 2 earns 2 in the mean
    >>> always_2 = np.tile([0.0, 0.0, 1.0], (1000, 1))
    >>> found = off_policy_value(actions, rewards, np.full(1000, 1 / 3), always_2)
    >>> print(f"{found.value:.2f} ± {2 * found.standard_error:.2f}")
    1.98 ± 0.11
    """
    check_choice("method", method, ("ips", "snips", "dr"))
    check_choice("interval", interval, ("normal", "bernstein"))
    check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)")
    q = reward_estimates if method == "dr" else None
    if method == "dr" and q is None:
        raise ValueError('method="dr" needs reward_estimates, for example of cross_fitted_rewards.')
    log = _read_log(actions, rewards, propensities, (policy, q, qid), classes, sample_weight)
    value, phi = _estimated(log, method)
    n, spread = np.count_nonzero(log.weight), float((log.weight**2) @ (phi - value) ** 2)
    error = math.sqrt(n / (n - 1)) * math.sqrt(spread) / float(log.weight.sum())
    if interval == "normal":
        margin = float(ndtri(1.0 - delta / 2.0)) * error
    else:
        given = sample_weight is None, reward_range, min_propensity
        margin = bernstein(phi, delta, width_of(log, method, *given))
    own = log.ratios * log.weight
    size = float(own.sum() ** 2 / (own @ own)) if own.any() else 0.0
    return PolicyValue(value, error, (value - margin, value + margin), size, phi)


def _read_log(actions, rewards, propensities, of_actions, classes, sample_weight):
    """The `Log` of the arguments, checked."""
    policy, q, qid = of_actions
    table = read_policy(policy, qid)
    n = len(table.lengths)
    at = table.offsets[:-1] + read_actions_of(actions, table.lengths, classes)
    rewards, p = read_finite("rewards", rewards, n), read_finite("propensities", propensities, n)
    allowed = "in (0, 1], the probabilities with which the logged actions were chosen"
    refuse(~((p > 0.0) & (p <= 1.0)), p, "propensities", allowed, "round")
    weight = check_weights(sample_weight, np.empty((n, 1)), n, stream=True)
    if np.count_nonzero(weight) < 2:
        raise ValueError("A standard error needs at least two rounds of positive weight.")
    if (table.lengths > 1).any():
        warn_of_certainty(p)
    return Log(table, at, rewards, p, weight, _read_estimates(q, qid, table))


def _read_estimates(q, qid, policy):
    """Estimates (N,) of the rewards of all actions that the policy has, or None."""
    if q is None:
        return None
    table = read_table(q, "reward_estimates", qid)
    if not np.array_equal(table.offsets, policy.offsets):
        raise ValueError("reward_estimates must have a number for each action that policy has.")
    values = np.where(policy.values == 0.0, np.nan_to_num(table.values), table.values)
    if not np.isfinite(values).all():
        raise ValueError("reward_estimates must be finite for all actions that policy may play.")
    return values


def _estimated(log, method):
    """The estimate, and the numbers (n,) whose weighted mean it is."""
    w, share = log.ratios, log.weight / log.weight.sum()
    if method == "snips":
        total = float(share @ w)
        if total == 0.0:
            raise ValueError(
                'method="snips": policy gives probability 0 to every logged action, so the log has '
                "no information on it."
            )
        value = float(share @ (w * log.rewards)) / total
        return value, value + w * (log.rewards - value) / total
    phi = w * log.rewards
    if log.rewards_of is not None:
        expected = log.policy.sums(log.policy.values * log.rewards_of)
        phi = expected + w * (log.rewards - log.rewards_of[log.at])
    return float(share @ phi), phi


def cross_fitted_rewards(
    X: Any,
    actions: ArrayLike,
    rewards: ArrayLike,
    *,
    reward_model: BaseEstimator | None = None,
    n_splits: int = 5,
    qid: Given = None,
    available: Any = None,
    classes: Given = None,
) -> Any:
    """Estimate the rewards of all actions of logged rounds, each by models of the other rounds.

    The rounds are split into n_splits parts, in their order. For each part a regressor learns the
    rewards of the other parts, and predicts those of all actions of the part. So no estimate
    depends on the reward of that round, as doubly robust estimates need it.

    Parameters
    ----------
    X : list of n matrices (m, p), array of shape (n, m, p), or of (N, p) with `qid`, or (n, p)
        Features of the actions of every round. With `classes`, features of the rounds, (n, p);
        every class then has its own regressor.
    actions : array-like of shape (n,)
        Positions of the logged actions in their rounds, hidden ones counted; labels with `classes`.
    rewards : array-like of shape (n,)
        Rewards of the logged actions.
    reward_model : estimator or None, default=None
        A regressor of scikit-learn; None is ridge regression on standardized features.
    n_splits : int, default=5
        Number of parts, 2 or more.
    qid, available : array-like or None, default=None
        As in ``choose`` of `skstructured.bandits.LinUCB`.
    classes : array-like of shape (K,) or None, default=None
        Labels of the actions, if they have no features.

    Returns
    -------
    list of n arrays (m,), with `qid` ndarray of shape (N,), with `classes` of shape (n, K)
        Estimated rewards, NaN for hidden actions. A class that was never played in the other parts
        gets the mean of their rewards.

    Raises
    ------
    ValueError
        If rounds or actions are invalid, if rewards are not finite, or if there are fewer rounds
        than parts.

    See Also
    --------
    off_policy_value : Uses the estimates, with ``method="dr"``.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.evaluation import cross_fitted_rewards
    >>> rng = np.random.RandomState(0)
    >>> offers, actions = rng.normal(size=(100, 3, 2)), rng.randint(3, size=100)
    >>> rewards = offers[np.arange(100), actions] @ [1.0, -1.0] + rng.normal(size=100)
    >>> estimates = cross_fitted_rewards(offers, actions, rewards)
    >>> len(estimates), estimates[0].shape
    (100, (3,))
    """
    check_integer("n_splits", n_splits, lowest=2)
    model = reward_model or make_pipeline(StandardScaler(), Ridge())
    if classes is not None:
        return _of_classes(X, actions, rewards, np.asarray(classes), model, n_splits)
    return _of_items(X, (qid, available), actions, rewards, model, n_splits)


def _of_items(X, given, actions, rewards, model, n_splits):
    items = read_actions(X, *given)
    n, Z, at = len(items), check_array(items.values, dtype=np.float64), rows_of(items, actions)
    y = read_finite("rewards", rewards, n)
    found, of_round = np.empty(len(Z)), np.repeat(np.arange(n), items.lengths)
    for learned, held in KFold(n_splits).split(np.empty(n)):
        rows = np.isin(of_round, held)
        found[rows] = _predicted(model, Z[at[learned]], y[learned], Z[rows])
    return items.unstacked(found)


def _of_classes(X, actions, rewards, classes, model, n_splits):
    X = check_array(X, dtype=np.float64)
    n, K = len(X), len(classes)
    codes = read_actions_of(actions, np.full(n, K), classes)
    y, found = read_finite("rewards", rewards, n), np.empty((n, K))
    for learned, held in KFold(n_splits).split(np.empty(n)):
        for k in range(K):
            rows = learned[codes[learned] == k]
            none = np.full(len(held), y[learned].mean())
            found[held, k] = _predicted(model, X[rows], y[rows], X[held]) if len(rows) else none
    return found


def _predicted(model, X, y, Z):
    return np.asarray(clone(model).fit(X, y).predict(Z), dtype=np.float64)
