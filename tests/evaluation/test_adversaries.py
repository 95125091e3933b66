"""The streams are what they say they are, and no learner exceeds its bound on them."""

import math
from functools import partial

import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import LARGEST, PAIRS, is_slow, space_of
from plain import predictor
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from benchmarks.adversaries import (
    Drifting,
    GreedyAdversary,
    LabelNoise,
    LowerBound,
    Separable,
    play,
)
from skstructured.evaluation import progressive_validate
from skstructured.guarantees import best_comparator
from skstructured.optimizers import AdaptiveGradientDescent, GradientDescent, ParameterFree, PiSTOL
from skstructured.spaces import OrdinalChain, Simplex

OBLIVIOUS = [LabelNoise, Drifting, Separable]
ADVERSARIES = [*OBLIVIOUS, GreedyAdversary]

#: One pair a space.
SPACES = list({PAIRS[name][0]: (name, dim) for name, dim in LARGEST}.values())


def encoded(result):
    """The true outputs as vertices (n, dim)."""
    return result.estimator.space_.unpack(result.rounds.packed)


def rounds_of(name, kind):
    if INTERPRETED:
        return 10 if is_slow(name) else 25
    return 50 if kind is GreedyAdversary or is_slow(name) else 400


#: Optimisers with a theorem; rows have norm √2, the intercept's 1 included.
OPTIMIZERS = {
    "ogd": GradientDescent(),
    "ogd, high probability": GradientDescent(eta="high_probability"),
    "adaptive": AdaptiveGradientDescent(2.0),
    "parameter_free": ParameterFree(),
    "parameter_free, wealth 1": ParameterFree(wealth=1.0),
    "pistol": PiSTOL(a=2.25, feature_norm=math.sqrt(2.0)),
    "pistol per coordinate": PiSTOL(2.5, 0.01, math.sqrt(2.0), per_coordinate=True),
}


def smallest_bound(result):
    """The bound for several comparators: zero and the weights learned, pulled into the ball."""
    certificate, model = result.estimator.certificate(), result.estimator
    bounds = []
    for U in (0.0 * model.last_weights_, model.last_weights_, model.average_weights_):
        norm = max(np.linalg.norm(U), 1e-300)
        bounds.append(result.regret_bound(U * min(1.0, certificate.radius / norm)))
    return min(bounds)


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("kind", [*ADVERSARIES, partial(LabelNoise, noise=1.0)])
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_bound_holds_against_every_adversary(name, dim, kind, optimizer):
    space = space_of(name, dim)
    n = rounds_of(name, kind)
    model = predictor(
        space=space,
        regularizer=PAIRS[name][1],
        optimizer=OPTIMIZERS[optimizer],
        average="polynomial",
    )
    result = play(model, kind(n_rounds=n, n_features=4, random_state=0), space, random_state=0)
    assert result.batch_size == 1 and len(result.expected_target_loss) == n
    assert result.estimator.t_ == n
    assert 0.0 < result.expected_target_loss.sum() <= smallest_bound(result)
    assert np.all(result.expected_target_loss <= math.log(2) * result.surrogate_loss + 1e-9)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
@pytest.mark.short(every=7)
def test_bound_with_high_probability_holds_in_every_run(name, dim):
    """It fails with probability at most δ = 0.05: never more than 23 times in 200 (p < 1e-4)."""
    if is_slow(name):
        pytest.skip("draws go through Python")
    space, seeds = space_of(name, dim), 20 if INTERPRETED else 200
    optimizer = GradientDescent(eta="high_probability")
    model = predictor(space=space, regularizer=PAIRS[name][1], optimizer=optimizer)
    result = play(model, LabelNoise(60, 4, noise=0.5, random_state=0), space)
    V, loss = encoded(result), result.estimator.loss_
    U = best_comparator(loss, result.rounds.X, V, result._certificate(0.05).quadratic, max_iter=40)
    bound = result.regret_bound(U, delta=0.05)
    again = predictor(space=result.estimator.space, regularizer=PAIRS[name][1], optimizer=optimizer)
    exceeded = 0
    for seed in range(seeds):
        run = progressive_validate(
            again, result.rounds.X, space.decode(V), random_state=seed, play="randomized"
        )
        exceeded += run.target_loss.sum() > bound
    assert exceeded <= 23


@pytest.mark.parametrize(("name", "dim"), SPACES)
def test_streams_have_unit_rows_and_outputs_of_the_space(name, dim):
    space = space_of(name, dim)
    for kind in OBLIVIOUS:
        X, y = kind(n_rounds=23, n_features=3, random_state=1).draw(space)
        assert X.shape == (23, 3)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
        np.testing.assert_array_equal(space.decode(space.encode(y)), y)


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_outputs_are_replaced_at_the_rate_of_the_noise(noise):
    space, n = space_of("hypercube-shannon", 3), 20_000
    stream = LabelNoise(n_rounds=n, noise=noise, random_state=0)
    X, y = stream.draw(space)
    replaced = (y != (X @ stream.model_.T > 0)).any(axis=1)
    rate = noise * 7 / 8  # one draw of eight is the same vertex
    assert abs(replaced.mean() - rate) <= 4 * math.sqrt(rate * (1 - rate) / n)
    if noise == 1.0:
        counts = np.bincount(y @ [1, 2, 4], minlength=8)
        assert np.all(np.abs(counts - n / 8) <= 5 * math.sqrt(n / 8))


def test_every_phase_has_a_model_of_its_own():
    space = space_of("simplex-shannon", 4)
    stream = Drifting(n_rounds=10, n_features=3, n_phases=4, random_state=0)
    X, y = stream.draw(space)
    phase = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    wanted = [np.argmax(stream.model_[k] @ x) for k, x in zip(phase, X, strict=True)]
    np.testing.assert_array_equal(y, wanted)
    assert len(np.unique(stream.model_)) == 4 * 4 * 3
    steady = Drifting(n_rounds=100, n_phases=1, random_state=0)
    X, y = steady.draw(space)
    np.testing.assert_array_equal(y, np.argmax(X @ steady.model_[0].T, axis=1))


@pytest.mark.parametrize(("name", "dim"), SPACES)
def test_separable_outputs_beat_all_others_by_the_margin(name, dim):
    space = space_of(name, dim)
    stream = Separable(n_rounds=15, n_features=3, margin=0.05, random_state=3)
    X, y = stream.draw(space)
    assert len(X) == 15
    assert np.linalg.norm(stream.model_) == pytest.approx(1.0)
    for x, v in zip(X, space.encode(y), strict=True):
        others = [u for u in space.vertices() if not np.array_equal(u, v)]
        assert len(others) == len(space.vertices()) - 1
        assert all((stream.model_ @ x) @ (v - u) >= 0.05 - 1e-12 for u in others)


def test_an_adversary_is_greedy():
    """No other answer would have cost more."""
    space = space_of("simplex-shannon", 3)
    n = 12 if INTERPRETED else 60
    result = play(predictor(), GreedyAdversary(n_rounds=n, random_state=0), space, 0)
    y = space.decode(encoded(result))
    assert set(y) == {0, 1, 2}
    assert result.expected_target_loss[0] == pytest.approx(2 / 3)  # zero weights: a uniform draw
    assert set(result.target_loss) <= {0.0, 1.0}
    for t in (1, n // 2, n - 1):
        learner = predictor().partial_fit(result.rounds.X[:t], y[:t], classes=[0, 1, 2])
        losses = learner.expected_target_loss(
            np.repeat(result.rounds.X[t : t + 1], 3, axis=0), [0, 1, 2]
        )
        assert result.expected_target_loss[t] == pytest.approx(losses.max())


class Growing(GreedyAdversary):
    """Rows that are longer, by one factor, than the row before."""

    def __init__(self, n_rounds, factor):
        super().__init__(n_rounds)
        self.factor = factor

    def features(self):
        length = self.factor ** np.arange(self.n_rounds)
        return length[:, None] * np.c_[np.ones(self.n_rounds), np.cos(np.arange(self.n_rounds))]


#: Optimisers with a theorem, told the longest of the rows where they must be; and those without.
CERTIFIED = [name for name in OPTIMIZERS if not name.startswith("pistol")]
OTHERS = {"pistol, bold": PiSTOL(), "pistol per coordinate, bold": PiSTOL(per_coordinate=True)}


@pytest.mark.parametrize("factor", [1.5, 5.0])
@pytest.mark.parametrize("optimizer", [*CERTIFIED, "pistol"])
@pytest.mark.parametrize(
    ("name", "dim"), [("simplex-squared", 2), ("simplex-shannon", 7), ("hypercube-squared", 3)]
)
def test_bound_holds_where_every_row_is_the_longest(name, dim, optimizer, factor):
    space, stream = space_of(name, dim), Growing(8 if INTERPRETED else 60, factor)
    C = math.hypot(1.0, np.linalg.norm(stream.features(), axis=1).max())
    learner = PiSTOL(a=2.25, feature_norm=C) if optimizer == "pistol" else OPTIMIZERS[optimizer]
    for intercept in (False, True):
        model = predictor(
            space, PAIRS[name][1], optimizer=learner, average="polynomial", fit_intercept=intercept
        )
        result = play(model, stream, space)
        bound = min(result.regret_bound(), smallest_bound(result))
        assert result.expected_target_loss.sum() <= bound
        assert np.all(result.expected_target_loss <= math.log(2) * result.surrogate_loss + 1e-9)


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, *OTHERS])
def test_an_adaptive_adversary_sees_the_weights_played(optimizer, average):
    """Its answers, played again in a stream, cost what it was told they would."""
    space, stream = space_of("simplex-shannon", 3), Growing(12 if INTERPRETED else 40, 1.3)
    model = predictor(optimizer=(OPTIMIZERS | OTHERS)[optimizer], average=average, space=space)
    result = play(model, stream, space)
    y = space.decode(encoded(result))
    again = progressive_validate(
        model, result.rounds.X, y, classes=space.classes_, play="randomized"
    )
    np.testing.assert_allclose(result.expected_target_loss, again.expected_target_loss, atol=1e-9)
    np.testing.assert_allclose(result.surrogate_loss, again.surrogate_loss, rtol=1e-9)
    np.testing.assert_allclose(result.estimator.coef_, again.estimator.coef_)


def test_one_may_bring_an_adaptive_adversary():
    class Kind(GreedyAdversary):
        def answer(self, losses):
            return int(np.argmin(losses))

    space, n = space_of("simplex-shannon", 3), 10 if INTERPRETED else 50
    results = [play(predictor(), one(n, random_state=0), space) for one in (Kind, GreedyAdversary)]
    kind, greedy = (result.expected_target_loss.sum() for result in results)
    assert kind < greedy


def test_the_learner_knows_classes_that_the_stream_does_not_show():
    stream = LabelNoise(n_rounds=2, noise=0.0, random_state=0)
    space = Simplex().fit(["a", "b", "c", "d"])
    learner = play(predictor(), stream, space).estimator
    assert learner.classes_.tolist() == ["a", "b", "c", "d"]
    assert learner.predict_proba(np.zeros((1, 5))).shape == (1, 4)
    space = OrdinalChain(categories=["low", "mid", "high"]).fit(["low", "high"])
    learner = play(predictor(), stream, space).estimator
    assert learner.classes_.tolist() == ["low", "mid", "high"]


@pytest.mark.parametrize("kind", [*ADVERSARIES, LowerBound])
def test_a_seed_fixes_stream_and_draws(kind):
    space = space_of("simplex-shannon", 3)

    def run(seed, draws):
        adversary = clone(kind(n_rounds=30)).set_params(random_state=seed)
        return play(predictor(), adversary, space, random_state=draws)

    first, same, redrawn, other = run(0, 1), run(0, 1), run(0, 2), run(1, 1)
    np.testing.assert_array_equal(first.target_loss, same.target_loss)
    np.testing.assert_array_equal(first.rounds.X, same.rounds.X)
    np.testing.assert_array_equal(encoded(first), encoded(redrawn))
    assert np.any(first.target_loss != redrawn.target_loss)
    assert np.any(encoded(first) != encoded(other))
    state = np.random.RandomState(0)
    assert np.any(encoded(run(state, 1)) != encoded(run(state, 1)))


@pytest.mark.parametrize("T", [2, 40, 1000])
@pytest.mark.parametrize("d", [2, 5])
def test_the_lower_bound_is_that_of_the_appendix(d, T):
    space = space_of("simplex-shannon", d)
    stream = LowerBound(n_rounds=T, random_state=0)
    X, y = stream.draw(space)
    M = X.shape[1] - 1
    B = max(math.sqrt(2) * math.log(d * T), math.hypot(math.log(d * T), math.log(2 * d)))
    assert 1 <= M < T
    assert M <= (B**2 - math.log(d * T) ** 2) / math.log(2 * d) ** 2 + 1e-9 < M + 1
    for t in range(T):
        np.testing.assert_array_equal(X[t], np.eye(M + 1)[min(t, M)])
        assert y[t] == y[min(t, M)]
        column = np.zeros(d)
        column[y[t]] = math.log(2 * d) if t < M else math.log(d * T)
        np.testing.assert_array_equal(stream.comparator_[:, min(t, M)], column)
    assert np.linalg.norm(stream.comparator_) <= B + 1e-9


def test_the_comparator_of_the_lower_bound_has_little_loss():
    d, T = 3, 60 if INTERPRETED else 500
    stream = LowerBound(n_rounds=T, radius=12.0, random_state=0)
    result = play(predictor(fit_intercept=False), stream, space_of("simplex-shannon", d))
    losses, M = result.comparator_loss(stream.comparator_), stream.comparator_.shape[1] - 1
    assert math.floor((144 - math.log(d * T) ** 2) / math.log(6) ** 2) == M
    np.testing.assert_allclose(losses[:M], -math.log2(2 * d / (3 * d - 1)))
    assert np.all(losses[M:] <= (1 - 1 / d) / (T * math.log(2)))
    np.testing.assert_allclose(result.expected_target_loss[: M + 1], 1 - 1 / d)  # nothing to learn
    least = (M + 1) * (1 - 1 / d) - losses.sum()
    assert stream.least_regret_ == pytest.approx(least)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("d", [2, 5])
def test_surrogate_regret_lies_between_the_lower_and_the_upper_bound(d, intercept):
    space, T, regrets = space_of("simplex-shannon", d), 150, []
    model = predictor(fit_intercept=intercept)
    for seed in range(3 if INTERPRETED else 30):
        stream = LowerBound(n_rounds=T, radius=15.0, random_state=seed)
        result = play(model, stream, space)
        U = np.pad(stream.comparator_, ((0, 0), (0, int(intercept))))
        regrets.append(result.surrogate_regret(U))
        assert result.expected_target_loss.sum() <= result.regret_bound(U)
        if not intercept:
            assert regrets[-1] >= stream.least_regret_ - 1e-9
    M = stream.comparator_.shape[1] - 1
    assert stream.least_regret_ >= 0.178 * M  # the Ω(M) of Theorem 5.2
    error = np.std(regrets) / math.sqrt(len(regrets))
    assert np.mean(regrets) >= stream.least_regret_ - 4 * error


@pytest.mark.parametrize(
    ("adversary", "message"),
    [
        *(
            (kind(**{size: value}), f"{size} must be an integer at least 1, got {value!r}")
            for kind in ADVERSARIES
            for size in ("n_rounds", "n_features")
            for value in (0, -3, 2.5, "many", None)
        ),
        *((LabelNoise(noise=p), rf"in \[0, 1\], got {p!r}") for p in (1.5, math.nan, "much")),
        (Separable(margin=0), "margin must be a positive number, got 0"),
        (Separable(margin=math.inf), "margin must be a positive number, got inf"),
        (Separable(margin=3.0), "margin=3.0 is too large: none of 20480 rows has it"),
        (Drifting(n_phases=0), "n_phases must be an integer from 1 to 1000, got 0"),
        (Drifting(n_rounds=5, n_phases=6), "n_phases must be an integer from 1 to 5, got 6"),
        (LowerBound(n_rounds=1), "n_rounds must be an integer at least 2, got 1"),
        (LowerBound(radius=3.0), r"radius must lie in \[8.20.*, got 3.0"),
        (LowerBound(radius=60.0), r"radius must lie in .* got 60.0"),
        (LowerBound(radius="big"), r"radius must lie in .* got 'big'"),
    ],
)
def test_bad_parameters_are_named(adversary, message):
    with pytest.raises(ValueError, match=message):
        play(predictor(), adversary, space_of("simplex-shannon", 3))


def test_bad_spaces_are_named():
    large = space_of("hypercube-shannon", 40)
    assert LabelNoise(n_rounds=5, noise=0.0).draw(large)[1].shape == (5, 40)
    with pytest.raises(ValueError, match="too many to list"):
        LabelNoise(n_rounds=50, noise=1.0).draw(large)
    with pytest.raises(ValueError, match="space must be a Simplex, got Hypercube"):
        LowerBound().draw(space_of("hypercube-shannon", 3))
    for space in ("simplex", Simplex()):
        with pytest.raises(NotFittedError, match="This Simplex does not know its size yet"):
            play(predictor(), LabelNoise(), space)
    with pytest.raises(NotFittedError, match="This Simplex does not know its size yet"):
        LabelNoise().draw(Simplex())
