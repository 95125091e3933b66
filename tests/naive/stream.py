"""Bins of columns and pairs, and weights of members of a stream, one number after the other."""

import itertools
import math


def bin_of(x, edges):
    """How many edges are not above x; one more than there are bins for NaN."""
    return len(edges) + 1 if math.isnan(x) else sum(edge <= x for edge in edges)


def ones_of(row, fine, coarse, pairs):
    """Names of the ones of a row: of each column its bin, of each pair both."""
    own = {("column", j, bin_of(x, fine[j])) for j, x in enumerate(row)}
    return own | {
        ("pair", i, j, bin_of(row[i], coarse[i]), bin_of(row[j], coarse[j])) for i, j in pairs
    }


def names(fine, coarse, pairs):
    """Names of all columns in their order."""
    for j, edges in enumerate(fine):
        yield from (("column", j, b) for b in range(len(edges) + 2))
    for i, j in pairs:
        both = (range(len(coarse[k]) + 2) for k in (i, j))
        yield from (("pair", i, j, *bins) for bins in itertools.product(*both))


def mixed(means, truths, weight, v, unit, share):
    """Mixtures before each row, and the weights after the last one."""
    said, total, rounds = [], 0.0, 0
    for i, y in enumerate(truths):
        said.append([sum(v[e] * means[e][i][k] for e in range(len(v))) for k in range(len(y))])
        if weight[i] == 0.0:
            continue
        total, rounds = total + weight[i], rounds + 1
        lost = [sum(((m[i][k] - y[k]) / unit) ** 2 for k in range(len(y))) for m in means]
        v = [
            p * math.exp(-weight[i] / (total / rounds) * one)
            for p, one in zip(v, lost, strict=True)
        ]
        v = [(1.0 - share) * p / sum(v) + share / len(v) for p in v]
    return said, v
