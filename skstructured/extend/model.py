"""What an online estimator learns: the base of models that are written in Python."""

from abc import ABC, abstractmethod
from typing import Any

from skstructured._engine.state import State
from skstructured.extend._types import Floats, Ints
from skstructured.extend.learner import Batch


class Model(State, ABC):
    """What an `OnlineEstimator` learns: it scores rows, and rounds change it.

    A subclass has `learn` and `scores`. It may also have ``certificate(delta)``, which returns the
    theorem about the rounds learned so far, ``comparison(batch, weight)``, which returns a
    `Comparison`, and ``weights(averaged)``, an array (dim, p [+ 1]) that gives the estimator
    ``coef_`` and ``intercept_``. Attributes are arrays, numbers and other models: a copy has its
    own ones.

    Attributes
    ----------
    n_rounds : int
        Rounds learned so far; the estimator counts them.

    See Also
    --------
    OnlineEstimator : Its `new_model` returns a model.
    Batch : The rounds that `learn` and `scores` read.

    Examples
    --------
    A model in twenty lines is in the guide, *Custom components*.
    """

    n_rounds = 0

    #: Most rounds to learn at a time; other threads see whole blocks.
    block = 64

    #: Whether `learn` learns a block as a whole or not at all. If not, a copy learns it.
    in_place = False

    #: Whether `learn` returns the scores with which the rounds were played.
    records = False

    #: Whether `learn` can record the scores of predictions too; only compiled models can.
    scores_ahead = False

    #: Whether blocks are learned by small products, which take longer in several threads.
    small_products = False

    @abstractmethod
    def learn(self, batch: Batch, indices: Ints, weight: Floats, record: int) -> Any:
        """Learn rounds one by one, in the order of `indices`.

        Parameters
        ----------
        batch : Batch
            Rounds: ``batch.X[i]`` are the features of round i, ``batch.packed[i]`` is its output as
            the space packs it (for classes the index of the label).
        indices : ndarray of shape (m,)
            Positions of the rounds.
        weight : ndarray of shape (m,)
            Their weights; a round of weight 0 changes nothing.
        record : int
            What compiled models record; others ignore it.

        Returns
        -------
        None
            Models that record return a block of scores.
        """

    @abstractmethod
    def scores(self, batch: Batch, averaged: bool) -> Floats:
        """Scores (n, dim) of all rounds of a batch, whose outputs are not known.

        Parameters
        ----------
        batch : Batch
            Rounds.
        averaged : bool
            Whether to use averaged weights; False if the estimator has no parameter `average`.

        Returns
        -------
        ndarray of shape (n, dim)
        """

    def blocks(self, batch: Batch, order: Ints, record: int) -> list[Ints]:
        """Parts of `order`, each to be learned by one call of `learn`.

        Parameters
        ----------
        batch : Batch
            Rounds.
        order : ndarray of int
            Positions of the rounds to learn, in order.
        record : int
            As in `learn`.

        Returns
        -------
        list of ndarray
        """
        return [order[start : start + self.block] for start in range(0, len(order), self.block)]

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """Raise a ValueError for rounds that the model cannot learn, before any is.

        Parameters
        ----------
        learner : OnlineEstimator
            The estimator whose model this is.
        batch : Batch
            Rounds.
        stream : bool
            Whether they are of a stream, and not of `fit`.
        """
        return None

    def owns_arrays(self) -> bool:
        """Whether no array is memory-mapped or read-only; False if that is not known."""
        return False

    def diagnostics(self) -> list[str]:
        """Sentences about what went wrong in the rounds learned."""
        return []
