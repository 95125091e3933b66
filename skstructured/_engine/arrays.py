"""Names of the types of arrays and kernels, for annotations."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: A function for `skstructured.extend.kernel`, compiled or plain Python.
Kernel: TypeAlias = Callable[..., Any]
