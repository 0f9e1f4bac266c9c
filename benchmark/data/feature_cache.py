"""Deep features of images, computed once and kept: `extract` adds them to a data set's splits.

The cache is a folder per data set revision, content of the images, backbone, weights, cut, transform and the code
that makes features. Rows are computed in chunks, each written whole or not at all under a name that carries its
checksum; an interrupted run goes on with the chunks that are missing. The finished table is one memory-mapped
file beside its sha256: its size, header and some rows are looked at whenever it is opened, all of it where that
costs next to nothing, where its signature has changed, and once a week. A lock lets one process work at a time.
Decoding and resizing happen in worker processes, so that the backbone never waits for them. Which features a
method gets, and how they are scaled, is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.contracts import HashDataset, Images, Splits
from benchmark.data.cache import cache_dir, locked, read_note, replacing, tell, write_note
from benchmark.data.hashing import CHEAP, WEEK, code_hash, hashed_now, is_trusted, joined_hash, object_hash, signature
from benchmark.data.images import Transform, as_rgb, content_hashes, read_image
from benchmark.deep import backbones
from benchmark.deep.backbones import Backbone, has_last, load_backbone, transform_of, weights_id
from benchmark.errors import UsageError

FeatureCut = Literal["penultimate", "trunk"]
CACHE_VERSION = 2
TABLE, NOTE = "features.npy", "features.note"
SAMPLE = 64  # rows looked at whenever a table is opened
CHUNK = 256
BATCH = 64  # divides CHUNK, so that a row meets the same batch however often the work was interrupted
WIDE = 4096  # wider rows are kept as float16: a trunk of VGG-16 has 25,088 columns


@dataclass(frozen=True)
class FeatureSource:
    """What makes features of images: a backbone, where it is cut, and its weights."""

    backbone: str
    weights: str | Path | None = None
    cut: FeatureCut = "penultimate"
    partial: bool = False  # whether the weights may be for a part of it only

    @property
    def weights_id(self) -> str:
        """What identifies the weights, whatever their file is called."""
        return weights_id(self.backbone, self.weights, self.partial)

    def load(self, planned: str) -> Backbone:
        """The backbone with the weights of that identity: their file may have been replaced meanwhile, and another
        may lie under the same path on another machine."""
        backbone = load_backbone(self.backbone, self.weights, self.partial)
        if self.weights_id != planned:
            raise UsageError(f"weights {self.weights} are not what they were when features were begun; run again")
        return backbone


@dataclass(frozen=True)
class _UniqueImages:
    """Every image once, database first, and where each split finds its rows."""

    images: list[Images]
    places: np.ndarray  # (n, 2): which of `images`, which of its rows
    positions: dict[str, np.ndarray]


def extract(
    dataset: HashDataset,
    splits: Splits,
    source: FeatureSource,
    cache: Path | None = None,
    *,
    workers: int | None = None,
    threads: int | None = None,
    client: Any = None,
) -> Splits:
    """The same splits with the features of `source`, from the cache where they are there.

    `workers` processes decode (default: enough), `threads` compute (default: as torch is set). With a Dask
    `client` its workers decode and compute, each whole chunks; this side writes them.

    A training image that is a database image too is computed once. Broken images are UsageErrors that name
    the file and its list line. Features that the splits have already are replaced: whoever calls this has
    decided that the images go first.

    Rows are only ever computed from the bytes, and by the weights, that the folder is named for, here and on every
    worker: a table outlives the moment in which a file was another.
    """
    planned = source.weights_id
    folder = feature_folder(dataset, splits, source, cache)
    unique = _unique_images(splits, dataset.name)
    table = _open_table(folder, len(unique.places))
    if table is None:
        with _writing(folder), locked(folder / "features"):
            table = _open_table(folder, len(unique.places))  # another process may have finished meanwhile
            if table is None:
                with _torch_threads(threads):
                    here = source, planned
                    made = _chunks_on(client, unique, *here) if client else _chunks(unique, *here, workers)
                    table = _make_table(folder, len(unique.places), made, f"features of {source.backbone}")
    parts: dict[str, Any] = {
        name: split.with_features(_take(table, unique.positions[name])) for name, split in splits.parts().items()
    }
    return replace(splits, **parts)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"features cannot be kept in {folder}: {reason}; make room, or set HASHBENCH_CACHE") from None


def feature_folder(dataset: HashDataset, splits: Splits, source: FeatureSource, cache: Path | None = None) -> Path:
    """Where these features are, or will be, kept. Costs no torch."""
    backbone = source.backbone
    identity = {
        "version": CACHE_VERSION,
        "revision": dataset.revision,
        "rows": _rows_hash(splits),
        "weights": source.weights_id,
        "cut": source.cut if has_last(backbone) else "penultimate",
        "transform": transform_of(backbone).as_dict(),
        "code": [object_hash(read_image, as_rgb, Transform, _features), code_hash(Path(backbones.__file__))],
    }
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    return (cache or cache_dir() / "features") / key


def _rows_hash(splits: Splits) -> str:
    digest = hashlib.sha256()
    for name, split in splits.parts().items():
        digest.update(f"{name} {len(split)}\n".encode())
        if split.ids is not None:
            digest.update("\n".join(split.ids).encode("utf-8", "surrogateescape"))
        contents = content_hashes(split.images)
        if contents is not None:
            digest.update(joined_hash(contents).encode())
    return digest.hexdigest()


def _unique_images(splits: Splits, dataset: str) -> _UniqueImages:
    ordered = {name: splits.parts()[name] for name in ("database", "query", "train")}
    images: list[Images] = []
    seen: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    positions: dict[str, np.ndarray] = {}
    for number, (name, split) in enumerate(ordered.items()):
        if split.images is None:
            raise UsageError(f"dataset '{dataset}': {name} rows have no images to compute features from")
        images.append(split.images)
        ids = split.ids or [f"{name}\x1f{row}" for row in range(len(split))]
        found = np.empty(len(split), np.int64)
        for row, identity in enumerate(ids):
            found[row] = seen.setdefault(identity, len(places))
            if found[row] == len(places):
                places.append((number, row))
        positions[name] = found
    return _UniqueImages(images, np.array(places, np.int64).reshape(-1, 2), positions)


def _take(table: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The rows at `positions`, without a copy where they are consecutive."""
    if len(positions) and np.array_equal(positions, np.arange(positions[0], positions[0] + len(positions))):
        return table[positions[0] : positions[0] + len(positions)]
    return table[positions]


def _open_table(folder: Path, rows: int) -> np.ndarray | None:
    """The finished table, or None where there is none or it is not what was written."""
    note = read_note(folder / NOTE)
    if note is None:
        return None
    try:
        status = (folder / TABLE).stat()
        table: np.ndarray = np.load(folder / TABLE, mmap_mode="r", allow_pickle=False)
        if table.shape != (rows, note["columns"]) or not _looks_sound(table):
            return None
        if _is_due(note, status) and not verify_table(folder):
            return None
    except (OSError, ValueError, EOFError):  # gone, cut short, or no table at all
        return None
    return table


def _looks_sound(table: np.ndarray) -> bool:
    """Whether some rows, evenly spread, are numbers."""
    return bool(np.isfinite(table[np.linspace(0, len(table) - 1, min(SAMPLE, len(table)), dtype=np.int64)]).all())


def _is_due(note: dict[str, Any], status: os.stat_result) -> bool:
    """Whether all of the table has to be read: that costs nothing, it may have changed, or it is a week ago."""
    entry = note["entry"]
    recent = 0 <= time.time_ns() - entry[1] < WEEK
    return status.st_size <= CHEAP or not is_trusted(entry, signature(status)) or not recent


def verify_table(folder: Path) -> bool:
    """Read all of a finished table; whether it is what was written. When that was is remembered."""
    note = read_note(folder / NOTE)
    if note is None:
        return False
    tell(f"verifying features {folder.name[:8]}", 0, 0)
    found = hashed_now(str(folder / TABLE))
    if found[2] != note["entry"][2]:
        return False
    write_note(folder / NOTE, {**note, "entry": found})
    return True


Chunks = Callable[[list[int]], Iterator[tuple[int, np.ndarray]]]  # first rows wanted -> each with its chunk


def _make_table(folder: Path, total: int, made: Chunks, what: str) -> np.ndarray:
    starts = range(0, total, CHUNK)
    done = {start: path for start in starts if (path := _find_chunk(folder, start)) is not None}
    counted = sum(min(CHUNK, total - start) for start in done)
    for start, chunk in made([start for start in starts if start not in done]):
        done[start] = _write_chunk(folder, start, chunk)
        counted += len(chunk)
        tell(what, counted, total)
    return _assemble(folder, [done[start] for start in starts], total)


def _chunks(unique: _UniqueImages, source: FeatureSource, planned: str, workers: int | None) -> Chunks:
    """Computed here, in order; decoding runs ahead over the borders of chunks."""

    def made(missing: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        backbone, places = source.load(planned), unique.places
        wanted = np.concatenate([places[start : start + CHUNK] for start in missing] or [places[:0]])
        batches = _features(backbone, source.cut, decoded(unique.images, wanted, backbone.transform, workers))
        for start in missing:
            size = min(CHUNK, len(places) - start)
            parts: list[np.ndarray] = []
            while sum(len(part) for part in parts) < size:
                parts.append(next(batches))
            yield start, np.concatenate(parts)

    return made


def _chunks_on(client: Any, unique: _UniqueImages, source: FeatureSource, planned: str) -> Chunks:
    """Computed by the workers of a Dask cluster, in whatever order; a few are under way at a time."""

    def made(missing: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        from distributed import as_completed

        images = client.scatter([unique.images], broadcast=True, hash=False)[0]
        running, started, most = as_completed(loop=client.loop), {}, 2 * max(1, sum(client.nthreads().values()))
        for start in missing:
            wanted = unique.places[start : start + CHUNK]
            future = client.submit(_chunk, images, wanted, source, planned, pure=False)
            started[future.key] = start
            running.add(future)
            if running.count() >= most:
                ready = next(running)
                yield started[ready.key], ready.result()
        for ready in running:
            yield started[ready.key], ready.result()

    return made


def _chunk(images: list[Images], wanted: np.ndarray, source: FeatureSource, planned: str) -> np.ndarray:
    """On a worker: one chunk, in the same batches as anywhere."""
    backbone = source.load(planned)
    return np.concatenate(list(_features(backbone, source.cut, decoded(images, wanted, backbone.transform, 0))))


def _find_chunk(folder: Path, start: int) -> Path | None:
    """The chunk that begins at row `start`, if it is there and its bytes are those that were written."""
    for path in folder.glob(f"chunk-{start:09d}-*.npy"):
        if is_whole_chunk(path):
            return path
        path.unlink()
    return None


def is_whole_chunk(path: Path) -> bool:
    """Whether a chunk's bytes have the checksum that its name carries."""
    return f"{zlib.crc32(path.read_bytes()):08x}" == path.stem.rpartition("-")[2]


def _write_chunk(folder: Path, start: int, features: np.ndarray) -> Path:
    kept = features.astype(np.float16 if features.shape[1] > WIDE else np.float32)
    if not np.isfinite(kept).all():
        raise UsageError(f"features of rows {start} to {start + len(kept) - 1} are not finite: check the weights")
    scratch = folder / f"chunk-{start:09d}.npy"
    with replacing(scratch) as temporary, temporary.open("wb") as handle:
        np.save(handle, kept)
    final = scratch.with_stem(f"{scratch.stem}-{zlib.crc32(scratch.read_bytes()):08x}")
    return scratch.replace(final)


def _assemble(folder: Path, chunks: list[Path], total: int) -> np.ndarray:
    """One table from all chunks, one chunk in memory at a time; the chunks are then no longer needed."""
    first = np.load(chunks[0], mmap_mode="r")
    with replacing(folder / TABLE) as temporary:
        table = np.lib.format.open_memmap(temporary, mode="w+", dtype=first.dtype, shape=(total, first.shape[1]))
        start = 0
        for chunk in chunks:
            part = np.load(chunk)
            table[start : start + len(part)] = part
            start += len(part)
        table.flush()
        del table
    write_note(folder / NOTE, {"entry": hashed_now(str(folder / TABLE)), "rows": total, "columns": first.shape[1]})
    for leftover in (*chunks, *folder.glob(".*.npy")):  # also what a killed process had begun to write
        leftover.unlink(missing_ok=True)
    return np.load(folder / TABLE, mmap_mode="r")


def _features(backbone: Backbone, cut: FeatureCut, batches: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Features of each batch. Channels-last memory order is twice as fast on a CPU and no slower on a GPU."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    trunk: Any = backbone.trunk
    trunk = trunk.to(device, memory_format=torch.channels_last)
    last = backbone.last.to(device)
    for batch in batches:
        with torch.inference_mode():
            features = trunk(backbone.transform.normalise(torch.from_numpy(batch).to(device)))
            if cut == "penultimate":
                features = last(features)
            yield features.float().cpu().numpy()


@contextlib.contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Decoder:
    """Decodes one row in a worker process; an error travels as a value, so that its message stays one
    line."""

    def __init__(self, images: list[Images], source: np.ndarray, transform: Transform) -> None:
        self.images, self.source, self.transform = images, source, transform

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> np.ndarray | UsageError:
        part, row = self.source[index]
        try:
            return self.transform.prepare(self.images[part][int(row)])
        except UsageError as error:
            return error


def _stack(rows: list[Any]) -> np.ndarray | UsageError:
    for row in rows:
        if isinstance(row, UsageError):
            return row
    return np.stack(rows)


def decoded(
    images: list[Images], source: np.ndarray, transform: Transform, workers: int | None = None
) -> Iterator[np.ndarray]:
    """Batches of decoded, resized and cut images, (BATCH, crop, crop, 3) uint8, in order, a few ahead of
    use."""
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(
        _Decoder(images, source, transform),  # type: ignore[arg-type]
        batch_size=BATCH,
        num_workers=default_workers(transform) if workers is None else workers,
        collate_fn=_stack,
    )
    for batch in loader:
        if isinstance(batch, UsageError):
            raise batch
        yield batch


def default_workers(transform: Transform) -> int:
    """Enough processes to decode faster than a backbone computes; none where there is nothing to decode."""
    import torch

    if transform.resize is None or multiprocessing.current_process().daemon:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, cores) if torch.cuda.is_available() else max(1, cores // 2)
