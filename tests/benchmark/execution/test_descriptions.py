"""A record may not say of its method or its data set what is not so, and not take the name of what is here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.errors import UsageError
from benchmark.execution.descriptions import described, words_of
from benchmark.execution.record import Record
from benchmark.registry import builtin_folder, get_dataset, load_plugin, methods

NEIGHBOUR = Path(__file__).parents[2] / "hostile" / "neighbour.py"
COCO = get_dataset("coco")


def record(**changes: Any) -> Record:
    """One of itq on the miniature of COCO; `cell__method="x"` changes an entry of a field."""
    plain = Record(
        key="0" * 64,
        cell={"method": "itq", "dataset": COCO.name, "protocol": COCO.protocol, "bits": 16, "seed": 0},
        parts={"dataset": {"revision": COCO.revision, "map_cutoff": COCO.map_cutoff}},
        status="ok",
        asked={"dataset": "coco", "data_root": None, "options": {}},
        titles={"method": "ITQ", "needs": "nothing", "dataset": COCO.title},
        family="unsupervised",
        miniature=True,
    )
    for name, value in changes.items():
        field, _, entry = name.partition("__")
        if field == "data":
            plain = replace(plain, parts={"dataset": {**plain.parts["dataset"], entry: value}})
        else:
            plain = replace(plain, **{field: {**getattr(plain, field), entry: value} if entry else value})
    return plain


MINE = {"cell__method": "mine", "titles__method": "Mine", "family": "deep", "titles__needs": "labels"}
REAL = {"cell__dataset": "coco", "asked__data_root": "/theirs", "titles__dataset": "MS-COCO", "miniature": False,
        "data__revision": "of their files", "cell__protocol": "paper"}  # fmt: skip
OWN = {"cell__dataset": "pets", "asked__dataset": "features:/theirs/pets.npz", "titles__dataset": "pets",
       "miniature": False, "data__revision": "of their file", "cell__protocol": "as given"}  # fmt: skip
CODES = {"cell__method": "theirs", "cell__settings": "codes only", "titles__method": "theirs (codes only)",
         "titles__needs": None, "family": ""}  # fmt: skip


@pytest.fixture(autouse=True)
def only_built_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests have registered."""
    folder = builtin_folder("methods").resolve()
    built_in = {cls.info.name: cls for cls in methods if cls.info.source and cls.info.source.is_relative_to(folder)}
    monkeypatch.setattr(methods, "_plugins", built_in)


@pytest.mark.parametrize(
    ("changes", "unchecked"),
    [
        ({}, ""),
        (MINE, "method 'mine'"),
        (REAL, "data set 'coco'"),
        ({**REAL, "titles__dataset": "MS-COCO, 25 % unseen"}, "data set 'coco'"),
        ({**MINE, **OWN}, "method 'mine' and data set 'pets'"),
        (CODES, ""),
    ],
)
def test_what_is_so_is_kept_and_what_nobody_can_tell_is_told(changes: dict[str, Any], unchecked: str) -> None:
    sound = record(**changes)
    at_hand = COCO if sound.revision == COCO.revision else None
    found = described(sound, at_hand, [words_of(record()), words_of(record(cell__seed=1))])
    assert found.unchecked == unchecked
    assert found.record == replace(sound, titles={name: title for name, title in sound.titles.items() if title})


@pytest.mark.parametrize(
    ("field", "value", "true"),
    [
        ("titles__method", "SuperITQ", "'ITQ'"),
        ("titles__method", "DPH", "'ITQ'"),
        ("titles__needs", "labels", "'nothing'"),
        ("family", "control", "'unsupervised'"),
        ("titles__dataset", "MS-COCO", "'MS-COCO miniature'"),
        ("miniature", False, "True"),
        ("cell__dataset", "pets", "'coco-mini'"),
        ("cell__protocol", "paper", "'miniature'"),
        ("data__map_cutoff", 5, "250"),
        ("data__map_cutoff", None, "250"),
    ],
)
def test_what_is_not_so_is_refused_by_the_name_of_the_field(field: str, value: Any, true: str) -> None:
    name = field.replace("__", ".").replace("data.", "parts.dataset.")
    with pytest.raises(UsageError) as caught:
        described(record(**{field: value}), COCO, [])
    assert str(caught.value).startswith(f"its {name} is {value!r}, ")
    assert str(caught.value).endswith(f" here is {true}")


def test_what_is_not_said_is_filled_in() -> None:
    """As of earlier versions."""
    silent = record(titles={"dataset": None}, family="")
    assert described(silent, COCO, []).record == record()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({**REAL, "titles__dataset": "Best data"}, "titles.dataset is 'Best data'"),
        ({**REAL, "miniature": True}, "miniature is True"),
        ({"data__revision": "another"}, "revision is not that of 'coco-mini' here"),
        ({"data__revision": "another", "asked__data_root": "/theirs"}, "revision is not that of 'coco-mini' here"),
        ({"data__revision": "another", "asked__dataset": "features:x.npz"}, "asked.dataset is 'features:x.npz'"),
        ({"data__revision": "another", "asked__options": {"odd": 1}}, "no parameter 'odd'"),
        ({**MINE, "titles__method": "DPH"}, "titles.method is 'DPH', which is that of the method 'dph'"),
        ({**MINE, "titles__method": " dpH"}, "which is that of the method 'dph'"),
        ({**MINE, "family": "best"}, "family is 'best', expected one of"),
        ({**MINE, "titles__needs": "luck"}, "titles.needs is 'luck', expected one of"),
        ({**OWN, "titles__dataset": "ms-coco  Miniature"}, "which is that of the data set 'coco-mini'"),
        ({**CODES, "cell__method": "itq"}, "a method of hashbench has this name"),
        ({**CODES, "titles__method": "Theirs"}, "titles.method is 'Theirs'"),
        ({**CODES, "family": "deep"}, "family is 'deep'"),
        ({"provenance": {"packages": {"evil": "1"}}}, "provenance.packages is {'evil': '1'}"),
        ({**MINE, "provenance": {"packages": {"--index-url=x": "1"}}}, "provenance.packages is"),
        ({**MINE, "provenance": {"packages": {"mine": "1 @ http://x"}}}, "provenance.packages is"),
        ({**MINE, "provenance": {"packages": "mine"}}, "provenance.packages is 'mine'"),
    ],
)
def test_nothing_goes_by_the_name_of_what_is_here(changes: dict[str, Any], told: str) -> None:
    claim = record(**changes)
    with pytest.raises(UsageError) as caught:
        described(claim, COCO if claim.revision == COCO.revision else None, [])
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ours", "claim", "told"),
    [
        (MINE, {**MINE, "titles__method": "Yours"}, "titles.method is 'Yours', in the records here it is 'Mine'"),
        (MINE, {**MINE, "family": "supervised"}, "family is 'supervised', in the records here it is 'deep'"),
        (MINE, {**MINE, "cell__method": "yours"}, "which is that of the method 'mine'"),
        (MINE, {**CODES, "cell__method": "mine", "titles__method": "mine (codes only)"}, "it is 'Mine'"),
        (OWN, {**OWN, "titles__dataset": "cats"}, "titles.dataset is 'cats', in the records here it is 'pets'"),
        (OWN, {**OWN, "miniature": True}, "miniature is True, in the records here it is False"),
        (OWN, {**OWN, "cell__dataset": "cats", "titles__dataset": "cats"}, "titles.dataset is 'cats'"),
        (OWN, {**OWN, "data__revision": "other", "cell__dataset": "cats"}, "which is that of the data set 'pets'"),
    ],
)
def test_nothing_renames_our_records(ours: dict[str, Any], claim: dict[str, Any], told: str) -> None:
    given = record(**claim)
    at_hand = COCO if given.revision == COCO.revision else None
    described(record(**ours), at_hand, [words_of(record(**ours))])
    with pytest.raises(UsageError) as caught:
        described(given, at_hand, [words_of(record()), words_of(record(**ours))])
    assert told in str(caught.value)


def test_plugins_are_named_by_their_files_here() -> None:
    load_plugin(NEIGHBOUR)
    info = methods.get("neighbour").info
    near = {"cell__method": "neighbour", "titles__method": info.title, "titles__needs": info.needs,
            "family": info.family, "titles__plugins": "theirs.py"}  # fmt: skip
    assert described(record(**near), COCO, []).record.titles["plugins"] == "neighbour.py"
    assert "plugins" not in described(record(titles__plugins="theirs.py"), COCO, []).record.titles
    assert described(record(**MINE, titles__plugins="mine.py"), COCO, []).record.titles["plugins"] == "mine.py"
