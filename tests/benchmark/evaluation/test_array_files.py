"""Every customary file gives its array; a bad one is one sentence that names it."""

import os
import pickle
import re

import numpy as np
import pytest
import torch
from scipy.io import savemat
from scipy.sparse import csr_matrix

from benchmark.errors import UsageError
from benchmark.evaluation.array_files import read_array

VALUES = np.array([[1.0, -1.0, 0.0], [0.5, 2.0, 1.0]])


def files(folder):
    """Path -> written with VALUES in it."""
    np.save(folder / "one.npy", VALUES)
    np.savez(folder / "one.npz", anything=VALUES)
    np.savez(folder / "two.npz", wanted=VALUES, other=np.ones(3), bad=np.array([{}]))
    savemat(folder / "one.mat", {"thing": VALUES})
    savemat(folder / "sparse.mat", {"thing": csr_matrix(VALUES)})
    torch.save(torch.tensor(VALUES, requires_grad=True), folder / "one.pt")
    torch.save(torch.tensor(VALUES, dtype=torch.bfloat16), folder / "half.pth")
    torch.save({"wanted": torch.tensor(VALUES), "epoch": 3}, folder / "dict.PT")
    np.savetxt(folder / "one.csv", VALUES, delimiter=",")
    np.savetxt(folder / "headed.csv", VALUES, delimiter=",", header="a,b,c", comments="")
    return [
        "one.csv",
        "headed.csv",
        "one.npy",
        "one.npz",
        "two.npz",
        "one.mat",
        "sparse.mat",
        "one.pt",
        "half.pth",
        "dict.PT",
    ]


def test_every_kind_of_file_gives_the_array(tmp_path):
    for name in files(tmp_path):
        np.testing.assert_array_equal(read_array(str(tmp_path / name), "wanted"), VALUES, err_msg=name)


def test_whole_numbers_of_a_csv_keep_the_type_that_codes_need(tmp_path):
    for text, kind in (("-1,1\n1,1\n", np.int64), ("0,255\n", np.uint8), ("0.5,1\n", np.float64)):
        (tmp_path / "codes.csv").write_text(text)
        assert read_array(str(tmp_path / "codes.csv"), "codes").dtype == kind
    for text, told in (("1,2\n3\n", "cannot be read"), ("", "an empty file")):
        (tmp_path / "codes.csv").write_text(text)
        with pytest.raises(UsageError, match=told):
            read_array(str(tmp_path / "codes.csv"), "codes")


def test_a_name_after_a_colon_picks_the_array(tmp_path):
    np.savez(tmp_path / "a:b.npz", c=np.ones(2), d=np.zeros(2))
    assert read_array(f"{tmp_path / 'a:b.npz'}:d", "codes").tolist() == [0, 0]
    with pytest.raises(UsageError, match=r"2 arrays; choose with .*:NAME from c, d"):
        read_array(str(tmp_path / "a:b.npz"), "codes")
    with pytest.raises(UsageError, match=r"no array 'e'; choose with .*:NAME from c, d"):
        read_array(f"{tmp_path / 'a:b.npz'}:e", "codes")


def test_a_name_is_not_ignored_where_there_are_none(tmp_path):
    for name in files(tmp_path):
        with pytest.raises(UsageError, match="'nobody'"):
            read_array(f"{tmp_path / name}:nobody", "wanted")


BAD = {
    "text.txt": (b"1 2", "unknown kind of file"),
    "bare": (b"1 2", "unknown kind of file"),
    "empty.npy": (b"", "an empty file"),
    "empty.npz": (b"", "cannot be read"),
    "empty.mat": (b"", "cannot be read"),
    "empty.pt": (b"", "cannot be read"),
    "nonsense.npy": (b"nonsense", "cannot be read"),
    "nonsense.npz": (b"nonsense", "cannot be read"),
    "nonsense.mat": (b"nonsense", "cannot be read"),
    "nonsense.pt": (b"nonsense", "cannot be read"),
    "cut.npz": (b"PK\x03\x04 cut", "cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_unreadable_content_is_named(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    one_sentence(tmp_path / name, message)


def one_sentence(place, message):
    with pytest.raises(UsageError) as caught:
        read_array(str(place), "codes")
    assert str(place).split(".npz:")[0] in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_named_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "folder.npy").mkdir()
    one_sentence(tmp_path / "pipe.npy", "not a regular file")
    one_sentence(tmp_path / "folder.npy", "a folder")
    one_sentence(tmp_path / "missing.npy", "no such file")
    one_sentence(tmp_path / ("x" * 300 + ".npy"), "cannot be read")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{}, []], object), "cannot be read"),
        (np.array(["a", "b"]), "expected numbers"),
        (np.array([1 + 1j]), "expected numbers"),
        (np.zeros(2, [("a", int), ("b", float)]), "expected numbers"),
    ],
    ids=["objects", "texts", "complex", "structured"],
)
def test_arrays_that_hold_no_numbers_are_named(tmp_path, array, message):
    np.save(tmp_path / "bad.npy", array)
    one_sentence(tmp_path / "bad.npy", message)
    np.savez(tmp_path / "bad.npz", codes=array)
    one_sentence(tmp_path / "bad.npz", message)


class Custom:
    """What no file of numbers holds."""


@pytest.mark.parametrize("name", ["a.pt", "b.pth", "c.npy", "d.npz", "e.npz"])
def test_nobody_is_told_how_to_load_objects_unsafely(tmp_path, name, recwarn):
    path = tmp_path / name
    if name == "a.pt":
        torch.save(Custom(), path)
    elif name == "d.npz":
        np.savez(path, codes=np.array([{}], object))
    else:
        path.write_bytes(pickle.dumps(Custom(), protocol=4))
    with pytest.raises(UsageError, match="holds Python objects, which are never loaded; expected arrays of") as caught:
        read_array(str(path), "codes")
    assert not re.search("weights_only|allow_pickle|trust", str(caught.value))
    assert not recwarn.list


def test_cells_of_matlab_and_lists_of_torch_are_named(tmp_path):
    savemat(tmp_path / "cell.mat", {"codes": np.array([np.ones(2), np.ones(3)], object)})
    one_sentence(tmp_path / "cell.mat", "expected numbers")
    torch.save([torch.ones(2)], tmp_path / "list.pt")
    one_sentence(tmp_path / "list.pt", "holds list")
