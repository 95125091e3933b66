"""What a round of FOLKLORE costs: beside BLAS, beside the literal algorithm, and as K and p grow.

"BLAS" is one symmetric update of rank K − 1 (dsyrk) and one product of a symmetric matrix with
K − 1 vectors (dsymm), both of size K p, in one thread. "numpy" is the algorithm over all K p
weights as one would write it with numpy: A⁻¹ by Woodbury's formula, logits by scipy's solver.
"Literal" inverts A in every round.
"""

import numpy as np
from scipy.linalg.blas import dsymm, dsyrk
from scipy.optimize import root

from benchmarks._common import Results, arguments
from benchmarks._statistics import slope
from benchmarks._timing import in_turns
from skstructured.estimators.logistic._rounds import largest_curvature
from skstructured.estimators.logistic.folklore import FolkloreMatrix

SIZES = [(2, 64), (3, 64), (5, 64), (10, 8), (10, 16), (10, 32), (10, 64), (10, 96), (20, 64)]


def blas(K, p):
    """A task: the two calls."""
    rng, n = np.random.RandomState(0), K * p
    C = np.asfortranarray(rng.randn(n, n))
    U = np.asfortranarray(1e-8 * rng.randn(n, K - 1))

    def task():
        dsyrk(-1.0, U, beta=1.0, c=C, overwrite_c=1)
        dsymm(1.0, C, U)

    return task


def rounds(K, p, n):
    """A task: n rounds of ours."""
    rng, state = np.random.RandomState(0), FolkloreMatrix(K, p, 0.5, 1.0)
    X, Y = rng.randn(n, p), np.eye(K)[rng.randint(K, size=n)]
    return lambda: state.learn(X, Y, np.ones(n))


def softmax(z):
    """Softmax of a vector."""
    e = np.exp(z - z.max())
    return e / e.sum()


def literal(K, p, n, inverts):
    """A task: n rounds over all weights with numpy; A is inverted, or its inverse kept."""
    rng = np.random.RandomState(0)
    X, Y = rng.randn(n, p), np.eye(K)[rng.randint(K, size=n)]
    matrix, inverse, G = 0.5 * np.eye(K * p), np.eye(K * p) / 0.5, np.zeros(K * p)

    def task():
        for x, y in zip(X, Y, strict=True):
            each = np.kron(np.eye(K), x[:, None])
            product = inverse @ each
            A = 0.5 * each.T @ product
            g = -0.5 * product.T @ G + 0.5 * np.diag(A)
            z = root(lambda z, g=g, A=A: z - g + A @ softmax(z), g).x
            s = softmax(z)
            h = np.diag(s) - np.outer(s, s)
            kappa = largest_curvature(2.0 * np.linalg.norm(x) + np.log(K - 1))
            if inverts:
                matrix[...] += kappa * each @ h @ each.T
                inverse[...] = np.linalg.inv(matrix)
            else:
                middle = np.linalg.solve(np.eye(K) + kappa * h @ (2.0 * A), kappa * h)
                inverse[...] -= product @ middle @ product.T
            G[...] += np.kron(s - y - 2.0 * kappa * h @ z, x)

    return task


def main():
    """Print the tables."""
    args = arguments(__doc__, repeat=7)
    sizes = [(3, 16), (10, 16)] if args.quick else SIZES
    with Results(__file__, args) as out:
        out.say("\n   K    p    ours us  ours/BLAS  numpy/ours  literal/ours")
        ours = {}
        for K, p in sizes:
            n, few = max(20, min(2000, int(2e8 / (K * p) ** 2 / K))), 4
            tasks = (
                rounds(K, p, n),
                blas(K, p),
                literal(K, p, 20, False),
                literal(K, p, few, True),
            )
            mine, theirs, kept, naive = np.median(in_turns(tasks, args.repeat), axis=0) * 1e6
            mine, kept, naive = mine / n, kept / 20, naive / few
            line = f"{K:4d} {p:4d} {mine:10.1f} {mine / theirs:10.2f} {kept / mine:11.1f}"
            named = {"ours_us": mine, "blas_us": theirs, "numpy_us": kept, "literal_us": naive}
            out.add(f"{line} {naive / mine:13.1f}", K=K, p=p, **named)
            ours[K, p] = mine
        if not args.quick:
            in_p = [(p, ours[10, p]) for p in (32, 64, 96)]
            in_K = [(K, ours[K, 64]) for K in (5, 10, 20)]
            out.say(f"\nexponent in p (K = 10): {slope(*zip(*in_p, strict=True)):.2f} (theory: 2)")
            out.say(f"exponent in K (p = 64): {slope(*zip(*in_K, strict=True)):.2f} (theory: 3)")


if __name__ == "__main__":
    main()
