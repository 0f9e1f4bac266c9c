"""All promises of a plugin, one after the other, as rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.conformance.dataset_promises import DATASET_CHECKS
from benchmark.conformance.dataset_trial import DatasetTrial
from benchmark.conformance.method_promises import METHOD_CHECKS
from benchmark.conformance.method_trial import MethodTrial
from benchmark.conformance.verdicts import Broken, CheckResult, Reason, Untested, error_text, promise
from benchmark.registry import datasets

Report = Callable[[CheckResult], None]


def check_method(cls: Any, raise_first: bool = True, report: Report | None = None) -> list[CheckResult]:
    """Run every check on a method's class, or on the name of a registered one; `report` hears of each row at once."""
    trial = MethodTrial(cls)
    return _run_checks(METHOD_CHECKS, trial, trial.cls.info.source, raise_first, report)


def check_dataset(
    dataset: Any,
    raise_first: bool = True,
    report: Report | None = None,
    *,
    argument: str | None = None,
    data_root: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[CheckResult]:
    """Run every check on a data set: a registered class or name with what it is built from, or an instance.

    Of an instance nobody knows how it was built, so the promises about building it anew do not apply.
    """
    trial = DatasetTrial(dataset, argument=argument, data_root=data_root, options=options)
    told = datasets.get(trial.recipe.spec.partition(":")[0]) if trial.recipe else dataset
    source = getattr(getattr(told, "info", None), "source", None)
    return _run_checks(DATASET_CHECKS, trial, source, raise_first, report)


def _run_checks(
    checks: Sequence[Callable[[Any], Reason]], trial: Any, source: Path | None, raise_first: bool, report: Report | None
) -> list[CheckResult]:
    results = []
    for check in checks:
        row = _run_check(check, trial, source, raise_first)
        results.append(row)
        if report is not None:
            report(row)
    return results


def _run_check(check: Callable[[Any], Reason], trial: Any, source: Path | None, raise_first: bool) -> CheckResult:
    try:
        reason = check(trial)
    except (Exception, SystemExit) as error:
        if raise_first:
            raise
        if isinstance(error, Untested):
            return CheckResult(promise(check), False, f"not tested: {error}", tested=False)
        message = str(error) if isinstance(error, Broken) else error_text(error)
        return CheckResult(promise(check), False, message + _place(error, source))
    return CheckResult(promise(check), True, f"does not apply: {reason}" if reason else "")


def _place(error: BaseException, source: Path | None) -> str:
    """The line of the plugin's file that an error came out of."""
    cause = error.__cause__ or error
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(source)]
    return f" ({Path(frames[-1].filename).name} line {frames[-1].lineno})" if frames else ""
