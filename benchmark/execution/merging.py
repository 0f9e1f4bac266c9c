"""Records of other people -> this results folder: nothing is believed that can be computed.

A record is taken if its files are what was written, its key is that of its parts, and every score that it tells comes
out again when its codes are counted here. Labels are those of the data set where it can be loaded in the same revision,
else those of the results folder; only where neither is at hand those that were handed in, which the record then says,
and every later one that is scored by them. Numbers that are stored are those computed here. The folder that is merged
is read, never written to.
"""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmark.contracts import HashDataset, Split, Splits
from benchmark.data.audit import audit, class_groups
from benchmark.data.cache import tell
from benchmark.errors import InvalidCodes, UsageError
from benchmark.evaluation.codes import health, unpack
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.cell_names import label_of
from benchmark.execution.descriptions import described, words_of
from benchmark.execution.diagnosis import doubts
from benchmark.execution.fingerprint import digest
from benchmark.execution.grid import load_splits
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.request import Outcome
from benchmark.execution.store import Damaged, Store
from benchmark.execution.worker import ScoredData, dataset_arrays, score_codes
from benchmark.registry import get_dataset
from benchmark.wording import counted

TOLERANCE = 1e-9  # of a score: sums may be taken in another order elsewhere, and nothing else may differ
PARTS = ("query", "database")
AT_HAND = "of the data set at hand"
OURS, HANDED_IN = "of this results folder", "as handed in: the data set is not at hand"
Fate = Literal["taken", "here already", "without a score", "refused", "clash"]


class Refused(ValueError):
    """A record that is not taken; says why."""


class Merged(NamedTuple):
    """What became of one record."""

    fate: Fate
    key: str
    label: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """What the store keeps of a data set, and where it is from."""

    arrays: Mapping[str, np.ndarray]
    origin: str
    audit: Mapping[str, Any] | None = None  # of a data set at hand

    @property
    def splits(self) -> Splits:
        """Rows with labels and nothing else."""
        classes = int(self.arrays["classes"])
        labels = {part: np.unpackbits(self.arrays[f"{part}_labels"], axis=1, count=classes) for part in PARTS}
        query, database = (Split(labels=labels[part].astype(bool)) for part in PARTS)
        return Splits(query, query, database)


def merge(source: Store, store: Store, threads: int = 1, data_root: Path | None = None) -> Iterator[Merged]:
    """Take the records of `source` into `store`, and say of each what became of it.

    `data_root` is the folder of the real data sets here; without it they are looked for where the record had them.
    """
    merging, keys = Merging(source, store, threads, data_root), source.keys()
    for number, key in enumerate(keys):
        tell("scoring again", number, len(keys))
        found = merging.one(key)
        if found is not None:
            yield found
    tell("scoring again", len(keys), len(keys))


class Merging:
    """What is known while records are taken, one after the other."""

    def __init__(self, source: Store, store: Store, threads: int, data_root: Path | None) -> None:
        self.source, self.store, self.threads, self.data_root = source, store, threads, data_root
        self.ours = [words_of(record) for record in store.records()]
        self.rows: dict[tuple[str, Any, bool], LabelledRows] = {}  # by revision, cut-off, and whether it is at hand
        self.datasets: dict[str, tuple[HashDataset, str] | None] = {}  # by the words they were asked for
        self.when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

    def one(self, key: str) -> Merged | None:
        """What became of it; None where it is gone meanwhile."""
        label = key[:12]
        try:
            record = self.source.read(key)
            if record is None:
                return None
            label = label_of(record)
            return self._taken(record) if record.ok else Merged("without a score", key, label, record.reason)
        except (Refused, Damaged, UsageError, InvalidCodes) as error:
            return Merged("refused", key, label, str(error))
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:  # it holds whatever somebody wrote
            return Merged("refused", key, label, f"it cannot be scored again ({type(error).__name__}: {error})")

    def _dataset(self, record: Record) -> HashDataset | None:
        """Its data set, if it can be had here and is the same; asked once for all records of the same words."""
        words = digest([record.asked.get(name) for name in ("dataset", "data_root", "options")])
        if words not in self.datasets:
            self.datasets[words] = _at_hand(record.asked, self.data_root)
        dataset, revision = self.datasets[words] or (None, "")
        return dataset if revision == record.revision else None

    def _taken(self, record: Record) -> Merged:
        _check_key(record)
        dataset = self._dataset(record)
        record, unchecked = described(record, dataset, self.ours)
        data = (record.revision, record.parts["dataset"].get("map_cutoff"), dataset is not None)
        if data not in self.rows:
            self.rows[data] = labelled_rows(record, dataset, self.source, self.store)
        rows = self.rows[data]
        again = scored_again(record, self.source.payload(record), rows, self.threads)
        # The end of the path: the rest says how somebody's disk is laid out, and records are published.
        origin = {"from": "/".join(self.source.root.resolve().parts[-2:]), "at": self.when, "labels": rows.origin}
        origin |= {"described": f"as handed in, without {unchecked} at hand"} if unchecked else {}
        again.record.provenance = {**record.provenance, "merged": origin}
        found = _filed(again, rows, self.store)
        if found.fate == "taken":
            self.ours.append(words_of(again.record))
            found = found._replace(reason=origin.get("described", ""))
        return found


def _filed(outcome: Outcome, rows: LabelledRows, store: Store) -> Merged:
    """Commit it, the data set's rows first, unless one of the same key is here."""
    record = outcome.record
    with store.lock(record.key) as mine:
        if not mine:
            raise Refused("a run of this folder is at this cell; merge again when it has ended")
        found = _compared_with_ours(outcome, store)
        if found is None:
            store.save_dataset(record.revision, dict(rows.arrays))
            store.commit(record, outcome.payload)
    return found or Merged("taken", record.key, label_of(record))


def _check_key(record: Record) -> None:
    """The key stands for what the record says that it was made from."""
    made_by = {name: record.parts.get(name) for name in ("evaluator", "schema")}
    today = {"evaluator": EVALUATOR_VERSION, "schema": SCHEMA_VERSION}
    for name, version in made_by.items():
        if version != today[name]:
            raise Refused(f"it was made by {name} {version}, expected {today[name]}: run it again by this version")
    if digest(record.parts) != record.key or digest(record.parts.get("cell")) != digest(record.cell):
        raise Refused("its key is not that of its parts: somebody has changed what it says that it was made from")


def labelled_rows(record: Record, dataset: HashDataset | None, source: Store, store: Store) -> LabelledRows:
    """The labels to score by, from where they are to be believed most; `dataset` is that of the record, if at hand."""
    revision = record.revision
    if dataset is not None:
        with contextlib.suppress(UsageError, OSError):  # its files may be gone
            splits = load_splits(dataset)
            return LabelledRows(dataset_arrays(splits), AT_HAND, audit(splits, dataset.map_cutoff).as_dict())
    if store.has_dataset(revision):
        return LabelledRows(store.dataset(revision), HANDED_IN if _only_handed_in(revision, store) else OURS)
    try:
        return LabelledRows(source.dataset(revision), HANDED_IN)
    except FileNotFoundError:
        told = f"its data set ({record.cell['dataset']}) is neither here nor handed in, so nothing can be scored again"
        raise Refused(f"{told}; hand in its datasets/ folder too, or give --data-root") from None


def _only_handed_in(revision: str, store: Store) -> bool:
    """Whether the labels that are here came with records of others, and no run of this folder has seen the data."""
    own = [record.provenance for record in store.records() if record.revision == revision]
    return bool(own) and all((one.get("merged") or {}).get("labels") == HANDED_IN for one in own)


def _at_hand(asked: Mapping[str, Any], data_root: Path | None) -> tuple[HashDataset, str] | None:
    """What these words mean here, with its revision; None where that cannot be had."""
    try:
        root = asked.get("data_root") and (data_root or asked["data_root"])
        dataset = get_dataset(asked["dataset"], root, **asked.get("options", {}))
        return dataset, dataset.revision
    except (UsageError, OSError, KeyError, TypeError):
        return None


def scored_again(record: Record, arrays: Mapping[str, np.ndarray], rows: LabelledRows, threads: int) -> Outcome:
    """The record with the scores of its codes; Refused where they are not those that it tells."""
    missing = [part for part in PARTS if f"{part}_codes" not in arrays]
    if missing:
        why = "vectors are not kept, prune --codes drops codes"
        raise Refused(f"it holds no codes ({why}), so it cannot be scored again: run it here")
    bits, splits = record.cell["bits"], rows.splits
    codes = {part: unpack(arrays[f"{part}_codes"], bits) for part in PARTS}
    for part in PARTS:
        if len(codes[part]) != len(splits.parts()[part]):
            there = counted(len(splits.parts()[part]), "row")
            raise Refused(f"it has {counted(len(codes[part]), f'{part} code')}, but its data set has {there} of them")
    audited = {**record.audit, **(rows.audit or {}), "notes": record.audit.get("notes", [])}
    if rows.audit is None and "train_class_counts" in rows.arrays:  # groups of classes decide scores, too
        audited["groups"] = class_groups(rows.arrays["train_class_counts"])
    again = replace(record, audit=audited, health=_health(record, codes["database"]), model=None, error=None)
    outcome = Outcome(again)
    data = ScoredData(str(record.cell["dataset"]), record.parts["dataset"].get("map_cutoff"))
    score_codes(codes, splits, data, outcome, threads)
    _compare("its metrics", record.metrics, again.metrics)
    _compare("its arrays", arrays, outcome.payload)
    return outcome


def _health(record: Record, codes: np.ndarray) -> dict[str, Any]:
    """That of its codes, with the doubts that they and its training give cause for."""
    found = health(codes)
    causes = doubts(record.training, found)
    return {**found, "doubts": causes, "remedy": record.health.get("remedy", "")} if causes else found


def _compare(what: str, told: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Every score that is told, against what its codes come to."""
    wrong = [name for name, value in told.items() if name in found and not same(value, found[name])]
    wrong += [name for name in told if name not in found]
    if wrong:
        name = "map" if "map" in wrong else wrong[0]
        pair = f": {name} is {_number(told[name])}, its codes give {_number(found.get(name))}"
        raise Refused(f"{what} are not those of its codes ({', '.join(sorted(wrong)[:4])}){pair}")


def same(told: Any, found: Any) -> bool:
    """One number, or numbers of one shape, up to rounding; anything else as it is."""
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return set(told) == set(found) and all(same(told[name], found[name]) for name in told)
    if isinstance(told, np.ndarray) or isinstance(found, np.ndarray):
        one, other = np.asarray(told), np.asarray(found)
        return one.shape == other.shape and np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    if isinstance(told, (int, float)) and isinstance(found, (int, float)):
        return math.isclose(told, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(told == found)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else "another"


def _compared_with_ours(outcome: Outcome, store: Store) -> Merged | None:
    """What a record that is here already has to say; None where theirs may be taken."""
    record = outcome.record
    label = label_of(record)
    try:
        ours = store.read(record.key)
    except Damaged as error:
        raise Refused(f"the record that is here is damaged ({error}); see 'verify' first") from None
    if ours is None or not ours.ok or not store.payload_is_there(ours):
        return None
    if same(ours.metrics, record.metrics):
        return Merged("here already", record.key, label)
    told = f"MAP is {_number(ours.metrics['map'])} here and {_number(record.metrics['map'])} there"
    return Merged("clash", record.key, label, f"the same key with other numbers ({told}); the one that is here stays")


def merge_folder(path: Path) -> Store:
    """A results folder of somebody else; an error where it is none."""
    store = Store(path)
    if not path.is_dir():
        raise UsageError(f"merge: {path} {'is no folder' if path.exists() else 'does not exist'}; give results folders")
    if not store.keys():
        raise UsageError(f"merge: {path} holds no record (no cells/*.json); give a folder that a run wrote")
    return store
