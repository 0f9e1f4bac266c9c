"""One look per method, told apart without colour."""

from __future__ import annotations

import itertools

from benchmark.registry import methods
from benchmark.report.looks import dataset_order, highlight, look, method_order


def test_no_two_paper_methods_share_marker_and_line() -> None:
    for one, other in itertools.combinations([cls.info.name for cls in methods if "paper" in cls.info.groups], 2):
        assert look(one).marker != look(other).marker, (one, other)
        assert look(one).color != look(other).color, (one, other)


def test_an_unknown_method_always_looks_the_same_and_like_no_known_one() -> None:
    assert look("my-method") == look("my-method")
    assert look("my-method") not in highlight().looks.values()


def test_order_is_the_papers() -> None:
    assert sorted(["zzz", "lsh", "hashnet", "dph"], key=method_order) == ["dph", "hashnet", "lsh", "zzz"]
    mixed = ["other", "coco-mini", "imagenet-balanced", "imagenet", "nus"]
    assert sorted(mixed, key=dataset_order) == ["imagenet", "imagenet-balanced", "nus", "coco-mini", "other"]


def test_controls_are_grey_and_nothing_else_is() -> None:
    def grey(color: str) -> bool:
        return len({color[1:3], color[3:5], color[5:7]}) == 1 and color != "#000000"

    assert grey(look("anything", "control").color)
    assert not grey(look("anything", "deep").color)
    assert not [name for name, one in highlight().looks.items() if grey(one.color)]
