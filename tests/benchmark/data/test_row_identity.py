"""Whether two rows are the same image, against the obvious comparison of every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import Split
from benchmark.data.images import ImageFiles
from benchmark.data.row_identity import RowIdentity

NAMES = st.lists(
    st.tuples(st.sampled_from(["a/", "b/", ""]), st.sampled_from(["1.jpg", "2.jpg", "3.jpg"])), min_size=1, max_size=5
)


def slow_shared(one, other):
    """Every pair: equal names, or equal base names and equal known contents; base names alone where none is known."""

    def own(rows):
        ids = [name for name, _ in rows]
        return len({name.rpartition("/")[2] for name in ids}) == len(set(ids))

    found = []
    for name, content in one:
        base, same = name.rpartition("/")[2], False
        for other_name, other_content in other:
            if name == other_name:
                same = True
            if base == other_name.rpartition("/")[2]:
                same |= content is not None and content == other_content
                same |= own(one) and own(other) and (content is None or other_content is None)
        found.append(same)
    return found


@given(one=NAMES, other=NAMES, known=st.lists(st.sampled_from(["x", "y", None]), min_size=10, max_size=10))
@settings(max_examples=200, deadline=None)
def test_rows_are_compared_as_every_pair_would_be(one, other, known):
    contents = {}  # one content per path, as on a disk

    def rows(names, offset):
        ids = ["".join(name) for name in names]
        return [(name, contents.setdefault(name, known[offset + i])) for i, name in enumerate(ids)]

    here, there = rows(one, 0), rows(other, 5)
    found = identity(here).shared_with(identity(there))
    assert found.tolist() == slow_shared(here, there)


def identity(rows):
    return RowIdentity([name for name, _ in rows], [content for _, content in rows], True)


def test_contents_are_those_of_the_files_else_of_the_features(tmp_path):
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"same")
    files = ImageFiles(tmp_path, ["a.jpg", "b.jpg", "gone.jpg"])
    found = RowIdentity.of(Split(images=files, ids=["a", "b", "c"]).take(np.array([2, 0, 1])))
    assert found.files
    assert found.contents[0] is None
    assert found.contents[1] == found.contents[2] is not None
    featured = RowIdentity.of(Split(features=np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0]])))
    assert featured.contents[0] == featured.contents[1] != featured.contents[2]
    assert featured.shared_with(featured) is None


def test_features_of_equal_base_names_are_compared():
    one = Split(features=np.eye(2), ids=["train/1.jpg", "train/2.jpg"])
    other = Split(features=np.eye(2)[::-1] + [[0.0, 0.0], [0.0, 0.5]], ids=["val/2.jpg", "val/1.jpg"])
    assert RowIdentity.of(one).shared_with(RowIdentity.of(other)).tolist() == [False, True]


@pytest.mark.parametrize("names", [["mini/query/1"], ["query/1.jpg", "other/1.jpg"]])
def test_numbers_and_repeated_base_names_tell_nothing(names):
    one, other = RowIdentity(names, None, False), RowIdentity(["mini/database/1", "database/1.jpg"], None, False)
    assert not one.shared_with(other).any()
