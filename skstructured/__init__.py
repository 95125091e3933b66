"""Online and batch structured prediction with guarantees, behind the scikit-learn interface."""

from skstructured.exceptions import GuaranteeError, GuaranteeWarning
from skstructured.gaptron import GaptronClassifier, MulticlassPerceptron
from skstructured.losses import FenchelYoung
from skstructured.online import OnlineStructuredPredictor

__version__ = "0.1.0"

__all__ = [
    "FenchelYoung",
    "GaptronClassifier",
    "GuaranteeError",
    "GuaranteeWarning",
    "MulticlassPerceptron",
    "OnlineStructuredPredictor",
    "__version__",
]
