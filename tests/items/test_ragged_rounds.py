"""Rounds of items, and of positions: literal mixtures, single experts, chunks, what is odd."""

import itertools
import math
import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from naive import items as literal
from naive import sequences
from naive.mixture import MixedScores, RelativeStep, RootStep
from naive.rounds import learn_rounds
from scipy import sparse
from streams import words

import skstructured as sk
from skstructured._engine.rows import Rows
from skstructured._engine.state import RoundSummary
from skstructured.optimizers import StepMixture
from skstructured.optimizers import step_mixture as _mixed_steps

PAIRS = [
    ("simplex", "shannon"),
    ("simplex", "squared"),
    ("hypercube", "shannon"),
    ("permutahedron", "squared"),
    pytest.param("birkhoff", "shannon", marks=pytest.mark.exhaustive),
    ("subsets", "squared"),
]
SEQUENCES = [
    ("sequence", "shannon"),
    pytest.param("sequence", "squared", marks=pytest.mark.exhaustive),
]
SHARES = ("thinning", 0.02)
STEPS, ADAPTIVE = (0.5, 4.0), (0.5, 3.0)


def rounds(space, seed=0, n=40, p=4):
    """Rounds of several sizes, and vertices of their outputs."""
    if space == "sequence":
        return words(n, longest=4, seed=seed)
    rng = np.random.RandomState(seed)
    sizes = {"birkhoff": (4, 9), "subsets": (3, 6)}.get(space, (1, 6))
    lengths = rng.choice(sizes, size=n) if space == "birkhoff" else rng.randint(*sizes, size=n)
    X = [rng.randn(m, p) * rng.choice([0.3, 1.0, 2.0]) for m in lengths]
    if space == "hypercube":
        return X, [rng.randint(2, size=m).astype(float) for m in lengths]
    if space == "permutahedron":
        return X, [rng.permutation(m) + 1.0 for m in lengths]
    if space == "birkhoff":
        return X, [np.eye(math.isqrt(m))[rng.permutation(math.isqrt(m))].ravel() for m in lengths]
    most = 2 if space == "subsets" else 1
    return X, [(rng.permutation(m) < most).astype(float) for m in lengths]


def as_given(space, V):
    """Outputs in the form of y, of lists."""
    if space == "birkhoff":
        return [np.argmax(v.reshape(math.isqrt(len(v)), -1), axis=1) for v in V]
    return V


def learner(space="simplex", regularizer=None, **given):
    space = KSubsets(2) if space == "subsets" else space
    given = {"standardize": False, "random_state": 0, "fit_intercept": False} | given
    of_items = space != "sequence"
    kind = sk.ItemStructuredPredictor if of_items else sk.OnlineStructuredPredictor
    return kind(space, regularizer=regularizer, **given)


def learned(model, X, y, weight):
    told = {"classes": range(3)} if model.space == "sequence" else {}
    return model.partial_fit(X, y, sample_weight=weight, **told)


def mixture(**given):
    return StepMixture(**{"steps": STEPS, "adaptive": ADAPTIVE, "share": SHARES, **given})


def experts(p):
    found = [RelativeStep(p, eta) for eta in STEPS]
    found += [RootStep(p, length) for length in ADAPTIVE]
    return [*found, naive.ParameterFree(p, 1.0, 100.0)]


def literal_of(space, regularizer, X, V, weight, average):
    """The literal mixture, and its shares; D² and 1/λ by their formulas."""
    mix, p = MixedScores(SHARES, 10 if average else 5), X[0].shape[1]
    if space == "sequence":
        given = (experts((p + 5, 3)), X, V, 3, weight, False)
        return sequences.learn(*given, mix=mix, average=average), mix.groups[0].u
    centered = space != "hypercube"
    spread = {
        "simplex": lambda m: 2.0,
        "hypercube": lambda m: float(m),
        "permutahedron": lambda m: max(m, 2) * (max(m, 2) ** 2 - 1) / 3.0,
        "birkhoff": lambda m: 2.0 * math.isqrt(m),
        "subsets": lambda m: 2.0 * min(2, m - 2),
    }[space]
    flat = {("hypercube", "shannon"): lambda m: 0.25, ("birkhoff", "shannon"): math.isqrt}
    omega = {
        "permutahedron": lambda y: 0.5 * float((np.arange(1, len(y) + 1) ** 2).sum()),
        "subsets": lambda y: 0.5 * float(y.sum()),
    }.get(space, lambda y: 0.5 if regularizer == "squared" else 0.0)
    flat = flat.get((space, regularizer), lambda m: 1.0)
    rounds = literal.rounds_of(X, V, centered, [flat, flat, spread, spread, spread])
    loss = literal.loss_of(space, regularizer, omega)
    return learn_rounds(experts(p), rounds, loss, weight, mix, average), mix.groups[0].u


def play(model, X, y, weight):
    """Scores of every round, as they are learned; of positions, and then of steps."""
    told = [range(3)] if model.space == "sequence" else []
    batch = model.begin(X, y, *told)._replace(weight=weight)
    played = []
    model.learn_blocks(batch, np.arange(len(X)), lambda block, _: played.append(block.theta), 2)
    theta = played[0].joined(played)
    if not told:
        return theta.unstack()
    found = [theta.one(i) for i in range(len(X))]
    return [np.concatenate([one.unary.ravel(), one.pair[:-1].ravel()]) for one in found]


def some_weights(n, seed=1):
    weight = np.random.RandomState(seed).choice([0.0, 0.3, 1.0, 5.0], size=n)
    weight[0] = 1.0
    return weight


@pytest.mark.parametrize("average", ["polynomial", "uniform", False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("space", "regularizer"), [*PAIRS, SEQUENCES[0]])
def test_the_mixture_equals_its_literal_form(space, regularizer, storage, average):
    X, V = rounds(space, n=4 if space == "birkhoff" else 10 if INTERPRETED else 40)
    weight = some_weights(len(X))
    exact = 1e-5 if space == "birkhoff" else 1e-9  # where means are found by iterations
    wanted, u = literal_of(space, regularizer, X, V, weight, average)
    model = learner(space, regularizer, optimizer=mixture(), average=average)
    found = play(model, [storage(x) for x in X], as_given(space, V), weight)
    apart = space not in ("hypercube", "sequence")  # a number added to all scores changes nothing
    for one, scores in zip(found, wanted.scores, strict=True):
        np.testing.assert_allclose(one - apart * one[0], scores - apart * scores[0], exact, exact)
    np.testing.assert_allclose(model.model_.state.shares[0], u, atol=10 * exact)
    losses = wanted.losses.sum(axis=0)
    np.testing.assert_allclose(model.model_.expert_losses(), losses, rtol=exact, atol=exact)
    W = [*wanted.weights[-1], *(wanted.means if average else [])]
    after = np.einsum("n,n...->...", u.sum(axis=0), W)
    np.testing.assert_allclose(
        model.model_.weights(bool(average)).T.squeeze(), after, atol=10 * exact
    )


def with_many(space, p=4):
    """Rounds of two items, and a few of many: the first and one of the last."""
    rng, lengths = np.random.RandomState(2), [100, *[2] * 120, 40, 3, 2]
    X = [rng.randn(m, p) for m in lengths]
    if space == "permutahedron":
        return X, [rng.permutation(m) + 1.0 for m in lengths]
    return X, [rng.permutation(np.eye(1, m)[0]) for m in lengths]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("space", ["simplex", "hypercube", "permutahedron"])
def test_rounds_of_unusually_many_items_have_the_reach_of_usual_ones(space, storage):
    """In a mixture by bounds on gradients, and in descent by those on C²/λ."""
    X, V = with_many(space)
    weight = some_weights(len(X))
    weight[-3] = 2.0
    spread = {
        "simplex": lambda m: 2.0,
        "hypercube": lambda m: float(m),
        "permutahedron": lambda m: m * (m**2 - 1) / 3.0,
    }[space]
    lengths = [len(x) for x in X]
    learned_with = naive.rounds.usual_weights(lengths, weight, lambda m: math.sqrt(m * spread(m)))
    optimizer = StepMixture((), (), others=("adaptive",))
    one, other = (learner(space, optimizer=optimizer) for _ in range(2))
    play(one, [storage(x) for x in X], V, weight)
    play(other, [storage(x) for x in X], V, weight)
    left_out = (weight - learned_with).sum()
    assert one.model_.state.numbers[RoundSummary.LEFT_OUT] == pytest.approx(left_out)
    assert learned_with[0] < 1e-3 * weight[0] and learned_with[-3] < weight[-3]
    descent = learner(space, optimizer="ogd").partial_fit(
        [storage(x) for x in X], V, sample_weight=weight
    )
    by_ratio = naive.rounds.usual_weights(lengths, weight, float)  # 1/λ is the same for all
    wanted = (weight - by_ratio).sum()
    assert descent.model_.state.numbers[RoundSummary.LEFT_OUT] == pytest.approx(wanted)
    assert descent.certificate().constants["left_out"] == pytest.approx(wanted)


@pytest.mark.parametrize("m", [3, 70])
@pytest.mark.parametrize(
    ("storage", "shift"), [(np.asarray, 1e7), (np.asarray, 1e15), (sparse.csr_array, 1e7)]
)
@pytest.mark.parametrize("optimizer", ["ogd", "mixture"])
def test_a_large_feature_that_all_items_share_changes_nothing(optimizer, storage, m, shift):
    """Nor does one that is large and nearly the same hide what it says."""
    rng = np.random.RandomState(0)
    X = [rng.randn(m, 3) for _ in range(10 if INTERPRETED else 60)]
    y = [int(np.argmax(x @ [1.0, -2.0, 1.0])) for x in X]
    given = {"optimizer": optimizer, "standardize": False}
    wanted = learner(**given).partial_fit(list(map(storage, X)), y).coef_
    assert np.abs(wanted).min() > 1e-4
    shared = [storage(np.hstack([np.full((m, 1), shift), x])) for x in X]
    found = learner(**given).partial_fit(shared, y)
    found_one, exact = found.coef_[1:], storage is np.asarray
    if not exact:  # bounds of many CSR rows are less tight
        found_one = found_one * np.linalg.norm(wanted) / np.linalg.norm(found_one)
    np.testing.assert_allclose(found_one, wanted, rtol=1e-6 if exact else 0.02)
    if storage is np.asarray:
        assert found.coef_[0] == 0.0
        moved = [x + 1e7 * np.eye(3)[0] for x in X]
        found = learner(**given).partial_fit(moved, y).coef_
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_items_that_are_the_same_up_to_rounding_move_nothing():
    rng = np.random.RandomState(0)
    X = [x + 1e-16 * rng.randn(3, 4) for x in rng.randn(10, 1, 4)]
    same = [sparse.csr_array(x[:1].repeat(3, axis=0)) for x in X]
    for given in (X, same):
        for optimizer in ("parameter_free", "adaptive"):
            model = learner(optimizer=optimizer).partial_fit(given, [0] * 10)
            np.testing.assert_array_equal(model.coef_, 0.0)


def test_certificates_hold_beside_a_large_feature_that_all_items_share():
    """An adversary answers rounds whose items differ in one feature each, and share a large one."""
    p = 20
    model = learner(optimizer="ogd", average=False)
    rounds, labels, lost = [np.eye(2, p + 1) * 1e-3], [0], 0.5
    model.partial_fit(rounds, labels)
    for j in range(p):
        A = np.zeros((2, p + 1))
        A[:, 0], A[1, 1 + j] = 1e7, 1.0
        losses = [model.expected_target_loss([A], [k])[0] for k in (0, 1)]
        labels.append(int(np.argmax(losses)))
        lost += max(losses)
        rounds.append(A)
        model.partial_fit([A], labels[-1:])
    signs = np.where(np.array(labels[1:]) == 1, 1.0, -1.0)
    for size in np.linspace(0.0, 20.0, 41):
        u = np.r_[0.0, size * signs]
        scores = [(x[1] - x[0]) @ u * (1 if k else -1) for x, k in zip(rounds, labels, strict=True)]
        loss = model.loss_.scale_ * np.logaddexp(0.0, -np.array(scores)).sum()
        assert lost <= model.certificate().bound(loss, np.linalg.norm(u))


@pytest.mark.parametrize("space", ["simplex", "permutahedron", "hypercube", "sequence"])
def test_rounds_of_weight_0_are_the_same_as_left_out(space):
    X, V = rounds(space, n=12)
    long, y = rounds(space, seed=3, n=8)
    many, label = np.concatenate(long), np.concatenate(y)
    if space in ("simplex", "permutahedron"):
        label = np.arange(len(many)) + 1.0 if space == "permutahedron" else np.eye(1, len(many))[0]
    weight = np.r_[0.0, np.ones(len(X)), 0.0]
    given = {"optimizer": "ogd", "average": "uniform"}
    wanted = learned(learner(space, **given), X, V, np.ones(len(X)))
    found = learned(learner(space, **given), [many, *X, many], [label, *V, label], weight)
    assert found.loss_.constants_of() == wanted.loss_.constants_of()
    assert found.loss_.sizes == wanted.loss_.sizes
    assert found.certificate().constants == wanted.certificate().constants
    for name in ("Theta", "numbers"):
        np.testing.assert_array_equal(
            getattr(found.model_.state, name), getattr(wanted.model_.state, name)
        )


ONE = {"steps": (), "adaptive": (), "others": ()}


@pytest.mark.parametrize(
    ("given", "alone"),
    [
        ({"steps": (3.0,)}, _mixed_steps.RelativeStep(3.0)),
        ({"adaptive": (0.7,)}, _mixed_steps.RootStep(0.7)),
        ({"others": ("parameter_free",)}, sk.optimizers.ParameterFree()),
        *(({"others": (name,)}, name) for name in ("adaptive", "pistol")),
    ],
)
@pytest.mark.parametrize(("space", "regularizer"), PAIRS + SEQUENCES)
def test_of_one_expert_the_mixture_is_that_expert(space, regularizer, given, alone):
    X, V = rounds(space, seed=2, n=4 if space == "birkhoff" else 10 if INTERPRETED else 40)
    weight, y = some_weights(len(X)), as_given(space, V)
    of = {"standardize": True, "average": "uniform"}
    one = learner(space, regularizer, optimizer=StepMixture(**ONE | given), **of)
    other = learner(space, regularizer, optimizer=alone, **of)
    for model in (one, other):
        learned(model, X, y, weight)
    numbers = (model.model_.state.numbers for model in (one, other))
    np.testing.assert_allclose(*numbers, rtol=1e-12, atol=1e-9)
    for share, averaged in ((np.array([1.0, 0.0]), False), (np.array([0.0, 1.0]), True)):
        one.model_.state.shares[:] = share / 3.0  # the expert alone, and its average
        found, wanted = one.model_.weights(True), other.model_.weights(averaged)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("optimizer", ["mixture", "ogd"])
def test_the_intercept_is_a_feature_that_is_one(optimizer, storage):
    X, V = rounds("hypercube", seed=4)
    weight = some_weights(len(X))
    one = learner("hypercube", optimizer=optimizer, fit_intercept=True)
    other = learner("hypercube", optimizer=optimizer)
    found = play(one, [storage(x) for x in X], V, weight)
    wanted = play(other, [storage(np.hstack([x, np.ones((len(x), 1))])) for x in X], V, weight)
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(wanted), rtol=1e-9)
    both = np.append(one.coef_, one.intercept_)
    np.testing.assert_allclose(both, other.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("optimizer", ["mixture", "ogd", "adaptive"])
@pytest.mark.parametrize(("space", "regularizer"), PAIRS + SEQUENCES[:1])
def test_chunks_copies_and_pickles_learn_the_same(space, regularizer, optimizer):
    X, V = rounds(space, n=12 if INTERPRETED or space == "birkhoff" else 60)
    y, weight = as_given(space, V), some_weights(len(X))
    given = {"optimizer": optimizer, "standardize": True, "fit_intercept": True}
    whole = learned(learner(space, regularizer, **given), X, y, weight)
    parts = learner(space, regularizer, **given)
    for part in (slice(0, 1), slice(1, 7), slice(7, None)):
        learned(parts, X[part], y[part], weight[part])
        parts = pickle.loads(pickle.dumps(parts))
    for name in ("Theta", "vectors", "shares", "totals", "sums", "numbers"):
        left, right = (getattr(model.model_.state, name) for model in (whole, parts))
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    assert parts.t_ == len(X)


def test_rows_with_qid_are_the_same_as_one_matrix_per_round():
    X, V = rounds("simplex", n=30)
    rng = np.random.RandomState(5)
    qid = np.repeat(rng.permutation(1000)[: len(X)], [len(x) for x in X])
    lists = learner(standardize=True).partial_fit(X, V)
    flat, y = np.concatenate(X), np.concatenate(V)
    np.testing.assert_array_equal(
        learner(standardize=True).partial_fit(flat, y, qid).coef_, lists.coef_
    )
    shuffled = rng.permutation(len(flat))
    model = learner(standardize=True).partial_fit(flat[shuffled], y[shuffled], qid[shuffled])
    found = model.predict_proba(flat[shuffled], qid[shuffled])
    np.testing.assert_allclose(
        np.bincount(np.unique(qid[shuffled], return_inverse=True)[1], found), 1.0
    )
    assert model.t_ == len(X)


def test_items_that_are_not_available_are_the_same_as_left_out():
    X, V = rounds("simplex", n=30)
    rng = np.random.RandomState(6)
    available = [np.maximum(v > 0, rng.rand(len(v)) < 0.6) for v in V]
    hidden = learner(standardize=True).partial_fit(X, V, available=available)
    out = [x[a] for x, a in zip(X, available, strict=True)]
    truths = [v[a] for v, a in zip(V, available, strict=True)]
    np.testing.assert_array_equal(
        hidden.coef_, learner(standardize=True).partial_fit(out, truths).coef_
    )
    P = hidden.predict_proba(X, available=available)
    assert all(
        (p[~a] == 0).all() and p.sum() == pytest.approx(1)
        for p, a in zip(P, available, strict=True)
    )
    scores = hidden.decision_function(X, available=available)
    assert all(np.isnan(s[~a]).all() for s, a in zip(scores, available, strict=True))


@pytest.mark.parametrize("space", ["simplex", "hypercube", "permutahedron"])
def test_the_certificate_of_descent_is_its_formula(space):
    X, V = rounds(space, n=20)
    X = [x for x in X if len(x) > 1]
    V = [v for v in V if len(v) > 1]
    model = learner(space, optimizer="ogd", average=False).partial_fit(X, V)
    certificate, k = model.certificate(), model.loss_.constants_of()
    lam = 4.0 if space == "hypercube" else 1.0
    C_sq = max(literal.largest(x, space != "hypercube") for x in X)
    b, m = 2 * k.c * C_sq / lam, min(0.5, k.a)
    assert certificate.quadratic == pytest.approx((1 - k.a) * b / (4 * (1 - m) * m), rel=1e-9)
    exact = max(
        np.linalg.eigvalsh(x @ x.T if space == "hypercube" else _centered(x))[-1] for x in X
    )
    assert exact <= C_sq <= 1.3 * exact


def _centered(x):
    x = x - x.mean(axis=0)
    return x @ x.T


@pytest.mark.parametrize("m", [1, 2, 30, 64, 65, 200])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("space", ["simplex", "hypercube"])
def test_what_optimizers_are_told_bounds_the_largest_eigenvalue(space, m, storage):
    """Also of items that all lie far from the origin, and beside each other."""
    rng = np.random.RandomState(m)
    for shift, scale in ((0.0, 1.0), (100.0, 1e-3), (0.0, 1e-60), (3.0, 1e40)):
        x = (shift + rng.randn(m, 5)) * scale
        y = np.eye(1, m)[0]
        model = learner(space, optimizer="ogd", standardize=False, average=False)
        model.partial_fit([storage(x)], [y])
        exact = np.linalg.eigvalsh(x @ x.T if space == "hypercube" else _centered(x))[-1]
        lam = 4.0 if space == "hypercube" else 1.0
        learned_with = 1.0 - model.model_.state.numbers[RoundSummary.LEFT_OUT]
        told = model.model_.state.numbers[RoundSummary.LARGEST_RATIO] / learned_with
        assert told * lam >= max(exact, 0.0) * (1 - 1e-9)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_items_of_a_round_are_standardised_alike_by_all_up_to_it(storage):
    """By means and deviations when all rows up to the last of the round are counted."""
    X, V = rounds("simplex", n=12)
    X = [1e3 * x + 7.0 for x in X]
    weight = some_weights(len(X))
    model = learner(standardize="moments", optimizer="ogd").partial_fit([storage(x) for x in X], V)
    scale = model.model_.scale.reset_copy()
    rows = Rows.from_array(storage(np.concatenate(X)))
    lengths = np.array([len(x) for x in X])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    each = np.repeat(weight, lengths)
    scale.offsets = offsets
    ready = scale.apply(rows, weight=each)[0].matrix
    ready = ready.toarray() if rows.is_sparse else ready
    for r, (start, stop) in enumerate(itertools.pairwise(offsets)):
        before = model.model_.scale.reset_copy()
        before.offsets = offsets[: r + 2]
        before.apply(rows, np.arange(stop), each[:stop])
        if rows.is_sparse:
            seen = np.concatenate(X[: r + 1])[each[:stop] > 0]
            wanted = X[r] / np.abs(seen).max(axis=0)
        else:
            wanted = (X[r] - before.statistics[0]) * before.statistics[2]
        np.testing.assert_allclose(ready[start:stop], wanted if weight[r] > 0 else 0.0, atol=1e-9)
