"""Bandits: learners that only see the reward of the class that they choose."""

from skstructured.bandits._base import BanditClassifier, BanditRounds
from skstructured.bandits._first_order import BanditGaptronClassifier, BanditronClassifier
from skstructured.bandits._second_order import (
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.bandits.reduction import BanditReduction
from skstructured.estimators.online import SecondOrderPerceptron

__all__ = [
    "BanditClassifier",
    "BanditGaptronClassifier",
    "BanditReduction",
    "BanditRounds",
    "BanditronClassifier",
    "ConfiditClassifier",
    "NewtronClassifier",
    "SOBAClassifier",
    "SecondOrderPerceptron",
]
