"""What `folded` does to a number: fold it back and forth within a band."""

import numpy as np


def fold(values: np.ndarray, width: float) -> np.ndarray:
    """A triangle wave: 0 at 0, 1 at `width`, 0 again at 2 `width`, and so on."""
    place = np.abs(values) / width % 2
    return 1 - np.abs(1 - place)
