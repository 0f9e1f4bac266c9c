"""One look per method, told apart without colour, and the same in every figure of a results folder."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.markers import MarkerStyle

from benchmark.registry import builtin_names, get_method, methods
from benchmark.report.looks import GREY, assigned_looks, dataset_order, highlight, method_order

BUILT_IN = {name: get_method(name).info.family for name in builtin_names("method")}


def strangers(count: int) -> dict[str, str]:
    return {f"plugin-{number}": "deep" for number in range(count)}


PAPER = {cls.info.name: cls.info.family for cls in methods if "paper" in cls.info.groups}


@pytest.mark.parametrize(
    "families", [BUILT_IN, strangers(40), PAPER | strangers(28)], ids=["built in", "plugins", "both"]
)
def test_no_two_methods_share_colour_or_marker(families: dict[str, str]) -> None:
    """A scatter of costs has no lines to tell two blue squares apart."""
    looks = assigned_looks(families)
    assert set(looks) == set(families)
    for one, other in itertools.combinations(looks, 2):
        a, b = looks[one], looks[other]
        assert (a.marker, a.filled) != (b.marker, b.filled), (one, other)
        assert a.color != b.color or a.color == GREY, (one, other)


def test_a_marker_that_is_filled_can_be() -> None:
    """A cross has no inside."""
    for name, look in assigned_looks(BUILT_IN | strangers(40)).items():
        assert not look.filled or MarkerStyle(look.symbol).is_filled(), name


def test_every_colour_can_be_read_on_white_paper() -> None:
    """Marks of CSQ and JMLH were hardly seen."""

    def light(part: str) -> float:
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    for color in {look.color for look in highlight().looks.values()} | set(highlight().spare.colors) - {GREY}:
        red, green, blue = (light(color[i : i + 2]) for i in (1, 3, 5))
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert color == GREY or 1.05 / (luminance + 0.05) >= 3, color


def test_every_built_in_method_has_a_look_as_data() -> None:
    assert set(BUILT_IN) <= set(highlight().looks)


def test_no_two_paper_methods_share_a_marker() -> None:
    assert len({one.marker for one in assigned_looks(PAPER).values()}) == len(PAPER)


def test_a_look_does_not_change_when_others_come() -> None:
    """Built-in ones never; of strangers only those that point at what others have taken."""
    before = assigned_looks(strangers(12))
    for number in range(40):
        after = assigned_looks(strangers(12) | {f"newcomer-{number}": "deep"})
        assert sum(after[name] == look for name, look in before.items()) >= 9
    assert assigned_looks(BUILT_IN | strangers(40)).items() >= assigned_looks(BUILT_IN).items()


def test_more_methods_than_looks_have_looks_all_the_same() -> None:
    assert len(assigned_looks(strangers(200))) == 200


def test_order_is_the_papers() -> None:
    assert sorted(["zzz", "lsh", "hashnet", "dph"], key=method_order) == ["dph", "hashnet", "lsh", "zzz"]
    mixed = ["other", "coco-mini", "imagenet-balanced", "imagenet", "nus"]
    assert sorted(mixed, key=dataset_order) == ["imagenet", "imagenet-balanced", "nus", "coco-mini", "other"]


def test_controls_are_grey_and_nothing_else_is() -> None:
    def grey(color: str) -> bool:
        return len({color[1:3], color[3:5], color[5:7]}) == 1 and color != "#000000"

    looks = assigned_looks(BUILT_IN | {"mine": "control", "yours": "deep"})
    families = BUILT_IN | {"mine": "control", "yours": "deep"}
    assert {name for name, look in looks.items() if grey(look.color)} == {
        name for name, family in families.items() if family == "control"
    }
