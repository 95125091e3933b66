"""Learners that see the reward of their own choice alone: a class, or an action with features."""

from skstructured.bandits._base import BanditClassifier
from skstructured.bandits._rounds import BanditRounds
from skstructured.bandits.banditron import BanditronClassifier
from skstructured.bandits.confidit import ConfiditClassifier
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.bandits.lin_ucb import LinUCB
from skstructured.bandits.newtron import NewtronClassifier
from skstructured.bandits.reduction import BanditReduction
from skstructured.bandits.soba import SOBAClassifier
from skstructured.bandits.square_cb import SquareCB
from skstructured.bandits.thompson import LinearThompsonSampling
from skstructured.estimators.perceptron import SecondOrderPerceptron

__all__ = [
    "BanditClassifier",
    "BanditGaptronClassifier",
    "BanditReduction",
    "BanditRounds",
    "BanditronClassifier",
    "ConfiditClassifier",
    "LinUCB",
    "LinearThompsonSampling",
    "NewtronClassifier",
    "SOBAClassifier",
    "SecondOrderPerceptron",
    "SquareCB",
]
