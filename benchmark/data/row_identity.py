"""Whether two rows are the same image: by name, or by base name and content; what the audit and drop_overlap share.

A name is a path, and lists of different origin give one image under different folders. So rows of different
names are the same where their base names and their contents are equal: the bytes of the files, or the features
where there are no files. Where a file is not here to be read, base names alone must do, if they are names of
files and no part uses one twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmark.contracts import Split
from benchmark.data.images import SUFFIXES, content_hashes


@dataclass(frozen=True, eq=False)
class RowIdentity:
    """Names and contents of a split's rows. Contents are hashes of files, or keys of features; None: unknown."""

    ids: Sequence[str] | None
    contents: Sequence[str | int | None] | None
    files: bool  # whether contents are those of files

    @classmethod
    def of(cls, split: Split) -> RowIdentity:
        hashes = content_hashes(split.images)
        if hashes is None and split.features is not None:
            return cls(split.ids, row_keys(split.features).tolist(), False)
        return cls(split.ids, hashes, hashes is not None)

    @cached_property
    def base_names(self) -> list[str]:
        return [name.rpartition("/")[2] for name in self.ids or ()]

    @cached_property
    def known(self) -> Sequence[str | int | None]:
        return self.contents if self.contents is not None else [None] * len(self.ids or ())

    @cached_property
    def has_own_base_names(self) -> bool:
        """Whether a base name tells a row: names of image files, none of them in two folders."""
        files = all(name.lower().endswith(SUFFIXES) for name in self.base_names)
        return files and len(set(self.base_names)) == len(set(self.ids or ()))

    def shared_with(self, other: RowIdentity) -> np.ndarray | None:
        """Which of these rows are rows of `other` too; None where either has no names."""
        if self.ids is None or other.ids is None:
            return None
        names = set(other.ids)
        same = set(zip(other.base_names, other.known, strict=True))
        pairs = zip(self.base_names, self.known, strict=True)
        found = [
            name in names or (pair[1] is not None and pair in same) for name, pair in zip(self.ids, pairs, strict=True)
        ]
        return np.array(found, bool) | self.shared_base_names(other)

    def shared_base_names(self, other: RowIdentity) -> np.ndarray:
        """Which of these rows are in `other` by base name, under another path, and cannot be compared by content."""
        if not (self.has_own_base_names and other.has_own_base_names):
            return np.zeros(len(self.base_names), bool)
        names = set(other.ids or ())
        contents = dict(zip(other.base_names, other.known, strict=True))
        rows = zip(self.ids or (), self.base_names, self.known, strict=True)
        return np.array(
            [
                base in contents and name not in names and (content is None or contents[base] is None)
                for name, base, content in rows
            ],
            bool,
        )

    def same_content(self, other: RowIdentity) -> np.ndarray | None:
        """Which of these rows have the content of a row of `other`; None where contents cannot be compared."""
        if self.contents is None or other.contents is None or self.files != other.files:
            return None
        there = set(other.contents) - {None}
        return np.array([content in there for content in self.contents], bool)


def row_keys(features: np.ndarray) -> np.ndarray:
    """Equal rows have equal keys, others almost surely not: exact arithmetic modulo 2^64 over the rows' bits."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, features.shape[1], np.uint64) | np.uint64(1)
    keys = np.empty(len(features), np.uint64)
    for start in range(0, len(features), 4096):
        block = np.ascontiguousarray(features[start : start + 4096], np.float32) + np.float32(0)  # -0 equals 0
        keys[start : start + 4096] = (block.view(np.uint32) * multipliers).sum(axis=1, dtype=np.uint64)
    return keys
