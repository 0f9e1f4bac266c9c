"""Where a number was made: true of this machine, plain data, and never hashed."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.execution import provenance as module
from benchmark.execution.provenance import (
    git_state,
    install_command,
    machine,
    packages,
    peak_memory,
    provenance,
    versions,
)


def test_it_is_plain_data_with_the_threads_that_were_given() -> None:
    found = provenance(threads=3)
    assert json.loads(json.dumps(found)) == found
    assert found["threads"] == 3
    ended = datetime.datetime.fromisoformat(found["ended"])
    assert abs(datetime.datetime.now(datetime.UTC) - ended) < datetime.timedelta(minutes=1)


def test_versions_are_those_that_run() -> None:
    found = versions()
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["numpy"] == np.__version__


def test_a_package_that_is_not_there_is_called_absent(monkeypatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("numpy", "no-such-package"))
    versions.cache_clear()
    try:
        assert versions()["no-such-package"] == "absent"
    finally:
        versions.cache_clear()


@pytest.fixture
def bouncing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as pip leaves it: its modules, and beside them what it is."""
    told = {"METADATA": "Metadata-Version: 2.1\nName: bouncing-pack\nVersion: 0.3.1\n",
            "entry_points.txt": "[hashbench.methods]\nbounce = bouncing.method:Bounce\n"}  # fmt: skip
    (tmp_path / "bouncing_pack-0.3.1.dist-info").mkdir()
    for name, text in told.items():
        (tmp_path / "bouncing_pack-0.3.1.dist-info" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_package_of_a_plugin_is_told_with_its_version(bouncing: Path) -> None:
    """By the package of its class, which another module of it may hold; of other packages nothing is said."""
    assert packages(["bouncing.inner.classes:Bounce"]) == {"bouncing-pack": "0.3.1"}
    assert packages([]) == packages(["bounce.method:Bounce"]) == {}
    assert provenance(1, ["bouncing.method:Bounce"])["packages"] == {"bouncing-pack": "0.3.1"}
    assert "packages" not in provenance(1)


@pytest.mark.parametrize(
    ("made", "command"),
    [
        ({"packages": {"bouncing-pack": "0.3.1", "x": "2; rm -r"}}, "pip install bouncing-pack==0.3.1 'x==2; rm -r'"),
        ({"packages": {}}, ""),
        ({"packages": "edited"}, ""),
        ({}, ""),
    ],
)
def test_how_to_install_it_again(made: dict[str, Any], command: str) -> None:
    assert install_command(made) == command


def test_the_commit_is_the_one_of_the_checkout_and_none_outside(tmp_path: Path, monkeypatch) -> None:
    root = Path(module.__file__).parents[2]
    git_state.cache_clear()
    try:
        if (root / ".git").exists():
            told = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
            assert git_state()["commit"] == told.stdout.strip()
            git_state.cache_clear()
        monkeypatch.setattr(module, "__file__", str(tmp_path / "a" / "b" / "c.py"))
        assert git_state() == {}
    finally:
        git_state.cache_clear()


def test_memory_is_in_bytes_and_never_falls() -> None:
    before = peak_memory()
    held = np.ones(8 << 20)  # 64 MB
    assert peak_memory() >= max(before, held.nbytes)
    assert peak_memory() < machine()["memory"]


def test_the_machines_memory_is_found_where_sysconf_does_not_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmark.execution import provenance

    exact, known = provenance._memory(), os.sysconf

    def without_pages(name: str) -> int:
        if name == "SC_PHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return known(name)

    monkeypatch.setattr("os.sysconf", without_pages)
    assert provenance._memory() == pytest.approx(exact, rel=0.01)
