"""Origins: nothing for a built-in, a file or an entry for others, and a typed class that encodes the same."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import Split, UsageError, get_method, register_method
from benchmark.execution.origin import Origin, origin_of
from benchmark.registry import datasets, load_plugin, methods

FILE = """
from benchmark import register_method
@register_method("test-origin", title="X", family="control")
class Mine:
    def __init__(self, bits, seed=0): ...
    def fit(self, train): ...
    def encode(self, split): ...
"""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))


def test_a_built_in_one_is_found_by_its_name() -> None:
    for name in ("lsh", "dph", "dph-f"):
        assert origin_of("method", get_method(name)) is None
    assert origin_of("dataset", datasets.get("nus-mini")) is None


def test_a_file_is_loaded_again_where_it_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    load_plugin(tmp_path / "mine.py")
    found = origin_of("method", get_method("test-origin"))
    assert found == Origin("method", "test-origin", str(tmp_path / "mine.py"))
    code = (
        "import pickle, sys; from benchmark.registry import methods\n"
        f"pickle.loads({pickle.dumps(found)!r}).load()\n"
        "assert 'test-origin' in methods._plugins and 'lsh' not in methods._plugins"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_came_by_an_entry_point_is_found_by_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmark.registry import load_only

    (tmp_path / "origin_package").mkdir()
    (tmp_path / "origin_package" / "__init__.py").write_text("")
    (tmp_path / "origin_package" / "mine.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    cls = load_only("method", "test-origin", None, "origin_package.mine:Mine")
    found = origin_of("method", cls)
    assert found is not None
    assert (found.entry, found.typed) == ("origin_package.mine:Mine", None)


def typed_class(**more: Any) -> Any:
    """As if it had been typed into a script: of the module `__main__`, with a helper of its own."""

    def planes(seed: int, columns: int, bits: int) -> np.ndarray:
        return np.random.default_rng(seed).standard_normal((columns, bits))

    def fit(self: Any, train: Split) -> None:
        assert train.features is not None
        self.planes = planes(self.seed, train.features.shape[1], self.bits)

    def encode(self: Any, split: Split) -> np.ndarray:
        return np.where(split.features @ self.planes > 0, 1, -1)

    cls = type("Typed", (), {"__module__": "__main__", "fit": fit, "encode": encode} | more)
    return register_method("test-typed", title="Typed")(cls)


def test_a_typed_class_travels_by_value_and_encodes_the_same(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    here = typed_class()(8, 3)
    here.fit(Split(features=features))
    found = origin_of("method", get_method("test-typed"))
    assert found is not None
    assert found.source is None
    np.save(tmp_path / "features.npy", features)
    (tmp_path / "origin").write_bytes(pickle.dumps(found))
    code = (
        "import pickle, numpy as np; from benchmark import Split, get_method\n"
        "pickle.load(open('origin', 'rb')).load()\n"
        "rows = Split(features=np.load('features.npy'))\n"
        "method = get_method('test-typed')(8, 3); method.fit(rows)\n"
        "np.save('codes.npy', method.encode(rows))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), here.encode(Split(features=features)))


def test_a_typed_class_that_cannot_travel_is_told_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"'test-typed' was typed in and cannot be sent .*lock.*; put it into a file"):
        origin_of("method", typed_class(lock=threading.Lock()))


def test_a_typed_data_set_is_told_to_become_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = type("Typed", (datasets.get("nus-mini"),), {"__module__": "__main__"})
    with pytest.raises(UsageError, match=r"data set 'nus-mini' was typed in; put it into a file"):
        origin_of("dataset", cls)
