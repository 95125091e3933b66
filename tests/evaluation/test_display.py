"""What a RegretDisplay draws, compared with numbers computed here."""

import matplotlib
import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import space_of
from plain import predictor

from benchmarks.adversaries import LabelNoise, play
from skstructured import OnlineStructuredPredictor, RiskMonitor
from skstructured.evaluation import RegretDisplay, progressive_validate

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

N = 20 if INTERPRETED else 300


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def results():
    """Three learners on one stream; the last is without a theorem."""
    space, stream = space_of("simplex-shannon", 3), LabelNoise(N, random_state=0)
    models = {
        "logistic": predictor(),
        "sparsemax": predictor(regularizer="squared"),
        "nearest": predictor(decoder="nearest"),
    }
    return {name: play(model, stream, space) for name, model in models.items()}


def expected_curves(result, U):
    """Loss, comparator and bound after every round, by the definitions."""
    losses = result.expected_target_loss
    compared = result.comparator_loss(U)
    regret = result.regret_bound(U) - compared.sum()
    until = [(losses[:t].sum(), compared[:t].sum()) for t in range(1, len(losses) + 1)]
    loss, comparator = np.array(until).T
    return {"loss": loss, "comparator": comparator, "bound": comparator + regret}


def test_lines_are_the_cumulative_sums(results):
    result = results["logistic"]
    display = RegretDisplay.from_result(result, name="mine")
    lines = display.lines_
    for kind, values in expected_curves(result, result.best_comparator()).items():
        np.testing.assert_array_equal(lines[kind].get_xdata(), np.arange(1, N + 1))
        np.testing.assert_allclose(lines[kind].get_ydata(), values)
        np.testing.assert_array_equal(lines[kind].get_ydata(), getattr(display, kind))
        assert lines[kind].get_label().startswith("mine: ")
    total = lines["bound"].get_ydata()[-1]
    assert total == pytest.approx(result.regret_bound())
    assert np.all(lines["loss"].get_ydata() <= lines["bound"].get_ydata())
    np.testing.assert_array_equal(display.rounds, np.arange(1, N + 1))


def test_learners_are_colors_and_kinds_are_line_styles(results):
    ax, colors = plt.subplots()[1], set()
    for name, result in results.items():
        display = RegretDisplay.from_result(result, name=name, ax=ax)
        assert len({line.get_color() for line in display.lines_.values()}) == 1
        colors.add(display.lines_["loss"].get_color())
        for kind, line in display.lines_.items():
            assert line.get_linestyle() == {"loss": "-", "comparator": ":", "bound": "--"}[kind]
    assert len(colors) == 3 and set(display.lines_) == {"loss"}
    assert display.comparator is display.bound is None
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(texts) == 7 and texts[-1] == "nearest: expected target loss"
    assert RegretDisplay.from_result(result).name == "OnlineStructuredPredictor"


def test_the_certificate_is_drawn_where_rows_are_independent(results, rng):
    X, y = rng.randn(N, 2), rng.randint(3, size=N)
    model = OnlineStructuredPredictor(optimizer="ogd", average=False)
    run = progressive_validate(model, X, y, play="randomized")
    display = RegretDisplay.from_result(run, risk_delta=0.1, name="rows")
    monitor, losses = RiskMonitor(0.1, latch=True), run.expected_target_loss
    wanted = [(t + 1) * monitor.update(losses[t]).bound_ for t in range(N)]
    line = display.lines_["risk"]
    np.testing.assert_allclose(line.get_ydata(), wanted)
    assert line.get_linestyle() == "-." and line.get_label() == "rows: rounds × risk bound"
    for without in (
        RegretDisplay.from_result(run),
        RegretDisplay.from_result(results["logistic"], risk_delta=0.1),
    ):
        assert without.risk is None and "risk" not in without.lines_
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 2"):
        RegretDisplay.from_result(run, risk_delta=2)


def test_given_axes_are_drawn_on(results):
    figure, axes = plt.subplots(1, 2)
    display = RegretDisplay.from_result(results["logistic"], ax=axes[1])
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert len(axes[1].lines) == 3 and not axes[0].lines
    assert display.plot(axes[0]) is display
    assert display.ax_ is axes[0] and len(axes[0].lines) == 3


@pytest.mark.skipif(INTERPRETED, reason="a long stream")
def test_long_curves_are_thinned_and_end_with_the_run():
    space = space_of("simplex-shannon", 3)
    result = play(predictor(), LabelNoise(9000, random_state=0), space)
    display = RegretDisplay.from_result(result)
    rounds = display.rounds
    assert len(rounds) == 2000 and rounds[0] == 1 and rounds[-1] == 9000
    assert np.all(np.diff(rounds) > 0)
    cumulative = np.cumsum(result.expected_target_loss)
    np.testing.assert_array_equal(display.lines_["loss"].get_ydata(), cumulative[rounds - 1])
    assert display.bound[-1] == pytest.approx(result.regret_bound())
    assert {len(line.get_ydata()) for line in display.lines_.values()} == {2000}


def test_other_results_are_refused(results):
    for bad in (3, list(results.values())):
        with pytest.raises(TypeError, match=r"result must be a ProgressiveResult, got"):
            RegretDisplay.from_result(bad)


def test_matplotlib_is_asked_for_by_name(results, monkeypatch):
    display = RegretDisplay.from_result(results["logistic"])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match="RegretDisplay.from_result requires matplotlib"):
        RegretDisplay.from_result(results["logistic"])
    with pytest.raises(ImportError, match="RegretDisplay.plot requires matplotlib"):
        display.plot()
