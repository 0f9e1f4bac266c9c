"""What is slow is done once for all promises."""

from benchmark import check_method
from benchmark.registry import load_only, methods


def test_a_method_is_fitted_few_times(monkeypatch):
    """Issue 12: conformance fitted each method 23 times, and once more in a fresh process."""
    fits = []
    cls = methods.get("lsh")
    fit = cls.fit
    monkeypatch.setattr(cls, "fit", lambda self, train: fits.append(self.bits) or fit(self, train))
    assert all(row.kept for row in check_method(cls, raise_first=False))
    assert sorted(fits) == [1, 16, 16, 16, 16, 47]


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
