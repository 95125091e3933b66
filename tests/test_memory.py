"""No input makes a kernel read or write beyond its arrays, or run for ever."""

import numpy as np
import pytest
from scipy import sparse

from skstructured import BanditGaptronClassifier, OnlineStructuredPredictor, SecondOrderPerceptron

LEARNERS = {
    "online": OnlineStructuredPredictor(),
    "bandit": BanditGaptronClassifier(radius=2.0, random_state=0),
    "second order": SecondOrderPerceptron(),
}


def replaced(kind, **arrays):
    """A sparse matrix of three rows and four columns, some of its arrays replaced unchecked."""
    X = sparse.eye_array(3, 4, format=kind)
    for name, array in arrays.items():
        setattr(X, name, np.asarray(array))
    return X


MALFORMED = [
    ("csr", {"indptr": np.empty(0, np.int32)}, "indptr must have 4 entries .*, got 0"),
    ("csr", {"indptr": np.array([0, 3], np.int32)}, "indptr must have 4 entries .*, got 2"),
    ("csr", {"indptr": np.arange(9, dtype=np.int32) // 3}, "indptr must have 4 entries .*, got 9"),
    ("csr", {"indptr": np.array([0.0, 1.0, 2.0, 3.0])}, "indptr must be .* int32 or int64"),
    ("csr", {"indptr": np.array([[0, 1, 2, 3]], np.int32)}, "indptr must be a vector"),
    ("csr", {"indptr": np.array([0, 3, 3, 4], np.int32)}, "indptr must rise"),
    ("csr", {"indices": np.array([0.0, np.nan, 2.0])}, "indices must be .* int32 or int64"),
    ("csr", {"indices": np.array([[0], [1], [2]], np.int32)}, "indices must be a vector"),
    ("csr", {"indices": np.array([0, 1], np.int32)}, "indptr must rise"),
    ("csr", {"data": np.ones((3, 1))}, "data must be a vector"),
    ("csr", {"data": np.ones(2)}, "indptr must rise"),
    ("csc", {"indptr": np.array([0, 3], np.int32)}, "indptr must have 5 entries .*, got 2"),
    ("csc", {"indices": np.array([0, 1, 2**30], np.int32)}, "indices must lie between 0 and 2"),
    ("csc", {"indices": np.array([0, -9, 2], np.int32)}, "indices must lie between 0 and 2"),
    ("coo", {"row": np.array([0, 1, 2**30], np.int32)}, "row must lie between 0 and 2"),
    ("coo", {"col": np.array([0, -9, 2], np.int32)}, "col must lie between 0 and 3"),
]


@pytest.mark.parametrize("learner", list(LEARNERS))
@pytest.mark.parametrize(("kind", "arrays", "message"), MALFORMED)
def test_sparse_arrays_that_do_not_fit_are_refused(learner, kind, arrays, message):
    model = LEARNERS[learner].fit(np.eye(3, 4), [0, 1, 0])
    before, X = model.coef_.copy(), replaced(kind, **arrays)
    for call in (lambda: model.fit(X, [0, 1, 0]), lambda: model.partial_fit(X, [0, 1, 0])):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    np.testing.assert_array_equal(model.coef_, before)
