"""Rounds over label sequences: losses and steps against literal forms, constants, bounds."""

import functools
import math
import warnings

import naive
import naive.sequences as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from selection import test_the_room_as_python  # noqa: F401
from streams import next_scores, words

import skstructured as sk
from benchmarks.adversaries import next_losses
from skstructured._base.ragged import Ragged
from skstructured._engine.state import LoopOption, RoundSummary
from skstructured._learners.predictions import Decoding
from skstructured.losses import FenchelYoung
from skstructured.regularizers import Shannon, SquaredNorm
from skstructured.sequences._decoding import SequenceLoss
from skstructured.sequences._model import mean_costs, norms, sizes
from skstructured.spaces.sequence import Chains, indicators

PLAIN = {"standardize": False, "shuffle": False, "max_iter": 1}
over_regularizers = pytest.mark.parametrize(
    "regularizer", ["shannon", pytest.param("squared", marks=pytest.mark.exhaustive)]
)


def learner(**given):
    return sk.OnlineStructuredPredictor("sequence", **PLAIN | given)


def learned(X, y, weight=None, **given):
    """A learner of one call."""
    return learner(**given).partial_fit(X, y, classes=range(3), sample_weight=weight)


def chains_of(theta, M, k=3):
    """Scores of an embedding as `Chains`."""
    pair = np.concatenate([theta[M * k :].reshape(M - 1, k, k), np.zeros((1, k, k))])
    return Chains(theta[: M * k].reshape(M, k), np.array([0, M]), pair)


def mostly_short():
    """Sequences of one label each, a few longer ones, and weights."""
    lengths = [2, 1, 2] + [1] * 120 + [5, 1, 6, 6]
    X, y = words(len(lengths), longest=7, seed=3)
    rng = np.random.RandomState(0)
    X = [x[:1].repeat(M, axis=0) + rng.randn(M, 4) for x, M in zip(X, lengths, strict=True)]
    y = [codes[:1].repeat(M) for codes, M in zip(y, lengths, strict=True)]
    weight = np.where(np.arange(len(X)) % 7 == 1, 0.0, 1.0 + np.arange(len(X)) % 2)
    return X, y, weight


class TestLoss:
    """Lemma 3.1, Prop. 2.3 and regularity, with the constants of every length."""

    @pytest.mark.interpreted
    @pytest.mark.parametrize("constants", ["paper", "sharp"])
    @pytest.mark.parametrize("regularizer", ["shannon", "squared"])
    @pytest.mark.parametrize("M", [1, 2, 3])
    def test_inequalities_of_the_theory(self, M, regularizer, constants):
        space = sk.spaces.LabelSequence().fit([["a", "b", "c"]])
        kind = {"shannon": Shannon, "squared": SquaredNorm}[regularizer]()
        loss = SequenceLoss(space, kind, "theory", constants, (M,))
        k, V = loss.constants_of(), space.vertices(M)
        wide = 2 * M - 1
        flat = 1.0 if regularizer == "squared" else wide if constants == "sharp" else wide**2
        rng = np.random.RandomState(M)
        for scale in (0.1, 1.0, 5.0, 30.0):
            theta = chains_of(scale * rng.randn(V.shape[1]), M)
            codes = Ragged(rng.randint(3, size=M), [0, M])
            value = loss.value(theta, codes)[0]
            decoding = Decoding(theta, loss, sk.decoders.Randomized())
            assert decoding.expected_loss(codes)[0] <= (1.0 - k.a) * value + 1e-9
            apart = decoding.mu.less(indicators(codes, 3))
            assert k.c**2 * apart.sizes(2)[0] <= k.smoothness * flat * value + 1e-9

    @pytest.mark.interpreted
    @pytest.mark.parametrize("M", [1, 2, 4])
    def test_equals_enumeration(self, M):
        space = sk.spaces.LabelSequence().fit([["a", "b", "c"]])
        loss, V = SequenceLoss(space, Shannon(), 1.0), space.vertices(M)
        rng = np.random.RandomState(M)
        vector, codes = rng.randn(V.shape[1]), rng.randint(3, size=M)
        theta, truth = chains_of(vector, M), Ragged(codes, [0, M])
        wanted = literal.loss(vector, V, literal.embedding(codes, 3))
        np.testing.assert_allclose(loss.value(theta, truth), wanted, rtol=1e-12)
        z = V @ vector
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        decoding = Decoding(theta, loss, sk.decoders.Randomized())
        losses = (V[:, : M * 3].reshape(-1, M, 3)[:, np.arange(M), codes] == 0).mean(axis=1)
        anchor = literal.embedding(decoding.anchor().values, 3)
        distance = np.abs(anchor - p @ V).sum()
        chance = min(1.0, 2.0 * distance / (4.0 if M > 1 else 2.0))
        sure = np.mean(decoding.anchor().values != codes)
        wanted = (1.0 - chance) * sure + chance * (p @ losses)
        np.testing.assert_allclose(decoding.expected_loss(truth), wanted, atol=1e-12)


class TestAgainstLiteral:
    def compare(self, result, learner, given, average="polynomial"):
        wanted, found = literal.learn([learner], *given, average=average), result.estimator
        last, mean, close = wanted.weights[-1, 0].T, wanted.means[0].T, (1e-9, 1e-10)
        np.testing.assert_allclose(found.last_weights_, last, *close)
        np.testing.assert_allclose(found.average_weights_, mean, *close)
        np.testing.assert_allclose(result.surrogate_loss, 4.0 * wanted.losses[:, 0], *close)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("kind", ["dense", "csr"])
    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("average", [True, "polynomial", "uniform"])
    def test_descent(self, average, intercept, kind):
        X, y = words()
        rows = X if kind == "dense" else [sparse.csr_matrix(x) for x in X]
        optimizer = sk.optimizers.GradientDescent(eta=0.1)
        given = {"loss": FenchelYoung(scale=4.0), "fit_intercept": intercept, "average": average}
        result = sk.evaluation.progressive_validate(
            learner(optimizer=optimizer, **given), rows, y, play="randomized"
        )
        literal_one = naive.Descent((X[0].shape[1] + intercept + 5, 3), lambda sq: 0.4)
        self.compare(result, literal_one, (X, y, 3, None, intercept), average)

    @pytest.mark.parametrize("by_ratio", [False, True])
    def test_unusually_long_sequences(self, by_ratio):
        """They are learned with the weight of the longest usual ones, and are in certificates."""
        X, y, weight = mostly_short()
        kind, given = sk.optimizers.GradientDescent(eta=0.1), {"loss": FenchelYoung(scale=40.0)}
        one = naive.Descent((X[0].shape[1] + 6, 3), lambda sq: 4.0)
        if not by_ratio:
            kind = sk.optimizers.PiSTOL(a=0.5, b=2.0)
            one = naive.PiSTOL((X[0].shape[1] + 6, 3), 1.0, 0.5, 2.0)
        model, lengths = learner(optimizer=kind, average="uniform", **given), list(map(len, X))
        model.partial_fit(X, y, classes=range(3), sample_weight=weight)

        def reach(M):
            return M * (2.0 * M - 1.0) ** 2 if by_ratio else M

        learned_with = naive.rounds.usual_weights(lengths, weight, reach)
        wanted = literal.learn([one], X, y, 3, learned_with, average="uniform")
        np.testing.assert_allclose(model.last_weights_, wanted.weights[-1, 0].T, 1e-9, 1e-10)
        np.testing.assert_allclose(model.average_weights_, wanted.means[0].T, 1e-9, 1e-10)
        left_out = (weight - learned_with).sum()
        numbers = model.model_.state.numbers
        assert numbers[RoundSummary.LEFT_OUT] == pytest.approx(left_out) and left_out > 3.0

    @pytest.mark.interpreted
    def test_pistol(self):
        X, y = words()
        pistol = sk.optimizers.PiSTOL(a=0.5, b=2.0)
        model = learner(optimizer=pistol, loss=FenchelYoung(scale=4.0))
        result = sk.evaluation.progressive_validate(model, X, y, play="randomized")
        self.compare(result, naive.PiSTOL((X[0].shape[1] + 6, 3), 1.0, 0.5, 2.0), (X, y, 3))

    @pytest.mark.interpreted
    @pytest.mark.parametrize("long", [1, 40, 70])
    def test_bounds_on_gradients_hold_for_sequences_of_any_length(self, long):
        rng = np.random.RandomState(0)
        X = rng.randn(long, 3) + 1.0
        Z = np.hstack([X, np.ones((long, 1)), np.eye(long)[:, :1], np.eye(long)[:, -1:]])
        empty = np.empty(0, dtype=np.int32)
        bound, squares = norms(X.ravel(), empty, empty, 3, 0, long, 1)
        np.testing.assert_allclose(squares, (Z**2).sum())
        for signs in (np.ones(long), np.sign(rng.randn(long))):
            assert np.linalg.norm(signs @ Z) <= bound * (1.0 + 1e-12)


class TestGuarantees:
    OPTIMIZERS = {
        "ogd": sk.optimizers.GradientDescent(),
        "high probability": sk.optimizers.GradientDescent(eta="high_probability"),
        "adaptive": sk.optimizers.AdaptiveGradientDescent(2.0),
        "parameter_free": sk.optimizers.ParameterFree(wealth=1.0),
        "pistol": sk.optimizers.PiSTOL(a=2.25, feature_norm=50.0),
    }

    @staticmethod
    def comparators(model, X, y):
        """Losses ΣS(U) and norms of what was learned, stretched, and of 0."""
        W = model.last_weights_.T
        for factor in (0.0, 0.3, 1.0, 3.0):
            total = 0.0
            for x, codes in zip(X, y, strict=True):
                V, theta = literal.vertices(len(x), 3), literal.scores(factor * W, x, True)
                total += literal.loss(theta, V, literal.embedding(codes, 3))
            yield model.loss_.scale_ * total, factor * np.linalg.norm(W)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("kind", ["learnable", "noise", "growing"])
    @pytest.mark.parametrize("name", OPTIMIZERS)
    def test_losses_stay_below_every_certificate(self, name, kind):
        X, y = words(longest=3)
        rng = np.random.RandomState(1)
        if kind == "noise":
            y = [rng.randint(3, size=len(codes)) for codes in y]
        if kind == "growing":
            X = [x * 10.0 ** (2.0 * i / len(X) - 2.0) for i, x in enumerate(X)]
        y[0] = np.array([0, 1, 2])
        X[0] = X[0][:1].repeat(3, axis=0)
        result = sk.evaluation.progressive_validate(
            learner(optimizer=self.OPTIMIZERS[name]), X, y, play="randomized"
        )
        certificate = result.estimator.certificate()
        for losses, norm in self.comparators(result.estimator, X, y):
            if norm <= certificate.radius:
                assert result.expected_target_loss.sum() <= certificate.bound(losses, norm)
        if name != "high probability":
            assert certificate.bound(0.0, 0.0) < 1e6

    @pytest.mark.parametrize("name", ["ogd", "adaptive", "parameter_free", "mixture"])
    def test_unusually_long_sequences_are_in_certificates(self, name):
        """By what they were not learned with, as their losses are at most 1."""
        X, y, _ = mostly_short()
        rng = np.random.RandomState(1)
        y = [rng.randint(3, size=len(codes)) for codes in y]
        given = {"optimizer": self.OPTIMIZERS.get(name, name)}
        result = sk.evaluation.progressive_validate(learner(**given), X, y, play="randomized")
        model = result.estimator
        certificate, lengths = model.certificate(), np.array(list(map(len, X)))
        for losses, norm in self.comparators(model, X, y):
            if norm <= certificate.radius:
                assert result.expected_target_loss.sum() <= certificate.bound(losses, norm)
        flat = (2.0 * lengths - 1.0) ** 2 if name == "ogd" else 1.0
        reach = dict(zip(lengths, lengths * flat, strict=True)).get
        learned_with = naive.rounds.usual_weights(lengths, np.ones(len(X)), reach)
        left_out = certificate.constants.pop("left_out")
        assert left_out == pytest.approx((1.0 - learned_with).sum())
        norm = min(1.0, certificate.radius)
        certificate.constants["left_out"] = left_out
        with_it = certificate.regret(norm)
        certificate.constants["left_out"] = 0.0
        assert with_it == pytest.approx(certificate.regret(norm) + left_out)
        if name == "mixture":
            without = certificate.bound_of_experts()
            certificate.constants["left_out"] = left_out
            assert certificate.bound_of_experts() == pytest.approx(without + left_out)

    @pytest.mark.parametrize("name", ["ogd", "parameter_free"])
    def test_against_a_greedy_adversary(self, name):
        """Every answer is the label sequence on which the next play is expected to lose most."""
        every = np.indices((3, 3)).reshape(2, -1).T
        X = np.random.RandomState(0).randn(12 if INTERPRETED else 40, 2, 3)
        model, lost, answers = learner(optimizer=self.OPTIMIZERS[name]), 0.0, []
        model.begin(list(X[:9]), list(every))
        for x in X:
            losses = next_losses(model, model.resume([x] * len(every), list(every)))
            answers.append(int(np.argmax(losses)))
            lost += losses.max()
            model.partial_fit([x], every[answers[-1:]])
        for losses, norm in self.comparators(model, X, every[answers]):
            assert lost <= model.certificate().bound(losses, norm)

    def test_what_voids_a_theorem_is_refused(self):
        X, y = words()
        for given, message in (
            ({"decoder": "map"}, "use decoder=.randomized."),
            ({"optimizer": sk.optimizers.GradientDescent(eta=0.1)}, "give FenchelYoung"),
            ({"loss": FenchelYoung(scale=1.5)}, "until the surrogate gap .* is positive"),
        ):
            with pytest.raises(sk.GuaranteeError, match=message):
                learner(**given).fit(X, y).certificate()
        with pytest.raises(sk.GuaranteeError, match=r"certificate\(\)\.bound"):
            sk.evaluation.progressive_validate(learner(), X, y, play="randomized").regret_bound()

    @pytest.mark.interpreted
    @pytest.mark.parametrize("constants", ["paper", "sharp"])
    @pytest.mark.parametrize("kind", ["shannon", "squared"])
    @pytest.mark.parametrize("lengths", [(1, 20), (20, 1), (3, 7, 2)])
    def test_the_step_stated_is_the_step_in_use(self, kind, lengths, constants):
        """It is that of sequences of length 1; with a number as scale it may be too large."""
        rng = np.random.RandomState(0)
        X, y = [rng.randn(M, 2) for M in lengths], [np.arange(M) % 2 for M in lengths]
        space = sk.spaces.LabelSequence().fit(y)
        for scale in ("theory", 1.0, 4.0, 50.0, 2000.0):
            given = {"regularizer": kind, "loss": FenchelYoung(scale=scale, constants=constants)}
            model = sk.OnlineStructuredPredictor("sequence", optimizer="ogd", **given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sk.GuaranteeWarning)
                model.partial_fit(X, y, classes=[0, 1])
            shared = (space, model.loss_.regularizer, scale, constants)
            alone = SequenceLoss(*shared).constants_of().a
            a = SequenceLoss(*shared, (min(lengths), max(lengths))).constants_of().a
            m = min(0.5, alone) if alone > 0 else 0.5
            if a <= 0 or m > a + 1e-12:
                with pytest.raises(sk.GuaranteeError, match="until the surrogate gap|too large"):
                    model.certificate()
            else:
                found, b = model.certificate(), model.certificate().constants["b"]
                assert found.constants["m"] == pytest.approx(m)
                assert found.quadratic == pytest.approx((1 - a) * b / (4 * (1 - m) * m))


def norms_told(X, intercept):
    """2(Σ_{m,m'} |<x_m, x_m'>| + (M − 1)²), and C² = max(Σ‖x_m‖², M − 1), of a sequence.

    A position has an intercept's 1, the first and the last one an indicator each besides.
    """
    products = X @ X.T + intercept
    products[0, 0] += 1.0
    products[-1, -1] += 1.0
    steps = len(X) - 1
    return 2.0 * (np.abs(products).sum() + steps**2), max(np.trace(products), steps)


@pytest.mark.interpreted
@over_regularizers
@pytest.mark.parametrize(("shortest", "longest"), [(1, 1), (1, 2), (1, 7), (2, 3), (3, 9)])
def test_the_scale_is_what_every_length_needs(regularizer, shortest, longest):
    """c = max over the lengths there are of 4γ/(λν ln 2), λ = 1/(2M − 1)² or 1."""
    space = sk.spaces.LabelSequence().fit([["a", "b", "a"]])
    needed = []
    for M in range(shortest, longest + 1):
        nu, _, gamma = space.geometry("l2" if regularizer == "squared" else "l1", length=M)
        needed.append(4 * gamma / nu * (1 if regularizer == "squared" else (2 * M - 1) ** 2))
    kind = {"shannon": Shannon(), "squared": SquaredNorm()}[regularizer]
    given = SequenceLoss(space, kind, sizes=(shortest, longest))
    assert given.scale_ == pytest.approx(max(needed) / np.log(2), rel=1e-12)
    assert given.constants_of().a >= 1 - np.log(2) - 1e-12


@pytest.mark.interpreted
@pytest.mark.parametrize("fit_intercept", [True, False])
@over_regularizers
@pytest.mark.parametrize("optimizer", ["ogd", "parameter_free"])
@pytest.mark.parametrize("weight", [[1, 1, 1, 1], [0.25, 0, 0.5, 0.1], [3, 7, 0.2, 1]])
def test_the_largest_norm_and_ratio_are_weighted(weight, optimizer, regularizer, fit_intercept):
    X, y = words(4)
    given = {"regularizer": regularizer, "average": False, "fit_intercept": fit_intercept}
    model = learned(X, y, np.array(weight, dtype=float), optimizer=optimizer, **given)
    told = [norms_told(x, float(fit_intercept)) for x in X]
    flat = [1.0 if regularizer == "squared" else (2.0 * len(x) - 1) ** 2 for x in X]
    ratios = [w * square * f for w, (_, square), f in zip(weight, told, flat, strict=True)]
    assert model.model_.state.which[0] == (optimizer == "ogd")
    norms = [w * norm for w, (norm, _) in zip(weight, told, strict=True)]
    numbers = model.model_.state.numbers
    assert numbers[RoundSummary.LARGEST_SQ] == pytest.approx(max(norms), rel=1e-12)
    assert numbers[RoundSummary.LARGEST_RATIO] == pytest.approx(max(ratios), rel=1e-12)


@pytest.mark.interpreted
def test_steps_count_where_features_are_small():
    """C² is M − 1 at the least: the steps between positions have no features."""
    data = np.full(9, 1e-3)
    rows = data, np.zeros(9, np.int32), np.arange(10, dtype=np.int32), 1
    for M in (1, 2, 3, 5, 9):
        _, ratio = sizes(*rows, 0, M, np.array([*[0] * len(LoopOption), 0, 1, 0]))
        assert ratio == pytest.approx(max(2.0 + M * 1e-6, M - 1.0), rel=1e-12)


@pytest.mark.interpreted
def test_the_cost_is_that_of_the_least_risk_where_the_label_is_true():
    costs = np.array([[0.0, 0.2, 0.9], [1.0, 0.0, 0.4], [0.3, 0.6, 0.0]])  # [answer, truth]
    labels = np.array([0, 1, 2, 2])
    means = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.2, 0.3]])
    answers = [min(range(3), key=lambda i: costs[i] @ mu) for mu in means]
    assert answers != means.argmax(axis=1).tolist()
    wanted = np.mean(costs[answers, labels])
    found = mean_costs(means - np.eye(3)[labels], Ragged(labels, np.array([0, 4])), costs)
    assert found == pytest.approx([wanted], rel=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_after_a_sequence_that_stops_the_others_alone_are_counted():
    """Means and deviations are those of the sequences before it, bit for bit."""
    X, y = words(7, seed=6)
    given = {
        "optimizer": sk.optimizers.GradientDescent(eta=5e306),
        "standardize": True,
        "average": False,
    }
    stopped, plain = (learned(X[:1], y[:1], None, **given) for _ in range(2))
    with pytest.raises(ValueError, match="The scores of sequence .* of X are not finite"):
        stopped.partial_fit(X[1:], y[1:])
    n = stopped.t_
    assert 1 < n < len(X) - 1
    plain.partial_fit(X[1:n], y[1:n])
    assert plain.t_ == n
    one, other = (vars(model._scale) for model in (stopped, plain))
    assert set(one) == set(other)
    for name, value in one.items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(other[name]), err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("k", "M"), [(14, 5), (15, 5), (26, 5), (40, 3), (10, 40)])
def test_squared_moves_labels_never_seen_alike(k, M):
    """Nothing tells them apart; the first gradient is a mean over hundreds of sequences."""
    if INTERPRETED:
        k, M = min(k, 15), min(M, 5)
    seen, steps = np.arange(M) % 5, np.ones((M, 1))
    model = learner(regularizer="squared", optimizer="ogd", fit_intercept=False)
    model.partial_fit([steps], [seen], classes=range(k)).partial_fit([steps], [seen])
    between, size = model.transitions_, 1e-11 * np.abs(model.transitions_).max()
    for apart in (np.ptp(between[5:], axis=0), np.ptp(between[:, 5:], axis=1)):
        assert apart.max() <= size
    assert np.ptp(between[5:, 5:]) <= size and model.certificate().bound(1.0, 1.0) > 0


def test_projections_that_were_not_found_void_the_certificate():
    model = learned([np.ones((3, 1))], [[0, 1, 0]], regularizer="squared", optimizer="ogd")
    model.certificate()
    model.model_.state.numbers[RoundSummary.LEFT] = 1e-5
    with pytest.raises(sk.GuaranteeError, match="off by 1e-05"):
        model.certificate()
    with pytest.warns(sk.GuaranteeWarning, match="off by 1e-05"):
        model.partial_fit([np.ones((3, 1))], [[0, 1, 0]])


def test_the_mixture_loses_no_more_than_any_expert_and_the_overhead():
    """Labels are chosen against what is played; the overhead is its literal formula."""
    (X, _), total = words(20 if INTERPRETED else 200), 0.0
    y = [np.zeros(len(x), dtype=int) for x in X]
    model = learned(X[:1], y[:1], optimizer="mixture")
    first = model.expert_losses_
    for t in range(1, len(X)):
        theta = next_scores(model, X[t : t + 1], y[t : t + 1])
        if t % 5:
            y[t] = np.argmin(theta.unary, axis=1)
        truth = Ragged.from_lengths(y[t], [len(X[t])])
        total += model.loss_.value(theta, truth)[0] / model.loss_.scale_
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    state, found, loss = model.model_.state, model.certificate(), model.model_.certified_loss()
    _, rates, experts = state.shares.shape
    overhead = state.totals[2] * (2.0 + 3.8 / math.log(rates * experts))
    assert found.constants["overhead"] == pytest.approx(overhead) and experts == 14
    least = (model.expert_losses_ - first).min()
    assert least - overhead < total <= least + overhead
    alone = learned(X, y, optimizer="parameter_free").certificate()
    price = (1.0 - loss.constants_of().a) * loss.scale_ * overhead
    for norm in (0.0, 2.0):
        assert found.regret(norm) == pytest.approx(alone.regret(norm) + price)


def test_streams_of_sequences_mix_steps_and_passes_do_not():
    X, y = words()
    stream = learned(X, y, optimizer="auto")
    assert stream.expert_names_[6] == "ParameterFree(wealth=10000.0)"
    assert len(stream.expert_names_) == len(stream.expert_weights_) == 14
    assert "RelativeStep(eta=256.0)" in stream.expert_names_
    passes = learner(optimizer="auto", max_iter=2).fit(X, y)
    assert isinstance(passes.optimizer_, sk.optimizers.ParameterFree)
    with pytest.raises(AttributeError, match="Experts are set by"):
        _ = passes.expert_weights_


def sentences(n, long=0, seed=0, k=10, per_label=60):
    """Short sentences, and one of `long` tokens: indicators of words, most of one label each."""
    rng = np.random.RandomState(seed)
    T = np.random.RandomState(7).dirichlet(np.full(k, 0.2), size=k)
    frequent = 1.0 / np.arange(1, per_label + 1)
    lengths = np.clip(np.exp(rng.normal(2.3, 0.5, n)).astype(int), 3, 30)
    X, y = [], []
    for M in [*lengths, long] if long else lengths:
        codes = [rng.randint(k)]
        codes += [0] * (M - 1)
        for m in range(1, M):
            codes[m] = rng.choice(k, p=T[codes[m - 1]])
        own = np.where(rng.rand(M) < 0.04, k, codes)
        word = own * per_label + rng.choice(per_label, size=M, p=frequent / frequent.sum())
        columns = np.column_stack([word, word[np.r_[0, : M - 1]] + (k + 1) * per_label])
        arrays = (np.ones(2 * M), columns.ravel(), np.arange(0, 2 * M + 1, 2))
        X.append(sparse.csr_matrix(arrays, shape=(M, 2 * (k + 1) * per_label)))
        y.append(np.array(codes))
    return X, y


LONG = {"mixture": 0.85, "parameter_free": 0.85, "adaptive": 0.8, "pistol": 0.7, "ogd": 0.0}


@pytest.mark.skipif(INTERPRETED, reason="sequences of thousands of tokens need compiled loops")
class TestOneLongSequence:
    """It costs the others at most half a percentage point, wherever it stands."""

    @staticmethod
    @functools.cache
    def data(n):
        """Sentences, and a long one, which are slow to make."""
        return sentences(n + 700, seed=1), sentences(0, 2400, seed=5)

    @classmethod
    def accuracies(cls, make, n, places=("none", "last")):
        (X, y), (long, labels) = cls.data(n)
        train = {
            "none": (X[:n], y[:n]),
            "first": (long + X[:n], labels + y[:n]),
            "last": (X[:n] + long, y[:n] + labels),
        }
        return [make().fit(*train[place]).score(X[n:], y[n:]) for place in places]

    @pytest.mark.parametrize(
        ("n", "passes"), [(300, 3), (300, 5), (300, 10), (300, "auto"), (1000, 3), (1000, 10)]
    )
    @pytest.mark.parametrize(
        "optimizer", [*list(LONG)[1:], pytest.param("mixture", marks=pytest.mark.slow)]
    )
    def test_passes(self, optimizer, n, passes):
        given = {"optimizer": optimizer, "max_iter": passes, "random_state": 0}
        without, with_it = self.accuracies(lambda: learner(**given | {"shuffle": True}), n)
        assert without >= LONG[optimizer]
        assert with_it >= without - 0.005

    @pytest.mark.parametrize("optimizer", LONG)
    def test_many_passes_in_any_order(self, optimizer):
        given = {"optimizer": optimizer, "max_iter": 40}
        places = "none", "first", "last"
        without, *found = self.accuracies(lambda: learner(**given), 300, places)
        assert min(found) >= without - 0.005

    @pytest.mark.parametrize("n", [300, 1000])
    def test_structured_predictor(self, n):
        without, with_it = self.accuracies(
            lambda: sk.StructuredPredictor("sequence", random_state=0), n
        )
        assert without >= 0.85
        assert with_it >= without - 0.005
