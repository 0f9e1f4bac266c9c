"""The only reader and writer of results/.

    cells/<key>.json           a record; its appearance is the commit
    cells/<key>.<hash>.npz     its payload: packed codes, per-query scores, curve points
    models/<key>.<hash>.npz    the fitted method, where it was to be kept
    datasets/<rev>.json, .npz  labels and names of a data set's rows, written once per revision, the same way
    logs/, checkpoints/        what a running cell leaves
    locks/                     one file per cell in flight; the kernel frees a lock when its holder dies
    quarantine/                files whose hash did not match
    winners.json               in tune/: the settings that `tune` chose, with every trial's score

Commit: model and payload to temporary files, fsync, rename; then the record the same way; then those of the record
before it go. Killed at any moment, nothing is half-written: what a death leaves beside the records (temporary files,
payloads and models without their record, freed locks) is swept up by the next run.

A record ends with its own digest, taken over the bytes before it: any changed bit is noticed by every reader.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark.errors import UsageError
from benchmark.execution.fingerprint import canonical_json
from benchmark.execution.record import CODES, SCHEMA_VERSION, Record, Unreadable, arrays_of
from benchmark.execution.tuned_settings import TunedSettings, Winner, as_text, checked, merged

LOCK_WAIT = 0.02  # seconds between tries for a lock that is held for a moment only
Arrays = Mapping[str, np.ndarray]


class Damaged(ValueError):
    """A stored file whose content is not what was written."""


class Foreign(Damaged):
    """A stored file that is what was written, but by a version that we do not know."""


class Verdict(NamedTuple):
    """What `verify` found."""

    sound: int  # records that are what was written, payload and all
    faults: list[str]  # one line per file that is not
    left: int  # of these, how many are still in their place
    again: int  # records among them that are set aside, so that a run makes them again
    models: list[str]  # keys of records whose models are among them


class StoredCell(NamedTuple):
    """A record, what its files weigh, and when it was written."""

    record: Record
    record_bytes: int
    array_bytes: int
    model_bytes: int
    modified: float  # seconds since 1970


class Store:
    """A results folder."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.cells = self.root / "cells"
        self.datasets = self.root / "datasets"
        self.models = self.root / "models"

    # Reading

    def keys(self) -> list[str]:
        return _stems(self.cells)

    def read(self, key: str) -> Record | None:
        """The record of one cell, checked against its own digest; None where there is none."""
        raw = _read_record(self.cells / f"{key}.json")
        return None if raw is None else _known(raw)

    def records(self) -> Iterator[Record]:
        """Every undamaged record; damaged ones are left to `verify`."""
        for key in self.keys():
            with contextlib.suppress(Damaged):
                record = self.read(key)
                if record is not None:
                    yield record

    def payload(self, record: Record) -> dict[str, np.ndarray]:
        """The arrays of one record, checked against the hash in it."""
        described = record.payload
        return arrays_of(record, _arrays(_payload_bytes(self.cells, described))) if described else {}

    def payload_is_there(self, record: Record) -> bool:
        """A cheap look: the payload exists and has its size. `verify` reads every byte."""
        return _is_there(self.cells, record.payload)

    def model(self, record: Record) -> bytes:
        """The file of the fitted method, checked against the hash in its record."""
        if not _is_described(record.model):
            raise Damaged(f"record {record.key}.json names no model")
        return _payload_bytes(self.models, record.model or {}, "model")

    def has_model(self, record: Record) -> bool:
        """A cheap look, as `payload_is_there`."""
        return _is_described(record.model) and _is_there(self.models, record.model)

    def has_model_file(self, record: Record) -> bool:
        """Whether the file that its record names exists, whatever is in it."""
        return _is_described(record.model) and (self.models / (record.model or {})["file"]).exists()

    def dataset(self, revision: str) -> dict[str, np.ndarray]:
        """Labels and names of the rows of a data set."""
        note = _read_record(self._dataset_note(revision))
        if note is None:
            raise FileNotFoundError(f"{self.root}: nothing is stored of the data set of revision {revision}")
        return _arrays(_payload_bytes(self.datasets, note["payload"]))

    def has_dataset(self, revision: str) -> bool:
        try:
            note = _read_record(self._dataset_note(revision))
        except Damaged:
            return False
        return note is not None and _is_there(self.datasets, note["payload"])

    def _dataset_note(self, revision: str) -> Path:
        return self.datasets / f"{hashlib.sha256(revision.encode()).hexdigest()[:16]}.json"

    # Writing

    def commit(self, record: Record, payload: Arrays | None = None, model: bytes | None = None) -> None:
        """Model and payload first, then the record: that rename is the commit. A failure never overwrites a success."""
        key = record.key
        if not record.ok and self._has_success(key):
            return
        before = self._described_model(key)
        self._carry_over(record, payload)
        if model is not None:
            record.model = _described(key, model)
        told = {**record.as_dict(), "schema": SCHEMA_VERSION}
        beside = {} if model is None else {self.models / told["model"]["file"]: model}
        _commit(self.cells / f"{key}.json", told, payload, "", beside)
        if before and before != (record.model or {}).get("file"):
            (self.models / before).unlink(missing_ok=True)
        if not _may_go_on(record):
            self.checkpoint_path(key).unlink(missing_ok=True)

    def _described_model(self, key: str) -> str | None:
        """The file of the model that the record of today names."""
        with contextlib.suppress(Damaged):
            record = self.read(key)
            if record is not None and _is_described(record.model):
                return str((record.model or {})["file"])
        return None

    def _carry_over(self, record: Record, payload: Arrays | None) -> None:
        """A cell that ran again and came to the same arrays still has its model, and costs of a search, of before."""
        with contextlib.suppress(Damaged):
            old = self.read(record.key)
            if old is None or not payload or not old.payload or not (old.model or old.search):
                return
            if all(_same(array, payload.get(name)) for name, array in self.payload(old).items()):
                record.search = record.search or old.search
                record.model = record.model or (old.model if _is_described(old.model) else None)

    def _has_success(self, key: str) -> bool:
        try:
            known = self.read(key)
        except Damaged:
            return False
        return known is not None and known.ok and self.payload_is_there(known)

    def save_dataset(self, revision: str, arrays: Arrays) -> None:
        """Keep what every record of this revision shares; the first to come writes it."""
        path = self._dataset_note(revision)
        with self._waited_lock(f"dataset-{path.stem}"):
            if not self.has_dataset(revision):
                _commit(path, {"key": path.stem, "revision": revision, "schema": SCHEMA_VERSION}, arrays, "dataset-")

    def tuned(self) -> TunedSettings:
        """What `tune` has chosen into this folder."""
        path = self.root / "winners.json"
        try:
            if not path.exists():
                return TunedSettings("tuned")
            _refuse_pipes(path)
            return TunedSettings("tuned", checked(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            told = f"{path}: damaged ({type(error).__name__})"
            raise UsageError(f"{told}; delete it and tune again: trials that are stored cost nothing") from None

    def save_tuned(self, winners: Iterable[Winner]) -> None:
        """Keep winners, in place of older ones of the same thing."""
        with self._waited_lock("winners"):
            text = as_text(merged(self.tuned().winners, winners))
            _write(self.root / "winners.json", text.encode(), "winners")

    def sweep(self) -> None:
        """Remove what deaths have left: temporary files, payloads without a record, locks that nobody holds."""
        for folder, prefix in ((self.cells, ""), (self.datasets, "dataset-")):
            for name in _strays(folder):
                with self.lock(prefix + name.lstrip(".").partition(".")[0]) as mine:
                    if mine and name in _strays(folder, name):
                        (folder / name).unlink(missing_ok=True)
        for name in self._stray_models():
            with self.lock(name.lstrip(".").partition(".")[0]) as mine:
                if mine and name in self._stray_models():
                    (self.models / name).unlink(missing_ok=True)
        for name in _names(self.root / "checkpoints"):
            if name.startswith("."):  # a snapshot half written; whole ones wait for their cell
                with self.lock(name.lstrip(".").partition(".")[0]) as mine:
                    if mine:
                        (self.root / "checkpoints" / name).unlink(missing_ok=True)
        for name in _names(self.root / "locks"):
            with self.lock(name.removesuffix(".lock")):
                pass  # leaving removes the file

    def _stray_models(self) -> list[str]:
        """Temporary files and models that no record names; those of a damaged record are left to `verify`."""
        found = []
        for name in _names(self.models):
            key = name.lstrip(".").partition(".")[0]
            try:
                record = _read_record(self.cells / f"{key}.json")
            except Damaged:
                continue
            if name.endswith(".tmp") or ((record or {}).get("model") or {}).get("file") != name:
                found.append(name)
        return found

    def log_path(self, key: str) -> Path:
        (self.root / "logs").mkdir(parents=True, exist_ok=True)
        return self.root / "logs" / f"{key}.log"

    def end_log(self, key: str, text: str) -> None:
        """Add the last lines of a cell to what it printed."""
        with self.log_path(key).open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(text)

    def has_log(self, key: str) -> bool:
        return (self.root / "logs" / f"{key}.log").is_file()

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

    @contextlib.contextmanager
    def _waited_lock(self, key: str) -> Iterator[None]:
        while True:
            with self.lock(key) as mine:
                if mine:
                    yield
                    return
            time.sleep(LOCK_WAIT)

    # Weighing and dropping

    def stored_cells(self) -> list[StoredCell]:
        """Every undamaged record with what it weighs."""
        found = []
        for record in self.records():
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                status = (self.cells / f"{record.key}.json").stat()
                arrays = _size(self.cells, record.payload)
                found.append(
                    StoredCell(record, status.st_size, arrays, _size(self.models, record.model), status.st_mtime)
                )
        return found

    def drop_model(self, record: Record) -> bool:
        """Remove the fitted method; the record stays, and says that there was one. False where a run holds the cell."""
        with self.lock(record.key) as mine:
            if mine and _is_described(record.model):
                (self.models / (record.model or {})["file"]).unlink(missing_ok=True)
        return mine

    def code_bytes(self, record: Record) -> int:
        """What the codes among its arrays weigh; 0 where there are none, or where they cannot be read."""
        with contextlib.suppress(Damaged):
            return sum(array.nbytes for name, array in self.payload(record).items() if name in CODES)
        return 0

    def drop_codes(self, record: Record) -> bool:
        """Write its arrays again without the codes: scores and curves stay. False where a run holds the cell."""
        with self.lock(record.key) as mine:
            known = self.read(record.key) if mine else None
            if known is not None:
                self.commit(known, {name: array for name, array in self.payload(known).items() if name not in CODES})
        return mine

    def drop_record(self, record: Record) -> bool:
        """Remove a record with its arrays and its model: the record first, that it never lacks them."""
        with self.lock(record.key) as mine:
            if mine:
                (self.cells / f"{record.key}.json").unlink(missing_ok=True)
                for folder, described in ((self.cells, record.payload), (self.models, record.model)):
                    if _is_described(described):
                        (folder / (described or {})["file"]).unlink(missing_ok=True)
                self.checkpoint_path(record.key).unlink(missing_ok=True)
                (self.root / "logs" / f"{record.key}.log").unlink(missing_ok=True)
        return mine

    # Verifying

    def verify(self, quarantine: bool = True, check_model: Callable[[Record], object] | None = None) -> Verdict:
        """Read every byte; what does not match is named and, unless told otherwise, set aside to be recomputed.

        What another version wrote is named too, and never set aside. `check_model` raises Damaged where it cannot read
        the model of a record: what is in one is not known here.
        """
        sound, left, faults = 0, 0, []
        for folder, prefix in ((self.cells, ""), (self.datasets, "dataset-")):
            for stem in _stems(folder):
                if not _fault(folder, stem):
                    sound += folder == self.cells
                    continue
                with self._lock_where_we_may(prefix + stem) as mine:  # a run may have been at it while we read
                    fault = _fault(folder, stem) if mine else None
                    if fault:
                        faults.append(f"{folder.name}/{stem}: {fault}")
                    aside = fault and quarantine and not isinstance(fault, Foreign) and self._moved(stem, folder)
                    if not aside:
                        left += fault is not None
                        sound += fault is None and folder == self.cells
        models, there = self._verify_models(quarantine, check_model or self.model)
        told = [f"models/{key}: {fault}" for key, fault in models.items()]
        return Verdict(sound, faults + told, left + there, len(faults) - left, [*models])

    def _verify_models(self, quarantine: bool, check: Callable[[Record], object]) -> tuple[dict[str, Damaged], int]:
        """Key -> what is wrong with its model, and how many of these are still in their place.

        A record whose model is gone is whole: models may be dropped. So only the file is set aside.
        """
        faults: dict[str, Damaged] = {}
        left = 0
        for record in self.records():
            if not self.has_model_file(record):
                continue
            with self._lock_where_we_may(record.key) as mine:
                try:
                    check(record)
                except Damaged as error:
                    if mine and self.has_model_file(record):
                        faults[record.key] = error
                        left += not (quarantine and not isinstance(error, Foreign) and self._model_moved(record))
        return faults, left

    def _model_moved(self, record: Record) -> bool:
        name, aside = (record.model or {})["file"], self.root / "quarantine"
        try:
            aside.mkdir(parents=True, exist_ok=True)
            (self.models / name).replace(aside / f"model.{name}")
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def _lock_where_we_may(self, key: str) -> Iterator[bool]:
        """As `lock`; in results that we may only read, what is damaged is to be named all the same."""
        with contextlib.ExitStack() as stack:
            try:
                mine = stack.enter_context(self.lock(key))
            except OSError:
                mine = True
            yield mine

    def _moved(self, stem: str, folder: Path) -> bool:
        """Whether a damaged record could be set aside."""
        try:
            self.set_aside(stem, folder)
        except OSError:
            return False
        return True

    def set_aside(self, stem: str, folder: Path | None = None) -> None:
        """Move a damaged record and its payload to quarantine/: the record first, that it never lacks its payload."""
        folder, quarantine = folder or self.cells, self.root / "quarantine"
        quarantine.mkdir(parents=True, exist_ok=True)
        payloads = [name for name in _names(folder) if name.startswith(f"{stem}.") and name.endswith(".npz")]
        for name in (f"{stem}.json", *payloads):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).replace(quarantine / name)


def tune_store(results: str | Path) -> Store:
    """Where a results folder keeps the trials of `tune`."""
    return Store(Path(results) / "tune")


def _may_go_on(record: Record) -> bool:
    """Whether the training of a cell was cut off from outside, so that its snapshot is worth keeping."""
    died = record.status == "failed" and (record.error or {}).get("kind") in ("crash", "exit")
    return died or record.status in ("interrupted", "timeout", "oom")


def _fault(folder: Path, stem: str) -> Damaged | None:
    """What is wrong with a record or its payload."""
    try:
        record = _read_record(folder / f"{stem}.json")
        if record is not None and folder.name == "cells":
            _known(record)
        if record is not None and record.get("payload"):
            _payload_bytes(folder, record["payload"])
    except Damaged as error:
        return error
    return None


def _known(raw: Mapping[str, Any]) -> Record:
    try:
        return Record.from_dict(raw)
    except Unreadable as error:
        raise Foreign(f"record {raw['key']}.json cannot be used: {error}") from error


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"results folder {folder}: {error.strerror or error}; give another one") from error


def _stems(folder: Path) -> list[str]:
    return [name[:-5] for name in _names(folder) if name.endswith(".json") and not name.startswith(".")]


def _strays(folder: Path, only: str = "") -> list[str]:
    """Temporary files and payloads that no record names."""
    found = []
    for name in [only] if only else _names(folder):
        if name.endswith(".tmp"):
            found.append(name)
        elif name.endswith(".npz"):
            with contextlib.suppress(Damaged):  # the payload of a damaged record is left to `verify`
                record = _read_record(folder / f"{name.partition('.')[0]}.json")
                if record is None or (record.get("payload") or {}).get("file") != name:
                    found.append(name)
    return found


DIGEST = b',"digest":"%s"}'


def _sealed(record: Mapping[str, Any]) -> bytes:
    """The bytes of a record, with the digest of those before it at their end."""
    body = canonical_json(record).encode()
    return body[:-1] + DIGEST % hashlib.sha256(body).hexdigest().encode()


def _read_record(path: Path) -> dict[str, Any] | None:
    try:
        _refuse_pipes(path)
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(f"record {path.name} cannot be read: {error}") from error
    body = text[: -len(DIGEST % (b"0" * 64))] + b"}"
    if text != body[:-1] + DIGEST % hashlib.sha256(body).hexdigest().encode():
        raise Damaged(f"record {path.name} does not match its digest")
    record = json.loads(body)
    if not isinstance(record, dict) or record.get("key") != path.stem:
        raise Damaged(f"record {path.name} is not that of this key")
    if not _describes_a_payload(record.get("payload")):
        raise Foreign(f"record {path.name} cannot be used: its payload is {record['payload']!r}")
    return record


def _describes_a_payload(described: Any) -> bool:
    """None, or all that is needed to find and check a file beside the record."""
    if not isinstance(described, dict):
        return described is None
    kinds = {"file": str, "sha256": str, "bytes": int}
    typed = all(isinstance(described.get(name), kind) for name, kind in kinds.items())
    return typed and "/" not in described["file"]


def _refuse_pipes(path: Path) -> None:
    """Reading a pipe would wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Damaged(f"{path.name} is no file")


def _payload_bytes(folder: Path, described: Mapping[str, Any], what: str = "payload") -> bytes:
    try:
        _refuse_pipes(folder / described["file"])
        content = (folder / described["file"]).read_bytes()
    except OSError as error:
        raise Damaged(f"{what} {described['file']} cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != described["sha256"]:
        raise Damaged(f"{what} {described['file']} does not match the hash in its record")
    return content


def _is_described(described: Any) -> bool:
    """Whether a record names a file, and does not only say why there is none."""
    return described is not None and "file" in described and _describes_a_payload(described)


def _described(key: str, content: bytes) -> dict[str, Any]:
    """What a record says of a file that lies beside it."""
    found = hashlib.sha256(content).hexdigest()
    return {"file": f"{key}.{found[:12]}.npz", "sha256": found, "bytes": len(content)}


def _size(folder: Path, described: Mapping[str, Any] | None) -> int:
    """Bytes of the file that a record names; 0 where there is none."""
    if not _is_described(described):
        return 0
    with contextlib.suppress(OSError):
        return (folder / (described or {})["file"]).stat().st_size
    return 0


def _is_there(folder: Path, described: Mapping[str, Any] | None) -> bool:
    if not described:
        return True
    try:
        return bool((folder / described["file"]).stat().st_size == described["bytes"])
    except OSError:
        return False


def _npz(arrays: Arrays) -> bytes:
    """Packed: codes of trained methods and scores of queries take half the room."""
    buffer = io.BytesIO()
    members: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    np.savez_compressed(buffer, **members)
    return buffer.getvalue()


def _same(a: np.ndarray, b: Any) -> bool:
    return b is not None and a.tobytes() == np.ascontiguousarray(b).tobytes()


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def commit_step(name: str) -> None:
    """Called between the steps of a write; does nothing. Tests put their faults here."""


def _commit(
    path: Path,
    record: dict[str, Any],
    payload: Arrays | None,
    prefix: str,
    beside: Mapping[Path, bytes] | None = None,
) -> None:
    """Files beside it, payload, record, and then whatever the record before it had as payload goes."""
    if payload:
        content = _npz(payload)
        record["payload"] = _described(path.stem, content)
    text = _sealed(record)  # whatever is wrong with the record shows before anything is written
    for file, other in (beside or {}).items():
        _write(file, other, "model")
    if payload:
        _write(path.with_name(record["payload"]["file"]), content, f"{prefix}payload")
    before = _payload_name(path)
    _write(path, text, f"{prefix}record")
    if before not in (None, (record.get("payload") or {}).get("file")):
        path.with_name(str(before)).unlink(missing_ok=True)


def _payload_name(path: Path) -> str | None:
    with contextlib.suppress(Damaged):
        record = _read_record(path)
        if record and record.get("payload"):
            return str(record["payload"]["file"])
    return None


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
