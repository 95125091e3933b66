"""Arrays of other libraries, which scikit-learn hands on as they are where it dispatches."""

from typing import Any

import numpy as np
from sklearn import get_config

#: Libraries whose arrays have no namespace of their own.
OTHERS = ("cupy", "torch")


def refuse_other_arrays(name: str, given: Any) -> None:
    """Raise a TypeError for an array of another library with ``array_api_dispatch=True``.

    Without dispatch scikit-learn makes arrays of numpy of them, and they are taken.
    """
    if isinstance(given, np.ndarray) or not get_config()["array_api_dispatch"]:
        return
    library = type(given).__module__.partition(".")[0]
    if hasattr(given, "__array_namespace__") or library in OTHERS:
        raise TypeError(
            f"{name} is an array of {library}, and array_api_dispatch=True is not supported: "
            f"learners compute with numpy arrays. Give np.asarray({name}), or leave "
            "array_api_dispatch=False."
        )
