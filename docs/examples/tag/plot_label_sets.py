"""
Tags of a row: what is predicted depends on how it is judged
============================================================

A text has several tags, a photograph shows several things: a multilabel output is a row of zeros
and ones. The space is ``"hypercube"``. What is predicted from the probabilities of the labels
depends on how it will be judged, and is the decoder's business.
"""

# %%
# Made-up texts, counts of 60 words, that carry 3 of 12 tags on average.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor

X, Y = make_multilabel_classification(
    3000, 60, n_classes=12, n_labels=3, length=100, random_state=0
)
X, X_new, Y, Y_new = train_test_split(X, Y, random_state=0)
model = OnlineStructuredPredictor("hypercube", random_state=0).fit(X, Y)

# %%
# The decoder does not enter learning, and may be changed afterwards. "nearest" has each label that
# is likelier than not, which makes the fewest wrong labels; "f1" has the set of the largest
# expected F1, which takes in more labels where none is sure.


def tell(name, predicted):
    """Print wrong labels, F1 and the size of the sets."""
    wrong = hamming_loss(Y_new, predicted)
    f1 = f1_score(Y_new, predicted, average="samples", zero_division=1.0)
    print(f"{name:16} {wrong:.3f} of labels wrong, F1 {f1:.3f}, {predicted.sum(1).mean():.2f} tags")


for decoder in ("nearest", "f1"):
    tell(decoder, model.set_params(decoder=decoder).predict(X_new))
baseline = make_pipeline(StandardScaler(), OneVsRestClassifier(SGDClassifier(random_state=0)))
tell("one SGD a label", baseline.fit(X, Y).predict(X_new))

# %%
# The probabilities behind it, ten new texts: dark is likely, circles are the true tags, crosses
# are what "f1" predicts.

P, predicted = model.predict_proba(X_new[:10]), model.predict(X_new[:10])
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
image = ax.imshow(P, vmin=0, vmax=1, cmap="Blues")
ax.plot(*np.nonzero(Y_new[:10])[::-1], "o", ms=17, mfc="none", mec="tab:red", label="true")
ax.plot(*np.nonzero(predicted)[::-1], "x", ms=9, color="black", label="predicted for F1")
ax.set(xlabel="tag", ylabel="new text", xticks=range(12), yticks=range(10))
figure.legend(loc="outside upper right", ncols=2)
figure.colorbar(image, ax=ax, label="probability of the tag")

plt.show()
