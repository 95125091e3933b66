"""
Dependency trees: a custom space for sentences of any lengths
=============================================================

In a dependency tree, each word of a sentence has a head, another word or the root. Sentences have
different lengths, and each pair of a word and a possible head has features. A custom output space
with a linear oracle is enough to learn such trees online.
"""

# %%
# `DependencyTrees` is a custom output space: its vertices mark the pairs of a tree, and its oracle
# is the maximum spanning arborescence. `simulate` makes sentences of two to seven words. Both are
# in the file ``docs/snippets/dependency_trees.py``, which must be in the path of Python.

import matplotlib.pyplot as plt
import numpy as np
from dependency_trees import DependencyTrees, find_cycle, nodes_of, simulate

from skstructured.items import ItemStructuredPredictor

X, y = simulate(160, random_state=1)
X_new, y_new = simulate(100, random_state=2)

# %%
# One vector of weights scores all pairs. The first learner chooses the head of each word by itself,
# so a word is a round and its possible heads are the items. The second one learns whole trees.


def right_heads(heads):
    """Share of the new words that have the right head."""
    return np.mean(np.concatenate(heads) == np.concatenate(y_new))


def is_tree(heads):
    """Whether all words lead to a root."""
    return find_cycle(nodes_of(heads)) is None


words = ItemStructuredPredictor("simplex", random_state=0)
trees = ItemStructuredPredictor(DependencyTrees(), random_state=0)
seen, curve = [], []
for start in range(0, len(X), 20):
    sentences = slice(start, start + 20)
    words.partial_fit([row for x in X[sentences] for row in x], np.concatenate(y[sentences]))
    trees.partial_fit(X[sentences], y[sentences])
    alone = [words.predict([*x]) for x in X_new]
    together = trees.predict(X_new)
    seen.append(start + 20)
    curve.append((right_heads(alone), right_heads(together)))

share = np.mean([is_tree(heads) for heads in alone])
print(f"right heads: words alone {curve[-1][0]:.1%}, trees {curve[-1][1]:.1%}")
print(f"predictions that are trees: words alone {share:.0%}")

# %%
# The figure shows the share of right heads in new sentences, after so many sentences of the stream.

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for name, values in zip(("words alone", "trees"), np.transpose(curve), strict=True):
    ax.plot(seen, 100 * values, "o-", label=name)
ax.set(xlabel="sentences learned", ylabel="right heads in %")
ax.legend()

plt.show()

# %%
# What we see: whole trees have more right heads than words alone, whose predictions are often
# not trees.
