"""Online multiclass learners that only see whether their own choice was right."""

from skstructured.bandits._base import BanditClassifier
from skstructured.bandits._rounds import BanditRounds
from skstructured.bandits.banditron import BanditronClassifier
from skstructured.bandits.confidit import ConfiditClassifier
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.bandits.newtron import NewtronClassifier
from skstructured.bandits.reduction import BanditReduction
from skstructured.bandits.soba import SOBAClassifier
from skstructured.estimators.perceptron import SecondOrderPerceptron

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
