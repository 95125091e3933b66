"""Chains of labels: marginals, best labels, draws, entropies, projections, for batches of them.

It knows no space, loss or learner: scores in, numbers out. See `skstructured._chains.batch`.
"""
