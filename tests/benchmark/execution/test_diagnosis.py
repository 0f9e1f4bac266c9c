"""A training that went wrong says so: each fault alone, and none where all is well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmark import Split, get_method, parameter, register_method
from benchmark.deep import Training
from benchmark.execution.diagnosis import doubts, remedy

FALLING = [1.0, 0.9, 0.8, 0.5, 0.4, 0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (FALLING, None),
        ([*FALLING, 0.31], None),
        ([-value for value in reversed(FALLING)], None),  # a loss may be negative
        ([0.0] * 8, None),
        ([1.0, 1.0, 1.0, 0.9, 1.2, 1.3, 1.4], "ended above its start (1 to 1.3)"),
        ([1.0, 1.0, 1.0, 50.0, 0.5, 0.5, 0.5], "blew up on its way"),
        ([1.0] * 8, "never fell"),
        ([1.0, 5.0], None),  # too short to tell
    ],
)
def test_the_way_of_the_loss(loss: list[float], told: str | None) -> None:
    found = doubts({"loss": loss}, {})
    assert (found == []) if told is None else (len(found) == 1 and told in found[0])


def test_a_gradient_that_vanished() -> None:
    stuck = {"loss": [1.0, 1.0, 1.0, 0.9, 0.9, 0.9], "gradient_norm": [1.0, 1.0, 1e-3, 1e-9, 0.0, 0.0]}
    assert "gradient vanished" in doubts(stuck, {})[0]
    solved = {"loss": [1.0, 1.0, 0.5, 0.0, 0.0, 0.0], "gradient_norm": stuck["gradient_norm"]}
    assert doubts(solved, {}) == []  # nothing is left to learn


def test_weights_that_ran_away_and_codes_that_collapsed() -> None:
    assert doubts({"largest_bias": [0.1, 5e10]}, {}) == ["largest bias ran away to 5.0e+10"]
    assert doubts({"largest_weight": [2e4]}, {}) == ["largest weight ran away to 2.0e+04"]
    assert doubts({"largest_bias": [5e10, 0.1]}, {}) == []
    assert doubts({}, {"collapsed": True}) == ["codes collapsed to a few constants"]


def test_a_history_of_somebody_elses_costs_nothing() -> None:
    assert doubts({"loss": "low", "gradient_norm": [None] * 9, "largest_bias": [None]}, {}) == []


def test_the_remedy_names_the_flag() -> None:
    assert remedy("dpsh", 0.03) == (
        "lower the rate (--set dpsh.learning_rate=0.01) or let cross-validation choose (--tune)"
    )
    assert remedy("itq", None) == "let cross-validation choose (--tune)"


def test_the_remedy_names_only_what_the_method_has() -> None:
    def named(name: str, **attributes: Any) -> str:
        coded = {"fit": lambda self, train: self, "encode": lambda self, split: None}
        register_method(name, title=name)(type(name, (), {**coded, **attributes}))
        return remedy(name, None)

    bare = named("test-bare")
    assert bare == "it has no parameters to set; look at what its fit learns, and at the features it is given"
    width = parameter(3, doc="of it")
    told = named("test-width", width=width, __annotations__={"width": int})
    assert told == "try other values of width (--set test-width.NAME=VALUE)"
    assert named("test-space", search_space={"width": [1, 3]}, width=width, __annotations__={"width": int}) == (
        "let cross-validation choose (--tune)"
    )


def test_dpsh_at_the_rate_and_bias_that_made_it_run_away_is_found_out() -> None:
    """The case that passed every check: finite loss, no constant bit, biases beyond any use."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 20, 400)
    features = (random.standard_normal((20, 32))[labels] + random.standard_normal((400, 32))).astype(np.float32)
    fast = Training(train="hash", steps=300, learning_rate=0.1, bias_rate=2.0, device="cpu")

    class Doubled(get_method("dpsh")):  # type: ignore[misc]
        bias_rate = 2.0

    method = Doubled(16, training=fast).fit(Split(features=features, labels=labels))
    assert any("largest bias ran away" in doubt for doubt in doubts(method.history, {}))
    healthy = get_method("dpsh")(16).fit(Split(features=features, labels=labels))
    assert doubts(healthy.history, {}) == []
