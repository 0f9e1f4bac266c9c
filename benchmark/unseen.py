"""Unseen classes: what `--option DATASET.unseen=SHARE` puts around any data set, whoever wrote it.

A share of the classes is drawn and held out of training: rows with one of their labels leave the training split.
Queries are those of held-out classes alone; the database stays whole, so that the classes of the training split are in
the way. Relevant is what shares a held-out label: the other labels of a query do not count, for what was learned of
them is not what is asked. So a classifier in disguise shows (Sablayrolles et al., How should we evaluate supervised
hashing?, 2017; their database has held-out classes only). A backbone may have seen the classes elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmark.contracts import HashDataset, Split, Splits
from benchmark.errors import UsageError
from benchmark.seeds import generator
from benchmark.wording import counted

OPTIONS = ("unseen", "unseen_seed")
VERSION = 1  # of what is held out by the same options; part of the revision


class UnseenClasses:
    """A data set that is like `whole`, but for the classes that are held out. It has no lists of its own."""

    def __init__(self, whole: HashDataset, unseen: Any = None, unseen_seed: Any = 0) -> None:
        name = whole.info.name
        number = isinstance(unseen, (int, float)) and not isinstance(unseen, bool)
        if not number or not 0 < unseen < 1:
            raise UsageError(f"{name}.unseen={unseen!r}: expected a share of the classes, above 0 and below 1")
        if isinstance(unseen_seed, bool) or not isinstance(unseen_seed, int) or unseen_seed < 0:
            raise UsageError(f"{name}.unseen_seed={unseen_seed!r}: expected a whole number of 0 or more")
        self.whole, self.share, self.seed = whole, float(unseen), unseen_seed
        self.title = f"{whole.title}, {100 * self.share:g} % unseen"

    def __getattr__(self, name: str) -> Any:
        """What it does not change."""
        if name in ("whole", "lists"):
            raise AttributeError(name)
        return getattr(self.whole, name)

    @property
    def protocol(self) -> str:
        return f"{self.whole.protocol}, {100 * self.share:g} % of the classes unseen, seed {self.seed}"

    @cached_property
    def revision(self) -> str:
        parts = f"{self.whole.revision} unseen {self.share!r} {self.seed} {VERSION}"
        return hashlib.sha256(parts.encode()).hexdigest()

    def load(self) -> Splits:
        return hold_out(self.whole.load(), self.share, self.whole.name, self.seed)


def hold_out(splits: Splits, share: float, name: str, seed: int) -> Splits:
    """The splits with `share` of the classes held out of training."""
    if splits.train.labels is None or splits.query.labels is None:
        raise UsageError(f"{name}.unseen: its training rows have no labels, so that no class can be held out of them")
    classes = splits.query.labels.shape[1]
    held = held_classes(classes, share, name, seed)
    kept = np.flatnonzero(~splits.train.labels[:, held].any(axis=1))
    asked = np.flatnonzero(splits.query.labels[:, held].any(axis=1))
    if not len(kept) or not len(asked):
        what = "no training row is left" if not len(kept) else "no query has one of them"
        raise UsageError(f"{name}.unseen={share:g}: {held.sum()} of {classes} classes are held out, and {what}")
    lost = counted(len(splits.train) - len(kept), "row")
    note = f"{held.sum()} of {classes} classes held out of training, {lost} with them"
    query = _without_others(splits.query.take(asked), held)
    return replace(splits, train=splits.train.take(kept), query=query, notes=(*splits.notes, note))


def held_classes(classes: int, share: float, name: str, seed: int) -> np.ndarray:
    """Which classes are held out: at least one, and not all."""
    if classes < 2:
        raise UsageError(f"{name}.unseen: {classes} class, expected at least 2")
    held = np.zeros(classes, bool)
    number = min(max(1, round(share * classes)), classes - 1)
    held[generator("unseen", name, seed).permutation(classes)[:number]] = True
    return held


def _without_others(query: Split, held: np.ndarray) -> Split:
    """Only held-out labels say what is relevant."""
    return Split(query.features, query.images, query.required_labels() & held, ids=query.ids)


def own_options(parameters: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Of the parameters of a data set, those that are meant for what is put around it."""
    found = {name: parameters[name] for name in OPTIONS if name in parameters and name not in known}
    if found and "unseen" not in found:
        raise UsageError("unseen_seed: give unseen too, the share of the classes to hold out")
    return found
