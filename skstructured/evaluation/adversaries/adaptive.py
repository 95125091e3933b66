"""Adversaries that see the learner's weights, and the function that plays any adversary."""

from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._base.component import Component, Seed, parameters
from skstructured._base.validation import check_integer
from skstructured._engine.rows import Rows
from skstructured.evaluation._result import ProgressiveResult
from skstructured.evaluation.adversaries.streams import ObliviousAdversary, unit_rows
from skstructured.evaluation.validation import progressive_validate
from skstructured.extend._types import Floats
from skstructured.extend.learner import Batch
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces import resolve_space


class AdaptiveAdversary(Protocol):
    """What `play` asks of an adversary that answers round by round."""

    def features(self) -> Floats:
        """Features of all rounds."""

    def answer(self, losses: Floats) -> int:
        """Position of the vertex to answer with, given the expected target loss of each."""


@parameters
class GreedyAdversary(Component):
    """An adaptive adversary: each round is answered with what the learner expects to lose most on.

    Features are i.i.d. and uniform on the unit sphere. After the learner has fixed the
    distribution of its output (but not drawn it), the answer is the vertex y that maximises
    ``E[L(ψ(θ_t); y)]``, and ties go to the first. One's own adaptive adversary needs the same two
    methods for `play`; its rows may be of any length.

    Parameters
    ----------
    n_rounds : int, default=1000
        Length of the stream.
    n_features : int, default=5
        Features without the intercept.
    random_state : int, RandomState instance or None, default=None
        Seeds the features.
    """

    n_rounds: int = 1000
    n_features: int = 5
    random_state: Seed = None

    def features(self) -> Floats:
        """Features of all rounds, (n_rounds, n_features); ValueError for a bad parameter."""
        check_integer("n_rounds", self.n_rounds)
        check_integer("n_features", self.n_features)
        return unit_rows(check_random_state(self.random_state), self.n_rounds, self.n_features)

    def answer(self, losses: Floats) -> int:
        """Position of the vertex to answer with, given the expected target loss of each (m,)."""
        return int(np.argmax(losses))


def play(
    estimator: Any,
    adversary: ObliviousAdversary | AdaptiveAdversary,
    space: str | OutputSpace,
    random_state: Seed = None,
) -> ProgressiveResult:
    """Play a learner against an adversary.

    Oblivious streams go through `progressive_validate`; an adaptive adversary is played round by
    round, with ``partial_fit`` on one row. The learner knows every class of `space` beforehand,
    also those that the stream does not show.

    Parameters
    ----------
    estimator : OnlineStructuredPredictor
        The learner; a clone of it plays, with ``space`` set where it has that parameter.
    adversary : ObliviousAdversary or GreedyAdversary
        Where the rounds come from.
    space : OutputSpace
        A fitted space; for an adaptive adversary with few enough vertices to list.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of the decoder (not the stream).

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    ValueError
        For bad parameters of the adversary or the estimator.
    sklearn.exceptions.NotFittedError
        For a space that has not been fitted.

    Notes
    -----
    The weights of the first round are zero in both cases, and every round is scored with the
    weights that the optimiser plays, which may depend on how long the row is: losses and bounds
    are about the same weights, for rows of any lengths. Adversaries need not draw independent rows:
    `ProgressiveResult.risk_bound` refuses.
    """
    space = resolve_space(space)
    space._dimension()
    learner, classes = clone(estimator), getattr(space, "classes_", None)
    if "space" in learner.get_params(deep=False):
        learner.set_params(space=space)
    if isinstance(adversary, ObliviousAdversary):
        X, y = adversary.draw(space)
        result = progressive_validate(
            learner, X, y, random_state=random_state, classes=classes if y.ndim == 1 else None
        )
    else:
        result = _play_adaptive(learner, adversary, space, check_random_state(random_state))
    result.dependence = (
        f"{type(adversary).__name__} made these; where the rows of its stream are independent, "
        f"hand them to progressive_validate."
    )
    return result  # type: ignore[return-value]  # of rows at hand, not of chunks


def _play_adaptive(learner, adversary, space, rng):
    """Each round: fix the expected losses, have them answered, draw, learn."""
    X, vertices = adversary.features(), space.vertices()
    outputs = space.decode(vertices)
    losses, answers = np.empty((3, len(X))), np.empty(len(X), dtype=np.intp)
    # All outputs are known, and none is learned.
    known = learner.begin(np.repeat(X[:1], len(vertices), axis=0), outputs)
    for t in range(len(X)):
        x = X[t : t + 1]
        k = answers[t] = adversary.answer(learner.expected_losses(x, vertices))
        one = _rounds_of(x, known, [k])
        losses[:, t] = np.ravel(learner.play_and_learn(one, np.arange(1), rng))
    learner.warn_of_trouble()
    return ProgressiveResult(*losses, learner, 1, _rounds_of(X, known, answers))


def _rounds_of(X, known, answers):
    """Rounds with answers among the known outputs, and the weights that these have."""
    weight = None if known.weight is None else known.weight[answers]
    rows = Rows.from_array(X) if isinstance(known.rows, Rows) else X
    return Batch(rows, known.packed[answers], weight)
