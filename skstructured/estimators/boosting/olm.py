"""Online multiclass boosting: AdaBoost.OLM++."""

import copy
import inspect
import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_integer, check_real, check_size
from skstructured._engine.state import at_once
from skstructured._learners.lock import snapshot
from skstructured._learners.models import BlockResult
from skstructured._learners.online import OnlineEstimator
from skstructured.estimators._auto import draw_seeds
from skstructured.estimators.boosting import _rounds
from skstructured.estimators.boosting._rounds import WeakState
from skstructured.estimators.boosting.tree import OnlineTreeClassifier, TreeModel, Trees
from skstructured.extend._types import Array, Features, Floats, Ints
from skstructured.extend.learner import Batch, Losses, Model
from skstructured.guarantees.certificates import Certificate


def check_weak(estimator):
    """A ValueError unless `estimator` is a classifier that learns weighted rows in parts."""
    message = "estimator must be a classifier with partial_fit(X, y, classes, sample_weight)"
    if isinstance(estimator, type) or not hasattr(estimator, "partial_fit"):
        raise ValueError(f"{message}, got {estimator!r}, which has no partial_fit.")
    if not (hasattr(estimator, "predict") and hasattr(estimator, "get_params")):
        raise ValueError(f"{message}, got {estimator!r}, which is not a scikit-learn classifier.")
    names = inspect.signature(estimator.partial_fit).parameters
    missing = [name for name in ("classes", "sample_weight") if name not in names]
    if missing:
        raise ValueError(f"{message}, got {estimator!r}, whose partial_fit has no {missing[0]}.")


def reads_sparse(estimator):
    """Whether a weak learner takes CSR rows, by its tags; None is our tree."""
    if not (hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)):
        return True
    return bool(estimator.__sklearn_tags__().input_tags.sparse)


def largest_regret(T, lam):
    """The largest `correction_regrets_` after T rounds of weight 1, but for the clipped logits.

    Each round adds ``σ(1−σ) q/2 = v/(4κ)``, ``v = a q ≤ u``, and ``Σ ln(1 + v) ≤ ln(det A/λ²)``.
    """
    R = math.hypot(1.0, math.log(max(T, 2)))
    u = R / (4.0 * math.sqrt(2.0) * lam)
    share = u / math.log1p(u) * math.log1p(0.5 * T * u)
    return 2.0 * lam + (1.0 + math.sqrt(2.0) * R) * share


class Votes(NamedTuple):
    """Classes drawn from votes (n, K), and logarithms of probabilities (n, K)."""

    votes: Floats
    logs: Floats

    def losses(self, V, random_state):
        """The `Losses` if V is true; surrogates are −logs of the true classes."""
        codes, every = V.argmax(axis=1), np.arange(len(V))
        expected = np.clip(1.0 - self.votes[every, codes], 0.0, 1.0)
        u = check_random_state(random_state).random_sample(len(codes))
        return Losses((u < expected).astype(np.float64), expected, -self.logs[every, codes])


class BoostedModel(Model):
    """Weak learners, the state of the corrections after them, and the hedge over the experts."""

    in_place = records = True

    def __init__(self, n_estimators, lam, K):
        self.numbers, self.lam, self.K = _rounds.new_numbers(n_estimators, lam), lam, K
        self.live, self.clipped = 0, 0.0

    @abstractmethod
    def estimators(self, learner):
        """The weak learners of a boosted `learner`."""

    @abstractmethod
    def answers(self, rows, i):
        """Positions (n,) of the classes that weak learner i answers to rows."""

    @abstractmethod
    def playing(self, batch, indices, votes, logs):
        """The `Call` by which rounds are played and learned, `live` of weight above 0 before."""

    def learn(self, batch, indices, weight, record):
        """Play and learn rounds; see `Model`."""
        votes, logs = np.full((2, len(indices), self.K), np.nan)
        counted = weight[weight > 0.0]
        live = self.live + len(counted)
        rounds = np.maximum(np.arange(self.live, live) + 1.0, 2.0)
        clipped = counted * np.log1p((math.e / rounds) ** 2)
        attributes = {"n_rounds": self.n_rounds + len(indices), "live": live}
        attributes["clipped"] = float(np.cumsum(np.append(self.clipped, clipped))[-1])
        at_once(self.playing(batch, indices, votes, logs), (vars(self).update, attributes))
        return BlockResult(-1, np.stack([votes, logs], axis=1), None) if record else None

    @property
    def shares(self):
        """Probabilities (N,) of the experts, and the place of the one with the fewest mistakes."""
        shares = np.empty(len(self.numbers))
        return shares, _rounds.expert_shares(self.numbers, shares)

    def chain(self, rows):
        """Logits (n, K) of expert 1, then of expert 2, … and N."""
        s, p = np.full((2, rows.n_rows, self.K), [[[-math.log(self.K)]], [[1.0 / self.K]]])
        cap = math.log(max(self.live + 1.0, 2.0))
        for i, state in enumerate(self.numbers):
            _rounds.advance(self.answers(rows, i), cap, state, s, p)
            yield s.copy()

    def played(self, rows):
        """Votes, and the logits of the leading expert, (n, 2, K)."""
        (shares, leader), votes, logs = self.shares, np.zeros((rows.n_rows, self.K)), None
        for i, logits in enumerate(self.chain(rows)):
            votes[np.arange(len(votes)), np.argmax(logits, axis=1)] += shares[i]
            logs = logits if i == leader else logs
        return np.stack([votes, logs], axis=1)

    def scores(self, batch, averaged):
        """Logits (n, K) of the leading expert."""
        return next(itertools.islice(self.chain(batch.rows), self.shares[1], None))


class BoostedTrees(BoostedModel):
    """Boosted trees, which play and learn in a compiled loop."""

    block = 1024

    def __init__(self, base, generators, lam, K, p):
        super().__init__(len(generators), lam, K)
        self.base, self.trees = clone(base), Trees(base, generators, K, p)

    def owns_arrays(self):
        """See `Model`."""
        return self.trees.owns_arrays()

    def estimators(self, learner):
        """The trees as estimators, copies."""
        names = ("space_", "classes_", "n_features_in_", "feature_names_in_")
        fitted = {name: value for name, value in vars(learner).items() if name in names}
        trees = [clone(self.base) for _ in self.numbers]
        for i, tree in enumerate(trees):
            tree.model_ = TreeModel(self.trees.one(i), learner.space_, tree.patience)
            tree.model_.n_rounds = self.n_rounds
            vars(tree).update(fitted)
        return trees

    def answers(self, rows, i):
        """See `BoostedModel`."""
        return self.trees.read(rows, i)[1]

    def playing(self, batch, indices, votes, logs):
        """See `BoostedModel`."""
        rounds = indices, batch.packed, batch.weights, self.live
        learned = self.base.patience, self.trees.arrays, self.numbers
        return _rounds.boost_rows, *batch.rows.arrays, *rounds, *learned, votes, logs


class BoostedClassifiers(BoostedModel):
    """Copies of any classifier, which see a row at a time; classes are their positions."""

    block = 1

    def __init__(self, base, generators, lam, K):
        super().__init__(len(generators), lam, K)
        self.learners, self.fitted = [clone(base) for _ in generators], False
        for learner, rng in zip(self.learners, generators, strict=True):
            names = [n for n in learner.get_params() if n.split("__")[-1] == "random_state"]
            learner.set_params(**{name: int(draw_seeds(rng)) for name in names})

    def estimators(self, learner):
        """The weak learners themselves."""
        return list(self.learners)

    def answers(self, rows, i):
        """See `BoostedModel`; they answer 0 before the first round."""
        if not self.fitted:
            return np.zeros(rows.n_rows, dtype=np.int64)
        answers = np.asarray(self.learners[i].predict(rows.matrix))
        if answers.shape != (rows.n_rows,) or not np.isin(answers, np.arange(self.K)).all():
            raise ValueError(
                f"estimator must predict one of the classes it was given, 0 to {self.K - 1}, for "
                f"every row; {self.learners[i]!r} did not."
            )
        return answers.astype(np.int64)

    def playing(self, batch, indices, votes, logs):
        """See `BoostedModel`; `learn` passes on the savings of the answers."""
        (row,), N, K = indices, len(self.numbers), self.K
        x, cap = batch.rows.taken(indices), math.log(max(self.live + 1.0, 2.0))
        answers = np.array([self.answers(x, i)[0] for i in range(N)])
        numbers, shares, self._saved = self.numbers.copy(), np.empty(N), np.empty((N, K))
        played = answers, batch.packed[row], batch.weights[row], cap, numbers, shares
        outputs = votes[0], logs[0], self._saved, np.empty(K), np.empty(K)
        _rounds.play_boosting_round(*played, *outputs)
        return np.copyto, self.numbers, numbers

    def learn(self, batch, indices, weight, record):
        """Teach the row by an example per class that saves something, with that as its weight."""
        result = super().learn(batch, indices, weight, record)
        for learner, saved in zip(self.learners, self._saved, strict=True):
            labels = np.flatnonzero(saved > 0.0)
            if len(labels):
                rows = batch.rows.matrix[np.full(len(labels), indices[0])]
                options = {"classes": np.arange(self.K), "sample_weight": saved[labels]}
                learner.partial_fit(rows, labels, **options)
        self.fitted = self.fitted or bool(self._saved.any())
        return result


@parameters
class AdaBoostOLMClassifier(ClassifierMixin, OnlineEstimator):
    r"""Online boosting: many weak learners, each trained on the mistakes of the others.

    Use it for streams of unscaled features whose classes are not linearly separable. Its own trees
    run in a compiled loop; weak learners of scikit-learn take about a hundred times as long. The
    algorithm is AdaBoost.OLM++ [1]_, with the improper learner of [2]_.

    In round t, with :math:`s^0 = 0`, weak learner i predicts a class l. A binary AIOLI with the row
    :math:`x = (½(s_l - \log\sum_{k≠l}e^{s_k}), 1)`, its first entry clipped at ±ln max(t, 2), then
    moves the logits, with m its logit:

    .. math:: s^i_l = \log σ(m), \quad
        s^i_k = s^{i-1}_k + \log σ(-m) - \log\sum_{j≠l} e^{s^{i-1}_j} \quad (k ≠ l).

    Expert i predicts argmax s^i. A hedge draws expert i with probability :math:`v_i ∝
    \exp(-\text{its mistakes}/m)`, with m the largest weight of a row so far or 1. This draw is used
    by `play` and `sample`; `predict` and probabilities follow the expert with the fewest mistakes.
    Then weak learner i learns the costs of its predictions. With σ the softmax of :math:`s^{i-1}`
    and y the true class, they are ``C(y, k) = (σ_k + 1 − σ_y)/K`` for k ≠ y and ``C(y, y) = 0``.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Weak learner: any classifier with ``partial_fit(X, y, classes=, sample_weight=)``. None is
        `OnlineTreeClassifier`. A round passes the row once per class k = 0 … K−1, as an example of
        class k with the weight ``max_j C(y, j) − C(y, k)``, if that is positive. The weighted 0-1
        loss is then the cost of the prediction, up to a constant.
    n_estimators : int, default=50
        Number N of weak learners and of experts.
    alpha : float, default=1.0
        Regularization strength λ of the corrections, in λ/2 ‖θ − (2, 0)‖². Here θ = (2, α) adds α
        to the score of every prediction.
    shuffle : bool, default=True
        Whether `fit`, which makes one pass, visits the rows in random order.
    verbose : bool or int, default=0
        Whether to print, once per second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the weak learners, with a different number for each, and the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    estimators_ : list
        The weak learners; copies if they are `OnlineTreeClassifier`.
    edges_ : ndarray of shape (N,)
        Edges γ_i in [−1, 1]: see Notes.
    expert_weights_ : ndarray of shape (N,)
        Probabilities v_i/Σv of the experts.
    leader_ : int
        Index of the expert that `predict` follows: the one with the fewest mistakes, the first if
        several have as many.
    correction_regrets_ : ndarray of shape (N,)
        Bounds on the regrets of the corrections: see Notes.
    t_ : int
        Number of rounds learned.
    space_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    OnlineTreeClassifier : The default weak learner.
    FolkloreClassifier : Online logistic regression, for linear problems.
    KernelStructuredPredictor : Nonlinear models for streams, with random features.

    Notes
    -----
    Before its first row every weak learner predicts ``classes_[0]``. A sample weight multiplies the
    costs, the loss of the correction and the mistakes of experts. Weak learners predict labels
    without the costs of the round: trees predict the class with the lowest total cost in the leaf.

    With :math:`σ^i_t = \mathrm{softmax}(s^{i-1}_t)`, :math:`w_i = \sum_t 1 - σ^i_{t,y_t}` and
    predictions :math:`l_t`, the edge is

    .. math:: γ_i = \frac{1}{w_i}\Big(\sum_{t: l_t = y_t} (1 - σ^i_{t,y_t})
        - \sum_{t: l_t ≠ y_t} σ^i_{t,l_t}\Big),

    1 for a learner without mistakes, and 0 for one that guesses. The following bounds hold:

    - expected mistakes ≤ (mistakes of the best expert + m ln N)/(1 − 1/e), both by weight;
    - for every |α| ≤ 2, ``Σ ℓ(s^i) − Σ ℓ(s^{i−1} + α e_l) ≤ λα²/2 + Σ ½σ(m)(1 − σ(m))q + Σ ln(1 +
      e²/max(t, 2)²)``, which is O(ln² T) and at most `correction_regrets_`; q is the row's xᵀA⁻¹x;
    - these in turn are at most ``2λ + (1 + √2 R) (u/ln(1 + u)) ln(1 + Tu/2) + Σ ln(1 + e²/max(t,
      2)²)`` for every stream of T rounds, with ``R² = 1 + ln² max(T, 2)`` and ``u = R/(4√2 λ)``
      (Theorem 4.5 in [1]_, with constants);
    - ``Σ ℓ(s^N) ≤ T ln K − ½ Σ w_i γ_i² + Σ_i correction_regrets_``;
    - hence some expert makes at most ``4 (T ln K + Σ_i correction_regrets_)/Σ γ_i²`` mistakes (C.5
      in [1]_), which `certificate` returns, together with the first bound. With probability 1 − δ,
      mistakes are at most ``e (that number + m ln N) + m ln(1/δ)``.

    The last two bounds are for rows of weight 1. With other weights w, the second holds for Σ wℓ
    with the terms w²½σ(m)(1 − σ(m))q and w ln(1 + e²/max(t, 2)²), with t the rounds of weight above
    0.

    The original regularizer is centered at 0, which makes every correction start by forgetting s,
    and has λ(4 + α²)/2 in its bound instead of λα²/2.

    References
    ----------
    .. [1] Agarwal, Kale, Zimmert (2022). Efficient methods for online multiclass logistic
       regression. ALT. Algorithms 3 and 4.

    .. [2] Foster, Kale, Luo, Mohri, Sridharan (2018). Logistic regression: the importance of being
       improper. COLT.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import AdaBoostOLMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostOLMClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    estimator: BaseEstimator | None = None
    n_estimators: int = 50
    alpha: float = 1.0
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds with the current state; nothing is learned."""
        rounds = rounds.take(which)
        with self.lock:
            votes = self.decode(self.model_.played(rounds.rows))
        return votes.losses(self._truths(rounds.packed), random_state)

    def decode(self, theta):
        """How scores, or `Votes` that were recorded, become outputs."""
        return Votes(theta[:, 0], theta[:, 1]) if theta.ndim == 3 else super().decode(theta)

    def sample(self, X: Features, random_state: Seed = None) -> Array:
        """Labels (n,), each of an expert drawn with its `expert_weights_`: what rounds play."""
        rows = self._fitted_rows(X)
        with self.lock:
            votes = self.model_.played(rows)[:, 0]
        return self.space_.decode(self.space_.sample(votes, random_state))

    def predict_proba(self, X: Features) -> Floats:
        """Softmax of the leading expert's logits: (n, K)."""
        return np.exp(snapshot(self)._scores(X))

    def predict_log_proba(self, X: Features) -> Floats:
        """Log softmax of the leading expert's logits: (n, K)."""
        return snapshot(self)._scores(X)

    def staged_predict(self, X: Features) -> Iterator[Array]:
        """Labels by expert 1, then by expert 2, … and N.

        Yields
        ------
        ndarray of shape (n,)
        """
        for logits in self.model_.chain(self._fitted_rows(X)):
            yield self.classes_[np.argmax(logits, axis=1)]

    def _fitted_rows(self, X):
        check_is_fitted(self, "space_")
        return self.read(X).rows

    @property
    def estimators_(self) -> list[Any]:
        """Weak learners, in the order of the experts."""
        check_is_fitted(self, "classes_")
        with self.lock:
            return self.model_.estimators(self)

    @property
    def expert_weights_(self) -> Floats:
        """Probabilities (N,) with which the hedge draws an expert."""
        return self._learned("shares")[0]

    @property
    def leader_(self) -> int:
        """Place of the expert that `predict` follows."""
        return int(self._learned("shares")[1])

    @property
    def edges_(self) -> Floats:
        """Edges γ_i (N,) of the weak learners in the rounds learned; 0 before the first."""
        cost, edge = self._learned("numbers")[:, [WeakState.COST, WeakState.EDGE]].T
        return np.divide(edge, cost, np.zeros(len(cost)), where=cost > 0.0)

    @property
    def correction_regrets_(self) -> Floats:
        """Bounds (N,) of Σ wℓ(s^i) − min_α Σ wℓ(s^{i−1} + α e_l), |α| ≤ 2, over the rounds."""
        numbers, model = self._learned("numbers"), self.model_
        return numbers[:, WeakState.POTENTIAL] + 2.0 * model.lam + model.clipped

    def certificate(self, delta: float | None = None) -> Certificate:
        """Proposition 4.4 for the rounds seen so far: ``certificate().bound(0.0, 0.0)``; see Notes.

        Parameters
        ----------
        delta : float or None, default=None
            None bounds the expected mistakes, by weight; a number in (0, 1) bounds those of the
            draws with probability 1 − delta.

        Returns
        -------
        Certificate
            Its radius is 0: there are no linear comparators. Its ``constants`` are mistakes, which
            are those of the best expert at most, edges (Σ γ_i²), regrets (Σ of
            `correction_regrets_`), and largest_regret, Theorem 4.5: the largest possible one of
            them for as many rounds of weight 1.

        Raises
        ------
        GuaranteeError
            Before the first round, and if all edges are 0.
        """
        if delta is not None:
            check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)")
        edges = float(self.edges_ @ self.edges_) if hasattr(self, "classes_") else 0.0
        if edges == 0.0:
            raise GuaranteeError(
                "No bound before the first round, or if all edges of the weak learners are 0."
            )
        K, regrets, model = self.space_.dim_, float(self.correction_regrets_.sum()), self.model_
        total = model.numbers[0, WeakState.COST] * K / (K - 1)  # the first costs are w(1 − 1/K)
        mistakes = 4.0 * (total * math.log(K) + regrets) / edges
        m = model.numbers[0, WeakState.HEAVIEST]
        reached = mistakes + m * math.log(len(model.numbers))
        offset = reached / (1.0 - math.exp(-1.0))
        if delta is not None:
            offset = math.e * reached + m * math.log(1.0 / delta)
        constants = {"mistakes": mistakes, "edges": edges, "regrets": regrets}
        constants["largest_regret"] = largest_regret(model.live, model.lam) + model.clipped
        return Certificate("Proposition 4.4", 0.0, offset, 0.0, constants)

    def _learned(self, name):
        """A copy of an attribute of the model."""
        check_is_fitted(self, "classes_")
        with self.lock:
            return copy.copy(getattr(self.model_, name))

    def _read(self, X, reset=False):
        batch = super()._read(X, reset)
        if batch.rows.is_sparse and not reads_sparse(self.estimator):
            raise ValueError(
                f"X is sparse, but estimator={self.estimator!r} does not support sparse rows. Use "
                "X.toarray()."
            )
        return batch

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        check_integer("n_estimators", self.n_estimators)
        lam, K = check_size("alpha", self.alpha), self.space_.dim_
        base = OnlineTreeClassifier() if self.estimator is None else self.estimator
        seeds = draw_seeds(check_random_state(self.random_state), self.n_estimators)
        generators = [np.random.RandomState(seed) for seed in seeds]
        if type(base) is OnlineTreeClassifier:
            return BoostedTrees(base, generators, lam, K, self.n_features_in_)
        check_weak(base)
        return BoostedClassifiers(base, generators, lam, K)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = reads_sparse(self.estimator)
        return tags
