"""Every registered method keeps every promise of a method."""

import pytest

from benchmark.conformance import METHOD_CHECKS, MethodTrial, promise
from benchmark.conformance.fresh_process import digest_of, in_a_fresh_process
from benchmark.conformance.method_trial import codes_digests
from benchmark.registry import builtin_folder, methods

BUILT_IN = sorted(cls.info.name for cls in methods if cls.info.source.parent == builtin_folder("methods"))

LOADED_ELSEWHERE = ("dph", "itq")  # their kept models are loaded by a process of their own, which takes seconds


@pytest.fixture(scope="module")
def digests():
    """The codes of all built-ins as one fresh process computes them, for the price of one import of torch."""
    sources = {name: (str(methods.get(name).info.source), None) for name in BUILT_IN}
    return in_a_fresh_process(codes_digests, sources)


@pytest.fixture(scope="module", params=BUILT_IN)
def trial(request, digests):
    """One trial per method: what is slow is done once for all promises."""
    made = MethodTrial(request.param)
    made.fresh_digest = lambda: digests[request.param]
    if request.param not in LOADED_ELSEWHERE:
        made.loaded_digest = lambda: digest_of(made.loaded_codes(made.kept()))
    return made


def test_every_built_in_can_be_kept(trial):
    assert trial.kept()


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=promise)
def test_built_in(trial, check):
    check(trial)
