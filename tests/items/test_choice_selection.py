"""Choices in scikit-learn's searches, with rounds by number and as matrices."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.utils import estimator_checks

from skstructured import ConditionalLogit

RNG = np.random.RandomState(0)
ROUNDS = [RNG.randn(3 + i % 2, 3) for i in range(90)]
CHOSEN = np.array([int(np.argmax(x @ [1.0, -1.0, 0.0] + RNG.gumbel(size=len(x)))) for x in ROUNDS])
X = np.concatenate(ROUNDS)
QID = np.repeat(np.arange(90), [len(x) for x in ROUNDS])
Y = np.concatenate([np.arange(len(x)) == k for x, k in zip(ROUNDS, CHOSEN, strict=True)]).astype(
    int
)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_searches_over_rows_with_qid():
    cv = GroupKFold(3).set_split_request(groups="qid")
    search = GridSearchCV(ConditionalLogit(), {"alpha": [1e-3, 100.0]}, cv=cv)
    search.fit(X, Y, qid=QID)
    assert search.best_params_["alpha"] < 100.0 and search.best_score_ > 0.5
    folds = [
        ConditionalLogit(1e-3).fit(X[a], Y[a], QID[a]).score(X[b], Y[b], QID[b])
        for a, b in GroupKFold(3).split(X, Y, QID)
    ]
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(folds))
    there = np.ones(len(X), dtype=bool)
    there[np.flatnonzero(Y == 0)[:5]] = False
    found = cross_val_score(
        ConditionalLogit(), X, Y, cv=cv, params={"qid": QID, "available": there}
    )
    assert len(found) == 3 and np.isfinite(found).all()
    weighted = ConditionalLogit().set_fit_request(sample_weight=True, clusters=True)
    weighted.set_score_request(sample_weight=True)
    params = {"qid": QID, "sample_weight": 1.0 + QID % 3, "clusters": QID % 5}
    found = cross_validate(weighted, X, Y, cv=cv, params=params, return_estimator=True)
    a, _ = next(GroupKFold(3).split(X, Y, QID))
    one = ConditionalLogit().fit(X[a], Y[a], QID[a], None, 1.0 + QID[a] % 3, QID[a] % 5)
    np.testing.assert_allclose(found["estimator"][0].covariance_, one.covariance_)
    assert sorted(ConditionalLogit().get_metadata_routing().consumes("predict_proba", ["qid"]))


def test_searches_over_matrices_need_no_routing():
    found = cross_val_score(ConditionalLogit(), ROUNDS, CHOSEN, cv=3)
    parts = np.array_split(np.arange(90), 3)
    rest = np.concatenate(parts[1:])
    one = ConditionalLogit().fit([ROUNDS[i] for i in rest], CHOSEN[rest])
    assert found[0] == one.score([ROUNDS[i] for i in parts[0]], CHOSEN[parts[0]])
    search = GridSearchCV(ConditionalLogit(), {"alpha": [1e-3, 100.0]}, cv=3).fit(ROUNDS, CHOSEN)
    assert search.best_params_["alpha"] == 1e-3


#: Checks of scikit-learn that fit nothing: those that do give rows without rounds.
WITHOUT_DATA = (
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
)


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_scikit_learn_checks_the_logit(name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("ConditionalLogit", ConditionalLogit(alpha=0.1))
