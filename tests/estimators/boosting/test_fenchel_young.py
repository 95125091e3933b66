"""`FenchelYoungBoosting`: trees, steps and whole fits against their literal form."""

import copy
import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from joblib import parallel_config
from naive import boosted_trees as naive
from pairs import LARGEST, is_slow, loss_of
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skstructured as sk
from skstructured.estimators._forest import leaves_of
from skstructured.estimators._ranks import ColumnRanks
from skstructured.estimators.boosting import _trees, fenchel_young
from skstructured.estimators.boosting._additive import (
    AdditiveModel,
    AdditiveTrees,
    BoostingOptions,
    BoostingTask,
)
from skstructured.estimators.boosting._trees import TreeGrower, binned, find_leaves, grow_tree
from skstructured.losses import FenchelYoung
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces import Simplex
from skstructured.spaces._real_line import RealLine

#: Interpreted kernels are a thousand times slower.
slow_as_python = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")

RNG = np.random.RandomState(0)
X = RNG.randn(60, 4)
THREE = X[:, :3]

#: name of a space -> outputs of `X`.
OUTPUTS = {
    "multiclass": np.argmax(THREE, axis=1),
    "multilabel": (THREE > 0).astype(int),
    "ordinal": (THREE > 0).sum(axis=1),
    "ranking": np.argsort(THREE, axis=1) + 1,
    "assignment": np.argsort(THREE, axis=1),
}
CLASSES = OUTPUTS["multiclass"]

every_space = pytest.mark.parametrize("space", OUTPUTS)


def boosting(space="multiclass", **given):
    return sk.FenchelYoungBoosting(
        space, **({"max_iter": 6, "n_iter_no_change": 3, "random_state": 0} | given)
    )


def ranks_of(kind, rng, n=60, p=4):
    """Ranks of rows by the name of what is special about them."""
    if kind == "one column":
        return rng.rand(n, 1).astype(np.float32)
    if kind == "wide":
        return rng.rand(12, 40).astype(np.float32)
    ranks = rng.rand(n, p)
    if kind == "ties":
        ranks = np.floor(4 * ranks) / 4 + 0.1
    if kind == "constant columns":
        ranks[:, 1:3] = 0.5
    if kind == "constant":
        ranks[:] = 0.5
    if kind in ("missing values", "a column of missing values"):
        ranks[rng.rand(n, p) < 0.3] = np.nan
    if kind == "a column of missing values":
        ranks[:, 2] = np.nan
    return ranks.astype(np.float32)


RANKS = (
    *("plain", "one column", "wide", "ties", "constant columns", "constant"),
    *("missing values", "a column of missing values"),
)
every_kind_of_ranks = pytest.mark.parametrize("kind", RANKS)


def targets_and_weights(rng, n, dim=3):
    return rng.randn(n, dim), rng.choice([0.3, 1.0, 2.5], size=n)


@pytest.fixture
def bins_for_few_rows(monkeypatch):
    monkeypatch.setattr(TreeGrower, "few_rows", 0)


def is_same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


class TestTrees:
    @pytest.mark.interpreted
    @every_kind_of_ranks
    @pytest.mark.parametrize("share", [1.0, 0.5])
    def test_in_bins_have_the_best_splits_of_the_best_leaves(self, bins_for_few_rows, kind, share):
        rng = np.random.RandomState(1)
        ranks = ranks_of(kind, rng)
        targets, weight = targets_and_weights(rng, len(ranks))
        rows = np.sort(rng.permutation(len(ranks))[: len(ranks) * 5 // 6])
        tree, leaves = TreeGrower(ranks, 6, 2, share).grow(targets, weight, rows, 7)
        most = max(1, len(rows) // 2)
        draws = np.random.RandomState(7).random_sample((2 * min(5, most - 1) + 1, ranks.shape[1]))
        drawn = draws.argsort(axis=1)[:, : max(1, int(share * ranks.shape[1]))]
        splits = naive.grow(ranks, targets, weight, rows, lambda n: drawn[n], 2, 6, True)
        assert leaves.tolist() == [naive.leaf_of(splits, row) for row in ranks]
        gains = np.zeros(ranks.shape[1])
        for _, gain, j, *_ in splits:
            gains[j] += gain
        np.testing.assert_allclose(tree.importances, gains, rtol=1e-9)
        assert [~node[0] for node in tree.nodes] == [split[2] for split in splits]
        assert tree.thresholds.tolist() == [split[3] for split in splits]
        if kind != "constant":
            assert len(splits) > 1

    @every_kind_of_ranks
    @pytest.mark.parametrize("dim", [1, 3])
    def test_of_few_rows_have_the_best_splits_of_the_best_leaves(self, kind, dim):
        rng = np.random.RandomState(2)
        ranks = ranks_of(kind, rng)
        targets, weight = targets_and_weights(rng, len(ranks), dim)
        rows = np.sort(rng.permutation(len(ranks))[: len(ranks) * 5 // 6])
        tree, leaves = TreeGrower(ranks, 6, 2, 1.0).grow(targets, weight, rows, 7)
        columns = range(ranks.shape[1])
        splits = naive.grow(ranks, targets, weight, rows, lambda n: columns, 2, 6, False)
        wanted = [naive.leaf_of(splits, ranks[i]) for i in rows]
        assert is_same_partition(leaves[rows], wanted)
        gains = np.zeros(ranks.shape[1])
        for _, gain, j, *_ in splits:
            gains[j] += gain / dim / weight[rows].sum()  # in scikit-learn's units
        if kind == "wide":  # many columns divide few rows alike
            assert tree.importances.sum() == pytest.approx(gains.sum())
            return
        np.testing.assert_allclose(tree.importances, gains, rtol=1e-6, atol=1e-12)

    @every_kind_of_ranks
    @pytest.mark.parametrize("few", [0, 3000])
    def test_as_flat_nodes_lead_to_the_same_leaves(self, monkeypatch, kind, few):
        monkeypatch.setattr(TreeGrower, "few_rows", few)
        rng = np.random.RandomState(3)
        ranks = ranks_of(kind, rng)
        targets, weight = targets_and_weights(rng, len(ranks))
        rows = np.arange(0, len(ranks), 2)
        tree, leaves = TreeGrower(ranks, 5, 1, 1.0).grow(targets, weight, rows, 0)
        walked = leaves_of(ranks, tree.root, tree.nodes, tree.thresholds)[0]
        np.testing.assert_array_equal(walked, leaves)
        assert set(leaves[rows]) == set(range(leaves.max() + 1))

    @slow_as_python
    @every_kind_of_ranks
    def test_are_the_same_compiled_and_interpreted(self, kind):
        rng = np.random.RandomState(4)
        ranks = ranks_of(kind, rng)
        targets, weight = targets_and_weights(rng, len(ranks))
        sums, bins = np.column_stack([weight[:, None] * targets, weight]), binned(ranks)
        draws, found = rng.random_sample((11, ranks.shape[1])).argsort(axis=1), []
        for grow, find in (
            (grow_tree.dispatcher, find_leaves.dispatcher),
            (grow_tree.interpret, find_leaves.interpret),
        ):
            nodes, cuts, gains = np.zeros((5, 3), np.int32), np.zeros(5, np.int64), np.zeros(5)
            rows, leaves = np.arange(len(ranks), dtype=np.int32), np.zeros(len(ranks), np.int32)
            n = grow(bins, sums, rows, draws, 2, nodes, cuts, gains)
            find(bins, nodes[:n], cuts, leaves)
            found.append((nodes, cuts, leaves, rows, n, gains))
        for compiled, interpreted in zip(*found, strict=True):
            np.testing.assert_allclose(compiled, interpreted, rtol=1e-9)

    def test_take_the_first_of_equal_splits(self, bins_for_few_rows):
        column = np.repeat([0.1, 0.3, 0.5, 0.7], 4)
        ranks = np.column_stack([column, column]).astype(np.float32)
        targets = np.repeat([0.0, 1.0, 1.0, 0.0], 4)[:, None]
        tree, leaves = TreeGrower(ranks, 2, 1, 1.0).grow(targets, np.ones(16), np.arange(16), 0)
        first = np.random.RandomState(0).random_sample((3, 2)).argsort(axis=1)[0, 0]
        assert ~tree.nodes[0, 0] == first
        assert leaves.tolist() == np.repeat([0, 1, 1, 1], 4).tolist()

    def test_have_one_bin_per_255th_of_ranks_and_one_of_missing_values(self):
        ranks = np.array([[0.0, 0.5 / 255, 1 / 255, 1.5 / 255, 254.5 / 255, 1.0, np.nan]])
        assert binned(ranks.astype(np.float32).T).tolist() == [[1, 1, 1, 2, 255, 255, 0]]

    @slow_as_python
    def test_of_many_rows_see_some_of_them(self, monkeypatch):
        monkeypatch.setattr(TreeGrower, "most_rows", 4000)
        rng = np.random.RandomState(5)
        ranks, weight = rng.rand(9000, 3).astype(np.float32), np.ones(9000)
        targets, rows = rng.randn(9000, 2) + (ranks[:, :1] > 0.4), np.arange(1, 9000)
        grower = TreeGrower(ranks, 8, 20, 1.0)
        tree, leaves = grower.grow(targets, weight, rows, 3)
        seen = np.sort(np.random.RandomState(3).choice(rows, 4000, replace=False))
        assert np.bincount(leaves[seen]).min() >= 20 and leaves.shape == (9000,)
        other, _ = grower.grow(targets, weight, rows, 4)
        assert tree.thresholds.tolist() != other.thresholds.tolist()
        np.testing.assert_array_equal(grower.grow(targets, weight, rows, 3)[1], leaves)

    @slow_as_python
    def test_of_more_than_100_000_rows(self):
        rng = np.random.RandomState(6)
        ranks = rng.rand(100_500, 1).astype(np.float32)
        targets = np.where(ranks > 0.5, 1.0, -1.0)
        weight, rows = np.ones(100_500), np.arange(100_500)
        tree, leaves = TreeGrower(ranks, 2, 5, 1.0).grow(targets, weight, rows, 0)
        assert abs(tree.thresholds[0] - 0.5) < 1 / 255
        np.testing.assert_array_equal(leaves, ranks[:, 0] > tree.thresholds[0])

    def test_split_no_leaf_by_rounding_of_light_rows(self, bins_for_few_rows):
        rng = np.random.RandomState(0)
        ranks, targets = rng.rand(40, 1).astype(np.float32), rng.randn(40, 2)
        weight = np.where(ranks[:, 0] < 0.5, 1e12, 1e-12)
        tree, _ = TreeGrower(ranks, 6, 1, 1.0).grow(targets, weight, np.arange(40), 0)
        assert np.isfinite(tree.importances).all()

    def test_have_room_for_the_leaves_that_rows_can_fill(self, bins_for_few_rows):
        ranks = np.random.RandomState(0).rand(40, 1).astype(np.float32)
        targets, weight = ranks.astype(float), np.ones(40)
        tree, leaves = TreeGrower(ranks, 10**9, 4, 1.0).grow(targets, weight, np.arange(40), 0)
        assert 5 < leaves.max() + 1 <= 10 and np.bincount(leaves).min() >= 4
        tree, leaves = TreeGrower(ranks, 31, 50, 1.0).grow(targets, weight, np.arange(40), 0)
        assert len(tree.nodes) == 0 and not leaves.any()

    def test_take_an_integer_for_all_columns(self):
        rng = np.random.RandomState(0)
        ranks, targets = rng.rand(50, 6).astype(np.float32), rng.randn(50, 1)
        trees = [
            TreeGrower(ranks, 8, 2, share).grow(targets, np.ones(50), np.arange(50), 0)[1]
            for share in (1, 1.0)
        ]
        np.testing.assert_array_equal(*trees)


class TestRanks:
    @pytest.mark.parametrize("kind", RANKS)
    def test_are_mid_ranks_and_linear_between(self, kind):
        rng = np.random.RandomState(8)
        rows = ranks_of(kind, rng).astype(np.float64) ** 3
        new = np.vstack([rows[:10] + 0.01, rows[:5], np.full((1, rows.shape[1]), np.nan)])
        found = ColumnRanks.of(rows)
        for some in (rows, new):
            wanted = [naive.mid_ranks(a.tolist(), b) for a, b in zip(rows.T, some.T, strict=True)]
            np.testing.assert_allclose(found.transform(some), np.column_stack(wanted), atol=1e-6)
        assert found.transform(new).dtype == np.float32

    @every_kind_of_ranks
    def test_values_are_above_those_of_thresholds_if_their_ranks_are(self, kind):
        rng = np.random.RandomState(9)
        rows = ranks_of(kind, rng).astype(np.float64) ** 3
        ends = np.array([[-2.0], [2.0]]) * np.ones(rows.shape[1])
        seen, ranks = np.vstack([rows, ends]), ColumnRanks.of(rows)
        known = ranks.transform(rows).T
        for j in range(rows.shape[1]):
            own = known[j][np.isfinite(known[j])]
            between = np.linspace(-0.1, 1.1, 50).astype(np.float32)
            thresholds = np.concatenate([own, between, _trees.BIN_EDGES, [-np.inf]])
            thresholds = thresholds.astype(np.float32)
            values = ranks.values_at(np.full(len(thresholds), j), thresholds)
            wanted = ranks.transform(seen)[:, j, None] > thresholds
            np.testing.assert_array_equal(seen[:, j, None] > values, wanted)

    def test_keep_few_of_many_values(self):
        values = np.random.RandomState(0).standard_cauchy((5000, 1))
        ranks = ColumnRanks.of(values)
        assert len(ranks.knots[0][0]) <= 1000
        exact = (values[:, 0].argsort().argsort() + 0.5) / 5000
        np.testing.assert_allclose(ranks.transform(values)[:, 0], exact, atol=2e-3)

    @slow_as_python
    @pytest.mark.parametrize("unit", [2.0**-400, 2.0**400])
    @pytest.mark.parametrize("n", [60, 3200])
    def test_do_not_depend_on_units(self, unit, n):
        rng = np.random.RandomState(14)
        rows, y = rng.randn(n, 3), rng.randint(3, size=n)
        model = boosting(max_iter=2).fit(rows, y)
        other = boosting(max_iter=2).fit(unit * rows, y)
        np.testing.assert_array_equal(
            other.embedding_scores(unit * rows), model.embedding_scores(rows)
        )

    def test_do_not_depend_on_increasing_functions_of_columns(self):
        model, other = boosting().fit(X, CLASSES), boosting().fit(np.exp(3.0 * X), CLASSES)
        np.testing.assert_array_equal(
            model.embedding_scores(X), other.embedding_scores(np.exp(3.0 * X))
        )


every_pair = pytest.mark.parametrize(("name", "dim"), LARGEST)


def problem(name, dim, rng, n=24, p=3):
    """Loss, vertices and ranks of few rows of a pair."""
    loss = loss_of(name, dim)
    V = loss.space.argmax(rng.randn(n, dim))
    return loss, np.asarray(V, dtype=float), rng.rand(n, p).astype(np.float32)


class TestCurvature:
    @every_pair
    def test_is_the_second_derivative_or_a_bound(self, name, dim):
        rng = np.random.RandomState(9)
        loss, V, _ = problem(name, dim, rng, 8 if is_slow(name) else 24)
        theta, step = rng.randn(len(V), dim), 1e-5
        curvature = loss.curvature(theta, V, loss.gradient(theta, V))
        second = np.empty_like(theta)
        for k in range(dim):
            shift = step * np.eye(dim)[k]
            up, down = (loss.gradient(theta + sign * shift, V)[:, k] for sign in (1, -1))
            second[:, k] = (up - down) / (2.0 * step)
        if name == "simplex-shannon":  # one score moves against the others
            second *= dim / (dim - 1)
        if name in ("simplex-shannon", "hypercube-shannon", "ordinal-shannon"):
            np.testing.assert_allclose(curvature, second, rtol=1e-4, atol=1e-8)
        assert (curvature >= second - 1e-4 * loss.scale_).all() and (curvature > 0.0).all()

    def test_of_residuals_bounds_the_loss_by_a_parabola(self):
        r = np.linspace(-3.0, 3.0, 61)[:, None]
        for kind in ("absolute", "huber", "epsilon_insensitive", "quantile"):
            loss, V = ResidualLoss(RealLine().fit([0.0, 1.0]), kind, quantile=0.8), 0.0 * r
            value, slope = loss.value_and_gradient(r, V)
            h = loss.curvature(r, V, slope)
            assert (h >= 0.0).all() and np.isfinite(h).all()
            for i in np.flatnonzero(np.abs(r) > 0.06):
                for step in (-0.5 * r[i, 0], 0.5 * r[i, 0], 1.0, -1.0):
                    above = value[i] + slope[i, 0] * step + 0.5 * h[i, 0] * step**2
                    moved = loss.value_and_gradient(r[[i]] + step, V[[i]])[0][0]
                    if kind in ("absolute", "huber"):
                        assert above >= moved - 1e-9


class TestAdditiveModel:
    @pytest.mark.interpreted
    @every_pair
    @pytest.mark.parametrize("in_bins", [False, True])
    def test_learns_rounds_literally(self, monkeypatch, name, dim, in_bins):
        monkeypatch.setattr(TreeGrower, "few_rows", 0 if in_bins else 3000)
        rng = np.random.RandomState(10)
        loss, V, ranks = problem(name, dim, rng)
        ranks[rng.rand(*ranks.shape) < 0.1] = np.nan
        weight, is_learned = rng.choice([0.5, 1.0, 3.0], size=len(V)), rng.rand(len(V)) < 0.8
        model = AdditiveModel(
            BoostingTask(V, weight, loss, dim), TreeGrower(ranks, 4, 3, 1.0), 0.3, is_learned, 5
        )
        literal = naive.Model(
            name, loss, ranks, V, weight, np.flatnonzero(is_learned), (0.3, 4, 3, 1.0), 5, in_bins
        )
        np.testing.assert_allclose(model.theta, literal.theta, atol=1e-9)
        for _ in range(3):
            model.add_tree()
            literal.add_tree()
            np.testing.assert_allclose(model.theta, literal.theta, atol=1e-6)
        assert model._held_out_loss() == pytest.approx(literal.held_out_loss(), abs=1e-6)

    @pytest.mark.parametrize("in_bins", [False, True])
    @pytest.mark.parametrize("patience", [1, 4])
    def test_seeks_rounds_and_leaves_out_folds_literally(self, monkeypatch, in_bins, patience):
        monkeypatch.setattr(TreeGrower, "few_rows", 0 if in_bins else 3000)
        rng = np.random.RandomState(11)
        x = np.floor(6 * rng.rand(50, 3))
        V = np.eye(3)[np.where(rng.rand(50) < 0.2, rng.randint(3, size=50), x[:, 0] // 2)
                      .astype(int)]  # fmt: skip
        loss, weight = FenchelYoung(Simplex().fit([0, 1, 2])), rng.choice([0.5, 1.5], size=50)
        folds = np.r_[np.full(5, -1), np.arange(45) % 3]
        given = BoostingOptions(15, patience, 0.4, 4, 2, 1.0)
        model, honest = AdditiveTrees.fitted(
            x, BoostingTask(V, weight, loss, 3), folds, given, 3, None
        )
        ranks = np.column_stack([naive.mid_ranks(c.tolist(), c) for c in x.T])
        literals, n_rounds, losses = naive.fit(
            "simplex-shannon", loss, ranks, V, weight, folds, (0.4, 4, 2, 1.0), 15, patience, 3,
            in_bins,
        )  # fmt: skip
        assert (model.n_rounds, model.n_models) == (n_rounds, 3) and n_rounds > 0
        np.testing.assert_allclose(model.held_out_losses, losses, rtol=1e-6)
        assert np.isnan(honest[:5]).all()
        for fold, literal in enumerate(literals):
            wanted = literal.scores(ranks, n_rounds)
            np.testing.assert_allclose(honest[folds == fold], wanted[folds == fold], atol=1e-6)
        new = np.vstack([x[:10] + 0.3, x[:10]])
        new_ranks = np.column_stack(
            [naive.mid_ranks(a.tolist(), b) for a, b in zip(x.T, new.T, strict=True)]
        )
        wanted = sum(one.scores(new_ranks, n_rounds) for one in literals) / 3
        np.testing.assert_allclose(model.scores(new), wanted, atol=1e-5)
        for n, staged in enumerate(model.staged_scores(new), 1):
            wanted = sum(one.scores(new_ranks, n) for one in literals) / 3
            np.testing.assert_allclose(staged, wanted, atol=1e-5)
        assert n == n_rounds

    def test_has_the_trees_up_to_the_lowest_held_out_loss(self):
        rng = np.random.RandomState(13)
        V, loss = np.eye(3)[rng.randint(3, size=60)], FenchelYoung(Simplex().fit([0, 1, 2]))
        grower = TreeGrower(ColumnRanks.of(X).transform(X), 6, 2, 1.0)
        task = BoostingTask(V, np.ones(60), loss, 3)
        model = AdditiveModel(task, grower, 0.5, np.arange(60) % 3 > 0, 0)
        losses = model.seek_rounds(50, 4)
        assert len(model.trees) == np.argmin(losses) == len(losses) - 5
        other = AdditiveModel(task, grower, 0.5, np.arange(60) % 3 > 0, 0)
        other.grow(len(model.trees))
        np.testing.assert_array_equal(model.honest, other.honest)

    def test_stops_when_nothing_changes(self):
        V, loss = np.eye(2)[np.arange(40) % 2], FenchelYoung(Simplex().fit([0, 1]))
        task = BoostingTask(V, np.ones(40), loss, 2)
        options = BoostingOptions(500, 2, 0.3, 4, 1, 1.0)
        folds = np.arange(40) // 2 % 5
        model, honest = AdditiveTrees.fitted(np.ones((40, 2)), task, folds, options, 0, None)
        assert model.n_rounds < 100 and np.isfinite(honest).all()
        assert len(model.held_out_losses) < 100

    def test_takes_steps_of_length_2_at_most(self):
        loss = FenchelYoung(Simplex().fit([0, 1]), "squared")
        V, theta = np.eye(2)[[0] * 10], np.tile([-50.0, 50.0], (10, 1))
        task = BoostingTask(V, np.full(10, 100.0), loss, 2)
        grower = TreeGrower(np.ones((10, 1), np.float32), 2, 1, 1.0)
        model = AdditiveModel(task, grower, 1.0, np.ones(10, bool), 0)
        model.theta = theta.copy()
        model.losses, model.slopes = loss.objective(theta, V)
        model.task = task._replace(loss=_Flat(loss))
        model.add_tree()
        np.testing.assert_allclose(model.theta - theta, np.tile([2.0, -2.0], (10, 1)))

    def test_does_not_learn_rows_that_are_left_out(self):
        rng = np.random.RandomState(12)
        V, loss = np.eye(3)[rng.randint(3, size=60)], FenchelYoung(Simplex().fit([0, 1, 2]))
        folds, grower = np.arange(60) % 5, TreeGrower(ColumnRanks.of(X).transform(X), 6, 2, 1.0)
        others = np.where((folds == 2)[:, None], V[:, ::-1], V)
        honest = {}
        for fold in (1, 2):
            for name, outputs in (("own", V), ("others", others)):
                task = BoostingTask(outputs, np.ones(60), loss, 3)
                model = AdditiveModel(task, grower, 0.3, folds != fold, 0)
                model.grow(5)
                honest[fold, name] = model.honest
        np.testing.assert_array_equal(honest[2, "own"], honest[2, "others"])
        assert (honest[1, "own"] != honest[1, "others"]).any()


class _Flat:
    """A loss whose second derivatives are tiny."""

    def __init__(self, loss):
        self.objective, self.scale_ = loss.objective, 1e-9

    def curvature(self, theta, V, slopes):
        return np.full_like(theta, 1e-9)


@slow_as_python
class TestFits:
    def test_stages_are_of_one_fit(self):
        model = boosting("multiclass", max_iter=3, early_stopping=False).fit(
            X, OUTPUTS["multiclass"]
        )
        expected, stages = [*model.staged_predict_proba(X)], model.staged_predict_proba(X)
        seen = [next(stages)]
        assert model.n_iter_ == 3
        model.set_params(space="multilabel").fit(X, OUTPUTS["multilabel"])
        np.testing.assert_array_equal([*seen, *stages], expected)

    def test_rankings_have_no_staged_probabilities(self):
        model = boosting("ranking", max_iter=2).fit(X, OUTPUTS["ranking"])
        assert not hasattr(model, "staged_predict_proba") and [*model.staged_predict(X)]

    @every_space
    def test_are_better_than_chance_and_end_staged_predictions(self, space):
        model, y = boosting(space, max_iter=30).fit(X, OUTPUTS[space]), OUTPUTS[space]
        assert model.score(X, y) > 0.6 and 0 < model.n_iter_ <= 30
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, model.predict(X))
        assert len([*model.staged_predict(X[:3])]) == model.n_iter_
        lowest = int(np.argmin(model.validation_losses_))
        assert model.n_iter_ == lowest and len(model.validation_losses_) <= lowest + 4
        importances = model.feature_importances_
        assert importances.shape == (4,) and importances.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize("space", ["multiclass", "multilabel", "ordinal", "assignment"])
    def test_end_staged_probabilities(self, space):
        model = boosting(space).fit(X, OUTPUTS[space])
        *_, last = model.staged_predict_proba(X)
        np.testing.assert_allclose(last, model.predict_proba(X), atol=1e-12)

    def test_of_chunks_are_those_of_all_rows(self, monkeypatch):
        model = boosting().fit(X, CLASSES)
        whole, staged = model.embedding_scores(X), [*model.staged_predict_proba(X)]
        monkeypatch.setattr(fenchel_young, "ROWS_AT_ONCE", 7)
        np.testing.assert_array_equal(model.embedding_scores(X), whole)
        np.testing.assert_array_equal([*model.staged_predict_proba(X)], staged)

    @every_space
    def test_survive_pickles_and_copies(self, space):
        model = boosting(space).fit(X, OUTPUTS[space])
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(other.embedding_scores(X), model.embedding_scores(X))
        assert not hasattr(clone(model), "n_iter_")

    @pytest.mark.parametrize("n", [60, 3500])
    def test_are_the_same_of_the_same_seed_and_of_more_threads(self, n):
        rng = np.random.RandomState(1)
        rows = rng.randn(n, 4)
        y = np.argmax(rows[:, :3] + rng.randn(n, 3), axis=1)
        model = boosting(max_features=0.5, max_iter=3).fit(rows, y)
        again = boosting(max_features=0.5, max_iter=3, n_jobs=2).fit(rows, y)
        np.testing.assert_array_equal(again.embedding_scores(rows), model.embedding_scores(rows))
        other = boosting(max_features=0.5, max_iter=3, random_state=1).fit(rows, y)
        assert (other.embedding_scores(rows) != model.embedding_scores(rows)).any()

    def test_are_in_threads_if_joblib_is_configured_to_use_processes(self):
        with parallel_config("loky", n_jobs=2):
            model = boosting(n_jobs=2).fit(X, CLASSES)
        wanted = boosting().fit(X, CLASSES).embedding_scores(X)
        np.testing.assert_array_equal(model.embedding_scores(X), wanted)

    @every_space
    def test_rows_of_weight_zero_change_nothing(self, space):
        y = OUTPUTS[space]
        more, weight = np.vstack([X, 3.0 - X[:12]]), np.r_[np.ones(60), np.zeros(12)]
        model = boosting(space).fit(more, np.concatenate([y, y[:12]]), weight)
        wanted = boosting(space).fit(X, y).embedding_scores(X)
        np.testing.assert_allclose(model.embedding_scores(X), wanted, atol=1e-9)

    def test_weights_count_by_their_ratios(self):
        weight = np.random.RandomState(2).exponential(size=60)
        model = boosting().fit(X, CLASSES, weight)
        scaled = boosting().fit(X, CLASSES, 1e6 * weight)
        np.testing.assert_allclose(scaled.embedding_scores(X), model.embedding_scores(X), atol=1e-6)
        assert (model.embedding_scores(X) != boosting().fit(X, CLASSES).embedding_scores(X)).any()

    def test_class_weights_are_those_of_rows(self):
        model = boosting(class_weight={0: 3.0, 1: 1.0, 2: 0.5}, early_stopping=False)
        weight = np.array([3.0, 1.0, 0.5])[CLASSES]
        wanted = boosting(early_stopping=False).fit(X, CLASSES, weight)
        np.testing.assert_array_equal(
            model.fit(X, CLASSES).embedding_scores(X), wanted.embedding_scores(X)
        )

    @pytest.mark.parametrize("n", [60, 3500])
    def test_rows_can_be_sparse_read_only_or_of_32_bits(self, n, tmp_path):
        rows = np.round(np.random.RandomState(3).randn(n, 3), 2).astype(np.float32)
        y = (rows[:, 0] > 0.2).astype(int) + (rows[:, 1] > 0.0)
        wanted = boosting(max_iter=2).fit(rows.astype(float), y).embedding_scores(rows)
        on_disk = np.memmap(tmp_path / "rows", np.float64, "w+", shape=rows.shape)
        on_disk[:] = rows
        frozen = rows.astype(float)
        frozen.flags.writeable = y.flags.writeable = False
        for other in (sparse.csr_array(rows), on_disk, frozen, np.asfortranarray(rows), rows):
            found = boosting(max_iter=2).fit(other, y).embedding_scores(other)
            np.testing.assert_allclose(found, wanted, atol=1e-9)

    @pytest.mark.parametrize("n", [60, 3500])
    def test_missing_values_are_learned_and_predicted(self, n):
        rng = np.random.RandomState(4)
        rows, y = rng.randn(n, 3), rng.randint(2, size=n)
        rows[y == 1, 1] = np.nan
        model = boosting(max_iter=20, min_samples_leaf=2).fit(rows, y)
        assert model.score(rows, y) > 0.97
        assert model.feature_importances_[1] > 0.9

    @pytest.mark.parametrize("n", [60, 3500])
    def test_a_column_with_one_value_and_missing_ones_is_learned(self, n):
        rng = np.random.RandomState(5)
        rows, y = rng.randn(n, 2), rng.randint(2, size=n)
        rows[:, 1] = np.where(y == 1, np.nan, 7.0)
        assert boosting(max_iter=20).fit(rows, y).score(rows, y) == 1.0

    def test_scores_of_validation_are_honest_on_noise(self):
        rng = np.random.RandomState(6)
        for n, p in ((100, 1000), (300, 10)):
            scores = [
                boosting(max_iter=30, random_state=seed)
                .fit(rng.randn(n, p), rng.randint(2, size=n)).validation_score_
                for seed in range(3)
            ]  # fmt: skip
            assert 0.35 < np.mean(scores) < 0.65

    def test_copies_of_rows_are_left_out_together(self):
        rng = np.random.RandomState(7)
        rows, y = rng.randn(60, 5), rng.randint(2, size=60)
        model = boosting(max_iter=50, min_samples_leaf=1, learning_rate=1.0)
        model.fit(np.tile(rows, (4, 1)), np.tile(y, 4))
        assert model.validation_score_ < 0.7

    @pytest.mark.parametrize("given", [{"early_stopping": False}, {}])
    def test_without_early_stopping_or_with_few_rows_all_rounds_are_learned(self, given):
        few = slice(None) if given else slice(19)
        model = boosting(**given).fit(X[few], CLASSES[few])
        assert model.n_iter_ == 6 and np.isnan(model.validation_score_)
        assert len(model.validation_losses_) == 0

    def test_importances_are_zeros_without_splits(self):
        model = boosting(early_stopping=False).fit(np.ones((40, 3)), np.arange(40) % 4 // 3)
        np.testing.assert_array_equal(model.feature_importances_, np.zeros(3))
        np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), [[0.75, 0.25]], atol=0.01)

    def test_refits_leave_nothing_behind(self):
        model = boosting().fit(X, CLASSES).set_params(space="ranking")
        fresh = boosting("ranking").fit(X, OUTPUTS["ranking"])
        assert set(vars(model.fit(X, OUTPUTS["ranking"]))) == set(vars(fresh))
        assert not hasattr(model, "classes_")

    def test_seeds_of_many_rounds_are_seeds(self):
        most = boosting(max_iter=2 * 10**9, n_iter_no_change=1).fit(X, CLASSES)
        assert most.n_iter_ > 0

    def test_many_rows_of_few_values(self):
        rng = np.random.RandomState(8)
        rows = rng.randint(3, size=(4000, 3)).astype(float)
        y = (rows[:, 0] == 1) ^ (rows[:, 1] == 2)
        assert boosting(max_iter=20).fit(rows, y).score(rows, y) == 1.0

    @pytest.mark.parametrize("decoder", ["nearest", "map", "sampled", "randomized"])
    def test_decoders_predict_and_draw(self, decoder):
        model = boosting(decoder=decoder).fit(X, CLASSES)
        assert set(model.predict(X)) <= {0, 1, 2}
        draws = [model.sample(X, random_state=3) for _ in range(2)]
        np.testing.assert_array_equal(*draws)
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, model.predict(X))

    def test_verbose_prints_rounds(self, capsys):
        boosting().fit(X, CLASSES)
        assert capsys.readouterr().out == ""
        boosting(verbose=1).fit(X, CLASSES)
        printed = capsys.readouterr().out
        assert printed.startswith("FenchelYoungBoosting: ") and "held-out score" in printed


BAD = [
    *(({name: 0}, name) for name in ("max_iter", "n_iter_no_change", "min_samples_leaf")),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
    *(({name: v}, name) for name in ("learning_rate", "max_features") for v in (0.0, 1.5, "a")),
    ({"early_stopping": 1.0}, "early_stopping"),
    ({"space": "sequence"}, "use StructuredPredictor"),
    ({"verbose": -1}, "verbose"),
    ({"regularizer": "gini"}, "regularizer"),
]


class TestErrors:
    @pytest.mark.parametrize(("given", "message"), BAD)
    def test_bad_parameters_leave_the_estimator_unchanged(self, given, message):
        model = boosting(max_iter=1).fit(X, CLASSES)
        state = dict(vars(model))
        with pytest.raises((ValueError, TypeError), match=message):
            model.set_params(**given).fit(X, CLASSES)
        assert {k: v for k, v in vars(model).items() if k not in given} == {
            k: v for k, v in state.items() if k not in given
        }

    def test_infinity_and_other_numbers_of_features_are_errors(self):
        model = boosting(max_iter=1).fit(X, CLASSES)
        with pytest.raises(ValueError, match="infinity"):
            model.fit(np.where(X > 1.0, np.inf, X), CLASSES)
        with pytest.raises(ValueError, match="2 features"):
            model.predict(X[:, :2])
        with pytest.raises(ValueError, match="inconsistent|lengths|59"):
            model.fit(X, CLASSES[:-1])

    @pytest.mark.parametrize("method", ["staged_predict", "staged_predict_proba"])
    def test_stages_need_a_fit(self, method):
        with pytest.raises(NotFittedError):
            next(getattr(boosting(), method)(X))
        with pytest.raises(NotFittedError):
            boosting().feature_importances_  # noqa: B018
