"""
Learn a table with missing values, strings and dates
====================================================

A table with missing values, categorical columns and dates, in one step before a learner. Every row
is predicted before it is learned, and these errors give a bound on the error of new rows.
"""

# %%
# The data are simulated: passengers with an age that is often missing, two categorical columns, and
# a day.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from skstructured import OnlineStructuredPredictor, TableEncoder
from skstructured.evaluation import progressive_validate

rng, n = np.random.RandomState(0), 3000
table = pd.DataFrame(
    {
        "age": np.where(rng.rand(n) < 0.3, np.nan, rng.gamma(6.0, 5.0, n)),
        "sex": rng.choice(["male", "female"], n),
        "class": rng.choice(["first", "second", "third", None], n),
        "boarded": pd.Timestamp("1912-04-10") + pd.to_timedelta(rng.randint(0, 6, n), "D"),
    }
)
score = 2.0 * (table["sex"] == "female") - 1.5 * (table["class"] == "third") - 0.5
survived = (score + rng.logistic(size=n) > 0).astype(int).to_numpy()
print(table.head())

# %%
# ``columns_`` of the ``TableEncoder`` has the type that it chose for each column. In a stream the
# first rows decide.

model = make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))
model.fit(table, survived)
print(pd.DataFrame(model[0].columns_))

# %%
# A bound for new rows needs an encoder that was fitted on other rows than those that are predicted.

X = TableEncoder().fit(table[:500]).transform(table[500:])
run = progressive_validate(OnlineStructuredPredictor(), X, survived[500:])
wrong = run.target_loss.mean()
bound = run.risk_bound(delta=0.05)
print(f"wrong while learning: {wrong:.3f}; new rows: at most {bound:.3f}")

# %%
# The left panel has the effects of the columns: the weights of "survived" minus those of "did not",
# in units of the columns' standard deviations. The right panel has the error so far and the bound;
# look at the distance between them.

W = model[-1].coef_
rows = model[0].transform(table)
effects = (W[1] - W[0]) * np.nanstd(rows, axis=0)
names = model[0].get_feature_names_out()
largest = np.argsort(-np.abs(effects))[:8][::-1]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.barh(names[largest], effects[largest])
left.set_title("effect on surviving")
right.plot(np.cumsum(run.target_loss) / np.arange(1, len(X) + 1), label="error so far")
right.axhline(bound, linestyle="--", color="k", label="bound for new rows")
right.set_ylim(0.0, 0.5)
right.set(xlabel="rows", ylabel="share wrong")
right.legend()
plt.show()

# %%
# What we see: sex and class have the largest effects, as in the simulated rule. The bound for new
# rows is a few percentage points above the error while learning.
