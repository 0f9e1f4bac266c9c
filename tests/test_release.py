"""What a release promises beside the code: exact versions of all dependencies, and one number everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmark import __version__

ROOT = Path(__file__).parents[1]


def _locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_the_lock_covers_every_dependency_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [Requirement(one) for one in (*project["dependencies"], *extras["dask"], *extras["search"])]
    locked = _locked()
    for one in wanted:
        name = canonicalize_name(one.name)
        assert name in locked, f"requirements.lock lacks {name}"
        assert one.specifier.contains(locked[name]), f"{name} {locked[name]} is outside of {one.specifier}"


def test_the_citation_names_this_version() -> None:
    found = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert found is not None
    assert found[1] == __version__
