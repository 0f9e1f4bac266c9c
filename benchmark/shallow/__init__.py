"""What shallow methods share: scaling of features, projections, kernels, anchors, descent, discrete steps.

A new one is a subclass of `ProjectionMethod` with two methods, `learn(rows, train)` and `project(rows)`.
"""

from benchmark.shallow.anchors import anchor_weights, k_means
from benchmark.shallow.descent import accelerated_descent
from benchmark.shallow.discrete import best_classifier, best_codes
from benchmark.shallow.method import ProjectionMethod
from benchmark.shallow.principal import fix_signs, principal_directions
from benchmark.shallow.projections import (
    encode_rows,
    gaussian,
    sample,
    signs,
    squared_distances,
    too_few_columns,
)
from benchmark.shallow.scaling import FeatureScaling

__all__ = [
    "FeatureScaling",
    "ProjectionMethod",
    "accelerated_descent",
    "anchor_weights",
    "best_classifier",
    "best_codes",
    "encode_rows",
    "fix_signs",
    "gaussian",
    "k_means",
    "principal_directions",
    "sample",
    "signs",
    "squared_distances",
    "too_few_columns",
]
