"""Codes of many rows into a file, by a kept model: a chunk at a time, and after a death from where it stopped.

What is done lies beside the file, in `<file>.partial`: one line that says of which model and which rows it is, then
chunk after chunk, each with its checksum. A chunk that was cut short is computed again; a partial file of another model
or of other rows is begun anew. The codes themselves appear whole or not at all.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from benchmark.data.cache import replacing, tell
from benchmark.errors import UsageError
from benchmark.evaluation.codes import pack, unpack
from benchmark.execution.model import EncodedChunk, Model
from benchmark.execution.model_inputs import ModelRows

FEATURES_AT_ONCE = 16384
AT_ONCE = 65536  # rows that are written at a time
NO_FAISS = "needs the package faiss: pip install 'hashbench[search]', or write .npy"


@dataclass(frozen=True)
class Encoded:
    """What came of it: the rows that have codes, and why each other one has none."""

    rows: int
    faults: dict[str, str]  # name of a row -> why it could not be read
    resumed: int  # rows that an earlier call had done
    begun_anew: str  # why what an earlier call had done is of no use; empty where it was, or there was nothing


def check_target(out: Path, bits: int, force: bool = False) -> None:
    """Whether codes of so many bits can be written there, before any work."""
    kind = out.suffix.lower()
    if kind not in WRITERS:
        raise UsageError(f"--out {out}: unknown kind of file, expected {', '.join(WRITERS)}")
    if out.is_dir() or (out.exists() and not force):
        raise UsageError(f"--out {out}: exists already; name another, or replace it by --force")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    if kind == ".faiss":
        _faiss(out)
        if bits % 8:
            raise UsageError(f"--out {out}: faiss takes whole bytes, but codes have {bits} bits; write .npz")


def encode_to(model: Model, given: ModelRows, out: Path) -> Encoded:
    """Encode all rows into `out`, with their names beside it; rows that cannot be read are left out and named."""
    model.check_takes(given)
    listing = _listing(given)
    head = {"model": model.sha256, "listing": listing, "rows": len(given), "bits": model.bits}
    partial = out.with_name(f"{out.name}.partial")
    size = FEATURES_AT_ONCE if given.features is not None else model.images_at_once
    told: dict[int, str] = {}
    with _opened(partial) as handle:
        done, anew = _resume(handle, {**head, "chunk": size})
        what = f"encoding into {out.name}"
        tell(what, done, len(given))
        for chunk in _chunks(model, given, done, size):
            told |= chunk.faults
            _append(handle, chunk, model.bits)
            tell(what, chunk.end, len(given))
        if _listing(given) != listing:
            partial.unlink()
            raise UsageError(f"{_first(given)}: files changed while they were encoded; nothing was written, run again")
        good, packed = _everything(handle, len(given), size, model.bits)
        bad, fine = np.flatnonzero(~good).tolist(), np.flatnonzero(good).tolist()
        faults = {given.names[row]: told.get(row) or _fault(given, row) for row in bad}
        names = [given.names[row] for row in fine]
        _write_all(out, packed[good], model.bits, names, faults)
        partial.unlink()
    return Encoded(len(names), faults, done, anew)


def _first(given: ModelRows) -> str:
    return str(given.files[0]) if given.files else "rows"


def _fault(given: ModelRows, row: int) -> str:
    """Why a row was left out by an earlier call."""
    try:
        _ = given.images[row] if given.images is not None else None
    except UsageError as error:
        return str(error)
    return "it could not be read"


def _listing(given: ModelRows) -> str:
    """What is to be encoded: names, sizes and times of files; of rows in memory, themselves."""
    digest = hashlib.sha256()
    for name in given.names:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\n")
    for file in given.files:
        try:
            status = os.stat(file)
            digest.update(f"{status.st_size} {status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(b"gone\n")
    if not given.files and given.features is not None:
        digest.update(np.ascontiguousarray(given.features).tobytes())
    return digest.hexdigest()


def _chunks(model: Model, given: ModelRows, start: int, size: int) -> Iterator[EncodedChunk]:
    if given.features is None:
        yield from model.chunks(given, start)
        return
    for first in range(start, len(given), size):
        rows = range(first, min(first + size, len(given)))
        yield EncodedChunk(rows, list(rows), model.encode_features(given.features[first : rows.stop]), {})


# The partial file


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        handle = path.open("a+b")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; name another --out") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{path}: another process is encoding into it; wait, or name another --out") from None
        try:
            yield handle
        except UsageError:
            if _is_bare(handle):
                path.unlink(missing_ok=True)
            raise


def _is_bare(handle: BinaryIO) -> bool:
    """Whether nothing was encoded yet."""
    handle.seek(0)
    handle.readline()
    return not handle.read(1)


def _resume(handle: BinaryIO, head: dict[str, Any]) -> tuple[int, str]:
    """How many rows are done already, and why those of an earlier call are of no use."""
    handle.seek(0)
    try:
        before = json.loads(handle.readline() or b"{}")
    except ValueError:
        before = {"model": None}
    if before != head:
        handle.truncate(0)
        handle.write(json.dumps(head).encode() + b"\n")
        handle.flush()
        if not before:
            return 0, ""
        known = before.get("model") == head["model"]
        return 0, "the images have changed since" if known else "it was begun with another model"
    done, end = 0, handle.tell()
    for good, _ in _read(handle, head["rows"], head["chunk"], head["bits"]):
        done, end = done + len(good), handle.tell()
    handle.truncate(end)
    return done, ""


def _append(handle: BinaryIO, chunk: EncodedChunk, bits: int) -> None:
    good = np.zeros(len(chunk.all_rows), np.uint8)
    good[np.array(chunk.rows, np.int64) - chunk.all_rows.start] = 1
    packed = np.zeros((len(good), -(-bits // 8)), np.uint8)
    packed[good > 0] = pack(chunk.codes)
    body = good.tobytes() + packed.tobytes()
    handle.write(body + zlib.crc32(body).to_bytes(4, "big"))
    handle.flush()
    os.fsync(handle.fileno())


def _read(handle: BinaryIO, rows: int, size: int, bits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(which rows are good, their packed codes) of the chunks that are whole, from here on."""
    width = -(-bits // 8)
    for start in range(0, rows, size):
        count = min(size, rows - start)
        body, check = handle.read(count * (1 + width)), handle.read(4)
        if len(check) < 4 or zlib.crc32(body).to_bytes(4, "big") != check:
            return
        good, packed = np.frombuffer(body, np.uint8, count), np.frombuffer(body, np.uint8, offset=count)
        yield good > 0, packed.reshape(count, width)


def _everything(handle: BinaryIO, rows: int, size: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    handle.seek(0)
    handle.readline()
    found = list(_read(handle, rows, size, bits))
    if not found:
        return np.zeros(0, bool), np.zeros((0, -(-bits // 8)), np.uint8)
    return np.concatenate([good for good, _ in found]), np.concatenate([packed for _, packed in found])


# The files


def _write_all(out: Path, packed: np.ndarray, bits: int, names: Sequence[str], faults: dict[str, str]) -> None:
    """Broken rows and names first, then the codes: whoever sees those sees all."""
    _write_lines(beside(out, "broken"), [f"{name}\t{why}" for name, why in faults.items()])
    _write_lines(beside(out, "names"), list(names))
    with replacing(out) as temporary:
        WRITERS[out.suffix.lower()](temporary, packed, bits, names)
        temporary.chmod(0o644)


def beside(out: Path, what: str) -> Path:
    """codes.npy -> codes.names.txt"""
    return out.with_name(f"{out.stem}.{what}.txt")


def _write_lines(path: Path, lines: list[str]) -> None:
    if not lines:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as temporary:
        text = "".join(line.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for line in lines)
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))
        temporary.chmod(0o644)


def _write_npy(path: Path, packed: np.ndarray, bits: int, names: Sequence[str]) -> None:
    if not len(packed):  # an empty file cannot be mapped
        np.save(path, np.zeros((0, bits), np.int8))
        return
    codes = np.lib.format.open_memmap(path, mode="w+", dtype=np.int8, shape=(len(packed), bits))
    for start in range(0, len(packed), AT_ONCE):
        codes[start : start + AT_ONCE] = unpack(packed[start : start + AT_ONCE], bits)
    codes.flush()


def _write_npz(path: Path, packed: np.ndarray, bits: int, names: Sequence[str]) -> None:
    shown = np.array([name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names])
    np.savez(path, codes=packed, bits=np.array(bits), names=shown)


def _write_csv(path: Path, packed: np.ndarray, bits: int, names: Sequence[str]) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as handle:
        writer = csv.writer(handle)
        writer.writerow(["name", "code"])
        for name, row in zip(names, packed, strict=True):
            writer.writerow([name, "".join(map(str, np.unpackbits(row, count=bits)))])


def _write_faiss(path: Path, packed: np.ndarray, bits: int, names: Sequence[str]) -> None:
    faiss = _faiss(path)
    index = faiss.IndexBinaryFlat(bits)
    if len(packed):
        index.add(np.ascontiguousarray(packed))
    faiss.write_index_binary(index, str(path))


def _faiss(path: Path) -> Any:
    try:
        import faiss
    except ImportError:
        raise UsageError(f"--out {path}: {NO_FAISS}") from None
    return faiss


WRITERS: dict[str, Callable[[Path, np.ndarray, int, Sequence[str]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".faiss": _write_faiss,
}
