"""The command that makes the records of a leaderboard's row again, written from what they hold.

Settings that a run in an empty folder would choose by itself are left to it. All others are written out, for what chose
them may be gone: the winners of a results folder, a file, what an earlier version shipped. The codes come out the same
then, but not the key, which also covers where settings came from; that is said.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmark.execution.provenance import install_command
from benchmark.execution.record import Record
from benchmark.execution.tuned_settings import shipped, would_choose
from benchmark.program import typed
from benchmark.registry import datasets, methods, plugin_file

OTHER_KEY = "makes the same codes under another key, for a key covers where settings came from"


class Rerun(NamedTuple):
    """What to type, and what to know of it."""

    command: str
    note: str = ""
    install: str = ""  # before it


def rerun(records: Sequence[Record]) -> Rerun:
    """For records that differ in their seeds alone."""
    record = records[0]
    cell, asked = record.cell, record.asked
    if record.codes_only:
        return Rerun(f"the codes were made elsewhere: file them by {typed(['add-codes'])}")
    words = ["--datasets", str(asked.get("dataset") or cell["dataset"])]
    words += ["--methods", str(cell["method"]), "--bits", str(cell["bits"])]
    words += ["--seeds", *sorted({str(one.cell["seed"]) for one in records}, key=int)]
    told = str(asked.get("profile") or cell.get("profile") or "")
    profile = told.partition(" tuned by ")[0].removesuffix(" untuned")
    words += [*_plugin_words(record), *(["--profile", profile] if profile else []), *_data_words(record)]
    untuned = told.endswith(" untuned")
    same = untuned or (told == profile and would_choose([shipped()], record))
    settings = {**({} if same else cell.get("tuned") or {}), **(cell.get("params") or {})}
    words += ["--untuned"] if untuned or not same else []
    for name, value in settings.items():
        words += ["--set", f"{cell['method']}.{name}={_value(value)}"]
    return Rerun(typed(words), "" if same else OTHER_KEY, install_command(record.provenance))


def _plugin_words(record: Record) -> list[str]:
    """The files of its plugins: as recorded, or in records of earlier versions those of that name known here."""
    if "needs" in record.titles:
        files = record.titles.get("plugins", "").splitlines()
    else:
        kind = str(record.asked.get("dataset") or "").partition(":")[0]
        known = ((methods, str(record.cell["method"])), (datasets, kind))
        found = [plugin_file(kinds.get(name)) for kinds, name in known if name in kinds.names_unloaded()]
        files = [file for file in dict.fromkeys(found) if file]
    return ["--plugin", *files] if files else []


def _data_words(record: Record) -> list[str]:
    cell, asked = record.cell, record.asked
    words = ["--data-root", str(asked["data_root"])] if asked.get("data_root") else []
    words += ["--backbone", str(cell["backbone"])] if cell.get("backbone") else []
    words += ["--weights", str(asked["weights"])] if asked.get("weights") else []
    words += ["--partial-weights"] if asked.get("partial_weights") else []
    kind = str(asked.get("dataset") or "").partition(":")[0]
    for name, value in (asked.get("options") or {}).items():
        words += ["--option", f"{kind}.{name}={_value(value)}"]
    return words


def _value(value: Any) -> str:
    """A value as the command line reads it: JSON, or else text."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value)
