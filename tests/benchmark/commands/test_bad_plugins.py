"""Bad plugins: files that are none, that cannot be imported, that register nonsense, or that misbehave in a run."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import benchmark
from tests.benchmark.commands.conftest import (
    APART_SECONDS,
    LONG,
    PROGRAM,
    Case,
    Place,
    Setup,
    bad,
    cases,
    fifo,
    fine,
    folder,
    link,
    run,
    text,
)

GOOD_METHOD = """
import numpy as np
from benchmark import register_method
@register_method({name!r}, title={title!r}, family={family!r})
class Method:
    def __init__(self, bits, seed=0): self.bits = bits
    def fit(self, train):
        {fit}
        return self
    def encode(self, split): return np.ones((len(split), self.bits), np.int8)
"""
DATASET = """
from benchmark import register_dataset
@register_dataset("mine", title="Mine")
class Mine:
    name = title = protocol = "mine"
    map_cutoff, miniature, backbone, revision = 10, False, None, "1"
    def __init__(self, argument=None, data_root=None): {init}
    def check(self): {check}
    def load(self): {load}
"""


def plugin(content: str | bytes, name: str = "m.py") -> Setup:
    return text(name, content)


def method(name: str = "mine", title: str = "Mine", family: str = "control", fit: str = "pass") -> Setup:
    return plugin(GOOD_METHOD.format(name=name, title=title, family=family, fit=fit))


def dataset(init: str = "pass", check: str = "pass", load: str = "raise ValueError('no rows today')") -> Setup:
    return plugin(DATASET.format(init=init, check=check, load=load))


PLUGINS = [
    *(bad(f"{command.split()[0]}: plugin that is not there", f"{command} --plugin absent.py", "absent.py")
      for command in ("run --dry-run", "list", "report", "audit coco", "why", "prepare coco", "tune")),
    bad("plugin without a value", "list --plugin", "--plugin"),
    bad("plugin that is a folder", "list --plugin m.py", "m.py", folder("m.py")),
    bad("plugin that is a pipe", "list --plugin m.py", "m.py", fifo("m.py")),
    bad("plugin below a file", "list --plugin x.npz/m.py", "m.py"),
    bad("plugin of 5,000 characters", ["list", "--plugin", LONG], "nnnnn"),
    bad("plugin that is a link to itself", "list --plugin loop.py", "loop.py", link("loop.py", "loop.py")),
    bad("plugin that is text", "list --plugin m.txt", "m.txt", plugin("hello", "m.txt")),
    *(bad(f"plugin: {name}", "list --plugin m.py", "m.py", plugin(content)) for name, content in {
        "a syntax error": "def f(:\n  pass",
        "an import that fails": "import no_such_module",
        "an error of two lines": "raise ValueError('one\\ntwo')",
        "an error without words": "raise ValueError",
        "an exit": "raise SystemExit(0)",
        "endless recursion": "def f(): return f()\nf()",
        "not UTF-8": b"x = '\xff'",
        "a zero byte": b"x = 1\0",
        "nothing registered": "x = 1",
        "no such argument": "from benchmark import register_method\n@register_method('a', colour=1)\nclass A: pass",
        "no name": "from benchmark import register_method\n@register_method()\nclass A: pass",
        "no class": "from benchmark import register_method\nregister_method('a', title='A', family='control')(5)",
    }.items()),
    bad("plugin: a name that is taken", "list --plugin m.py", "lsh", method("lsh"), apart=True),
    bad("plugin: an unknown family", "list --plugin m.py", "family", method(family="magic"), apart=True),
    *(bad(f"plugin: a method called {name!r}", "list --plugin m.py", "m.py", method(name), apart=True)
      for name in ("", "all", "two\nlines")),
    fine("plugin twice, with a hostile title", "list --plugin m.py m.py", "[/x] $y_{$", method(title="[/x] $y_{$"),
         apart=True),
    bad("plugin: a data set that cannot be built", run("--plugin m.py", datasets=["mine"]), "mine",
        dataset(init="raise ValueError('no luck')"), apart=True),
    bad("plugin: a data set whose check fails", run("--plugin m.py", datasets=["mine"]), "mine",
        dataset(check="raise KeyError('no luck')"), apart=True),
    bad("plugin: a data set that does not load", "audit mine --plugin m.py", "no rows today", dataset(), apart=True),
    *(bad(f"plugin: a data set that loads {name}", "audit mine --plugin m.py", "expected Splits", dataset(load=load),
          apart=True) for name, load in {"nothing": "pass", "a list": "return [1, 2, 3]"}.items()),
    *(fine(f"plugin: preparation names its cause, {name}",
           "run --plugin m.py --datasets mine --methods lsh --bits 8 --no-report", "no rows today", dataset(load=load),
           code=1, apart=True)
      for name, load in {"an exit": "raise SystemExit('no rows today')",
                         "an odd error": "raise type('Odd', (Exception,), {})('no rows today')"}.items()),
    fine("plugin: death by a signal without a name",
         "run --plugin m.py --datasets features:x.npz --methods mine --bits 8 --no-report", "signal 35",
         method(fit="import os; os.kill(os.getpid(), 35)"), code=1, apart=True),
    fine("check: a method that leaves in fit", "check m.py", "BROKEN", method(fit="import os; os._exit(0)"), code=1,
         apart=True),
]  # fmt: skip


@pytest.mark.parametrize("case", cases(PLUGINS))
def test_bad_plugins_are_told_in_a_line_or_understood(case: Case, tell: Callable[[Case], None]) -> None:
    tell(case)


NAMED = """
import numpy as np
from benchmark import Split, Splits, register_dataset
@register_dataset("mine", title="Mine")
class Mine:
    name, title, protocol, revision = "[/x]", "Mine", "mine", "1"
    map_cutoff, miniature, backbone = 10, False, None
    def __init__(self, argument=None, data_root=None): pass
    def check(self): pass
    def load(self):
        rows = np.random.default_rng(0).standard_normal((18, 4)).astype("f4")
        splits = [Split(features=rows[part::3], labels=np.arange(6) % 2) for part in range(3)]
        return Splits(*splits)
"""


@pytest.mark.slow
def test_a_label_on_a_terminal_is_text(place: Place) -> None:
    """Bars read [...] as markup; a data set may be called so."""
    plugin(NAMED)(place)
    root = str(Path(str(benchmark.__file__)).parents[1])
    ours, theirs = pty.openpty()
    words = ["run", "--plugin", "m.py", "--datasets", "mine", "--methods", "lsh", "--bits", "8", "--no-report"]
    env = {**os.environ, "PYTHONPATH": root, "TERM": "xterm", "COLUMNS": "200"}
    child = subprocess.Popen([*PROGRAM, *words], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown, end = b"", time.monotonic() + APART_SECONDS
    with contextlib.suppress(OSError):  # the terminal's end is an error here
        while time.monotonic() < end and (data := os.read(ours, 65536)):
            shown += data
    os.close(ours)
    assert child.wait(timeout=APART_SECONDS) == 0, shown.decode()
    assert b"lsh [/x] 8 bits" in shown
    assert b"Traceback" not in shown
