"""What every plugin must satisfy, as a list of small named promises that any author can check.

On the command line, `python run_all.py check my_plugin.py` prints one line per promise. In Python, `check_method(cls)`
and `check_dataset(cls or instance or name)` return the rows and raise at the first broken promise unless told not to.
In an author's own tests, one pytest id per promise, with what is slow (fitting, loading) done once for all of them:

    from benchmark.conformance import METHOD_CHECKS, MethodTrial

    @pytest.fixture(scope="module")
    def trial():
        return MethodTrial(MyMethod)

    @pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
    def test_my_method(trial, check):
        check(trial)

and the same with `DATASET_CHECKS` and `DatasetTrial("my-data", data_root=...)`. A check returns None, or the reason why
it does not apply; it raises `Broken` (or what the plugin raised), or `Untested` where another promise, broken, leaves
nothing to look at.
"""

from benchmark.conformance.checking import check_dataset, check_method
from benchmark.conformance.dataset_promises import DATASET_CHECKS
from benchmark.conformance.dataset_trial import DatasetTrial, Recipe, recipe_of
from benchmark.conformance.method_promises import METHOD_CHECKS
from benchmark.conformance.method_trial import MethodTrial
from benchmark.conformance.verdicts import Broken, CheckResult, Untested, promise

__all__ = [
    "DATASET_CHECKS",
    "METHOD_CHECKS",
    "Broken",
    "CheckResult",
    "DatasetTrial",
    "MethodTrial",
    "Recipe",
    "Untested",
    "check_dataset",
    "check_method",
    "promise",
    "recipe_of",
]
