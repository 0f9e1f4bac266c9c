"""Another process computes, and says so when it cannot."""

import os
import sys

import pytest

from benchmark.conformance import Broken
from benchmark.conformance.fresh_process import in_a_fresh_process


def test_it_is_another_process():
    assert in_a_fresh_process(os.getppid) == os.getpid()


@pytest.mark.parametrize(
    ("function", "argument", "told"),
    [
        (sys.exit, 3, "ended with code 3: it gave no answer"),
        (int, "x", "ended with code 1: ValueError: invalid literal"),
    ],
)
def test_a_process_without_an_answer_breaks_the_promise(function, argument, told):
    with pytest.raises(Broken, match=told):
        in_a_fresh_process(function, argument)
