"""Losses and means of torch: by the losses of arrays, by torch itself, by finite differences."""

import copy
import itertools
import pickle

import naive
import numpy as np
import pytest
from pairs import CASES, LARGEST, PAIRS, loss_of, space_of
from spanning_trees import SpanningTrees

from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    LabelSequence,
    OrdinalChain,
    Permutahedron,
    Simplex,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
functional = torch.nn.functional

from skstructured.torch import FenchelYoungLoss, LabelSequenceLoss  # noqa: E402

#: Pairs whose means are found by iterations, without a Jacobian.
ITERATIVE = ("birkhoff", "k_subsets")
SMOOTH = [(name, dim) for name, dim in CASES if not name.startswith(ITERATIVE)]


RANKS = Permutahedron().fit([[1, 2, 3]])
LETTERS = LabelSequence().fit([["a", "b"]])


def tensor(values, **given):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True, **given)


def outputs(space, n, rng):
    """Random outputs of a space in the form of users, and their vertices."""
    V = space.vertices()
    V = V[rng.randint(len(V), size=n)]
    return space.decode(V), V


def made(name, dim, **given):
    return FenchelYoungLoss(space_of(name, dim), PAIRS[name][1], **given)


def gradient_of(value, *tensors):
    """Gradients of the sum of a tensor, as arrays."""
    return [g.numpy() for g in torch.autograd.grad(value.sum(), tensors)]


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_values_and_gradients_are_those_of_arrays(name, dim, rng):
    y, V = outputs(space_of(name, dim), 5, rng)
    plain = loss_of(name, dim, scale=1.0)
    for spread in (0.1, 3.0, 1e6):
        scores, weights = spread * rng.randn(5, dim), rng.rand(5)
        theta = tensor(scores)
        values = made(name, dim, reduction="none")(theta, y)
        assert values.tolist() == plain.value(scores, V).tolist()
        (found,) = gradient_of(torch.tensor(weights) * values, theta)
        assert found.tolist() == (weights[:, None] * (plain.mean(scores) - V)).tolist()
        for reduction, expected in (("mean", values.mean()), ("sum", values.sum())):
            reduced = made(name, dim, reduction=reduction)(theta, y)
            assert reduced.shape == () and reduced.item() == pytest.approx(expected.item())
        assert made(name, dim)(theta, y).item() == pytest.approx(values.mean().item())


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_the_loss_is_that_of_a_generic_solver(name, dim, rng):
    space, regularizer = space_of(name, dim), PAIRS[name][1]
    y, V = outputs(space, 3, rng)
    theta = tensor(rng.randn(3, dim))
    values = made(name, dim, reduction="none")(theta, y)
    means = gradient_of(values, theta)[0] + V
    for i, scores in enumerate(theta.detach().numpy()):
        mu, conjugate = naive.mean_and_conjugate(space, regularizer, scores)
        omega = loss_of(name, dim).omega(V[i : i + 1])[0]
        assert values[i].item() == pytest.approx(conjugate + omega - scores @ V[i], abs=1e-6)
        np.testing.assert_allclose(means[i], mu, atol=2e-4)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_gradients_pass_gradcheck(name, dim, rng):
    theta = tensor(rng.randn(3, dim))
    y, _ = outputs(space_of(name, dim), 3, rng)
    for reduction in ("none", "mean"):
        loss = made(name, dim, reduction=reduction)
        assert torch.autograd.gradcheck(lambda t, loss=loss: loss(t, y), theta)


@pytest.mark.parametrize(("name", "dim"), SMOOTH)
def test_means_and_their_jacobians(name, dim, rng):
    loss, plain = made(name, dim), loss_of(name, dim)
    for spread in (0.3, 1.0, 4.0):
        scores = spread * rng.randn(6, dim)
        assert loss.mean(tensor(scores)).tolist() == plain.mean(scores).tolist()
        assert torch.autograd.gradcheck(loss.mean, tensor(scores))


@pytest.mark.parametrize("make", [Permutahedron, OrdinalChain])
def test_jacobians_of_many_blocks_are_finite_differences(make, rng):
    d, h = 60, 1e-7
    y = [np.arange(1, d + 1)] if make is Permutahedron else np.arange(d + 1)
    loss = FenchelYoungLoss(make().fit(y), "squared")
    scores = np.linspace(1.1, -0.1, d) + 3.0 / d * rng.randn(5, d)
    theta = tensor(scores * d if make is Permutahedron else scores)
    v, w = torch.tensor(rng.randn(2, 5, d))
    ahead, behind = (loss.mean((theta + s * v).detach()) for s in (h, -h))
    slopes = (w * (ahead - behind)).sum(1).numpy() / (2 * h)
    (products,) = gradient_of(w * loss.mean(theta), theta)
    np.testing.assert_allclose((products * v.numpy()).sum(axis=1), slopes, atol=1e-5)
    jacobian = torch.autograd.functional.jacobian(loss.mean, theta[:1])[0, :, 0]
    assert 5 < np.linalg.matrix_rank(jacobian.numpy()) < d - 5


def test_ranks_that_tie_move_together():
    loss = FenchelYoungLoss(Permutahedron().fit([[1, 2, 3, 4]]))
    theta = tensor([[0.0, 0.0, 0.0, 0.0], [1e9, 0.0, 1e9, 0.0], [4e9, 3e9, 2e9, 1e9]])
    (product,) = gradient_of(loss.mean(theta) * torch.tensor([1.0, 2.0, 3.0, 6.0]), theta)
    np.testing.assert_allclose(product, [[-2, -1, 0, 3], [-1, -2, 1, 2], [0, 0, 0, 0]], atol=1e-12)


def steps_of(theta):
    """Scores of ordinal classes: 0, and the sums of those of the steps."""
    return functional.pad(theta.cumsum(1), (1, 0))


def binary_cross_entropy(theta, y):
    losses = functional.binary_cross_entropy_with_logits(theta, y.double(), reduction="none")
    return losses.sum(1).mean()


def tails(theta):
    return torch.softmax(steps_of(theta), 1)[:, 1:].flip(1).cumsum(1).flip(1)


#: Losses that torch has: (space, labels, loss, mean).
OF_TORCH = {
    "softmax": (Simplex, [0, 3, 1, 2], functional.cross_entropy, lambda t: t.softmax(1)),
    "sigmoid": (Hypercube, np.eye(4, 3, dtype=int), binary_cross_entropy, torch.sigmoid),
    "ordinal": (
        OrdinalChain,
        [0, 3, 1, 2],
        lambda t, y: functional.cross_entropy(steps_of(t), y),
        tails,
    ),
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_they_are_the_losses_that_torch_has(name, rng):
    make, y, literal, mean = OF_TORCH[name]
    loss, y = FenchelYoungLoss(make().fit(y), "shannon"), torch.tensor(y)
    theta = tensor(rng.randn(4, loss.space.dim_))
    weights = torch.tensor(rng.randn(*theta.shape))
    assert loss(theta, y).item() == pytest.approx(literal(theta, y).item(), rel=1e-13)
    for ours, theirs in (
        (loss(theta, y), literal(theta, y)),
        (weights * loss.mean(theta), weights * mean(theta)),
    ):
        expected = gradient_of(theirs, theta)[0]
        np.testing.assert_allclose(gradient_of(ours, theta)[0], expected, atol=1e-14)


def test_means_are_those_that_the_pages_of_entmax_and_fast_soft_sort_show():
    simplex, scores = Simplex().fit([0, 1, 2]), torch.tensor([[-2.0, 0.0, 0.5]])
    for regularizer, shown in (
        ("shannon", [0.0486, 0.3592, 0.5922]),
        ("squared", [0.0, 0.25, 0.75]),
        ("tsallis", [0.0, 0.3260, 0.6740]),
    ):
        found = FenchelYoungLoss(simplex, regularizer).mean(scores)[0]
        assert found.tolist() == pytest.approx(shown, abs=5e-5)
    ranks = FenchelYoungLoss(RANKS).mean(torch.tensor([[2.9, 0.1, 1.2]]))
    assert ranks.tolist() == [[3.0, 1.0, 2.0]]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_types_are_those_of_the_scores(kind, rng):
    theta = tensor(rng.randn(3, 3)).detach().to(getattr(torch, kind)).requires_grad_()
    loss = FenchelYoungLoss(Permutahedron().fit([[1, 2, 3]]))
    exact = loss(theta.double(), [[3, 2, 1]] * 3)
    value = loss(theta, torch.tensor([[3, 2, 1]] * 3, dtype=torch.float32))
    value.backward()
    assert value.dtype == theta.grad.dtype == loss.mean(theta).dtype == theta.dtype
    assert value.item() == pytest.approx(exact.item(), rel=torch.finfo(theta.dtype).eps)


def test_words_are_labels_and_predictions():
    space = OrdinalChain(categories=["bad", "fair", "good"]).fit(["bad", "good"])
    loss = FenchelYoungLoss(space, "squared")
    theta = torch.tensor([[2.0, -1.0], [3.0, 3.0], [-1.0, -5.0]])
    assert loss.predict(theta).tolist() == ["fair", "good", "bad"]
    assert loss(theta, ("fair", "good", "bad")).item() == 0.0


def test_without_a_jacobian_means_have_no_gradient(rng):
    y = [[2, 1, 0]]
    for loss in (
        FenchelYoungLoss(Birkhoff().fit(y)),
        FenchelYoungLoss(Birkhoff().fit(y), "squared"),
        FenchelYoungLoss(SpanningTrees([(0, 1), (1, 2), (0, 2)], 3).fit([[1, 1, 0]]), "squared"),
    ):
        theta = tensor(rng.randn(2, loss.space.dim_))
        with pytest.raises(ValueError, match=r"no Jacobian in closed form: pass theta\.detach"):
            loss.mean(theta)
        with torch.no_grad():
            mean = loss.mean(theta)
        assert torch.equal(loss.mean(theta.detach()), mean) and not mean.requires_grad


def chain_scores(rng, N, k, forbidden=()):
    unary, pair = rng.randn(N, k), rng.randn(k, k)
    for i, j in forbidden:
        pair[i, j] = -np.inf
    return tensor(unary), tensor(pair)


def enumerated(unary, pair, codes):
    """−ln p(y) by the scores of all label sequences."""
    M, k = unary.shape

    def score(y):
        steps = [pair[a, b] for a, b in itertools.pairwise(y)]
        return torch.stack([unary[m, a] for m, a in enumerate(y)] + steps).sum()

    every = torch.stack([score(y) for y in itertools.product(range(k), repeat=M)])
    return torch.logsumexp(every, 0) - score(codes)


@pytest.mark.parametrize("forbidden", [(), [(0, 1)]])
def test_label_sequences_are_those_of_an_enumeration(forbidden, rng):
    lengths, weights = [1, 4, 2, 3], torch.tensor([2.0, 0.5, 0.0, 1.0])
    y = [[2], [0, 2, 1, 1], [1, 2], [2, 0, 0]]
    unary, pair = chain_scores(rng, sum(lengths), 3, forbidden)
    parts = torch.split(unary, lengths)
    literal = torch.stack([enumerated(part, pair, one) for part, one in zip(parts, y, strict=True)])
    loss = LabelSequenceLoss(LabelSequence().fit([[0, 1, 2]]), reduction="none")
    values = loss(unary, pair, [torch.tensor(one) for one in y])
    np.testing.assert_allclose(values.detach(), literal.detach(), atol=1e-12)
    ours, theirs = (gradient_of(weights * v, unary, pair) for v in (values, literal))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for reduction in ("mean", "sum"):
        found = LabelSequenceLoss(loss.space, reduction)(unary, pair, y)
        assert found.item() == pytest.approx(getattr(literal, reduction)().item())


def test_predicted_label_sequences_are_the_most_likely(rng):
    lengths = [3, 1, 4]
    unary, pair = chain_scores(rng, sum(lengths), 3)
    loss = LabelSequenceLoss(LabelSequence().fit([["a", "b", "c"]]))
    found = loss.predict(unary, pair, lengths)
    for part, labels in zip(torch.split(unary, lengths), found, strict=True):
        every = list(itertools.product(range(3), repeat=len(part)))
        best = min(every, key=lambda y, part=part: enumerated(part, pair, y).item())
        assert labels.tolist() == ["abc"[code] for code in best]


def test_label_sequences_pass_gradcheck(rng):
    unary, pair = chain_scores(rng, 5, 2)
    loss = LabelSequenceLoss(LabelSequence().fit([[0, 1]]))
    assert torch.autograd.gradcheck(lambda u, p: loss(u, p, [[0, 1, 1], [1, 0]]), (unary, pair))


def test_second_derivatives_are_refused():
    loss, theta = FenchelYoungLoss(Simplex().fit([0, 1])), tensor([[0.0, 1.0]])
    for value in (loss(theta, [0]), loss.mean(theta)[0, 0]):
        with pytest.raises(RuntimeError, match="Second derivatives are not computed"):
            torch.autograd.grad(value, theta, create_graph=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FenchelYoungLoss("ranking"), "must be an OutputSpace, .*, got 'ranking'"),
        (lambda: FenchelYoungLoss(LETTERS), "space must be an OutputSpace, not of label sequences"),
        (lambda: FenchelYoungLoss(Simplex()), "does not know its size yet: call Simplex.fit"),
        (lambda: FenchelYoungLoss(RANKS, "shannon"), "no oracle for Permutahedron with Shannon"),
        (lambda: FenchelYoungLoss(RANKS, "l2"), "regularizer='l2' is not known"),
        (lambda: FenchelYoungLoss(RANKS, reduction="max"), "reduction must be .*, got 'max'"),
        (lambda: LabelSequenceLoss(RANKS), "space must be a LabelSequence, got Permutahedron"),
        (lambda: LabelSequenceLoss(LabelSequence()), "does not know its size yet"),
    ],
)
def test_bad_losses_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("theta", "y", "message"),
    [
        (np.zeros((1, 3)), [[1, 2, 3]], "theta must be a tensor of floating-point .*, got array"),
        (torch.zeros(1, 3).long(), [[1, 2, 3]], r"of floating-point numbers, got tensor\(\[\[0, 0"),
        (torch.zeros(1, 4), [[1, 2, 3]], r"theta must have shape \(n, 3\), got \(1, 4\)"),
        (torch.zeros(2, 3), [[1, 2, 3]], "theta has 2 rows, but y has 1"),
        (torch.zeros(1, 3) / 0, [[1, 2, 3]], "theta must not contain NaN"),
        (torch.zeros(1, 3), [[0, 1, 2]], "it looks 0-based"),
        (torch.zeros(1, 3), torch.tensor([[1, 2]]), "y must have 3 columns"),
    ],
)
def test_bad_scores_and_outputs_are_refused(theta, y, message):
    with pytest.raises(ValueError, match=message):
        FenchelYoungLoss(RANKS)(theta, y)


@pytest.mark.parametrize(
    ("unary", "pair", "y", "message"),
    [
        (torch.zeros(3, 2), torch.zeros(2, 2), "ab", r"unary must have shape \(2, 2\), .*\(3"),
        (torch.zeros(2, 2), torch.zeros(2, 3), "ab", r"pair must have shape \(2, 2\)"),
        (torch.zeros(2, 2) / 0, torch.zeros(2, 2), "ab", "unary .* without NaN and"),
        (torch.zeros(2, 2).int(), torch.zeros(2, 2), "ab", "unary must be a tensor of floating"),
        (torch.zeros(2, 2), torch.zeros(2, 2), "az", "not among the classes: 'z'"),
        (torch.zeros(2, 2), torch.full((2, 2), -torch.inf), "ab", "no valid labeling"),
    ],
)
def test_bad_chains_are_refused(unary, pair, y, message):
    with pytest.raises(ValueError, match=message):
        LabelSequenceLoss(LETTERS)(unary, pair, [list(y)])


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 0], "lengths must be positive integers"),
        ([1.0, 1.0], "lengths must be positive integers"),
        ([3], "lengths add up to 3, but X has 2 rows"),
    ],
)
def test_bad_lengths_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        LabelSequenceLoss(LETTERS).predict(torch.zeros(2, 2), torch.zeros(2, 2), lengths)
    with pytest.raises(ValueError, match="Sequence 1 of y is empty"):
        LabelSequenceLoss(LETTERS)(torch.zeros(2, 2), torch.zeros(2, 2), [["a", "b"], []])


def test_copies_and_pickles_are_the_same_loss(rng):
    loss, theta, y = FenchelYoungLoss(RANKS), torch.tensor(rng.randn(2, 3)), [[1, 2, 3], [3, 1, 2]]
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(other(theta, y), loss(theta, y))
    assert list(loss.parameters()) == []


@pytest.mark.filterwarnings("ignore")
def test_compiled_steps_call_the_loss_uncompiled(rng):
    loss, y = FenchelYoungLoss(RANKS), torch.tensor([[1, 2, 3], [3, 1, 2]])
    linear = torch.nn.Linear(4, 3).double()
    x = torch.tensor(rng.randn(2, 4))
    step = torch.compile(lambda: loss(2.0 * linear(x), y) + 0.0, backend="eager")
    assert step().item() == loss(2.0 * linear(x), y).item()
    assert gradient_of(step(), linear.weight)[0].any()


def test_a_network_learns(rng):
    torch.manual_seed(0)
    X = torch.tensor(rng.randn(200, 2), dtype=torch.float32)
    ranks = X.abs().matmul(torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]))
    ranks = ranks.argsort(1).argsort(1) + 1
    network = torch.nn.Sequential(torch.nn.Linear(2, 30), torch.nn.ReLU(), torch.nn.Linear(30, 3))
    loss, optimizer = FenchelYoungLoss(RANKS), torch.optim.Adam(network.parameters(), 0.02)
    for _ in range(150):
        optimizer.zero_grad()
        loss(network(X), ranks).backward()
        optimizer.step()
    assert (loss.predict(network(X)) == ranks.numpy()).mean() > 0.9
