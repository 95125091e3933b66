"""
Compare losses, decoders and optimisers in one grid search
==========================================================

What is learned by, how scores become answers and how weights move are parameters, so that one
`GridSearchCV` compares them all. The score is the error of a draw of the decoder on rows that were
not learned.
"""

# %%
# Scikit-learn's digits, one pass. The star marks what keeps a guarantee: its `certificate` is a
# number, the others raise `GuaranteeError`.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skstructured import GuaranteeError, OnlineStructuredPredictor
from skstructured.metrics import expected_target_loss_scorer

X, y = load_digits(return_X_y=True)
grid = [
    {"regularizer": ["shannon", "squared"], "optimizer": ["parameter_free", "adagrad"]},
    {"loss": ["hinge", "smooth_hinge"], "decoder": ["gap"], "optimizer": ["ogd", "adagrad"]},
    {"loss": ["hinge", "perceptron"], "decoder": ["nearest"], "optimizer": ["ftrl", "adagrad"]},
]
model = OnlineStructuredPredictor(max_iter=1, random_state=0)
search = GridSearchCV(model, grid, scoring=expected_target_loss_scorer, cv=3).fit(X, y)


def guaranteed(params):
    """Whether a theorem bounds what the model loses while it learns."""
    try:
        return bool(model.set_params(**params).fit(X, y).certificate())
    except GuaranteeError:
        return False


# %%
# The best are at the top.

found = search.cv_results_
losses = {}
for place in found["rank_test_score"].argsort():
    params = found["params"][place]
    model = OnlineStructuredPredictor(max_iter=1, random_state=0)
    name = ", ".join(map(str, params.values())) + " *" * guaranteed(params)
    losses[name] = -found["mean_test_score"][place]
    print(f"{losses[name]:.3f}  {name}")

# %%
_, ax = plt.subplots(figsize=(7, 4))
ax.barh(list(losses)[::-1], list(losses.values())[::-1])
ax.set_xlabel("expected share of wrong answers")
plt.tight_layout()
plt.show()
