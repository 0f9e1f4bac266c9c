"""Name -> plugin. Three sources, all alike: the built-in folders, entry points, and files given by --plugin.

A plugin file is loaded by its path and registers itself with `@register_method` or `@register_dataset`; nothing
imports it by name. Two plugins of one name are an error that names both files.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmark.contracts import DatasetInfo, Family, HashDataset, Input, MethodInfo, Needs
from benchmark.errors import UsageError

T = TypeVar("T", bound=type)
PAPER = ("lsh", "sh", "itq", "ksh", "sdh", "cnnh", "dnnh", "dpsh", "dsh", "dhn", "hashnet", "dph")


class Registry(Generic[T]):
    """Plugins of one kind by name. Loads the built-ins and the entry points when first asked."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._plugins: dict[str, T] = {}
        self._loaded = False

    def add(self, name: str, plugin: T) -> None:
        """Register; the same file loaded twice replaces itself, another file of that name is an error."""
        known = self._plugins.get(name)
        if known is not None and known.info.source != plugin.info.source:  # type: ignore[attr-defined]
            raise UsageError(
                f"{self.kind} '{name}' is defined twice: in {known.info.source} and in "  # type: ignore[attr-defined]
                f"{plugin.info.source}; rename one of them"  # type: ignore[attr-defined]
            )
        self._plugins[name] = plugin

    def get(self, name: str) -> T:
        self.load()
        if name not in self._plugins:
            close = difflib.get_close_matches(name, self._plugins, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(self.names())}"
            raise UsageError(f"unknown {self.kind} '{name}': {hint}")
        return self._plugins[name]

    def names(self) -> list[str]:
        self.load()
        return sorted(self._plugins)

    def __iter__(self) -> Iterator[T]:
        return (self._plugins[name] for name in self.names())

    def load(self) -> None:
        """Built-in folder and entry points, once."""
        if self._loaded:
            return
        self._loaded = True
        for path in sorted(builtin_folder(f"{self.kind}s").glob("*.py")):
            load_plugin(path)
        for entry in entry_points(group=f"hashbench.{self.kind}s"):
            with _import_errors(f"entry point {entry.name} = {entry.value}"):
                entry.load()


methods: Registry[Any] = Registry("method")
datasets: Registry[Any] = Registry("dataset")


def builtin_folder(kind: str) -> Path:
    """methods/ or datasets/: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "builtin" / kind
    return inside if inside.is_dir() else package.parent / kind


@contextlib.contextmanager
def _import_errors(what: str) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"plugin {what} cannot be imported: {type(error).__name__}: {error}") from error


def load_plugin(path: str | Path) -> None:
    """Import one plugin file by its path; whatever it registers is then known."""
    path = Path(path).resolve()
    if not path.is_file():
        raise UsageError(f"plugin file {path} does not exist")
    name = f"hashbench_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"plugin file {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _import_errors(f"file {path}"):
            spec.loader.exec_module(module)
    except UsageError:
        del sys.modules[name]
        raise


def parameters_of(plugin: type) -> dict[str, Any]:
    """The keyword-only parameters of a plugin's constructor with their defaults."""
    signature = inspect.signature(plugin)
    return {p.name: p.default for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}


def register_method(
    name: str,
    *,
    title: str,
    family: Family,
    input: Input = "features",
    needs: Needs = "nothing",
    paper: str = "",
) -> Callable[[T], T]:
    """Class decorator: make a hashing method known under `name`. See `HashMethod` for what the class must offer.

    `input` is "features" or "images"; `needs` is "nothing", "similarity" or "labels": what is not declared is
    withheld. `paper` is a short citation.
    """

    def register(cls: T) -> T:
        hyper = {key: value for key, value in parameters_of(cls).items() if key != "training"}
        cls.info = MethodInfo(name, title, family, input, needs, paper, hyper, _source(cls))  # type: ignore[attr-defined]
        methods.add(name, cls)
        return cls

    return register


def register_dataset(
    name: str, *, title: str, stand_in: str | None = None, takes: str | None = None
) -> Callable[[T], T]:
    """Class decorator: make a data set known under `name`. See `HashDataset` for what the class must offer."""

    def register(cls: T) -> T:
        hyper = {key: value for key, value in parameters_of(cls).items() if key != "data_root"}
        cls.info = DatasetInfo(name, title, stand_in, takes, hyper, _source(cls))  # type: ignore[attr-defined]
        datasets.add(name, cls)
        return cls

    return register


def _source(cls: type) -> Path | None:
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def get_method(name: str) -> Any:
    """The class of a registered method: `get_method("itq")(bits=32, seed=0).fit(train).encode(query)`."""
    return methods.get(name)


def dataset_class(spec: str, data_root: str | Path | None = None) -> Any:
    """The class behind `spec`; without a data root, that of the stand-in."""
    cls = datasets.get(spec.partition(":")[0])
    return datasets.get(cls.info.stand_in) if data_root is None and cls.info.stand_in else cls


def name_of_own(kind: str, name: str) -> str:
    """What people's own data is called: its file's or folder's name, unless a registered data set is called so."""
    return f"{kind}:{name}" if name in datasets.names() else name


def get_dataset(spec: str, data_root: str | Path | None = None, **parameters: Any) -> HashDataset:
    """The data set called `spec`: a name, or `name:ARGUMENT` for the kinds that take a path.

    A data set that needs a data root gives way to its miniature when there is none.
    """
    name, _, argument = spec.partition(":")
    info: DatasetInfo = datasets.get(name).info
    if info.takes and not argument:
        raise UsageError(f"dataset '{name}' needs a path: write {name}:{info.takes}")
    if argument and not info.takes:
        raise UsageError(f"dataset '{name}' takes no path, but '{spec}' was given")
    cls = dataset_class(spec, data_root)
    unknown = set(parameters) - set(cls.info.parameters)
    if unknown:
        known = ", ".join(cls.info.parameters) or "none"
        raise UsageError(f"dataset '{name}' has no parameter '{unknown.pop()}'; known: {known}")
    root = Path(data_root) if data_root is not None else None
    return cls(argument or None, data_root=root, **parameters)
