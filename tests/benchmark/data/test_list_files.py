"""List files: what is written is read, at any size, and every kind of damage is one line with file and line
number."""

import os
import tarfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.data.list_files import read_list, write_list
from benchmark.errors import UsageError

PATHS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs")), min_size=1, max_size=12
).map(lambda text: text + ".jpg")
SPACED = st.lists(PATHS, min_size=1, max_size=3).map(" ".join)


def slow_parse(text):
    """The obvious reading of a list in which paths hold no space and labels are 0/1 per class."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return [row[0] for row in rows], [[word == "1" for word in row[1:]] for row in rows]


@given(rows=st.data(), width=st.integers(2, 9), count=st.integers(1, 8))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read(tmp_path, rows, width, count):
    entries = rows.draw(st.lists(SPACED, min_size=count, max_size=count))
    labels = np.array(rows.draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width),
                                         min_size=count, max_size=count)))  # fmt: skip
    path = tmp_path / "list.txt"
    write_list(path, entries, labels)
    for _ in range(2):  # parsed, then from the cache
        found = read_list(path)
        assert found.entries == entries
        assert np.array_equal(found.labels, labels)
        assert found.lines.tolist() == list(range(1, count + 1))
        assert found.notes == ()


@given(
    labels=st.lists(st.lists(st.sampled_from("01"), min_size=3, max_size=3), min_size=1, max_size=6),
    gap=st.sampled_from([" ", "  ", "\t"]),
    end=st.sampled_from(["", " ", "\n", "\n\n"]),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_spacing_reads_as_the_obvious_parser_does(tmp_path, labels, gap, end):
    text = "\n".join(gap.join([f"a/{i}.jpg", *row]) for i, row in enumerate(labels)) + end
    (tmp_path / "list.txt").write_text(text)
    found = read_list(tmp_path / "list.txt")
    entries, expected = slow_parse(text)
    assert found.entries == entries
    assert found.labels.tolist() == expected


def test_class_numbers(tmp_path):
    (tmp_path / "list.txt").write_text("a b.jpg 3\nc.jpg 0\nd.jpg -1\n")
    found = read_list(tmp_path / "list.txt", classes=4)
    assert found.numbered
    assert found.entries == ["a b.jpg", "c.jpg", "d.jpg"]
    assert found.labels.tolist() == [3, 0, -1]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"a.jpg 0 1\r\nb c.jpg 1 0\r\n", "line 1: Windows line ends (CRLF) read as plain ones"),
        (b"a.jpg 0 1\nb c.jpg 1 0\r\n", "line 2: Windows line ends (CRLF) read as plain ones"),
        (b"\xef\xbb\xbfa.jpg 0 1\nb c.jpg 1 0\n", "line 1: byte order mark skipped"),
        (b"a.jpg 0 1\n\n\nb c.jpg 1 0\n", "line 2: blank line skipped"),
    ],
)
def test_harmless_oddities_are_read_and_noted(tmp_path, content, note):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    for _ in range(2):
        found = read_list(path)
        assert found.entries == ["a.jpg", "b c.jpg"]
        assert found.labels.tolist() == [[False, True], [True, False]]
        assert found.notes == (f"list file {path} {note}",)


DAMAGE = {
    "empty list": (b"", "is empty"),
    "only blank lines": (b"\n\n  \n", "is empty"),
    "a path without labels": (b"a.jpg 0 1\nb.jpg\n", "line 2: no labels, found a path only"),
    "no labels at all": (b"a.jpg\n", "line 1: no labels"),
    "class names for labels": (b"a.jpg cat\n", "line 1: no labels, found 'cat'"),
    "fractions for labels": (b"a.jpg 0 1\nb.jpg 0.5 1.5\n", "line 2: no labels, found '1.5'"),
    "a column too few": (b"a.jpg 0 1 0\nb.jpg 0 1\n", "line 2 has 2 labels, expected 3"),
    "a column too many": (b"a.jpg 0 1\nb.jpg 0 1 1\n", "line 2 has 3 labels, expected 2"),
    "a value other than 0/1": (b"a.jpg 0 1\nb.jpg 0 2\n", "line 2: label '2', expected 0 or 1"),
    "a negative value": (b"a.jpg 0 1\nb.jpg 0 -1\n", "line 2: label '-1', expected 0 or 1"),
    "a number among vectors": (b"a.jpg 0 1\nb.jpg 7\n", "line 2 has one class number, but line 1 has 2 labels"),
    "a vector among numbers": (b"a.jpg 5\nb.jpg 0 1\n", "line 2 has 2 labels, but line 1 has one class number"),
    "a class number below -1": (b"a.jpg 5\nb.jpg -2\n", "line 2: class number -2, expected -1"),
    "an absurd class number": (b"a.jpg 5\nb.jpg 99999999999999999999\n", "line 2: class number 9"),
    "UTF-16": ("a.jpg 0 1\n".encode("utf-16"), "line 1: UTF-16 text, expected UTF-8"),
    "Latin-1": (b"a.jpg 0 1\nb\xe9.jpg 1 0\n", "line 2: not UTF-8 text"),
    "zero bytes": (b"a.jpg 0 1\nb\0.jpg 1 0\n", "line 2 holds a zero byte"),
    "old Mac line ends": (b"a.jpg 0 1\rb.jpg 1 0\r", "line 1 holds a stray carriage return"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line_with_file_and_line(tmp_path, kind):
    content, message = DAMAGE[kind]
    path = tmp_path / "train.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_list(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"list file {path}")
    assert "\n" not in str(caught.value)


def test_a_list_of_the_wrong_width_is_named(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("\na.jpg 0 1 0\n")
    for _ in range(2):
        with pytest.raises(UsageError, match=r"train.txt line 2 has 3 labels, expected 100"):
            read_list(path, classes=100)
        read_list(path, classes=3)  # now it is in the cache, and 100 is still refused
    path.write_text("a.jpg 1\nb.jpg 12\n")
    with pytest.raises(UsageError, match=r"train.txt line 2: class number 12, expected less than 10"):
        read_list(path, classes=10)


# The published lists at full size


@pytest.fixture(scope="module")
def published(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(shared_data / "paper_lists.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize(
    ("name", "rows", "classes"),
    [
        ("imagenet/train.txt", 10_000, 100), ("imagenet/train_balanced.txt", 13_000, 100),
        ("imagenet/test.txt", 5_000, 100), ("imagenet/database.txt", 128_503, 100),
        ("nuswide_81/train.txt", 10_000, 81), ("nuswide_81/test.txt", 3_990, 81),
        ("coco/train.txt", 10_000, 80), ("coco/test.txt", 4_000, 80), ("coco/database_hashnet.txt", 112_218, 80),
    ],
)  # fmt: skip
def test_the_published_lists_are_read_whole(published, name, rows, classes):
    parsed = read_list(published / name, classes)
    kept = read_list(published / name, classes)
    assert parsed.labels.shape == kept.labels.shape == (rows, classes)
    assert parsed.entries == kept.entries
    assert np.array_equal(parsed.labels, kept.labels)
    # A sample against the obvious parser, and all of it by its sum.
    with (published / name).open() as lines:
        text = [next(lines) for _ in range(50)]
    entries, labels = slow_parse("".join(text))
    assert parsed.entries[:50] == entries
    assert parsed.labels[:50].tolist() == labels
    ones = (published / name).read_bytes().count(b" 1")
    assert parsed.labels.sum() == ones


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "no zip", "other members"])
def test_a_damaged_cache_of_a_list_is_made_again(tmp_path, damage):
    """E: a damaged list cache was a traceback."""
    path = tmp_path / "list.txt"
    path.write_text("a.jpg 0 1\nb.jpg 1 0\n")
    before = read_list(path)
    (kept,) = (tmp_path / "cache" / "lists").glob("*.npz")
    content = bytearray(kept.read_bytes())
    content[content.index(b"a.jpg")] ^= 1
    np.savez(tmp_path / "other.npz", a=1)
    damaged = {"empty": b"", "cut": content[:200], "flipped": content, "no zip": b"hello",
               "other members": (tmp_path / "other.npz").read_bytes()}  # fmt: skip
    kept.write_bytes(damaged[damage])
    found = read_list(path)
    assert found.entries == before.entries
    assert np.array_equal(found.labels, before.labels)


def test_a_pipe_or_a_folder_is_no_list(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", tmp_path):
        with pytest.raises(UsageError, match=r"list file .* is no file"):
            read_list(path)


@pytest.mark.parametrize("name", ["a\nb.jpg", "caf\udce9.jpg", " a.jpg", "a\tb.jpg"])
def test_names_that_a_list_cannot_hold_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match="rename it") as caught:
        write_list(tmp_path / "list.txt", [name], np.array([[True, False]]))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "list.txt").exists()
