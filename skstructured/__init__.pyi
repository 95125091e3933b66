from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.bandits import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.estimators.boosting.fenchel_young import FenchelYoungBoosting
from skstructured.estimators.boosting.olm import AdaBoostOLMClassifier
from skstructured.estimators.boosting.tree import OnlineTreeClassifier
from skstructured.estimators.crf.estimator import ConditionalRandomField
from skstructured.estimators.kernel.margins import (
    AveragedKernelSGDClassifier,
    KernelPerceptronClassifier,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.estimators.kernel.structured import Kernel, KernelStructuredPredictor
from skstructured.estimators.logistic.folklore import AioliClassifier, FolkloreClassifier
from skstructured.estimators.logistic.forecasters import (
    AggregatingForecaster,
    GaussianAggregatingForecaster,
)
from skstructured.estimators.logistic.newton import OnlineNewtonClassifier
from skstructured.estimators.margin.networks import MaxMinMarginNetwork, StructuralSVM
from skstructured.estimators.margin.quadratic import QuadraticSurrogate
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
from skstructured.items.structured import StructuredRanker
from skstructured.losses import FenchelYoung
from skstructured.sequences import SequenceTransformer
from skstructured.streaming.shards import average_fitted
from skstructured.streaming.table_encoder import TableEncoder
from skstructured.utils.warm_up import warm_up

__version__: str

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
    "FenchelYoungBoosting",
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
    "StructuredRanker",
    "StructuredRegressor",
    "TableEncoder",
    "__version__",
    "average_fitted",
    "warm_up",
]
