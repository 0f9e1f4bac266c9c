"""What could go, in which order, and that nothing else goes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.execution.pruning import Droppable, chosen_to_go, droppable, weighed
from benchmark.execution.record import Record

DAY = 86400.0


def things(*sizes_and_days: tuple[int, float]) -> list[Droppable]:
    now = time.time()
    return [Droppable("models", str(size), size, now - days * DAY, lambda: True) for size, days in sizes_and_days]


def test_age_and_size_choose_the_oldest_first() -> None:
    found = things((5, 40), (3, 31), (2, 1))
    assert [one.bytes for one in chosen_to_go(found)] == [5, 3, 2]
    assert [one.bytes for one in chosen_to_go(found, older_than=30 * DAY)] == [5, 3]
    assert [one.bytes for one in chosen_to_go(found, keep_under=5)] == [5]
    assert [one.bytes for one in chosen_to_go(found, keep_under=100)] == []
    assert [one.bytes for one in chosen_to_go(found, older_than=35 * DAY, keep_under=0)] == [5]


@pytest.fixture
def filled(synthetic: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Three good cells of which two have models and one is stale, one that failed, and two tables of features."""
    made = {name: synthetic.cell(name, "nus-mini", 16) for name in ("itq", "lsh", "dph")}
    for name in ("itq", "dph"):
        synthetic.store.commit(made[name], synthetic.store.payload(made[name]), name.encode() * 100)
    failed = synthetic.cell("sdh", "nus-mini", 16, status="failed", metrics={}, error={"message": "no"})
    monkeypatch.setattr("benchmark.execution.pruning.stale_keys", lambda store: {made["dph"].key})
    for name, files in (("one", ("features.npy", "features.note")), ("foreign", ("features.npy", "thesis.doc"))):
        (tmp_path / "cache" / "features" / name).mkdir(parents=True)
        for file in files:
            (tmp_path / "cache" / "features" / name / file).write_bytes(b"x" * 50)
    return synthetic.store, {**made, "sdh": failed}, tmp_path / "cache"


def dropped(filled: Any, *kinds: str) -> list[str]:
    store, _, cache = filled
    found = droppable(store, kinds, cache)
    assert all(one.drop() for one in found)
    return sorted(one.what for one in found)


def left(store: Any) -> set[str]:
    return {record.cell["method"] for record in store.records()}


def test_models_go_and_their_records_stay_whole(filled: Any) -> None:
    store, made, _ = filled
    assert dropped(filled, "models") == ["model of dph nus-mini 16 bits seed 0", "model of itq nus-mini 16 bits seed 0"]
    assert left(store) == {"itq", "lsh", "dph", "sdh"}
    assert not store.has_model(made["itq"])
    assert not store.verify().faults


def test_stale_and_failed_records_go_with_all_their_files(filled: Any) -> None:
    store, made, _ = filled
    assert len(dropped(filled, "stale", "failed")) == 2
    assert left(store) == {"itq", "lsh"}
    keys = {made["dph"].key, made["sdh"].key}
    assert not [file for file in store.root.rglob("*") if file.name.partition(".")[0] in keys]
    assert store.has_model(made["itq"])


def test_tables_of_features_and_codes_of_folders_go_and_nothing_that_is_not_ours(filled: Any) -> None:
    _, _, cache = filled
    note = cache / "codes" / f"{'ab' * 16}.note"
    note.parent.mkdir()
    note.write_bytes(b"x")
    assert dropped(filled, "caches") == ["codes of a folder abababababab", "features one"]
    assert not note.exists()
    assert sorted(path.name for path in (cache / "features").iterdir()) == ["foreign"]


def test_what_a_run_holds_stays(filled: Any) -> None:
    store, made, cache = filled
    (one,) = droppable(store, ["failed"], cache)
    with store.lock(made["sdh"].key):
        assert not one.drop()
    assert "sdh" in left(store)


def test_everything_is_weighed_by_kind(filled: Any) -> None:
    store, _, cache = filled
    found = weighed(store, cache)
    assert found["records"][0] == 4
    assert found["models"] == (2, 600)
    assert found["of these stale"][0] == 1
    assert found["cache: features"][1] == 200
    on_disk = sum(file.stat().st_size for file in store.cells.iterdir())
    assert found["records"][1] + found["arrays"][1] == on_disk


def test_age_is_that_of_the_record(filled: Any) -> None:
    store, made, cache = filled
    old = time.time() - 50 * DAY
    os.utime(store.cells / f"{made['itq'].key}.json", (old, old))
    (one,) = chosen_to_go(droppable(store, ["models"], cache), older_than=30 * DAY)
    assert one.what.startswith("model of itq")
    assert isinstance(made["itq"], Record)
