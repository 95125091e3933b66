"""
Rank search results as queries come
===================================

Each query has results of its own, and a grade for each. ``ListwiseRanker`` ranks a query, sees the
grades and learns. A ridge regression of single grades, fitted anew after every ten queries, does
not see that only results of one query compete.
"""

# %%
# Results have a match with the query, clicks and an age. How good they are in all depends on the
# query: easy ones have many results of high grades, and long clicks, hard ones have none. That says
# nothing of the order within a query.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import ListwiseRanker
from skstructured.guarantees import risk_bound
from skstructured.items.metrics import ndcg

rng = np.random.default_rng(0)
QUERIES, FIRST = 400, 10
queries, grades = [], []
for m in rng.integers(8, 25, size=QUERIES):
    easy, match, age = rng.normal(), rng.random(m), rng.gamma(2.0, 200.0, m)
    clicks = np.exp(1.5 * easy + match + 0.5 * rng.normal(size=m))
    liked = 3.0 * match - age / 500.0 + 1.5 * easy + 0.7 * rng.normal(size=m)
    queries.append(np.column_stack([match, clicks, age]))
    grades.append(np.clip(np.round(liked), 0.0, 4.0))

# %%
# Every query is ranked before it is learned. Where all grades are 0, there is no order to find.

ranker = ListwiseRanker(random_state=0)
ridge = make_pipeline(StandardScaler(), Ridge())
found = {"ListwiseRanker": [], "ridge on grades": [], "random order": []}
for t, (x, y) in enumerate(zip(queries, grades, strict=True)):
    if t and t % FIRST == 0:
        ridge.fit(np.concatenate(queries[:t]), np.concatenate(grades[:t]))
    if t >= FIRST and y.any():
        scores = ranker.predict([x])[0], ridge.predict(x), np.zeros(len(x))
        for values, s in zip(found.values(), scores, strict=True):
            values.append(ndcg([y], [s], k=5))
    ranker.partial_fit([x], [y])

# %%
# Means over the queries so far. What the second half says of new queries needs no test set: the
# losses 1 − NDCG were taken before anything was learned of their queries.

late = 1.0 - np.array(found["ListwiseRanker"])[len(found["ListwiseRanker"]) // 2 :]
bound = 1.0 - risk_bound(np.clip(late, 0.0, 1.0), delta=0.05)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, values in found.items():
    print(f"{name:16} NDCG@5 {np.mean(values):.3f}")
    left.plot(np.cumsum(values) / np.arange(1, len(values) + 1), label=name)
print(f"new queries: at least {bound:.3f}, with 95% confidence")
left.axhline(bound, color="C0", ls=":", label="new queries, at least")
left.set(xlabel="query", ylabel="NDCG@5, mean so far", ylim=(None, 1.0))
left.legend(fontsize=8)

# %%
# The ridge gives clicks a weight, which tell of the query. In units of deviations within queries:

within = np.std(np.concatenate([x - x.mean(axis=0) for x in queries]), axis=0)
sizes = {"ListwiseRanker": ranker.coef_, "ridge on grades": ridge[-1].coef_ / ridge[0].scale_}
for shift, (name, weights) in zip((-0.2, 0.2), sizes.items(), strict=True):
    effect = weights * within
    right.bar(np.arange(3) + shift, effect / np.abs(effect).max(), 0.4, label=name)
right.set_xticks(range(3), ("match", "clicks", "age"))
right.axhline(0.0, color="k", linewidth=0.8)
right.set_title("weights, the largest 1")
right.legend(fontsize=8)
plt.show()
