"""Which settings are tried: all parameters alike, the training's own for everybody, beyond the edge where need be."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmark import UsageError
from benchmark.deep.profile import load_profile
from benchmark.execution.search_space import FACTORS, at_edge, draws, neighbours, search_space, size
from benchmark.registry import get_method, methods

QUICK = load_profile("quick").training
AGH, DPH, LSH = (get_method(name).info for name in ("agh", "dph", "lsh"))


def test_the_training_of_every_network_is_searched_with_no_line_of_its_authors() -> None:
    for info in (one.info for one in methods):
        space = search_space(info, QUICK)
        assert ("learning_rate" in space) == info.takes_training
    space = search_space(DPH, QUICK)
    assert space["learning_rate"] == pytest.approx([QUICK.learning_rate * one for one in FACTORS["learning_rate"]])
    assert {"gamma", "logit_scale", "inv_epsilon", "weight_decay"} < set(space)
    assert "learning_rate" not in search_space(DPH, QUICK, fixed=["learning_rate"])


def test_a_default_belongs_to_the_space() -> None:
    for info in (one.info for one in methods):
        for name, values in search_space(info, QUICK).items():
            assert (getattr(QUICK, name) if name in FACTORS else info.parameters[name]) in values


def test_a_search_space_of_unknown_parameters_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_method("itq"), "search_space", {"iteration": [1]}, raising=False)
    with pytest.raises(UsageError, match="search_space names 'iteration'"):
        search_space(get_method("itq").info, QUICK)


def test_the_defaults_are_drawn_first_and_nothing_twice() -> None:
    space = search_space(AGH, QUICK)
    found = draws(AGH, QUICK, space, 100)
    assert found[0] == {}
    texts = [json.dumps(one, sort_keys=True) for one in found]
    assert len(set(texts)) == len(texts) == size(space)  # the whole space, of which the defaults are one
    assert draws(AGH, QUICK, space, 4) == found[:0] + draws(AGH, QUICK, space, 4)
    for budget in (1, 5, 24):
        assert len(draws(DPH, QUICK, search_space(DPH, QUICK), budget)) == budget


def test_every_value_is_drawn_as_often_as_any_other() -> None:
    space = search_space(DPH, QUICK)
    rates = Counter(one.get("learning_rate", QUICK.learning_rate) for one in draws(DPH, QUICK, space, 25))
    assert set(rates) == set(space["learning_rate"])
    assert max(rates.values()) - min(rates.values()) <= 2  # the defaults are one more, and a repetition one less


def test_neighbours_go_beyond_the_edge_of_a_rate_and_of_nothing_else() -> None:
    space = search_space(DPH, QUICK)
    top = max(space["learning_rate"])
    near = neighbours(DPH, QUICK, space, {"learning_rate": top, "gamma": 1.0})
    rates = [one.get("learning_rate", QUICK.learning_rate) for one in near]
    assert rates[0] == pytest.approx(3 * top)
    assert min(rates) == space["learning_rate"][-2]
    assert {one.get("gamma", 0.1) for one in near} <= set(space["gamma"])
    assert all(sum(one.get(key) != {"learning_rate": top, "gamma": 1.0}.get(key) for key in space) == 1 for one in near)


def test_the_edge_is_the_end_of_what_was_tried() -> None:
    space = search_space(DPH, QUICK)
    low, high = min(space["learning_rate"]), max(space["learning_rate"])
    best = {"learning_rate": high}
    assert at_edge(DPH, QUICK, space, [{}, best], best) == ["learning_rate"]
    assert at_edge(DPH, QUICK, space, [{}, best, {"learning_rate": 3 * high}], best) == []  # it was tried, and lost
    assert at_edge(DPH, QUICK, space, [{}, {"learning_rate": low}], {}) == []
    assert at_edge(LSH, QUICK, search_space(LSH, QUICK), [{}], {}) == []
