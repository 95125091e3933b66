"""Choices in scikit-learn's searches, with rounds by number and as matrices; chooser's features."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skstructured import ConditionalLogit
from skstructured.items import ChooserInteractions

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


# Features of the chooser.


def table():
    """Rows of three modes for each of four people."""
    frame = pd.DataFrame({"mode": np.tile(["train", "car", "bus"], 4)})
    frame["cost"], frame["time"] = np.random.RandomState(1).rand(2, 12)
    frame.insert(2, "income", np.repeat([1.0, 2.0, 4.0, 8.0], 3))
    return frame


def literal(frame, base="bus"):
    """Columns one by one."""
    levels = [mode for mode in ("bus", "car", "train") if mode != base]
    out = {"cost": frame["cost"], "time": frame["time"]}
    for mode in levels:
        out[f"mode={mode}"] = (frame["mode"] == mode).astype(float)
    out["cost*income"] = frame["cost"] * frame["income"]
    for mode in levels:
        out[f"mode={mode}*income"] = out[f"mode={mode}"] * frame["income"]
    return pd.DataFrame(out)


PAIRS = (("cost", "income"), ("mode", "income"))


@pytest.mark.parametrize("base", [None, "train"])
def test_columns_are_the_literal_ones(base):
    frame, make = table(), ChooserInteractions(PAIRS, "mode", base)
    wanted = literal(frame, base or "bus")
    np.testing.assert_array_equal(make.fit_transform(frame), wanted.to_numpy())
    assert make.get_feature_names_out().tolist() == wanted.columns.tolist()
    assert make.alternatives_.tolist() == ["bus", "car", "train"]
    shown = make.set_output(transform="pandas").transform(frame.iloc[::-1])
    pd.testing.assert_frame_equal(shown, wanted.iloc[::-1], check_dtype=False)
    codes = frame.assign(mode=pd.Categorical(frame["mode"]).codes.astype(float))
    numbered = ChooserInteractions(((1, 2), (0, 2)), 0, {"train": 2.0}.get(base))
    for rows in (codes.to_numpy(), sparse.csr_matrix(codes.to_numpy())):
        found = numbered.fit_transform(rows)
        assert sparse.issparse(found) == sparse.issparse(rows)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, wanted.to_numpy())
    assert numbered.get_feature_names_out()[-1] == ("x0=1.0*x2" if base else "x0=2.0*x2")


def test_chooser_features_change_choices_in_a_pipeline():
    rng, n = np.random.RandomState(0), 600
    frame = pd.DataFrame({"mode": np.tile(["bus", "car"], n), "cost": rng.rand(2 * n)})
    frame["income"] = np.repeat(rng.rand(n), 2)
    utility = -2.0 * frame["cost"] + (frame["mode"] == "car") * (3.0 * frame["income"] - 1.5)
    best = (utility.to_numpy() + rng.gumbel(size=2 * n)).reshape(n, 2).argmax(axis=1)
    y, qid = (np.arange(2) == best[:, None]).ravel().astype(int), np.repeat(np.arange(n), 2)
    make = ChooserInteractions([("mode", "income")], "mode").set_output(transform="pandas")
    model = make_pipeline(make, ConditionalLogit()).fit(frame, y, conditionallogit__qid=qid)
    assert model[-1].feature_names_in_.tolist() == ["cost", "mode=car", "mode=car*income"]
    away = np.abs(model[-1].coef_ - [-2.0, -1.5, 3.0]) / model[-1].standard_errors_
    assert (away < 3.0).all() and "mode=car*income" in repr(model[-1].summary())
    assert model.predict(frame, qid=qid).sum() == n


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_lists_of_matrices_become_lists_of_matrices(make):
    rows = [
        np.column_stack([np.arange(len(x)) % 3, x[:, 0], np.full(len(x), i % 4)])
        for i, x in enumerate(ROUNDS)
    ]
    transformer = ChooserInteractions([(0, 2), (1, 2)], alternatives=0)
    found = transformer.fit_transform([make(x) for x in rows])
    wanted = transformer.fit_transform(np.concatenate(rows))
    assert [part.shape for part in found] == [(len(x), 6) for x in rows]
    stacked = np.concatenate([p.toarray() if sparse.issparse(p) else p for p in found])
    np.testing.assert_array_equal(stacked, wanted)
    model = make_pipeline(transformer, ConditionalLogit(0.01)).fit(rows, CHOSEN)
    np.testing.assert_array_equal(
        model.predict(rows), model[-1].predict(transformer.transform(rows))
    )
    assert cross_val_score(model, rows, CHOSEN, cv=3).shape == (3,)


def test_what_is_wrong_with_columns_is_named():
    frame = table()
    for make, message in (
        (ChooserInteractions([("price", "income")]), "pairs must name columns of X, 'mode', 'co"),
        (ChooserInteractions(["cost"]), "pairs must be pairs"),
        (ChooserInteractions(alternatives="kind"), "alternatives must name columns"),
        (ChooserInteractions(alternatives=9), "alternatives must name columns"),
        (ChooserInteractions(alternatives="mode", base="ship"), "base must be one of 'bus', 'car'"),
    ):
        with pytest.raises(ValueError, match=message):
            make.fit(frame)
        assert not hasattr(make, "n_features_in_")
    make, few = ChooserInteractions(PAIRS, "mode").fit(frame), frame[["mode", "income"]].iloc[2:3]
    alone = ChooserInteractions([("mode", "income")], "mode", "bus")
    for call, rows, message in (
        (ChooserInteractions().fit_transform, frame, "column 'mode' must hold numbers"),
        (make.transform, frame.assign(mode="ship"), "were 'bus', 'car', 'train', but X has 'ship'"),
        (make.fit, frame.assign(mode=[None, *frame["mode"][1:]]), "gaps"),
        (alone.fit, few, "no column of items"),
    ):
        with pytest.raises(ValueError, match=message):
            call(rows)


@parametrize_with_checks([ChooserInteractions()])
def test_scikit_learn_checks_the_transformer(estimator, check):
    check(estimator)


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
