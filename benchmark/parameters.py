"""Parameters of a method: how an author declares them, what may be given for them, and the constructor they make.

`gamma: float = parameter(0.1, search=[0, 0.5, 1], doc="exponent of the priority, eq. 7")` in the body of a class is
a keyword of its constructor. A class with an `__init__` of its own keeps it; its keyword-only arguments are then
its parameters. Which values a run chooses is decided elsewhere.
"""

from __future__ import annotations

import inspect
import math
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from benchmark.errors import UsageError

T = TypeVar("T", bound=type)
TRAINING = "training"  # the constructor's keyword for how a network is trained; not a parameter of the method
_UNFIT = object()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method: what a value must be, which one it has, and which ones are worth trying."""

    name: str
    default: Any
    type: Any = Any  # as annotated; Any where nothing is known
    search: tuple[Any, ...] = ()
    doc: str = ""
    least: float | None = None  # of a number

    @property
    def expected(self) -> str:
        """What a value must be, in words: "float or None", "'paper' or 'authors'", "int, 1 or more"."""
        found = dict.fromkeys(word for option in _options(self) for word in _words(option))
        words = sorted(found, key=lambda word: word == "None")
        told = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        return told if self.least is None else f"{told}, {self.least:g} or more"


class _Declared:
    """What `parameter` leaves in a class: read through an instance or its class, it is the default."""

    def __init__(self, default: Any, search: Sequence[Any], doc: str, least: float | None) -> None:
        self.default, self.search, self.doc, self.least = default, tuple(search), doc, least

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.default


def parameter(default: Any, *, search: Sequence[Any] = (), doc: str = "", least: float | None = None) -> Any:
    """Declare a parameter in the body of a method's class: its default, the values worth searching, what it means.

    Its type is its annotation: bool, int, float, str, Literal[...] of the choices, `| None` where None is allowed.
    `least` is the smallest number that makes sense.
    """
    return _Declared(default, search, doc, least)


# What a class declares


def parameters_of(cls: type, name: str) -> dict[str, Parameter]:
    """The parameters of a method's class, its own before inherited ones; `name` is the method's, for messages."""
    attributes = _attributes(cls)
    init = _written_init(cls)
    if init is None:
        found = {key: _checked(name, one) for key, one in attributes.items()}
    else:
        found = _keywords(init, attributes)
        lost = ", ".join(sorted(_beside_init(cls) - set(found)))
        if lost:
            raise UsageError(
                f"method '{name}': __init__ does not take {lost}, declared by parameter(); drop one of them"
            )
    searched = getattr(cls, "search_space", {})
    return {key: replace(one, search=tuple(searched.get(key, one.search))) for key, one in found.items()}


def takes_training(cls: type) -> bool:
    """Whether the constructor takes `training`: as a keyword of `__init__`, or annotated in the class."""
    init = _written_init(cls)
    if init is not None:
        return TRAINING in inspect.signature(init).parameters
    return any(TRAINING in _annotations(base) for base in cls.__mro__)


def _beside_init(cls: type) -> set[str]:
    """What is declared by the class that wrote `__init__` or below it; what lies above, that one may settle."""
    writer = _writer(cls)
    bases = cls.__mro__[: cls.__mro__.index(writer) + 1] if writer else ()
    return {key for base in bases for key, value in vars(base).items() if isinstance(value, _Declared)}


def _attributes(cls: type) -> dict[str, Parameter]:
    """Those declared by `parameter`, nearest class first; a plain value in a nearer class fixes a parameter."""
    found: dict[str, Parameter] = {}
    seen: set[str] = set()
    for base in cls.__mro__:
        scope = {**vars(sys.modules.get(base.__module__, typing)), **vars(base)}
        for key, value in vars(base).items():
            if isinstance(value, _Declared) and key not in seen:
                kind = _resolved(_annotations(base).get(key, inspect.Parameter.empty), scope, value.default)
                found[key] = Parameter(key, value.default, kind, value.search, value.doc, value.least)
            seen.add(key)
    return found


def _keywords(init: Any, attributes: Mapping[str, Parameter]) -> dict[str, Parameter]:
    found = {}
    for one in inspect.signature(init).parameters.values():
        if one.kind is one.KEYWORD_ONLY and one.name != TRAINING:
            told = attributes.get(one.name, Parameter(one.name, None))
            kind = _resolved(one.annotation, getattr(init, "__globals__", {}), one.default)
            found[one.name] = replace(told, default=one.default, type=kind)
    return found


def _annotations(cls: type) -> Mapping[str, Any]:
    try:
        return inspect.get_annotations(cls)
    except NameError:  # of Python 3.14 on: a name that only type checkers see
        return {}


def _resolved(annotation: Any, scope: Mapping[str, Any], default: Any) -> Any:
    """The type that an annotation means; that of the default where there is none, or none that can be resolved."""
    if isinstance(annotation, str):
        try:
            return eval(annotation, dict(scope))  # text of the author's own file, as typing.get_type_hints does
        except Exception:  # a name that only type checkers see may fail in any way
            annotation = inspect.Parameter.empty
    if annotation is not inspect.Parameter.empty:
        return annotation
    if type(default) is int:
        return int | float  # nothing says that a fraction is wrong
    return type(default) if isinstance(default, (bool, float, str)) else Any


def _checked(method: str, one: Parameter) -> Parameter:
    """With its default and the values to search in the declared type."""
    search = tuple(checked_value(method, one, value) for value in one.search)
    return replace(one, default=checked_value(method, one, one.default), search=search)


# The constructor


def give_constructor(cls: type, name: str) -> None:
    """`cls(bits, seed=0, *, <parameters>[, training])`, made of what the class declares, unless it has its own.

    Sets every parameter as an attribute, then calls `__post_init__` where there is one.
    """
    if _written_init(cls) is not None:
        return
    declared, trains = parameters_of(cls, name), takes_training(cls)

    def __init__(self: Any, bits: int, seed: int = 0, **given: Any) -> None:
        self.bits, self.seed = _checked_bits(name, bits), seed
        if trains:
            self.training = given.pop(TRAINING, None)
        for key in given:
            if key not in declared:
                raise UsageError(f"method '{name}' has no parameter '{key}'; it has: {', '.join(declared) or 'none'}")
        for key, one in declared.items():
            setattr(self, key, checked_value(name, one, given[key]) if key in given else one.default)
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    __init__.__signature__ = _signature(declared, trains)  # type: ignore[attr-defined]
    __init__.__module__, __init__.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    __init__.made_of_parameters = True  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]


def with_constructor(cls: T) -> T:
    """Class decorator for what methods derive from: an `__init__` of their own can then call `super().__init__`."""
    give_constructor(cls, cls.__name__)
    return cls


def _written_init(cls: type) -> Any:
    """The `__init__` that an author wrote; None where there is none, or one made here."""
    writer = _writer(cls)
    return None if writer is None else vars(writer)["__init__"]


def _writer(cls: type) -> type | None:
    """The class whose `__init__` counts, if an author wrote it; that of a protocol says nothing."""
    nearest = next(base for base in cls.__mro__ if "__init__" in vars(base))
    made = hasattr(vars(nearest)["__init__"], "made_of_parameters")
    return None if nearest is object or made or vars(nearest).get("_is_protocol") else nearest


def _signature(declared: Mapping[str, Parameter], trains: bool) -> inspect.Signature:
    kinds = inspect.Parameter
    leading = [
        kinds("self", kinds.POSITIONAL_OR_KEYWORD),
        kinds("bits", kinds.POSITIONAL_OR_KEYWORD, annotation=int),
        kinds("seed", kinds.POSITIONAL_OR_KEYWORD, default=0, annotation=int),
    ]
    named = [kinds(one.name, kinds.KEYWORD_ONLY, default=one.default, annotation=one.type) for one in declared.values()]
    training = [kinds(TRAINING, kinds.KEYWORD_ONLY, default=None)] if trains else []
    return inspect.Signature([*leading, *named, *training])


def _checked_bits(name: str, bits: Any) -> int:
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or bits < 1:
        raise UsageError(f"{name}: bits = {bits!r}, expected a whole number of 1 or more")
    return int(bits)


# Values


def checked_value(method: str, parameter: Parameter, value: Any) -> Any:
    """`value` in the type that the parameter declares, or UsageError: 1 for a float is 1.0, so that both are one cell.

    True is no number, NaN and infinity are no values, and None is one only where it is declared or the default.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    for option in _options(parameter):
        found = _as(plain, option)
        small = parameter.least is not None and isinstance(found, (int, float)) and found < parameter.least
        if found is not _UNFIT and not small:
            return found
    raise UsageError(f"{method}: {parameter.name} = {value!r}, expected {parameter.expected}")


def _options(parameter: Parameter) -> list[Any]:
    """The members of a union; whole numbers are tried before fractions, so that `int | float` keeps 2 a 2."""
    kind = parameter.type
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    options = list(typing.get_args(kind)) if union else [kind]
    if parameter.default is None and not {None, type(None)} & set(options):
        options.append(None)
    return sorted(options, key=lambda option: option is float)


def _as(value: Any, kind: Any) -> Any:
    """`value` as this kind, or _UNFIT."""
    origin = typing.get_origin(kind)
    if kind is None or kind is type(None):
        return None if value is None else _UNFIT
    if origin is Literal:
        return _as_choice(value, typing.get_args(kind))
    if kind in (int, float):
        return _as_number(value, kind)
    if origin in (list, tuple) or kind in (list, tuple):
        return _as_sequence(value, kind)
    if isinstance(kind, type) and kind is not Any:
        return value if isinstance(value, kind) else _UNFIT
    return value if value is not None and _finite(value) else _UNFIT  # a type that cannot be checked


def _as_choice(value: Any, choices: Sequence[Any]) -> Any:
    for choice in choices:
        fitting = _as(value, type(choice))
        if fitting is not _UNFIT and fitting == choice:
            return choice
    return _UNFIT


def _as_number(value: Any, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
        return _UNFIT
    return kind(value) if kind is float or value == int(value) else _UNFIT


def _as_sequence(value: Any, kind: Any) -> Any:
    """A list or tuple; its entries are checked where all are of one type."""
    if not isinstance(value, (list, tuple)) or not _finite(value):
        return _UNFIT
    made = typing.get_origin(kind) or kind
    entries = [entry for entry in typing.get_args(kind) if entry is not Ellipsis]
    found = [_as(one, entries[0]) for one in value] if len(entries) == 1 else list(value)
    return _UNFIT if _UNFIT in found else made(found)


def _finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    try:
        return not isinstance(value, (int, float)) or math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _words(option: Any) -> list[str]:
    if typing.get_origin(option) is Literal:
        return [repr(choice) for choice in typing.get_args(option)]
    if option is None or option is type(None):
        return ["None"]
    if option is float:
        return ["a finite float"]
    return [getattr(option, "__name__", str(option)) if typing.get_origin(option) is None else str(option)]
