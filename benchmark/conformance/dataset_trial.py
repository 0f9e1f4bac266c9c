"""How a data set is tried: built by a recipe, loaded twice, and built once more in a fresh process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.conformance.fresh_process import digest_of, in_a_fresh_process, loadable
from benchmark.conformance.verdicts import Untested, error_text
from benchmark.contracts import HashDataset, Splits
from benchmark.errors import UsageError
from benchmark.registry import dataset_class, datasets, get_dataset, load_only, takes_path

SAMPLED, DECODED = 64, 5  # rows and images of a split that are compared; enough to tell, and quick on a million
COPIED_FILES, COPIED_BYTES = 5000, 64 << 20  # data up to this size are copied, to see what a change of them does
ATTRIBUTES = ("name", "title", "protocol", "map_cutoff", "miniature", "backbone")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Recipe:
    """How a data set is built anew, here or in another process."""

    spec: str
    data_root: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    entry: str | None = None

    def build(self) -> HashDataset:
        return get_dataset(self.spec, self.data_root, **self.options)

    @property
    def argument(self) -> Path | None:
        return Path(self.spec.partition(":")[2]) if ":" in self.spec and takes_path(self.spec) else None

    def with_argument(self, argument: Path) -> Recipe:
        return replace(self, spec=f"{self.spec.partition(':')[0]}:{argument}")

    def varied(self) -> Iterator[tuple[str, Recipe]]:
        """The same with one option another: without it where it is given, else beside its default, where there is
        something beside it. Whether the data set takes that value is for it to say."""
        declared: Mapping[str, Any] = dataset_class(self.spec, self.data_root).info.parameters
        for name in self.options:
            others = {key: value for key, value in self.options.items() if key != name}
            yield f"without {name}", replace(self, options=others)
        for name, default in declared.items():
            if name not in self.options and isinstance(default, (bool, int, float)):
                other = not default if isinstance(default, bool) else default + 1
                yield f"with {name}={other}", replace(self, options={**self.options, name: other})

    def moved(self, folder: Path) -> Recipe | None:
        """The same of copied data, or None where there are none on disk, or too many to copy."""
        recipe, given = self, self.argument
        if given is not None and given.exists():
            beside = given if given.is_dir() else given.parent  # a file may speak of its neighbours
            if _is_small(beside):
                copied = shutil.copytree(beside, folder / "argument" / beside.resolve().name)
                recipe = recipe.with_argument(copied if given.is_dir() else copied / given.name)
            elif given.is_file() and given.stat().st_size <= COPIED_BYTES:
                recipe = recipe.with_argument(Path(shutil.copy2(given, folder / given.name)))
        if self.data_root is not None and _is_small(self.data_root):
            recipe = replace(recipe, data_root=shutil.copytree(self.data_root, folder / "root"))
        return recipe if recipe is not self else None


def _is_small(folder: Path) -> bool:
    files = size = 0
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
        files += len(names)
        if files > COPIED_FILES or size > COPIED_BYTES:
            return False
    return True


def recipe_of(
    dataset: Any,
    argument: str | None = None,
    data_root: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe for a registered class or a name (or `name:ARGUMENT`)."""
    spec = dataset if isinstance(dataset, str) else getattr(getattr(dataset, "info", None), "name", None)
    if spec is None:
        raise UsageError(f"{dataset!r} is not registered: put @register_dataset(...) above the class")
    name, _, given = spec.partition(":")
    info = datasets.get(name).info
    if not isinstance(dataset, str) and info.stand_in and data_root is None:
        raise UsageError(
            f"dataset '{name}' needs its data: give --data-root DIR (without it, '{info.stand_in}' is run)"
        )
    argument = argument or given
    if argument and takes_path(name) and Path(argument).exists():
        argument = str(Path(argument).resolve())
    root = None if data_root is None else Path(data_root).resolve()
    return Recipe(f"{name}:{argument}" if argument else name, root, dict(options or {}), info.source, info.entry)


class DatasetTrial:
    """A data set with its splits loaded once, and where its recipe is known, built anew in a fresh process."""

    def __init__(
        self,
        dataset: Any,
        *,
        argument: str | None = None,
        data_root: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.recipe: Recipe | None = None
        self._built, self._failure = dataset, None
        if isinstance(dataset, (str, type)):
            self.recipe = recipe_of(dataset, argument, data_root, options)
            self._built, self._failure = self._build(self.recipe)

    def _build(self, recipe: Recipe) -> tuple[Any, Any]:
        try:
            return recipe.build(), None
        except UsageError:  # nothing of that kind is there to be checked
            raise
        except (Exception, SystemExit) as error:
            return None, error

    @property
    def dataset(self) -> Any:
        """The instance that is checked."""
        if self._failure is not None:
            raise Untested(f"it cannot be built: {error_text(self._failure)}") from self._failure
        return self._built

    @cached_property
    def splits(self) -> Splits:
        """The splits as first loaded."""
        try:
            loaded = self.dataset.load()
        except (Exception, SystemExit) as error:
            raise Untested(f"load failed: {error_text(error)}") from error
        if not isinstance(loaded, Splits):
            raise Untested(f"load returned a {type(loaded).__name__}, expected Splits")
        return loaded

    @cached_property
    def again(self) -> Splits:
        """Loaded once more."""
        _ = self.splits
        loaded: Splits = self.dataset.load()
        return loaded

    @cached_property
    def probed(self) -> dict[str, Any] | None:
        """What a fresh process says of the same recipe; None where there is none."""
        if self.recipe is None or not loadable(datasets.get(self.recipe.spec.partition(":")[0])):
            return None
        _ = self.dataset
        found: dict[str, Any] = in_a_fresh_process(probe, self.recipe)
        return found


def probe(recipe: Recipe) -> dict[str, Any]:
    """What a fresh process finds: whether building loads torch or opens an image, then revision and content."""
    opened: list[str] = []
    sys.addaudithook(lambda event, told: opened.append(str(told[0])) if event == "open" else None)
    if recipe.source is not None:
        load_only("dataset", recipe.spec.partition(":")[0], recipe.source, recipe.entry)
    loads_torch = "torch" in sys.modules
    datasets.names()  # other plugins, which may load what they like
    before = "torch" in sys.modules
    dataset = recipe.build()
    for name in ATTRIBUTES:
        getattr(dataset, name, None)
    images = [path for path in opened if path.lower().endswith(IMAGE_SUFFIXES)]
    loads_torch = loads_torch or (not before and "torch" in sys.modules)
    found = {"torch": loads_torch, "images": images[:1], "revision": dataset.revision}
    return found | {"content": content_digest(dataset.load())}


def content_digest(splits: Splits, whole: bool = False) -> str:
    """Hash of what rows hold: of all rows, or of some of each part, evenly spread, with few of their images."""
    digest = hashlib.sha256()
    for name, split in splits.parts().items():
        rows = spread_rows(len(split), len(split) if whole else SAMPLED)
        digest.update(f"{name} {len(split)}".encode())
        for array in (split.features, split.labels):
            if array is not None:
                digest.update(digest_of(np.asarray(array[rows])).encode())
        if split.ids is not None:
            digest.update("\n".join(str(split.ids[row]) for row in rows).encode())
        if split.images is not None:
            seen = spread_rows(len(split), len(split) if whole else DECODED)
            digest.update("".join(digest_of(split.images[int(row)]) for row in seen).encode())
        if split.similarity is not None:
            digest.update("".join(map(digest_of, split.similarity.block(rows, rows))).encode())
        if split.triplets is not None:
            digest.update(digest_of(split.triplets.take(rows).triplets).encode())
    return digest.hexdigest()


def spread_rows(size: int, wanted: int) -> np.ndarray:
    """So many of `size` rows, the first and the last among them."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, wanted)).astype(np.int64))
