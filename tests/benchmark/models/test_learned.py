"""What a fitted method has learned can be taken out of it and put into another instance; what cannot is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmark import Split, get_method
from benchmark.models.learned import Unkept, keep_learned, restore_learned
from benchmark.models.state_file import read_state, state_bytes
from benchmark.shallow import FeatureScaling

ROWS = np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)


class Info:
    name = "own"


class Plain:
    """A method as a stranger may write it."""

    info = Info

    def __init__(self, bits: int = 4, seed: int = 0) -> None:
        self.bits, self.seed = bits, seed

    def fit(self, **learned: Any) -> Any:
        for name, value in learned.items():
            setattr(self, name, value)
        return self


class WithModule(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(3, 2)


def through_a_file(method: Any) -> Any:
    """Another instance, made of nothing but the bytes."""
    build = type(method)
    content = state_bytes({}, keep_learned(method, build))
    twin = build()
    restore_learned(twin, read_state(content, "it")[1])
    return twin


def test_arrays_tensors_and_plain_values_come_back_as_they_were() -> None:
    scaling = FeatureScaling("l2", 2.0, np.arange(3, dtype=np.float32))
    learned = {
        "weights": ROWS,
        "bias": torch.arange(3.0),
        "count": 7,
        "name": "x",
        "nothing": None,
        "one": np.float32(2),
    }
    learned |= {"pair": (ROWS[0], [1, {"deep": ROWS[1], 5: True}]), "scaler": scaling, "infinite": float("inf")}
    twin = through_a_file(Plain().fit(**learned))
    assert np.array_equal(twin.weights, ROWS)
    assert torch.equal(twin.bias, torch.arange(3.0))
    assert (twin.count, twin.name, twin.nothing, twin.infinite) == (7, "x", None, float("inf"))
    assert isinstance(twin.one, np.float32)
    assert isinstance(twin.pair, tuple)
    assert np.array_equal(twin.pair[1][1]["deep"], ROWS[1])
    assert twin.pair[1][1][5] is True
    assert (twin.scaler.mode, twin.scaler.gain) == ("l2", 2.0)
    assert np.array_equal(twin.scaler.mean, scaling.mean)


def test_a_module_that_the_constructor_makes_gets_its_weights_back() -> None:
    method = WithModule()
    with torch.no_grad():
        method.net.weight.fill_(3)
    assert torch.equal(through_a_file(method).net.weight, torch.full((2, 3), 3.0))


@pytest.mark.parametrize(
    ("learned", "told"),
    [
        ({"lock": object()}, "attribute `lock` is a object"),
        ({"things": [1, {"a": object()}]}, "attribute `things`[1]['a'] is a object"),
        ({"net": torch.nn.Linear(2, 2)}, "attribute `net` is a Linear"),
        ({"texts": np.array([object()])}, "attribute `texts` is a ndarray"),
        ({"half": torch.zeros(2, dtype=torch.bfloat16)}, "attribute `half` is a Tensor"),
    ],
)
def test_what_no_file_can_hold_is_named(learned: dict[str, Any], told: str) -> None:
    with pytest.raises(Unkept) as caught:
        keep_learned(Plain().fit(**learned), Plain)
    assert told in str(caught.value)
    assert "give the method keep() and restore(kept)" in str(caught.value)


def test_an_object_that_the_constructor_alone_decides_needs_no_keeping() -> None:
    class Configured(Plain):
        def __init__(self) -> None:
            super().__init__()
            self.options = frozenset({"a"})

    assert "options" not in keep_learned(Configured(), Configured)


def test_a_method_may_speak_for_itself() -> None:
    class Own(Plain):
        def keep(self) -> dict[str, Any]:
            return {"hidden": self._thing[0]}

        def restore(self, kept: dict[str, Any]) -> None:
            self._thing = [kept["hidden"], object()]

    twin = through_a_file(Own().fit(_thing=[ROWS, object()]))
    assert np.array_equal(twin._thing[0], ROWS)


def test_one_of_both_words_alone_is_a_mistake() -> None:
    class Half(Plain):
        def keep(self) -> dict[str, Any]:
            return {}

    with pytest.raises(Unkept, match=r"keep\(\) alone"):
        keep_learned(Half(), Half)


def test_a_restored_method_counts_as_fitted_and_an_unfitted_one_does_not() -> None:
    fitted = get_method("lsh")(8).fit(Split(features=ROWS))
    twin = get_method("lsh")(8)
    restore_learned(twin, keep_learned(fitted, lambda: get_method("lsh")(8)))
    assert np.array_equal(twin.encode(Split(features=ROWS)), fitted.encode(Split(features=ROWS)))
