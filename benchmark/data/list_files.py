"""List files: one line per image, a path and its labels, as the hashing literature publishes them.

Labels are 0/1 per class or one class number (-1: unlabelled); the first line decides which, and all others
follow. Files of a hundred thousand rows are parsed by columns of bytes and kept parsed in the cache, by
content. What is harmless (Windows line ends, a byte order mark, blank lines, tabs) is read and noted;
anything else is an error that names file and line. Finding the images is done elsewhere (`benchmark.data.image_index`).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.data.cache import cache_dir, replacing
from benchmark.data.given_files import need_file, read_bytes
from benchmark.data.hashing import file_hash
from benchmark.data.label_width import MAX_CLASS
from benchmark.data.names import check_name
from benchmark.errors import UsageError

PARSER_VERSION = 1
NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, eq=False)
class ListFile:
    """A parsed list: entries as written, their line numbers, and labels, (n, c) bool or (n,) class
    numbers."""

    path: Path
    entries: list[str]
    lines: np.ndarray
    labels: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def numbered(self) -> bool:
        """Whether labels are class numbers."""
        return self.labels.ndim == 1

    def take(self, rows: np.ndarray) -> ListFile:
        """The chosen rows, in the given order."""
        entries = [self.entries[row] for row in rows]
        return ListFile(self.path, entries, self.lines[rows], self.labels[rows], self.notes)


def read_list(path: Path, classes: int | None = None) -> ListFile:
    """The list file at `path`; with `classes`, a list of another width is an error."""
    need_file("list file", path)
    kept = cache_dir() / "lists" / f"{file_hash(path)}-{PARSER_VERSION}.npz"
    parsed = read_kept(path, kept)
    if parsed is None:
        parsed = _parse(path, read_bytes("list file", path), classes)
        _keep(parsed, kept)
    _check_width(parsed, classes)
    return parsed


def _check_width(parsed: ListFile, classes: int | None) -> None:
    if classes is None:
        return
    first = parsed.lines[0]
    if not parsed.numbered and parsed.labels.shape[1] != classes:
        width = parsed.labels.shape[1]
        raise UsageError(f"list file {parsed.path} line {first} has {width} labels, expected {classes}")
    if parsed.numbered and parsed.labels.max() >= classes:
        row = int(parsed.labels.argmax())
        number, line = parsed.labels[row], parsed.lines[row]
        raise UsageError(f"list file {parsed.path} line {line}: class number {number}, expected less than {classes}")


def read_kept(path: Path, kept: Path) -> ListFile | None:
    """The list as it was parsed before; None where it is not kept, or not whole (every array has a checksum)."""
    if not kept.is_file():
        return None
    try:
        with np.load(kept, allow_pickle=False) as arrays:
            labels = arrays["labels"]
            if labels.ndim == 2:
                labels = np.unpackbits(labels, axis=1, count=int(arrays["classes"])).view(bool)
            entries = arrays["entries"].tobytes().decode().split("\n")
            notes = tuple(f"list file {path} {note}" for note in json.loads(str(arrays["notes"])))
            return ListFile(path, entries, arrays["lines"], labels, notes)
    except Exception:  # numpy raises whatever its zip or header parser raises
        return None


def _keep(parsed: ListFile, kept: Path) -> None:
    """Write the parsed list to the cache; a cache that cannot be written is only slower."""
    labels = parsed.labels if parsed.numbered else np.packbits(parsed.labels, axis=1)
    prefix = f"list file {parsed.path} "
    with contextlib.suppress(OSError), replacing(kept) as temporary, temporary.open("wb") as handle:
        np.savez(
            handle,
            entries=np.frombuffer("\n".join(parsed.entries).encode(), np.uint8),
            lines=parsed.lines,
            labels=labels,
            classes=0 if parsed.numbered else parsed.labels.shape[1],
            notes=json.dumps([note.removeprefix(prefix) for note in parsed.notes]),
        )


def _parse(path: Path, data: bytes, classes: int | None) -> ListFile:
    name = f"list file {path}"
    data, notes = _clean(name, data)
    lines = data.split(b"\n")
    rows = [number for number, line in enumerate(lines) if line.strip()]
    if not rows:
        raise UsageError(f"{name} is empty, expected one line per image: path, then labels")
    texts = lines if len(rows) == len(lines) else [lines[number] for number in rows]
    numbers = np.array(rows, np.int64) + 1
    skipped = next((n for n, line in enumerate(lines[: rows[-1]]) if not line.strip()), None)
    if skipped is not None:
        notes.append(f"{name} line {skipped + 1}: blank line skipped")
    width = _first_width(name, texts[0].decode(), int(numbers[0]), classes)
    if width == 1:
        entries, labels = _parse_numbers(name, texts, numbers)
    else:
        entries, labels = _parse_vectors(name, texts, numbers, width)
    return ListFile(path, entries, numbers, labels, tuple(notes))


def _clean(name: str, data: bytes) -> tuple[bytes, list[str]]:
    """Bytes with plain line ends, known to be UTF-8 text; and what had to be overlooked."""
    notes = []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{name} line 1: UTF-16 text, expected UTF-8; save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        notes.append(f"{name} line 1: byte order mark skipped")
    if b"\r\n" in data:
        line = _line_of(data, data.index(b"\r\n"))
        notes.append(f"{name} line {line}: Windows line ends (CRLF) read as plain ones")
        data = data.replace(b"\r\n", b"\n")
    for byte, what in ((b"\r", "a stray carriage return"), (b"\0", "a zero byte: is it a text file?")):
        if byte in data:
            raise UsageError(f"{name} line {_line_of(data, data.index(byte))} holds {what}")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} line {_line_of(data, error.start)}: not UTF-8 text; save it as UTF-8") from None
    return data, notes


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _first_width(name: str, text: str, line: int, classes: int | None) -> int:
    """How many labels the first line has; 1 means a class number."""
    count = _trailing_numbers(text)
    if count == 0:
        raise UsageError(f"{name} line {line}: {_no_labels(text)}")
    if classes is not None and count not in (1, classes):
        raise UsageError(f"{name} line {line} has {count} labels, expected {classes}")
    return count


def _trailing_numbers(text: str) -> int:
    """How many whole numbers stand at the end of the line; the first word is always part of the path."""
    words = text.split()[1:]
    count = 0
    while count < len(words) and NUMBER.fullmatch(words[-1 - count]):
        count += 1
    return count


def _no_labels(text: str) -> str:
    words = text.split()
    found = f"found '{words[-1]}'" if len(words) > 1 else "found a path only"
    return f"no labels, {found}; expected 0/1 per class, or one class number, behind the path"


def _parse_numbers(name: str, texts: Sequence[bytes], lines: np.ndarray) -> tuple[list[str], np.ndarray]:
    entries, labels = [], np.empty(len(texts), np.int64)
    for row, line in enumerate(texts):
        words = line.decode().rsplit(None, 1)
        if len(words) < 2 or not NUMBER.fullmatch(words[1]):
            raise UsageError(f"{name} line {lines[row]}: {_no_labels(line.decode())}")
        count = _trailing_numbers(line.decode())
        if count > 1:
            raise UsageError(
                f"{name} line {lines[row]} has {count} labels, but line {lines[0]} has one class number; "
                "a list must keep to one format"
            )
        labels[row] = min(max(int(words[1]), -2), MAX_CLASS) if len(words[1]) < 20 else MAX_CLASS
        if not -1 <= labels[row] < MAX_CLASS:
            raise UsageError(
                f"{name} line {lines[row]}: class number {words[1][:20]}, expected -1 (unlabelled) to {MAX_CLASS - 1}"
            )
        entries.append(words[0].strip())
    return entries, labels


def _parse_vectors(name: str, texts: Sequence[bytes], lines: np.ndarray, width: int) -> tuple[list[str], np.ndarray]:
    """Rows of the published shape, ' 0 1 0' at the end of the line, all at once; any others one by one."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    size = 2 * width
    padded = np.frombuffer(b"\0" * size + b"".join(texts), np.uint8)
    ends = size + np.cumsum(lengths)
    tails = np.lib.stride_tricks.sliding_window_view(padded, size)[ends - size]
    before = padded[ends - size - 1]  # the last byte of the path
    digits = tails[:, 1::2]
    plain = (tails[:, 0::2] == ord(" ")).all(axis=1) & ((digits | 1) == ord("1")).all(axis=1)
    plain &= (lengths > size) & (before > ord(" ")) & ~((before >= ord("0")) & (before <= ord("9")))
    labels = digits == ord("1")
    for row in np.flatnonzero(~plain).tolist():
        labels[row] = _vector(name, texts[row].decode(), int(lines[row]), int(lines[0]), width)
    entries = [line[:-size].decode() for line in texts]
    for row in np.flatnonzero(~plain).tolist():
        entries[row] = texts[row].decode().rsplit(None, width)[0]
    return [entry.strip() for entry in entries], labels


def _vector(name: str, text: str, line: int, first: int, width: int) -> list[bool]:
    """The labels of one row, or an error that says what is wrong with it."""
    count = _trailing_numbers(text)
    if count == 0:
        raise UsageError(f"{name} line {line}: {_no_labels(text)}")
    if count == 1:
        raise UsageError(
            f"{name} line {line} has one class number, but line {first} has {width} labels of 0/1; "
            "a list must keep to one format"
        )
    if count != width:
        raise UsageError(f"{name} line {line} has {count} labels, expected {width}")
    words = text.rsplit(None, width)[1:]
    wrong = next((word for word in words if word not in ("0", "1")), None)
    if wrong is not None:
        raise UsageError(f"{name} line {line}: label '{wrong}', expected 0 or 1 per class")
    return [word == "1" for word in words]


def write_list(path: Path, entries: Iterable[str], labels: np.ndarray) -> None:
    """Write rows in the published format: path, then 0/1 per class. Whole or not at all."""
    entries = [check_name("image", entry) for entry in entries]
    digits = np.full((len(labels), 2 * labels.shape[1]), ord(" "), np.uint8)
    digits[:, 1::2] = labels.astype(np.uint8) + ord("0")
    with replacing(path) as temporary, temporary.open("wb") as handle:
        for entry, row in zip(entries, digits, strict=True):
            handle.write(entry.encode() + row.tobytes() + b"\n")
