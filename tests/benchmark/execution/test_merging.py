"""What somebody hands in is believed as far as it can be computed again, and no further."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.errors import UsageError
from benchmark.evaluation.counting import EVALUATOR_VERSION
from benchmark.execution.fingerprint import digest
from benchmark.execution.merging import Merged, merge, merge_folder, same
from benchmark.execution.record import SCHEMA_VERSION
from benchmark.execution.store import Store


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Results of a second person: two cells, scored by their own run."""
    from benchmark.commands.main import main

    out = tmp_path_factory.mktemp("theirs") / "results"
    words = ["--datasets", f"features:{tiny}", "--methods", "lsh", "itq", "--bits", "8", "--jobs", "1"]
    assert main([*words, "--no-report", "--results", str(out)]) == 0
    return out


@pytest.fixture
def theirs(handed_in: Path, tmp_path: Path) -> Store:
    return Store(shutil.copytree(handed_in, tmp_path / "theirs"))


@pytest.fixture
def ours(tmp_path: Path) -> Store:
    return Store(tmp_path / "ours")


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder with its hash."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fates(found: list[Merged]) -> list[str]:
    return sorted(one.fate for one in found)


def edited(store: Store, method: str, arrays: Callable[[dict[str, Any]], Any] | None = None, **changes: Any) -> str:
    """Change a record, or its arrays, and seal it again as its author could."""
    record = next(one for one in store.records() if one.cell["method"] == method)
    payload = store.payload(record)
    if arrays:
        arrays(payload)
    store.commit(replace(record, **changes), payload)
    return record.key


def only_refusal(found: list[Merged], key: str) -> str:
    (refused,) = [one for one in found if one.fate == "refused"]
    assert refused.key == key
    assert fates(found) == ["refused", "taken"]
    return refused.reason


def test_sound_records_are_taken_with_the_numbers_that_their_codes_have(theirs: Store, ours: Store) -> None:
    before = content(theirs.root)
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    assert content(theirs.root) == before  # not even a lock
    assert ours.keys() == theirs.keys()
    assert not ours.verify().faults
    for record in ours.records():
        original = theirs.read(record.key)
        assert original is not None
        assert same(record.metrics, original.metrics)
        assert same(ours.payload(record), theirs.payload(original))
        assert record.provenance["merged"]["from"] == f"{theirs.root.parent.name}/theirs"
        assert record.provenance["machine"] == original.provenance["machine"]
        assert record.provenance["merged"]["labels"] == "of the data set at hand"
    assert fates([*merge(theirs, ours)]) == ["here already", "here already"]


def test_metrics_that_were_edited_by_hand_are_refused(theirs: Store, ours: Store) -> None:
    metrics = next(one for one in theirs.records() if one.cell["method"] == "itq").metrics
    key = edited(theirs, "itq", metrics={**metrics, "map": 0.9999})
    assert "map is 0.9999, its codes give" in only_refusal([*merge(theirs, ours)], key)
    assert ours.read(key) is None


@pytest.mark.parametrize("name", ["map_all", "map_stable", "precision_at_radius_2", "chance_map", "k", "queries"])
def test_no_score_can_be_edited(name: str, theirs: Store, ours: Store) -> None:
    metrics = next(one for one in theirs.records() if one.cell["method"] == "itq").metrics
    key = edited(theirs, "itq", metrics={**metrics, name: metrics[name] + 1})
    assert name in only_refusal([*merge(theirs, ours)], key)


def test_codes_that_were_edited_are_refused(theirs: Store, ours: Store) -> None:
    def flip(arrays: dict[str, Any]) -> None:
        arrays["database_codes"] = arrays["database_codes"] ^ np.uint8(0b1010)[None] * (np.arange(100) % 2)[
            :, None
        ].astype(np.uint8)

    key = edited(theirs, "itq", flip)
    assert "not those of its codes" in only_refusal([*merge(theirs, ours)], key)


def test_curves_that_were_edited_are_refused(theirs: Store, ours: Store) -> None:
    key = edited(theirs, "itq", lambda arrays: arrays["ap"].__setitem__(0, 0.123))
    assert "its arrays are not those of its codes (ap)" in only_refusal([*merge(theirs, ours)], key)


def test_a_record_under_another_methods_name_is_refused(theirs: Store, ours: Store) -> None:
    record = next(one for one in theirs.records() if one.cell["method"] == "itq")
    key = edited(theirs, "itq", cell={**record.cell, "method": "mine"})
    assert "not that of its parts" in only_refusal([*merge(theirs, ours)], key)


def rekeyed(store: Store, method: str, name: str, **changes: Any) -> str:
    """The record of a method under another name, with the key of what it says now, as its author could have it."""
    record = next(one for one in store.records() if one.cell["method"] == method)
    cell = {**record.cell, "method": name}
    parts = {**record.parts, "cell": cell}
    payload = store.payload(record)
    store.commit(replace(record, key=digest(parts), cell=cell, parts=parts, **changes), payload)
    (store.cells / f"{record.key}.json").unlink()
    return digest(parts)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("titles.method", {"titles": {"method": "SuperITQ", "needs": "nothing"}}),
        ("titles.method", {"titles": {"method": "DPH", "needs": "nothing"}}),
        ("titles.needs", {"titles": {"method": "ITQ", "needs": "labels"}}),
        ("titles.dataset", {"titles": {"method": "ITQ", "needs": "nothing", "dataset": "MS-COCO"}}),
        ("family", {"family": "data-independent"}),
        ("miniature", {"miniature": True}),
    ],
)
def test_what_a_record_says_of_method_and_data_must_be_so_here(
    field: str, changes: dict[str, Any], theirs: Store, ours: Store
) -> None:
    key = edited(theirs, "itq", **changes)
    assert only_refusal([*merge(theirs, ours)], key).startswith(f"its {field} is ")


def test_a_method_that_is_not_here_is_taken_under_its_own_name_and_that_is_said(theirs: Store, ours: Store) -> None:
    told = {"family": "supervised", "titles": {"method": "Mine", "needs": "labels"}}
    key = rekeyed(theirs, "itq", "mine", **told)
    (taken,) = [one for one in merge(theirs, ours) if one.key == key]
    assert (taken.fate, taken.reason) == ("taken", "as handed in, without method 'mine' at hand")
    record = ours.read(key)
    assert record is not None
    assert record.provenance["merged"]["described"] == taken.reason
    assert (record.titles["method"], record.family) == ("Mine", "supervised")
    again = rekeyed(theirs, "lsh", "mine", family="supervised", titles={"method": "Yours", "needs": "labels"})
    (refused,) = [one for one in merge(theirs, ours) if one.key == again]
    assert refused.reason == "its titles.method is 'Yours', in the records here it is 'Mine'"


def test_a_built_in_methods_name_and_another_methods_record_do_not_go_together(theirs: Store, ours: Store) -> None:
    """Though its key is that of what it says; of the code nothing can be told, but that it is not today's."""
    key = rekeyed(theirs, "itq", "dph")
    assert only_refusal([*merge(theirs, ours)], key).startswith("its titles.method is 'ITQ', ")


def test_audit_and_health_are_those_of_the_data_and_the_codes(theirs: Store, ours: Store) -> None:
    record = next(one for one in theirs.records() if one.cell["method"] == "itq")
    audit = {**record.audit, "parts": {}, "overlap": 99, "errors": ["none of theirs"]}
    history = {"step": [0, 1, 2, 3, 4, 5, 6, 7], "loss": [1.0] * 4 + [9.0] * 4}
    health = {**record.health, "distinct_share": 0.1, "made_up": 1.0}
    key = edited(theirs, "itq", audit=audit, health=health, training=history, error={"kind": "x", "message": "y"})
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    taken = ours.read(key)
    assert taken is not None
    assert taken.audit == record.audit
    assert taken.health == {**record.health, "doubts": taken.health["doubts"], "remedy": ""}
    assert "loss" in taken.doubts
    assert taken.error is None


def test_too_few_codes_are_refused(theirs: Store, ours: Store) -> None:
    key = edited(theirs, "itq", lambda arrays: arrays.update(query_codes=arrays["query_codes"][:-1]))
    assert "19 query codes, but its data set has 20 rows" in only_refusal([*merge(theirs, ours)], key)


def test_vectors_are_refused_for_they_cannot_be_scored_again(theirs: Store, ours: Store) -> None:
    key = edited(theirs, "itq", lambda arrays: arrays.pop("query_codes"))
    assert "holds no codes" in only_refusal([*merge(theirs, ours)], key)


def test_damaged_files_are_refused_one_line_each(theirs: Store, ours: Store) -> None:
    first, second = theirs.keys()
    payload = next(theirs.cells.glob(f"{first}.*.npz"))
    payload.write_bytes(payload.read_bytes()[:-7] + b"damaged")
    path = theirs.cells / f"{second}.json"
    path.write_text(path.read_text().replace('"status":"ok"', '"status":"OK"'))
    found = {one.key: one for one in merge(theirs, ours)}
    assert "does not match the hash" in found[first].reason
    assert "does not match its digest" in found[second].reason
    assert ours.keys() == []


def test_other_schemas_and_evaluators_are_refused(theirs: Store, ours: Store) -> None:
    first, second = theirs.keys()
    path = theirs.cells / f"{first}.json"
    raw = json.loads(path.read_text())
    raw.pop("digest")
    raw["schema"] = SCHEMA_VERSION + 1
    body = json.dumps(raw, sort_keys=True, separators=(",", ":"))
    path.write_text(f'{body[:-1]},"digest":"{hashlib.sha256(body.encode()).hexdigest()}"}}')
    record = theirs.read(second)
    assert record is not None
    parts = {**record.parts, "evaluator": EVALUATOR_VERSION - 1}
    theirs.commit(replace(record, key=digest(parts), parts=parts), theirs.payload(record))
    told = {one.key: one.reason for one in merge(theirs, ours) if one.fate == "refused"}
    assert "newer" in told[first]
    assert f"evaluator {EVALUATOR_VERSION - 1}" in told[digest(parts)]


def test_of_a_clash_the_one_that_is_here_stays(theirs: Store, ours: Store) -> None:
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    record = next(one for one in ours.records() if one.cell["method"] == "itq")
    edited(ours, "itq", metrics={**record.metrics, "map": 0.5})
    (clash,) = [one for one in merge(theirs, ours) if one.fate == "clash"]
    assert clash.key == record.key
    assert "MAP is 0.5 here and" in clash.reason
    stays = ours.read(record.key)
    assert stays is not None
    assert stays.metrics["map"] == 0.5


def test_a_failure_here_makes_way_and_a_failure_there_is_left(theirs: Store, ours: Store) -> None:
    record = next(one for one in theirs.records() if one.cell["method"] == "itq")
    ours.commit(replace(record, status="failed", metrics={}, payload=None))
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    path = theirs.cells / f"{record.key}.json"
    path.unlink()
    theirs.commit(replace(record, status="timeout", metrics={}, payload=None))
    assert fates([*merge(theirs, ours)]) == ["here already", "without a score"]
    still = ours.read(record.key)
    assert still is not None
    assert still.ok


def test_labels_come_from_here_or_are_told_to_be_theirs(
    theirs: Store, ours: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmark.execution.merging._at_hand", lambda *_: None)
    found = [*merge(theirs, ours)]
    assert fates(found) == ["taken", "taken"]
    assert {one.provenance["merged"]["labels"] for one in ours.records()} == {
        "as handed in: the data set is not at hand"
    }
    (ours.cells / f"{ours.keys()[0]}.json").unlink()
    assert fates([*merge(theirs, ours)]) == ["here already", "taken"]  # by labels that are here, and were handed in
    assert len({one.provenance["merged"]["labels"] for one in ours.records()}) == 1
    shutil.rmtree(theirs.datasets)
    found = [*merge(theirs, Store(ours.root.parent / "fourth"))]
    assert fates(found) == ["refused", "refused"]
    assert "neither here nor handed in" in found[0].reason
    assert not (ours.root.parent / "fourth" / "cells").exists()


def test_labels_that_were_edited_do_not_make_codes_better(theirs: Store, ours: Store) -> None:
    """The data set is at hand: theirs are not even looked at."""
    revision = next(theirs.records()).revision
    arrays = theirs.dataset(revision)
    shutil.rmtree(theirs.datasets)
    theirs.save_dataset(revision, {**arrays, "query_labels": arrays["query_labels"][::-1]})
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    assert np.array_equal(ours.dataset(revision)["query_labels"], arrays["query_labels"])


def test_killed_in_between_nothing_is_half_written(theirs: Store, ours: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(step: str) -> None:
        if step == "payload-renamed":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("benchmark.execution.store.commit_step", dies)
        with pytest.raises(KeyboardInterrupt):
            [*merge(theirs, ours)]
    assert ours.keys() == []
    ours.sweep()
    assert fates([*merge(theirs, ours)]) == ["taken", "taken"]
    assert not ours.verify().faults


@pytest.mark.parametrize(("name", "told"), [("nowhere", "does not exist"), (".", "holds no record")])
def test_what_is_no_results_folder(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        merge_folder(tmp_path / name)
