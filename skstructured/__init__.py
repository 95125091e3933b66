"""Online and batch structured prediction with guarantees, behind the scikit-learn interface."""

import sys

from skstructured import extend
from skstructured._base import exceptions
from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.bandits import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.decoders import rules as surrogates
from skstructured.estimators.boosting import AdaBoostOLMClassifier, OnlineTreeClassifier
from skstructured.estimators.crf import ConditionalRandomField
from skstructured.estimators.kernel import (
    AveragedKernelSGDClassifier,
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
from skstructured.evaluation import adversaries, display
from skstructured.evaluation.conformal import PredictionSets
from skstructured.experts import hedge
from skstructured.experts.abstention import AbstainingHedgeClassifier
from skstructured.extend import learner
from skstructured.extend.learner import OnlineLearner
from skstructured.guarantees import certificates, comparators, risk
from skstructured.guarantees.risk import RiskMonitor
from skstructured.items.choice import ConditionalLogit
from skstructured.items.predictor import ItemStructuredPredictor
from skstructured.items.ranker import ListwiseRanker
from skstructured.losses import FenchelYoung
from skstructured.sequences import SequenceTransformer
from skstructured.streaming.shards import average_fitted
from skstructured.streaming.table_encoder import TableEncoder

#: Public paths of modules that lie in subpackages, as ``os.path`` is one.
for name, module in {
    "adversaries": adversaries,
    "base": extend,
    "certificates": certificates,
    "comparators": comparators,
    "display": display,
    "exceptions": exceptions,
    "hedge": hedge,
    "learner": learner,
    "risk": risk,
    "surrogates": surrogates,
}.items():
    sys.modules[f"skstructured.{name}"] = globals()[name] = module

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
    "TableEncoder",
    "__version__",
    "average_fitted",
]
