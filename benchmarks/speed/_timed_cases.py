"""Cases that `benchmarks.speed.against` times, in a process of one checkout.

Run with a checkout first on the path: it reads the name of a case from each line, times it and
prints the seconds of one row or call. It uses only what every checkout has had: parameters that
one does not know are left out, and a case that it cannot run says "-".
"""

import sys
import time

import numpy as np
from scipy import sparse

CASES = {}
STILL = {"average": False, "standardize": False, "max_iter": 1, "shuffle": False}


def case(name):
    """Register what makes a case: it returns a task and how many rows or calls that is."""

    def register(make):
        CASES[name] = make
        return make

    return register


def learner(name="OnlineStructuredPredictor", **parameters):
    """A learner with those of the parameters that this checkout knows."""
    import skstructured

    kind = getattr(skstructured, name)
    known = kind().get_params()
    wanted = {"random_state": 0, **parameters}
    return kind(**{key: value for key, value in wanted.items() if key in known})


def rows(n=20_000, p=100, K=10, dtype=np.float64):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, p)), rng.normal(size=(p, K))
    return X.astype(dtype), (X @ W + 5.0 * rng.normal(size=(n, K))).argmax(axis=1)


def fitting(X, y, name="OnlineStructuredPredictor", **parameters):
    model = learner(name, **parameters)
    return (lambda: model.fit(X, y)), len(y)


@case("dense row")
def dense():
    return fitting(*rows(), optimizer="ogd", **STILL)


@case("dense row, parameter-free")
def parameter_free():
    return fitting(*rows(), optimizer="parameter_free", **STILL)


@case("dense row, averaged")
def averaged():
    return fitting(*rows(), optimizer="ogd", **{**STILL, "average": True})


@case("dense row, standardized")
def standardized():
    known = "standardize" in learner().get_params()
    return fitting(*rows(), optimizer="ogd", **{**STILL, "standardize": True}) if known else None


@case("dense row, float32")
def single():
    return fitting(*rows(dtype=np.float32), optimizer="ogd", **STILL)


@case("dense row, label sets")
def label_sets():
    X, y = rows()
    Y = (np.arange(10) <= y[:, None]).astype(int)
    return fitting(X, Y, space="hypercube", optimizer="ogd", **STILL)


@case("CSR row")
def csr():
    rng = np.random.default_rng(1)
    n, p, size = 20_000, 50_000, 60
    columns = np.sort(rng.integers(p, size=(n, size)), axis=1)
    ends = np.arange(n + 1) * size
    X = sparse.csr_matrix((rng.normal(size=n * size), columns.ravel(), ends), shape=(n, p))
    X.sum_duplicates()
    return fitting(X, rng.integers(10, size=n), optimizer="ogd", **STILL)


@case("Gaptron row")
def gaptron():
    return fitting(*rows(), name="GaptronClassifier", **STILL)


@case("sequence")
def sequences():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(8, 50)) for _ in range(2_000)]
    y = [rng.integers(6, size=8) for _ in range(2_000)]
    return fitting(X, y, space="sequence", optimizer="ogd", **STILL)


@case("kernel row")
def kernel():
    X, y = rows(1_500, 20, 5)
    parameters = {"kernel": "rbf", "gamma": 0.05, **STILL}
    return fitting(X, y, name="KernelStructuredPredictor", **parameters)


@case("FOLKLORE row")
def folklore():
    return fitting(*rows(2_000, 30, 4), name="FolkloreClassifier", B=1.0, **STILL)


@case("mixture row")
def mixture():
    return fitting(*rows(1_500, 20, 4), name="StructuredPredictor")


@case("mixture row, text")
def text():
    rng = np.random.default_rng(3)
    X = sparse.random(1_000, 5_000, 0.01, format="csr", random_state=0)
    return fitting(X, rng.integers(4, size=1_000), name="StructuredPredictor")


@case("query")
def queries():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(8, 20)) for _ in range(1_000)]
    y = [rng.integers(4, size=8) for _ in range(1_000)]
    return fitting(X, y, name="ListwiseRanker")


def one_row(method, **parameters):
    """Calls with one row, of a model that has seen a hundred."""
    X, y = rows(2_000)
    model = learner(**parameters).partial_fit(X[:100], y[:100], classes=np.arange(10))
    call = getattr(model, method)

    def learning():
        for i in range(100, 1_100):
            call(X[i : i + 1], y[i : i + 1])

    def predicting():
        for i in range(100, 1_100):
            call(X[i : i + 1])

    return (learning if method == "partial_fit" else predicting), 1_000


@case("one-row partial_fit")
def one_partial_fit():
    return one_row("partial_fit", optimizer="ogd", **STILL)


@case("one-row predict")
def one_predict():
    return one_row("predict", optimizer="ogd", **STILL)


@case("one-row partial_fit, defaults")
def one_partial_fit_default():
    return one_row("partial_fit")


@case("one-row predict, defaults")
def one_predict_default():
    return one_row("predict")


@case("one-row predict_proba, defaults")
def one_predict_proba_default():
    return one_row("predict_proba")


def timed(task, at_least=0.25):
    """Seconds of a call, the best of those that fit into some time."""
    best, ends = np.inf, time.perf_counter() + at_least
    while True:
        started = time.perf_counter()
        task()
        now = time.perf_counter()
        best = min(best, now - started)
        if now > ends:
            return best


def answer(name, ready):
    """Seconds of a row or call of a case, made ready at its first mention; "-" without it."""
    if name not in ready:
        ready[name] = CASES[name]()
        if ready[name] is not None:
            ready[name][0]()
    if ready[name] is None:
        return "-"
    task, size = ready[name]
    return f"{timed(task) / size!r}"


def main():
    ready = {}
    for line in sys.stdin:
        try:
            print(answer(line.strip(), ready), flush=True)
        except Exception as error:
            print(f"- {type(error).__name__}: {error}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
