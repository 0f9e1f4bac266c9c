"""Where a number was made: versions, machine, threads, git state, time. Recorded and compared, never hashed."""

from __future__ import annotations

import datetime
import functools
import os
import platform
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

GROUPS = ("hashbench.methods", "hashbench.datasets")
PACKAGES = ("hashbench", "numpy", "scipy", "scikit-learn", "torch", "torchvision", "numba")


@functools.cache
def versions() -> dict[str, str]:
    """Of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


@functools.cache
def git_state() -> dict[str, Any]:
    """Commit of the checkout and whether it has changes; empty outside a checkout."""
    folder = Path(__file__).parent.parent.parent
    if not (folder / ".git").exists():
        return {}

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return {"commit": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "-uno"))}


@functools.cache
def machine() -> dict[str, Any]:
    """Processor, cores, memory: what timings depend on."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        models = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return {"system": platform.system(), "processor": name, "cores": os.cpu_count(), "memory": _memory()}


def _memory() -> int:
    """Bytes that the machine has; not every system gives them by sysconf."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        import psutil

        return int(psutil.virtual_memory().total)


def packages(entries: Iterable[str]) -> dict[str, str]:
    """Name -> version of the installed packages that brought these plugins, given as `module:object`."""
    roots = {entry.partition(":")[0].partition(".")[0] for entry in entries}
    known = [one for group in GROUPS for one in entry_points(group=group) if one.dist is not None] if roots else []
    return {one.dist.name: one.dist.version for one in known if one.dist and one.module.partition(".")[0] in roots}


def install_command(made: Mapping[str, Any]) -> str:
    """What installs the packages that brought a record's plugins, in the versions of then; empty where none did."""
    found = made.get("packages")
    named = [f"{name}=={version}" for name, version in found.items()] if isinstance(found, Mapping) else []
    return shlex.join(["pip", "install", *named]) if named else ""


def provenance(threads: int, entries: Iterable[str] = ()) -> dict[str, Any]:
    """All of it, for one record; `entries` are the plugins of its cell that came with packages."""
    found = packages(entries)
    return {
        "versions": versions(),
        **({"packages": found} if found else {}),
        "machine": machine(),
        "threads": threads,
        "git": git_state(),
        "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def peak_memory() -> int:
    """The most bytes this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
