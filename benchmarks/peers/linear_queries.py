"""How well a linear score of the features can rank: the optima of four losses, under penalties.

The same folds of `ltr_queries` as in `benchmarks.peers.queries`. A row has NDCG@10 on queries held
out, of weights that minimise a loss of the queries learned plus λ/2 ‖w‖², by L-BFGS: the logistic
loss of pairs, of pairs weighted by their difference of gains as LambdaRank weights them, and
ListNet's with the gains ``2^grade − 1`` and with the grades. Features are standardised, or first
mapped to normal quantiles. The best number of a table that was seen is too good to be true, if
anything, and is what a linear learner could hope for.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.peers.queries import folds
from skstructured.items.metrics import ndcg

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)


def scales():
    yield "standardised", StandardScaler
    yield (
        "normal quantiles",
        lambda: make_pipeline(
            QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
            StandardScaler(),
        ),
    )


def pairs(grades, qid, weighted):
    """Places of what is better and what is worse, and weights."""
    better, worse, weights = [], [], []
    for query in np.unique(qid):
        at = np.flatnonzero(qid == query)
        gains = 2.0 ** grades[at] - 1.0
        a, b = np.nonzero(grades[at][:, None] > grades[at][None])
        ideal = (np.sort(gains)[::-1] / np.log2(np.arange(len(at)) + 2.0))[:10].sum()
        better.append(at[a])
        worse.append(at[b])
        weights.append((gains[a] - gains[b]) / max(ideal, 1e-9) if weighted else 1 / max(len(a), 1))
        weights[-1] = np.broadcast_to(weights[-1], len(a))
    return tuple(map(np.concatenate, (better, worse, weights)))


def optimum(value_and_gradient, width, penalty):
    def penalised(w):
        value, gradient = value_and_gradient(w)
        return value + penalty / 2.0 * (w @ w), gradient + penalty * w

    options = {"maxiter": 60}
    return minimize(penalised, np.zeros(width), jac=True, method="L-BFGS-B", options=options).x


def of_pairs(X, grades, qid, penalty, weighted):
    better, worse, weights = pairs(grades, qid, weighted)
    D, n = X[better] - X[worse], len(np.unique(qid))

    def loss(w):
        margins = D @ w
        value = (weights * np.logaddexp(0.0, -margins)).sum() / n
        return value, -D.T @ (weights * expit(-margins)) / n

    return optimum(loss, X.shape[1], penalty)


def of_lists(X, gains, qid, penalty):
    _, query = np.unique(qid, return_inverse=True)
    total = np.bincount(query, gains)
    told, n = (total > 0.0)[query], len(total)
    shares = gains / np.maximum(total[query], 1e-9)

    def loss(w):
        theta = X @ w
        most = np.full(n, -np.inf)
        np.maximum.at(most, query, theta)
        e = np.exp(theta - most[query])
        z = np.bincount(query, e)
        value = ((np.log(z) + most)[total > 0.0].sum() - (shares * theta)[told].sum()) / n
        return value, X.T @ ((e / z[query] - shares) * told) / n

    return optimum(loss, X.shape[1], penalty)


def main():
    args = arguments(__doc__)
    z = load("ltr_queries")
    X, y, qid = z["X"].astype(float), z["y"], z["qid"]
    losses = {
        "pairs": lambda A, g, q, lam: of_pairs(A, g, q, lam, False),
        "weighted pairs": lambda A, g, q, lam: of_pairs(A, g, q, lam, True),
        "lists, gains": lambda A, g, q, lam: of_lists(A, 2.0**g - 1.0, q, lam),
        "lists, grades": lambda A, g, q, lam: of_lists(A, 1.0 * g, q, lam),
    }
    with Results(__file__, args) as out:
        out.say(f"{'NDCG@10, λ =':36s}" + "".join(f"{lam:8g}" for lam in PENALTIES))
        for scale, make in scales():
            for name, fit in losses.items():
                found = np.zeros(len(PENALTIES))
                parts = list(folds(X, y, qid, args.quick))
                for train, test in parts:
                    maker = make().fit(X[train])
                    A, B = maker.transform(X[train]), maker.transform(X[test])
                    for i, lam in enumerate(PENALTIES):
                        w = fit(A, y[train], qid[train], lam)
                        found[i] += ndcg(y[test], B @ w, qid[test], k=10) / len(parts)
                row = {
                    f"lambda_{lam:g}": value for lam, value in zip(PENALTIES, found, strict=True)
                }
                text = "".join(f"{value:8.3f}" for value in found)
                out.add(f"{scale:18s}{name:18s}{text}", scale=scale, loss=name, **row)


if __name__ == "__main__":
    main()
