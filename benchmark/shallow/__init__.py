"""What shallow methods share: scaling of features, projections, kernels."""

from benchmark.shallow.projections import (
    encode_rows,
    fix_signs,
    gaussian,
    principal_directions,
    sample,
    signs,
    squared_distances,
)
from benchmark.shallow.scaling import FeatureScaling

__all__ = [
    "FeatureScaling",
    "encode_rows",
    "fix_signs",
    "gaussian",
    "principal_directions",
    "sample",
    "signs",
    "squared_distances",
]
