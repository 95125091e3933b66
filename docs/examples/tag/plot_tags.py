"""
Tag texts for the largest F1
============================

Generated texts, counts of 300 words, that carry some of 20 tags, a few of which are rare. Which
decoder has the best F1, of texts and of tags, beside one linear classifier for each tag?
"""

# %%
# Both X and Y may be sparse.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from skstructured import OnlineStructuredPredictor

X, Y = make_multilabel_classification(4000, 300, n_classes=20, length=100, random_state=0)
X = csr_matrix(X)
X, X_new, Y, Y_new = train_test_split(X, Y, random_state=0)

# %%
# Tags are judged by F1, so that the decoder is "f1". It can be compared with others after one fit.

model, result = OnlineStructuredPredictor("hypercube", random_state=0).fit(X, Y), {}
for decoder in ("nearest", "f1"):
    result[f"decoder={decoder!r}"] = model.set_params(decoder=decoder).predict(X_new)
baseline = OneVsRestClassifier(SGDClassifier(random_state=0)).fit(X, Y)
result["one SGDClassifier a tag"] = baseline.predict(X_new)
scores = {
    name: [f1_score(Y_new, Z, average=kind, zero_division=0.0) for kind in ("samples", "macro")]
    for name, Z in result.items()
}
for name, (samples, macro) in scores.items():
    size = result[name].sum(axis=1).mean()
    print(f"{name:24} F1 of articles {samples:.3f}, of tags {macro:.3f}, {size:.1f} tags")

# %%
# F1 by how frequent a tag is.

order = np.argsort(-Y.sum(axis=0))
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for name, Z in result.items():
    f1 = f1_score(Y_new, Z, average=None, zero_division=0.0)[order]
    ax.plot(np.convolve(f1, np.full(10, 0.1), "valid"), label=name)
ax.set(xlabel="tag, the frequent ones first (means of ten)", ylabel="F1 of the tag")
ax.legend()
plt.show()
