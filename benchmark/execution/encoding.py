"""Codes of many rows into a file, by a kept model: a chunk at a time, and after a death from where it stopped; and
such files read again.

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
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from benchmark.data.cache import replacing, tell
from benchmark.errors import UsageError
from benchmark.evaluation.array_files import read_array
from benchmark.evaluation.codes import pack, pack_any, unpack
from benchmark.execution.model import EncodedChunk, Model
from benchmark.execution.model_inputs import ModelRows
from benchmark.wording import counted

FEATURES_AT_ONCE = 16384
AT_ONCE = 65536  # rows that are written at a time
NO_FAISS = "needs the package faiss: pip install 'hashbench[search]', or take .npz"
CSV_HEAD = ("name", "code")


@dataclass(frozen=True)
class Encoded:
    """What came of it: the rows that have codes, and why each other one has none."""

    rows: int
    faults: dict[str, str]  # name of a row -> why it could not be read


def check_target(out: Path, force: bool = False) -> None:
    """Whether codes can be written there, before any work."""
    kind = out.suffix.lower()
    if kind not in WRITERS:
        raise UsageError(f"--out {out}: unknown kind of file, expected {', '.join(WRITERS)}")
    if out.is_dir() or (out.exists() and not force):
        raise UsageError(f"--out {out}: exists already; name another, or replace it by --force")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    if kind == ".faiss":
        _faiss(out)


def check_length(out: Path, bits: int) -> None:
    """Whether codes of so many bits can be written there."""
    if out.suffix.lower() == ".faiss" and bits % 8:
        raise UsageError(f"--out {out}: faiss takes whole bytes, but codes have {bits} bits; write .npz")


def encode_to(model: Model, given: ModelRows, out: Path, say: Callable[[str], None]) -> Encoded:
    """Encode all rows into `out`, with their names beside it; rows that cannot be read are left out and named.

    What an earlier call had done, and whether it is of use, is said before any work."""
    model.check_takes(given)
    listing = _listing(given)
    head = {"model": model.sha256, "listing": listing, "rows": len(given), "bits": model.bits}
    partial = out.with_name(f"{out.name}.partial")
    size = FEATURES_AT_ONCE if given.features is not None else model.images_at_once
    told: dict[int, str] = {}
    with _opened(partial) as handle:
        done, anew = _resume(handle, {**head, "chunk": size})
        if anew:
            say(f"note: {anew}, so it is begun anew")
        if done:
            say(f"note: {done:,} of {counted(len(given), 'row')} had been encoded before")
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
        if faults and not fine:
            partial.unlink()
            none = f"none of the {len(given):,} images could be encoded ({next(iter(faults.values()))})"
            raise UsageError(f"{none}; nothing was written")
        names = [given.names[row] for row in fine]
        signed = [file_state(given.files[row]) for row in fine] if len(given.files) == len(given) else []
        _write_lines(beside(out, "files"), [f"{size} {time}" for size, time in signed])
        _write_all(out, packed[good], model, names, faults)
        partial.unlink()
    return Encoded(len(names), faults)


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


def file_state(file: Path) -> tuple[int, int]:
    """Size and time of a file: others where it is another; (-1, -1) where there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


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


def _write_all(out: Path, packed: np.ndarray, model: Model, names: Sequence[str], faults: dict[str, str]) -> None:
    """Broken rows and names first, then the codes: whoever sees those sees all."""
    _write_lines(beside(out, "broken"), [f"{name}\t{why}" for name, why in faults.items()])
    _write_lines(beside(out, "names"), list(names))
    with replacing(out) as temporary:
        WRITERS[out.suffix.lower()](temporary, packed, model, names)
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


def _write_npy(path: Path, packed: np.ndarray, model: Model, names: Sequence[str]) -> None:
    if not len(packed):  # an empty file cannot be mapped
        np.save(path, np.zeros((0, model.bits), np.int8))
        return
    codes = np.lib.format.open_memmap(path, mode="w+", dtype=np.int8, shape=(len(packed), model.bits))
    for start in range(0, len(packed), AT_ONCE):
        codes[start : start + AT_ONCE] = unpack(packed[start : start + AT_ONCE], model.bits)
    codes.flush()


def _write_npz(path: Path, packed: np.ndarray, model: Model, names: Sequence[str]) -> None:
    shown = np.array([name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names])
    np.savez(path, codes=packed, bits=np.array(model.bits), names=shown, model=np.array(model.key))


def _write_csv(path: Path, packed: np.ndarray, model: Model, names: Sequence[str]) -> None:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as handle:
        writer = csv.writer(handle)
        writer.writerow(CSV_HEAD)
        for name, row in zip(names, packed, strict=True):
            writer.writerow([name, "".join(map(str, np.unpackbits(row, count=model.bits)))])


def _write_faiss(path: Path, packed: np.ndarray, model: Model, names: Sequence[str]) -> None:
    faiss = _faiss(path)
    index = faiss.IndexBinaryFlat(model.bits)
    if len(packed):
        index.add(np.ascontiguousarray(packed))
    faiss.write_index_binary(index, str(path))


def _faiss(path: Path, flag: str = "--out") -> Any:
    try:
        import faiss
    except ImportError:
        raise UsageError(f"{flag} {path}: {NO_FAISS}") from None
    return faiss


WRITERS: dict[str, Callable[[Path, np.ndarray, Model, Sequence[str]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".faiss": _write_faiss,
}


# The files again

CODE_FILES = (".npz", ".npy", ".csv", ".faiss", ".mat", ".pt", ".pth")


@dataclass(frozen=True, eq=False)
class CodesFile:
    """What a file of codes holds: packed codes, names where it knows them, and the key of the cell that made them; of
    what files they were made, as their sizes and times."""

    packed: np.ndarray
    names: list[str] | None = None
    model: str = ""  # empty where the file does not say
    files: np.ndarray | None = None  # (n, 2), where that lies beside it


def read_codes_file(path: Path, bits: int) -> CodesFile:
    """A file as `encode` writes it, or any other array of codes of so many bits."""
    kind, model, names = path.suffix.lower(), "", None
    if kind == ".csv" and _is_own_csv(path):
        names, codes = _read_csv(path, bits)
    elif kind == ".faiss":
        codes = _read_faiss(path)
    else:
        codes = read_array(str(path), "codes")
    if kind == ".npz":
        with np.load(path, allow_pickle=False) as file:
            names = [str(name) for name in file["names"]] if "names" in file.files else None
            model = str(file["model"]) if "model" in file.files else ""
    elif names is None and beside(path, "names").is_file():
        names = beside(path, "names").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    packed, _ = pack_any(codes, bits, str(path))
    files = _read_files(beside(path, "files"))
    known = names if names and len(names) == len(packed) else None
    return CodesFile(packed, known, model, files if len(files) == len(packed) else None)


def _read_files(path: Path) -> np.ndarray:
    """(n, 2) sizes and times; none where they are not there, or not as `encode` writes them."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
    if not all(re.fullmatch(rb"\d{1,18} [1-8]?\d{1,18}", line) for line in lines):
        return np.empty((0, 2), np.int64)
    return np.array([line.split() for line in lines], np.int64).reshape(-1, 2)


def _is_own_csv(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="surrogateescape") as handle:
        return handle.readline().strip() == ",".join(CSV_HEAD)


def _read_csv(path: Path, bits: int) -> tuple[list[str], np.ndarray]:
    """Names and codes over 0 and 1, as `_write_csv` has them."""
    names, codes = [], []
    with path.open(newline="", encoding="utf-8", errors="surrogateescape") as handle:
        for line, row in enumerate(csv.reader(handle), start=1):
            if line > 1 and (len(row) != 2 or len(row[1]) != bits or set(row[1]) - {"0", "1"}):
                raise UsageError(f"{path} line {line}: expected a name and {bits} digits 0 or 1")
            if line > 1:
                names.append(row[0])
                codes.append(np.frombuffer(row[1].encode(), np.uint8) - ord("0"))
    return names, np.array(codes, np.uint8).reshape(len(codes), bits)


def _read_faiss(path: Path) -> np.ndarray:
    faiss = _faiss(path, "--database")
    try:
        index = faiss.read_index_binary(str(path))
        codes: np.ndarray = faiss.vector_to_array(index.xb).reshape(index.ntotal, index.code_size)
    except (RuntimeError, AttributeError, ValueError):
        raise UsageError(
            f"{path}: no binary index of faiss that holds its codes one by one (IndexBinaryFlat)"
        ) from None
    return codes
