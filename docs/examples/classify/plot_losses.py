"""
Compare losses, decoders and optimizers in one grid search
==========================================================

The loss, the decoder and the optimizer are parameters of the learner, so one `GridSearchCV`
compares them all. The score is the expected error of a random draw of the decoder on held-out rows.
"""

# %%
# Scikit-learn's digits, one pass. A star marks combinations that have a regret bound: their
# `certificate` is a number; the others raise a `GuaranteeError`.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skstructured import GuaranteeError, OnlineStructuredPredictor
from skstructured.metrics import expected_target_loss_scorer

X, y = load_digits(return_X_y=True)
grid = [
    {"regularizer": ["shannon", "squared"], "optimizer": ["parameter_free", "pistol"]},
    {"loss": ["hinge", "smooth_hinge"], "decoder": ["gap"], "optimizer": ["ogd", "pistol"]},
    {"loss": ["hinge", "perceptron"], "decoder": ["nearest"], "optimizer": ["adaptive", "pistol"]},
]
model = OnlineStructuredPredictor(max_iter=1, random_state=0)
search = GridSearchCV(model, grid, scoring=expected_target_loss_scorer, cv=3).fit(X, y)


def guaranteed(params):
    """Whether a theorem bounds the losses of the model while it learns."""
    try:
        return bool(model.set_params(**params).fit(X, y).certificate())
    except GuaranteeError:
        return False


# %%
# All combinations, the best first.

found = search.cv_results_
losses = {}
for place in found["rank_test_score"].argsort():
    params = found["params"][place]
    model = OnlineStructuredPredictor(max_iter=1, random_state=0)
    name = ", ".join(map(str, params.values())) + " *" * guaranteed(params)
    losses[name] = -found["mean_test_score"][place]
    print(f"{losses[name]:.3f}  {name}")

# %%
# Each bar is the expected error of one combination; a star marks those with a regret bound. Look at
# whether the combinations with a bound are less accurate than the others.
_, ax = plt.subplots(figsize=(7, 4))
ax.barh(list(losses)[::-1], list(losses.values())[::-1])
ax.set_xlabel("expected share of wrong answers")
plt.tight_layout()
plt.show()

# %%
# What we see: the most accurate combinations have the hinge and no regret bound. Among those with a
# bound, "parameter_free" is the most accurate; gradient descent with the step size of its bound
# learns little in one pass.
