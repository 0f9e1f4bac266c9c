"""From three list files to a data set's splits: what every data set that is described by lists shares.

A `ListSplits` knows its lists and the folder of its images. It says what is missing (`check`), what identifies
it (`revision`: the lists and the content of every image) and gives the splits (`load`). Parsing, finding and
decoding are done by `list_files`, `image_index` and `images`; which lists there are is the data set's business.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark.contracts import Split, Splits, as_multi_hot
from benchmark.data.cache import cache_dir, cache_name, read_note, tell, write_note
from benchmark.data.given_files import is_regular_file, read_text
from benchmark.data.hashing import file_hash, joined_hash, tree_hashes
from benchmark.data.image_index import images_under
from benchmark.data.images import ImageFiles, ReplacedImage
from benchmark.data.label_width import check_width
from benchmark.data.list_files import ListFile, read_list
from benchmark.data.names import fault_of_name
from benchmark.data.row_identity import RowIdentity
from benchmark.errors import UsageError
from benchmark.wording import counted

PARTS = ("train", "query", "database")
DECODED = 256  # images between two reports
NAMES = {
    "train": ("train.txt",),
    "query": ("query.txt", "test.txt"),
    "database": ("database.txt",),
}


@dataclass(frozen=True, eq=False)
class ListSplits:
    """Three list files, and the trees in which to look for the images that they speak of.

    `classes` is the expected number of classes, or None for as many as the lists have. With `whole_paths`,
    entries are matched by their whole path, else by base name. `skip_broken` leaves out rows whose image is
    missing or does not decode, and notes how many.
    """

    dataset: str
    roots: Sequence[Path]
    files: Mapping[str, Path]
    classes: int | None = None
    class_names: Sequence[str] | None = None
    whole_paths: bool = False
    skip_broken: bool = False
    drop_overlap: bool = False  # leave out of the database what is a query
    database_missing: str = ""  # why there is no database list; the training list then serves an audit only
    remedy: str = "check --data-root"  # where the images come from
    notes: tuple[str, ...] = ()

    @cached_property
    def lists(self) -> dict[str, ListFile]:
        """The parsed lists, all of one label format."""
        lists = {part: read_list(self.files[part], self.classes) for part in PARTS}
        first = lists[PARTS[0]]
        for other in lists.values():
            if other.numbered != first.numbered:
                kinds = ["class numbers" if f.numbered else "0/1 per class" for f in (other, first)]
                raise UsageError(
                    f"list file {other.path} line {other.lines[0]} has {kinds[0]}, but {first.path} has {kinds[1]}; "
                    "all lists must keep to one format"
                )
            if not first.numbered and other.labels.shape[1] != first.labels.shape[1]:
                raise UsageError(
                    f"list file {other.path} line {other.lines[0]} has {other.labels.shape[1]} labels, "
                    f"expected {first.labels.shape[1]} as in {first.path}"
                )
        return lists

    @cached_property
    def root(self) -> Path:
        """The first of the roots that has one of the first images."""
        train = self.lists["train"]
        first = train.entries[:100], train.lines[:100], train.path, self.whole_paths
        holds = (root for root in self.roots if any(images_under(root).find_all(*first)))
        return next(holds, self.roots[-1])

    @cached_property
    def paths(self) -> dict[str, list[str | None]]:
        """Per list row, the image's path under the root; None where there is no such file."""
        index = images_under(self.root)
        return {
            part: index.find_all(rows.entries, rows.lines, rows.path, self.whole_paths)
            for part, rows in self.lists.items()
        }

    @cached_property
    def hashes(self) -> dict[str, str | None]:
        """Path under the root -> hash of the image's bytes. Reads every image once, then remembers."""
        return tree_hashes(self.root, sorted({path for paths in self.paths.values() for path in paths if path}))

    def _content(self, part: str) -> list[str | None]:
        """Per list row, the hash of its image; None where there is none. Says nothing of where the images lie."""
        return [None if path is None else self.hashes[path] for path in self.paths[part]]

    @cached_property
    def revision(self) -> str:
        """Hash of the lists' bytes, of every image's, and of the rows left out."""
        digest = hashlib.sha256()
        for part in PARTS:
            digest.update(f"{part} {file_hash(self.files[part])} {joined_hash(self._content(part))}\n".encode())
        if self.drop_overlap:
            digest.update(b"without queries in the database\n")
        if self.skip_broken:
            digest.update(json.dumps({part: rows.tolist() for part, rows in self.broken.items()}).encode())
        return digest.hexdigest()

    def check(self) -> None:
        """Raise UsageError where a list is malformed or missing, or an image is missing or may not be read."""
        if self.database_missing:
            raise UsageError(self.database_missing)
        self._width()
        self._need(self.paths, "have no image")
        if not self.skip_broken:  # else they are left out with all that do not decode
            self._need({part: self._content(part) for part in PARTS}, "have an image that cannot be read")

    def _need(self, found: Mapping[str, Sequence[str | None]], fault: str) -> None:
        """UsageError that counts the rows without a value, and names the first."""
        total = sum(map(len, found.values()))
        missing = [(part, row) for part in PARTS for row, value in enumerate(found[part]) if value is None]
        if missing and not (self.skip_broken and len(missing) < total):
            part, row = missing[0]
            rows = self.lists[part]
            raise UsageError(
                f"{self.dataset}: {len(missing):,} of {total:,} list rows {fault} under {self.root}, the first "
                f"is {rows.path} line {rows.lines[row]}: {rows.entries[row]}; {self.remedy}"
                + ("" if self.skip_broken or len(missing) == total else ", or leave them out by --skip-broken")
            )

    def load(self) -> Splits:
        """The splits. Rows of missing images stay and fail when decoded, unless broken ones are skipped."""
        classes = self._width()
        notes = [*self.notes, *dict.fromkeys(note for rows in self.lists.values() for note in rows.notes)]
        splits = {part: self._split(part, classes, notes) for part in PARTS}
        if self.drop_overlap:
            splits["database"] = _without(splits["database"], splits["query"], notes)
        return Splits(**splits, class_names=self.class_names, notes=tuple(notes))

    def _width(self) -> int:
        """How many classes there are."""
        train = self.lists["train"]
        highest = max(int(rows.labels.max()) for rows in self.lists.values()) if train.numbered else 0
        named = len(self.class_names) if self.class_names is not None else None
        width = self.classes or (max(highest + 1, named or 0) if train.numbered else train.labels.shape[1])
        if named is not None and named != width:
            raise UsageError(f"{self.dataset}: {named} class names, but the lists have {width} classes")
        check_width(self.dataset, width, sum(map(len, self.lists.values())))
        return width

    def _split(self, part: str, classes: int, notes: list[str]) -> Split:
        rows, hashes = self.lists[part], self._content(part)
        paths = [path or entry for path, entry in zip(self.paths[part], rows.entries, strict=True)]
        if self.skip_broken and len(self.broken[part]):
            notes.append(f"{counted(len(self.broken[part]), 'row')} of {part} left out: image missing or broken")
            keep = np.setdiff1d(np.arange(len(rows)), self.broken[part])
            rows, paths, hashes = rows.take(keep), [paths[row] for row in keep], [hashes[row] for row in keep]
        ids = paths if self.whole_paths else [path.rpartition("/")[2] for path in paths]
        images = ImageFiles(self.root, paths, f"list file {rows.path}", rows.lines, hashes)
        return Split(images=images, labels=as_multi_hot(rows.labels, classes), ids=ids)

    @cached_property
    def broken(self) -> dict[str, np.ndarray]:
        """Per list, the rows whose image is missing or broken. Decodes every image once, then remembers."""
        damaged = _damaged(self.root, self.hashes)
        return {
            part: np.array([row for row, path in enumerate(paths) if path is None or path in damaged], np.int64)
            for part, paths in self.paths.items()
        }


def _without(database: Split, query: Split, notes: list[str]) -> Split:
    """The database without the rows that are queries."""
    shared = RowIdentity.of(database).shared_with(RowIdentity.of(query))
    keep = np.flatnonzero(~np.asarray(shared))
    if len(keep) < len(database):
        notes.append(f"{counted(len(database) - len(keep), 'query row')} left out of the database")
    return database.take(keep)


def _damaged(root: Path, hashes: Mapping[str, str | None]) -> set[str]:
    """Those of the files that do not decode; remembered by their contents."""
    kept = cache_dir() / "broken" / f"{cache_name(*(f'{path} {value}' for path, value in hashes.items()))}.note"
    known = read_note(kept)
    if isinstance(known, list):
        return set(known)
    paths = list(hashes)
    images = ImageFiles(root, paths, known_hashes=list(hashes.values()))
    damaged = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding frees the interpreter
        for start in range(0, len(paths), DECODED):
            block = range(start, min(start + DECODED, len(paths)))
            sound = pool.map(lambda row: _decodes(images, row), block)
            damaged += [paths[row] for row, good in zip(block, sound, strict=True) if not good]
            tell("decoding images", block.stop, len(paths))
    write_note(kept, damaged)
    return set(damaged)


def _decodes(images: ImageFiles, row: int) -> bool:
    try:
        images[row]
    except ReplacedImage:  # not broken: nothing may be remembered of it
        raise
    except UsageError:
        return False
    return True


def find_lists(folder: Path, names: Mapping[str, Sequence[str]] = NAMES) -> dict[str, Path]:
    """The three list files of a folder; UsageError that names all that are missing."""
    found = {part: next((folder / n for n in names[part] if is_regular_file(folder / n)), None) for part in PARTS}
    missing = [" or ".join(names[part]) for part in PARTS if found[part] is None]
    if missing:
        raise UsageError(f"folder {folder} lacks the list file {', and '.join(missing)}")
    return {part: path for part, path in found.items() if path is not None}


def read_class_names(path: Path) -> list[str] | None:
    """One class name per line; None where there is no such file."""
    if not os.path.lexists(path):
        return None
    names = [line.strip() for line in read_text("class names", path).split("\n")]
    while names and not names[-1]:
        names.pop()
    first: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        fault = fault_of_name(name)
        if fault:
            raise UsageError(f"class names {path} line {line} {fault}")
        if name in first:
            raise UsageError(f"class names {path} line {line}: '{name}' is on line {first[name]} already")
        first[name] = line
    return names
