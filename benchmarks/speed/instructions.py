"""What the explicit vector instructions and prefetches of the CSR pass are worth.

The shipped kernel is compiled again from its own source with other functions in the place of
`add_row` (a plain loop, which the compiler may turn into vectors; one lane at a time), of the
prefetches (none), and of both. The "first draft" is the kernel one would write first. All learn
the same rows in turns, with constant-step OGD; a line gives medians, and the median of the ratios
to the shipped kernel of the same turn. "compiled again" has nothing replaced: it should be at 1.
"""

import functools
import types

import numpy as np
from numba import njit

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._timing import in_turns
from benchmarks.synthetic import FEW, NON_ZEROS, N, sparse_problem

# All that is private: the module of the shipped kernel and the names it uses in it, the options
# it is compiled with, its vector instruction, and its signature, which `first_draft` has too.
from skstructured._engine import move_and_score as shipped
from skstructured._engine.simd import _add_lanes as add_lanes
from skstructured.optimizers import GradientDescent

ADD_ROW, PREFETCH, SCORE = "add_row", "prefetch_row", "_score_csr"
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": shipped.FASTMATH}


@njit(**OPTIONS)
def entry(array, at):
    """Entry of a flat array; unsigned positions are not checked for being negative."""
    if array.ndim == 1:
        return array[np.uint64(at)]
    return array[np.uint64(0), np.uint64(at)]


@njit(**OPTIONS)
def plain_row(target, at, factors, source, starts, length):
    """`add_row` as a loop that the compiler may turn into vectors."""
    for k in range(length):
        total = entry(target, at + k)
        for i in range(len(factors)):
            total += factors[i] * entry(source, starts[i] + k)
        if target.ndim == 1:
            target[np.uint64(at + k)] = total
        else:
            target[np.uint64(0), np.uint64(at + k)] = total


@njit(**OPTIONS)
def single_lanes(target, at, factors, source, starts, length):
    """`add_row` with vectors of one number."""
    for k in range(length):
        add_lanes(target, at, factors, source, starts, k, 1)


@njit(**OPTIONS)
def no_prefetch(Theta, start, first_line, length, stride):
    """Ask for nothing."""


@njit(**OPTIONS)
def first_draft(data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw):
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
    assert replaced.keys() <= source.__globals__.keys(), "the shipped kernel has other names"
    names = source.__globals__ | replaced
    again = types.FunctionType(source.__code__, names, source.__name__, None, source.__closure__)
    return njit(**OPTIONS)(again)


@functools.cache
def altered(kernel, **replaced):
    """The shipped CSR kernel, and the scores within it, with other functions in some places."""
    return rebuilt(kernel, **replaced, **{SCORE: rebuilt(getattr(shipped, SCORE), **replaced)})


def variant(**replaced):
    """An optimiser class whose CSR kernel is `altered`."""

    class Altered(GradientDescent):
        def move_and_score_kernel(self, *wanted):
            return altered(super().move_and_score_kernel(*wanted), **replaced)

    return Altered


class FirstDraft(GradientDescent):
    def move_and_score_kernel(self, *wanted):
        return first_draft


VARIANTS = {
    "shipped": GradientDescent,
    "compiled again": variant(),
    "plain loop": variant(**{ADD_ROW: plain_row}),
    "lane by lane": variant(**{ADD_ROW: single_lanes}),
    "no prefetch": variant(**{PREFETCH: no_prefetch}),
    "plain loop, no prefetch": variant(**{ADD_ROW: plain_row, PREFETCH: no_prefetch}),
    "first draft": FirstDraft,
}
#: Features and classes: Θ is far larger than a cache, or fits in it.
SHAPES = ((100_000, 10), (1000, 2), (1000, 10), (1000, 40))


def compare(out, p, classes, average, n, repeat):
    """All variants on one problem; their weights agree."""
    X, y = sparse_problem(n, p, classes)[:2]
    models = [predictor(optimizer=v(), average=average) for v in VARIANTS.values()]
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
        for p, classes in SHAPES[:1] if args.quick else SHAPES:
            for average in (False, True):
                compare(out, p, classes, average, FEW if args.quick else N, args.repeat)


if __name__ == "__main__":
    main()
