"""A request is plain data: it comes out of a pickle as it went in, in a process that has seen nothing."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

from benchmark.deep.profile import load_profile
from benchmark.execution.origin import Origin
from benchmark.execution.record import Record
from benchmark.execution.request import Outcome, Request


@pytest.fixture
def request_() -> Request:
    return Request(
        key="k",
        identity={"method": "mine"},
        parts={"dataset": {"revision": "r"}},
        asked={},
        dataset="features:x.npz",
        data_root=None,
        dataset_parameters={"a": 1},
        profile=load_profile("quick"),
        backbone=None,
        weights=None,
        partial_weights=False,
        plugins=(Origin("method", "mine", "mine.py"),),
        fold=(0, 3),
    )


def test_a_request_travels_whole_and_reading_it_imports_nothing_heavy(request_: Request) -> None:
    code = (
        f"import pickle, sys; found = pickle.loads({pickle.dumps(request_)!r})\n"
        "assert not {'torch', 'pandas', 'scipy', 'sklearn', 'numba'} & set(sys.modules)\n"
        "assert 'mine' not in sys.modules\n"
        "print(repr(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == repr(request_)
    assert pickle.loads(pickle.dumps(request_)) == request_


def test_a_request_cannot_be_changed_once_made(request_: Request) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        request_.key = "other"  # type: ignore[misc]


def test_outcomes_do_not_share_their_arrays() -> None:
    one, two = (Outcome(Record("k", {}, {})) for _ in range(2))
    one.payload["ap"] = one.dataset["labels"] = np.zeros(1)
    assert two.payload == two.dataset == {}
