"""The rows of a split as network inputs: given features, or images decoded when asked for, perhaps ahead of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from benchmark.contracts import Images
from benchmark.data.images import Transform
from benchmark.deep.lazy import torch
from benchmark.errors import UsageError
from benchmark.shallow.scaling import FeatureScaling


class Rows(Protocol):
    """Network inputs by row number."""

    def __len__(self) -> int: ...

    def take(self, items: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        """The inputs of these rows; augmented where a random generator is given."""
        ...


class FeatureRows:
    """Features, scaled on the way out where a scaling is given."""

    def __init__(self, features: np.ndarray, scaling: FeatureScaling | None = None) -> None:
        self._features, self._scaling = features, scaling

    def __len__(self) -> int:
        return len(self._features)

    def take(self, items: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        features = self._features[items]
        if self._scaling is not None:
            features = self._scaling.transform(features)
        return torch.from_numpy(np.asarray(features, np.float32))


class ImageRows:
    """Images as (n, h, w, 3) uint8, resized and cut: to the centre, or at a random place and perhaps mirrored.

    Where the transform cuts nothing (the miniatures' canvases) there is no augmentation: a mirrored digit is another.
    """

    def __init__(self, images: Images, transform: Transform) -> None:
        self._images, self._transform = images, transform

    def __len__(self) -> int:
        return len(self._images)

    def take(self, items: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        cut = self._transform.prepare
        if random is not None and self._transform.crop is not None:
            return torch.from_numpy(np.stack([self._augmented(self._images[int(item)], random) for item in items]))
        return torch.from_numpy(np.stack([cut(self._images[int(item)]) for item in items]))

    def _augmented(self, image: np.ndarray, random: np.random.Generator) -> np.ndarray:
        image, crop = self._transform.resized(image), self._transform.crop
        assert crop is not None
        top, left = (int(random.integers(size - crop + 1)) for size in image.shape[:2])
        image = image[top : top + crop, left : left + crop]
        return image[:, ::-1] if random.random() < 0.5 else image


class _Calls:
    """A function as a data set of its values; an error travels back as a value, to be raised as it was."""

    def __init__(self, function: Callable[[int], Any]) -> None:
        self._function = function

    def __getitem__(self, index: int) -> Any:
        try:
            return self._function(index)
        except UsageError as error:
            return error


def ahead(function: Callable[[int], Any], indices: Sequence[int], workers: int) -> Iterator[Any]:
    """function(index) for each index, in order; with workers, computed by so many processes ahead of use."""
    if workers < 1:
        yield from map(function, indices)
        return
    loader: Any = torch.utils.data.DataLoader(
        _Calls(function),  # type: ignore[arg-type]
        batch_size=None,
        sampler=indices,
        num_workers=workers,
        generator=torch.Generator().manual_seed(0),  # never used, but the default would draw from global state
    )
    for value in loader:
        if isinstance(value, UsageError):
            raise value
        yield value
