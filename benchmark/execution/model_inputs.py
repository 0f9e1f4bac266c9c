"""What people give a model to encode -> features, or images by row; images -> what the model takes, a chunk at a time.

A folder is all images below it, in the order of their paths; a list file has a path in each line. A chunk holds the
rows that could be read, and says of each other one why not: what becomes of it is the caller's to decide.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.contracts import Images, Split

# Private there, but its name is part of every cached feature's key and of every cell's.
from benchmark.data.feature_cache import BATCH, WIDE, FeatureSource, _features
from benchmark.data.image_index import images_under
from benchmark.data.images import SUFFIXES, ImageArrays, ImageFiles, as_rgb
from benchmark.deep.backbones import Backbone
from benchmark.errors import UsageError
from benchmark.evaluation.array_files import read_array
from benchmark.execution.options import usable_cores

FEATURE_FILES = (".npy", ".npz", ".mat", ".pt", ".pth")


@dataclass(frozen=True)
class ModelRows:
    """Rows to encode: features or images, and what the rows are called."""

    names: Sequence[str]
    features: np.ndarray | None = None
    images: Images | None = None
    files: Sequence[Path] = field(default=())  # what is read, where it is read from files

    def __len__(self) -> int:
        return len(self.names)


class GivenImages:
    """Images that are in memory already, of any sizes: PIL's, or (h, w, 3) uint8."""

    def __init__(self, images: Sequence[Any]) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: int, /) -> np.ndarray:
        image = self._images[index]
        pixels = np.asarray(as_rgb(image)) if hasattr(image, "convert") else np.asarray(image)
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
            raise UsageError(
                f"image {index}: {pixels.dtype} of shape {pixels.shape}, expected uint8 of (height, width, 3)"
            )
        return pixels


def inputs_of(given: Any) -> ModelRows:
    """Rows of a folder, a file, a list of either, arrays, PIL images, or a Split."""
    if isinstance(given, (str, os.PathLike)):
        return inputs_at(Path(given))
    if isinstance(given, Split):
        names = given.ids or _numbered(len(given))
        return ModelRows(names, None if given.images is not None else given.features, given.images)
    if isinstance(given, np.ndarray) or (hasattr(given, "__array__") and not hasattr(given, "convert")):
        return _of_array(np.asarray(given))
    several = [given] if hasattr(given, "convert") else _several(given)
    if all(isinstance(one, (str, os.PathLike)) for one in several):
        return _of_files([Path(one) for one in several], [str(one) for one in several])
    return ModelRows(_numbered(len(several)), images=GivenImages(several))


def _several(given: Any) -> list[Any]:
    """The parts of a list, tuple or the like; bytes and dicts, too, could be gone through, but are none."""
    if isinstance(given, (bytes, bytearray, Mapping)) or not isinstance(given, Iterable):
        expected = "features (n, d), images (PIL's, or uint8 of (height, width, 3)), paths of images, or a Split"
        raise UsageError(f"given is of type {type(given).__name__}, expected {expected}")
    return list(given)


def inputs_at(path: Path) -> ModelRows:
    """Rows of a folder of images, an image, a file of features, or a list of images."""
    if path.is_dir():
        index = images_under(path)
        names = sorted(f"{folder}/{name}" if folder else name for folder, own in index.folders.items() for name in own)
        if not names:
            raise UsageError(f"{path}: there is no image in this folder or below it ({', '.join(SUFFIXES)})")
        return _of_files([path / name for name in names], names)
    if not path.is_file():
        raise UsageError(f"{path}: no such file or folder, expected images, a list of them, or a file of features")
    if path.suffix.lower() in SUFFIXES:
        return _of_files([path], [path.name])
    if path.suffix.lower() in FEATURE_FILES:
        found = _of_array(read_array(str(path), "features"), str(path))
        return ModelRows(found.names, found.features, found.images, (path,))
    return _of_list(path)


def _of_list(path: Path) -> ModelRows:
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names or "\x00" in names[0]:
        raise UsageError(f"{path}: expected an image, features (.npy, .npz), or a text file with a path in each line")
    return _of_files([path.parent / name for name in names], names)


def _of_files(files: Sequence[Path], names: Sequence[str]) -> ModelRows:
    root = Path(os.sep)
    images = ImageFiles(root, [os.path.abspath(file) for file in files])
    return ModelRows(names, images=images, files=files)


def _of_array(array: np.ndarray, name: str = "given") -> ModelRows:
    if array.ndim == 2 and array.dtype.kind in "biuf":
        return ModelRows(_numbered(len(array)), features=array)
    if array.dtype == np.uint8 and array.ndim in (3, 4) and array.shape[-1] == 3:
        several = array[None] if array.ndim == 3 else array
        return ModelRows(_numbered(len(several)), images=ImageArrays(several))
    told = f"{name}: {array.dtype} of shape {array.shape}"
    raise UsageError(f"{told}, expected features (n, d), or uint8 images (n, height, width, 3)")


def _numbered(rows: int) -> list[str]:
    return [str(row) for row in range(rows)]


# Images -> what a model takes


@dataclass(frozen=True)
class Decoded:
    """The rows of a chunk that could be read, and why the others could not."""

    rows: list[int]
    images: list[np.ndarray]
    faults: dict[int, str]


def decoded_chunk(images: Images, rows: range, prepare: Callable[[np.ndarray], np.ndarray]) -> Decoded:
    """These rows, decoded by all cores and made as small as the model sees them."""

    def one(row: int) -> np.ndarray | str:
        try:
            return prepare(images[row])
        except UsageError as error:
            return str(error)

    with ThreadPoolExecutor(usable_cores()) as pool:
        found = dict(zip(rows, pool.map(one, rows), strict=True))
    good = [row for row, image in found.items() if not isinstance(image, str)]
    faults = {row: told for row, told in found.items() if isinstance(told, str)}
    return Decoded(good, [found[row] for row in good], faults)  # type: ignore[misc]


def chunk_features(backbone: Backbone, source: FeatureSource, images: Sequence[np.ndarray]) -> np.ndarray:
    """Features of decoded images as the cache keeps them: in batches of the same size, in the same type."""
    try:
        parts = list(_features(backbone, source.cut, _batches(images)))
    except (RuntimeError, ValueError) as error:
        sizes = sorted({image.shape[:2] for image in images})
        told = f"images of {' and '.join(f'{w} x {h}' for h, w in sizes[:3])} pixels"
        raise UsageError(f"backbone {source.backbone} cannot take {told} ({str(error).splitlines()[0]})") from None
    features = np.concatenate(parts)
    return features.astype(np.float16 if features.shape[1] > WIDE else np.float32)


def _batches(images: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    return (np.stack(images[start : start + BATCH]) for start in range(0, len(images), BATCH))
