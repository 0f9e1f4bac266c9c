"""BibTeX in other text: found wherever it is broken into lines, taken apart, and written so that BibTeX reads it."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark import UsageError
from benchmark.cards.bibtex import Citation, references, separated

TEXT = """Before.

@InProceedings{doe2020, title={A {B} of C}, author={Doe, Jane and van Roe, R. and
  Group}, booktitle="Some Conference", year=2020}

Between, with an @mention and a {brace}.

  @misc{other, title = {Two
    lines}, note={x = {y}, z}}
After."""


def test_entries_are_found_and_the_prose_is_left():
    prose, (first, second) = separated(TEXT, "here")
    assert prose.split() == ["Before.", "Between,", "with", "an", "@mention", "and", "a", "{brace}.", "After."]
    assert (first.kind, first.key) == ("inproceedings", "doe2020")
    assert first.fields == {
        "title": "A {B} of C", "author": "Doe, Jane and van Roe, R. and Group", "booktitle": "Some Conference",
        "year": "2020",
    }  # fmt: skip
    assert second.fields == {"title": "Two lines", "note": "x = {y}, z"}


def test_for_people_it_is_a_sentence():
    _, (first, second) = separated(TEXT, "here")
    assert first.sentence() == "Jane Doe, R. van Roe, Group. A B of C. Some Conference, 2020."
    assert second.sentence() == "Two lines."


def test_an_entry_that_never_ends_is_named():
    with pytest.raises(UsageError, match=r"docstring of X: the BibTeX entry 'doe' has no closing brace"):
        separated("@misc{doe, title={A", "docstring of X")


def test_text_without_entries_is_left_alone():
    assert separated("email@host{x, y}\n@ {", "here") == ("email@host{x, y}\n@ {", [])
    assert references([]) == ""


def balanced(text):
    depths = [text[: end + 1].count("{") - text[: end + 1].count("}") for end in range(len(text))]
    return min(depths, default=0) >= 0 and depths[-1:] in ([], [0])


values = st.text("ab {}=,.'", max_size=12).filter(balanced)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), values, min_size=1, max_size=4))
def test_what_is_written_is_read_again(fields):
    entry = Citation("misc", "key", {name: " ".join(value.split()) for name, value in fields.items()})
    assert separated(entry.bibtex(), "here") == ("", [entry])


def test_one_key_is_written_once():
    entry = Citation("misc", "key", {"title": "T"})
    other = Citation("misc", "other", {"title": "T"})
    assert references([entry, other, entry]) == f"{entry.bibtex()}\n\n{other.bibtex()}\n"


@pytest.mark.skipif(shutil.which("bibtex") is None, reason="there is no bibtex")
def test_bibtex_takes_every_entry_without_a_word(tmp_path):
    from benchmark.cards.card import citations
    from benchmark.registry import datasets, methods

    (tmp_path / "refs.bib").write_text(
        references(one for kind in (methods, datasets) for c in kind for one in citations(c))
    )
    (tmp_path / "all.aux").write_text("\\relax\n\\citation{*}\n\\bibdata{refs}\n\\bibstyle{plain}\n")
    done = subprocess.run(["bibtex", "all"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "Warning" in done.stdout) == (0, False), done.stdout
