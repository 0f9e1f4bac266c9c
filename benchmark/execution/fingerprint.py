"""What identifies a cell: canonical JSON of its parts, and the sha256 of that.

The parts are the cell itself, the method's source and the shared pieces it is built on, the data set's revision,
the backbone's weights, the profile, and the versions of evaluator and record. Host, library versions and git
state are recorded elsewhere; they are not part of the identity.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
# Modules whose code decides a method's numbers. The rest of the package is plumbing, or has a version of its own.
DECISIVE = ("benchmark.deep", "benchmark.shallow", "benchmark.similarity")


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


@functools.cache
def source_hash(path: Path) -> str:
    """sha256 of one source file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@functools.cache
def method_sources(path: Path | None) -> dict[str, str]:
    """The hash of a plugin file, and of every decisive module it reaches by imports, at whatever depth."""
    if path is None or not path.is_file():
        return {"method": "interactive"}
    found: dict[str, str] = {"method": source_hash(path)}
    waiting = list(_decisive_imports(path))
    while waiting:
        module = waiting.pop()
        file = _module_file(module)
        if module in found or file is None:
            continue
        found[module] = source_hash(file)
        waiting.extend(_decisive_imports(file))
    return found


def _decisive_imports(path: Path) -> Iterator[str]:
    for module, names in _imports(path):
        candidates = [module, *(f"{module}.{name}" for name in names)]
        if module == "benchmark":
            candidates = [_exported().get(name, "") for name in names]
        yield from (name for name in candidates if name.startswith(DECISIVE))


@functools.cache
def _imports(path: Path) -> list[tuple[str, list[str]]]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain: list[tuple[str, list[str]]] = [
        (alias.name, []) for node in nodes if isinstance(node, ast.Import) for alias in node.names
    ]
    named = [(n.module or "", [a.name for a in n.names]) for n in nodes if isinstance(n, ast.ImportFrom)]
    return [(module, names) for module, names in plain + named if module.split(".")[0] == "benchmark"]


@functools.cache
def _exported() -> dict[str, str]:
    """Name in `benchmark` -> module it comes from."""
    return {name: module for module, names in _imports(PACKAGE / "__init__.py") for name in names}


def _module_file(module: str) -> Path | None:
    stem = PACKAGE.parent.joinpath(*module.split("."))
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file
    return None
