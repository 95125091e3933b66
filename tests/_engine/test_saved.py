"""Objects of older versions are read under the names that their attributes had."""

import pickle

import numpy as np
import pytest

import skstructured as sk
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import NAMES
from skstructured.items._model import ItemRounds
from skstructured.items.structured import Grades
from skstructured.spaces._real_line import RealLine

CASES = [
    (RunningScale(2, True, True), "centred"),
    (RunningScale(2, True, True), "_kind"),
    (ItemRounds.__new__(ItemRounds), "centred"),
    (Grades(np.arange(3.0), np.ones(3)), "centre"),
    (RealLine().fit(np.arange(3.0)), "centre"),
]


@pytest.mark.parametrize(("saved", "older"), CASES)
def test_older_names_are_read(saved, older):
    name = NAMES[older]
    vars(saved).setdefault(name, True)
    value = vars(saved)[name]
    state = {older if key == name else key: item for key, item in vars(saved).items()}
    new = type(saved).__new__(type(saved))
    new.__setstate__(state)
    assert getattr(new, name) == value and not hasattr(new, older)


@pytest.mark.parametrize("saved", ["_loss\nItemLoss", "_choice_report\nChoiceSummary"])
def test_moved_classes_are_read(saved):
    assert pickle.loads(f"cskstructured.items.{saved}\n.".encode()).__name__ in saved


OLDER_NAMES = {name: older for older, name in NAMES.items()}
Y = np.arange(40) % 3
LEARNERS = [
    (sk.OnlineStructuredPredictor(random_state=0), Y),
    (sk.KernelStructuredPredictor(random_state=0), Y),
    (sk.FolkloreClassifier(random_state=0), Y),
    (sk.BanditGaptronClassifier(radius=1.0, random_state=0), Y),
    (sk.PiSTOLRegressor(random_state=0), Y / 2.0),
]


@pytest.fixture
def saves_older_names(monkeypatch):
    """Learners are saved under the names that their attributes had in 0.1.0."""
    plain = sk.extend.OnlineEstimator.__getstate__

    def older_state(self):
        return {OLDER_NAMES.get(name, name): value for name, value in plain(self).items()}

    monkeypatch.setattr(sk.extend.OnlineEstimator, "__getstate__", older_state)


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda case: type(case).__name__)
@pytest.mark.parametrize("by", ["pickle", "checkpoint"])
def test_learners_are_read(saves_older_names, learner, y, by, rng, tmp_path):
    X = rng.randn(40, 3)
    model = learner.fit(X, y)
    if by == "pickle":
        saved = pickle.dumps(model)
        assert b"_model" in saved and b"fit_intercept_" not in saved
        read = pickle.loads(saved)
    else:
        pytest.importorskip("skops")
        sk.checkpoints.save_checkpoint(model, tmp_path / "model")
        read = sk.checkpoints.load_checkpoint(tmp_path / "model")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert read.t_ == model.t_ and "_model" not in vars(read)
    for of in (model, read):
        of.partial_fit(X, y)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
