"""What people are told is what they may have meant, in good grammar."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.registry import builtin_names
from benchmark.wording import closest, counted

METHODS = sorted(builtin_names("method"))


@pytest.mark.parametrize(
    ("word", "meant"),
    [("dhp", ["dph"]), ("DHP", ["dph"]), ("hashent", ["hashnet"]), ("itqq", ["itq"]), ("dph", ["dph"]), ("zzz", [])],
)
def test_what_a_mistyped_word_may_have_meant(word: str, meant: list[str]) -> None:
    assert closest(word, METHODS) == meant


@given(st.sampled_from(METHODS), st.integers(0, 9))
def test_two_letters_that_changed_places_win(name: str, place: int) -> None:
    place %= max(len(name) - 1, 1)
    typed = name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
    first = closest(typed, METHODS)[0]
    assert sorted(first) == sorted(name)


@given(st.text(string.ascii_letters), st.lists(st.text(string.ascii_lowercase)), st.integers(1, 4))
def test_only_known_words_are_told_each_once(word: str, known: list[str], most: int) -> None:
    found = closest(word, known, most)
    assert len(found) == len(set(found)) <= most
    assert set(found) <= set(known)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("0 records", (0, "record")),
        ("1 record", (1, "record")),
        ("1,000 records", (1000, "record")),
        ("1 query", (1, "query", "queries")),
        ("2 queries", (2, "query", "queries")),
    ],
)
def test_one_thing_and_several(said: str, words: tuple[int, str]) -> None:
    assert counted(*words) == said
