"""Names for people and files: one line, not too long, never two alike."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from benchmark.report.display_names import (
    LONGEST,
    DatasetIdentity,
    DatasetNames,
    clean,
    dataset_labels,
    method_titles,
    slug,
    unique_names,
    unique_slugs,
)

ANY_TEXT = st.text(st.characters(), max_size=120)  # surrogates, controls and directions among them
IDENTITIES = st.builds(
    DatasetIdentity,
    st.sampled_from(["feats", "coco"]),
    st.sampled_from(["", "as given"]),
    st.sampled_from(["1234567", "1234568", "abcdefg"]),
    st.sampled_from([None, 20, 50]),
)
NAMES = st.builds(
    DatasetNames,
    st.sampled_from(["feats", "", "a/feats"]),
    st.sampled_from(["", "coco", "features:/x/a/feats.npz", "features:/x/b/feats.npz", "features:/x/a/feats.npy"]),
)


@given(ANY_TEXT)
def test_clean_text_is_one_short_line_that_can_be_encoded(text: str) -> None:
    found = clean(text)
    assert len(found) <= LONGEST
    assert len(found.splitlines()) <= 1
    found.encode()
    assert not any(unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "RLI", "LRI") for c in found)


@given(ANY_TEXT)
def test_a_slug_is_a_file_name_everywhere(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,47}", slug(text))


def test_long_names_that_share_their_beginning_keep_different_slugs() -> None:
    """E: a method's name of 5,000 letters."""
    assert slug("x" * 5000) != slug("x" * 4999 + "y")


@given(st.dictionaries(st.integers(0, 50), ANY_TEXT, max_size=6))
def test_slugs_made_together_are_unique(wanted: dict[int, str]) -> None:
    found = unique_slugs(wanted)
    assert len(set(found.values())) == len(wanted)


@given(st.lists(st.sampled_from(["a", "a-2", "b", "a-2-2"]), max_size=12))
def test_unique_names_are_unique_and_the_first_keeps_its_own(names: list[str]) -> None:
    found = unique_names(names)
    assert len(set(found)) == len(names)
    assert not names or found[0] == names[0]


@given(st.dictionaries(IDENTITIES, NAMES, max_size=8))
def test_no_two_data_sets_share_a_label_and_none_is_empty(found) -> None:
    labels = dataset_labels(found)
    assert set(labels) == set(found)
    assert len(set(labels.values())) == len(found)
    assert all(labels.values())


def test_paths_are_told_apart_by_their_shortest_endings() -> None:
    """A2: a/feats and b/feats; what lies above is not needed."""
    one = DatasetIdentity("feats", "", "1", 20)
    for paths, labels in {
        ("/x/a/feats.npz", "/x/b/feats.npz"): ["a/feats", "b/feats"],
        ("/x/a/f/feats.npz", "/y/a/f/feats.npz"): ["x/a/f/feats", "y/a/f/feats"],
        ("/x/feats.npz", "/x/feats.npy"): ["feats.npz", "feats.npy"],
    }.items():
        found = {
            one._replace(revision=str(n)): DatasetNames("feats", f"features:{path}") for n, path in enumerate(paths)
        }
        assert list(dataset_labels(found).values()) == labels


def test_a_title_without_a_rival_stays_as_it_is() -> None:
    one = DatasetIdentity("feats", "as given", "1", 20)
    assert dataset_labels({one: DatasetNames("feats", "features:/x/feats.npz")}) == {one: "feats"}


def test_methods_of_one_title_show_their_names() -> None:
    assert method_titles({"itq": "ITQ", "itq2": "ITQ", "": ""}) == {
        "itq": "ITQ (itq)",
        "itq2": "ITQ (itq2)",
        "": "unnamed",
    }
