"""Random features: what they are, learners over them against literal forms, widths, mixtures."""

import pickle
import tracemalloc
from functools import partial

import naive
import naive.features as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from learners import OVER_SPACES
from naive import ParameterFree, kernels, mixture, play, round_shares
from plain import with_kernel
from scipy import sparse
from scipy.stats import kstest, norm

from skstructured import GuaranteeError, KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured._engine.mixing import mix
from skstructured._learners.models import LinearModel, Record
from skstructured.estimators.kernel import structured
from skstructured.estimators.kernel._features import FeatureModel, FourierMap
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent, StepMixture

N = 30 if INTERPRETED else 150
CLASSES = [0, 1, 2]
COMPILED = pytest.mark.skipif(INTERPRETED, reason="slow")


def learner(**given):
    """A learner over few features, of one pass in order, with plain means and deviations."""
    one = {"n_components": 20, "shuffle": False, "max_iter": 1, "random_state": 0}
    one["standardize"] = "moments"
    return with_kernel(KernelStructuredPredictor, **{"approximation": "fourier"} | one | given)


def features_of(model):
    return model.model_.scale.features


def near(found, wanted):
    """Equal to 1e-12 of the largest of all, as random features and kernels are in any chunks."""
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


def fourier_map(p=4, m=60, seed=0, multiscale=False, gamma=0.3):
    features = FourierMap(p, m, multiscale, np.random.RandomState(seed))
    features.set_width(gamma)
    return features


#: name -> (map of p, m and a seed, its kernel)
MAPS = {
    "rbf": (fourier_map, kernels.rbf(0.3)),
    "multiscale": (partial(fourier_map, multiscale=True), kernels.multiscale(0.3)),
}


def phi(features, Z):
    return features.behind(Z, Z.shape[1])[:, Z.shape[1] :]


def literal_phi(features):
    """φ of one row of p features, literally, with ‖φ‖² = 3p, in equal parts of the octaves."""
    kinds = [list(features.octave).count(factor) for factor in features.octave]
    square = 3.0 * len(features.frequencies) / len(set(features.octave))
    amplitudes = [(square / many) ** 0.5 for many in kinds]
    frequencies = features.frequencies * np.sqrt(features.gamma * features.octave)
    return lambda z: literal.waves(z, frequencies, amplitudes)


def mapped_rows(model, X, weight, standardize=True):
    """Rows [z, φ(z), 1], literally, with the frequencies of a model."""
    return literal.mapped_rows(X, weight, literal_phi(features_of(model)), standardize)


def stream(seed=0, n=N, p=3):
    rng = np.random.RandomState(seed)
    X = 3.0 * rng.randn(n, p) + rng.randn(p)
    return X, np.argmax(np.sin(X), axis=1), rng.randint(4, size=n) * 0.7


def played(model, X, y, weight, size=1000):
    """Scores played, in chunks of `size`, and outputs as vertices."""
    rounds, found = model.begin(X, y)._replace(weight=weight), []
    for start in range(0, len(X), size):
        some = np.arange(start, min(start + size, len(X)))
        model.learn_blocks(rounds, some, lambda block, w: found.append(block.theta), Record.SCORES)
    return np.concatenate(found), model.space_.unpack(rounds.packed)


class TestFeatures:
    @pytest.mark.parametrize(("p", "m"), [(1, 2), (3, 14), (8, 129), (17, 300)])
    @pytest.mark.parametrize("name", MAPS)
    def test_are_those_of_the_formula(self, name, p, m):
        features, Z = MAPS[name][0](p, m), 2.0 * np.random.RandomState(p).randn(6, p)
        assert features.columns == m + m % 2
        wanted = np.array([literal_phi(features)(z) for z in Z])
        np.testing.assert_allclose(phi(features, Z), wanted, atol=1e-12 * np.sqrt(3.0 * p))

    def test_of_long_rows_lie_on_the_circle(self):
        features, Z = fourier_map(m=200), np.random.RandomState(0).randn(5, 4)
        for factor in (1e5, 1e15, 1e100, 1e300):
            found = phi(features, factor * Z)
            np.testing.assert_allclose(np.sum(found**2, axis=1), 12.0, rtol=1e-12)
        wanted = [literal_phi(features)(z) for z in 1e5 * Z]
        np.testing.assert_allclose(phi(features, 1e5 * Z), wanted, atol=1e-10)

    @pytest.mark.parametrize("name", MAPS)
    def test_products_tend_to_the_kernel(self, name):
        make, exact = MAPS[name]
        Z = np.random.RandomState(0).randn(12, 4)
        wanted, errors, seeds = kernels.gram(exact, Z, Z), [], 40
        for m in (16, 128, 1024):
            rows = [phi(make(4, m, seed), Z) for seed in range(seeds)]
            error = np.array([row @ row.T for row in rows]) / 12.0 - wanted
            errors.append(np.sqrt(np.mean(error**2)))
            assert errors[-1] < np.sqrt(2.0 / m)
            assert np.sqrt(np.mean(error.mean(axis=0) ** 2)) < 2.0 * errors[-1] / np.sqrt(seeds)
        ratios = np.sqrt(8.0) * np.divide(errors[1:], errors[:-1])
        assert ratios.min() > 0.6 and ratios.max() < 1.6

    def test_frequencies_are_normal_and_orthogonal(self):
        def drawn(p, m, seed):
            return fourier_map(p, 2 * m, seed).frequencies / np.sqrt(2.0)

        W = drawn(16, 24, 0)[:, :16]
        np.testing.assert_allclose(W.T @ W, np.diag(np.sum(W**2, axis=0)), atol=1e-12)
        many = [drawn(3, 5, seed) for seed in range(400)]
        assert kstest(np.ravel(many)[::4], norm.cdf).pvalue > 1e-3


class TestAgainstLiteral:
    @pytest.mark.parametrize("standardize", ["moments", False])
    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_gradient_descent_in_every_space(self, name, standardize):
        other, X, y = OVER_SPACES[name]
        given = {"space": other.space, "regularizer": other.regularizer, "gamma": 0.4}
        optimizer = GradientDescent(eta=0.05)
        model = learner(optimizer=optimizer, standardize=standardize, **given)
        weight = np.random.RandomState(0).randint(4, size=len(X)) * 0.7
        found, V = played(model, X, y, weight)
        rows, loss = mapped_rows(model, X, weight, standardize), model.loss_
        W, mean = np.zeros((V.shape[1], rows.shape[1])), 0.0
        shares = round_shares(weight)
        for x, v, w, share, theta in zip(rows, V, weight, shares, found, strict=True):
            np.testing.assert_allclose(theta, W @ x, rtol=1e-10, atol=1e-10)
            mean = mean + share * W
            gradient = loss.mean((W @ x)[None])[0] - v
            W = W - 0.05 * loss.scale_ * w * np.outer(gradient, x)
        np.testing.assert_allclose(model.last_weights_, W, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.average_weights_, mean, rtol=1e-10, atol=1e-10)

    def test_the_parameter_free_learner(self):
        X, y, weight = stream()
        model = learner(optimizer="parameter_free")
        found, V = played(model, X, y, weight)
        features = features_of(model)
        assert features.gamma == 1.0 / 6.0
        rows = mapped_rows(model, X, weight)
        shape, diameter = (3, rows.shape[1]), model.space_.geometry("l2").diameter
        optimizer = ParameterFree(shape, diameter, 100.0)
        wanted, weights = play(optimizer, model.loss_, rows, V, weight, intercept=False)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(model.last_weights_, weights[-1], rtol=1e-9, atol=1e-10)
        new = X[:5] + 1.0
        Z = (new - model.model_.scale.inner.statistics[0]) / model.model_.scale.inner.statistics[1]
        rows = [[*z, *literal_phi(features)(z), 1.0] for z in Z]
        scores = np.array(rows) @ model.average_weights_.T
        np.testing.assert_allclose(model.embedding_scores(new), scores, rtol=1e-10, atol=1e-10)


class TestOfFit:
    def test_fit_takes_the_median_distance(self):
        X, y, _ = stream(n=60)
        exact = KernelStructuredPredictor(max_iter=1).fit(X, y)
        gamma = exact.model_.expansion.support.function.numbers[0]
        assert features_of(learner().fit(X, y)).gamma == gamma

    def test_random_state_draws_them(self):
        X, y, _ = stream()
        models = [learner(random_state=seed).fit(X, y) for seed in (0, 0, 1)]
        one, same, other = (phi(features_of(model), X) for model in models)
        assert np.array_equal(one, same) and not np.isclose(one, other).all(axis=0).any()


@pytest.mark.parametrize("optimizer", ["auto", "parameter_free", AdaGrad(), "ogd"], ids=str)
def test_chunks_of_any_size_and_csr_rows_give_nearly_the_same_weights(optimizer):
    X, y, weight = stream()
    X = np.where(np.random.RandomState(0).rand(*X.shape) < 0.3, 0.0, X)
    whole, parts = (learner(optimizer=optimizer) for _ in range(2))
    whole.partial_fit(X, y, CLASSES, weight)
    start = 0
    for size in [1, 2, 7, 1, 64, 3] * 9:
        part = slice(start, start + size)
        if start < len(X):
            rows = X[part] if size == 7 else sparse.csr_matrix(X[part])
            parts.partial_fit(rows, y[part], CLASSES, weight[part])
            parts = pickle.loads(pickle.dumps(parts)) if size == 7 else parts
        start += size
    assert parts.t_ == whole.t_ == len(X)
    near(parts.last_weights_, whole.last_weights_)
    for rows in (X, sparse.csr_matrix(X)):
        near(parts.predict_proba(rows), whole.predict_proba(X))


class TestLearner:
    def test_learns_curves(self):
        rng = np.random.RandomState(0)
        n = 300 if INTERPRETED else 800
        X = 10.0 ** rng.randint(-3, 4, 4) * rng.randn(3 * n // 2, 4)
        radius = np.sum((X / X.std(axis=0)) ** 2, axis=1)
        y = (radius > np.median(radius)).astype(int)
        model = learner(n_components=300, max_iter=5).fit(X[:n], y[:n])
        exact = KernelStructuredPredictor(max_iter=5, random_state=0)
        score = exact.fit(X[:n], y[:n]).score(X[n:], y[n:])
        assert model.score(X[n:], y[n:]) > score - 0.05 > 0.75

    def test_singles_are_near_doubles(self):
        X, y, _ = stream(n=60 if INTERPRETED else 400)
        double = learner(optimizer="parameter_free").fit(X, y)
        single = learner(optimizer="parameter_free").fit(X.astype(np.float32), y)
        np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=5e-3)

    def test_a_bad_row_leaves_all_as_it_was(self):
        X, y, _ = stream(n=40)
        model = learner(optimizer="ogd", standardize=False).partial_fit(X, y, CLASSES)
        before = model.last_weights_.copy()
        X[7] = 1e120
        with pytest.raises(ValueError, match="Row 7 of X is too large"):
            model.partial_fit(X, y)
        assert model.t_ == 40 and np.array_equal(model.last_weights_, before)

    @pytest.mark.parametrize("optimizer", ["auto", "ogd", "parameter_free"])
    def test_certificates_hold_over_rows_and_features(self, optimizer):
        X, y, _ = stream()
        result = progressive_validate(learner(optimizer=optimizer), X, y, play="randomized")
        model = result.estimator
        comparison = model.comparison(model.resume(X, y))
        assert comparison.X.shape == (len(X), 3 + 20)
        rng = np.random.RandomState(0)
        for size in (0.0, 0.03, 0.3):
            U = size * rng.randn(3, 24)
            theta = comparison.X @ U[:, :23].T + U[:, 23]
            loss = model.loss_.value(theta, comparison.V).sum()
            bound = model.certificate().bound(loss, np.linalg.norm(U))
            assert result.expected_target_loss.sum() <= bound

    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("averaged", [True, False])
    @pytest.mark.parametrize(
        "optimizer", ["parameter_free", pytest.param("auto", marks=pytest.mark.exhaustive)]
    )
    def test_plays_ahead_what_it_would_predict(self, optimizer, averaged, standardize):
        X, y, _ = stream(n=24)
        given = {"optimizer": optimizer, "average": averaged, "standardize": standardize}
        model, other = learner(**given), learner(**given)
        result = progressive_validate(model, X, y, classes=CLASSES)
        other.partial_fit(X[:1], y[:1], CLASSES)
        for t in range(1, len(X)):
            theta, V = other.embedding_scores(X[t : t + 1]), np.eye(3)[y[t : t + 1]]
            wanted = other.loss_.value(theta, V)[0]
            assert result.surrogate_loss[t] == pytest.approx(wanted, rel=1e-8, abs=1e-10)
            other.partial_fit(X[t : t + 1], y[t : t + 1])

    @COMPILED
    def test_memory_of_predictions_is_that_of_some_rows(self):
        X, y, _ = stream(n=500)
        model = learner(n_components=1000, optimizer="ogd").fit(X[:20], y[:20])
        many = np.tile(X, (100, 1))
        tracemalloc.start()
        model.predict(many)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 1003 * len(many) / 3

    def test_what_is_not_there(self):
        X, y, _ = stream()
        model = learner().fit(X, y)
        for name in ("dual_coef_", "support_vectors_", "support_", "coef_", "intercept_"):
            with pytest.raises(AttributeError, match="random features"):
                getattr(model, name)
        model.set_params(approximation="none").fit(X, y)
        assert type(model.optimizer_).__name__ == "ParameterFree"
        with pytest.raises(GuaranteeError, match="functions"):
            model.comparison(model.resume(X, y))

    def test_wide_csr_rows_are_refused(self):
        y, wide = stream()[1], sparse.csr_matrix((N, 5000))
        for call in (learner().fit, partial(learner().partial_fit, classes=CLASSES)):
            with pytest.raises(ValueError, match=r"at most 4,096 columns; got 5,000. Put Truncat"):
                call(wide, y)


STEPS, ADAPTIVE, SHARES = (0.25, 2.0), (0.5,), ("thinning", 0.02)
KINDS = {"classes": "classes", "label sets": "labels"}


@pytest.mark.parametrize(
    "name", ["classes", "label sets", "grades", "matchings, projected", "rankings", "trees"]
)
class TestBesideLine:
    """Experts over rows alone beside those over random features."""

    @pytest.fixture
    def problem(self, name):
        """A learner of a space, rows, outputs, and weights up to 4.2."""
        X, y, _ = stream(n=40)
        given = {}
        if name != "classes":
            other, X, y = OVER_SPACES[name]
            given = {"space": other.space, "regularizer": other.regularizer}
        weight = np.random.RandomState(0).randint(4, size=len(X)) * 1.4
        return partial(learner, n_components=8, gamma=0.4, **given), X, y, weight

    def experts_of(self, model, width, first):
        """Literal experts over all columns, and over the first ones and the last."""
        dim, diameter = model.space_.dim_, model.space_.geometry("l2").diameter

        def made(columns):
            found = [mixture.RelativeStep((dim, columns), eta) for eta in STEPS]
            found += [mixture.RootStep((dim, columns), length) for length in ADAPTIVE]
            return [*found, naive.ParameterFree((dim, columns), diameter, 100.0)]

        columns = [*range(first), width - 1]
        return made(width) + [mixture.OnColumns(e, columns, width) for e in made(first + 1)]

    @pytest.mark.parametrize("average", ["polynomial", False])
    def test_it_equals_the_literal_mixture(self, name, average, problem):
        make, X, y, weight = problem
        optimizer = StepMixture(steps=STEPS, adaptive=ADAPTIVE, share=SHARES)
        model = make(optimizer=optimizer, average=average)
        scores, V = played(model, X, y, weight, 7)
        Z = mapped_rows(model, X, weight)
        experts = self.experts_of(model, Z.shape[1], X.shape[1])
        wanted, losses, u = mixture.play_mixture(
            experts, model.loss_, Z, V, weight, SHARES, KINDS.get(name, "scores"), average
        )
        np.testing.assert_allclose(scores, wanted, atol=1e-9 * np.abs(wanted).max())
        np.testing.assert_allclose(model.model_.state.shares, u, atol=1e-8)
        np.testing.assert_allclose(model.expert_losses_, losses.sum(axis=0), rtol=1e-8, atol=1e-6)
        names = model.expert_names_
        assert len(names) == len(set(names)) == losses.shape[1]
        assert sum("of the line" in one for one in names) == len(names) // 2
        assert names[len(experts) // 2] == "RelativeStep(eta=0.25) of the line"

    def test_few_rows_and_many_are_predicted_alike_and_by_the_weights(self, name, problem):
        make, X, y, weight = problem
        classes = np.unique(y) if y.ndim == 1 else None
        model = make().partial_fit(X, y, classes, weight)
        many = model.embedding_scores(X)
        few = np.vstack([model.embedding_scores(X[i : i + 3]) for i in range(0, len(X), 3)])
        np.testing.assert_allclose(few, many, rtol=1e-9, atol=1e-9)
        matrices = model.model_._matrices(True)
        Z = model.model_.scale.transformed_matrix(model._read(X).rows)
        wanted = np.einsum("nkp,ip->ink", matrices, np.hstack([Z, np.ones((len(Z), 1))]))
        kind, shares = model.model_.state.kind, model.model_.shares(True)
        for theta, played in zip(wanted, many, strict=True):
            out, v = np.empty_like(played), np.empty(len(theta))
            mix(kind, shares, theta, model.loss_.mean(theta), v, out)
            np.testing.assert_allclose(played, out, rtol=1e-9, atol=1e-9)


def test_lines_read_no_features_and_gaps_count_as_columns():
    X, y, weight = stream(n=40)
    X[3, 1] = np.nan
    model = learner(missing="indicator", n_components=8, gamma=0.4)
    model.partial_fit(X, y, CLASSES, weight)
    matrices = model.model_._matrices(True)
    assert model.model_.scale.inner.columns == 6 and len(matrices) == 28
    lines = [i for i, name in enumerate(model.expert_names_) if "of the line" in name]
    assert not matrices[lines][:, :, 6:-1].any()
    assert matrices[lines][:, :, :6].any() and matrices[lines][:, :, -1].any()
    others = np.delete(matrices, lines, axis=0)
    assert others[:, :, 6:-1].any(axis=(1, 2)).all()


class WithoutLines(FeatureModel):
    """A mixture of experts over rows and their features alone."""

    def _set_up(self, learner, vectors):
        self.has_lines = False
        LinearModel._set_up(self, learner, vectors)


def noisy(n, p, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(2 * n, p)
    return X, (X @ rng.randn(p) + 3.0 * rng.randn(2 * n) > 0.0).astype(int)


@COMPILED
def test_a_noisy_line_costs_nothing_and_a_curve_is_learned(monkeypatch):
    n, points, many = 600, [], {"n_components": 400, "gamma": "multiscale"}
    for seed in range(6):
        X, y = noisy(n, 20, seed)
        line = OnlineStructuredPredictor(max_iter=1, random_state=seed).fit(X[:n], y[:n])
        row = [line.score(X[n:], y[n:])]
        for kind in (FeatureModel, WithoutLines):
            monkeypatch.setattr(structured, "FeatureModel", kind)
            model = learner(**many, random_state=seed)
            row.append(model.fit(X[:n], y[:n]).score(X[n:], y[n:]))
        points.append(row)
    line, both, alone = 100.0 * np.mean(points, axis=0)
    assert both > line - 0.5
    assert both > alone + 0.5
    X, _ = noisy(n, 4, 0)
    y = (np.sum(X**2, axis=1) > 3.5).astype(int)
    assert learner(**many).fit(X[:n], y[:n]).score(X[n:], y[n:]) > 0.85


def test_bounds_are_against_every_expert_and_against_weights_of_all_features():
    for seed in range(3):
        X, y = noisy(60 if INTERPRETED else 200, 3, seed)
        result = progressive_validate(learner(n_components=8, gamma=0.4), X, y, play="randomized")
        model = result.estimator
        certificate = model.certificate()
        assert list(certificate.losses) == model.expert_names_
        found = result.surrogate_loss.sum()
        c, overhead = certificate.constants["c"], certificate.constants["overhead"]
        assert found <= c * (min(certificate.losses.values()) + overhead) + 1e-9
        assert result.expected_target_loss.sum() <= certificate.bound_of_experts()
        # one expert over [z, φ(z)] has a bound against every U; that of a line has none
        assert len(certificate.certificates) == 1
        one = model.model_.optimizer.experts()[-1]
        known = one.certificate(model.loss_, model.model_.state.vectors[6])
        for size in (0.1, 1.0, 10.0):
            price = certificate._price()
            assert certificate.regret(size) == pytest.approx(known.regret(size) + price)


@pytest.mark.parametrize("passes", [1, 2])
def test_numbers_of_features_and_optimizers(passes):
    X, y, _ = stream(n=20)
    given = [{"n_components": "auto"}, {"n_components": "auto"}, {"n_components": 31}]
    models = [learner(max_iter=passes, **one) for one in given]
    models[0].fit(X, y)
    models[1].partial_fit(X, y, CLASSES)
    models[2].set_params(optimizer="mixture").fit(X, y)
    assert [model.n_components_ for model in models] == [1200, 1200, 32]
    assert [model.last_weights_.shape[1] for model in models] == [1204, 1204, 36]
    names = ["StepMixture" if passes == 1 else "ParameterFree", "StepMixture", "StepMixture"]
    assert [type(model.optimizer_).__name__ for model in models] == names
