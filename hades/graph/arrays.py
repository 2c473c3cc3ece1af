"""Types of the arrays that the graph, the indexes and recall work with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
