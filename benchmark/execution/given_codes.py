"""Codes that others made -> a record like any other, marked "codes only": scored here, and nothing else known of them.

Its key is made of the codes, the data set's revision, the name they go by, and the versions of evaluator and record.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.contracts import Splits
from benchmark.data.audit import Audit
from benchmark.errors import UsageError
from benchmark.evaluation.codes import health, unpack
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.fingerprint import digest
from benchmark.execution.grid import DatasetChoice
from benchmark.execution.provenance import provenance
from benchmark.execution.record import CODES_ONLY, SCHEMA_VERSION, Record
from benchmark.execution.request import Outcome
from benchmark.execution.store import Store
from benchmark.execution.worker import dataset_arrays, score_codes
from benchmark.registry import methods
from benchmark.wording import counted

PARTS = ("query", "database")
LONGEST_NAME = 60
NAME = (
    r"\w[\w.+-]*"  # a name becomes a word of a cell's name, a cell of tables and what users type: no paths, no spaces
)


@dataclass(frozen=True, eq=False)
class GivenCodes:
    """Packed codes of the queries and the database of a data set, and the name they are to go by."""

    name: str
    choice: DatasetChoice
    bits: int
    seed: int
    packed: Mapping[str, np.ndarray]

    @property
    def cell(self) -> dict[str, Any]:
        """As records show it: no profile and no backbone, for none is known."""
        dataset = self.choice.dataset
        return {
            "method": self.name,
            "params": {},
            "dataset": dataset.name,
            "protocol": dataset.protocol,
            "bits": self.bits,
            "seed": self.seed,
            "profile": "",
            "backbone": None,
            "settings": CODES_ONLY,
        }

    @property
    def parts(self) -> dict[str, Any]:
        """All that is hashed into the key, by name."""
        sums = {name: hashlib.sha256(self.packed[name].tobytes()).hexdigest() for name in PARTS}
        data = {"dataset": self.choice.parts["dataset"]}
        return {"cell": self.cell, "codes": sums, **data, **versions_today()}

    @property
    def key(self) -> str:
        return digest(self.parts)


def versions_today() -> dict[str, int]:
    """What makes a record of given codes stale, the data set's own code apart."""
    return {"evaluator": EVALUATOR_VERSION, "schema": SCHEMA_VERSION}


def check_free_name(name: str) -> str:
    """A name that is no method's here: a row of a table must say whose it is."""
    if not re.fullmatch(NAME, name) or name == "all" or len(name) > LONGEST_NAME:
        told = (
            f"expected a name of 1 to {LONGEST_NAME} letters, digits, dashes and dots, as methods have, and not 'all'"
        )
        raise UsageError(f"--method {name!r}: {told}")
    if name in methods.names_unloaded():
        raise UsageError(f"--method {name}: a method of hashbench has this name; take another, e.g. {name}-theirs")
    return name


def title_of_codes(name: str) -> str:
    """What a row of codes that others made is called."""
    return f"{name} ({CODES_ONLY})"


def check_rows(given: GivenCodes, splits: Splits) -> None:
    """As many codes as rows, and labels to score them by."""
    name = given.choice.label
    for part in PARTS:
        rows, codes = len(splits.parts()[part]), len(given.packed[part])
        if rows != codes:
            told = f"{part} codes: {counted(codes, 'row')}, expected {rows:,}: one for each {part} row of {name}"
            raise UsageError(f"{told}, in the order of its list")
        if splits.parts()[part].labels is None:
            raise UsageError(f"{name}: its {part} rows have no labels, so nothing can be scored")


def filed_otherwise(given: GivenCodes, store: Store) -> list[Record]:
    """Records of other codes under the same name, data, length and seed."""
    same = ("method", "dataset", "protocol", "bits", "seed")
    return [
        record
        for record in store.records()
        if record.codes_only
        and record.key != given.key
        and all(record.cell.get(name) == given.cell[name] for name in same)
        and record.revision == given.parts["dataset"]["revision"]
    ]


def score_given(given: GivenCodes, splits: Splits, audited: Audit, threads: int) -> Outcome:
    """The record and payload of given codes, and what the store keeps of the data set."""
    check_rows(given, splits)
    dataset = given.choice.dataset
    record = Record(
        given.key,
        given.cell,
        given.parts,
        status="ok",
        asked={**given.choice.asked, "profile": ""},
        titles={"method": title_of_codes(given.name), "dataset": dataset.title},
        miniature=dataset.miniature,
        audit=audited.as_dict(),
        provenance=provenance(threads),
    )
    outcome = Outcome(record, dataset=dataset_arrays(splits))
    codes = {part: unpack(given.packed[part], given.bits) for part in PARTS}
    record.health = health(codes["database"])
    score_codes(codes, splits, dataset, outcome, threads)
    return outcome


def file_outcome(outcome: Outcome, store: Store) -> None:
    """Commit it, the data set's rows first."""
    record = outcome.record
    store.save_dataset(record.revision, outcome.dataset)
    with store.lock(record.key) as mine:
        if not mine:
            raise UsageError(f"{record.key[:12]} is being written by another process; try again")
        store.commit(record, outcome.payload)
