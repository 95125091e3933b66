"""How many passes `max_iter="auto"` makes, beside what is held out and learned by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import skstructured as sk
from skstructured._base.ragged import Ragged
from skstructured._learners.models import LinearModel
from skstructured._learners.pass_selection import (
    KERNEL_SEARCH,
    LINEAR_SEARCH,
    SCORE_FACTORS,
    TRIED_PASSES,
    ValidationCurve,
    choose_factor,
    learned_rows,
    split_rounds,
)
from skstructured.extend.learner import Batch

INTERPRETED = pytest.importorskip("numba").config.DISABLE_JIT


def tried(*means, passes=TRIED_PASSES, spread=0.0, n=50):
    """Losses of these means, each round by itself by `spread` larger or smaller."""
    noise = np.where(np.arange(n) % 2, spread, -spread)
    losses = np.array([mean + (i + 1) * noise for i, mean in enumerate(means)])
    ones = np.ones(len(means))
    return ValidationCurve(np.array(passes[: len(means)]), losses, 0.0 * losses, ones, np.ones(n))


class TestTheRule:
    def test_the_best_number_is_taken_where_it_is_surely_better(self):
        for spread, search, wanted, *means in (
            (0.0, KERNEL_SEARCH, 5, 1.0, 0.9, 0.8, 0.7, 0.9),
            (0.0, LINEAR_SEARCH, 1, 0.5, 0.6, 0.8, 1.0, 1.9),
            (0.5, KERNEL_SEARCH, 20, 1.0, 0.9, 0.8, 0.75, 0.8, 0.9),  # chance may have chosen
            (0.5, LINEAR_SEARCH, 10, 0.9, 0.9, 0.89, 0.9, 0.91),
            (0.0, LINEAR_SEARCH, 10, 1.0, 0.9, 0.8, 0.799, 0.797, 0.8),  # one percent is nothing
            (0.0, LINEAR_SEARCH, 20, 1.0, 0.9, 0.8, 0.7, 0.71, 0.596, 0.594, 0.592),
            (
                0.0,
                LINEAR_SEARCH,
                5,
                0.5,
                0.5,
                0.5,
                0.5,
                0.9,
                0.95,
            ),  # alike: the nearest to the usual
            (0.0, KERNEL_SEARCH, 40, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.5),
            (0.0, LINEAR_SEARCH, 10, 1.0, 0.9, 0.85, 0.845),  # ended early at its best
            (0.0, KERNEL_SEARCH, 20, 1.0, 0.9, 0.85, 0.845, 0.84),
        ):
            assert tried(*means, spread=spread).chosen(search) == wanted, means

    def test_doubt_is_in_standard_errors_of_paired_differences(self):
        n, rng = 400, np.random.RandomState(0)
        base, gap = rng.randn(n) * 5.0, rng.randn(n)
        for share, wanted in ((1.9, 20), (2.1, 5)):
            apart = gap - gap.mean() + share * gap.std() / np.sqrt(n)
            losses = 10.0 + np.array([base, base, base, base - apart, base, base])
            one = ValidationCurve(
                np.array(TRIED_PASSES[:6]), losses - 9.9, 0.0 * losses, np.ones(6), np.ones(n)
            )
            assert one.chosen(KERNEL_SEARCH) == wanted

    def test_not_worse_in_the_target_loss(self):
        n, rng = 400, np.random.RandomState(0)
        one = tried(1.0, 0.6, 0.5, 0.5, 0.7, 0.9, n=n)
        assert one.chosen(KERNEL_SEARCH) == 5
        for wrong, wanted in ((3, 5), (40, 3)):  # of the first rounds, after five passes
            targets = np.zeros((6, n))
            targets[3, :wrong] = 1.0
            targets[4:, ::7] = targets[:2, ::7] = 1.0
            targets[2, rng.randint(n, size=2)] = 1.0
            assert one._replace(targets=targets).chosen(KERNEL_SEARCH) == wanted
        worst = np.ones((6, n))
        worst[5] = 0.0
        assert one._replace(targets=worst).chosen(KERNEL_SEARCH) == 5  # nothing is best in both

    def test_of_few_rows_more_passes_are_usual(self):
        for rows, usual in ((0, 80), (125, 80), (200, 50), (999, 10), (1000, 10), (10**6, 10)):
            search = LINEAR_SEARCH.for_rows(rows)
            assert search.usual == usual
            assert search.least == (usual if rows < 1000 else LINEAR_SEARCH.least)
        assert KERNEL_SEARCH.for_rows(10) == KERNEL_SEARCH

    def test_rows_are_those_of_the_rounds_that_count(self):
        rounds = Batch(None, np.zeros(3, dtype=int), np.array([1.0, 0.0, 0.5]))
        assert learned_rows(rounds) == 2
        assert learned_rows(rounds._replace(offsets=np.array([0, 5, 6, 13]))) == 12

    def test_factors_are_those_of_the_number_nearest_by_ratio(self):
        passes = np.array(TRIED_PASSES[:7])
        losses = np.repeat(np.arange(7.0)[:, None], 5, axis=1)
        one = ValidationCurve(passes, losses, losses, np.array(SCORE_FACTORS[:7]), np.ones(5))
        for given, nearest in ((1, 0), (10, 4), (28, 5), (29, 6), (80, 6)):  # √(20 · 40) = 28.3
            assert one.factor(given) == SCORE_FACTORS[nearest]

    def test_rounds_are_plenty_by_both_measures(self):
        few, many = ((5000, 10), (5001, 251), (20_000, 1000)), ((5001, 250), (20_001, 1000))
        assert not any(LINEAR_SEARCH.has_plenty(*sizes) for sizes in few)
        assert all(LINEAR_SEARCH.has_plenty(*sizes) for sizes in many)

    def test_weights_count_as_repeated_rounds_do_in_means(self):
        losses, w = np.random.RandomState(0).rand(3, 30), np.arange(30) % 4
        once = ValidationCurve(
            np.array(TRIED_PASSES[:3]), losses, losses, np.ones(3), w.astype(float)
        )
        many = np.repeat(losses, w, axis=1)
        again = ValidationCurve(once.passes, many, many, np.ones(3), np.ones(w.sum()))
        np.testing.assert_allclose(once.curve, again.curve, rtol=1e-12)
        np.testing.assert_array_equal(once.curve[:, 0], [1, 2, 3])
        light = once._replace(losses=np.where(w > 0, losses, 1e9))
        np.testing.assert_allclose(light.curve, once.curve, rtol=1e-12)

    def test_it_ends_where_passes_gain_little_or_lose(self):
        search = LINEAR_SEARCH._replace(usual=10, least=5, most=80, doubt=2.0, gain=0.02)
        for means in ((1.0, 1.1, 1.2), (1.0, 0.9, 0.8, 0.7), (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)):
            assert not tried(*means).is_enough(search)
        assert tried(1.0, 1.1, 1.2, 1.3).is_enough(search)
        assert tried(1.0, 0.9, 0.8, 0.79).is_enough(search)
        doubtful = tried(1.0, 0.9, 0.8, 0.7, 0.6, 0.5, spread=3.0)
        assert doubtful.is_enough(search)  # 20 passes are no surer than 10


class TestWhatIsHeldOut:
    @pytest.mark.parametrize("n", [20, 99, 100, 101, 300])
    def test_every_round_once_or_the_seventh_part(self, n, rng):
        weight = (rng.rand(n) < 0.8).astype(float)
        weight[:20] = 1.0
        rounds = Batch(None, rng.randint(3, size=n), weight)
        parts = split_rounds(rounds, LINEAR_SEARCH._replace(in_turns=100), rng)
        count = int(weight.sum())
        assert len(parts) == (5 if count <= 100 else 2)
        every = np.sort(np.concatenate(parts))
        np.testing.assert_array_equal(every, np.flatnonzero(weight > 0.0))
        if count > 100:
            assert len(parts[0]) == -(-count // 7)

    @pytest.mark.parametrize("length", [1, 3, 4])
    def test_in_turns_if_positions_are_few(self, length, rng):
        offsets = np.arange(31) * length
        codes = Ragged(np.zeros(30 * length, dtype=int), offsets)
        rounds = Batch(None, codes, np.ones(30), offsets)
        parts = split_rounds(rounds, LINEAR_SEARCH._replace(in_turns=100), rng)
        assert len(parts) == (5 if 30 * length <= 100 else 2)

    @pytest.mark.parametrize(("n", "count"), [(507, 5), (1000, 5), (1001, 2)])
    def test_linear_learners_hold_out_each_of_up_to_1000_rounds(self, n, count, rng):
        assert (
            len(split_rounds(Batch(None, np.zeros(n, dtype=int), np.ones(n)), LINEAR_SEARCH, rng))
            == count
        )

    def test_classes_are_spread(self, rng):
        packed = np.repeat([0, 1, 2], [50, 10, 5])
        for part in split_rounds(Batch(None, packed, np.ones(65)), LINEAR_SEARCH, rng):
            counts = np.bincount(packed[part], minlength=3)
            assert np.abs(counts - [10, 2, 1]).max() <= 1

    def test_some_of_many_rounds_are_learned_of_all_classes(self, rng):
        packed = rng.permutation(np.repeat([0, 1, 2], [5000, 900, 100]))
        weight = (rng.rand(6000) < 0.9).astype(float)
        rounds, count = Batch(None, packed, weight), int(weight.sum())
        held_out, learned = split_rounds(rounds, KERNEL_SEARCH._replace(most_learned=600), rng)
        assert len(held_out) == -(-count // 7) and len(learned) == 600
        assert not np.intersect1d(held_out, learned).size and weight[learned].all()
        assert len(np.unique(learned)) == 600 and (np.diff(learned) > 0).all()
        shares = np.bincount(packed[learned]) / 600
        np.testing.assert_allclose(shares, np.bincount(packed, weight) / count, atol=2 / 600)
        every = split_rounds(rounds, KERNEL_SEARCH._replace(most_learned=count), rng)
        assert sum(map(len, every)) == count

    @pytest.mark.parametrize("kernel", [False, True])
    @pytest.mark.parametrize("n", [60, 1100])
    def test_losses_are_those_of_learners_that_never_saw_them(self, kernel, n, rng, monkeypatch):
        """By learners over the other rows alone, in the same orders."""
        monkeypatch.setattr("skstructured._learners.pass_selection.SCORE_FACTORS", (1.0,))
        if INTERPRETED and n > 60:
            pytest.skip("slow without compiled kernels")
        X, y = rng.randn(n, 3), rng.randint(3, size=n)
        X[:, 0] += y
        make = sk.KernelStructuredPredictor if kernel else sk.OnlineStructuredPredictor
        given = {"standardize": False, "shuffle": False, "random_state": 0}
        if kernel:
            given |= {"gamma": 0.5, "kernel": sk.Kernel(cache_size=200)}
        else:
            given["optimizer"] = "parameter_free"
        model = make(**given).fit(X, y)
        twin = clone(model).set_params(max_iter=1).fit(X, y)  # draws the same parts
        rounds, start = twin._read(X)._replace(packed=y), np.random.RandomState(0)
        parts = split_rounds(rounds, KERNEL_SEARCH if kernel else LINEAR_SEARCH, start)
        held = parts if len(parts) > 2 else parts[:1]
        for passes, loss in model.validation_curve_:
            losses = []
            for part in held:
                rest = np.sort(np.setdiff1d(np.arange(n), part))
                one = make(**given, max_iter=int(passes)).fit(X[rest], y[rest])
                theta = one.embedding_scores(X[part])
                losses += one.loss_.value(theta, one.space_.encode(y[part])).tolist()
            assert loss == pytest.approx(np.mean(losses), rel=1e-5 if kernel else 1e-9)


class Scored:
    """A trial whose scores are given, against zeros: ``a (f − best)² + 1`` at a factor f."""

    def __init__(self, best, a, noise=0.0):
        self.best, self.a, self.noise = best, a, noise

    def losses(self, factor):
        return 1.0 + self.a * (factor - self.best) ** 2 + (1.0 - factor) * np.asarray(self.noise)


class TestFactors:
    @pytest.mark.parametrize(("best", "wanted"), [(1.0, 1.0), (0.79, 0.8), (0.41, 0.4), (0.1, 0.1)])
    def test_the_least_loss_is_found(self, best, wanted):
        trials = [Scored(best, np.full(30, 50.0)), Scored(best, np.full(20, 40.0))]
        factor, losses = choose_factor(trials, np.ones(50), True)
        assert factor == wanted and losses.shape == (50,)
        np.testing.assert_allclose(losses[:30], trials[0].losses(wanted))

    def test_one_where_the_others_are_better_by_chance_only(self):
        noise = 5.0 * np.where(np.arange(40) % 2, 1.0, -1.02)
        assert choose_factor([Scored(0.5, np.full(40, 0.1), noise)], np.ones(40), True)[0] == 1.0
        assert choose_factor([Scored(0.5, np.full(40, 0.03))], np.ones(40), True)[0] == 1.0
        assert choose_factor([Scored(0.5, np.full(40, 9.0))], np.ones(40), False)[0] == 1.0

    def test_they_are_tried_until_one_loses_more_than_the_one_before(self):
        class Dipping:
            def losses(self, factor):
                return np.full(30, {1.0: 10.0, 0.8: 8.0, 0.64: 9.0}.get(factor, 1.0))

        assert choose_factor([Dipping()], np.ones(30), True)[0] == 0.8

    def test_rounds_count_by_their_weights(self):
        sure = np.where(np.arange(40) < 20, 0.3, 1.0)
        trial = Scored(sure, np.full(40, 50.0))
        assert choose_factor([trial], (np.arange(40) < 20) + 1e-9, True)[0] == 0.32
        assert choose_factor([trial], (np.arange(40) >= 20) + 1e-9, True)[0] == 1.0

    def test_predictions_are_less_sure_and_the_same(self, rng):
        n = 60 if INTERPRETED else 300
        X = rng.randn(n, 20)
        y = (X[:, 0] + rng.randn(n) > 0).astype(int)
        model = sk.KernelStructuredPredictor(random_state=0).fit(X, y)
        given = {"max_iter": model.n_iter_}
        plain = clone(model).set_params(**given).fit(X, y)
        factor = model.score_factor_
        assert factor in SCORE_FACTORS and plain.score_factor_ == 1.0
        np.testing.assert_allclose(model.dual_coef_, factor * plain.dual_coef_)
        np.testing.assert_allclose(
            model.decision_function(X), factor * plain.decision_function(X), rtol=1e-6, atol=1e-9
        )
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        assert INTERPRETED or factor < 1.0
        both = [one.partial_fit(X, y) for one in (model, plain)]
        np.testing.assert_allclose(both[0].dual_coef_, factor * both[1].dual_coef_)


class TestLearners:
    def test_tol_is_not_in_use_where_few_rows_have_a_usual_number_of_their_own(self, monkeypatch):
        monkeypatch.setattr(LinearModel, "search", LINEAR_SEARCH._replace(tol=0.5))
        X, y = load_iris(return_X_y=True)
        X, y = X[::2], y[::2]
        assert LINEAR_SEARCH.for_rows(len(X)).usual == TRIED_PASSES[-1]
        model = sk.OnlineStructuredPredictor(optimizer="parameter_free", random_state=0)
        assert model.fit(X, y).n_iter_ == TRIED_PASSES[-1]

    @pytest.mark.parametrize("random_state", [3, np.random.RandomState(3)])
    def test_rows_are_visited_as_by_a_learner_that_is_told_the_number(self, random_state):
        X, y = load_iris(return_X_y=True)
        given = {"optimizer": "parameter_free", "random_state": random_state}
        model = sk.OnlineStructuredPredictor(**given).fit(X, y)
        fixed = clone(model).set_params(max_iter=model.n_iter_, random_state=3)
        fixed.fit(X, y)
        assert model.n_iter_ == fixed.n_iter_ and model.model_.factor == 1.0
        np.testing.assert_array_equal(model.coef_, fixed.coef_)
        assert model.t_ == len(X) and len(fixed.validation_curve_) == 0

    @pytest.mark.parametrize("weight", [None, "some of zero"])
    def test_few_rounds_are_learned_as_often_as_usual(self, weight, rng, monkeypatch):
        X, y = rng.randn(60, 2), rng.randint(2, size=60)
        y[:2] = 0, 1
        given = None if weight is None else (np.arange(60) < 19).astype(float)
        rows = 60 if given is not None else 19
        monkeypatch.setattr(LinearModel, "search", LINEAR_SEARCH._replace(tol=None))
        model = sk.OnlineStructuredPredictor().fit(X[:rows], y[:rows], given)
        assert (model.n_iter_, len(model.validation_curve_)) == (80, 0)

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize(
        "model",
        [
            sk.GaptronClassifier(max_iter="auto"),
            sk.MulticlassPerceptron(max_iter="auto"),
            sk.PiSTOLClassifier("rbf", max_iter="auto"),
            sk.PiSTOLRegressor(max_iter="auto"),
            sk.KernelPerceptronClassifier("rbf", max_iter="auto"),
            sk.OnlineStructuredPredictor(loss="hinge", decoder="gap"),
            sk.KernelStructuredPredictor(kernel=sk.Kernel(lambda x, z: x @ z.T, cache_size=0)),
            sk.OnlineStructuredPredictor("ordinal"),
            sk.OnlineStructuredPredictor("permutahedron"),
            sk.OnlineStructuredPredictor("birkhoff"),
            sk.OnlineStructuredPredictor("sequence"),
        ],
        ids=lambda model: f"{type(model).__name__} {getattr(model, 'space', '')}",
    )
    def test_of_every_learner_over_every_space(self, model, rng, monkeypatch):
        monkeypatch.setattr(LinearModel, "search", LINEAR_SEARCH._replace(tol=None))
        space = getattr(model, "space", None)
        X, y = rng.randn(80, 2), rng.randint(2, size=80)
        if space == "sequence":
            X, y = np.split(X, 40), np.split(y, 40)
        elif space in ("hypercube", "birkhoff", "permutahedron"):
            y = np.column_stack([y, 1 - y]) + (space == "permutahedron")
        sparse_too = model.average and space != "sequence"
        model = clone(model).fit(sparse.csr_array(X) if sparse_too else X, y)
        assert len(model.validation_curve_) >= 3 and np.isfinite(model.validation_curve_).all()
        assert model.n_iter_ in TRIED_PASSES or hasattr(model, "tol")

    def test_it_prints_what_was_tried(self, rng, capsys):
        X, y = rng.randn(40, 2), rng.randint(2, size=40)
        sk.OnlineStructuredPredictor(verbose=1).fit(X, y)
        assert "held out: surrogate loss" in capsys.readouterr().out
