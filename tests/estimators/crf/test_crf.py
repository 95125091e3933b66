"""Conditional random fields against enumeration of all outputs, peers and generic solvers."""

import numpy as np
import pytest
from conftest import INTERPRETED
from joblib import parallel_config
from naive import crf as naive
from scipy import sparse
from scipy.optimize import approx_fprime
from selection import test_the_room_as_python  # noqa: F401
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skstructured import ConditionalRandomField
from skstructured._base.ragged import Ragged, Stacked
from skstructured.estimators.crf._objective import (
    ChainObjective,
    Layout,
    Objective,
    VectorObjective,
)
from skstructured.losses import FenchelYoung
from skstructured.spaces import resolve_space

LENGTHS = (3, 1, 4, 2, 2, 3)
#: Where the sizes of blocks are.
SLOW = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
PLAIN = {"standardize": False, "tol": 1e-10}
SPACES = ["simplex", "hypercube", "ordinal", "birkhoff"]


def words(rng, k=3, p=2, lengths=LENGTHS):
    """Sequences, and labels that go by the features and by the label before."""
    W, X, y = 2.0 * rng.randn(k, p), [], []
    for M in lengths:
        x, labels, before = rng.randn(M, p), [], 0
        for row in x:
            before = int(np.argmax(W @ row + rng.gumbel(size=k) + np.eye(k)[before]))
            labels.append(before)
        X.append(x)
        y.append(np.array(labels))
    y[0][:] = np.arange(len(y[0])) % k
    return X, y


def weights_of(model):
    """Weights in the order of `naive.sequence_loss`."""
    return [model.coef_, model.intercept_, model.start_, model.end_, model.transitions_]


def outputs(space, X, rng):
    """Outputs of a space that go by the features."""
    theta = X @ rng.randn(X.shape[1], 4) + 0.5 * rng.randn(len(X), 4)
    if space == "birkhoff":
        return np.argsort(theta[:, :2], axis=1)
    if space == "hypercube":
        return (theta[:, :3] > 0).astype(int)
    if space == "ordinal":
        return np.digitize(theta[:, 0], [-1.0, 0.0, 1.0])
    return np.argmax(theta[:, :3], axis=1)


class TestObjective:
    @pytest.mark.interpreted
    @pytest.mark.parametrize("most", [1 << 24, 0])
    @pytest.mark.parametrize("block", [1, 5, 2, 4096])
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
    @pytest.mark.parametrize("scale", [1.0, 30.0])
    def test_sequences_equal_enumeration_and_differences(
        self, scale, kind, block, most, rng, monkeypatch
    ):
        monkeypatch.setattr(Objective, "most_numbers", most)
        monkeypatch.setattr(Objective, "block_size", block)
        X, y = words(rng)
        labels, share = Ragged.from_lengths(np.concatenate(y), LENGTHS), rng.dirichlet(np.ones(6))
        given = kind(np.vstack(X)), labels, share, 0.3, Layout(2, 3, True, True)
        objective = ChainObjective(*given)
        assert len(objective.blocks) > 1 or block > 5

        def literal(Theta):
            parts = [Theta[:2].T, *Theta[2:5], Theta[5:8]]
            return naive.sequence_objective(parts, X, y, 0.3, share)

        self._compare(objective, literal, scale * rng.randn(*objective.layout.shape), 1e-12)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("space", SPACES)
    def test_vectors_equal_enumeration_and_differences(self, space, rng):
        X = rng.randn(6, 2)
        y = outputs(space, rng.randn(40, 2), rng)
        fitted = resolve_space(space).fit(y)
        V, layout = fitted.encode(y[:6]), Layout(2, fitted.dim_, True, False)
        loss = FenchelYoung(fitted, "shannon", scale=1.0)
        share = rng.dirichlet(np.ones(6))
        objective = VectorObjective(X, loss, fitted.pack(y[:6]), share, 0.3, layout)

        def literal(Theta):
            return naive.vector_objective((Theta[:2].T, Theta[2]), space, X, V, 0.3, share)

        self._compare(objective, literal, rng.randn(*layout.shape), 1e-9)

    def _compare(self, objective, literal, Theta, tolerance):
        value, gradient = objective.value_and_gradient(Theta)
        assert value == pytest.approx(literal(Theta), rel=tolerance)
        slopes = approx_fprime(Theta.ravel(), lambda flat: literal(flat.reshape(Theta.shape)), 1e-6)
        atol = 1e-5 * max(1.0, np.abs(Theta).max() / 3.0)
        np.testing.assert_allclose(gradient.ravel(), slopes, atol=atol)


class TestOptimum:
    def test_of_sequences_is_a_generic_solvers(self, rng):
        X, y = words(rng, k=2, lengths=(3, 1, 2))
        model = ConditionalRandomField(alpha=0.05, **PLAIN).fit(X, y)
        parts = weights_of(model)

        def literal(parts):
            return naive.sequence_objective(parts, X, y, 0.05, None)

        found, best = literal(parts), naive.least(literal, [part.shape for part in parts])
        assert found == pytest.approx(best, rel=1e-6)
        assert model.loss_curve_[-1] == pytest.approx(found, rel=1e-9)
        assert found - best <= model.duality_gap_ + 1e-9

    @pytest.mark.parametrize("space", SPACES)
    @pytest.mark.short(every=2)
    def test_of_vectors_is_a_generic_solvers(self, space, rng):
        X = rng.randn(20, 2)
        y = outputs(space, X, rng)
        model = ConditionalRandomField(space, alpha=0.05, **PLAIN).fit(X, y)
        V = model.space_.encode(y)
        shapes = [model.coef_.shape, model.intercept_.shape]

        def literal(parts):
            return naive.vector_objective(parts, space, X, V, 0.05, None)

        found = literal([model.coef_, model.intercept_])
        assert found == pytest.approx(naive.least(literal, shapes), rel=1e-6)

    @pytest.mark.interpreted
    def test_of_classes_is_logistic_regressions(self):
        X, y = load_iris(return_X_y=True)
        model = ConditionalRandomField("simplex", alpha=0.02, fit_intercept=False, **PLAIN)
        peer = LogisticRegression(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-8)
        peer.set_params(max_iter=10_000).fit(X, y)
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)

    @pytest.mark.interpreted
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize(("alpha", "most"), [(0.01, 2), (0.01, 6), (0.5, 2)])
    def test_the_gap_is_that_of_the_gradient(self, alpha, most, rng):
        """‖∇‖²/(2α), which is at least what an objective curved by α has left."""
        X, y = words(rng, k=2)
        weights = np.array([1.0, 3.0, 0.5, 2.0, 0.0, 1.0])
        model = ConditionalRandomField(alpha=alpha, max_iter=most, tol=1e-9, standardize=False)
        parts = weights_of(model.fit(X, y, weights))
        shapes = [part.shape for part in parts]

        def literal(flat):
            return naive.sequence_objective(naive.split(flat, shapes), X, y, alpha, weights)

        slope = approx_fprime(np.concatenate([part.ravel() for part in parts]), literal, 1e-7)
        assert model.duality_gap_ == pytest.approx(slope @ slope / (2.0 * alpha), rel=1e-3)

    @pytest.mark.parametrize("scale", [1e-4, 1e-3])
    def test_the_gap_is_above_what_is_left_with_tiny_features(self, scale):
        """The loss is nearly linear then, and what is left nearly ‖∇‖²/(2α)."""
        X = scale * np.random.RandomState(0).randn(40, 2)
        y = (X[:, 0] > 0).astype(int)
        model = ConditionalRandomField("simplex", alpha=1e-3, fit_intercept=False, **PLAIN)
        model.set_params(tol=1e-14)
        best = clone(model).fit(X, y).loss_curve_[-1]
        short = model.set_params(tol=1.0).fit(X, y)  # it stops at weights of 0
        assert 0.0 <= short.loss_curve_[-1] - best <= short.duality_gap_ + 1e-13
        assert short.loss_curve_[-1] - best > 0.9 * short.duality_gap_

    def test_weights_of_two_are_two_sequences(self, rng):
        X, y = words(rng)
        often = np.array([0, 0, 1, 3, 4, 4, 4, 5])
        model = ConditionalRandomField(alpha=0.1, tol=1e-11)
        one = clone(model).fit(X, y, sample_weight=np.bincount(often, minlength=6))
        two = clone(model).fit([X[i] for i in often], [y[i] for i in often])
        for a, b in zip(weights_of(one), weights_of(two), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)


class TestRows:
    @pytest.mark.parametrize("standardize", [False, "auto", True])
    def test_csr_equals_dense(self, standardize, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X = [(x > 0.3).astype(float) for x in X]
        thin = [sparse.csr_matrix(x) for x in X]
        model = ConditionalRandomField(alpha=0.1, tol=1e-13)
        model.set_params(standardize=standardize)
        dense, csr = clone(model).fit(X, y), clone(model).fit(thin, y)
        one, two = np.vstack(dense.predict_marginals(X)), np.vstack(csr.predict_marginals(thin))
        assert one.shape == two.shape
        if standardize is not True:  # which centers dense features alone
            far = 2.0 * np.sqrt(2.0 * model.tol / model.alpha)  # two minima, by their gaps
            np.testing.assert_allclose(csr.coef_, dense.coef_, atol=far)
            np.testing.assert_allclose(two, one, atol=far)

    @pytest.mark.exhaustive
    def test_csr_is_never_densified(self, rng):
        p = 10**4 if INTERPRETED else 10**6
        X = sparse.random(60, p, 10 / p, "csr", random_state=0)
        y = rng.randint(2, size=60)
        model = ConditionalRandomField(alpha=0.1, max_iter=3, tol=1e9)
        assert model.fit(Stacked(X, [20] * 3), np.split(y, 3)).coef_.shape == (2, p)

    def test_units_and_origins_do_not_matter_when_standardised(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        model = ConditionalRandomField(alpha=0.1, tol=1e-9)
        one, two = (
            np.vstack(model.fit(rows, y).predict_marginals(rows))
            for rows in (X, [1e3 * x + 7.0 for x in X])
        )
        np.testing.assert_allclose(one, two, atol=1e-4)

    def test_indicators_are_left_alone(self, rng):
        X, y = words(rng)
        X = [(x[:, :1] > 0).astype(float) for x in X]
        model = ConditionalRandomField(alpha=0.1, tol=1e-10)
        auto, plain, scaled = (
            clone(model).set_params(standardize=given).fit(X, y).coef_
            for given in ("auto", False, True)
        )
        np.testing.assert_array_equal(auto, plain)
        assert np.abs(auto - scaled).max() > 1e-3

    @pytest.mark.parametrize("given", [{}, {"space": "simplex"}])
    def test_threads_give_the_same_bits(self, given, rng, monkeypatch):
        for name, number in {"block_size": 4, "most_numbers": 100}.items():
            monkeypatch.setattr(Objective, name, number)  # blocks by the few
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X, y = (np.vstack(X), np.concatenate(y)) if "space" in given else (X, y)
        model = ConditionalRandomField(alpha=0.1, tol=1e-8, **given)
        one = clone(model).fit(X, y)
        with parallel_config(n_jobs=3):
            two = clone(model).fit(X, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.loss_curve_, two.loss_curve_)


class TestEstimator:
    def test_warm_starts(self, rng):
        """They are there at once; one that fails leaves every attribute."""
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X = [5.0 * x + 3.0 for x in X]
        model = ConditionalRandomField(alpha=0.1, tol=1e-8)
        first = clone(model).fit(X, y)
        model.set_params(warm_start=True).fit(X, y)
        assert model.n_iter_ > 5 and model.fit(X, y).n_iter_ <= 2
        before = dict(vars(model))
        with pytest.raises(ValueError, match="warm_start=True requires the same features"):
            model.fit(X, [labels + 5 for labels in y])
        assert list(vars(model)) == list(before)
        assert all(vars(model)[name] is before[name] for name in before)
        for a, b in zip(weights_of(model), weights_of(first), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-3)

    def test_models_with_other_transitions_are_refused(self, rng):
        """They are of versions in which features had weights in transitions."""
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1).fit(X, y)
        model.transition_coef_ = np.zeros((3, 3, 2))
        with pytest.raises(ValueError, match='transitions="features", which is not supported'):
            model.predict(X)
        assert model.fit(X, y).predict(X)

    def test_predictions_decode_the_scores(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 10)
        names = [np.array(list("abc"))[labels] for labels in y]
        model = ConditionalRandomField(alpha=0.01).fit(X, names)
        assert model.score(X, names) > 0.7
        marginals, nbest = model.predict_marginals(X), model.predict_nbest(X, 2)
        likeliest = model.set_params(decoder="map").predict(X)
        for x, mu, best, labels in zip(X[:6], marginals, nbest, likeliest, strict=False):
            scores = naive.sequence_scores(x, *weights_of(model))
            np.testing.assert_allclose(mu, naive.chains.marginals(*scores)[0], atol=1e-10)
            found, values = naive.chains.all_scores(*scores)
            top = np.argsort(-values)[: len(best)]
            np.testing.assert_allclose([score for _, score in best], values[top])
            wanted = model.classes_[found[top[0]]].tolist()
            assert best[0][0].tolist() == labels.tolist() == wanted
        each = [model.classes_[np.argmax(mu, axis=1)] for mu in marginals]
        assert all(map(np.array_equal, model.set_params(decoder="min_risk").predict(X), each))

    @pytest.mark.interpreted
    @pytest.mark.parametrize("factor", [1.0, 1e3])
    def test_log_probabilities_are_those_of_enumeration(self, factor, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, tol=0.1).fit(X, y)
        parts = weights_of(model)
        for part in parts:
            part *= factor
        found = model.log_proba(X, y)
        wanted = [-naive.sequence_loss(x, labels, *parts) for x, labels in zip(X, y, strict=True)]
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * factor)
        best, totals = model.predict_nbest(X, 3), model.log_partition(X)
        for x, lists, total in zip(X, best, totals, strict=True):
            for labels, score in lists:
                assert model.log_proba([x], [labels])[0] == pytest.approx(
                    score - total, abs=1e-11 * factor
                )
        with pytest.raises(ValueError, match="Sequence 1 has 1 positions in X, but 2 labels"):
            model.log_proba(X[:2], [y[0], y[0][:2]])

    @SLOW
    @pytest.mark.parametrize("decoder", ["map", "min_risk", "nearest", "randomized", "sampled"])
    @pytest.mark.short(every=3)
    def test_draws_have_the_expected_loss(self, decoder, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, decoder=decoder, random_state=0).fit(X, y)
        lost = model.space_.target_loss(model.sample(X * 2000), y * 2000).reshape(2000, len(y))
        np.testing.assert_allclose(lost.mean(axis=0), model.expected_target_loss(X, y), atol=0.05)

    def test_search_over_lists(self, rng):
        X, y = words(rng, lengths=[3, 5, 2] * 10)
        grid = {"alpha": [1e-3, 1e-1], "decoder": ["map", "nearest"]}
        search = GridSearchCV(ConditionalRandomField(), grid, cv=3).fit(X, y)
        assert set(search.best_params_) == {"alpha", "decoder"}
        assert len(search.predict(X)) == 30

    def test_progress_and_a_warning_where_it_stops_early(self, rng, caplog):
        X, y = words(rng)
        caplog.set_level("INFO", "skstructured")
        model = ConditionalRandomField(max_iter=2, tol=1e-9)
        with pytest.warns(
            ConvergenceWarning, match="duality gap of .* Increase max_iter, alpha or tol"
        ):
            model.fit(X, y)
        assert caplog.text.count("iteration") == 2 == model.n_iter_
        assert model.loss_curve_.shape == (2,)


class TestBadInput:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            *(({"alpha": a}, "alpha") for a in ("path", "", None, 0.0, -1.0, np.inf)),
            ({"tol": -1.0}, "tol must be a positive"),
            ({"max_iter": 0}, "max_iter must be an integer"),
            ({"standardize": "yes"}, "standardize must be a bool"),
            ({"decoder": "f1"}, "decoder must be one of .* for label sequences"),
            ({"kernel": "rbf"}, "is not supported for space='sequence'"),
        ],
    )
    def test_parameters(self, params, message, rng):
        X, y = words(rng)
        if "space" in params:
            X, y = rng.randn(4, 2), np.arange(4) % 3
        with pytest.raises((ValueError, TypeError), match=message):
            ConditionalRandomField(**params).fit(X, y)

    def test_features_too_large_to_learn_from(self, rng):
        X, y = words(rng)
        model = ConditionalRandomField(max_iter=5, tol=1e9)
        model.fit([1e90 * x for x in X], y)
        model.set_params(standardize=False, tol=1e-9)
        with (
            np.errstate(all="ignore"),
            pytest.warns(ConvergenceWarning, match="scale the features"),
        ):
            model.fit([1e99 * x for x in X], y)
        assert np.isfinite(model.coef_).all()

    def test_sequences_are_named(self, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, missing="error").fit(X, y)
        coef = model.coef_.copy()
        holes = [x.copy() for x in X]
        holes[2][3, 1] = np.nan
        wide = [*X[:4], np.ones((2, 5)), X[5]]
        for rows, labels, message in (
            (holes, y, "Sequence 2 of X, position 3"),
            (X, [*y[:3], y[3][:1], *y[4:]], "Sequence 3 has 2 positions in X, but 1 labels"),
            (wide, y, "Sequence 4 of X has 5 features"),
            ([*X[:4], np.ones((0, 2)), X[5]], y, "Sequence 4 of X is empty"),
            (X[:-1], y, "X has 5 sequences, but y has 6"),
            (np.vstack(X), np.concatenate(y), "sequence"),
        ):
            with pytest.raises(ValueError, match=message):
                model.fit(rows, labels)
            np.testing.assert_array_equal(model.coef_, coef)
        with pytest.raises(ValueError, match="not among the classes"):
            model.log_proba(X, [labels + 1 for labels in y])
        with pytest.raises(ValueError, match="features"):
            model.predict(wide[4:5])
