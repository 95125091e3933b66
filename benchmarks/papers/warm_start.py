"""Table 2 of the max-min margin paper: what warm starts of its oracle are worth.

The paper's algorithms as they are: block-coordinate Frank–Wolfe with steps 2n/(t + 2n) for 100
passes, whose oracle is K iterations of mirror prox with entropies, from where the row's last call
ended (warm), or from uniform means. As [N] Theorem G.1 has it the means of the half-steps are
returned, η = 1/max A. The learners of the package have exact oracles for these losses and need none
of it. machine has the published classes, wisconsin five of equal width, in the place of auto, which
is not at hand. Mean distance of the test part (the last fifth of the paper's 60/20/20, as in
`m4n_tables`), and the duality gap of the oracle, mean over the last pass; three splits. A Gaussian
kernel, γ = 1/p, of standardised rows, α = 2⁻¹⁰; "exact" is the oracle in closed form.
"""

import numpy as np
from numba import njit
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import load

SPLITS, PASSES, ALPHA = 3, 100, 2.0**-10
ITERATIONS = (10, 30, 50, 100)
#: Rows and outputs, and the paper's table: loss and oracle error by K, warm and cold.
SETS = {
    "machine": (
        ("X_chu", "y_chu"),
        "0.42 / 0.57  0.41 / 0.43  0.41 / 0.22  0.41 / 0.13",
        "0.50 / 4.41  0.50 / 2.74  0.44 / 1.25  0.42 / 0.63",
    ),
    "wisconsin": (
        ("X", "y_eqwidth"),
        "0.56 / 1.55  0.55 / 1.29  0.51 / 0.81  0.50 / 0.44  (auto)",
        "0.61 / 2.66  0.57 / 1.79  0.53 / 0.89  0.51 / 0.47  (auto)",
    ),
}


@njit(cache=True)
def tilted(p, gain):
    """p e^gain, normalised."""
    found = np.log(p) + gain
    found = np.exp(found - found.max())
    return np.maximum(found / found.sum(), 1e-300)


@njit(cache=True)
def mirror_prox(A, v, mu, nu, eta, K):
    """Means of the half-steps of Algorithm 2."""
    mean_mu, mean_nu = np.zeros_like(mu), np.zeros_like(nu)
    for _ in range(K):
        half_mu, half_nu = tilted(mu, eta * (A.T @ nu + v)), tilted(nu, -eta * (A @ mu))
        mu, nu = tilted(mu, eta * (A.T @ half_nu + v)), tilted(nu, -eta * (A @ half_mu))
        mean_mu += half_mu / K
        mean_nu += half_nu / K
    return mean_mu, mean_nu


@njit(cache=True)
def exact(A, v):
    """The best mean for the distance between classes: of two classes, half of each."""
    k = len(v)
    mu, grades = np.zeros(k), np.arange(k)
    mu[np.argmax(v - grades)] += 0.5
    mu[np.argmax(v + grades)] += 0.5
    return mu


@njit(cache=True)
def fit(G, y, A, alpha, passes, K, warm, order):
    """Means of the rows, and the mean gap of the oracle in the last pass; K = 0 is exact."""
    n, k = len(y), len(A)
    means, sums = np.zeros((n, k)), np.zeros((n, k))
    for i in range(n):
        means[i, y[i]] = 1.0
    truth, eta, gap = means.copy(), 1.0 / A.max(), 0.0
    start_mu, start_nu = np.full((n, k), 1.0 / k), np.full((n, k), 1.0 / k)
    for t in range(passes * n):
        i = order[t]
        v = sums[i] / (alpha * n)
        if K:
            mu, nu = mirror_prox(A, v, start_mu[i].copy(), start_nu[i].copy(), eta, K)
            if warm:
                start_mu[i], start_nu[i] = mu, nu
            if t >= (passes - 1) * n:
                gap += ((A.T @ nu + v).max() - (A @ mu).min() - v @ mu) / n
        else:
            mu = exact(A, v)
        move = 2.0 * n / (t + 2.0 * n) * (mu - means[i])
        means[i] += move
        for j in range(n):
            sums[j] -= G[j, i] * move
    return truth - means, gap


def split(name, seed):
    """Kernel of the training part, its classes, kernel of test and training part, classes."""
    arrays, (rows, labels) = load(name), SETS[name][0]
    X, y = arrays[rows].astype(np.float64), arrays[labels].astype(np.int64)
    order = np.random.RandomState(seed).permutation(len(y))
    train, _, test = np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])
    scaler = StandardScaler().fit(X[train])
    kernel = RBF(np.sqrt(X.shape[1] / 2.0))
    Z, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
    return kernel(Z) + 1.0, y[train], kernel(Z_test, Z) + 1.0, y[test]


def result(name, seed, K, warm, passes):
    """Test loss and gap of one fit."""
    G, y, G_test, y_test = split(name, seed)
    k = int(max(y.max(), y_test.max())) + 1
    A = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    order = np.random.RandomState(seed).randint(len(y), size=passes * len(y))
    coefs, gap = fit(G, y, A, ALPHA, passes, K, warm, order)
    predicted = (G_test @ coefs).argmax(axis=1)
    return float(np.abs(predicted - y_test).mean()), gap


def line(out, name, start, passes):
    """Loss and gap by K."""
    cells, row = [], {}
    for K in ITERATIONS:
        found = [result(name, seed, K, start == "warm", passes) for seed in range(SPLITS)]
        loss, gap = np.mean(found, axis=0)
        cells.append(f"{loss:.2f} / {gap:.2f}")
        row |= {f"loss {K}": float(loss), f"gap {K}": float(gap)}
    out.add(f"{name:10} {start:5}  {'  '.join(cells)}", table=name, start=start, **row)


def main():
    args = arguments(__doc__)
    passes = 5 if args.quick else PASSES
    with Results(__file__, args) as out:
        out.say(f"test loss / gap of the oracle in the last pass, K = {ITERATIONS}")
        for name, (_, warm, cold) in SETS.items():
            line(out, name, "warm", passes)
            line(out, name, "cold", passes)
            losses = [result(name, seed, 0, False, passes)[0] for seed in range(SPLITS)]
            out.add(f"{name:10} exact  {np.mean(losses):.2f}", table=name, start="exact")
            out.say(f"{'paper':10} warm   {warm}")
            out.say(f"{'paper':10} cold   {cold}")


if __name__ == "__main__":
    main()
