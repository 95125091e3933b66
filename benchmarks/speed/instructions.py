"""What the explicit vector instructions and prefetches of the CSR pass are worth.

The shipped kernel is compiled again from its own source with other functions in the place of
`add_row` (a plain loop), of the prefetches (none), and of both; and there is the kernel one would
write first, with a plain loop for each row. All learn the same rows in turns, with constant-step
OGD; a line gives medians, and the median of the ratios to the shipped kernel of the same turn.
"""

import functools
import types

import numpy as np
from numba import njit

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from benchmarks.synthetic import FEW, NON_ZEROS, N, sparse_problem
from skstructured import OnlineStructuredPredictor

# All that is private: the module of the shipped kernel and the names it uses in it; the options
# it is compiled with; and the signature of `plain_advance` below, that of the shipped kernel.
from skstructured import _advance as shipped
from skstructured.optimizers import GradientDescent

ADD_ROW, PREFETCH, SCORE = "add_row", "_prefetch_row", "_score_csr"
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": shipped.FASTMATH}


@njit(**OPTIONS)
def plain_row(target, at, factors, source, starts, length):
    """`add_row` as a loop, with unsigned positions, which are not checked for being negative."""
    goal, flat = target.reshape(-1), source.reshape(-1)
    for k in range(length):
        total = 0.0
        for i in range(len(factors)):
            total += factors[i] * flat[np.uint64(starts[i] + k)]
        goal[np.uint64(at + k)] += total


@njit(**OPTIONS)
def no_prefetch(Theta, start, first_line, length, stride):
    """Ask for nothing."""


@njit(**OPTIONS)
def plain_advance(data, indices, indptr, width, row, ahead, Theta, state, move, u, raw):
    """The CSR pass as one would write it first."""
    intercept, dim = Theta.shape[0] > width, raw.shape[0]
    z_sq = 1.0 if intercept else 0.0
    for t in range(indptr[row], indptr[row + 1]):
        for k in range(Theta.shape[1]):
            Theta[indices[t], k] += u * data[t] * move[k]
    raw[:] = 0.0
    if intercept:
        for k in range(Theta.shape[1]):
            Theta[width, k] += u * move[k]
        raw[:] = Theta[width, :dim]
    for t in range(indptr[ahead], indptr[ahead + 1]):
        z_sq += data[t] * data[t]
        for k in range(dim):
            raw[k] += data[t] * Theta[indices[t], k]
    return z_sq


def rebuilt(kernel, **replaced):
    """A kernel compiled again from its source, where some names stand for other functions."""
    source = kernel.py_func
    names = source.__globals__ | replaced
    again = types.FunctionType(source.__code__, names, source.__name__, None, source.__closure__)
    return njit(**OPTIONS)(again)


@functools.cache
def without(kernel, *names):
    """The shipped kernel, and the scores within it, without what is called so."""
    plain = {ADD_ROW: plain_row, PREFETCH: no_prefetch}
    replaced = {name: plain[name] for name in names}
    score = rebuilt(getattr(shipped, SCORE), **replaced)
    return rebuilt(kernel, **replaced, **{SCORE: score})


class PlainRows(GradientDescent):
    removed = (ADD_ROW,)

    def advance_kernel(self, *wanted):
        return without(super().advance_kernel(*wanted), *self.removed)


class NoPrefetch(PlainRows):
    removed = (PREFETCH,)


class Neither(PlainRows):
    removed = (ADD_ROW, PREFETCH)


class FirstDraft(GradientDescent):
    def advance_kernel(self, *wanted):
        return plain_advance


VARIANTS = {
    "shipped": GradientDescent,
    "plain loop for add_row": PlainRows,
    "no prefetch": NoPrefetch,
    "plain loop, no prefetch": Neither,
    "first draft": FirstDraft,
}
#: Features and classes: Θ is far larger than a cache, or fits in it.
SHAPES = ((100_000, 10), (1000, 2), (1000, 10), (1000, 40))


def compare(out, p, classes, average, n, repeat):
    """All variants on one problem; their weights agree."""
    X, y = sparse_problem(n, p, classes)[:2]
    models = [OnlineStructuredPredictor(optimizer=v(), average=average) for v in VARIANTS.values()]
    times = in_turns([lambda m=model: m.fit(X, y) for model in models], repeat)
    assert all(np.allclose(model.coef_, models[0].coef_) for model in models)
    title = f"CSR n={n}, p={p}, {NON_ZEROS} non-zeros, K={classes}" + ", averaged" * average
    out.say(f"{title}: us a row, times shipped")
    medians, ratios = np.median(times, axis=0), np.median(times / times[:, :1], axis=0)
    for name, t, ratio in zip(VARIANTS, medians / n * 1e6, ratios, strict=True):
        row = {"p": p, "classes": classes, "averaged": average, "us": t, "times_shipped": ratio}
        out.add(f"  {name:24} {t:7.2f} {ratio:7.2f}", kernel=name, **row)


def main():
    args = arguments(__doc__, repeat=21)
    with Results(__file__, args) as out:
        out.say(f"medians of {args.repeat}, in turns")
        for p, classes in SHAPES[:1] if args.quick else SHAPES:
            for average in (False, True):
                compare(out, p, classes, average, FEW if args.quick else N, args.repeat)


if __name__ == "__main__":
    main()
