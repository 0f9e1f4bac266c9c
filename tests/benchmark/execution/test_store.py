"""The store: what is committed comes back, a changed bit is noticed, and a failing disk leaves what was there."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchmark import UsageError
from benchmark.execution import store as store_module
from benchmark.execution.record import SCHEMA_VERSION, Record
from benchmark.execution.store import Damaged, Foreign, Store

HISTORY = Path(__file__).parents[2] / "history"
STEPS = [f"{what}-{step}" for what in ("payload", "record") for step in ("opened", "written", "synced", "renamed")]
KEY = "a" * 64


def record(status: Any = "ok", key: str = KEY, **more: Any) -> Record:
    cell = {"method": "lsh", "dataset": "tiny", "bits": 8, "seed": 0}
    return Record(key, cell, {"dataset": {"revision": "r"}}, status, **({"metrics": {"map": 1e-05}} | more))


def arrays(value: int = 1) -> dict[str, np.ndarray]:
    return {"ap": np.full(5, value / 3), "codes": np.arange(7, dtype=np.uint8)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_what_is_committed_comes_back(store: Store) -> None:
    store.commit(record(), arrays())
    found = store.read(KEY)
    assert found is not None
    assert replace(found, payload=None) == record()
    assert found.schema == SCHEMA_VERSION
    assert same(store.payload(found), arrays())
    assert store.keys() == [KEY]
    assert store.verify().faults == []


def test_a_log_is_ended_by_what_is_added(store: Store) -> None:
    assert not store.has_log(KEY)
    store.log_path(KEY).write_text("printed\n")
    store.end_log(KEY, "é \udc80\n")
    assert store.has_log(KEY)
    assert store.log_path(KEY).read_text(encoding="utf-8") == "printed\né \\udc80\n"


def test_the_page_in_the_folder_names_every_folder_that_is_made_there() -> None:
    made = set(re.findall(r'root / "(\w+)"', Path(store_module.__file__).read_text(encoding="utf-8")))
    page = (HISTORY.parents[1] / "results" / "README.md").read_text(encoding="utf-8")
    assert {"models", "quarantine"} < made
    assert not {name for name in made if f"`{name}/`" not in page}


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert store.keys() == []
    assert store.read(KEY) is None
    assert list(store.records()) == []
    store.sweep()
    assert not store.root.exists()


@settings(max_examples=20)
@given(hnp.arrays(st.sampled_from([np.uint8, np.int32, np.float64, np.bool_]), hnp.array_shapes(max_dims=2)))
def test_any_array_comes_back_exactly(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    store.commit(record(), {"x": array})
    found = store.read(KEY)
    assert found is not None
    back = store.payload(found)["x"]
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


def test_a_failure_never_overwrites_a_success(store: Store) -> None:
    store.commit(record("failed"))
    store.commit(record(), arrays())
    store.commit(record("timeout"))
    found = store.read(KEY)
    assert found is not None
    assert found.status == "ok"
    assert same(store.payload(found), arrays())


def test_a_new_result_takes_the_place_of_the_old_and_of_its_payload(store: Store) -> None:
    store.commit(record(), arrays(1))
    store.commit(record(), arrays(2))
    found = store.read(KEY)
    assert found is not None
    assert same(store.payload(found), arrays(2))
    assert len(list(store.cells.iterdir())) == 2


def test_a_changed_bit_of_a_record_is_noticed(store: Store) -> None:
    """Also those that change no value: 1e-05 and 1E-05 are one bit apart."""
    store.commit(record(), arrays())
    path = store.cells / f"{KEY}.json"
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b"1e-05", b"1E-05"))
    with pytest.raises(Damaged):
        store.read(KEY)
    for position in range(0, len(sound) * 8, 7):  # 7 bits on: every byte, and each bit of it in turn
        damaged = bytearray(sound)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(Damaged):
            store.read(KEY)


def test_a_changed_bit_of_a_payload_is_noticed(store: Store) -> None:
    store.commit(record(), arrays())
    found = store.read(KEY)
    assert found is not None
    path = store.cells / found.payload["file"]
    sound = path.read_bytes()
    for position in range(0, len(sound) * 8, 37):
        damaged = bytearray(sound)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(Damaged):
            store.payload(found)


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_a_record_cut_short_is_noticed(store: Store, cut: int) -> None:
    store.commit(record(), arrays())
    path = store.cells / f"{KEY}.json"
    path.write_bytes(path.read_bytes()[:cut])
    assert len(store.verify().faults) == 1


def test_a_record_under_another_name_is_noticed(store: Store) -> None:
    store.commit(record(), arrays())
    (store.cells / f"{KEY}.json").rename(store.cells / f"{'b' * 64}.json")
    with pytest.raises(Damaged, match="is not that of this key"):
        store.read("b" * 64)


def test_verify_sets_damage_aside(store: Store) -> None:
    for key in ("a" * 64, "b" * 64, "c" * 64):
        store.commit(record(key=key), arrays())
    store.save_dataset("revision", arrays())
    flip(store.cells / f"{'a' * 64}.json")
    flip(next(store.cells.glob(f"{'b' * 64}.*.npz")))
    flip(next(store.datasets.glob("*.npz")))
    assert len(store.verify(quarantine=False).faults) == 3
    assert len(store.verify().faults) == 3
    assert store.keys() == ["c" * 64]
    assert not store.has_dataset("revision")
    assert len(list((store.root / "quarantine").iterdir())) == 6
    assert store.verify().faults == []


@pytest.mark.parametrize("closed", ["quarantine", "locks"])
def test_verify_names_damage_that_it_may_not_touch(store: Store, closed: str) -> None:
    """E: in results that are somebody else's, or on a disk that is read only, it broke off at the first."""
    for key in ("a" * 64, "b" * 64):
        store.commit(record(key=key), arrays())
        flip(store.cells / f"{key}.json")
    shutil.rmtree(store.root / closed, ignore_errors=True)
    (store.root / closed).write_text("a file, so that nothing can be made in it, whoever we are")
    found = store.verify(quarantine=closed == "quarantine")
    assert (found.sound, len(found.faults), found.left, found.again) == (0, 2, 2, 0)
    assert len(list(store.cells.glob("*.json"))) == 2


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_a_data_set_is_kept_once(store: Store) -> None:
    assert not store.has_dataset("revision")
    store.save_dataset("revision", arrays(1))
    store.save_dataset("revision", arrays(2))
    assert store.has_dataset("revision")
    assert same(store.dataset("revision"), arrays(1))
    with pytest.raises(FileNotFoundError, match="another"):
        store.dataset("another")


def failing(step: str, number: int) -> Callable[[str], None]:
    def fail(name: str) -> None:
        if name == step:
            raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("step", STEPS)
def test_a_failing_disk_leaves_the_old_or_the_new(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    store.commit(record(), arrays(1))
    monkeypatch.setattr(store_module, "commit_step", failing(step, number))
    with pytest.raises(OSError, match=os.strerror(number)):
        store.commit(record(), arrays(2))
    monkeypatch.undo()
    found = store.read(KEY)
    assert found is not None
    assert same(store.payload(found), arrays(2 if step == "record-renamed" else 1))
    assert store.verify().faults == []
    store.sweep()
    assert len(list(store.cells.iterdir())) == 2
    store.commit(record(), arrays(3))
    found = store.read(KEY)
    assert found is not None
    assert same(store.payload(found), arrays(3))


def test_a_record_that_is_no_plain_data_writes_nothing(store: Store) -> None:
    for bad in (float("nan"), object()):
        with pytest.raises((TypeError, ValueError)):
            store.commit(record(extra=bad), arrays())
    assert not store.cells.exists()


def hold(root: str, ready: Any) -> None:
    with Store(root).lock(KEY) as mine:
        ready.send(mine)
        ready.recv()


def test_a_lock_excludes_other_processes_and_is_freed_by_death(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with store.lock(KEY) as mine:
        assert mine
        with store.lock(KEY) as again:
            assert not again
    holder = context.Process(target=hold, args=(str(store.root), theirs))
    holder.start()
    assert ours.recv() is True
    with store.lock(KEY) as mine:
        assert not mine
    holder.kill()
    holder.join()
    assert (store.root / "locks" / f"{KEY}.lock").exists()
    with store.lock(KEY) as mine:
        assert mine
    assert not list((store.root / "locks").iterdir())


def test_sweep_removes_what_deaths_have_left_and_nothing_else(store: Store) -> None:
    store.commit(record(), arrays())
    store.save_dataset("revision", arrays())
    sound = sorted(path for path in store.root.rglob("*") if path.is_file())
    other = "b" * 64
    litter = [store.cells / f".{KEY}.json.tmp", store.cells / f"{other}.0123.npz", store.cells / f"{KEY}.0123.npz"]
    litter += [store.datasets / ".0123.json.tmp", store.root / "locks" / f"{other}.lock"]
    for path in litter:
        path.write_bytes(b"x")
    store.sweep()
    assert sorted(path for path in store.root.rglob("*") if path.is_file()) == sound


def test_sweep_leaves_cells_in_flight_alone(store: Store) -> None:
    store.cells.mkdir(parents=True)
    with store.lock(KEY):
        (store.cells / f".{KEY}.json.tmp").write_bytes(b"x")
        (store.cells / f"{KEY}.0123.npz").write_bytes(b"x")
        store.sweep()
        assert len(list(store.cells.iterdir())) == 2
        assert len(list((store.root / "locks").iterdir())) == 1


@pytest.mark.parametrize("folder", sorted(HISTORY.glob("schema*")), ids=lambda folder: folder.name)
def test_results_of_every_schema_ever_written_still_load(folder: Path) -> None:
    """Each folder is a results folder as its version wrote it; they are kept for ever."""
    store = Store(folder)
    records = list(store.records())
    assert records
    assert store.verify(quarantine=False).faults == []
    for found in records:
        assert found.schema == int(folder.name.removeprefix("schema"))
        assert 0 <= found.metrics["map"] <= 1
        assert {"query_codes", "database_codes", "ap"} <= store.payload(found).keys()
        assert {"query_labels", "database_labels"} <= store.dataset(found.revision).keys()


def test_there_is_a_history_of_this_schema() -> None:
    assert (HISTORY / f"schema{SCHEMA_VERSION}").is_dir()


@pytest.mark.parametrize(
    ("status", "kind", "kept"),
    [
        ("interrupted", "interrupted", True),
        ("timeout", "timeout", True),
        ("oom", "memory", True),
        ("failed", "crash", True),
        ("failed", "training", False),
        ("ok", "", False),
        ("skipped", "skipped", False),
    ],
)
def test_a_snapshot_outlives_what_cut_its_training_off(store: Store, status: str, kind: str, kept: bool) -> None:
    """B12: Ctrl-C, SIGTERM and --timeout keep what kill -9 keeps."""
    path = store.checkpoint_path(KEY)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"snapshot")
    store.commit(record(status, error={"kind": kind, "message": "", "traceback": ""}))
    assert path.exists() == kept


def test_half_written_snapshots_are_swept_and_whole_ones_are_not(store: Store) -> None:
    """B12: what a death left in checkpoints/ does not stay for ever; a cell in flight keeps its own."""
    folder = store.checkpoint_path(KEY).parent
    folder.mkdir(parents=True)
    other = "b" * 64
    for name in (f"{KEY}.pt", f".{KEY}.abc.pt", f".{other}.abc.pt"):
        (folder / name).write_bytes(b"x")
    with store.lock(other):
        store.sweep()
        assert {path.name for path in folder.iterdir()} == {f"{KEY}.pt", f".{other}.abc.pt"}
    store.sweep()
    assert {path.name for path in folder.iterdir()} == {f"{KEY}.pt"}


@pytest.mark.parametrize("place", ["record", "payload"])
def test_a_pipe_in_the_place_of_a_file_is_damage_and_no_wait(store: Store, place: str) -> None:
    """D: a FIFO named like a record."""
    store.commit(record(), arrays())
    path = next(store.cells.glob("*.json" if place == "record" else "*.npz"))
    path.unlink()
    os.mkfifo(path)
    assert len(store.verify(quarantine=False).faults) == 1
    assert len(list(store.records())) == (place == "payload")


@pytest.mark.parametrize(
    ("change", "word"),
    [({"schema": 99}, "newer"), ({"schema": None}, "schema"), ({"cell": {}}, "cell"), ({"parts": {}}, "revision"),
     ({"status": "fine"}, "status"), ({"metrics": {}}, "MAP"), ({"metrics": "good"}, "its metrics is 'good'"),
     ({"cell": {"method": "m", "dataset": "d", "bits": "many", "seed": 0}}, "bits"),
     ({"payload": "hello"}, "payload"), ({"payload": {"file": "../x", "sha256": "", "bytes": 1}}, "payload")],
)  # fmt: skip
def test_a_sealed_record_that_we_cannot_use_is_named_and_left(store: Store, change: Any, word: str) -> None:
    """E: missing fields or a newer schema; not damage, so it is not set aside."""
    raw = record().as_dict() | change
    store.cells.mkdir(parents=True)
    (store.cells / f"{KEY}.json").write_bytes(store_module._sealed(raw))
    assert list(store.records()) == []
    found = store.verify()
    assert (found.sound, found.left) == (0, 1)
    assert word in found.faults[0]
    assert store.keys() == [KEY]


@pytest.mark.parametrize("place", ["file", "file/below", "loop", "pipe", "n" * 5000, "taken"])
def test_a_results_folder_that_is_none_is_told(tmp_path: Path, place: str) -> None:
    """E: a file where a folder is meant, and the like."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "cells").write_text("x")
    with pytest.raises(UsageError, match=f"results folder .*{place[:9]}"):
        Store(tmp_path / place).keys()


@pytest.mark.parametrize("kind", ["pipe", "folder", "no json", "no winners", "loop"])
def test_winners_that_cannot_be_read_are_told_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    """D: every plan reads them, so a pipe of that name would hang every command."""
    path = tmp_path / "winners.json"
    make = {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "no json": lambda: path.write_text("{"),
        "no winners": lambda: path.write_text("{}"),
        "loop": lambda: path.symlink_to(path.name),
    }
    make[kind]()
    if kind == "loop":  # leads nowhere: there is nothing tuned
        assert Store(tmp_path).tuned().winners == ()
        return
    with pytest.raises(UsageError, match=r"winners\.json: damaged .*; delete it and tune again"):
        Store(tmp_path).tuned()


# Models


def model_files(store: Store) -> list[str]:
    return sorted(path.name for path in store.models.glob("*")) if store.models.exists() else []


def test_a_model_comes_back_and_a_new_one_takes_its_place(store: Store) -> None:
    store.commit(record(), arrays(), b"first")
    found = store.read(KEY)
    assert found is not None
    assert store.has_model(found)
    assert store.model(found) == b"first"
    store.commit(record(), arrays(), b"second")
    assert store.model(store.read(KEY)) == b"second"  # type: ignore[arg-type]
    assert len(model_files(store)) == 1


def test_a_model_stays_with_the_same_arrays_and_goes_with_others(store: Store) -> None:
    store.commit(record(), arrays(), b"model")
    store.commit(record(), arrays())
    assert store.model(store.read(KEY)) == b"model"  # type: ignore[arg-type]
    store.commit(record(), arrays(2))
    assert store.read(KEY).model is None  # type: ignore[union-attr]
    assert model_files(store) == []


@pytest.mark.parametrize("step", [f"model-{step}" for step in ("opened", "written", "synced", "renamed")] + STEPS)
def test_a_death_while_a_model_is_kept_leaves_the_old_or_the_new(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store.commit(record(), arrays(), b"old")

    def die(name: str) -> None:
        if name == step:
            raise KeyboardInterrupt

    monkeypatch.setattr(store_module, "commit_step", die)
    with pytest.raises(KeyboardInterrupt):
        store.commit(record(), arrays(2), b"new")
    monkeypatch.undo()
    found = store.read(KEY)
    assert found is not None
    assert (store.model(found), store.payload(found)["ap"][0]) in ((b"old", 1 / 3), (b"new", 2 / 3))
    store.sweep()
    assert store.model(found) in (b"old", b"new")
    assert len(model_files(store)) == 1
    assert store.verify().faults == []


def test_a_damaged_model_is_set_aside_and_its_record_stays(store: Store) -> None:
    store.commit(record(), arrays(), b"model")
    (name,) = model_files(store)
    (store.models / name).write_bytes(b"m0del")
    assert store.verify(quarantine=False).left == 1
    found = store.verify()
    assert (found.sound, found.left, len(found.faults)) == (1, 0, 1)
    assert "models/" in found.faults[0]
    assert (found.again, found.models) == (0, [KEY])
    assert store.read(KEY) is not None
    assert model_files(store) == []
    assert store.verify().faults == []


@pytest.mark.parametrize(("fault", "left"), [(Damaged, 0), (Foreign, 1)])
def test_a_model_that_cannot_be_read_is_not_sound(store: Store, fault: type[Damaged], left: int) -> None:
    def check(found: Record) -> None:
        raise fault(found.key)

    store.commit(record(), arrays(), b"model")
    found = store.verify(check_model=check)
    assert (found.left, found.models, found.faults) == (left, [KEY], [f"models/{KEY}: {KEY}"])
    assert len(model_files(store)) == left


def test_a_record_that_is_no_plain_data_writes_no_model_either(store: Store) -> None:
    with pytest.raises(ValueError):
        store.commit(record(metrics={"map": float("nan")}), arrays(), b"model")
    assert model_files(store) == []


def test_models_without_a_record_are_swept_and_those_of_cells_in_flight_are_not(store: Store) -> None:
    store.commit(record(), arrays(), b"model")
    kept = model_files(store)
    for name in (f"{'b' * 64}.0.npz", f".{KEY}.1.npz.tmp", f"{KEY}.2.npz"):
        (store.models / name).write_bytes(b"left")
    with store.lock("b" * 64):
        store.sweep()
        assert model_files(store) == sorted([*kept, f"{'b' * 64}.0.npz"])
    store.sweep()
    assert model_files(store) == kept
