"""Cards: every built-in has each part, an outside method what its author wrote, and docs/methods.md is current."""

from pathlib import Path

import pytest

from benchmark import get_method, parameter, register_method
from benchmark.cards.bibtex import references
from benchmark.cards.card import REMADE, about_dataset, card, cards_page, citations
from benchmark.registry import builtin_folder, builtin_names, datasets, load_plugin, methods

ROOT = Path(__file__).parents[3]
NAMES = sorted(builtin_names("method"))
OWN = '''"""Cosines, nothing else. And more."""
import numpy as np
from benchmark import parameter, register_method

@register_method("{name}", title="Mine|*", paper="Doe, 2019", groups=("some",))
class Mine:
    """L = <a, b> * |c|_1 (eq. 7)
    on two lines.

    A `note_d` of_it.

    Differs: in all.

    @misc{{doe2019, title={{T}}, author={{Doe, Jane}}, year={{2019}}}}

    Another note.
    """

    alpha: float = parameter(0.5, search=[0.5, 1], doc="of what|ever")

    def fit(self, train): ...
    def encode(self, split): ...
'''


def own(folder, name):
    (folder / f"{name}.py").write_text(OWN.format(name=name))
    load_plugin(folder / f"{name}.py")
    return get_method(name)


@pytest.fixture
def registered():
    before = dict(methods._plugins)
    yield
    methods._plugins = before


@pytest.mark.parametrize("name", NAMES)
def test_a_built_in_tells_each_part(name):
    told = card(get_method(name))
    assert told.formula
    assert told.differs, f"{name}: a paragraph 'Differs: ...' says what differs from the original and why"
    assert told.summary
    assert not [one.name for one in told.info.declared.values() if not one.doc]
    if told.info.paper:
        assert told.citations, f"{name}: the BibTeX entry of {told.info.paper} belongs into its docstring"
    else:
        assert told.info.family == "control"


@pytest.mark.parametrize("name", [name for name in NAMES if get_method(name).info.paper])
def test_what_is_cited_is_the_paper_that_the_decorator_names(name):
    told = card(get_method(name))
    first = told.citations[0].fields
    assert {"title", "author", "year"} <= set(first)
    assert first["year"] in told.info.paper
    assert first["author"].partition(",")[0] in told.info.paper
    assert told.year == first["year"]


def test_one_key_is_one_entry():
    found = [entry for kind in (methods, datasets) for cls in kind for entry in citations(cls)]
    assert len({entry.key for entry in found}) == len({entry.bibtex() for entry in found})
    assert len({entry.fields["title"].lower() for entry in found}) == len({entry.key for entry in found})


def test_the_page_of_all_methods_is_current():
    """Those of the folder alone: other tests register methods of their own, and packages may bring some."""
    built_in = [
        cls for cls in methods if cls.info.source and cls.info.source.parent == builtin_folder("methods").resolve()
    ]
    assert {cls.info.name for cls in built_in} == set(NAMES)
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert page == cards_page(map(card, built_in), ROOT / "docs"), f"docs/methods.md is not current: {REMADE}"


def test_a_card_is_what_the_author_wrote(registered, tmp_path):
    told = card(own(tmp_path, "card-mine"))
    assert told.summary == "Cosines, nothing else. And more."
    assert told.formula == "L = <a, b> * |c|_1 (eq. 7) on two lines."
    assert (told.notes, told.differs, told.year) == (("A `note_d` of_it.", "Another note."), "in all.", "2019")
    assert told.sees == "features; no labels"
    assert references(told.citations).startswith("@misc{doe2019,\n")


def test_a_data_set_is_told_by_its_file_and_its_class():
    told = about_dataset(datasets.get("coco"))
    assert told[0].startswith("coco: MS-COCO 2014, 80 categories, as the paper uses it.")
    assert told[-1] == "The paper's MS-COCO."
    assert not [paragraph for paragraph in told if "@inproceedings" in paragraph]


def test_markdown_keeps_what_means_something_to_it(registered, tmp_path):
    page = cards_page([card(own(tmp_path, "card-page"))], tmp_path / "docs")
    assert "> L = \\<a, b\\> \\* \\|c\\|\\_1 (eq. 7) on two lines." in page
    assert "| [card-page](#card-page) | Mine\\|\\* | 2019 | unsupervised | nothing |" in page
    assert "| `alpha` | `0.5` | of what\\|ever | `0.5`, `1.0` |" in page
    assert "[source](../card-page.py)" in page
    assert "A `note_d` of\\_it." in page


def test_a_method_without_any_docstring_has_a_card_with_what_there_is(registered):
    @register_method("card-bare", title="Bare", needs="labels")
    class Bare:
        size: int = parameter(3)

        def fit(self, train): ...
        def encode(self, split): ...

    told = card(Bare)
    assert (told.formula, told.notes, told.differs, told.citations, told.year) == ("", (), "", (), "")
    assert told.sees == "features; class labels"
    assert "### card-bare" in cards_page([told], ROOT)


def test_a_derived_class_is_cited_as_the_one_above_unless_it_names_another_paper(registered, tmp_path):
    above = own(tmp_path, "card-above")

    @register_method("card-same", title="Same")
    class Same(above):
        """The same."""

    @register_method("card-other", title="Other", paper="Roe, 2020")
    class Other(above):
        """Another."""

    assert [entry.key for entry in citations(Same)] == ["doe2019"]
    assert citations(Other) == ()
    assert card(Other).year == "2020"


def test_a_sentence_does_not_end_at_an_equation(registered):
    @register_method("card-sentence", title="S")
    class Sentence:
        """Minimise L (eq. 7): this. Then that."""

        def fit(self, train): ...
        def encode(self, split): ...

    assert card(Sentence).summary == "Minimise L (eq. 7): this."
