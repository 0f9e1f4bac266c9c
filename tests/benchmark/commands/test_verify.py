"""`verify`: every stored file against its hash."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.execution import store as store_module
from benchmark.execution.store import Store
from benchmark.program import typed
from tests.benchmark.commands.conftest import PICTURES, Place


def test_verify_finds_a_flipped_bit(command: Callable[..., Any], tmp_path: Path, own_features: Path) -> None:
    command("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--no-report")
    assert command("verify")[0] == 0
    record = next((tmp_path / "results" / "cells").glob("*.json"))
    content = json.loads(record.read_text())
    content["metrics"]["map"] = 1.0
    record.write_text(json.dumps(content))
    code, out, _ = command("verify")
    assert code == 1
    assert "damaged" in out


def test_what_another_version_wrote_is_not_called_sound_and_left(
    command: Callable[..., Any], tmp_path: Path, own_features: Path
) -> None:
    """E: a sealed record with a newer schema."""
    command("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "16", "--no-report")
    record = next(Store("results").records())
    path = tmp_path / "results" / "cells" / f"{record.key}.json"
    path.write_bytes(store_module._sealed(record.as_dict() | {"schema": 99}))
    code, out, _ = command("verify")
    assert code == 1
    assert "schema 99 is newer" in out
    assert "1 sound record, 1 damaged: 1 left in place" in out
    assert path.is_file()


def test_a_damaged_model_is_kept_again_and_a_damaged_record_run_again(
    command: Callable[..., Any], tmp_path: Path, own_features: Path
) -> None:
    words = ("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "16", "--no-report", "--jobs", "1")
    command(*words, "--keep-models")
    first, second = sorted((tmp_path / "results" / "models").iterdir())
    first.write_bytes(b"x")
    key = first.name[:12]
    code, out, _ = command("verify", "--keep")
    assert (code, "2 sound records, 1 damaged: 1 left in place" in out) == (1, True)
    assert command("keep", key)[0] == 0  # though a file of its name is there
    assert command("verify")[0] == 0
    next((tmp_path / "results" / "models").glob(f"{key}*")).write_bytes(b"x")
    (tmp_path / "results" / "cells" / f"{second.name[:64]}.json").write_bytes(b"x")
    code, out, _ = command("verify")
    assert code == 1
    assert "2 damaged: 2 set aside in quarantine/ (run again to recompute 1 of them, which are records)" in out
    assert f"their models are kept again by: {typed(['keep', key, '--results', 'results'])}" in out
    assert command("keep", key)[0] == 0
    assert command("verify")[1] == "1 sound record\n"


@pytest.mark.parametrize("cache", [[], ["--cache"]])
def test_a_folder_that_is_not_there(
    command: Callable[..., Any], cache: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E: verify of nothing is no pass; with --cache alone there is something to verify."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    code, out, err = command("verify", "--results", "nowhere", *cache)
    assert code == (0 if cache else 2)
    assert ("cache: sound" in out) is bool(cache)
    assert ("nowhere does not exist" in err) is not bool(cache)


def test_rot_in_the_cache_is_found(command: Callable[..., Any], place: Place) -> None:
    """A6: what is remembered of images is read and compared by `verify --cache`."""
    PICTURES(place)
    words = ("audit", f"folder:{place.folder / 'd'}")
    for path in (*place.folder.rglob("*"), place.folder):
        os.utime(path, (1e9, 1e9))
    assert command(*words)[0] == 0
    notes = list(place.cache.rglob("*.note"))
    assert notes
    for path in notes:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    code, out, _ = command("verify", "--cache", "--results", "nowhere")
    assert (code, "damaged" in out) == (1, True)
    assert command("verify", "--cache", "--results", "nowhere")[0] == 0
