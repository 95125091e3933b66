"""Items with features of their own, in matrices: learners of rows name those that take them."""

import re

import numpy as np
import pytest
from learners import BINARY_LEARNERS, SHIPPED
from sklearn.base import clone

import skstructured as sk
import skstructured.items
from skstructured._base.validation import ITEMS_ADVICE

X, Y = np.random.RandomState(0).randn(12, 2, 3), np.arange(12) % 2
LEARNERS = {
    **SHIPPED,
    **BINARY_LEARNERS,
    "network": sk.MaxMinMarginNetwork(),
    "random field": sk.ConditionalRandomField("simplex"),
    "real numbers": sk.PiSTOLRegressor(),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_matrices_for_rows_are_refused(learner):
    for wrong in (X, X.tolist(), [x[: 1 + i % 2] for i, x in enumerate(X)]):
        model = clone(learner)
        with pytest.raises(ValueError, match=re.escape(ITEMS_ADVICE)):
            model.fit(wrong, Y)
        assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_words_for_numbers_name_the_encoder(learner):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": np.arange(12.0), "sex": ["m", "f"] * 6})
    takes_words = learner is LEARNERS["abstaining, any experts"]  # if its experts do
    for words in [frame.to_numpy()] + [frame] * (not takes_words):
        model = clone(learner)
        with pytest.raises(ValueError, match=r"'m'\)?\. .*TableEncoder\(\), estimator"):
            model.fit(words, Y)
        assert not hasattr(model, "n_features_in_")


@pytest.mark.exhaustive
def test_the_learners_that_are_named_take_what_is_refused():
    names = [name for name in sk.items.__all__ if name in ITEMS_ADVICE]
    assert {"ListwiseRanker", "ConditionalLogit", "ItemStructuredPredictor"} <= {*names}
    for name in names:
        grades = [[0, 1]] * 12 if name == "ListwiseRanker" else Y
        assert len(getattr(sk.items, name)().fit(X, grades).predict(X)) == 12
    assert "docs/" not in ITEMS_ADVICE  # which is not installed


def test_what_is_wrong_otherwise_is_told_as_before():
    for wrong in ([[1.0, "a"]] * 12, [[1.0], [1.0, 2.0]] * 6, X[:, 0, 0]):
        with pytest.raises(ValueError, match=r"(?s)^((?!one row of features).)*$"):
            sk.OnlineStructuredPredictor().fit(wrong, Y)


@pytest.mark.parametrize("name", ["group", "groups", "qid", "query_id"])
def test_the_error_about_groups_says_what_takes_items(name):
    for model in (sk.OnlineStructuredPredictor(), sk.PiSTOLRegressor()):
        with pytest.raises(TypeError, match=f"argument '{name}'. {re.escape(ITEMS_ADVICE)}$"):
            model.fit(np.eye(3), [0, 1, 1], **{name: [0, 0, 1]})
        assert not hasattr(model, "t_")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'weights'$"):
        model.fit(np.eye(3), [0, 1, 1], weights=[1, 1, 1])
