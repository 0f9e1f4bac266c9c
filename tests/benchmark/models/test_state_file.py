"""A model's file: what goes in comes out, in the same memory order, and nothing of it is ever run."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

from benchmark.errors import UsageError
from benchmark.models.state_file import FORMAT, HEADER, check_state, read_state, state_bytes

GRID = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "array",
    [GRID, GRID.T, GRID[:, ::2], GRID[::-1], GRID[1:3, ::-2], np.zeros((0, 3)), np.array(3.0),
     np.moveaxis(np.arange(24).reshape(2, 3, 4), 0, 2), np.broadcast_to(np.arange(3), (4, 3))],
    ids=["plain", "transposed", "strided", "reversed", "both", "empty", "scalar", "axes", "repeated"],
)  # fmt: skip
def test_an_array_comes_back_in_its_memory_order(array: np.ndarray) -> None:
    back = read_state(state_bytes({}, {"a": array}), "it")[1]["a"]
    assert np.array_equal(back, array)
    assert back.dtype == array.dtype
    if array.size and 0 not in array.strides:
        assert back.strides == array.strides


def test_a_narrow_view_of_something_wide_takes_no_more_memory_than_it_needs() -> None:
    narrow = np.zeros((1000, 1000))[:, :2]
    back = read_state(state_bytes({}, {"a": narrow}), "it")[1]["a"]
    assert back.base is None or back.base.nbytes <= 64 * narrow.nbytes


def test_what_is_said_of_it_comes_back() -> None:
    about = {"cell": {"bits": 8}, "text": "ü"}
    assert read_state(state_bytes(about, {}), "it") == (about, {})


def test_the_same_content_gives_the_same_bytes() -> None:
    assert state_bytes({"a": 1}, {"x": GRID}) == state_bytes({"a": 1}, {"x": GRID})


def npz(**members: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **members)  # type: ignore[arg-type]
    return buffer.getvalue()


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("the file was run",)


HOSTILE = {
    "a pickle": pickle.dumps(Bomb()),
    "a pickle inside": npz(**{HEADER: np.array([Bomb()], object)}),
    "cut short": state_bytes({}, {"x": GRID})[:-40],
    "nothing": b"",
    "no header": npz(a=GRID),
    "a header of another kind": npz(**{HEADER: np.frombuffer(b"[]", np.uint8)}),
    "an unknown kind": npz(
        **{HEADER: np.frombuffer(json.dumps({"format": FORMAT, "about": {}, "state": {"is": "?"}}).encode(), np.uint8)}
    ),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_foreign_or_damaged_file_is_one_line(content: bytes) -> None:
    with pytest.raises(UsageError, match="model it cannot be read"):
        check_state(content, "it")
    with pytest.raises(UsageError, match="model it cannot be read") as caught:
        read_state(content, "it")
    assert "\n" not in str(caught.value)
    assert "pickle" not in str(caught.value)


def test_a_model_of_another_version_says_so() -> None:
    told = json.dumps({"format": FORMAT + 1, "about": {}, "state": {}}).encode()
    with pytest.raises(UsageError, match=f"has format {FORMAT + 1}, this version reads {FORMAT}; keep it again"):
        read_state(npz(**{HEADER: np.frombuffer(told, np.uint8)}), "it")


def test_it_is_checked_without_torch() -> None:
    content = state_bytes({}, {"a": torch.ones(3), "b": GRID})
    code = (
        "import sys\n"
        "from benchmark.models.state_file import check_state\n"
        "check_state(sys.stdin.buffer.read(), 'it')\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], input=content, check=True)
