"""The rows that methods are tried on, easy enough for any method that works, and what is asked of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.contracts import Split
from benchmark.similarity import TripletList

CLASSES, PER_CLASS, DIMENSION, SIDE = 4, 40, 64, 32


def easy_data(seed: int = 0, images: bool = False) -> tuple[Split, Split]:
    """Well-separated classes in no order, as (train, query): what any method that works can tell apart."""
    generator = np.random.default_rng(seed)
    make = _easy_images if images else _easy_features
    centres = generator.standard_normal((CLASSES, DIMENSION)) * 2

    def split() -> Split:
        labels = generator.permutation(np.repeat(np.arange(CLASSES), PER_CLASS))
        return make(labels, centres, generator)

    return split(), split()


def _easy_features(labels: np.ndarray, centres: np.ndarray, generator: np.random.Generator) -> Split:
    noise = generator.standard_normal((len(labels), DIMENSION))
    return Split(features=(centres[labels] + noise).astype(np.float32), labels=labels)


def _easy_images(labels: np.ndarray, centres: np.ndarray, generator: np.random.Generator) -> Split:
    """Noise on a colour gradient: red, green, blue downwards, or all of them to the right."""
    from benchmark.data.images import ImageArrays

    ramp = np.linspace(0, 150, SIDE)
    pictures = np.zeros((CLASSES, SIDE, SIDE, 3))
    for channel in range(3):
        pictures[channel, :, :, channel] = ramp[:, None]
    pictures[3] = ramp[None, :, None]
    noise = generator.integers(0, 80, (len(labels), SIDE, SIDE, 3))
    return Split(images=ImageArrays((pictures[labels] + noise).astype(np.uint8)), labels=labels)


def listed_triplets(split: Split, each: int = 30) -> Split:
    """The same rows with a list of triplets in place of labels: `each` of every row, a like and an unlike one."""
    random, classes = np.random.default_rng(0), split.required_labels().argmax(axis=1)
    alike = classes[:, None] == classes[None, :]
    told = [
        (row, random.choice(np.flatnonzero(alike[row] & (np.arange(len(split)) != row))), random.choice(unlike))
        for row in range(len(split))
        for unlike in [np.flatnonzero(~alike[row])] * each
    ]
    return Split(features=split.features, images=split.images, triplets=TripletList(len(split), np.array(told)))


def split_arrays(split: Split) -> dict[str, np.ndarray]:
    """The arrays that a split is made of, by name."""
    named = {"features": split.features, "labels": split.labels, "images": getattr(split.images, "array", None)}
    return {name: array for name, array in named.items() if isinstance(array, np.ndarray)}


def same_rows(one: Split, other: Split) -> bool:
    """Whether features, labels and images are the same; what a split shows of its images need not be an array."""

    def parts(split: Split) -> list[Any]:
        images = split.images
        return [split.features, split.labels, images and [images[row] for row in range(len(images))]]

    pairs = zip(parts(one), parts(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs if a is not None or b is not None)


def frozen(split: Split) -> Split:
    """The same split, its arrays made read-only."""
    for array in split_arrays(split).values():
        array.flags.writeable = False
    return split
