"""A class that was typed into a notebook or script: what it does, as one hash, and the modules that it leans on.

There is no file to read, so compiled code and values are described: those of the class, and those of all it uses of
what was typed there, functions, constants, arrays and bases alike. Comments, docstrings and places do not count. Of
what comes from a module only the module's name is kept; which modules count in a key is said in `fingerprint`.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
from collections.abc import Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from benchmark.contracts import MethodInfo, Parameter

TYPED = "__main__"
GUARD = "benchmark.guard"  # holds what the author wrote as `unsupported`
# Of a class: what does not decide numbers, or was put there by registration.
UNTOLD = ("__dict__", "__weakref__", "__doc__", "__module__", "__init_subclass__", "__signature__", "__annotations__")
PLAIN = (int, float, complex, str, bytes, type(None), type(...))


class NotebookCode(NamedTuple):
    """What a typed class does, and the modules that its names come from."""

    hash: str
    modules: frozenset[str]


def notebook_code(plugin: type) -> NotebookCode:
    """Of a registered class that has no file."""
    description = _Description()
    told = repr(description.of(plugin))
    return NotebookCode(hashlib.sha256(told.encode()).hexdigest()[:16], frozenset(description.modules))


class _Description:
    """Values as nested tuples without addresses; what was met before is told by its number."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._met: dict[int, tuple[int, Any]] = {}  # id -> number, and the value, so that its id stays its own

    def of(self, value: Any) -> Any:
        value = _without_words(value)
        value = getattr(value, "__func__", value)  # of a bound, static or class method
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, PLAIN):
            return repr(value)
        if id(value) in self._met:
            return "met", self._met[id(value)][0]
        self._met[id(value)] = len(self._met), value
        if isinstance(value, ModuleType):
            self.modules.add(value.__name__)
            return "module", value.__name__
        if isinstance(value, CodeType):
            return self._code(value, {})
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            return self._defined(value)
        return self._container(value)

    def _defined(self, value: Any) -> Any:
        """A class or function: what it does if it was typed, else its name."""
        if value.__module__ != TYPED:
            self.modules.add(str(value.__module__))
            return "from", str(value.__module__), value.__qualname__
        return self._class(value) if isinstance(value, type) else self._function(value)

    def _class(self, value: type) -> Any:
        info = getattr(value, "info", None)
        parameters = sorted(info.parameters.items()) if isinstance(info, MethodInfo) else []
        own = {name: one for name, one in vars(value).items() if name not in UNTOLD}
        told = [
            (name, self.of(own[name])) for name in sorted(own) if not isinstance(own[name], (MethodInfo, Parameter))
        ]
        return "class", [self.of(base) for base in value.__bases__], self.of(parameters), told

    def _function(self, value: Any) -> Any:
        if hasattr(value, "made_of_parameters"):  # by registration; the parameters are told for themselves
            return "constructor"
        given = self.of(value.__defaults__), self.of(value.__kwdefaults__)
        enclosed = [self.of(_content(cell)) for cell in value.__closure__ or ()]
        return "function", given, enclosed, self._code(value.__code__, value.__globals__)

    def _code(self, code: CodeType, names: Mapping[str, Any]) -> Any:
        """Instructions with the constants they load (a docstring is loaded by none), and what stands behind names."""
        steps = []
        for step in dis.get_instructions(code):
            inner = step.argval
            if isinstance(inner, CodeType):
                steps.append((step.opname, self._code(inner, names)))
            elif step.opcode in dis.hasconst:
                steps.append((step.opname, self.of(inner)))
            else:
                steps.append((step.opname, inner if isinstance(inner, str) else step.arg))
        used = sorted({name for name in code.co_names if name in names})
        return steps, code.co_exceptiontable.hex(), [(name, self.of(names[name])) for name in used]

    def _container(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [self.of(one) for one in value]
        if isinstance(value, dict):
            return "dict", [(self.of(key), self.of(one)) for key, one in value.items()]
        if isinstance(value, (set, frozenset)):
            return "set", sorted(repr(self.of(one)) for one in value)
        if isinstance(value, property):
            return "property", self.of(value.fget), self.of(value.fset)
        if isinstance(value, (functools.partial, functools.cached_property)):
            bound = getattr(value, "args", ()), getattr(value, "keywords", {})
            return "partial", self.of(value.func), self.of(bound)
        kind = type(value)
        if kind.__module__ in (TYPED, GUARD):
            return self.of(kind), [(name, self.of(one)) for name, one in sorted(vars(value).items())]
        return self.of(kind), _content_hash(value)


def _without_words(value: Any) -> Any:
    """Titles, and what is said about a parameter, decide nothing."""
    if isinstance(value, MethodInfo):
        return tuple(sorted(value.parameters.items()))
    return value.default if type(value).__module__ == Parameter.__module__ else value


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _content_hash(value: Any) -> str:
    """Of an array, a frame or whatever else can be pickled; of the rest, nothing."""
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception:  # whatever refuses to be pickled does so in its own way
        return ""
