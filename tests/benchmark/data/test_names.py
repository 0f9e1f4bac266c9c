"""Names: those that can stand in lists and tables pass untouched, others are one line. E: odd names were tracebacks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.data.names import check_name, fault_of_name, file_title, names_apart
from benchmark.errors import UsageError


@pytest.mark.parametrize("name", ["cat", "$x^2$", "a b", "naïve", "[/red]", "=1+1", "a\xa0b", "x" * 5000])
def test_odd_but_sound_names(name):
    assert check_name("class", name) == name


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is blank"),
        ("  ", "is blank"),
        (" a", "begins or ends with a space"),
        ("a\nb", "holds a line break"),
        ("a\x1b[31m", "control character"),
        ("caf\udce9", "is not UTF-8 text"),
    ],
)
def test_names_that_cannot_stand_in_a_list(name, fault):
    with pytest.raises(UsageError, match=fault) as caught:
        check_name("class", name)
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


@given(st.text(st.characters()))
def test_a_name_without_fault_is_one_line_of_utf8(name):
    if fault_of_name(name) is None:
        assert name.encode().decode().split("\n") == [name]
        assert name.strip() == name


def test_data_is_called_as_its_file_or_folder(tmp_path, monkeypatch):
    assert file_title("file", Path("a/b.c.npz"), stem=True) == "b.c"
    monkeypatch.chdir(tmp_path)
    assert file_title("folder", Path(".")) == tmp_path.name
    assert file_title("folder", Path("/")) == "root"


@pytest.mark.parametrize(
    ("specs", "names", "apart"),
    [
        (["features:/d/a.npz", "features:/d/b.npz", "coco"], ["a", "b", "coco"], ["a", "b", "coco"]),
        (["features:/a/f.npz", "features:/b/f.npz", "coco"], ["f", "f", "coco"], ["a/f", "b/f", "coco"]),
        (["features:/a/x/f.npz", "features:/b/x/f.npz"], ["f", "f"], ["a/x/f", "b/x/f"]),
        (["features:/f.npz", "features:/b/c/d/f.npz"], ["f", "f"], ["f", "d/f"]),
        (["folder:/d/f", "lists:/d/f"], ["f", "f"], ["folder:f", "lists:f"]),
        (["features:/d/f.npz", "features:/d/f.npy"], ["f", "f"], ["features:/d/f.npz", "features:/d/f.npy"]),
        (["features:/a\nb/f.npz", "features:/c/f.npz"], ["f", "f"], ["a\\nb/f", "c/f"]),
    ],
)
def test_no_two_data_sets_of_a_run_have_one_name(specs, names, apart):
    assert names_apart(dict(zip(specs, names, strict=True))) == dict(zip(specs, apart, strict=True))
