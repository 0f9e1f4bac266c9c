"""What is slow is done once for all promises."""

import os

import pytest

from benchmark import check_method
from benchmark.conformance import MethodTrial
from benchmark.contracts import MethodInfo
from benchmark.registry import load_only, load_plugin, methods

COUNTED = """
import os
from pathlib import Path
from benchmark import register_method
from benchmark.{room} import {base}

@register_method("test-counted", title="Counted")
class Counted({base}):
    def fit(self, train):
        kind = "features" if train.images is None else "images"
        with Path(__file__).with_name("fits").open("a") as fits:
            print(os.getpid(), self.bits, kind, file=fits)
        return super().fit(train)
"""
SHALLOW = """
    def learn(self, rows, train):
        self.rows = rows[: self.bits]

    def project(self, rows):
        return rows @ self.rows.T
"""
PAIRWISE = """
    def loss(self, codes, similarity, step):
        return similarity.mean((codes.tanh().inner / self.bits - (2 * similarity.similar - 1)).square())
"""


@pytest.mark.parametrize(
    ("room", "base", "body", "on_images"),
    [("shallow", "ProjectionMethod", SHALLOW, []), ("deep", "PairwiseMethod", PAIRWISE, ["16 images"])],
)
def test_a_good_method_is_fitted_few_times(tmp_path, monkeypatch, room, base, body, on_images):
    """Issue 12: conformance fitted each method 23 times, and once more in a fresh process."""
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    (tmp_path / "counted.py").write_text(COUNTED.format(room=room, base=base) + body)
    load_plugin(tmp_path / "counted.py")
    assert [row for row in check_method("test-counted", raise_first=False) if not row.kept] == []
    fits = [line.partition(" ")[::2] for line in (tmp_path / "fits").read_text().splitlines()]
    here = [fit for process, fit in fits if process == str(os.getpid())]
    assert here == ["16 features", "1 features", "47 features", *on_images]
    assert [fit for process, fit in fits if process != str(os.getpid())] == ["16 features"] * 2


class Declines:
    """Whatever is not taken."""

    info = MethodInfo("test-declines", "X", "control", "features", "nothing")
    taken = range(0)

    def __init__(self, bits, seed=0):
        pass

    def unsupported(self, train, bits):
        return None if bits in self.taken else "no"


@pytest.mark.parametrize(
    ("taken", "bits", "others"),
    [
        (range(1, 1000), 16, [1, 47]),
        (range(1, 33), 16, [1, 12]),
        (range(8, 1000, 8), 16, [24, 8]),
        (range(32, 1000, 32), 128, [32, 64]),
        (range(24, 25), 24, [24]),
    ],
)
def test_three_lengths_are_tried_where_there_are_as_many(taken, bits, others, monkeypatch):
    monkeypatch.setattr(Declines, "taken", taken)
    trial = MethodTrial(Declines)
    assert (trial.bits, trial.other_lengths) == (bits, others)


METHOD = """
from benchmark import register_method
from benchmark.shallow import ProjectionMethod

from .planes import planes


@register_method("test-packaged", title="Packaged")
class Packaged(ProjectionMethod):
    def learn(self, rows, train):
        self.normals = planes(self.seed, rows.shape[1], self.bits)

    def project(self, rows):
        return rows @ self.normals
"""
PLANES = """
import numpy as np


def planes(seed, columns, bits):
    return np.random.default_rng(seed).standard_normal((columns, bits))
"""


def test_a_package_that_imports_its_own_modules_is_tried_as_one(tmp_path, monkeypatch):
    """`from .planes import planes` worked everywhere but in the fresh process, which loaded the file by its path."""
    folder = tmp_path / "packaged_for_check"
    folder.mkdir()
    for name, text in (("__init__", ""), ("method", METHOD), ("planes", PLANES)):
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    cls = load_only("method", "test-packaged", None, "packaged_for_check.method:Packaged")
    assert all(row.kept for row in check_method(cls, raise_first=False))
