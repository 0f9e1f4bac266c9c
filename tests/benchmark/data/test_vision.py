"""torchvision works here whatever torch it meets, and has one importer."""

import ast
import importlib.machinery
from pathlib import Path

import pytest
import torch

from benchmark.data import vision

ROOT = Path(__file__).parents[3]


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_this_module_imports_torchvision():
    files = [p for folder in ("benchmark", "methods", "datasets") for p in (ROOT / folder).rglob("*.py")]
    importers = {p.name for p in files if any(n.partition(".")[0] == "torchvision" for n in imported_by(p))}
    assert importers == {"vision.py"}


def test_models_transforms_and_datasets_work():
    model = vision.torchvision.models.squeezenet1_1().eval()
    assert model(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)
    assert vision.torchvision.transforms.functional.resize(torch.zeros(3, 8, 8), [4, 4]).shape == (3, 4, 4)
    assert hasattr(vision.torchvision.datasets, "CIFAR10")


def test_operators_are_declared_only_where_the_compiled_part_does_not_load():
    assert (vision.DECLARED is None) == vision.compiled_part_loads()
    assert hasattr(torch.ops.torchvision, "nms")


@pytest.mark.parametrize(("fails", "loads"), [(False, True), (True, False)])
def test_the_compiled_part_is_tried(tmp_path, monkeypatch, fails, loads):
    (tmp_path / "_C.so").write_bytes(b"")
    spec = importlib.machinery.ModuleSpec("torchvision", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    tried = []

    def load(path):
        tried.append(path)
        if fails:
            raise OSError("built for another torch")

    monkeypatch.setattr(vision.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(torch.ops, "load_library", load)
    assert vision.compiled_part_loads() is loads
    assert tried == [str(tmp_path / "_C.so")]
