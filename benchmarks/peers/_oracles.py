"""Projections and assignments beside libraries that people take for them."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks._timing import side_by_side
from skstructured.losses import FenchelYoung
from skstructured.regularizers import SquaredNorm, Tsallis
from skstructured.spaces import Simplex
from skstructured.spaces._matching import assign_rows, sinkhorn

ROWS, CLASSES, ITEMS = 1000, 100, 50


def entmax_tasks(rng):
    """Sparsemax and 1.5-entmax of rows; torch with one thread."""
    import entmax
    import torch

    torch.set_num_threads(1)
    theta = 3.0 * rng.standard_normal((ROWS, CLASSES))
    tensor, space = torch.from_numpy(theta), Simplex().fit(np.arange(CLASSES))
    pairs = [
        ("sparsemax", SquaredNorm(), entmax.sparsemax),
        ("1.5-entmax", Tsallis(alpha=1.5), entmax.entmax15),
    ]
    for name, regularizer, function in pairs:
        loss = FenchelYoung(space, regularizer, scale=1.0)
        yield (
            f"{name}, {CLASSES} classes, entmax",
            lambda loss=loss: loss.mean(theta),
            lambda function=function: function(tensor, dim=-1).numpy(),
        )


def assignments(rng):
    """Best permutations of costs."""
    costs = rng.standard_normal((200, ITEMS * ITEMS))
    tables, V = costs.reshape(-1, ITEMS, ITEMS), np.empty_like(costs)

    def best():
        return np.array([linear_sum_assignment(-table)[1] for table in tables])

    yield f"assignment of {ITEMS} items, scipy", lambda: assign_rows(costs, V, ITEMS), best


def lapjv_tasks(rng):
    """The same beside lapjv."""
    from lapjv import lapjv

    costs = rng.standard_normal((200, ITEMS * ITEMS))
    tables, V = costs.reshape(-1, ITEMS, ITEMS), np.empty_like(costs)

    def best():
        return np.array([lapjv(-table)[0] for table in tables])

    yield f"assignment of {ITEMS} items, lapjv", lambda: assign_rows(costs, V, ITEMS), best


def marginal_error(P):
    """How far the sums of rows and columns are from uniform."""
    return sum(np.linalg.norm(P.sum(axis=axis) - 1.0 / len(P)) for axis in (0, 1))


def our_sinkhorn(scores, m, tolerance):
    K, b, columns = np.exp(scores), np.ones(m), np.empty(m)
    sinkhorn(K, b, columns, m, tolerance, 10_000, 1e9)
    P = K.reshape(m, m) * b
    return P / (m * P.sum(axis=1, keepdims=True))


def pot_tasks(rng, m=50, reg=0.1):
    """Entropic transport, ours at a tolerance that leaves margins no less exact than theirs."""
    import ot

    cost, uniform = rng.random((m, m)), np.full(m, 1.0 / m)
    scores, tolerance = (-cost / reg).ravel(), 1e-6

    def theirs():
        return ot.sinkhorn(uniform, uniform, cost, reg, stopThr=1e-9, numItermax=10_000)

    reached = marginal_error(theirs())
    while marginal_error(our_sinkhorn(scores, m, tolerance)) > reached and tolerance > 1e-15:
        tolerance /= 2
    yield f"Sinkhorn, {m} items, POT", lambda: our_sinkhorn(scores, m, tolerance), theirs


PEERS = (("ot", pot_tasks), ("lapjv", lapjv_tasks), ("entmax", entmax_tasks))


def compare(out, quick, is_there):
    """Milliseconds in turns."""
    rng = np.random.default_rng(0)
    out.say("\noracles: ours, theirs, in ms; theirs over ours")
    tasks = list(assignments(rng))
    for package, make in PEERS:
        tasks += list(make(rng)) if is_there(package) else []
    for name, mine, other in tasks:
        a, b, ratio = side_by_side(mine, other, 1 if quick else 7)
        line = f"   {name:40}{1e3 * a:9.2f}{1e3 * b:9.2f}{ratio:9.1f}"
        out.add(line, problem=name, seconds=a, peer_seconds=b)
