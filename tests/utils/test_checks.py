"""The public checks: each of them is failed by a learner or a space that is broken there alone."""

import doctest
import itertools

import broken_learners
import broken_losses
import broken_parts
import broken_spaces
import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import FTRLProximal
from example_spaces import KSubsets
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import SGDClassifier
from spanning_trees import SpanningTrees

from skstructured import (
    MulticlassPerceptron,
    OnlineStructuredPredictor,
    decoders,
    losses,
    spaces,
)
from skstructured.utils import (
    check_decoder,
    check_learner,
    check_loss,
    check_optimizer,
    check_space,
    checks,
    learner_checks,
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
    *((losses.GapSurrogate(kind=kind), "multiclass", LABELS) for kind in losses.gap.KINDS),
    (losses.IndicatorMargins(kind="logistic"), "ordinal", [0, 1, 2]),
    (losses.IndicatorMargins(kind="perceptron"), "multilabel", [[0, 1, 1], [1, 0, 0]]),
]


def failures(named):
    """Name -> message of the checks that fail."""
    failed = {}
    for name, check in named:
        try:
            check()
        except AssertionError as error:
            failed[name] = str(error)
    return failed


def assert_fails(subject, named, wanted):
    """Whether exactly the wanted checks fail, with messages that say of what."""
    failed = failures(named)
    assert failed.keys() == wanted, failed
    for name, message in failed.items():
        what = message.removeprefix(f"{subject!r} fails {name}")
        assert what != message and len(what) > 10


@pytest.mark.parametrize("learner", [broken_learners.Explorer()], ids=str)
def test_a_learner_of_ones_own_passes(learner):
    check_learner(learner)
    assert not hasattr(learner, "t_")


def test_labels_may_be_objects_and_boolean(rng):
    X, y = rng.randn(30, 2), np.arange(30) % 3
    check_learner(broken_learners.Explorer(), X, np.array(["no", "yes", "?"], dtype=object)[y])
    check_learner(broken_learners.Explorer(), X, y > 0)


@pytest.mark.parametrize(
    ("learner", "wanted"), list(broken_learners.BROKEN.items()), ids=lambda x: type(x).__name__
)
@pytest.mark.short(every=3)
def test_a_broken_learner_fails_its_check_and_no_other(learner, wanted):
    assert_fails(learner, learner_checks(learner), wanted)


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
    wanted = 1 + sum(1 for _ in learner_checks(OnlineStructuredPredictor(optimizer=optimizer)))
    assert check_optimizer(optimizer) == f"{wanted} checks passed, 0 skipped"


@pytest.mark.parametrize(
    ("optimizer", "wanted"), list(broken_parts.OPTIMIZERS.items()), ids=lambda x: type(x).__name__
)
def test_a_broken_optimizer_is_named_with_its_fault(optimizer, wanted):
    name, fault = type(optimizer).__name__, "(?s:.)*".join(wanted)
    with pytest.raises(AssertionError, match=rf"optimizer={name}\(\).* fails {fault}"):
        check_optimizer(optimizer)


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


def test_checks_say_how_many_passed(rng):
    wanted = sum(1 for _ in space_checks(spaces.Simplex(), LABELS))
    assert check_space(spaces.Simplex(), LABELS) == f"{wanted} checks passed, 0 skipped"
    X = rng.randn(30, 4)
    stream = X, X[:, np.arange(40) % 4] > 0.0
    of_learners = sum(1 for _ in learner_checks(OnlineStructuredPredictor("hypercube"), *stream))
    with pytest.warns(SkipTestWarning):
        said = check_learner(OnlineStructuredPredictor("hypercube"), *stream)
    assert said == f"{of_learners - 1} checks passed, 1 skipped"


def test_every_check_is_failed_by_something_broken():
    of_losses = {name for name, _ in loss_checks(broken_losses.Capped(), "multiclass", LABELS)}
    assert set.union(*broken_losses.BROKEN.values()) == of_losses
    of_spaces = {name for space, y in SPACES for name, _ in space_checks(space, y)}
    assert {wanted for _, wanted in broken_spaces.BROKEN.values()} == of_spaces
    of_learners = {name for name, _ in learner_checks(broken_learners.Explorer())}
    single = [wanted for wanted in broken_learners.BROKEN.values() if len(wanted) == 1]
    assert of_learners == set.union(*single)


def test_a_check_that_needs_listed_vertices_is_skipped_by_name(rng):
    X = rng.randn(30, 4)
    name = "check_a_rounds_own_output_does_not_enter"
    with pytest.warns(SkipTestWarning, match=f"{name} was skipped: the vertices of"):
        check_learner(OnlineStructuredPredictor("hypercube"), X, X[:, np.arange(40) % 4] > 0.0)


def test_what_is_no_learner_or_space_is_named(rng):
    with pytest.raises(TypeError, match="learner must be an OnlineLearner, got SGDClassifier"):
        check_learner(SGDClassifier())
    with pytest.raises(TypeError, match="space must be an OutputSpace, got 'simplex'"):
        check_space("simplex", [0, 1])
    with pytest.raises(TypeError, match="loss must be a Surrogate, got 'hinge'"):
        check_loss("hinge", "multiclass", LABELS)
    with pytest.raises(TypeError, match="optimizer must be an OnlineOptimizer, got 'ogd'"):
        check_optimizer("ogd")
    with pytest.raises(TypeError, match="decoder must be a Decoder, got 'map'"):
        check_decoder("map")
    with pytest.raises(ValueError, match="X and y must be given together"):
        check_learner(MulticlassPerceptron(), rng.randn(30, 2))
    with pytest.raises(ValueError, match="20 rows or more, got 19"):
        check_learner(MulticlassPerceptron(), rng.randn(19, 2), np.arange(19) % 2)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.exhaustive
def test_examples_of_the_checks():
    result = doctest.testmod(checks)
    assert result.attempted > 8 and result.failed == 0
