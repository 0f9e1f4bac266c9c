"""hashbench: which hashing method retrieves better, on which data, at how many bits, and are we sure?

What is importable from here is the public interface; it costs numpy, not torch.
"""

from benchmark.conformance import check_dataset, check_method
from benchmark.contracts import HashMethod, Parameter, Split, Splits, as_multi_hot, parameter
from benchmark.errors import InvalidCodes, TrainingFailed, UsageError
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import evaluate, score_counts
from benchmark.registry import get_dataset, get_method, register_dataset, register_method
from benchmark.similarity import Degrees, LabelSimilarity, PairSimilarity, Similarity

__version__ = "0.1.0"
__all__ = [
    "Degrees",
    "HashMethod",
    "InvalidCodes",
    "LabelSimilarity",
    "PairSimilarity",
    "Parameter",
    "Similarity",
    "Split",
    "Splits",
    "TrainingFailed",
    "UsageError",
    "as_multi_hot",
    "check_dataset",
    "check_method",
    "count",
    "evaluate",
    "get_dataset",
    "get_method",
    "parameter",
    "register_dataset",
    "register_method",
    "score_counts",
]
