"""Online multiclass learners that only see whether their own choice was right."""

from skstructured.bandits._base import BanditClassifier, BanditRounds
from skstructured.bandits.first_order import BanditGaptronClassifier, BanditronClassifier
from skstructured.bandits.reduction import BanditReduction
from skstructured.bandits.second_order import (
    ConfiditClassifier,
    NewtronClassifier,
    SecondOrderPerceptron,
    SOBAClassifier,
)

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
