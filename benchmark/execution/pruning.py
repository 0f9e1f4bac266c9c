"""What results and cache weigh, kind by kind, and what of it could go: chosen here, said, and only then dropped.

Nothing goes but what can be made again: models, codes of records, stale and failed records, tables of features, codes
of folders. What a run holds at the moment stays.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmark.data.cache_size import (
    CacheEntry,
    cache_bytes,
    cached_codes,
    cached_features,
    drop_codes,
    drop_features,
)
from benchmark.execution.cell_names import label_of
from benchmark.execution.plan import stale_keys, unchecked
from benchmark.execution.record import GOOD, Record
from benchmark.execution.store import Store, StoredCell, tune_store
from benchmark.wording import counted

KINDS = ("models", "codes", "stale", "failed", "caches")


@dataclass(frozen=True)
class Droppable:
    """One thing that could go."""

    kind: str
    what: str
    bytes: int
    modified: float  # seconds since 1970
    drop: Callable[[], bool]  # whether it is gone; False where a run holds it


def droppable(store: Store, kinds: Collection[str], cache: Path | None = None) -> list[Droppable]:
    """Everything of these kinds, the oldest first. A stale or failed record goes with its arrays and its model."""
    found: list[Droppable] = []
    stale = stale_keys(store) if "stale" in kinds else set()
    for cell in store.stored_cells():
        if cell.record.key in stale:
            found.append(_whole("stale", cell, store))
        elif "failed" in kinds and cell.record.status not in GOOD:
            found.append(_whole("failed", cell, store))
        else:
            found += _pieces(cell, store, kinds)
    if "caches" in kinds:
        found += [_cached("features", entry, drop_features) for entry in cached_features(cache)]
        found += [_cached("codes of a folder", entry, drop_codes) for entry in cached_codes(cache)]
    return sorted(found, key=lambda one: one.modified)


def _pieces(cell: StoredCell, store: Store, kinds: Collection[str]) -> list[Droppable]:
    """What can go of a record that stays."""
    label, found = label_of(cell.record), []
    if "models" in kinds and cell.model_bytes:
        drop = partial(store.drop_model, cell.record)
        found.append(Droppable("models", f"model of {label}", cell.model_bytes, cell.modified, drop))
    size = store.code_bytes(cell.record) if "codes" in kinds else 0
    if size:
        found.append(
            Droppable("codes", f"codes of {label}", size, cell.modified, partial(store.drop_codes, cell.record))
        )
    return found


def not_checked(records: Iterable[Record]) -> list[str]:
    """Those of which nobody can tell here whether they are stale, and why, in lines."""
    reasons = Counter(unchecked(record) for record in records)
    return [f"not checked: {counted(number, 'record')}: {why}" for why, number in reasons.items() if why]


def _whole(kind: str, cell: StoredCell, store: Store) -> Droppable:
    size = cell.record_bytes + cell.array_bytes + cell.model_bytes
    drop = partial(store.drop_record, cell.record)
    return Droppable(kind, f"{kind} record of {label_of(cell.record)}", size, cell.modified, drop)


def _cached(what: str, entry: CacheEntry, drop: Callable[[CacheEntry], bool]) -> Droppable:
    return Droppable("caches", f"{what} {entry.path.name[:12]}", entry.bytes, entry.modified, partial(drop, entry))


def chosen_to_go(
    found: Sequence[Droppable], older_than: float | None = None, keep_under: int | None = None
) -> list[Droppable]:
    """Of these, the ones older than so many seconds; and no more of them than it takes to come under so many bytes,
    the oldest first."""
    now, left, chosen = time.time(), sum(one.bytes for one in found), []
    for one in found:
        if keep_under is not None and left <= keep_under:
            break
        if older_than is None or now - one.modified > older_than:
            chosen.append(one)
            left -= one.bytes
    return chosen


def weighed(store: Store, cache: Path | None = None) -> dict[str, tuple[int, int]]:
    """Kind -> (how many, bytes): of all that lies in results, and in the cache."""
    cells, stale = store.stored_cells(), stale_keys(store)
    of_stale = [one for one in cells if one.record.key in stale]
    models = [one.model_bytes for one in cells if one.model_bytes]
    whole = [one.record_bytes + one.array_bytes + one.model_bytes for one in of_stale]
    trials = tune_store(store.root).stored_cells()
    return {
        "records": (len(cells), sum(one.record_bytes for one in cells)),
        "arrays": (sum(one.array_bytes > 0 for one in cells), sum(one.array_bytes for one in cells)),
        "models": (len(models), sum(models)),
        "of these stale": (len(of_stale), sum(whole)),
        "tuning trials": (len(trials), sum(one.record_bytes + one.array_bytes for one in trials)),
        **{f"cache: {name}": (0, size) for name, size in cache_bytes(cache).items()},
    }
