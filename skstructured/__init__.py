"""Online and batch structured prediction with guarantees, behind the scikit-learn interface."""

import contextlib
import importlib
import threading

__version__ = "0.1.0"

#: The module of each public name, which is imported at the first use; `__init__.pyi` is for types.
_MODULES = {
    "AbstainingHedgeClassifier": "experts.abstention",
    "AdaBoostOLMClassifier": "estimators.boosting.olm",
    "AggregatingForecaster": "estimators.logistic.forecasters",
    "AioliClassifier": "estimators.logistic.folklore",
    "AveragedKernelSGDClassifier": "estimators.kernel.margins",
    "BanditGaptronClassifier": "bandits",
    "BanditReduction": "bandits",
    "BanditronClassifier": "bandits",
    "ConditionalLogit": "items.choice",
    "ConditionalRandomField": "estimators.crf.estimator",
    "ConfiditClassifier": "bandits",
    "FenchelYoung": "losses",
    "FenchelYoungBoosting": "estimators.boosting.fenchel_young",
    "FolkloreClassifier": "estimators.logistic.folklore",
    "GaptronClassifier": "estimators.online",
    "GaussianAggregatingForecaster": "estimators.logistic.forecasters",
    "GuaranteeError": "_base.exceptions",
    "GuaranteeWarning": "_base.exceptions",
    "ItemStructuredPredictor": "items.predictor",
    "Kernel": "estimators.kernel.structured",
    "KernelPerceptronClassifier": "estimators.kernel.margins",
    "KernelStructuredPredictor": "estimators.kernel.structured",
    "ListwiseRanker": "items.ranker",
    "MaxMinMarginNetwork": "estimators.margin.networks",
    "MulticlassPerceptron": "estimators.online",
    "NewtronClassifier": "bandits",
    "OnlineLearner": "extend.learner",
    "OnlineNewtonClassifier": "estimators.logistic.newton",
    "OnlineStructuredPredictor": "estimators.online",
    "OnlineTreeClassifier": "estimators.boosting.tree",
    "PiSTOLClassifier": "estimators.kernel.margins",
    "PiSTOLRegressor": "estimators.kernel.margins",
    "PredictionSets": "evaluation.conformal",
    "QuadraticSurrogate": "estimators.margin.quadratic",
    "RiskMonitor": "guarantees.risk",
    "SOBAClassifier": "bandits",
    "SecondOrderPerceptron": "estimators.online",
    "SequenceTransformer": "sequences",
    "StructuralSVM": "estimators.margin.networks",
    "StructuredPredictor": "estimators.structured",
    "StructuredRanker": "items.structured",
    "StructuredRegressor": "estimators.regressor",
    "TableEncoder": "streaming.table_encoder",
    "average_fitted": "streaming.shards",
    "warm_up": "utils.warm_up",
}

__all__ = ["__version__", *_MODULES]

#: Held while a module is imported: threads that import packages side by side may find half of one.
_LOCK = threading.RLock()


def __getattr__(name):
    """Import a public name or module at its first use: scikit-learn and numba take seconds."""
    with _LOCK:
        if name in _MODULES:
            return getattr(importlib.import_module(f"skstructured.{_MODULES[name]}"), name)
        if name[:1] != "_":
            with contextlib.suppress(ImportError):
                return importlib.import_module(f"skstructured.{name}")
    raise AttributeError(f"module 'skstructured' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
