"""Online and batch structured prediction with guarantees, behind the scikit-learn interface."""

from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.bandits import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.estimators.boosting import AdaBoostOLMClassifier, OnlineTreeClassifier
from skstructured.estimators.crf import ConditionalRandomField
from skstructured.estimators.kernel import (
    AveragedKernelSGDClassifier,
    Kernel,
    KernelPerceptronClassifier,
    KernelStructuredPredictor,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.estimators.logistic import (
    AggregatingForecaster,
    AioliClassifier,
    FolkloreClassifier,
    GaussianAggregatingForecaster,
    OnlineNewtonClassifier,
)
from skstructured.estimators.margin import MaxMinMarginNetwork, QuadraticSurrogate, StructuralSVM
from skstructured.estimators.online import (
    GaptronClassifier,
    MulticlassPerceptron,
    OnlineStructuredPredictor,
    SecondOrderPerceptron,
)
from skstructured.estimators.regressor import StructuredRegressor
from skstructured.estimators.structured import StructuredPredictor
from skstructured.evaluation.conformal import PredictionSets
from skstructured.experts.abstention import AbstainingHedgeClassifier
from skstructured.extend.learner import OnlineLearner
from skstructured.guarantees.risk import RiskMonitor
from skstructured.items.choice import ConditionalLogit
from skstructured.items.predictor import ItemStructuredPredictor
from skstructured.items.ranker import ListwiseRanker
from skstructured.losses import FenchelYoung
from skstructured.sequences import SequenceTransformer
from skstructured.streaming.shards import average_fitted
from skstructured.streaming.table_encoder import TableEncoder

__version__ = "0.1.0.dev0"

__all__ = [
    "AbstainingHedgeClassifier",
    "AdaBoostOLMClassifier",
    "AggregatingForecaster",
    "AioliClassifier",
    "AveragedKernelSGDClassifier",
    "BanditGaptronClassifier",
    "BanditReduction",
    "BanditronClassifier",
    "ConditionalLogit",
    "ConditionalRandomField",
    "ConfiditClassifier",
    "FenchelYoung",
    "FolkloreClassifier",
    "GaptronClassifier",
    "GaussianAggregatingForecaster",
    "GuaranteeError",
    "GuaranteeWarning",
    "ItemStructuredPredictor",
    "Kernel",
    "KernelPerceptronClassifier",
    "KernelStructuredPredictor",
    "ListwiseRanker",
    "MaxMinMarginNetwork",
    "MulticlassPerceptron",
    "NewtronClassifier",
    "OnlineLearner",
    "OnlineNewtonClassifier",
    "OnlineStructuredPredictor",
    "OnlineTreeClassifier",
    "PiSTOLClassifier",
    "PiSTOLRegressor",
    "PredictionSets",
    "QuadraticSurrogate",
    "RiskMonitor",
    "SOBAClassifier",
    "SecondOrderPerceptron",
    "SequenceTransformer",
    "StructuralSVM",
    "StructuredPredictor",
    "StructuredRegressor",
    "TableEncoder",
    "__version__",
    "average_fitted",
]
