"""Orders of the papers as numbers: literal formulas, and what is realized stays below them."""

import math

import numpy as np
import pytest
from naive.logistic import folklore_kappa
from plain import predictor

import skstructured as sk
from skstructured import GuaranteeError
from skstructured.guarantees import CoinBettingCertificate, gap_constants, separable_risk
from skstructured.losses import FenchelYoung
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
    StepMixture,
)
from skstructured.spaces import Hypercube, Permutahedron, Simplex

DELTA = 0.05


def smaller_gap(a):
    """The gap of bounds with probability 1 − δ."""
    return 1 - (1 - a) * (math.exp(a) - 1) / a


@pytest.mark.parametrize("a", [1e-3, 0.1, 1 - math.log(2), 0.5, 0.7, 0.99])
def test_the_gap_with_probability_is_at_least_half(a):
    loss = FenchelYoung(Simplex().fit([0, 1]), scale=1 / (1 - a))
    k = gap_constants(loss, 2.0, DELTA)
    assert k["a"] == pytest.approx(smaller_gap(a)) and a / 2 <= k["a"] <= a
    assert k["deviation"] == pytest.approx(0.5 * 2.0 * math.log(1 / DELTA) / a)
    assert "deviation" not in gap_constants(loss, 2.0)


@pytest.mark.parametrize("mean", [3.0, 30.0, 300.0])
def test_the_deviation_of_drawn_losses_fails_rarely_and_is_of_their_size(mean, rng):
    """ΣL ≤ (e^a − 1)/a Σ E[L] + ln(1/δ)/a; the (1 − δ)-quantile is more than a quarter of it."""
    a = 1 - math.log(2)
    drawn = rng.binomial(1000, mean / 1000, size=4000)
    bound = (math.exp(a) - 1) / a * mean + math.log(1 / DELTA) / a
    assert np.mean(drawn > bound) <= DELTA
    assert np.quantile(drawn, 1 - DELTA) > bound / 4


def literal_regret(name, k, norm, unit):
    """Regrets with the gap a' in the place of a."""
    a = smaller_gap(k["a"])
    if name == "adaptive":
        m = min(0.5, a)
        return (1 - a) * k["b"] * k["B"] ** 2 / (2 * (1 - m) * m)
    if name == "small step":
        return (1 - a) * 2 / 0.01 / (4 * (1 - k["m"])) * norm**2
    if name == "pistol":
        return (1 - a) / (1 - k["a"]) * unit
    return CoinBettingCertificate(k | {"a": a}).regret(norm)


OPTIMIZERS = {
    "adaptive": AdaptiveGradientDescent(3.0),
    "coin betting": ParameterFree(),
    "pistol": PiSTOL(a=2.5, feature_norm=20.0),
    "small step": GradientDescent(eta=0.01),
}


@pytest.mark.parametrize("heaviest", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_bounds_of_other_optimizers_with_high_probability(name, heaviest, rng):
    """Theorem 4.3 for each, with the largest weight of a round; and not below what was drawn."""
    X, y, weight = rng.randn(60, 3), rng.randint(3, size=60), np.ones(60)
    weight[7] = heaviest
    model = predictor(optimizer=OPTIMIZERS[name])
    for row in range(60):  # one row has a fast path
        model.partial_fit(X[[row]], y[[row]], classes=[0, 1, 2], sample_weight=weight[[row]])
    known, certificate = model.certificate(), model.certificate(DELTA)
    k = known.constants
    deviation = max(heaviest, 1.0) * 0.5 * 2.0 * math.log(1 / DELTA) / k["a"]
    for norm in (0.0, 0.5, 2.0):
        wanted = literal_regret(name, k, norm, known.regret(norm)) + deviation
        assert certificate.regret(norm) == pytest.approx(wanted)
        assert certificate.regret(norm) > known.regret(norm)


def test_a_mixture_has_the_best_bound_of_its_experts_with_high_probability(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    model = predictor(optimizer=StepMixture()).partial_fit(X, y, classes=[0, 1, 2])
    known, certificate = model.certificate(), model.certificate(DELTA)
    k, a = known.constants, smaller_gap(known.constants["a"])
    deviation = math.log(1 / DELTA) / k["a"]
    for norm in (0.1, 2.0):
        each = [
            CoinBettingCertificate(part.constants | {"a": a}).regret(norm)
            for part in known.certificates
            if isinstance(part, CoinBettingCertificate)
        ]
        wanted = min(each) + (1 - a) * k["c"] * k["overhead"] + deviation
        assert certificate.regret(norm) == pytest.approx(wanted)
    losses = (1 - a) * k["c"] * (min(known.losses.values()) + k["overhead"])
    assert certificate.bound_of_experts() == pytest.approx(losses + deviation)


def test_losses_that_are_not_drawn_have_no_probability(rng):
    X, y = rng.randn(30, 3), rng.randint(2, size=30)
    model = sk.PiSTOLClassifier(optimizer=PiSTOL(2.5, feature_norm=20.0)).partial_fit(X, y, [0, 1])
    assert model.certificate().regret(1.0) > 0.0
    with pytest.raises(GuaranteeError, match="are not drawn"):
        model.certificate(DELTA)


def orders_of(y):
    """All rankings that keep the order of items that are not tied."""
    every, m = Permutahedron().fit(y[None]).vertices(), range(len(y))
    kept = [all(v[i] < v[j] for i in m for j in m if y[i] < y[j]) for v in every]
    return every[kept]


TIES = [[1.5, 1.5, 3.0], [2.0, 2.0, 2.0], [1.0, 2.5, 2.5], [1.0, 2.0, 3.0], [1.5, 1.5, 3.5, 3.5]]


@pytest.mark.parametrize("y", TIES, ids=str)
@pytest.mark.parametrize("c", ["theory", 4.0])
def test_lemma_3_1_needs_the_price_of_ties(y, c):
    """It holds for means of both losses over the orders; near a tie not for the losses alone."""
    y = np.array(y)
    loss, orders = FenchelYoung(Permutahedron().fit(y[None]), scale=c), orders_of(y)
    model = sk.OnlineStructuredPredictor(
        "permutahedron", loss=FenchelYoung(scale=c), optimizer="ogd", standardize=False
    )
    model.partial_fit(np.ones((2, 1)), np.tile(y, (2, 1)), sample_weight=[1.0, 0.5])
    price = model.certificate().constants.get("left_out", 0.0) / 1.5
    inside, k = y - np.mean(y), loss.constants_of()
    fails = False
    for r in (1.0, 0.3, 0.01, 1e-4):
        theta = (y - r * inside)[None]
        plays, shares = loss.space.decompose(loss.mean(theta)[0])
        assert np.allclose(shares @ plays, loss.mean(theta)[0])
        expected = sk.decoders.Randomized().expected_loss(theta, loss.mean(theta), y[None], loss)[0]
        many = np.repeat(theta, len(orders), axis=0)
        mean = sk.decoders.Randomized().expected_loss(many, loss.mean(many), orders, loss).mean()
        surrogate = loss.value(many, orders).mean()
        assert mean <= (1 - k.a) * surrogate + 1e-12
        own = loss.value(theta, y[None])[0]
        assert price == pytest.approx((surrogate - own) - (mean - expected), abs=1e-12)
        fails |= expected > 10 * (1 - k.a) * own + 1e-12
    assert fails == (len(orders) > 1 and np.any(inside))
    assert (price > 0) == (len(orders) > 1)


@pytest.mark.parametrize("optimizer", ["ogd", "adaptive", "parameter_free", "mixture"])
def test_every_bound_adds_the_price_of_ties(optimizer, rng):
    """As many rows at once as one by one, and by kernels; of full rankings nothing."""
    X, y = rng.randn(20, 3), np.array(TIES[:4])[rng.randint(4, size=20)]
    model = sk.OnlineStructuredPredictor("permutahedron", optimizer=optimizer, standardize=False)
    rowwise = sk.OnlineStructuredPredictor("permutahedron", optimizer=optimizer, standardize=False)
    model.partial_fit(X, y)
    for row in range(20):
        rowwise.partial_fit(X[[row]], y[[row]])
    certificate = model.certificate()
    spread = 2.0 - ((y - 2.0) ** 2).sum(axis=1)  # the squared distance of an order from y
    c = certificate.constants["c"]
    assert certificate.constants["left_out"] == pytest.approx((spread * (c - 0.5) / 2).sum())
    left_out = rowwise.certificate().constants["left_out"]
    assert left_out == pytest.approx(certificate.constants["left_out"])
    kernels = sk.KernelStructuredPredictor("permutahedron", optimizer="ogd", standardize=False)
    assert kernels.partial_fit(X, y).certificate().constants["left_out"] == pytest.approx(left_out)
    without = dict(certificate.constants)
    without.pop("left_out")
    whole, certificate.constants = certificate.regret(0.5), without
    assert whole - certificate.regret(0.5) == pytest.approx(left_out)
    full = rng.rand(20, 3).argsort(axis=1) + 1
    model = sk.OnlineStructuredPredictor("permutahedron", optimizer=optimizer).partial_fit(X, full)
    assert "left_out" not in model.certificate().constants


def folklore(B, **given):
    given = {"feature_norm": 1.0, "standardize": False, "fit_intercept": False} | given
    return sk.FolkloreClassifier(radius=B, **given)


@pytest.mark.parametrize(("K", "p", "B", "alpha"), [(2, 1, 2.0, None), (3, 4, 0.5, 3.0)])
def test_the_excess_risk_of_folklore_is_its_formula(K, p, B, alpha, rng):
    X = rng.randn(30, p)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    for decoder, unit in (("map", math.log(2)), ("sampled", 1.0)):
        model = folklore(B, alpha=alpha, decoder=decoder).fit(X, np.arange(30) % K)
        certificate, lam = model.certificate(), 2.0 / B if alpha is None else alpha
        kappa = folklore_kappa(B, 1.0, K)
        rho = kappa / (2 * lam)
        log = math.log1p(kappa * 30 / (K * p * lam * (1 - rho)))
        wanted = (lam * K * B**2 + (K - 1) * p / (4 * kappa) * log) / 30
        assert certificate.constants["excess_risk"] == pytest.approx(wanted / unit)
        assert certificate.offset + lam * K * B**2 / unit <= 30 * wanted / unit
    weak = folklore(B, alpha=kappa / 2.1).fit(X, np.arange(30) % K)
    assert weak.certificate().constants["excess_risk"] == math.inf
    unknown = folklore(B, feature_norm=None).fit(X, np.arange(30) % K)
    assert "excess_risk" not in unknown.certificate().constants


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_folklore_stopped_at_a_random_time_is_below_its_excess_risk(share):
    """Two classes, x = 1: exact risks after 0, …, T − 1 rows. The bound is within 30 times."""
    T, runs, B, one = 40, 12, 2.0, np.ones((1, 1))
    best = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    excess = []
    for seed in range(runs):
        y = (np.random.RandomState(seed).random_sample(T) < share).astype(int)
        model = folklore(B).partial_fit(one, [0], classes=[0, 1], sample_weight=[0.0])
        for t in range(T):
            p = model.predict_proba(one)[0, 1]
            excess.append(-share * math.log2(p) - (1 - share) * math.log2(1 - p) - best)
            model.partial_fit(one, y[[t]])
    model = folklore(B).fit(np.ones((T, 1)), y)
    bound = model.certificate().constants["excess_risk"]
    assert 0.0 < np.mean(excess) <= bound <= 30 * np.mean(excess)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_the_largest_regret_of_a_correction_is_above_all_of_them(alpha, rng):
    """Theorem 4.5 as a number, within 20 times of what streams of noise reach."""
    for n in (1, 30, 300):
        X, y = rng.randn(n, 2), np.arange(n) % 3
        model = sk.AdaBoostOLMClassifier(n_estimators=3, alpha=alpha)
        model.partial_fit(X, y, classes=[0, 1, 2])
        R, t = math.sqrt(1 + math.log(max(n, 2)) ** 2), np.maximum(np.arange(n) + 1.0, 2.0)
        u = R / (4 * math.sqrt(2) * alpha)
        wanted = 2 * alpha + np.log1p(math.e**2 / t**2).sum()
        wanted += (1 + math.sqrt(2) * R) * u / math.log1p(u) * math.log1p(n * u / 2)
        found = model.certificate().constants["largest_regret"]
        assert found == pytest.approx(wanted)
        assert model.correction_regrets_.max() <= found <= 20 * model.correction_regrets_.max()


def pistol(b=0.1, **given):
    """A learner of rows of norm √2, the 1 of the intercept included."""
    optimizer = PiSTOL(a=2.5, b=b, feature_norm=math.sqrt(2))
    model = sk.PiSTOLClassifier(
        loss="smooth_hinge", optimizer=optimizer, average="uniform", standardize=False, **given
    )
    return model


def literal_pistol(T, norm, risk, smooth, b=0.1, a=2.5, L=2.0, H=2.0):
    """Corollary 2 by the constants of the proofs of Theorem 1 and Corollary 1, T + 1 for T.

    They are for rows of norm 1: h has √2 times the norm over rows that are divided by √2.
    """
    norm, x = norm * math.sqrt(2), 1 / a
    top = math.exp(x / 2) * (x + 1) + 2
    phi = b * x / 2 * top**2 / (1 - x * math.exp(x / 2) - x) * math.log(1 + T)
    log = math.log(norm * math.sqrt(a * L * L * (T + 1)) / b + 1)  # a in units of L
    plain = norm * math.sqrt(2 * a * L * L * (T + 1) * log)
    C = math.sqrt(2 * a * L * math.sqrt(4 * H) * log)
    power = max(
        norm ** (1 / 3) * (T + 1) ** (1 / 12) * (2 * C) ** (1 / 3),
        (2 * (T * risk + phi + L * L / (4 * H))) ** 0.25,
    )
    fast = norm * (T + 1) ** 0.25 * C * power
    return (phi + (min(plain, fast) if smooth else plain)) / T


@pytest.mark.parametrize("T", [10, 500])
def test_corollary_2_of_pistol_is_its_formula(T, rng):
    X, y = rng.randn(T, 1).clip(-1, 1), np.arange(T) % 2
    certificate = pistol().partial_fit(X, y, classes=[0, 1]).certificate()
    k = certificate.constants
    assert k["rounds"] == T
    for norm in (0.1, 1.0, 10.0):
        for risk in (0.0, 0.5):
            found = certificate.excess_risk(norm, risk)
            assert found == pytest.approx(literal_pistol(T, norm, risk, False))
            found = certificate.excess_risk(norm, risk, 2.0)
            assert found == pytest.approx(literal_pistol(T, norm, risk, True))
    assert certificate.excess_risk(1.0, 0.0) >= certificate.regret(1.0) / T


def population_risk(model):
    """The expected smooth hinge over x = ±1, with the class of the sign in 9 of 10 cases."""
    z = model.decision_function(np.array([[1.0], [-1.0]])) * [1, -1]
    phi = [np.where(m <= 0, 1 - 2 * m, np.maximum(1 - m, 0) ** 2) for m in (z, -z)]
    return float(np.mean(0.9 * phi[0] + 0.1 * phi[1]))


def test_the_mean_of_pistol_is_below_corollary_2():
    """The bound is within 60 times of the excess of the mean over samples."""
    T, excess = 300, []
    for seed in range(6):
        rng = np.random.RandomState(seed)
        X = rng.choice([-1.0, 1.0], size=(T, 1))
        y = ((X[:, 0] > 0) ^ (rng.random_sample(T) < 0.1)).astype(int)
        model = pistol().partial_fit(X, y, classes=[0, 1])
        excess.append(population_risk(model))
    grid = np.linspace(0, 1, 1001)
    risks = 0.9 * (1 - grid) ** 2 + 0.1 * (1 + 2 * grid)
    norm, best = grid[np.argmin(risks)], risks.min()
    bound = model.certificate().excess_risk(norm, best, 2.0)
    assert 0.0 < np.mean(excess) - best <= bound <= 60 * (np.mean(excess) - best)


def risk_of_the_best(certificate, exponent, size, risk=0.0, smoothness=math.inf):
    """Theorem 2, or without H Theorem 3, from Corollary 2: the least over γ, as in the page."""
    found = []
    for gamma in 10.0 ** np.arange(-15.0, 5.0, 0.05):
        if smoothness < math.inf:
            bias = smoothness / 2 * (size * gamma**exponent) ** 2
            norm = size * gamma ** (exponent - 0.5)
        else:
            bias = certificate.constants["L"] * size * gamma**exponent
            norm = math.sqrt(size * gamma ** (exponent - 1.0))
        found.append(bias + certificate.excess_risk(norm, risk + bias, smoothness))
    return min(found)


@pytest.mark.parametrize("beta", [0.2, 0.5, 1.0])
def test_theorem_3_of_pistol_is_within_twice_its_printed_constants(beta):
    """``C^{1/(1+β)} (2L)^{(1−β)/(1+β)} D^{2β/(1+β)} T^{−β/(1+β)}`` and the last term over T."""
    X, y = np.ones((100, 1)), np.arange(100) % 2
    certificate, rates = pistol().partial_fit(X, y, classes=[0, 1]).certificate(), []
    phi = 0.1 * literal_pistol(100, 0.0, 0.0, False) * 100 / math.log(101) / 0.1
    for T in (1e4, 1e6, 1e8):
        certificate.constants["rounds"] = T
        found = risk_of_the_best(certificate, beta, 2.0)
        D_sq = (
            2 * 2 * 2.5 * 2.0 * 2.0 * math.log(T / math.sqrt(2) / 0.1 + phi * math.log(1 + T) + 2)
        )
        power = 1 / (1 + beta)
        printed = 2.0**power * 4.0 ** ((1 - beta) * power) * (D_sq / T) ** (beta * power)
        printed += phi * math.log(1 + T) / T
        assert found <= 2 * printed and printed <= 6 * found
        rates.append(found)
    assert np.log10(rates[0] / rates[2]) / 4 == pytest.approx(beta / (1 + beta), abs=0.06)


@pytest.mark.parametrize("beta", [0.2, 0.4, 0.5])
def test_theorem_2_of_pistol_has_its_orders(beta):
    """T^{−2β/(2β+1)}, or T^{−2β/(β+1)} if the best risk is 0."""
    X, y = np.ones((100, 1)), np.arange(100) % 2
    certificate = pistol().partial_fit(X, y, classes=[0, 1]).certificate()
    for risk, order in ((0.3, 2 * beta / (2 * beta + 1)), (0.0, 2 * beta / (beta + 1))):
        rates = []
        for T in (1e8, 1e14):
            certificate.constants["rounds"] = T
            rates.append(risk_of_the_best(certificate, beta, 1.5, risk, 2.0))
        assert np.log10(rates[0] / rates[1]) / 6 == pytest.approx(order, abs=0.06)


def test_corollary_2_is_not_about_coordinates(rng):
    optimizer = PiSTOL(2.5, feature_norm=5.0, per_coordinate=True)
    model = predictor(optimizer=optimizer)
    model.partial_fit(rng.randn(9, 2), np.arange(9) % 3, classes=[0, 1, 2])
    with pytest.raises(GuaranteeError, match="about per_coordinate=False"):
        model.certificate().excess_risk(1.0)


@pytest.mark.parametrize("space", ["simplex", "hypercube"])
def test_the_risk_under_separability_is_the_regret_over_t(space):
    """Appendix G.2, and the expected risk over samples is below it, within 300 times."""
    rng, T, risks = np.random.RandomState(0), 60, []
    U = np.array([[1.0, 0.0], [-1.0, 0.0]]) if space == "simplex" else np.eye(2)
    directions = np.array([[1, 0.3], [-1, 0.2], [0.8, -1], [-0.6, 0.9]])
    scores = directions @ U.T
    y = scores.argmax(axis=1) if space == "simplex" else (scores > 0).astype(int)
    margin = np.sqrt(2) * 0.6 if space == "simplex" else 0.2
    for _ in range(5):
        drawn = rng.randint(4, size=T)
        model = sk.OnlineStructuredPredictor(
            space, regularizer="squared", optimizer=GradientDescent(feature_norm=1.5),
            average="uniform", standardize=False, fit_intercept=False, decoder="randomized",
        )  # fmt: skip
        classes = {} if space == "hypercube" else {"classes": [0, 1]}
        model.partial_fit(directions[drawn], y[drawn], **classes)
        risks.append(model.expected_target_loss(directions, y).mean())
    certificate, loss = model.certificate(), model.loss_
    every = loss.space.vertices()
    for row, true in zip(scores, loss.space.encode(y), strict=True):
        others = every[(every != true).any(axis=1)]
        assert np.all(
            (true - others) @ row >= margin * np.linalg.norm(true - others, axis=1) - 1e-9
        )
    norm, D, V = np.linalg.norm(U), np.sqrt(2), loss.space.encode(y)
    reach = D / 2 if space == "simplex" else D
    np.testing.assert_allclose(loss.value(scores * reach / margin, V), 0.0, atol=1e-12)
    assert (loss.value(scores * D / 2 / margin, V).max() > 0.1) == (space == "hypercube")
    bound = separable_risk(certificate, loss, norm, margin, T)
    assert bound == pytest.approx(certificate.regret(reach * norm / margin) / T)
    assert 0.0 < np.mean(risks) <= bound <= 300 * np.mean(risks)
    with pytest.raises(GuaranteeError, match="No margin makes the loss 0"):
        separable_risk(certificate, FenchelYoung(Hypercube().fit([[0, 1]])), 1.0, 1.0, 5)
