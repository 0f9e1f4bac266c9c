"""The only reader and writer of results/.

    cells/<key>.json     a record; its appearance is the commit
    cells/<key>.npz      its payload: packed codes, per-query scores, curve points
    datasets/<rev>.npz   labels and names of a data set's rows, written once per revision
    logs/, checkpoints/  what a running cell leaves
    locks/               one file per cell in flight; the kernel frees a lock when its holder dies
    quarantine/          files whose hash did not match

Commit: payload to a temporary file, fsync, rename; then the record the same way. Killed at any moment, nothing is
half-written: a payload without its record is an orphan that the next commit of that key replaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.cache import locked
from benchmark.fingerprint import canonical_json, digest

SCHEMA_VERSION = 1
Arrays = Mapping[str, np.ndarray]


class Damaged(ValueError):
    """A stored file whose content is not what was written."""


class Store:
    """A results folder."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.cells = self.root / "cells"

    # Reading

    def keys(self) -> list[str]:
        if not self.cells.is_dir():
            return []
        return sorted(entry.name[:-5] for entry in os.scandir(self.cells) if entry.name.endswith(".json"))

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of one cell, checked against its own hash; None where there is none."""
        try:
            text = (self.cells / f"{key}.json").read_bytes()
        except FileNotFoundError:
            return None
        return _checked_record(key, text)

    def records(self) -> Iterator[dict[str, Any]]:
        """Every undamaged record; damaged ones are left to `verify`."""
        for key in self.keys():
            with contextlib.suppress(Damaged):
                record = self.read(key)
                if record is not None:
                    yield record

    def payload(self, record: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays of one record, checked against the hash in it."""
        described = record.get("payload")
        if not described:
            return {}
        content = (self.cells / described["file"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != described["sha256"]:
            raise Damaged(f"payload {described['file']} does not match the hash in its record")
        return _arrays(content)

    def payload_is_there(self, record: Mapping[str, Any]) -> bool:
        """A cheap look: the payload exists and has its size. `verify` reads every byte."""
        described = record.get("payload")
        if not described:
            return True
        try:
            return bool((self.cells / described["file"]).stat().st_size == described["bytes"])
        except OSError:
            return False

    def dataset(self, revision: str) -> dict[str, np.ndarray]:
        """Labels and names of the rows of a data set."""
        return _arrays(self._dataset_file(revision).read_bytes())

    def has_dataset(self, revision: str) -> bool:
        return self._dataset_file(revision).is_file()

    def _dataset_file(self, revision: str) -> Path:
        return self.root / "datasets" / f"{hashlib.sha256(revision.encode()).hexdigest()[:16]}.npz"

    # Writing

    def commit(self, record: dict[str, Any], payload: Arrays | None = None) -> None:
        """Payload first, then the record: that rename is the commit. A failure never overwrites a success."""
        key = record["key"]
        record = {**record, "schema": SCHEMA_VERSION}
        if record["status"] != "ok" and self._has_success(key):
            return
        if payload:
            content = _npz(payload)
            name = f"{key}.npz"
            _write(self.cells / name, content, "payload")
            record["payload"] = {
                "file": name,
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
            }
        record["digest"] = digest(record)
        _write(self.cells / f"{key}.json", canonical_json(record).encode(), "record")
        self.checkpoint_path(key).unlink(missing_ok=True)

    def _has_success(self, key: str) -> bool:
        try:
            known = self.read(key)
        except Damaged:
            return False
        return known is not None and known["status"] == "ok" and self.payload_is_there(known)

    def save_dataset(self, revision: str, arrays: Arrays) -> None:
        if not self.has_dataset(revision):
            with locked(self._dataset_file(revision)):
                _write(self._dataset_file(revision), _npz(arrays), "dataset")

    def remove(self, key: str) -> None:
        """Forget a cell (`--force`): the record first, so that no record ever lacks its payload."""
        (self.cells / f"{key}.json").unlink(missing_ok=True)
        (self.cells / f"{key}.npz").unlink(missing_ok=True)

    def log_path(self, key: str) -> Path:
        (self.root / "logs").mkdir(parents=True, exist_ok=True)
        return self.root / "logs" / f"{key}.log"

    def checkpoint_path(self, key: str) -> Path:
        return self.root / "checkpoints" / f"{key}.pt"

    # Locks

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """True while this process holds the cell, False where another does."""
        path = self.root / "locks" / f"{key}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _try_lock(path)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                path.unlink(missing_ok=True)
                os.close(handle)

    # Verifying

    def verify(self, quarantine: bool = True) -> list[str]:
        """Read every byte; what does not match is named and, unless told otherwise, set aside to be recomputed."""
        faults = []
        for key in self.keys():
            try:
                record = self.read(key)
                if record is not None:
                    self.payload(record)
            except (Damaged, OSError, ValueError) as error:
                faults.append(f"{key}: {error}")
                if quarantine:
                    self._set_aside(key)
        return faults

    def _set_aside(self, key: str) -> None:
        folder = self.root / "quarantine"
        folder.mkdir(parents=True, exist_ok=True)
        for name in (f"{key}.json", f"{key}.npz"):
            with contextlib.suppress(FileNotFoundError):
                (self.cells / name).replace(folder / name)


def _checked_record(key: str, text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text)
        written = record.pop("digest")
        intact = digest(record) == written and record["key"] == key
    except (ValueError, KeyError, AttributeError) as error:
        raise Damaged(f"record {key}.json cannot be read: {type(error).__name__}") from error
    if not intact:
        raise Damaged(f"record {key}.json does not match its hash")
    return record  # type: ignore[no-any-return]


def _npz(arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return buffer.getvalue()


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def commit_step(name: str) -> None:
    """Called between the steps of a write; does nothing. Tests put their faults here."""


def _write(path: Path, content: bytes, what: str) -> None:
    """To a temporary file, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")  # one writer at a time: the holder of the cell's lock
    try:
        with temporary.open("wb") as handle:
            commit_step(f"{what}-opened")
            handle.write(content)
            handle.flush()
            commit_step(f"{what}-written")
            os.fsync(handle.fileno())
        commit_step(f"{what}-synced")
        temporary.replace(path)
        commit_step(f"{what}-renamed")
        _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _try_lock(path: Path) -> int | None:
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        # The holder before us may have removed the file between our open and our lock: then take the new one.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        os.close(handle)
