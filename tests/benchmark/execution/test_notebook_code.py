"""A class typed into a notebook is known by what it does, and by all it uses: one thing is edited at a time."""

import sys
from subprocess import run

import pytest

from benchmark.execution.fingerprint import plugin_sources
from benchmark.execution.notebook_code import notebook_code
from benchmark.registry import methods

TYPED = '''
import functools
import numpy as np
from benchmark import parameter, register_method
from benchmark.shallow import ProjectionMethod

SCALE = 2.0
ORDER = [1, 2]
SETTINGS = {"shift": 0.5, "kinds": {"a", "b"}}
WEIGHTS = np.array([1.0, 2.0])

class Settings:
    def __init__(self, power):
        self.power = power

SETTING = Settings(3)

def helper(x, factor=7):
    """Doc."""
    return x * SCALE * factor

def made(offset):
    def inner(x):
        return x + offset
    return inner

ENCLOSED = made(11)
BOUND = functools.partial(pow, 13)

class Above:
    def above(self):
        return [(lambda: SETTING.power + i)() for i in range(5) if i in {"x", "y", "z"}]

@register_method("test-typed", title="Typed")
class Typed(Above):
    """Doc."""
    power: float = parameter(2.0, doc="of x")

    @property
    def half(self):
        return self.bits / 17

    @classmethod
    def named(cls):
        return 19

    @staticmethod
    def unsupported(train, bits):
        return "no" if bits > 23 else None

    def fit(self, train):
        self.rows = [helper(x) for x in ORDER], SETTINGS["shift"], WEIGHTS, ENCLOSED(1), BOUND(2)

    def encode(self, split):
        return np.ones((len(split), self.bits), np.int8)
'''


def typed(text: str) -> type:
    namespace = {"__name__": "__main__"}
    exec(text, namespace)
    methods._plugins.pop("test-typed")
    return namespace["Typed"]


EDITS = {
    "constant": ("SCALE = 2.0", "SCALE = 3.0"),
    "order of a list": ("[1, 2]", "[2, 1]"),
    "value in a dict": ('"shift": 0.5', '"shift": 0.6'),
    "set in a dict": ('{"a", "b"}', '{"a", "c"}'),
    "array": ("[1.0, 2.0]", "[1.0, 2.5]"),
    "instance of a typed class": ("Settings(3)", "Settings(4)"),
    "class of an instance": ("self.power = power", "self.power = -power"),
    "helper": ("x * SCALE", "x + SCALE"),
    "default of a helper": ("factor=7", "factor=8"),
    "what a function encloses": ("made(11)", "made(12)"),
    "bound argument": ("pow, 13", "pow, 14"),
    "base class": ("range(5)", "range(6)"),
    "function two levels down": ("SETTING.power + i", "SETTING.power - i"),
    "property": ("self.bits / 17", "self.bits / 18"),
    "class method": ("return 19", "return 20"),
    "constant that stands elsewhere, too": ("return 19", "return 23"),
    "what is declined": ("bits > 23", "bits > 24"),
    "default of a parameter": ("parameter(2.0", "parameter(3.0"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_anything_it_uses_changes_its_hash(name):
    old, new = EDITS[name]
    assert old in TYPED
    assert notebook_code(typed(TYPED)).hash != notebook_code(typed(TYPED.replace(old, new))).hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ('"""Doc."""', '"""Other."""'),
        ('    """Doc."""\n', ""),
        ("def made(offset):", 'def made(offset):\n    """Why."""'),
        ("def helper(x, factor=7):", "def helper(x, factor=7):  # why"),
        ('doc="of x"', 'doc="of the features"'),
        ('title="Typed"', 'title="Another"'),
        ("SCALE = 2.0\n", "UNUSED = 1\nSCALE = 2.0\n"),
    ],
)
def test_what_decides_nothing_leaves_its_hash(old, new):
    assert notebook_code(typed(TYPED)).hash == notebook_code(typed(TYPED.replace(old, new))).hash


def test_another_process_finds_the_same_hash():
    """Sets are in another order there, and everything has another address."""
    code = "from benchmark.execution.notebook_code import notebook_code; print(notebook_code(Typed).hash)"
    told = {
        run(
            [sys.executable, "-"], input=TYPED + code, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert len(told.pop().strip()) == 16


def test_the_rooms_it_leans_on_are_in_its_sources():
    """A trainer that was edited makes the results of a notebook's deep method stale, as those of any other."""
    text = TYPED.replace("class Typed(Above)", "class Typed(Above, ProjectionMethod)")
    assert "benchmark.shallow.scaling" in plugin_sources(typed(text))
    assert not any(name.startswith("benchmark.shallow") for name in plugin_sources(typed(TYPED)))


def test_a_helper_beside_the_notebook_counts(tmp_path, monkeypatch):
    (tmp_path / "notebook_helper.py").write_text("import numpy\n\n\ndef f():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = TYPED.replace("SCALE = 2.0\n", "import notebook_helper\nSCALE = 2.0\n")
    text = text.replace("return 19", "return notebook_helper.f()")
    found = plugin_sources(typed(text))
    assert "notebook_helper" in found
    assert not any("numpy" in name for name in found)
