"""What identifies a cell: canonical JSON of its parts, the sha256 of that, and the code that is one of the parts.

Code is followed by imports: the plugin file, the modules of its own package or folder, and those pieces of `deep`,
`shallow`, `data`, `seeds` and `similarity` that it reaches by the names it imports; `seeds` always, for every cell's
own seed is derived there. Hashed is what the code does, so that a comment makes nothing stale. What merely carries
data about is left out, and so is what another part of the key covers: the small network's recipe (its weights), the
miniatures (their revision), the evaluator (its version).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.data.hashing import code_hash
from benchmark.execution.notebook_code import notebook_code

PACKAGE = Path(__file__).parent.parent
DECISIVE = ("benchmark.deep", "benchmark.shallow", "benchmark.data", "benchmark.seeds", "benchmark.similarity")
COVERED = (  # by the weights, by the revision; or plumbing that cannot change a number
    "benchmark.deep.mini_cnn",
    "benchmark.deep.profile",
    "benchmark.deep.lazy",
    "benchmark.data.miniature",
    "benchmark.data.cache",
    "benchmark.data.hashing",
)
SEEDS = "benchmark.seeds"  # where the seed comes from that every method is given
PIPELINE = "benchmark.data.feature_cache"  # where features of images are made


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """sha256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def differences(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> list[str]:
    """Which hashed parts differ between two records' `parts`: what `why` prints."""
    found = []
    for name in sorted(set(old) | set(new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += differences(before, after, f"{path}{name}.")
        elif before != after:
            found.append(f"{path}{name}: {before} -> {after}")
    return found


class Module(NamedTuple):
    """A source file and the name it is imported by."""

    name: str
    file: Path


def plugin_sources(plugin: type) -> dict[str, str]:
    """Module -> hash of its code, for all code that decides what a plugin's class computes."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None)
    if file is None or plugin.__module__ == "__main__":
        return _sources_of_typed(plugin)
    return dict(_sources(Module(plugin.__module__, Path(file).resolve())))


@functools.cache
def pipeline_sources() -> dict[str, str]:
    """The same for the way from an image to its features."""
    file = _piece(PIPELINE)
    return {} if file is None else {PIPELINE: code_hash(file), **_reached(Module(PIPELINE, file))}


def _sources_of_typed(plugin: type) -> dict[str, str]:
    """Of a class without a file: the class itself, and what the modules come to that it takes names from."""
    code = notebook_code(plugin)
    found = {"plugin": code.hash, **_seeds()}
    for name in sorted(code.modules):
        file = _piece(name) if _within(name, ("benchmark",)) else _file_of_own(name)
        if file is not None:
            found |= {name: code_hash(file), **_reached(Module(name, file))}
    return found


def _file_of_own(name: str) -> Path | None:
    """The file of a module that is neither installed nor Python's own: a helper beside the notebook."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or Path(file).suffix != ".py" or {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    return None if Path(file).is_relative_to(Path(os.__file__).parent) else Path(file).resolve()


@functools.cache
def _sources(plugin: Module) -> Mapping[str, str]:
    return {"plugin": code_hash(plugin.file), **_reached(plugin), **_seeds()}


def _seeds() -> dict[str, str]:
    file = _piece(SEEDS)
    return {} if file is None else {SEEDS: code_hash(file)}


def _reached(start: Module) -> dict[str, str]:
    """Every module that `start` reaches by imports and that decides numbers, at whatever depth."""
    found: dict[str, str] = {}
    waiting = [*_imported(start)]
    while waiting:
        module = waiting.pop()
        if module.name not in found and module != start:
            found[module.name] = code_hash(module.file)
            waiting += _imported(module)
    return found


def _imported(module: Module) -> Iterator[Module]:
    """What a module imports of ours and of its own package, whatever function the import stands in."""
    for name, names in _imports(module):
        if name.split(".")[0] == "benchmark":
            for one in _defining(name, names):
                file = _piece(one)
                if file is not None:
                    yield Module(one, file)
        else:
            yield from _own(module, name, names)


def _piece(name: str) -> Path | None:
    """The file of a module of ours, if it decides numbers and nothing else in the key covers it."""
    if not _within(name, DECISIVE) or _within(name, COVERED):
        return None
    return _file(PACKAGE.parent.joinpath(*name.split(".")))


def _within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _file(stem: Path) -> Path | None:
    return next((file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file()), None)


def _defining(name: str, names: tuple[str, ...]) -> Iterator[str]:
    """The modules of ours that define these names: rooms only pass them on."""
    folder = PACKAGE.parent.joinpath(*name.split("."))
    if not folder.is_dir():
        yield name
        return
    passed_on = _passed_on(Module(name, folder / "__init__.py")) if (folder / "__init__.py").is_file() else {}
    if not names:  # `import benchmark.deep as deep`: any of them may be meant
        yield name
        yield from sorted(set(passed_on.values()))
    for one in names:
        if one in passed_on:
            yield from _defining(passed_on[one], (one,))
        elif _file(folder / one) is not None:
            yield f"{name}.{one}"
        else:
            yield name


@functools.cache
def _passed_on(package: Module) -> dict[str, str]:
    """Name -> the module a package takes it from."""
    return {one: name for name, names in _imports(package) for one in names}


def _own(module: Module, name: str, names: tuple[str, ...]) -> Iterator[Module]:
    """A plugin's own modules: those of its package, or, for a plain file, those beside and below it."""
    initial = module.file.name == "__init__.py"
    root = module.file.parents[module.name.count(".") + initial]
    packaged = initial or "." in module.name or root.name in ("site-packages", "dist-packages")
    if packaged and name.split(".")[0] != module.name.split(".")[0]:
        return
    parts, roots = name.split("."), [root]
    around = _package_around(module.file)
    if not packaged and parts[0] == around.name:  # a file given by its path may name the package that it lies in
        roots.append(around.parent)
    for candidate in [parts[:depth] for depth in range(1, len(parts) + 1)] + [[*parts, one] for one in names]:
        file = next(filter(None, (_file(one.joinpath(*candidate)) for one in roots)), None)
        if file is not None:
            yield Module(".".join(candidate), file)


def _package_around(file: Path) -> Path:
    """The outermost package that a file lies in; its folder where it lies in none."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@functools.cache
def _imports(module: Module) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(module, names taken from it) of every import that is ever carried out."""
    tree = ast.parse(module.file.read_text(encoding="utf-8"))
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in _carried_out(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((_absolute(module, node), tuple(alias.name for alias in node.names)))
    return tuple(found)


def _carried_out(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield other
                yield from _carried_out(other)
            continue
        yield child
        yield from _carried_out(child)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """The module that `from .x import y` means."""
    if not node.level:
        return node.module or ""
    package = module.name if module.file.name == "__init__.py" else module.name.rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package or module.name)
