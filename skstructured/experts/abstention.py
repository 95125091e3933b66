"""Expert advice with abstention: a classifier that may abstain, over given classifiers."""

from abc import update_abstractmethods
from copy import deepcopy
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import (
    check_choice,
    check_integer,
    check_lengths,
    check_share,
    weighted_mean,
)
from skstructured._learners.lock import first_call, learning_aside, locked
from skstructured._learners.passes import is_verbose, with_progress
from skstructured.experts._binary import (
    check_marker,
    checked_rows,
    expert_of,
    folds,
    named_experts,
    rows_at,
    seed,
)
from skstructured.experts.hedge import AdaHedge
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Outputs
from skstructured.extend.learner import Batch, ExpertComparison, Losses, OnlineLearner
from skstructured.guarantees.certificates import AbstentionCertificate, Certificate
from skstructured.spaces import Simplex


class AskedRows(NamedTuple):
    """Rows, and the losses of the experts on them, (n, d); NaN until they are learned."""

    matrix: object
    losses: np.ndarray


def losses_of(opinions, codes):
    """``(1 − y u)/2`` for opinions u (n, d) and the true class y = ±1, (n, d)."""
    return 0.5 * (1.0 - (2.0 * codes - 1.0)[:, None] * opinions)


@locked
@update_abstractmethods
@parameters
class AbstainingHedgeClassifier(OnlineLearner, ClassifierMixin, _BaseComposition):
    r"""Weight binary classifiers by their past losses, and abstain if they disagree.

    Abstaining costs c, a mistake 1. If c < ½, the expected cost of all rounds exceeds that of the
    best expert by at most a constant, for any number of rounds and any sequence of rows. Without
    abstaining the difference may grow like the square root of the number of rounds. The
    classifiers may be fitted already, or trained here.

    In round t expert i predicts ``y_i`` in [−1, 1], `AdaHedge` gives weights p̂ from past losses
    ``ℓ(y_i) = (1 − y y_i)/2``, and

    .. math:: \hat y = ⟨\hat p, (y_i)⟩, \quad y^* = \operatorname{sign} \hat y, \quad
        b = 1 - |\hat y|:

    abstain with probability b, else play y*. `sample` draws accordingly. `predict` abstains if
    b > 2c: then the more likely class has a probability below 1 − c.

    Parameters
    ----------
    estimators : list of (str, classifier), or list of classifiers
        The experts. Their opinions are ``2 predict_proba − 1``; without ``predict_proba`` the
        decision function, clipped to [−1, 1]; without both −1 or 1 for the class predicted. All are
        rounded to 20 binary places; NaN counts as 0.
    abstention_cost : float, default=0.3
        The cost c of abstaining, in [0, 1]; the bound needs c < ½. It changes `predict` and the
        losses, not the weights.
    train : {"auto", True, False}, default="auto"
        Which experts are trained: those not fitted ("auto"), all (True), or none (False).
        `partial_fit` and progressive validation ask each expert about a row before it learns the
        row; before its first row its opinion is 0. `fit` trains on all rows. Before, it fits clones
        on ``cv − 1`` of `cv` folds, and weights the experts by the opinions of these clones on the
        other fold. Experts that are given fitted must be fitted on other rows. An expert in a
        ``sklearn.frozen.FrozenEstimator`` is never trained. Clones, for example in
        cross-validation, keep fitted experts if ``train=False``, and frozen ones; others are fitted
        again.
    cv : int, default=5
        Number of folds of `fit`, consecutive rows of each class.
    calibrate : {"isotonic", "sigmoid", None}, default="isotonic"
        How `fit` calibrates the opinions of experts, on rows that they have not seen; each fold is
        weighted by the map of the others. None uses the opinions without calibration, and so does a
        stream that starts with `partial_fit`.
    abstain_label : object, default=None
        Label that `predict` and `sample` return for abstaining; it must not be a class. If None,
        `predict` always predicts a class, so scorers work, and `sample` decides by a fair coin,
        which costs ½. `abstains` then returns for which rows not to use the prediction.
    verbose : bool or int, default=0
        Whether to print the number of learned rows once a second.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws, and the trained experts that have no seed.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels; −1 and 1 of the formulas.
    estimators_ : list of classifiers
        The experts, after training.
    hedge_ : AdaHedge
        The weights over them, ``hedge_.weights_``.
    expert_losses_ : ndarray of shape (d,)
        Total losses of the experts.
    t_ : int
        Rounds learned.
    space_ : OutputSpace
        The simplex over the two labels.
    random_state_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Raises
    ------
    ValueError
        At the first call to learn, if there are more than two classes, which the theorem does not
        cover; if a parameter is wrong; if an expert cannot be trained as requested.

    See Also
    --------
    skstructured.experts.AdaHedge : The weights.
    PredictionSets : Sets of classes instead of abstaining, for any number of classes.
    skstructured.guarantees.AbstentionCertificate : The bound.

    Notes
    -----
    The bound is Theorem 7 of [1]_, appendix E; see also [2]_. After `fit`, `partial_fit` trains
    those experts further that `fit` trained and that have ``partial_fit``. If one raises, the
    others learn the round, and it counts. Experts get frames and CSR unchanged.

    References
    ----------
    .. [1] Van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass
       classification".
    .. [2] Neu, Zhivotovskiy (2020), "Fast rates for online prediction with abstention".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.utils import shuffle
    >>> from skstructured import AbstainingHedgeClassifier, OnlineStructuredPredictor
    >>> X, y = shuffle(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> experts = [GaussianNB(), KNeighborsClassifier(), OnlineStructuredPredictor(random_state=0)]
    >>> model = AbstainingHedgeClassifier(experts, abstention_cost=0.1).fit(X[:300], y[:300])
    >>> sure = ~model.abstains(X[300:])
    >>> bool(model.score(X[300:][sure], y[300:][sure]) > model.score(X[300:], y[300:]))
    True
    """

    #: Rounds for which experts that are not trained are asked at a time.
    _block_size = 4096

    estimators: list
    abstention_cost: float = 0.3
    _: KW_ONLY
    train: bool | Literal["auto"] = "auto"
    cv: int = 5
    calibrate: Literal["isotonic", "sigmoid"] | None = "isotonic"
    abstain_label: object = None
    verbose: bool | int = 0
    random_state: Seed = None

    def fit(self, X: Features, y: Outputs) -> Self:
        """Fit the experts that are to be trained, and weight all by rows they have not seen.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            Labels, of two classes.

        Returns
        -------
        self
        """
        with self.turn, learning_aside(self) as new:
            rounds = new._begin(X, y, None, online=False)
            check_integer("cv", self.cv, lowest=2)
            codes, fold = rounds.packed, folds(rounds.packed, self.cv)
            opinions = np.empty((len(codes), len(new._experts)))
            every = with_progress(self, new._experts, len(new._experts), "experts")
            for j, expert in enumerate(every):
                held_out_opinions = expert.fit(rounds.X, codes, new.classes_, fold)
                opinions[:, j] = expert.calibrate(self.calibrate, held_out_opinions, codes, fold)
            new._learn_rows(None, opinions, codes)
        return self

    def partial_fit(self, X: Features, y: Outputs, classes: Given = None) -> Self:
        """Learn rows in order, one round each; the size of chunks does not change the result.

        Parameters
        ----------
        X, y : array-like of shapes (n, p) and (n,)
            Features, and labels of two classes.
        classes : array-like of shape (2,) or None, default=None
            Both labels, needed on the first call.

        Returns
        -------
        self
        """
        with self.turn, first_call(self, "classes_") as new:
            is_verbose(self)
            if new is not self:
                rounds = new._begin(X, y, classes, stream=True)
            else:
                if classes is not None:
                    self.space_.check_classes(classes)
                rounds = self.resume(X, y)
                check_share("abstention_cost", self.abstention_cost)
                if rounds.n_rounds > (1 if self._trains else self._block_size):
                    self._ask(rounds.X)  # what an expert refuses is refused before any learns
            new._learn(rounds, np.arange(rounds.n_rounds))
        return self

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn(rounds, np.asarray(which))

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream of these classes, or those of y; its `Batch` collects experts' losses."""
        with learning_aside(self) as new:
            return new._begin(X, y, classes)

    def resume(self, X: Features, y: Outputs) -> Batch:
        """`Batch` of further rows of the stream that is being learned."""
        return self._rounds(checked_rows(self, X, False, self._takes_nan), y)

    def _rounds(self, rows, y):
        """The `Batch` of checked rows, which collects the losses of the experts."""
        codes = self.space_.pack(y)
        check_lengths(rows.shape[0], len(codes))
        losses = np.full((rows.shape[0], len(self._experts)), np.nan)
        return Batch(AskedRows(rows, losses), codes)

    def _begin(self, X, y, classes, online=True, stream=False):
        """Restart; the `Batch` of the rows."""
        named, space = self._named, Simplex()
        self._takes_nan = get_tags(self).input_tags.allow_nan
        rows = checked_rows(self, X, True, self._takes_nan)
        if stream:
            space.fit_stream(y, classes)
        else:
            space.fit(y if classes is None else classes)
        if space.dim_ != 2:
            raise ValueError(
                "Only binary classification is supported. The theorem does not cover one-vs-rest; "
                f"got {space.dim_} classes."
            )
        check_share("abstention_cost", self.abstention_cost)
        self.space_, self.classes_, self.t_ = space, space.classes_, 0
        if self.calibrate is not None:
            check_choice("calibrate", self.calibrate, ("sigmoid", "isotonic"))
        self.random_state_ = check_random_state(self.random_state)
        self._experts = [expert_of(*pair, self.train, online) for pair in named]
        for expert in self._experts:
            if expert.naive and self.random_state is not None:
                seed(expert.model, self.random_state_)
        self.hedge_, self._dearest = AdaHedge(len(named)), 0.0
        return self._rounds(rows, y)

    @property
    def estimators_(self) -> list:
        """The experts, after training; set by `fit` or `partial_fit`."""
        return [expert.model for expert in self._experts]

    @property
    def _trains(self):
        """Whether any expert learns."""
        return any(expert.learns for expert in self._experts)

    def _ask(self, rows, learn=None):
        """Opinions (n, d) of all experts, of those that learn, or of those that do not; else 0."""
        opinions = np.zeros((rows.shape[0], len(self._experts)))
        for j, expert in enumerate(self._experts):
            if learn is None or learn == expert.learns:
                opinions[:, j] = expert.opinions(rows, self.classes_)
        return opinions

    def _learn(self, rounds, indices):
        """Learn rounds in the order of `indices`; return the ŷ that they were played with."""
        X, codes, record = rounds.X, rounds.packed, getattr(rounds.rows, "losses", None)
        played, trains, size = [np.empty(0)], self._trains, self._block_size
        for start in with_progress(self, range(0, len(indices), size), len(indices)):
            block = indices[start : start + size]
            opinions = self._ask(rows_at(X, block), False)
            step = 1 if trains else len(block)
            for i in range(0, len(block), step):
                chunk = block[i : i + step]
                x = rows_at(X, chunk) if trains else None
                if trains:
                    opinions[i : i + step] += self._ask(x, True)
                played.append(self._learn_rows(x, opinions[i : i + step], codes[chunk]))
            if record is not None:
                record[block] = losses_of(opinions, codes[block])
        return np.concatenate(played)

    def _learn_rows(self, x, opinions, codes):
        """Learn rounds with these opinions, and teach the experts the row x if there is one."""
        losses, sign, failed = losses_of(opinions, codes), 2.0 * codes - 1.0, []
        with self.lock:
            hedge, dearest = self.hedge_.copy(), max(self._dearest, float(self.abstention_cost))
            hedged = hedge.update(losses)
            vars(self).update(hedge_=hedge, t_=hedge.n_rounds, _dearest=dearest)
            for expert in self._experts if x is not None else ():
                try:
                    if expert.learns:
                        expert.learn(x, self.classes_[codes], self.classes_)
                except Exception as error:
                    failed.append(error)
        if failed:
            raise failed[0]
        return sign * (1.0 - 2.0 * hedged)

    def _hedged(self, rows):
        """ŷ (n,) of checked rows, with the weights of the next round."""
        return np.clip(self._ask(rows) @ self.hedge_.weights_, -1.0, 1.0)

    def decision_function(self, X: Features) -> Floats:
        """ŷ in [−1, 1], (n,): the weighted mean of the experts' opinions."""
        check_is_fitted(self, "classes_")
        rows = checked_rows(self, X, False, self._takes_nan)
        with self.lock:
            return self._hedged(rows)

    def predict_proba(self, X: Features) -> Floats:
        """The experts' weighted mean as probabilities of the classes, (n, 2)."""
        score = self.decision_function(X)
        return 0.5 * np.column_stack([1.0 - score, 1.0 + score])

    def predict_log_proba(self, X: Features) -> Floats:
        """Logarithms of `predict_proba`, (n, 2)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Features) -> Array:
        """The more likely class, (n,); `abstain_label` if b > 2c and it is not None."""
        score = self.decision_function(X)
        return self._answers(score > 0.0, self._abstains(score))

    def abstains(self, X: Features) -> Array:
        """Whether a prediction would cost more than abstaining, if ŷ is right: b > 2c, (n,)."""
        return self._abstains(self.decision_function(X))

    def sample(self, X: Features, random_state: Seed = None) -> Array:
        """Draw the decisions of the theorem, (n,): `abstain_label` with probability b, or a class.

        With ``abstain_label=None`` a coin decides instead: classes as by `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n, p)
            Features.
        random_state : int, RandomState instance or None, default=None
            None uses the estimator's own generator.

        Returns
        -------
        ndarray of shape (n,)
        """
        score = self.decision_function(X)
        check_marker(self.abstain_label, self.classes_)
        rng = self.random_state_ if random_state is None else check_random_state(random_state)
        u = rng.random_sample(len(score))
        if self.abstain_label is None:
            return self.classes_[(2.0 * u < 1.0 + score).astype(np.intp)]
        return self._answers(score > 0.0, u < 1.0 - np.abs(score))

    def _abstains(self, score):
        return 1.0 - np.abs(score) > 2.0 * check_share("abstention_cost", self.abstention_cost)

    def _answers(self, second, abstains):
        """Labels and markers; an array of objects if the two are of different kinds."""
        labels, marker = self.classes_[second.astype(np.intp)], self.abstain_label
        if marker is None:
            return labels
        check_marker(self.abstain_label, self.classes_)
        kinds = {np.asarray(marker).dtype.kind, labels.dtype.kind}
        alike = kinds <= set("iuf") or kinds == {"U"}
        kind = np.result_type(labels, np.asarray(marker)) if alike else object
        answers = labels.astype(kind)
        answers[abstains] = marker
        return answers

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds played with the current state; no rows are learned."""
        score = self._hedged(rows_at(rounds.X, which)) if len(which) else np.empty(0)
        return self._losses(score, rounds.packed[which], random_state)

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions, which abstain if `abstain_label` is not None."""
        score = self._hedged(rows_at(rounds.X, which)) if len(which) else np.empty(0)
        lost = ((score > 0.0) != rounds.packed[which]).astype(np.float64)
        if self.abstain_label is not None:
            lost = np.where(self._abstains(score), float(self.abstention_cost), lost)
        return Losses(lost, lost, losses_of(score[:, None], rounds.packed[which])[:, 0])

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, then learn it; return the `Losses`."""
        which = np.asarray(which)
        return self._losses(self._learn(rounds, which), rounds.packed[which], random_state)

    def _losses(self, score, codes, random_state):
        """Losses of a draw, exact expectations (1 − b) 1[y* ≠ y] + b c, and ℓ(ŷ)."""
        cost = check_share("abstention_cost", self.abstention_cost)
        u = check_random_state(random_state).random_sample(len(score))
        wrong, sure = ((score > 0.0) != codes).astype(np.float64), np.abs(score)
        target, expected = np.where(u < 1.0 - sure, cost, wrong), sure * wrong + (1.0 - sure) * cost
        return Losses(target, expected, losses_of(score[:, None], codes)[:, 0])

    @property
    def expert_losses_(self) -> Floats:
        """Total losses of the experts, (d,)."""
        if not hasattr(self, "hedge_"):
            raise AttributeError("expert_losses_ is set by fit or partial_fit.")
        return self.hedge_.losses_.copy()

    def comparison(self, rounds: Batch) -> ExpertComparison:
        """Losses of the experts in these rounds, as an `ExpertComparison`, if they were kept."""
        losses = getattr(rounds.rows, "losses", None)
        if losses is None and not self._trains:
            losses = losses_of(self._ask(rounds.X), rounds.packed)
        if losses is None or np.isnan(losses).any():
            raise GuaranteeError(
                "The experts were trained in these rounds, and their losses were not kept: "
                "certificate().bound() is the bound on the sum of the losses."
            )
        return ExpertComparison(losses)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound for the rounds seen so far: ``certificate().bound()`` is the number.

        Parameters
        ----------
        delta : None
            The theorem only bounds the expectation.

        Returns
        -------
        AbstentionCertificate

        Raises
        ------
        GuaranteeError
            If abstaining cost ½ or more in a round, with a delta, and before the first rounds.
        """
        if not getattr(self, "t_", 0):
            raise GuaranteeError("No rounds yet: call fit or partial_fit before certificate.")
        if delta is not None:
            raise GuaranteeError(
                "This bound only holds in expectation: call certificate() without delta."
            )
        if self._dearest >= 0.5:
            raise GuaranteeError(
                f"The bound needs abstention_cost < 1/2 in every round; it was {self._dearest:g}. "
                "Use a lower abstention_cost."
            )
        numbers = {"experts": len(self._experts), "abstention_cost": self._dearest}
        numbers |= {"variance": self.hedge_.variance, "rounds": self.t_}
        return AbstentionCertificate(self.expert_losses_, numbers)

    # What follows is that of ensembles: parameters, routing and tags of the experts in the list.

    @property
    def _named(self):
        """Pairs (name, expert)."""
        pairs = named_experts(self.estimators)
        self._validate_names([name for name, _ in pairs])
        return pairs

    @_named.setter
    def _named(self, pairs):
        pairwise = all(isinstance(entry, (tuple, list)) for entry in self.estimators)
        self.estimators = pairs if pairwise else [expert for _, expert in pairs]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows that `predict` labels right; `abstain_label` counts as wrong."""
        predictions = np.asarray(self.predict(X), dtype=object)
        labels = np.asarray(column_or_1d(y), dtype=object)
        check_lengths(len(predictions), len(labels))
        return weighted_mean((predictions == labels).astype(np.float64), sample_weight)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` also those of the experts, ``name__parameter``."""
        try:
            return self._get_params("_named", deep)
        except ValueError:  # to be refused by name, when it learns
            return super().get_params(deep=False)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, experts by their names, and parameters of experts; returns self."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        is_own = params.keys() <= super().get_params(deep=False).keys()
        return super().set_params(**params) if is_own else self._set_params("_named", **params)

    def __sklearn_clone__(self):
        """A new one; with ``train=False`` over copies of the fitted experts."""
        twin = super().__sklearn_clone__()
        if self.train is False:
            twin.estimators = deepcopy(self.estimators)
        return twin

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            experts = [get_tags(expert).input_tags for _, expert in self._named]
        except (ValueError, TypeError, AttributeError):  # experts without tags
            experts = []
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = bool(experts) and all(inputs.sparse for inputs in experts)
        tags.input_tags.allow_nan = bool(experts) and all(inputs.allow_nan for inputs in experts)
        return tags
