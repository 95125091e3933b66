"""Learners of the papers: one pass in order over rows as they are, the last weights."""

from functools import partial

import skstructured as sk

ONE_PASS = {
    "average": False,
    "standardize": False,
    "max_iter": 1,
    "shuffle": False,
}

predictor = partial(sk.OnlineStructuredPredictor, optimizer="ogd", **ONE_PASS)
gaptron = partial(sk.GaptronClassifier, loss="logistic", **ONE_PASS)
perceptron = partial(sk.MulticlassPerceptron, **ONE_PASS)
second_order = partial(sk.SecondOrderPerceptron, standardize=False, shuffle=False)
bandit_gaptron = partial(sk.BanditGaptronClassifier, standardize=False)
banditron = partial(sk.BanditronClassifier, standardize=False)
soba = partial(sk.SOBAClassifier, standardize=False)
newtron = partial(sk.NewtronClassifier, standardize=False)
confidit = partial(sk.ConfiditClassifier, standardize=False)
