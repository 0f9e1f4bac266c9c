"""Parameters as attributes: the constructor they make, and what may be given for them."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark import HashMethod, Parameter, UsageError, get_method, parameter, register_method
from benchmark.contracts import checked_value
from benchmark.registry import builtin_names, methods

if TYPE_CHECKING:
    from pathlib import Path as OnlyForCheckers


class Stub:
    def fit(self, train: Any) -> Any: ...

    def encode(self, split: Any) -> Any: ...


class Above(Stub):
    depth: int = parameter(3, doc="how deep")
    kept: float = parameter(1.0)


class Declared(Above):
    gamma: float = parameter(0.1, search=[0, 1, 0.5], doc="exponent")
    mode: Literal["paper", "authors"] = parameter("paper")
    width: float | None = parameter(None)
    depth: int = parameter(5, doc="deeper")
    loose = parameter(2)
    unresolved: OnlyForCheckers = parameter("text")  # type: ignore[assignment]


class Written(Stub):
    search_space = {"count": [1, 2]}

    def __init__(self, bits: int, seed: int = 0, *, count: int = 1, ratio=0.5, name: OnlyForCheckers = "x") -> None:  # type: ignore
        self.bits, self.count = bits, count


class Trained(Stub):
    training: Any


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    for cls in (Declared, Written, Trained):
        register_method(f"test-{cls.__name__}", title="X")(cls)


def info(cls: Any) -> Any:
    return cls.info


def test_the_constructor_is_made_of_the_attributes_inherited_ones_too() -> None:
    names = ["bits", "seed", "gamma", "mode", "width", "depth", "loose", "unresolved", "kept"]
    signature = inspect.signature(Declared)
    assert list(signature.parameters) == names
    assert signature.parameters["depth"].default == 5
    assert all(one.kind is one.KEYWORD_ONLY for one in list(signature.parameters.values())[2:])
    made: Any = Declared(16, 3, gamma=2, kept=4)  # type: ignore[call-arg]
    assert (made.bits, made.seed, made.gamma, made.mode, made.depth, made.kept) == (16, 3, 2.0, "paper", 5, 4.0)
    assert Declared(16).seed == 0  # type: ignore[call-arg,attr-defined]
    assert Declared.gamma == 0.1
    with pytest.raises(TypeError):
        Declared(16, 0, 0.5)  # type: ignore[call-arg]


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'test-Declared' has no parameter 'gama'; it has: gamma, mode, width, depth"):
        Declared(16, gama=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="has no parameter 'training'"):
        Declared(16, training=None)  # type: ignore[call-arg]


@pytest.mark.parametrize("bits", [0, -1, 2.0, True, "8"])
def test_bits_are_a_positive_whole_number(bits: Any) -> None:
    with pytest.raises(UsageError, match="test-Declared: bits = "):
        Declared(bits)  # type: ignore[call-arg]


def test_info_tells_default_type_search_and_doc() -> None:
    declared = info(Declared).declared
    assert declared["gamma"] == Parameter("gamma", 0.1, float, (0.0, 1.0, 0.5), "exponent")
    assert all(type(value) is float for value in declared["gamma"].search)
    assert declared["depth"].doc == "deeper"
    assert info(Declared).parameters["width"] is None
    assert list(info(Declared).parameters) == list(declared)
    assert not info(Declared).takes_training


def test_training_is_taken_where_it_is_annotated_and_is_no_parameter() -> None:
    assert info(Trained).takes_training
    assert info(Trained).parameters == {}
    assert Trained(8, training="so").training == "so"  # type: ignore[call-arg]
    assert get_method("dph").info.takes_training
    assert not get_method("itq").info.takes_training


def test_a_written_constructor_stays_and_its_keywords_are_the_parameters() -> None:
    declared = info(Written).declared
    assert info(Written).parameters == {"count": 1, "ratio": 0.5, "name": "x"}
    assert (declared["count"].type, declared["ratio"].type, declared["name"].type) == (int, float, str)
    assert declared["count"].search == (1, 2)
    assert Written(8, count=2).count == 2


def test_what_is_declared_twice_and_taken_once_is_refused() -> None:
    class Both(Stub):
        gamma: float = parameter(1.0)

        def __init__(self, bits: int, seed: int = 0) -> None: ...

    with pytest.raises(UsageError, match="__init__ does not take gamma"):
        register_method("test-both", title="X")(Both)


def test_deriving_from_the_protocol_is_no_constructor() -> None:
    @register_method("test-typed", title="X")
    class Typed(HashMethod):
        gamma: float = parameter(1.0)

    assert Typed(8, gamma=2).gamma == 2.0
    assert info(Typed).parameters == {"gamma": 1.0}


def test_a_plain_value_in_a_subclass_fixes_a_parameter() -> None:
    @register_method("test-fixed", title="X")
    class Fixed(Declared):
        gamma = 7.0

    assert "gamma" not in info(Fixed).parameters
    assert Fixed(8).gamma == 7.0  # type: ignore[call-arg]
    assert "gamma" in info(Declared).parameters


def test_a_default_of_the_wrong_type_is_refused_when_it_is_registered() -> None:
    class Wrong(Stub):
        gamma: int = parameter(0.5)

    with pytest.raises(UsageError, match=r"test-wrong: gamma = 0.5, expected int"):
        register_method("test-wrong", title="X")(Wrong)


def test_instances_are_copied_and_pickled_with_their_parameters() -> None:
    made: Any = Declared(8, gamma=0.7)  # type: ignore[call-arg]
    for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(twin) is Declared
        assert twin.gamma == 0.7


def test_every_built_in_parameter_has_a_doc_and_its_default_is_searched() -> None:
    for cls in (methods.get(name) for name in builtin_names("method")):
        for one in cls.info.declared.values():
            assert one.doc, (cls.info.name, one.name)
            assert not one.search or one.default in one.search, (cls.info.name, one.name)


def one_of(kind: Any, default: Any = 0) -> Parameter:
    return Parameter("gamma", default, kind)


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (float, 1, 1.0),
        (float, np.float32(0.5), 0.5),
        (int, 3.0, 3),
        (int, np.int64(4), 4),
        (bool, False, False),
        (str, "x", "x"),
        (float | None, None, None),
        (float | None, 2, 2.0),
        (int | float, 2.0, 2),
        (int | float, 0.5, 0.5),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], 2.0, 2),
        (list[float], [1, 2], [1.0, 2.0]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Any, [1, "x"], [1, "x"]),
    ],
)
def test_a_fitting_value_comes_back_in_the_declared_type(kind: Any, value: Any, found: Any) -> None:
    result = checked_value("m", one_of(kind), value)
    assert result == found
    assert type(result) is type(found)
    assert result is None or not isinstance(result, list) or list(map(type, result)) == list(map(type, found))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (float, True, "a finite float"),
        (float, "1", "a finite float"),
        (float, math.nan, "a finite float"),
        (float, math.inf, "a finite float"),
        (float, 10**400, "a finite float"),
        (float, None, "a finite float"),
        (float, [1.0], "a finite float"),
        (int, 2.5, "int"),
        (int, True, "int"),
        (int, math.nan, "int"),
        (bool, 1, "bool"),
        (str, 1, "str"),
        (float | None, "none", "a finite float or None"),
        (Literal["a", "b", "c"], "d", "'a', 'b' or 'c'"),
        (Literal[1, 2], True, "1 or 2"),
        (list[float], [1, math.nan], "list"),
        (Any, [math.nan], "Any"),
    ],
)
def test_a_value_that_does_not_fit_is_told_what_would(kind: Any, value: Any, expected: str) -> None:
    """A7: values of a wrong type or NaN never reach a method."""
    with pytest.raises(UsageError) as told:
        checked_value("dph", one_of(kind), value)
    assert f"dph: gamma = {value!r}, expected {expected}" in str(told.value)


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_and_its_float_are_one_value(number: int) -> None:
    for kind in (int, float, int | float):
        found = [checked_value("m", one_of(kind), value) for value in (number, float(number))]
        assert found[0] == found[1]
        assert type(found[0]) is type(found[1])


def test_none_is_allowed_where_it_is_the_default() -> None:
    assert checked_value("m", one_of(float, default=None), None) is None


def test_a_number_below_the_least_is_refused() -> None:
    rounds = Parameter("rounds", 5, int, least=1)
    assert checked_value("m", rounds, 1) == 1
    with pytest.raises(UsageError, match="m: rounds = 0, expected int, 1 or more"):
        checked_value("m", rounds, 0)
    width = Parameter("width", None, float | None, least=0)
    assert checked_value("m", width, None) is None
    with pytest.raises(UsageError, match=r"width = -0\.5, expected a finite float or None, 0 or more"):
        checked_value("m", width, -0.5)
