"""Float: the scaled features themselves, ranked by cosine: what it costs to make them binary."""

import numpy as np

from benchmark import Split, parameter, register_method
from benchmark.shallow import FeatureScaling
from benchmark.shallow.scaling import Mode


@register_method("float", title="Float", family="control", ranks="vectors")
class Float:
    """No code at all: x - mean of the training rows, compared by cosine. The same at every number of bits.

    No bound on methods that learn from labels: those may make features better than they were.

    Differs: a yardstick, not a published method; there is no original.
    """

    bits: int
    seed: int
    scaling: Mode = parameter("center-l2", doc="how features are scaled first, as for codes")

    def fit(self, train: Split) -> None:
        self.scaler = FeatureScaling.fit(train.features, self.scaling)

    def embed(self, split: Split) -> np.ndarray:
        return self.scaler.transform(split.features)
