"""A mixture of learners of one stream: a linear model with random features, and bins of columns."""

import itertools
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone

from skstructured._engine.rows import Rows
from skstructured._engine.state import State
from skstructured._learners.lock import snapshot
from skstructured._learners.models import Record
from skstructured.estimators.mixture._training import ROWS_AT_ONCE
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Outputs
from skstructured.extend.learner import Batch


def as_dense(X: Any) -> Array:
    """Rows as a dense array: bins are of columns that the stream has dense."""
    return X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)


def quantile_edges(X: Array, bins: int) -> list[Floats]:
    """Quantiles of each column, by which it is cut into so many bins; NaN does not count."""
    shares = np.arange(1, bins) / bins
    columns = [column[~np.isnan(column)] for column in X.T]
    return [np.unique(np.quantile(k, shares)) if len(k) else np.zeros(0) for k in columns]


class QuantileBins:
    """1 in one bin of each column, and of each of some pairs of columns: CSR rows.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows whose quantiles are edges.
    rng : RandomState
        Draws the pairs, of more than 60.
    """

    def __init__(self, X: Array, rng: np.random.RandomState) -> None:
        self.fine, self.coarse = quantile_edges(X, 16), quantile_edges(X, 8)
        (self._fine, fine), (self._coarse, coarse) = _padded(self.fine), _padded(self.coarse)
        pairs = np.array([*itertools.combinations(range(X.shape[1]), 2)], dtype=int).reshape(-1, 2)
        self.pairs = pairs[np.sort(rng.permutation(len(pairs))[:60])]
        first, second = self.pairs.T
        self._sizes = coarse[second]
        self._starts = np.cumsum([0, *fine, *(coarse[first] * self._sizes)])

    def transform(self, X: Array) -> csr_matrix:
        """Ones in the bins of rows."""
        fine, coarse = codes_of(X, self._fine), codes_of(X, self._coarse)
        first, second = self.pairs.T
        places = np.hstack([fine, coarse[:, first] * self._sizes + coarse[:, second]])
        n, ones = places.shape
        places = (places + self._starts[:-1]).astype(np.int32).ravel()
        steps = np.arange(0, n * ones + 1, ones, dtype=np.int32)
        return csr_matrix((np.ones(n * ones), places, steps), shape=(n, int(self._starts[-1])))


def _padded(edges: list[Floats]) -> tuple[Floats, Ints]:
    """Edges (p, most + 1), NaN behind the last one, and the number (p,) of bins."""
    padded = np.full((len(edges), max(map(len, edges)) + 1), np.nan)
    for row, cuts in zip(padded, edges, strict=True):
        row[: len(cuts)] = cuts
    return padded, np.array([len(cuts) + 2 for cuts in edges])


def codes_of(X: Array, edges: Floats) -> Ints:
    """The bin (n, p) of every number, which is how many edges are not above; the last for NaN."""
    codes = np.sum(X[:, :, None] >= edges, axis=2)
    return np.where(np.isnan(X), np.sum(~np.isnan(edges), axis=1) + 1, codes)


class StreamMember(State):
    """An online learner of unchanged rows, or of their bins."""

    def __init__(self, learner: Any, bins: QuantileBins | None = None) -> None:
        self.learner, self.bins = learner, bins

    def copy(self) -> "StreamMember":
        """A member with its own learner."""
        return StreamMember(snapshot(self.learner, self.learner.__getstate__()), self.bins)

    def read(self, X: Features, y: Outputs, classes: Given, weight: Given) -> Batch:
        """The `Batch` of rows that come first or next."""
        began = hasattr(self.learner, "space_")
        read = self.learner._next_rounds if began else self.learner._first_rounds
        return read(X, y, classes, weight)

    def binned(self, batch: Batch) -> Batch:
        """Rounds that were read, with rows in the bins of the member, if it has any."""
        if self.bins is None:
            return batch
        return batch._replace(rows=Rows.from_array(self.bins.transform(as_dense(batch.X))))

    def learned_means(self, batch: Batch) -> Floats:
        """Learn rounds one after the other; the mean predictions (n, dim) before each."""
        learner, order, scores = self.learner, np.arange(batch.n_rounds), []
        record = learner._record_of_predictions()
        if record != Record.SCORES:
            learner.learn_blocks(batch, order, lambda block, _: scores.append(block.theta), record)
        else:  # its loop only knows scores that are played
            for i in np.split(order, batch.n_rounds):
                scores.append(learner._thetas(batch.take(i)))
                learner.learn_blocks(batch, i)
        return learner.loss_.mean(np.concatenate(scores))

    def means_of(self, batch: Batch) -> Floats:
        """Mean predictions (n, dim) of rounds that were read."""
        return self.learner.loss_.mean(self.learner._thetas(self.binned(batch)))


class FrozenMember:
    """A fitted mixture that predicts rows of a stream, and learns none of them."""

    def __init__(self, mixed: Any, loss: Any) -> None:
        self.mixed, self.loss = mixed, loss

    def means_of(self, batch: Batch) -> Floats:
        """Mean predictions (n, dim) for rounds."""
        return self.loss.mean(self.mixed.scores(batch.X))

    learned_means = means_of

    def binned(self, batch: Batch) -> Batch:
        """Rounds that were read, unchanged."""
        return batch


class StreamMixture(State):
    """Members that learn a stream, mixed by how near they were to what came.

    The weight of a member is multiplied by ``exp(−w‖μ_e(x) − y‖²/s²)`` after each row, w the weight
    of the row over the mean so far and s the range of y's coordinates, 1 at least; then a share of
    the weights is spread evenly, so a member regains weight soon after the stream has changed
    (Herbster, Warmuth 1998). Bins begin once their edges are known.

    Parameters
    ----------
    learners : list of OnlineEstimator
        Learners of unchanged rows.
    binned : OnlineEstimator or None
        Learner of their bins; None for no bins.
    rng : RandomState
        Draws pairs of columns.
    frozen : FrozenMember or None
        A fitted member, with all but a thousandth of the weight at first.
    """

    #: Rows whose quantiles are the edges of bins.
    first_rows = 300

    #: The share of the weights that is spread evenly after each row.
    shared_weight = 1e-3

    def __init__(
        self, learners: list[Any], binned: Any, rng: np.random.RandomState, frozen: Any = None
    ) -> None:
        self.members: list[Any] = [StreamMember(clone(learner)) for learner in learners]
        self.binned, self.rng = binned, rng
        self.weights = np.full(len(learners), 1.0 / len(learners))
        if frozen is not None:
            self.members.append(frozen)
            self.weights = np.append(self.shared_weight * self.weights, 1.0 - self.shared_weight)
        self.total, self.rounds = 0.0, 0
        self._waiting: list[tuple[Any, ...]] = []

    def read(self, X: Features, y: Outputs, classes: Given, weight: Given) -> Batch:
        """Check rows that come first or next; nothing is learned."""
        batch = self.members[0].read(X, y, classes, weight)
        for member in self.members[1:]:  # may refuse rows; and can then predict
            if isinstance(member, StreamMember) and member.bins is None:
                member.read(X, y, classes, weight)
        return batch

    def learn(self, batch: Batch) -> Floats:
        """Learn rounds; the predictions (n, dim) of the mixture before each."""
        V, weight = self.members[0].learner.space_.unpack(batch.packed), batch.weights
        means = np.array([member.learned_means(member.binned(batch)) for member in self.members])
        early, indices = self._before_bins(batch)
        mixed = [self._mix(means[:, :early], V[:early], weight[:early])]
        if early > 0:
            self._wait(batch.take(indices))
        if early < len(V):
            later, means = batch.take(slice(early, None)), means[:, early:]
            for member in self.members[len(means) :]:
                means = np.concatenate([means, member.learned_means(member.binned(later))[None]])
            mixed.append(self._mix(means, V[early:], weight[early:]))
        return np.concatenate(mixed)

    def predict_mean(self, X: Features) -> Floats:
        """Mixtures (n, dim) for new rows."""
        return self.means_of(self.members[0].learner.read(X))

    def means_of(self, batch: Batch) -> Floats:
        """Mixtures (n, dim) for rounds that were read, some at a time; nothing is learned."""
        starts = range(0, max(batch.rows.n_rows, 1), ROWS_AT_ONCE)
        chunks = (batch.take(slice(start, start + ROWS_AT_ONCE)) for start in starts)
        pairs = [*zip(self.weights, self.members, strict=True)]
        return np.concatenate([sum(v * m.means_of(rows) for v, m in pairs) for rows in chunks])

    def _before_bins(self, batch: Batch) -> tuple[int, Ints]:
        """How many rows come before there are bins, and the places of those that count."""
        if self.binned is None:
            return 0, batch.learned[:0]
        room = self.first_rows - sum(len(X) for X, *_ in self._waiting)
        indices = batch.learned[:room]
        return (int(indices[-1]) + 1 if len(indices) == room else batch.n_rounds), indices

    def _wait(self, batch: Batch) -> None:
        """Keep the first rows; if they are enough, begin with bins."""
        space = self.members[0].learner.space_
        y = space.decode(space.unpack(batch.packed))
        self._waiting.append((as_dense(batch.X), y, batch.weights))
        if sum(len(X) for X, *_ in self._waiting) == self.first_rows:
            X, outputs, weight = map(np.concatenate, zip(*self._waiting, strict=True))
            bins, classes = QuantileBins(X, self.rng), getattr(space, "classes_", None)
            member = StreamMember(clone(self.binned), bins)
            member.learned_means(member.read(bins.transform(X), outputs, classes, weight))
            self.members.append(member)
            share = 1.0 / len(self.members)
            self.weights = np.append((1.0 - share) * self.weights, share)
            self.binned, self._waiting = None, []

    def _mix(self, means: Floats, V: Floats, weight: Floats) -> Floats:
        """Mixtures (n, dim) of means (n_members, n, dim), and weights after each row."""
        units = np.maximum(1.0, np.ptp(V, axis=1))
        distances = np.sum((means - V) ** 2, axis=2) / units**2
        mixed, v, shared = np.empty(V.shape), self.weights, self.shared_weight
        for i, w in enumerate(weight):
            mixed[i] = v @ means[:, i]
            if w > 0.0 and len(v) > 1:
                self.total, self.rounds = self.total + w, self.rounds + 1
                v = v * np.exp(-w * self.rounds / self.total * distances[:, i])
                v = (1.0 - shared) * v / v.sum() + shared / len(v)
        self.weights = v
        return mixed
