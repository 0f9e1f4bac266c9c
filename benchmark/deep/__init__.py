"""What deep methods share: a trainer, samplers, and the stable pieces of losses. Importing it does not import torch.

A new pairwise method is a subclass of `PairwiseMethod` with one method, `loss(codes, similarity, step)`; one on
triplets is a `TripletMethod` with `loss(codes, triplets, step)`, one on class labels a `PointwiseMethod` with
`loss(outputs, labels, step)`.
"""

from benchmark.deep.lazy import torch
from benchmark.deep.method import (
    DeepMethod,
    PairwiseMethod,
    PointwiseMethod,
    StoredMethod,
    TripletMethod,
    UnsupervisedMethod,
)
from benchmark.deep.pieces import (
    COSINE_EDGE,
    NORM_FLOOR,
    Codes,
    PairBlock,
    PairCounts,
    PairGraph,
    StoredBatch,
    Triplets,
    binary,
    cosine,
    cosine_mismatch,
    cross_entropy,
    log_cosh,
    power,
    priority_quantization,
    straight_through,
)
from benchmark.deep.profile import Profile, Training, load_profile
from benchmark.deep.samplers import PairStreams, Stream, TripletStreams, triplets

__all__ = [
    "COSINE_EDGE",
    "NORM_FLOOR",
    "Codes",
    "DeepMethod",
    "PairBlock",
    "PairCounts",
    "PairGraph",
    "PairStreams",
    "PairwiseMethod",
    "PointwiseMethod",
    "Profile",
    "StoredBatch",
    "StoredMethod",
    "Stream",
    "Training",
    "TripletMethod",
    "TripletStreams",
    "Triplets",
    "UnsupervisedMethod",
    "binary",
    "cosine",
    "cosine_mismatch",
    "cross_entropy",
    "load_profile",
    "log_cosh",
    "power",
    "priority_quantization",
    "straight_through",
    "torch",
    "triplets",
]
