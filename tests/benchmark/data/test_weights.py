"""Weight files: read without running anything, matched by strict names, and refused in one line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.data.weights import check_weights, is_file, match_weights, read_weights, weights_name
from benchmark.errors import UsageError


@pytest.mark.parametrize(
    ("weights", "expected"),
    [("IMAGENET1K_V1", False), ("random", False), ("w.npz", True), ("w.pth", True), ("a/b", True), ("w.pt", True)],
)
def test_a_file_is_told_from_a_name(weights: str, expected: bool) -> None:
    assert is_file(weights) == expected


def test_the_name_is_the_hash_of_the_file_or_the_name_itself(tmp_path: Path) -> None:
    (tmp_path / "w.pth").write_bytes(b"whatever")
    digest = hashlib.sha256(b"whatever").hexdigest()
    assert weights_name(tmp_path / "w.pth") == f"sha256:{digest}"
    assert weights_name(tmp_path / "w.pth", partial=True) == f"sha256:{digest}+partial"
    assert weights_name(None) == "IMAGENET1K_V1"
    assert weights_name("random") == "random"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("best ones", "neither a file"),
        ("imagenet", "neither a file"),
        ("folder/w.bin", "expected a name that ends in .npz, .pth, .pt"),
        ("nowhere.pth", "does not exist"),
    ],
)
def test_what_is_no_weights_is_refused(weights: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_weights(weights)
    assert message in str(caught.value)
    assert weights in str(caught.value)


@pytest.mark.parametrize("kind", ["npz", "pth", "pt"])
def test_every_kind_of_file_gives_the_same_float_tensors(tmp_path: Path, kind: str) -> None:
    arrays = {"a.weight": np.arange(6, dtype=np.float64).reshape(2, 3), "count": np.array([3])}
    path = tmp_path / f"w.{kind}"
    if kind == "npz":
        np.savez(path, **arrays)
    else:
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
    found = read_weights(path)
    assert {name: tensor.dtype for name, tensor in found.items()} == {"a.weight": torch.float32, "count": torch.int64}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name].numpy(), array)


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no weights here", "is no state dict of plain tensors"),
        (b"", "is no state dict of plain tensors"),
        ([torch.zeros(1)], "expected a dict of parameter name -> tensor"),
        ({"a": torch.zeros(1), "epoch": 3}, "expected a dict of parameter name -> tensor"),
        ({"f": print}, "is no state dict of plain tensors"),
        ({"a": torch.tensor([1.0, float("nan")])}, "'a' holds values that are not finite"),
        ({"a": torch.tensor([float("inf")])}, "'a' holds values that are not finite"),
    ],
)
def test_a_bad_state_dict_is_one_line_that_names_the_file(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "w.pth"
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(UsageError) as caught:
        read_weights(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["npz", "pth"])
def test_nothing_in_a_file_is_run(tmp_path: Path, kind: str) -> None:
    path, trace = tmp_path / f"w.{kind}", tmp_path / "trace"
    if kind == "npz":
        np.savez(path, a=np.array([Bomb(trace)], object))
    else:
        torch.save({"a": Bomb(trace)}, path)
    with pytest.raises(UsageError, match="plain"):
        read_weights(path)
    assert not trace.exists()


@pytest.mark.parametrize("array", [np.array(["words"]), np.array([np.nan])])
def test_a_bad_array_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.savez(tmp_path / "w.npz", a=array)
    with pytest.raises(UsageError, match=r"w\.npz"):
        read_weights(tmp_path / "w.npz")


WANTED = {name: torch.zeros(2) for name in ("a", "b", "c", "d", "e")} | {"bn.num_batches_tracked": torch.zeros(1)}


def test_names_and_shapes_must_be_those_of_the_network() -> None:
    whole = {name: torch.ones(2) for name in "abcde"}
    assert match_weights(whole, WANTED, "w") == []
    part = {name: whole[name] for name in "abc"}
    assert match_weights(part, WANTED, "w", may_miss=["d", "e"]) == ["d", "e"]
    with pytest.raises(UsageError, match=r"w: missing 'd'$"):
        match_weights(part, WANTED, "w", may_miss=["e"])
    with pytest.raises(UsageError, match=r"unexpected 'x', 'y', 'z' and 1 more; is it for another backbone\?"):
        match_weights(whole | {name: torch.ones(1) for name in "xyzw"}, WANTED, "w")
    with pytest.raises(UsageError, match=r"'b' has shape \(3,\), expected \(2,\)"):
        match_weights(whole | {"b": torch.ones(3)}, WANTED, "w")
