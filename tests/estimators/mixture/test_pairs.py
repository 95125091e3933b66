"""Sums and differences of columns, which trees of many rows may split."""

import pickle

import numpy as np
import pytest
from naive import mixing
from scipy import sparse
from test_members import training_of

import skstructured as sk
from skstructured.estimators.mixture import _trees
from skstructured.estimators.mixture._boosting import BoostedTrees
from skstructured.estimators.mixture._pairs import ColumnPairs
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.spaces import Simplex


def rows_with_reserved(rng, n=90, p=4, n_reserved=40):
    """A `Training` whose classes are by the difference of two columns, some rows in no fold."""
    X = rng.randn(n, p)
    y = (X[:, 0] > X[:, 1]).astype(int)
    training, loss = training_of(X, y, Simplex, rng.exponential(size=n) + 0.05)
    training.parts[:n_reserved] = -1
    reserved = np.arange(n_reserved)
    return training._replace(reserved=reserved, truths=training.V), loss


@pytest.fixture
def fitted(monkeypatch):
    """All forests of scikit-learn that are fitted, in their order."""
    ensembles, forest_of = [], _trees.Forest.of
    monkeypatch.setattr(
        _trees.Forest, "of", lambda model: ensembles.append(model) or forest_of(model)
    )
    return ensembles


class TestColumnPairs:
    def test_are_halves_of_all_sums_and_then_all_differences(self, rng):
        X = rng.randn(7, 5)
        X[3, 2], X[5, 0] = np.nan, np.nan
        columns = [4, 0, 2]
        literal = np.array([
            [*row]
            + [row[j] / 2 + row[k] / 2 for j, k in ((4, 0), (4, 2), (0, 2))]
            + [row[j] / 2 - row[k] / 2 for j, k in ((4, 0), (4, 2), (0, 2))]
            for row in X
        ])  # fmt: skip
        pairs = ColumnPairs(np.array(columns))
        np.testing.assert_array_equal(pairs.transform(X), literal)
        dense = np.nan_to_num(X)
        found = pairs.transform(sparse.csr_matrix(dense))
        np.testing.assert_array_equal(found, pairs.transform(dense))

    def test_of_huge_numbers_are_finite(self):
        X = np.array([[1.7e308, 1.7e308], [1.7e308, -1.7e308]])
        assert np.isfinite(ColumnPairs(np.arange(2)).transform(X)).all()

    def test_of_the_most_important_numbers(self, rng):
        X = rng.randn(30, 9)
        X[:, 1] = np.arange(30) % 10  # codes
        X[:, 2] = 7.0
        X[:, 3] = np.nan
        X[:, 4] = np.where(np.arange(30) < 11, np.arange(30), np.nan)
        importances = np.array([0.1, 0.5, 0.4, 0.3, 0.2, 0.0, -1e-17, 0.15, 0.05])
        assert list(ColumnPairs.of(X, importances).columns) == [4, 7, 0, 8]
        assert list(ColumnPairs.of(X, importances, n_columns=2).columns) == [4, 7]
        assert ColumnPairs.of(X[:, :5], importances[:5]).columns.tolist() == [4, 0]
        assert ColumnPairs.of(X[:, :4], importances[:4]) is None


class TestTrees:
    @pytest.mark.parametrize(("paired", "are_pairs"), [(0.97, True), (0.971, False)])
    def test_split_pairs_if_the_loss_is_lower(self, paired, are_pairs, rng, fitted, monkeypatch):
        training, loss = rows_with_reserved(rng)
        losses = {False: 1.0, True: paired}
        monkeypatch.setattr(
            VertexTrees, "_trial_loss", lambda self, _, pairs=None: losses[pairs is not None]
        )
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        assert (trees.pairs is not None) == are_pairs
        widths = [forest.n_features_in_ for forest in fitted]
        assert widths == [4] + 5 * [16 if are_pairs else 4]
        assert fitted[-1].max_features == (0.25 if are_pairs else 1.0)

    @pytest.mark.parametrize("most", [40, 12])
    def test_losses_of_a_trial_are_of_rows_that_it_has_not_learned(
        self, most, rng, fitted, monkeypatch
    ):
        monkeypatch.setattr(VertexTrees, "trial_rows", most)
        training, loss = rows_with_reserved(rng)
        trees, pairs = VertexTrees(loss, None, 3, None), ColumnPairs(np.array([0, 1]))
        trees.n_columns = 4
        learned = np.linspace(0, 39, most).astype(int)
        for transform in (None, pairs.transform):
            X = training.rows.unchanged if transform is None else transform(training.rows.unchanged)
            loss_of_trial = trees._trial_loss(training, *([transform] if transform else []))
            units = mixing.units_of(X[learned], X, 0.5)
            total = 0.0
            for i in training.judged:
                mean = mixing.leaf_means(
                    fitted[-1].estimators_, units, learned, training.V, training.weight, i
                )
                theta = loss.link(mean[None])
                total += training.weight[i] * loss.value(theta, training.V[[i]])[0]
            literal = total / training.weight[training.judged].sum()
            assert loss_of_trial == pytest.approx(literal, abs=1e-5)

    def test_see_differences_and_not_copies(self, rng):
        training, loss = rows_with_reserved(rng, n=900, p=2, n_reserved=400)
        trees = VertexTrees(loss, None, 0, None)
        plain = VertexTrees(loss, None, 0, None)
        plain.worthy_loss = 0.0
        honest, without = trees.fit(training), plain.fit(training)
        assert {0, 1} == {*trees.pairs.columns} and plain.pairs is None
        truths = training.V[training.judged]
        assert loss.value(honest, truths).mean() < 0.8 * loss.value(without, truths).mean()
        np.testing.assert_array_equal(trees.stretches, plain.stretches)
        y = (training.rows.unchanged[:, 0] > 0.0).astype(int)
        separate = training._replace(V=np.eye(2)[y], truths=np.eye(2)[y])
        trees.fit(separate)
        assert trees.pairs is None

    def test_of_few_rows_or_csr_rows_have_none(self, rng, monkeypatch):
        monkeypatch.setattr(VertexTrees, "worthy_loss", np.inf)
        training, loss = rows_with_reserved(rng)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training._replace(reserved=None))
        assert trees.pairs is None
        rows = training.rows._replace(unchanged=sparse.csr_matrix(training.rows.unchanged))
        trees.fit(training._replace(rows=rows))
        assert trees.pairs is None


class TestMixtures:
    @pytest.fixture
    def model(self, rng, monkeypatch):
        monkeypatch.setattr(VertexTrees, "worthy_loss", np.inf)
        monkeypatch.setattr(BoostedTrees, "few_rows_limit", np.inf)
        X = rng.randn(200, 4)
        X[::7, 2] = np.nan
        X[:, 3] = 1.0
        y = (X[:, 0] > X[:, 1]).astype(int)
        return sk.StructuredPredictor(n_landmarks=40, random_state=0).fit(X, y, 1.0 + y), X

    def test_predict_one_row_as_many(self, model):
        model, X = model
        proba = model.predict_proba(X)
        each = np.concatenate([model.predict_proba(row[None]) for row in X[:20]])
        np.testing.assert_allclose(each, proba[:20], atol=1e-9)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), proba)
        dense = np.nan_to_num(X)
        found = model.predict_proba(sparse.csr_matrix(dense))
        np.testing.assert_allclose(found, model.predict_proba(dense), atol=1e-6)

    def test_boosted_trees_split_pairs_too(self, model):
        members = model[0].named_estimators_
        assert sorted(members["trees"].pairs.columns) == [0, 1, 2]
        assert members["trees"].forest.columns.max() >= 4
        assert members["boosting"].model.forest.columns.max() >= 4
