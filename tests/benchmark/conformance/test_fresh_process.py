"""Another process computes, and says so when it cannot."""

import importlib
import os
import subprocess
import sys

import pytest

from benchmark import check_method
from benchmark.conformance import Broken
from benchmark.conformance.fresh_process import in_a_fresh_process
from benchmark.execution.origin import origin_of
from benchmark.registry import methods

SCRIPT = """
import sys
import numpy as np
import benchmark
from benchmark import Split, Splits, register_dataset, register_method

print("started", file=sys.stderr)

@register_method("of-a-script", title="X", family="data-independent")
class Mine:
    def fit(self, train):
        self.planes = np.random.default_rng(self.seed).standard_normal((train.features.shape[1], self.bits))
    def encode(self, split):
        return np.where(split.features @ self.planes > 0, 1, -1)

@register_dataset("rows-of-a-script", title="Y")
class Rows:
    map_cutoff, protocol, revision, miniature, backbone = 5, "mine", "1", False, None
    def __init__(self, data_root=None):
        pass
    def check(self):
        pass
    def load(self):
        part = Split(features=np.eye(6, dtype=np.float32), labels=np.arange(6) % 2)
        return Splits(part, part, part)

for check, plugin in ((benchmark.check_method, Mine), (benchmark.check_dataset, Rows)):
    for row in check(plugin, raise_first=False):
        print(row)
"""


def test_it_is_another_process():
    assert in_a_fresh_process(os.getppid) == os.getpid()


@pytest.mark.parametrize(
    ("function", "argument", "told"),
    [
        (sys.exit, 3, "ended with code 3: it gave no answer"),
        (int, "x", "ended with code 1: ValueError: invalid literal"),
    ],
)
def test_a_process_without_an_answer_breaks_the_promise(function, argument, told):
    with pytest.raises(Broken, match=told):
        in_a_fresh_process(function, argument)


def test_a_script_that_checks_its_own_classes_runs_once(tmp_path):
    """Loading the class from its file would run the script again, and that one would too, without end."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("started") == 1
    rows = {line.split("'")[1]: line for line in done.stdout.splitlines()}
    assert "no file that another process could load" in rows["same_seed_same_codes_in_a_fresh_process"]
    assert "cannot be built anew" in rows["same_in_a_fresh_process"]


def test_a_class_of_a_package_is_imported_as_such(tmp_path, monkeypatch):
    """Loaded as a file that stands alone, it would not find its neighbours."""
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "neighbours_of_mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("import numpy as np\n\ndef draw(seed):\n    return np.random.default_rng(seed)\n")
    start, end = SCRIPT.index("@register_method"), SCRIPT.index("@register_dataset")
    text = SCRIPT[start:end].replace("np.random.default_rng", "draw").replace("of-a-script", "of-a-package")
    heads = ("import numpy as np", "from benchmark import register_method", "from .helper import draw")
    (folder / "mine.py").write_text("\n".join([*heads, "", text]))
    plugin = importlib.import_module("neighbours_of_mine.mine").Mine
    assert plugin.info.entry == "neighbours_of_mine.mine:Mine"
    assert all(row.kept and row.tested for row in check_method(plugin) if "fresh" in row.name)
    assert origin_of("method", plugin).entry == plugin.info.entry
