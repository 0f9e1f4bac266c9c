"""Data roots, data files, weights and plugins for workers that do not see ours: sent once, through the scheduler.

Workers that find a file under the path it has here use it there: on most clusters home and data are shared. What
some worker does not find is packed, sent to all, those that come later included, and kept in their cache folder
under the hash of its content. Whole image collections are not sent this way: see LIMIT.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.data.cache import cache_dir
from benchmark.errors import UsageError
from benchmark.execution.request import Request

LIMIT = 1 << 30  # bytes; more belongs on a file system that workers share


@dataclass(frozen=True)
class Parcel:
    """A file or folder with all in it."""

    path: str
    digest: str
    content: bytes


def named_paths(request: Request) -> list[str]:
    """The files and folders that a request names, as far as they are here."""
    argument = request.dataset.partition(":")[2]
    named = [*(one.source for one in request.plugins), request.data_root, request.weights, argument]
    return [path for path in named if path and Path(path).exists()]


def lacking(paths: Sequence[str]) -> list[str]:
    """On a worker: those that it does not see."""
    return [path for path in paths if not Path(path).exists() and not Path(_received.get(path, path)).exists()]


def make_parcel(path: str) -> Parcel:
    """The file or folder as one archive; a folder too large to send is a UsageError."""
    files = [Path(path)] if Path(path).is_file() else [file for file in Path(path).rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    if size > LIMIT:
        raise UsageError(
            f"{path}: not visible to all Dask workers, and {size >> 20} MiB are too much to send: mount it"
        )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(path, Path(path).name)
    content = buffer.getvalue()
    return Parcel(path, hashlib.sha256(content).hexdigest()[:32], content)


_received: dict[str, str] = {}  # path on the submitting side -> path here


def receive(parcel: Parcel) -> None:
    """On a worker: unpack, unless it sees the path itself or has unpacked it before."""
    if Path(parcel.path).exists():
        return
    target = cache_dir() / "received" / parcel.digest
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            with tarfile.open(fileobj=io.BytesIO(parcel.content)) as archive:
                archive.extractall(Path(scratch) / "all", filter="data")
            try:
                os.rename(Path(scratch) / "all", target)
            except OSError:
                if not target.is_dir():  # else another worker of this machine was first
                    raise
    _received[parcel.path] = str(target / Path(parcel.path).name)


def send(client: Any, parcel: Parcel) -> None:
    """To every worker, now and later."""
    import distributed

    class Delivery(distributed.WorkerPlugin):
        idempotent = True

        def setup(self, worker: Any) -> None:
            receive(parcel)

    client.register_plugin(Delivery(), name=f"hashbench-{parcel.digest}")


def at_home(request: Request) -> Request:
    """The request with paths of this machine, and without a snapshot file where the results folder is out of sight."""
    kind, colon, argument = request.dataset.partition(":")
    results = Path(request.checkpoint).parent.parent if request.checkpoint else None
    return replace(
        request,
        plugins=tuple(replace(one, source=_received.get(one.source or "", one.source)) for one in request.plugins),
        data_root=_received.get(request.data_root or "", request.data_root),
        weights=_received.get(request.weights or "", request.weights),
        dataset=f"{kind}{colon}{_received.get(argument, argument)}",
        checkpoint=request.checkpoint if results is not None and results.is_dir() else None,
    )
