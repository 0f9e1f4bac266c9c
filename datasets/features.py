"""`features:FILE.npz`: anyone's features with labels, no images.

Arrays train_features, train_labels, query_features, query_labels, database_features, database_labels; labels
as class numbers (-1: unlabelled) or multi-hot. Optional: map_cutoff (k of MAP@k), class_names, and train_ids,
query_ids, database_ids, the rows' names, by which the audit finds duplicates and overlap.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmark import Split, Splits, UsageError, as_multi_hot, register_dataset
from benchmark.cache import cache_dir, file_hash, replacing

PARTS = ("train", "query", "database")
REQUIRED = [f"{part}_{kind}" for part in PARTS for kind in ("features", "labels")]
OPTIONAL = ["map_cutoff", "class_names", *(f"{part}_ids" for part in PARTS)]
MAP_CUTOFF = 5000  # where the file does not say


@register_dataset("features", title="Features from a file", takes="FILE.npz")
class FeaturesFile:
    """Features and labels of all three splits in one npz file."""

    miniature = False
    backbone = None
    protocol = "as given"

    def __init__(self, argument: str, data_root: Path | None = None) -> None:
        self.path = Path(argument).expanduser()
        self.name = self.title = self.path.stem
        if not self.path.is_file():
            raise UsageError(f"features file {self.path} does not exist")

    @property
    def revision(self) -> str:
        return file_hash(self.path)

    @property
    def map_cutoff(self) -> int:
        with self._open() as arrays:
            return _map_cutoff(self.path, arrays)

    def check(self) -> None:
        """Everything is read and examined once; the file's hash remembers that it was found sound."""
        note = cache_dir() / "checked" / f"features-{self.revision}.json"
        if not note.is_file():
            self._read()
            with replacing(note) as temporary:
                temporary.write_text(json.dumps({"file": self.path.name}))

    def load(self) -> Splits:
        return self._read()

    def _open(self) -> np.lib.npyio.NpzFile:
        try:
            arrays = np.load(self.path, allow_pickle=False)
        except Exception as error:  # numpy raises whatever its zip or header parser raises
            raise UsageError(f"features file {self.path} is no npz file: {error}") from None
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise UsageError(f"features file {self.path} holds one bare array, expected an npz of named arrays")
        return arrays

    def _read(self) -> Splits:
        with self._open() as arrays:
            missing = [name for name in REQUIRED if name not in arrays.files]
            if missing:
                raise UsageError(
                    f"features file {self.path} lacks {', '.join(missing)}; it has {', '.join(arrays.files)}"
                )
            found = {name: _array(self.path, arrays, name) for name in REQUIRED + OPTIONAL if name in arrays.files}
        _map_cutoff(self.path, found)
        features = _features(self.path, found)
        labels = _labels(self.path, found)
        names = _class_names(self.path, found, labels["train"].shape[1])
        ids = {part: _ids(self.path, found, part) for part in PARTS}
        splits = {part: Split(features=features[part], labels=labels[part], ids=ids[part]) for part in PARTS}
        return Splits(**splits, class_names=names)


def _array(path: Path, arrays: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    try:
        return np.asarray(arrays[name])
    except Exception as error:  # a damaged member, or one that holds pickled objects
        raise UsageError(f"features file {path}, array {name}: cannot be read: {error}") from None


def _map_cutoff(path: Path, arrays) -> int:
    if "map_cutoff" not in arrays:
        return MAP_CUTOFF
    value = np.asarray(arrays["map_cutoff"])
    if value.size != 1 or value.dtype.kind not in "iu" or int(value.reshape(-1)[0]) < 1:
        raise UsageError(f"features file {path}, array map_cutoff: expected one whole number of at least 1")
    return int(value.reshape(-1)[0])


def _features(path: Path, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Float32 rows of one width, all finite."""
    parts, width = {}, None
    for part in PARTS:
        name = f"{part}_features"
        array = found[name]
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise UsageError(
                f"features file {path}, array {name}: shape {array.shape} of {array.dtype}, expected (n, d) numbers"
            )
        if not array.size:
            raise UsageError(f"features file {path}, array {name}: empty, shape {array.shape}")
        if width is not None and array.shape[1] != width:
            raise UsageError(
                f"features file {path}, array {name}: {array.shape[1]} columns, expected {width} as train_features"
            )
        width = array.shape[1]
        finite = np.isfinite(array).all(axis=1)
        if not finite.all():
            raise UsageError(
                f"features file {path}, array {name}: row {int(np.argmin(finite))} holds NaN or infinity "
                f"({int((~finite).sum())} such rows); remove or repair them"
            )
        parts[part] = array.astype(np.float32, copy=False)
    return parts


def _labels(path: Path, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Multi-hot labels of one width, one row per row of features."""
    raw = {part: found[f"{part}_labels"] for part in PARTS}
    numbers = {part for part in PARTS if raw[part].ndim == 1}
    if numbers and len(numbers) < len(PARTS):
        one, other = sorted(numbers)[0], sorted(set(PARTS) - numbers)[0]
        raise UsageError(
            f"features file {path}: {one}_labels holds class numbers but {other}_labels is multi-hot; use one of both"
        )
    classes = raw["train"].shape[1] if not numbers and raw["train"].ndim == 2 else None
    if numbers and all(raw[part].dtype.kind in "iu" for part in PARTS):
        classes = 1 + max(int(raw[part].max(initial=-1)) for part in PARTS)
    labels = {}
    for part in PARTS:
        rows = len(found[f"{part}_features"])
        if len(raw[part]) != rows:
            raise UsageError(
                f"features file {path}, array {part}_labels: {len(raw[part])} rows, expected {rows} as {part}_features"
            )
        try:
            labels[part] = as_multi_hot(raw[part], classes)
        except UsageError as error:
            raise UsageError(f"features file {path}, array {part}_labels: {error}") from None
    return labels


def _class_names(path: Path, found: dict[str, np.ndarray], classes: int) -> list[str] | None:
    if "class_names" not in found:
        return None
    names = [str(name) for name in found["class_names"].reshape(-1)]
    if len(names) != classes:
        raise UsageError(f"features file {path}, array class_names: {len(names)} names, expected {classes}")
    return names


def _ids(path: Path, found: dict[str, np.ndarray], part: str) -> list[str] | None:
    name = f"{part}_ids"
    if name not in found:
        return None
    ids, rows = found[name].reshape(-1), len(found[f"{part}_features"])
    if len(ids) != rows:
        raise UsageError(f"features file {path}, array {name}: {len(ids)} names, expected {rows}")
    return [str(value) for value in ids]
