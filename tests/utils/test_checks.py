"""The public checks: each of them is failed by a component that is broken there alone."""

import doctest
import itertools

import broken_losses
import broken_parts
import broken_spaces
import numpy as np
import pytest
from breaking import assert_fails, failures
from conftest import INTERPRETED
from coordinate_steps import FTRLProximal
from example_spaces import KSubsets
from sklearn.exceptions import SkipTestWarning
from spanning_trees import SpanningTrees

from skstructured import decoders, losses, spaces
from skstructured import utils as checks
from skstructured.utils import (
    check_decoder,
    check_loss,
    check_optimizer,
    check_space,
    loss_checks,
    space_checks,
)

SPACES = [
    (spaces.Simplex(), list("abca")),
    (spaces.Simplex(), [True, False]),
    (spaces.Hypercube(), [[0, 1, 1], [1, 0, 0]]),
    (spaces.OrdinalChain(), [3, 1, 2, 0]),
    (spaces.OrdinalChain(categories=["low", "middle", "high"]), ["high", "low"]),
    (spaces.Birkhoff(), [[0, 1, 2], [2, 0, 1]]),
    (spaces.Permutahedron(), [[1, 2, 3, 4], [4, 1, 3, 2]]),
    (KSubsets(2), [[1, 1, 0, 0], [0, 1, 0, 1]]),
    (SpanningTrees(list(itertools.combinations(range(3), 2)), 3), [[1, 1, 0], [0, 1, 1]]),
]


LABELS = ["ham", "spam", "eggs"]
LOSSES = [
    (broken_losses.LeastSquares(), "multiclass", LABELS),
    (broken_losses.LeastSquares(), "assignment", [[0, 1, 2], [2, 0, 1]]),
    (broken_losses.Capped(), "ranking", [[1, 2, 3], [3, 1, 2]]),
    *(
        (losses.GapSurrogate(kind=kind), "multiclass", LABELS)
        for kind in ("logistic", "hinge", "smooth_hinge")
    ),
    (losses.IndicatorMargins(kind="logistic"), "ordinal", [0, 1, 2]),
    (losses.IndicatorMargins(kind="perceptron"), "multilabel", [[0, 1, 1], [1, 0, 0]]),
]


@pytest.mark.parametrize(("space", "outputs"), SPACES, ids=str)
@pytest.mark.short(every=3)
def test_shipped_spaces_pass(space, outputs):
    check_space(space, outputs)
    assert not hasattr(space, "dim_")
    check_space(space.fit(outputs), outputs)


@pytest.mark.parametrize("space", list(broken_spaces.BROKEN), ids=lambda x: type(x).__name__)
def test_a_broken_space_fails_its_check_and_no_other(space):
    outputs, wanted = broken_spaces.BROKEN[space]
    with_it = isinstance(space, broken_spaces.DECOMPOSED_WRONGLY)
    with_it &= not (INTERPRETED and isinstance(space, broken_spaces.CompilesAnother))
    assert_fails(space, space_checks(space, outputs), {wanted, *["check_decompose"] * with_it})


@pytest.mark.parametrize(("loss", "space", "outputs"), LOSSES, ids=str)
def test_losses_pass(loss, space, outputs):
    assert check_loss(loss, space, outputs).endswith("checks passed, 0 skipped")
    assert loss.space is None


@pytest.mark.parametrize(
    ("loss", "wanted"), list(broken_losses.BROKEN.items()), ids=lambda x: type(x).__name__
)
def test_a_broken_loss_fails_its_check_and_no_other(loss, wanted):
    assert_fails(loss, loss_checks(loss, "multiclass", LABELS), wanted)


def test_the_fault_of_a_gradient_is_named():
    with pytest.raises(AssertionError, match="Its sign is wrong: g points where the loss falls"):
        check_loss(broken_losses.Uphill(), "multiclass", LABELS)
    with pytest.raises(AssertionError, match=r"g must be the gradient in θ\.$"):
        check_loss(broken_losses.Twice(), "multiclass", LABELS)
    with pytest.raises(AssertionError, match=r"OfFour.kernel must .*, got \(theta, truth, g, para"):
        check_loss(broken_losses.OfFour(), "multiclass", LABELS)


@pytest.mark.parametrize(
    "optimizer", [broken_parts.Descent(), broken_parts.Steps(), FTRLProximal()], ids=repr
)
def test_optimizers_pass(optimizer):
    assert check_optimizer(optimizer) == "9 checks passed, 0 skipped"


@pytest.mark.parametrize(
    ("optimizer", "wanted"), list(broken_parts.OPTIMIZERS.items()), ids=lambda x: type(x).__name__
)
def test_a_broken_optimizer_is_named_with_its_fault(optimizer, wanted):
    name, fault = type(optimizer).__name__, "(?s:.)*".join(wanted)
    with pytest.raises(AssertionError, match=rf"optimizer={name}\(\).* fails {fault}"):
        check_optimizer(optimizer)


def test_every_check_of_optimizers_is_failed_by_a_broken_one():
    def named(optimizer):
        learner = checks.OnlineStructuredPredictor(optimizer=optimizer)
        return checks._named(checks.StreamTrial(learner, *checks.three_classes()))

    failed = {name for name, _ in broken_parts.OPTIMIZERS.values()}
    failed |= set(failures(named(broken_parts.Wanders())))
    assert failed == {name for name, _ in named(broken_parts.Descent())}


DECODERS = [
    *((decoder, "multiclass", LABELS) for decoder in (broken_parts.Halves(), decoders.Sampled())),
    (decoders.Randomized(), "ordinal", [0, 1, 2]),
    (decoders.MAP(), KSubsets(2), [[1, 1, 0, 0], [0, 1, 0, 1]]),
    (decoders.ExpectedF1(), "multilabel", [[0, 1, 1], [1, 0, 0]]),
]


@pytest.mark.parametrize(("decoder", "space", "outputs"), DECODERS, ids=repr)
def test_decoders_pass(decoder, space, outputs):
    assert check_decoder(decoder, space, outputs) == "3 checks passed, 0 skipped"


def test_decoders_are_checked_with_another_loss():
    gaptron = losses.GapSurrogate(kind="smooth_hinge")
    assert check_decoder(decoders.GapDecoder(), loss=gaptron) == "3 checks passed, 0 skipped"


@pytest.mark.parametrize(
    ("decoder", "wanted"), list(broken_parts.DECODERS.items()), ids=lambda x: type(x).__name__
)
def test_a_broken_decoder_fails_its_checks_and_no_other(decoder, wanted):
    trial = checks.DecoderTrial(decoder, "multiclass", LABELS, None)
    assert_fails(decoder, checks._named(trial), wanted)
    with pytest.raises(AssertionError, match=type(decoder).__name__):
        check_decoder(decoder)


def test_every_check_of_decoders_is_failed_by_a_broken_one():
    trial = checks.DecoderTrial(broken_parts.Halves(), "multiclass", LABELS, None)
    names = {name for name, _ in checks._named(trial)}
    assert set.union(*broken_parts.DECODERS.values()) == names


class Elsewhere(spaces.Simplex):
    """An oracle that never finds the best vertex."""

    def argmax(self, theta):
        return np.roll(super().argmax(theta), 1, axis=1)


def test_checks_say_how_many_passed():
    wanted = sum(1 for _ in space_checks(spaces.Simplex(), LABELS))
    assert check_space(spaces.Simplex(), LABELS) == f"{wanted} checks passed, 0 skipped"
    name = "check_true_outputs_have_the_least_loss"
    with pytest.warns(SkipTestWarning, match=f"{name} was skipped: no scores were found"):
        message = check_loss(broken_losses.LeastSquares(), Elsewhere(), LABELS)
    assert message == "4 checks passed, 1 skipped"


def test_every_check_is_failed_by_something_broken():
    of_losses = {name for name, _ in loss_checks(broken_losses.Capped(), "multiclass", LABELS)}
    assert set.union(*broken_losses.BROKEN.values()) == of_losses
    of_spaces = {name for space, y in SPACES for name, _ in space_checks(space, y)}
    assert {wanted for _, wanted in broken_spaces.BROKEN.values()} == of_spaces


def test_what_is_no_component_is_named():
    with pytest.raises(TypeError, match="space must be an OutputSpace, got 'simplex'"):
        check_space("simplex", [0, 1])
    with pytest.raises(TypeError, match="loss must be a Surrogate, got 'hinge'"):
        check_loss("hinge", "multiclass", LABELS)
    with pytest.raises(TypeError, match="optimizer must be an OnlineOptimizer, got 'ogd'"):
        check_optimizer("ogd")
    with pytest.raises(TypeError, match="decoder must be a Decoder, got 'map'"):
        check_decoder("map")


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.exhaustive
def test_examples_of_the_checks():
    result = doctest.testmod(checks)
    assert result.attempted > 8 and result.failed == 0
