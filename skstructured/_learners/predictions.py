"""Predictions of learners over an output space: how a decoder turns scores into outputs."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import available_if
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import around_empty, check_same_lengths, has_empty
from skstructured._base.validation import (
    check_lengths,
    is_precomputed,
    is_ready,
    norms_of,
    takes_gaps,
    weighted_mean,
)
from skstructured._engine.rows import DOUBLE
from skstructured._learners.lock import lock_of, snapshot
from skstructured.extend._types import Array, Features, Floats, Given, Loss, Outputs, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Losses, RowReader
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Surrogate
from skstructured.losses import fenchel_young_of, resolve_surrogate
from skstructured.spaces import SPACES_BY_NAME, resolve_space


class Decoding:
    """Scores (n, dim), the decoder's outputs for them, and their losses.

    Scores of label sequences and of items are `Ragged`, and so are their outputs; the loss then has
    a `rule` for decoders of them. `mu` are the loss's means at the scores, if known.
    """

    def __init__(self, theta: Any, loss: Any, decoder: Decoder, mu: Floats | None = None) -> None:
        self.theta, self.loss, self.decoder, self.space = theta, loss, decoder, loss.space
        self._mu: Any = mu
        self._ragged = hasattr(theta, "unstack")
        if self._ragged:
            self.decoder = loss.rule(decoder)

    @property
    def mu(self) -> Any:
        """Regularized predictions (n, dim)."""
        if self._mu is None:  # functools.cached_property takes longer than a row
            self._mu = self.loss.mean(self.theta)
        return self._mu

    def scores(self) -> Any:
        """The scores, as users see them."""
        return self.theta.unstack() if self._ragged else self.theta

    def means(self) -> Any:
        """The regularized predictions, as users see them."""
        return self.loss.shown_means(self.theta) if self._ragged else self.mu

    def most_likely(self) -> Any:
        """The decoder's most likely outputs, in the form of y."""
        return self.space.decode(self.anchor())

    def anchor(self) -> Any:
        """Vertices of the most likely outputs."""
        theta = self.theta.values if self._ragged else self.theta
        is_by_scores = self.decoder.by_scores and self._mu is None and np.isfinite(theta).all()
        mu: Any = None if is_by_scores else self.mu
        return self.decoder.most_likely(self.theta, mu, self.loss)

    def draw(self, rng: Seed) -> Any:
        """Outputs that the decoder draws, in the form of y."""
        return self.space.decode(self.drawn(rng))

    def drawn(self, rng: Seed) -> Any:
        """Vertices that the decoder draws."""
        return self.decoder.decode(self.theta, self.mu, self.loss, rng)

    def expected_vertex(self) -> Floats:
        """E[ŷ] (n, dim) over the draw."""
        return self.decoder.expected_vertex(self.theta, self.mu, self.loss)

    def expected_loss(self, V: Any) -> Floats:
        """Exact expected target losses (n,) if the vertices V (n, dim) are true."""
        return self.decoder.expected_loss(self.theta, self.mu, V, self.loss)

    def truths(self, y: Outputs) -> Any:
        """Outputs y as vertices; a ValueError unless there is one per row."""
        if self._ragged:
            packed = self.space.pack(y)
            check_same_lengths(self.theta, packed)
            return packed
        V = self.space._encoded(y)
        check_lengths(len(self.theta), len(V))
        return V

    def losses(self, V: Any, random_state: Seed = None) -> Losses:
        """The `Losses` of the decoder's outputs if V is true."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        drawn = self.drawn(check_random_state(random_state))
        return Losses(self.space.expected_loss(drawn, V), self.expected_loss(V), surrogate)

    def point_losses(self, V: Any) -> tuple[Floats, Floats]:
        """Surrogate losses, and target losses of the most likely outputs, (n,) each."""
        self._mu, surrogate = self.loss.mean_and_value(self.theta, V)
        return surrogate, self.space.expected_loss(self.anchor(), V)

    def score(self, y: Outputs, sample_weight: Given) -> float:
        """1 − mean target loss of the most likely outputs; that of sequences is of positions."""
        y_pred = self.most_likely()
        weight = self.space.score_weights(y_pred, sample_weight)
        return 1.0 - weighted_mean(self.space.target_loss(y_pred, y), weight)


class LargestScores:
    """Outputs of the largest scores (n, dim), of estimators without a surrogate loss."""

    def __init__(self, theta: Floats, space: Any) -> None:
        self.theta, self.space = theta, space

    def most_likely(self) -> Any:
        """Outputs in the form of y."""
        return self.space.decode(self.space.argmax(self.theta))

    def point_losses(self, V: Floats) -> tuple[Floats, Floats]:
        """NaN, and target losses (n,) if the vertices V are true."""
        lost = self.space.expected_loss(self.space.argmax(self.theta), V)
        return np.full(len(lost), np.nan), lost

    def losses(self, V: Floats, random_state: Seed = None) -> Losses:
        """The `Losses` if the vertices V are true; nothing is drawn."""
        return answered(self, V)


def answered(decoding: Any, V: Any) -> Losses:
    """The `Losses` of the most likely outputs if V is true."""
    surrogate, lost = decoding.point_losses(V)
    return Losses(lost, lost, surrogate)


def check_keeps_bound(decoder: Decoder, loss: Any) -> None:
    """Raise a GuaranteeError if no theorem is about a loss that is played by a decoder."""
    if not decoder.keeps_bound(loss):
        raise GuaranteeError(
            f"No bound is known for loss={loss!r} with decoder {decoder!r}."
            if isinstance(loss, Surrogate)
            else f"No regret bound for the decoder {type(decoder).__name__}: use "
            "decoder='randomized'. To bound the error on new data use the risk_bound() of "
            "progressive_validate."
        )


def reader_of(learner: Any, fresh: bool = False) -> RowReader:
    """How a learner reads X and y, by its fitted space; `fresh` by its parameter."""
    space = None if fresh else vars(learner).get("space_")
    if space is None:
        space = getattr(learner, "space", None)
        space = SPACES_BY_NAME.get(space) if isinstance(space, str) else space
    return getattr(space, "reader", RowReader())


def has_empty_sequence(learner: Any, X: Any) -> bool:
    """Whether one of the label sequences to be predicted is empty."""
    return isinstance(X, list) and has_empty(X) and reader_of(learner).has_sequences


def answer_empty(learner: Any, X: Any, method: Callable[..., Any], **options: Any) -> list[Any]:
    """Answers of a prediction, one per sequence, with empty ones for sequences that are empty."""
    check_is_fitted(learner, "space_")
    position = np.zeros((1, learner.n_features_in_))
    return around_empty(X, lambda rest: method(rest, **options), position)


def read_batch(self: Any, X: Features, reset: bool = False) -> Batch:
    """The checked `Batch` of X, without outputs; with `reset` of the first X.

    Of label sequences, a list of matrices or `Ragged`. ValueErrors name the row, or the sequence
    and the position, that is NaN, inf or whose norm is out of range.
    """
    return reader_of(self, reset).read(self, X, reset)


def _space_has(method: str) -> Callable[[Any], bool]:
    """Whether the estimator's space has `method`; for `available_if`."""

    def check(self: Any) -> bool:
        space = getattr(self, "space_", None) or self._unfitted_space()
        if not hasattr(space, method):
            hint = getattr(space, "instead_of_probabilities", "")
            raise AttributeError(f"{type(space).__name__} has no {method}.{hint}")
        return True

    return check


def has_probabilities(self: Any) -> bool:
    """Whether means are probabilities, by the space and by the loss; for `available_if`."""
    _space_has("mean_proba")(self)
    return has_probabilities_of(getattr(self, "loss_", None) or self._unfitted_loss())


def has_probabilities_of(loss: Any) -> bool:
    """True; an AttributeError names what to use if means of the loss are not probabilities."""
    if loss.has_probabilities:
        return True
    hint = " A custom loss whose mean returns probabilities sets has_probabilities = True."
    is_custom = not type(loss).__module__.startswith("skstructured.")
    raise AttributeError(
        f'means of {loss} are not probabilities. Use loss="fenchel_young" ("logistic" of Gaptron), '
        "or for classes scikit-learn's CalibratedClassifierCV." + hint * is_custom
    )


def played_alone(learner: Any, X: Any) -> Floats | None:
    """Scores and means (2, dim) at X if it is one row; None if that needs more than one kernel.

    Rows that have to be refused are among those that do.
    """
    play = getattr(getattr(learner, "model_", None), "play_alone", None)
    if play is None or not is_ready(learner, X) or len(X) > 1 or X.dtype != DOUBLE:
        return None
    return play(X, norms_of(learner), bool(learner.average))


def warn_of_costs(decoder: Decoder, space: OutputSpace) -> None:
    """Warn if the decoder's outputs ignore the costs of a space."""
    if decoder.ignores_costs and getattr(space, "cost_matrix", None) is not None:
        name = type(decoder).__name__
        warnings.warn(
            f'{name}() ignores the cost_matrix of {type(space).__name__}. Set decoder="min_risk" '
            "to minimize the expected cost.",
            UserWarning,
            stacklevel=7,
        )


def decode_scores(self: Any, theta: Any, mu: Floats | None = None) -> Decoding:
    """Outputs, draws and exact expectations of scores, by the decoder.

    Parameters
    ----------
    theta : ndarray of shape (n, dim)
        Scores, as those of `embedding_scores`.
    mu : ndarray of shape (n, dim) or None, default=None
        Their regularized predictions, if they are known.

    Returns
    -------
    Decoding
        With the methods `most_likely`, `draw`, `means`, `expected_loss` and others.
    """
    return Decoding(theta, self.loss_, self._given_decoder(), mu)


class DecodedPredictions:
    """Predictions, draws and exact expectations of a decoder over any scores.

    Needs `space_`, `loss_`, `_scores(X)`, the θ (n, dim) of rows, and `_given_decoder()`; and the
    parameter `loss`, unless it has an `_unfitted_loss()`. Without a parameter `space` outputs are
    classes.
    """

    space_: Any
    loss_: Any
    classes_: Array
    random_state_: np.random.RandomState
    _scores: Callable[..., Any]
    _given_decoder: Callable[[], Decoder]

    space: Any = "simplex"

    def _unfitted_space(self) -> OutputSpace:
        return clone(resolve_space(self.space))

    def _unfitted_loss(self) -> Loss:
        loss = fenchel_young_of(self.loss)  # type: ignore[attr-defined]  # a parameter
        return loss or resolve_surrogate(self.loss, resolve_space(self.space))  # type: ignore[attr-defined]

    def _task(self) -> str | None:
        named = isinstance(self.space, str)
        return getattr(SPACES_BY_NAME.get(self.space) if named else self.space, "task", None)

    def _take_decoder(self) -> None:
        """Check that the decoder supports the loss."""
        decoder, loss = self._given_decoder(), self.loss_
        decoder.check_space(loss)
        warn_of_costs(decoder, loss.space)
        if not isinstance(loss, Surrogate):
            loss.warn_without_gap()  # type: ignore[attr-defined]  # Fenchel–Young losses have it

    decode = decode_scores

    def _decoding(self, X: Features) -> Decoding:
        with lock_of(self):
            theta_and_mu = played_alone(self, X)
            if theta_and_mu is not None:
                return self.decode(theta_and_mu[:1], theta_and_mu[1:])
        twin = snapshot(self)
        with lock_of(twin):
            return twin.decode(twin._scores(X))

    def embedding_scores(self, X: Features) -> Any:
        """Scores θ in the embedding of the outputs, the input of the decoder.

        For a linear model ``X coef_ᵀ + intercept_``.

        Returns
        -------
        ndarray of shape (n, dim), or list of n arrays of shape (length, k)
            For label sequences, scores of the labels at every position; those of starts and ends
            are in them, `transitions_` come on top.
        """
        return self._decoding(X).scores()

    def decision_function(self, X: Features) -> Any:
        """Scores in scikit-learn's format: one per class, if outputs are classes.

        Returns
        -------
        ndarray
            The scores θ of `embedding_scores`, (n, dim), unless the space has others. For
            "ordinal", whose θ has one score less than classes, minus the loss of each class,
            ``−S(θ; y_k)/c = <θ, y_k> − Ω(y_k) − Ω*(θ)``, of shape (n, n_classes). For the "shannon"
            regularizer this is the logarithm of `predict_proba`. For two classes it has shape (n,),
            as in scikit-learn: ``(S(θ; y_0) − S(θ; y_1))/c``, the loss of ``classes_[0]`` minus
            that of ``classes_[1]``. For "simplex" this is the difference of the two scores.

        Notes
        -----
        The largest score belongs to the class of the smallest loss. With "ordinal" and "squared"
        that is the class nearest to ŷ_Ω(θ), which `predict` gives with the default decoder. With
        "ordinal" and "shannon" it is the most likely class, which ``decoder="map"`` predicts; the
        default decoder then predicts the median of `predict_proba` instead.
        """
        twin = snapshot(self)
        theta, space, loss = twin._scores(X), twin.space_, twin.loss_
        if space.task != "multiclass":
            return twin.decode(theta).scores()
        two = len(twin.classes_) == 2
        if space.scores_classes and (theta.shape[1] == 1 or not two):
            return theta[:, 0] if two else theta
        vertices = space.vertices()
        omega = loss.omega(vertices)
        if two:
            return theta @ (vertices[1] - vertices[0]) - (omega[1] - omega[0])
        return theta @ vertices.T - omega - loss.conjugate(theta)[:, None]

    def predict_mean(self, X: Features) -> Any:
        """Regularized predictions ŷ_Ω(θ) in conv(Y), of shape (n, dim).

        For label sequences those of positions, as `predict_marginals`.
        """
        return self._decoding(X).means()

    @available_if(has_probabilities)
    def predict_proba(self, X: Features) -> Floats:
        """Probabilities that the mean prediction stands for.

        Returns
        -------
        ndarray
            Of the classes, (n, n_classes), for "simplex" and "ordinal"; of each label, (n, d), for
            "hypercube"; of every position for every item, (n, m, m), for "birkhoff".
        """
        with lock_of(self):
            theta_and_mu = played_alone(self, X)
            if theta_and_mu is not None:
                return self.space_.mean_proba(theta_and_mu[1:])
        decoding = self._decoding(X)
        return decoding.space.mean_proba(decoding.mu)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Features) -> Floats:
        """Logarithms of `predict_proba`.

        Returns
        -------
        ndarray
            Of the shape of `predict_proba`. For the "shannon" regularizer on "simplex", "hypercube"
            and "ordinal", and for the logistic loss of `GaptronClassifier`, they are computed from
            the scores θ. So they are exact even if probabilities underflow to 0; for the simplex
            they are ``θ_k − log Σ_j exp θ_j``. Otherwise they are logarithms of probabilities, −inf
            for 0.

        Raises
        ------
        ValueError
            For NaN or inf in X, and for another number of features than in `fit`.
        """
        twin = snapshot(self)
        theta = twin._scores(X)
        return twin.loss_.log_proba(theta)

    def predict(self, X: Features) -> Any:
        """The decoder's most likely output of every row; deterministic.

        The nearest vertex to ŷ_Ω(θ) for "randomized", "nearest" and "sampled"; the linear oracle
        for "map". With costs, the output of the least expected cost. Empty sequences get empty
        arrays.
        """
        if has_empty_sequence(self, X):
            return answer_empty(self, X, self.predict)
        return self._decoding(X).most_likely()

    def sample(self, X: Features, random_state: Seed = None) -> Any:
        """Draw the decoder's output of every row, to which the guarantees apply.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        random_state : int, RandomState instance or None, default=None
            None continues with the estimator's generator, seeded by its `random_state` at the first
            call to `fit` or `partial_fit`.

        Returns
        -------
        ndarray
            Outputs in the form of y.
        """
        if has_empty_sequence(self, X):
            return answer_empty(self, X, self.sample, random_state=random_state)
        decoding = self._decoding(X)
        return decoding.draw(self.random_state_ if random_state is None else random_state)

    @available_if(_space_has("vertex_proba"))
    def decoding_proba(self, X: Features) -> Floats:
        """Exact probabilities (n, n_classes) with which `sample` plays each class."""
        decoding = self._decoding(X)
        return decoding.space.vertex_proba(decoding.expected_vertex())

    def expected_target_loss(self, X: Features, y: Outputs) -> Floats:
        """Exact expectation of the target loss of `sample`, per sample (n,)."""
        decoding = self._decoding(X)
        return decoding.expected_loss(decoding.truths(y))

    def score(self, X: Features, y: Outputs, sample_weight: Given = None) -> float:
        """1 − mean target loss of `predict`: the accuracy, for "simplex".

        Labels that `fit` has not seen count as wrong, with the largest loss, 1.

        Raises
        ------
        ValueError
            For sample weights that are negative or all zero, outputs outside the space, NaN or inf
            in X, and another number of features than in `fit`.
        """
        return self._decoding(X).score(y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the class that it is mixed into
        return with_task(with_rows(tags, self), self._task())


def with_rows(tags: Any, learner: Any) -> Any:
    """Tags, with the kinds of rows that a learner accepts."""
    tags.input_tags.sparse = tags.target_tags.required = True
    tags.input_tags.allow_nan = takes_gaps(learner, fresh=True)
    tags.input_tags.pairwise = is_precomputed(getattr(learner, "kernel", None))
    return tags


def with_task(tags: Any, task: str | None) -> Any:
    """Tags, with the kind of a learner's outputs: the `task` of its space."""
    multiclass = task == "multiclass"
    if task is not None:
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=multiclass, multi_label=not multiclass)
    tags.target_tags.multi_output = tags.target_tags.two_d_labels = not multiclass
    tags.target_tags.single_output = multiclass
    return tags
