"""
Task: sort news by topic, out of core
=====================================

Twenty newsgroups, with words and pairs of words as features, hundreds of thousands of them, learned
in chunks as they might come from a disk. Without the data set a made-up text stands in.
"""

# %%
# X is a CSR matrix of what stands in a text, y has the topics. Texts are divided by their lengths,
# as is usual for words; features that occur in one text only are left out.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import ComplementNB
from sklearn.preprocessing import normalize

from skstructured import OnlineStructuredPredictor

file = Path(os.environ.get("SKSTRUCTURED_DATA", "data")) / "news20_bigram.npz"
if file.exists():
    with np.load(file) as news:
        delta, pointers = news["indices_delta"].astype(np.int64), news["indptr"]
        first = pointers[:-1][np.diff(pointers) > 0]  # columns are differences within a row
        column, lengths = delta.cumsum(), np.diff(pointers)[np.diff(pointers) > 0]
        column -= np.repeat(column[first] - delta[first], lengths)
        X = csr_matrix((np.ones(len(column)), column, pointers), news["shape"])
        y, old = news["classes"][news["y"]], news["is_train"]
else:
    rng = np.random.RandomState(0)
    topics, column = rng.randint(8, size=6000), (20_000 * rng.rand(6000, 60) ** 3).astype(int)
    own = rng.rand(6000, 60) < 0.2
    column[own] = (column // 8 * 8 + topics[:, None])[own]
    X = csr_matrix(
        (np.ones(column.size), column.ravel(), np.arange(0, 360_001, 60)), (6000, 20_000)
    )
    y, old = np.array(list("abcdefgh"))[topics], np.arange(6000) < 4000
X = normalize(X[:, X[old].getnnz(axis=0) > 1])
chunks = np.array_split(np.random.RandomState(0).permutation(np.flatnonzero(old)), 8)

# %%
# All topics must be named in the first call. The accuracy is that on the rows for testing, beside
# that of a naive Bayes classifier, which is quick and good on topics.

models = {"online": OnlineStructuredPredictor(random_state=0), "naive Bayes": ComplementNB()}
accuracy = {name: [] for name in models}
for rows in chunks:
    for name, model in models.items():
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
        accuracy[name].append(model.score(X[~old], y[~old]))
for name, values in accuracy.items():
    print(f"{name}: {values[-1]:.1%} of {np.sum(~old)} new texts right, {X.shape[1]} features")

# %%
# How sure each of them is: where the online learner is surest it errs least, so that the rest can
# be left to people.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for name, model in models.items():
    axes[0].plot(np.cumsum([len(rows) for rows in chunks]), accuracy[name], "o-", label=name)
    P = model.predict_proba(X[~old])
    right = (model.classes_[P.argmax(axis=1)] == y[~old])[np.argsort(-P.max(axis=1))]
    axes[1].plot(np.linspace(0, 1, len(right)), np.cumsum(right) / np.arange(1, len(right) + 1))
axes[0].set(xlabel="texts learned", ylabel="accuracy on new texts")
axes[0].legend()
axes[1].set(xlabel="share of new texts, surest first", ylabel="accuracy among them", ylim=(0.5, 1))
plt.show()
