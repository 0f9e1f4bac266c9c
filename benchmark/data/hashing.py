"""What identifies a file: the hash of its bytes, or, for source code, of what the code does."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import json
from pathlib import Path

from benchmark.data.cache import cache_dir, replacing


def file_hash(path: Path) -> str:
    """sha256 of a file's bytes, remembered by its path, size and time of change."""
    status = path.stat()
    identity = f"{path.resolve()}\x1f{status.st_size}\x1f{status.st_mtime_ns}"
    note = cache_dir() / "hashes" / (hashlib.sha256(identity.encode()).hexdigest()[:32] + ".json")
    with contextlib.suppress(OSError, ValueError, KeyError):
        return str(json.loads(note.read_text())["sha256"])
    with path.open("rb") as handle:
        value = hashlib.file_digest(handle, "sha256").hexdigest()
    with contextlib.suppress(OSError), replacing(note) as temporary:
        temporary.write_text(json.dumps({"sha256": value}))
    return value


@functools.cache
def code_hash(path: Path) -> str:
    """Hash of what a source file does: comments, docstrings and layout do not count."""
    return hashlib.sha256(code_text(ast.parse(path.read_text(encoding="utf-8"))).encode()).hexdigest()[:16]


def code_text(tree: ast.Module) -> str:
    """A syntax tree without its docstrings, as text."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[:1] = [] if len(body) > 1 else [ast.Pass()]
    return ast.unparse(tree)


def _is_text(statement: ast.AST) -> bool:
    """A bare string: a docstring, or a comment in its clothes."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
