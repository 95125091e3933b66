"""Members that minimize the loss: held-out scores are those of models without the part."""

import os
import subprocess
import sys

import numpy as np
import pytest
from naive import mixing
from scipy import sparse
from test_members import SPACES, X, training_of, weighted

from skstructured.estimators.mixture._minimizer import FoldObjective, LossMinimizer, principal_axes
from skstructured.estimators.mixture._ridge import KERNEL_JITTER, RowKernel
from skstructured.estimators.mixture._training import N_FOLDS
from skstructured.spaces import Simplex
from skstructured.spaces._real_line import RealLine

FIRST_FIT = """
import numpy as np
from numba.core import event

class Listener(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
import skstructured as sk

X = np.random.RandomState(0).randn(60, 3)
outputs = {"multiclass": X.argmax(axis=1), "multilabel": X > 0, "ordinal": (X > 0).sum(axis=1)}
for space, y in outputs.items():
    sk.StructuredPredictor(space, random_state=0).fit(X, y.astype(int)).predict_proba(X)
sk.StructuredRegressor(random_state=0).fit(X, X[:, 0]).predict(X)
"""

CASES = SPACES | {"numbers": (RealLine, X[:, 0] - X[:, 1] ** 2)}

PENALTY = 0.03


@pytest.fixture
def exact(monkeypatch):
    """One penalty, for which the least loss is found precisely."""
    precisely(monkeypatch, [PENALTY])


def precisely(monkeypatch, penalties):
    monkeypatch.setattr(LossMinimizer, "penalties", penalties)
    for name, value in {"max_iter": 3000, "tol": -np.inf, "dtype": np.float64}.items():
        monkeypatch.setattr(FoldObjective, name, value)


def features_of(name, Z, weight):
    """Features that span functions of a kernel, whose norm is that of their coefficients."""
    if name == "linear":
        return Z
    kernel = RowKernel.of(name, Z, weight)
    K = kernel(Z)
    values, sides = np.linalg.eigh(K + KERNEL_JITTER * np.trace(K) / len(K) * np.eye(len(K)))
    return K @ sides / np.sqrt(values) @ sides.T


def literal_models(name, training, loss, penalty):
    """Features of all rows, and models without each part, and of all rows."""
    weight, n = training.weight, len(training.V)
    F = features_of(name, training.rows.standardized(slice(None)), weight)
    share = 0.0 if not loss.linear_in_outputs or loss.has_margin else 1.0 / (n + 1.0)
    V = (1.0 - share) * training.V + share * training.origin
    unit = weight @ np.sum((F - np.average(F, axis=0, weights=weight)) ** 2, axis=1) / n
    unit *= getattr(loss, "scale_", 1.0)
    learned = [*(np.flatnonzero(training.parts != k) for k in range(N_FOLDS)), np.arange(n)]
    return F, [mixing.penalized(F[i], V[i], weight[i], penalty * unit, loss) for i in learned]


def literal_scores(F, models, parts):
    return np.array([models[k](row[None])[0] for k, row in zip(parts, F, strict=True)])


class TestModels:
    @pytest.mark.parametrize("name", ["linear", "laplacian"])
    @pytest.mark.parametrize("space", CASES)
    def test_leave_out_each_part(self, name, space, rng, exact):
        kind, y = CASES[space]
        training, loss = training_of(X, y, kind, weighted(rng))
        F, models = literal_models(name, training, loss, PENALTY)
        member = LossMinimizer(name, loss, 30, 0)
        honest = member.fit(training)
        truth = literal_scores(F, models, training.parts)
        np.testing.assert_allclose(honest, truth, atol=2e-3 * np.abs(truth).max())
        truth = models[-1](F)
        scores = member.scores(training.rows)
        np.testing.assert_allclose(scores, truth, atol=2e-3 * np.abs(truth).max())

    @pytest.mark.parametrize("name", ["linear", "arc-cosine"])
    def test_of_some_rows_score_all(self, name, rng, exact):
        """Twins are in the same part, one of which may not be learned."""
        twins = np.tile(X, (2, 1))
        training, loss = training_of(twins, np.tile(SPACES["ordinal"][1], 2), SPACES["ordinal"][0])
        training = training._replace(parts=np.tile(training.parts[:30], 2))
        few = LossMinimizer(name, loss, 30, 0)
        honest = few.fit(training)
        np.testing.assert_allclose(honest[:30], honest[30:], atol=1e-9)
        learned = np.sort(np.random.RandomState(0).permutation(60)[:30])
        rows = training.rows._replace(X=twins[learned])
        arrays = {key: getattr(training, key)[learned] for key in ("V", "weight", "parts")}
        alone = LossMinimizer(name, loss, 30, 0)
        alone._drawn = lambda n, n_drawn: np.arange(n)
        same = alone.fit(training._replace(rows=rows, **arrays))
        np.testing.assert_allclose(same, honest[learned], atol=1e-6)

    def test_do_not_know_outputs_that_are_left_out(self, rng, exact):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind, weighted(rng))
        groups = np.repeat(np.arange(15), 2) % N_FOLDS
        training = training._replace(parts=groups, units=np.repeat(np.arange(15), 2))
        for name in ("linear", "laplacian"):
            honest = LossMinimizer(name, loss, 30, 0).fit(training)
            V = training.V.copy()
            V[groups == 2] = [0.0, 0.0, 1.0]
            other = LossMinimizer(name, loss, 30, 0).fit(training._replace(V=V))
            np.testing.assert_allclose(other[groups == 2], honest[groups == 2], atol=1e-6)
            assert np.abs(other - honest)[groups != 2].max() > 0.01

    def test_ignore_the_stretch(self, rng):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        rows = training.rows._replace(stretch=np.array([5.0, 0.1, 1.0]))
        honest = [LossMinimizer("laplacian", loss, 30, 0).fit(training) for _ in range(2)]
        stretched = LossMinimizer("laplacian", loss, 30, 0).fit(training._replace(rows=rows))
        np.testing.assert_array_equal(stretched, honest[0])
        np.testing.assert_array_equal(honest[1], honest[0])

    @pytest.mark.parametrize("name", ["linear", "arc-cosine"])
    def test_of_few_rows_are_fitted_without_parts(self, name):
        training, loss = training_of(X[:6], np.arange(6) % 3, Simplex)
        training = training._replace(parts=np.full(6, -1))
        member = LossMinimizer(name, loss, 30, 0)
        assert member.fit(training).shape == (0, 3)
        assert np.isfinite(member.scores(training.rows)).all()

    def test_of_units_of_x_are_coefficients(self, rng):
        Z = X * [1.0, 30.0, 0.01] + [5.0, 0.0, 1.0]
        training, loss = training_of(Z, SPACES["multilabel"][1], SPACES["multilabel"][0])
        member = LossMinimizer("linear", loss, 30, 0)
        member.fit(training)
        theta = Z @ member.coef_.T + member.intercept_
        np.testing.assert_allclose(theta, member.scores(training.rows), atol=1e-9)

    def test_are_as_precise_as_needed(self, rng):
        """Few steps, of products in single precision, are close to the least loss."""
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        member = LossMinimizer("linear", loss, 30, 0)
        honest = member.fit(training)
        F, models = literal_models("linear", training, loss, member.penalty)
        truth = literal_scores(F, models, training.parts)
        losses = [loss.value(theta, training.V).mean() for theta in (honest, truth)]
        assert losses[0] == pytest.approx(losses[1], rel=0.05)


class TestPenalty:
    def literal(self, name, training, loss, penalties):
        """The lowest loss of rows left out, whose scores are multiplied, until it rises."""
        losses = []
        for penalty in penalties:
            F, models = literal_models(name, training, loss, penalty)
            theta = literal_scores(F, models, training.parts)
            multiples = (1.0, 1.5, 2.5, 4.0, 8.0)
            losses.append(
                min(training.weight @ loss.value(a * theta, training.V) for a in multiples)
            )
            if losses[-1] > min(losses):
                break
        return penalties[int(np.argmin(losses))]

    @pytest.mark.parametrize(("seed", "noise"), [(0, 0.2), (3, 1.0), (7, 2.0)])
    def test_has_the_lowest_loss_of_rows_left_out(self, seed, noise, monkeypatch):
        penalties = 10.0 ** np.arange(1.0, -3.0, -1.0)
        precisely(monkeypatch, penalties)
        y = (X[:, 0] + noise * np.random.RandomState(seed).randn(30) > 0.0).astype(int)
        training, loss = training_of(X, y, Simplex)
        member = LossMinimizer("linear", loss, 30, 0)
        member.fit(training)
        assert member.penalty == self.literal("linear", training, loss, penalties)

    def test_is_that_of_few_rows_without_parts(self):
        training, loss = training_of(X, SPACES["ordinal"][1], SPACES["ordinal"][0])
        member = LossMinimizer("linear", loss, 30, 0)
        member.fit(training._replace(parts=np.full(30, -1)))
        assert member.penalty == LossMinimizer.default_penalty


class TestAxes:
    @pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
    def test_features_are_uncorrelated_along_axes(self, shape, rng):
        F = rng.randn(*shape)
        F[:, 1] = F[:, 0]
        axes, squares = principal_axes(F)
        np.testing.assert_allclose(axes.T @ axes, np.eye(len(squares)), atol=1e-9)
        P = F @ axes
        np.testing.assert_allclose(P.T @ P, np.diag(squares), atol=1e-9 * squares.max())
        np.testing.assert_allclose(P @ axes.T, F, atol=1e-6)

    def test_constant_features_have_none(self):
        axes, squares = principal_axes(np.zeros((5, 3)))
        assert axes.shape == (3, 0) and len(squares) == 0


@pytest.mark.parametrize(
    ("rows", "n_rows"),
    [
        (np.zeros((500, 9)), 500),
        (np.zeros((9, 3000)), 9),
        (np.broadcast_to(0.0, (90_000, 3)), 4000),
        (np.broadcast_to(0.0, (90_000, 200)), 10_000),
        (np.broadcast_to(0.0, (90_000, 1000)), None),
        (np.broadcast_to(0.0, (3000, 3000)), None),
        (sparse.csr_matrix((500, 9)), None),
    ],
)
def test_lines_of_dense_rows_learn_as_many_as_they_need(rows, n_rows):
    member = LossMinimizer.linear(None, rows, 0)
    assert getattr(member, "n_rows", None) == n_rows


def test_first_fit_compiles_nothing(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FIRST_FIT]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout == ""
