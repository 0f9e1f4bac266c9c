"""`list`: what there is, and what one method can be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_list_names_methods_and_data_sets(command: Callable[..., Any]) -> None:
    code, out, _ = command("list")
    assert code == 0
    for name in ("dph", "hashnet", "imagenet", "features:"):
        assert name in out


def test_one_method_with_its_parameters_types_and_values_to_search(command: Callable[..., Any]) -> None:
    code, out, _ = command("list", "itq")
    assert code == 0
    assert "iterations = 50 (int, 0 or more): alternations" in out
    assert "tune searches 10, 50, 100" in out
    assert "scaling = 'center-l2' ('center-l2', 'center', 'l2' or 'none')" in out
    assert "--set itq.NAME=VALUE" in out


def test_a_deep_method_with_what_may_be_set_of_its_training(command: Callable[..., Any]) -> None:
    code, out, _ = command("list", "dph")
    assert code == 0
    assert "gamma = 0.1 (a finite float, 0 or more): exponent of the priority" in out
    assert "of its training (set alike; the values are those of the profile" in out
    assert "tune searches 0.0001, 0.0003, 0.001, 0.003, 0.01" in out


def test_an_unknown_method(command: Callable[..., Any]) -> None:
    code, out, err = command("list", "itqq")
    assert (code, out, "did you mean 'itq'" in err) == (2, "", True)
