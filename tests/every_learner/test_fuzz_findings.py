"""A short run of the fuzzer, and what it found, each as the smallest input that showed it."""

import joblib
import numpy as np
import pytest
from conftest import INTERPRETED
from fuzz import findings, misfit
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from skstructured._cli.files import frames

X = np.random.RandomState(0).randn(12, 2)
y = np.arange(12) % 2


@pytest.mark.exhaustive
def test_a_short_run_finds_nothing():
    assert findings(range(60 if INTERPRETED else 100)) == []


@pytest.mark.parametrize("name", ["indptr beyond", "negative index", "index far beyond"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_matrices_that_do_not_fit_are_refused_where_scipy_would_crash(name, kind):
    wrong, step = misfit(name, kind(X)), sk.SequenceTransformer(StandardScaler(with_mean=False))
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        sk.streaming.array_chunks(wrong, y)
    with pytest.raises(ValueError, match="Sequence 1 of X: X is not a valid sparse"):
        step.fit([X, wrong])
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        sk.sequences.Stacked(wrong, [6, 6])


def test_dense_and_sparse_sequences_of_any_byte_order_go_together():
    step = sk.SequenceTransformer(StandardScaler(with_mean=False))
    parts = step.fit_transform([X.astype(">f8"), sparse.csr_matrix(X)])
    np.testing.assert_array_equal(parts[0].toarray(), parts[1].toarray())


@pytest.mark.parametrize("damage", ["end", "beginning", "middle", "name"])
def test_damaged_parquet_files_are_named(damage, tmp_path):
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    name = "nameofcolumn" if damage == "name" else "a"
    parquet.write_table(pyarrow.table({name: X[:, 0], "y": y}), path)
    data = path.read_bytes()
    half, other = len(data) // 2, data.replace(b"nameofcolumn", b"\x89ameofcolumn")
    parts = {"end": data[:half], "beginning": data[half:], "middle": data[:4] + data[90:]}
    path.write_bytes((parts | {"name": other})[damage])
    with pytest.raises(ValueError, match=r"rows\.parquet is not a Parquet file, damaged or"):
        list(frames(path))


@pytest.mark.parametrize("marker", [1, 1 + 2j, [3]])
def test_a_wrong_abstain_label_draws_nothing(marker):
    model = sk.AbstainingHedgeClassifier([sk.SecondOrderPerceptron()], random_state=0).fit(X, y)
    before = model.set_params(abstain_label=marker).random_state_.get_state()
    with pytest.raises(ValueError, match="abstain_label must"):
        model.sample(X)
    with pytest.raises(ValueError, match="abstain_label must"):
        model.predict(X)
    assert joblib.hash(model.random_state_.get_state()) == joblib.hash(before)


@pytest.mark.skipif(INTERPRETED, reason="the loop without an end was in a kernel")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "model", [sk.AioliClassifier(), sk.FolkloreClassifier(), sk.GaussianAggregatingForecaster()]
)
@pytest.mark.exhaustive
def test_a_new_row_that_is_huge_beside_all_learned_ones_has_a_prediction(model, kind):
    model.set_params(fit_intercept=False).fit(kind(X * 1e-166), y)
    shares = model.predict_proba(kind(X))
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", [sk.PiSTOLRegressor(), sk.OnlineStructuredPredictor()])
def test_a_huge_row_without_weight_is_left_out(model, kind):
    first, then = (clone(model.set_params(random_state=0)).fit(kind(X), y) for _ in range(2))
    weight = np.where(np.arange(12) == 5, 0.0, 1.0)
    rows = np.where(weight[:, None] > 0.0, X, 1e145 * X)
    first.partial_fit(kind(X[weight > 0.0]), y[weight > 0.0])
    then.partial_fit(kind(rows), y, sample_weight=weight)
    np.testing.assert_allclose(then.predict(kind(X)), first.predict(kind(X)), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        sk.PiSTOLClassifier(kernel="poly"),
        sk.KernelStructuredPredictor(kernel="poly"),
        sk.StructuralSVM(kernel="poly"),
        sk.QuadraticSurrogate(kernel="poly"),
        sk.ConditionalRandomField("simplex", kernel="poly"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_for_which_a_kernel_overflows_are_named(model):
    model.set_params(standardize="moments").fit(X, y)
    message = "The scores of row 1 of X are not finite: kernel='poly"
    told = np.errstate(all="ignore" if INTERPRETED else "warn")  # compiled loops warn of nothing
    with told, pytest.raises(ValueError, match=message):
        model.decision_function([X[0], [1e140, -1e140]])


@pytest.mark.parametrize("kind", [sk.PiSTOLClassifier, sk.KernelStructuredPredictor])
def test_rows_that_a_kernel_would_overflow_for_are_refused_before_any_is_learned(kind):
    model = kind(kernel="poly", standardize=False)
    model.partial_fit(X, y, classes=np.unique(y))
    before, rows = model.decision_function(X), X[:3].copy()
    rows[1] *= 1e60
    with pytest.raises(ValueError, match="Row 1 of X is too large for kernel='poly': norms"):
        model.partial_fit(rows, y[:3])
    assert model.t_ == len(X)
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("kind", [sk.PiSTOLClassifier, sk.KernelStructuredPredictor])
def test_kernels_of_float32_rows_are_computed_in_float64(kind):
    model, rows = kind(kernel="poly", standardize=False), np.float32(1e13) * X.astype(np.float32)
    model.partial_fit(rows, y, classes=np.unique(y))
    wide = kind(kernel="poly", standardize=False)
    wide.partial_fit(rows.astype(np.float64), y, classes=np.unique(y))
    given = model.decision_function(rows)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, wide.decision_function(rows), rtol=1e-6)


@pytest.mark.exhaustive
def test_kernels_of_sequences_that_overflow_end_in_an_error():
    model = sk.StructuralSVM("sequence", kernel="poly", gamma=1.0, standardize=False, max_iter=2)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="losses are not finite"):
        model.fit([1e55 * np.asarray(X), X], [y, y])
    assert not hasattr(model, "loss_curve_")


@pytest.mark.parametrize("optimizer", ["ogd", "parameter_free"])
def test_positions_that_are_too_large_are_named_where_nothing_is_standardised(optimizer):
    model = sk.OnlineStructuredPredictor("sequence", standardize=False, optimizer=optimizer)
    with pytest.raises(ValueError, match="Sequence 1 of X, position 2: This row is too large"):
        model.fit([X, [*X[:2], [1e200, 0.0]]], [y, y[:3]])
    model.fit([X], [y])
    with pytest.raises(ValueError, match="Sequence 0 of X, position 2: This row is too large"):
        model.partial_fit([[*X[:2], [1e200, 0.0]]], [y[:3]])


@pytest.mark.parametrize("optimizer", ["parameter_free", sk.optimizers.PiSTOL(per_coordinate=True)])
def test_a_row_that_is_next_to_nothing_beside_the_others_is_learned(optimizer):
    model = sk.OnlineStructuredPredictor(fit_intercept=False, optimizer=optimizer, random_state=0)
    for kind in (np.asarray, sparse.csr_matrix):
        model.fit(kind(X), y).partial_fit(kind(1e-122 * X), y)
        assert np.isfinite(model.coef_).all()


_matrix, _short = sparse.csr_matrix(X), ([X, X], [y, y[:-1]])
#: What the ValueError says -> what was done.
REFUSED = {
    "Sequence 1 of X must be a list, as those before it": lambda: sk.SequenceTransformer(
        StandardScaler()
    ).fit([[["a"]], _matrix]),
    "X must be .* got list": lambda: sk.streaming.array_chunks(X.tolist(), y),
    "y must have a length, got int": lambda: sk.streaming.array_chunks(X, 3),
    "Chunk 0 must be a tuple .*, got csr_matrix": lambda: sk.streaming.fit_chunks(
        sk.OnlineStructuredPredictor(), [_matrix]
    ),
    "Sequence 1 has 12 positions in X, but 11 labels in y": lambda: (
        sk.QuadraticSurrogate("sequence").fit([X, X], [y, y]).score(*_short)
    ),
    "inconsistent numbers of samples": lambda: sk.QuadraticSurrogate().fit(X, y).score(X, y[:-1]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_named(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
