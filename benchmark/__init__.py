"""hashbench: which hashing method retrieves better, on which data, at how many bits, and are we sure?

What is importable from here is the public interface; it costs numpy, not torch. `run`, `results` and `load_model`, with
what they need, are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

from benchmark.conformance import check_dataset, check_method
from benchmark.contracts import HashMethod, Parameter, Split, Splits, as_multi_hot, parameter
from benchmark.errors import InvalidCodes, TrainingFailed, UsageError
from benchmark.evaluation.counting import count
from benchmark.evaluation.metrics import evaluate, score_counts
from benchmark.registry import get_dataset, get_method, register_dataset, register_method
from benchmark.similarity import Degrees, LabelSimilarity, PairSimilarity, Similarity

if TYPE_CHECKING:
    from benchmark.execution.model import Model
    from benchmark.interface import Results, load_model, results, run

__version__ = "0.1.0"
__all__ = [
    "Degrees",
    "HashMethod",
    "InvalidCodes",
    "LabelSimilarity",
    "Model",
    "PairSimilarity",
    "Parameter",
    "Results",
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
    "load_model",
    "parameter",
    "register_dataset",
    "register_method",
    "results",
    "run",
    "score_counts",
]


def __getattr__(name: str) -> Any:
    if name in ("Results", "load_model", "results", "run"):
        from benchmark import interface

        return getattr(interface, name)
    if name == "Model":
        from benchmark.execution.model import Model

        return Model
    raise AttributeError(f"module 'benchmark' has no attribute {name!r}")
