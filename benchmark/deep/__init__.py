"""What deep methods share: a trainer, samplers, and the stable pieces of losses. Importing it does not import torch.

A new pairwise method is a subclass of `PairwiseMethod` with one method, `loss(codes, similarity, step)`; one on
triplets is a `TripletMethod` with `loss(codes, triplets, step)`, one on class labels a `PointwiseMethod` with
`loss(outputs, labels, step)`.
"""

from benchmark.deep.centres import (
    CENTRE_KINDS,
    CentreKind,
    class_centres,
    gilbert_varshamov_distance,
    griesmer_distance,
    hadamard,
    too_many_classes,
)
from benchmark.deep.lazy import torch
from benchmark.deep.method import (
    CentredMethod,
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
    class_balanced_weights,
    class_cross_entropy,
    cosine,
    cosine_mismatch,
    cross_entropy,
    log_cosh,
    power,
    priority_quantization,
    straight_through,
    straight_through_sign,
)
from benchmark.deep.profile import Profile, Training, load_profile
from benchmark.deep.samplers import ListedTriplets, PairStreams, Stream, TripletStreams, triplets

__all__ = [
    "CENTRE_KINDS",
    "COSINE_EDGE",
    "NORM_FLOOR",
    "CentreKind",
    "CentredMethod",
    "Codes",
    "DeepMethod",
    "ListedTriplets",
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
    "class_balanced_weights",
    "class_centres",
    "class_cross_entropy",
    "cosine",
    "cosine_mismatch",
    "cross_entropy",
    "gilbert_varshamov_distance",
    "griesmer_distance",
    "hadamard",
    "load_profile",
    "log_cosh",
    "power",
    "priority_quantization",
    "straight_through",
    "straight_through_sign",
    "too_many_classes",
    "torch",
    "triplets",
]
