"""Name -> plugin. Three sources, all alike: the built-in folders, entry points, and files given by --plugin.

A plugin file is loaded by its path and registers itself with `@register_method` or `@register_dataset`; nothing
imports it by name. Two plugins of one name are an error that names both files. Who asks for one plugin by its name
loads that one and no other; a plugin that cannot be imported stops only who asks for it. What registration puts
around a method's class lives in `guard.py`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast, get_args

from benchmark.contracts import DatasetInfo, Family, HashDataset, HashMethod, Input, MethodInfo, Needs, Ranks
from benchmark.errors import UsageError
from benchmark.guard import guard
from benchmark.parameters import give_constructor, parameters_of, takes_training
from benchmark.unseen import OPTIONS, UnseenClasses, own_options
from benchmark.wording import closest

Kind = Literal["method", "dataset"]
T = TypeVar("T", bound=type)
REGISTERED = re.compile(r"""^@register_(method|dataset)\(\s*["']([^"']+)["']""", re.MULTILINE)


class Registry(Generic[T]):
    """Plugins of one kind by name. Loads what is asked for; all built-ins and entry points when asked for all."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.broken: dict[str, str] = {}  # file stem or entry point's name -> why it could not be imported
        self._plugins: dict[str, T] = {}
        self._loaded = False

    def add(self, name: str, plugin: T) -> None:
        """Register; the same file loaded twice replaces itself, another file of that name is an error."""
        if not name.isprintable() or name.strip() != name or name in ("", "all"):
            where = f"{self.kind} {name!r} of {_info(plugin).source}"
            raise UsageError(f"{where}: that is no name; use letters, digits and dashes, and not 'all'")
        source, known = _info(plugin).source, self._plugins.get(name)
        other = _info(known).source if known is not None else builtin_names(self.kind).get(name, source)
        if other != source:
            raise UsageError(f"{self.kind} '{name}' is defined twice: in {other} and in {source}; rename one of them")
        self._plugins[name] = plugin

    def get(self, name: str) -> T:
        """The plugin of that name; of the built-ins, only the file that registers it is loaded."""
        if name not in self._plugins and name in builtin_names(self.kind):
            load_plugin(builtin_names(self.kind)[name])
        if name not in self._plugins:
            self.load()
        if name not in self._plugins:
            raise UsageError(self._unknown(name))
        return self._plugins[name]

    def _unknown(self, name: str) -> str:
        if name in self.broken:
            return f"{self.kind} '{name}': {self.broken[name]}"
        close = closest(name, self._plugins)
        hint = (
            f"did you mean '{close[0]}'?"
            if close
            else f"known: {', '.join(self.names())}; one in a file: --plugin FILE"
        )
        lost = "".join(f"; {why}" for why in self.broken.values())
        return f"unknown {self.kind} '{name}': {hint}{lost}"

    def names(self) -> list[str]:
        self.load()
        return sorted(self._plugins)

    def names_unloaded(self) -> set[str]:
        """Names that are taken, as far as one can tell without importing anything."""
        entries = {entry.name for entry in entry_points(group=f"hashbench.{self.kind}s")}
        return {*self._plugins, *builtin_names(self.kind), *entries}

    def __iter__(self) -> Iterator[T]:
        return (self._plugins[name] for name in self.names())

    def load(self) -> None:
        """Built-in folder and entry points, once; what cannot be imported is a warning, kept in `broken`."""
        if self._loaded:
            return
        self._loaded = True
        for path in sorted(builtin_folder(f"{self.kind}s").glob("*.py")):
            self._attempt(path.stem, functools.partial(load_plugin, path))
        for entry in entry_points(group=f"hashbench.{self.kind}s"):
            self._attempt(entry.name, functools.partial(_load_entry, entry))

    def _attempt(self, name: str, load: Callable[[], None]) -> None:
        try:
            with _surroundings_kept():
                load()
        except UsageError as error:
            self.broken[name] = str(error)
            warnings.warn(f"{error}; all others work", stacklevel=4)


methods: Registry[type[HashMethod]] = Registry("method")
datasets: Registry[Any] = Registry("dataset")


def _info(plugin: Any) -> MethodInfo | DatasetInfo:
    return cast(MethodInfo | DatasetInfo, plugin.info)


# Where plugins come from


def builtin_folder(kind: str) -> Path:
    """methods/ or datasets/: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "builtin" / kind
    return inside if inside.is_dir() else package.parent / kind


@functools.cache
def builtin_names(kind: Kind) -> dict[str, Path]:
    """Name -> built-in file that registers it, read off the text of the files: nothing is imported."""
    return {
        name: path.resolve()
        for path in sorted(builtin_folder(f"{kind}s").glob("*.py"))
        for found, name in REGISTERED.findall(path.read_text(encoding="utf-8"))
        if found == kind
    }


@contextlib.contextmanager
def _importing(what: str, file: Path | None = None) -> Iterator[None]:
    """An import that fails in whatever way is a UsageError, and leaves nothing registered."""
    before = dict(methods._plugins), dict(datasets._plugins)
    try:
        yield
    except (Exception, SystemExit) as error:
        methods._plugins, datasets._plugins = before
        place = _place(error, file)
        if isinstance(error, UsageError):
            raise UsageError(f"{error}{place}") from error
        told = f"{type(error).__name__}: {error}{place}{_remedy(error, file)}"
        raise UsageError(f"plugin {what} cannot be imported: {told}") from error


def _place(error: BaseException, file: Path | None) -> str:
    """The line of the plugin's file that an error came out of."""
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == str(file)]
    return f" ({Path(str(file)).name} line {lines[-1]})" if lines else ""


def _remedy(error: BaseException, file: Path | None) -> str:
    """What to do about a helper that lies beside a plugin file: it would be found by one name for all plugins."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if file is None or not name or not (file.parent / f"{name.partition('.')[0]}.py").is_file():
        return ""
    return "; a plugin file stands alone: make a package of it and its helpers (docs/add-a-method.md)"


@contextlib.contextmanager
def _surroundings_kept() -> Iterator[None]:
    """Folder and environment stay as they were, whatever is imported: the cells of all other methods inherit them."""
    environment, folder = dict(os.environ), os.open(".", os.O_RDONLY)
    try:
        yield
    finally:
        os.fchdir(folder)
        os.close(folder)
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)


def load_plugin(path: str | Path) -> None:
    """Import one plugin file by its path; whatever it registers is then known."""
    with _surroundings_kept():
        _load_file(path)


def _load_file(path: str | Path) -> None:
    path = Path(path).resolve()
    if not path.is_file():
        raise UsageError(f"plugin file {path} does not exist")
    name = f"hashbench_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        _add_again(sys.modules[name])
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"plugin file {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importing(f"file {path}", path):
            spec.loader.exec_module(module)
    except UsageError:
        del sys.modules[name]
        raise


def _add_again(module: Any) -> None:
    """A file that was imported before is not executed again, but what it registered must be known."""
    for plugin in vars(module).values():
        info = vars(plugin).get("info") if isinstance(plugin, type) else None
        if isinstance(info, (MethodInfo, DatasetInfo)) and plugin.__module__ == module.__name__:
            registry: Registry[Any] = methods if isinstance(info, MethodInfo) else datasets
            registry._plugins.setdefault(info.name, plugin)


def _load_entry(entry: EntryPoint) -> None:
    """Import what an entry point names; what its package registered remembers how it came."""
    with _importing(f"entry point {entry.name} = {entry.value}"):
        entry.load()
    package = entry.value.partition(":")[0].partition(".")[0]
    for plugin in [*methods._plugins.values(), *datasets._plugins.values()]:
        if plugin.__module__.partition(".")[0] == package and _info(plugin).entry is None:
            plugin.info = dataclasses.replace(_info(plugin), entry=entry.value)


def load_only(kind: Kind, name: str, source: str | Path | None, entry: str | None = None) -> Any:
    """The class registered as `name`, of which `info.source` and `info.entry` are known; imports no other plugin.

    For a process that is the plugin's own: what it sets in the environment when it is imported stays set.
    """
    registry: Registry[Any] = methods if kind == "method" else datasets
    if name not in registry._plugins:
        if entry is not None:
            _load_entry(EntryPoint(name, entry, f"hashbench.{kind}s"))
        elif source is not None:
            _load_file(source)
    if name not in registry._plugins:
        where = entry or source or "no file (it was defined interactively)"
        raise UsageError(f"{kind} '{name}' comes from {where}, which does not register it here")
    return registry._plugins[name]


# Registering


def register_method(
    name: str,
    *,
    title: str,
    family: Family | None = None,
    input: Input | None = None,
    needs: Needs | None = None,
    paper: str | None = None,
    groups: tuple[str, ...] = (),
    labels_at_encode: bool = False,
    ranks: Ranks = "codes",
) -> Callable[[T], T]:
    """Class decorator: make a hashing method known under `name`. See `HashMethod` for what the class must offer.

    `input` is "features" (the default) or "images"; `needs` is "nothing" (the default), "triplets", "similarity" or
    "labels": what is not declared is withheld. `family` is by default "supervised" or "unsupervised", as `needs` has
    it; `paper` is a short citation, `groups` are words that stand for several methods (`--methods paper`). A class that
    it derives from may have settled all but these: as attributes of these names (`PairwiseMethod`), or by being
    registered. What the framework keeps around the class is told in `guard.py`.

    Two more are for a `family` of "control" alone: with `labels_at_encode` it sees the labels of the rows that it
    encodes, with `ranks="vectors"` it has `embed(split)`, real-valued rows that are ranked by cosine, for `encode`.
    """
    given = {"family": family, "input": input, "needs": needs, "paper": paper}

    def register(cls: T) -> T:
        told = {key: _settled(cls, key, value) for key, value in given.items()}
        needed = told["needs"] or "nothing"
        info = MethodInfo(
            name,
            title,
            _one_of(
                name, "family", told["family"] or ("unsupervised" if needed == "nothing" else "supervised"), Family
            ),
            _one_of(name, "input", told["input"] or "features", Input),
            _one_of(name, "needs", needed, Needs),
            told["paper"] or "",
            groups=groups,
            labels_at_encode=labels_at_encode,
            ranks=_one_of(name, "ranks", ranks, Ranks),
        )
        _refuse_controls_rights(info)
        _add_method(cls, info)
        return cls

    return register


def _refuse_controls_rights(info: MethodInfo) -> None:
    """What would make a method no method: only a control, which nothing is compared with, may have it."""
    asked = [f"ranks={info.ranks!r}"] if info.ranks != "codes" else []
    asked += ["labels_at_encode=True"] if info.labels_at_encode else []
    if asked and info.family != "control":
        raise UsageError(f"method '{info.name}': {asked[0]} is for family='control', not for '{info.family}'")


def _add_method(cls: Any, info: MethodInfo) -> None:
    give_constructor(cls, info.name)
    declared = parameters_of(cls, info.name)
    cls.info = dataclasses.replace(
        info,
        parameters={key: one.default for key, one in declared.items()},
        source=_source(cls),
        entry=_entry(cls),
        declared=declared,
        takes_training=takes_training(cls),
    )
    guard(cls)
    methods.add(info.name, cls)


def _settled(cls: type, key: str, given: Any) -> Any:
    """What the decorator says, else the class or one it derives from, else what one of those was registered with."""
    if given is not None:
        return given
    attribute = getattr(cls, key, None)
    return attribute if isinstance(attribute, str) else getattr(getattr(cls, "info", None), key, None)


def _one_of(name: str, what: str, value: Any, choices: Any) -> Any:
    if value not in get_args(choices):
        raise UsageError(f"method '{name}': {what} = {value!r}, expected one of {', '.join(get_args(choices))}")
    return value


def register_dataset(
    name: str, *, title: str, stand_in: str | None = None, takes: str | None = None
) -> Callable[[T], T]:
    """Class decorator: make a data set known under `name`. See `HashDataset` for what the class must offer."""

    def register(cls: T) -> T:
        keywords = [one for one in inspect.signature(cls).parameters.values() if one.kind is one.KEYWORD_ONLY]
        hyper = {one.name: one.default for one in keywords if one.name != "data_root"}
        cls.info = DatasetInfo(name, title, stand_in, takes, hyper, _source(cls), _entry(cls))  # type: ignore[attr-defined]
        datasets.add(name, cls)
        return cls

    return register


def _source(cls: type) -> Path | None:
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _entry(cls: type) -> str | None:
    """How another process imports a class of a package: a module of one does not stand alone as a plugin file does."""
    package = getattr(sys.modules.get(cls.__module__), "__package__", None)
    if not package or cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        return None
    return f"{cls.__module__}:{cls.__qualname__}"


# Asking for them


def get_method(name: str) -> type[HashMethod]:
    """The class of a registered method: `get_method("itq")(bits=32, seed=0).fit(train).encode(query)`."""
    return methods.get(name)


def dataset_class(spec: str, data_root: str | Path | None = None) -> Any:
    """The class behind `spec`; without a data root, that of the stand-in."""
    cls = datasets.get(spec.partition(":")[0])
    return datasets.get(cls.info.stand_in) if data_root is None and cls.info.stand_in else cls


def name_of_own(kind: str, name: str) -> str:
    """What people's own data is called: its file's or folder's name, unless a known data set is called so."""
    return f"{kind}:{name}" if name in datasets.names_unloaded() else name


def get_dataset(spec: str, data_root: str | Path | None = None, **parameters: Any) -> HashDataset:
    """The data set called `spec`: a name, or `name:ARGUMENT` for the kinds that take a path.

    A data set that needs a data root gives way to its miniature when there is none.
    """
    name, _, argument = spec.partition(":")
    info: DatasetInfo = datasets.get(name).info
    if info.takes and not argument:
        raise UsageError(
            f"dataset '{name}' needs a {'path' if takes_path(spec) else 'name'}: write {name}:{info.takes}"
        )
    if argument and not info.takes:
        raise UsageError(f"dataset '{name}' takes no path, but '{spec}' was given")
    cls = dataset_class(spec, data_root)
    around = own_options(parameters, cls.info.parameters)
    own = {key: value for key, value in parameters.items() if key not in around}
    unknown = set(own) - set(cls.info.parameters)
    if unknown:
        known = ", ".join([*cls.info.parameters, *OPTIONS])
        raise UsageError(f"dataset '{name}' has no parameter '{unknown.pop()}'; known: {known}")
    root = Path(data_root) if data_root is not None else None
    dataset = cast(HashDataset, cls(argument or None, data_root=root, **own))
    return cast(HashDataset, UnseenClasses(dataset, **around)) if around else dataset


def plugin_file(plugin: Any) -> str | None:
    """The name of the file that `--plugin` must give for a class, wherever it lies; None where it is built in, in a
    package, or typed in."""
    info = _info(plugin)
    if plugin.__module__ == "__main__" or info.source is None or info.entry:
        return None
    kind = "methods" if isinstance(info, MethodInfo) else "datasets"
    return None if info.source.is_relative_to(builtin_folder(kind).resolve()) else info.source.name


def takes_path(spec: str) -> bool:
    """Whether what follows the colon is a file or folder, and not a name."""
    return datasets.get(spec.partition(":")[0]).info.takes not in (None, "NAME")


def plugin_of(dataset: HashDataset) -> type:
    """The class that somebody registered, whatever was put around it."""
    return type(dataset.whole if isinstance(dataset, UnseenClasses) else dataset)
