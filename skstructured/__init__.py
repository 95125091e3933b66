"""Online and batch structured prediction with guarantees, behind the scikit-learn interface."""

from skstructured.abstention import AbstainingHedgeClassifier
from skstructured.bandits import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.boosting import AdaBoostOLMClassifier, OnlineTreeClassifier
from skstructured.crf import ConditionalRandomField
from skstructured.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.gaptron import GaptronClassifier
from skstructured.kernel import (
    AveragedKernelSGDClassifier,
    KernelPerceptronClassifier,
    KernelStructuredPredictor,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.learner import OnlineLearner
from skstructured.logistic import (
    AggregatingForecaster,
    AioliClassifier,
    FolkloreClassifier,
    GaussianAggregatingForecaster,
    OnlineNewtonClassifier,
)
from skstructured.losses import FenchelYoung
from skstructured.margin import MaxMinMarginNetwork, QuadraticSurrogate, StructuralSVM
from skstructured.online import OnlineStructuredPredictor
from skstructured.perceptron import MulticlassPerceptron, SecondOrderPerceptron
from skstructured.risk import RiskMonitor
from skstructured.sequences import SequenceTransformer
from skstructured.shards import average_fitted

__version__ = "0.1.0"

__all__ = [
    "AbstainingHedgeClassifier",
    "AdaBoostOLMClassifier",
    "AggregatingForecaster",
    "AioliClassifier",
    "AveragedKernelSGDClassifier",
    "BanditGaptronClassifier",
    "BanditReduction",
    "BanditronClassifier",
    "ConditionalRandomField",
    "ConfiditClassifier",
    "FenchelYoung",
    "FolkloreClassifier",
    "GaptronClassifier",
    "GaussianAggregatingForecaster",
    "GuaranteeError",
    "GuaranteeWarning",
    "KernelPerceptronClassifier",
    "KernelStructuredPredictor",
    "MaxMinMarginNetwork",
    "MulticlassPerceptron",
    "NewtronClassifier",
    "OnlineLearner",
    "OnlineNewtonClassifier",
    "OnlineStructuredPredictor",
    "OnlineTreeClassifier",
    "PiSTOLClassifier",
    "PiSTOLRegressor",
    "QuadraticSurrogate",
    "RiskMonitor",
    "SOBAClassifier",
    "SecondOrderPerceptron",
    "SequenceTransformer",
    "StructuralSVM",
    "__version__",
    "average_fitted",
]
