"""A key depends on what decides a number, and on nothing else: one thing is edited at a time."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.data import hashing
from benchmark.execution import fingerprint
from benchmark.execution.fingerprint import canonical_json, digest, pipeline_sources, plugin_sources
from benchmark.registry import get_dataset, get_method
from benchmark.seeds import derive_seed

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_the_order_of_keys_does_not_matter(value):
    backwards = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(backwards)
    assert digest(value) == digest(backwards)


def test_a_deep_method_depends_on_the_trainer_and_a_shallow_one_does_not():
    deep, shallow = plugin_sources(get_method("dph")), plugin_sources(get_method("lsh"))
    assert {"benchmark.deep.trainer", "benchmark.deep.pieces", "benchmark.seeds", "benchmark.similarity"} <= set(deep)
    assert not any(name.startswith("benchmark.deep") for name in shallow)
    assert "benchmark.shallow.scaling" in shallow


def test_features_of_images_depend_on_backbones_and_images():
    assert {"benchmark.deep.backbones", "benchmark.data.images", "benchmark.data.weights"} <= set(pipeline_sources())


def forget() -> None:
    """What was hashed or parsed before the edit."""
    hashing.code_hash.cache_clear()
    for function in (fingerprint._sources, fingerprint._imports, fingerprint._passed_on, pipeline_sources):
        function.cache_clear()


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A copy of the package to edit: only its files are read, so it need not be importable."""
    copy = tmp_path / "benchmark"
    shutil.copytree(fingerprint.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "builtin"))
    monkeypatch.setattr(fingerprint, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    forget()


def all_sources() -> dict[str, str]:
    """Of a shallow method, a deep one, a listed data set, and the feature pipeline."""
    return {
        "lsh": digest(plugin_sources(get_method("lsh"))),
        "dhn": digest(plugin_sources(get_method("dhn"))),
        "coco": digest(plugin_sources(type(get_dataset("coco", ".")))),
        "features": digest(pipeline_sources()),
    }


EDITS = {
    "feature transform": ("data/images.py", "crop: int | None = 224", "crop: int | None = 225", {"features"}),
    "seeds": ("seeds.py", "def derive_seed(", "UNUSED = 1\n\n\ndef derive_seed(", {"lsh", "dhn", "coco"}),
    "trainer": ("deep/trainer.py", "LOGGED = 50", "LOGGED = 51", {"dhn"}),
    "scaling": ("shallow/scaling.py", "ROUNDING = 1e-6", "ROUNDING = 1e-7", {"lsh", "dhn"}),
    "small network, covered by its weights": ("deep/mini_cnn.py", "import ", "import sys\nimport ", set()),
    "the audit, which decides nothing": ("data/audit.py", "import ", "import sys\nimport ", set()),
    "the report": ("report/table.py", "import ", "import sys\nimport ", set()),
    "comment": ("shallow/scaling.py", "ROUNDING = 1e-6", "ROUNDING = 1e-6  # a word more", set()),
    "docstring": ("seeds.py", '"""Random numbers', '"""All random numbers', set()),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_makes_stale_what_it_decides_and_nothing_else(house, name):
    """A5 and the key of design.md section 4."""
    file, old, new, expected = EDITS[name]
    before = all_sources()
    edit(house / file, old, new)
    after = all_sources()
    changed = {part for part in before if before[part] != after[part]}
    if "features" in expected:  # what makes an input may be used by a network trained from images, too
        changed -= {"dhn", "coco"}
    assert changed == expected


PACKAGE = {
    "__init__.py": "",
    "method.py": "from benchmark import register_method\nfrom .losses import f\n\n\nclass M:\n    pass\n",
    "losses.py": "from myhash.deeper import g\n\n\ndef f():\n    return g()\n",
    "deeper/__init__.py": "def g():\n    return 1\n",
    "unrelated.py": "x = 1\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed plugin package with helpers of its own."""
    for name, text in PACKAGE.items():
        (tmp_path / "myhash" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "myhash" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    from myhash.method import M  # type: ignore[import-not-found]

    forget()
    yield tmp_path / "myhash", M
    for name in [name for name in sys.modules if name.split(".")[0] == "myhash"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("losses.py", "return g()", "return -g()", True),
        ("deeper/__init__.py", "return 1", "return 2", True),
        ("__init__.py", "", "x = 1", True),
        ("losses.py", "def f():", "def f():  # why", False),
        ("losses.py", "def f():\n", 'def f():\n    """Why."""\n', False),
        ("unrelated.py", "x = 1", "x = 2", False),
    ],
)
def test_a_packages_own_modules_count(package, file, old, new, stale):
    """A5: edit losses.py of an installed plugin, and the old result is no longer served as done."""
    folder, cls = package
    before = plugin_sources(cls)
    assert {"myhash.losses", "myhash.deeper"} <= set(before)
    assert not any("numpy" in name for name in before)
    if old:
        edit(folder / file, old, new)
    else:
        (folder / file).write_text(new)
        forget()
    assert (plugin_sources(cls) != before) == stale


def test_a_plain_files_helper_beside_it_counts(tmp_path, monkeypatch):
    (tmp_path / "plain.py").write_text("def late():\n    import plain_helper\n\n\nclass M:\n    pass\n")
    (tmp_path / "plain_helper.py").write_text("x = 1\n")
    spec = importlib.util.spec_from_file_location("plugin_of_mine", tmp_path / "plain.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plugin_of_mine", module)
    spec.loader.exec_module(module)
    before = plugin_sources(module.M)
    assert "plain_helper" in before
    edit(tmp_path / "plain_helper.py", "x = 1", "x = 2")
    assert plugin_sources(module.M) != before


def test_a_file_in_a_package_that_names_it_reaches_its_modules(package, monkeypatch):
    """A5: `--plugin myhash/method.py`, which says `from myhash.losses import f`."""
    folder, _ = package
    (folder / "method.py").write_text("import numpy\nfrom myhash.losses import f\n\n\nclass M:\n    pass\n")
    spec = importlib.util.spec_from_file_location("plugin_of_theirs", folder / "method.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plugin_of_theirs", module)
    spec.loader.exec_module(module)
    forget()
    before = plugin_sources(module.M)
    assert {"myhash", "myhash.losses", "myhash.deeper"} <= set(before)
    edit(folder / "losses.py", "return g()", "return -g()")
    assert plugin_sources(module.M) != before


@pytest.mark.parametrize(
    ("line", "covered"),
    [
        ("from benchmark.shallow import ProjectionMethod", "benchmark.shallow.scaling"),
        ("from benchmark import shallow", "benchmark.shallow.scaling"),
        ("import benchmark.shallow as room", "benchmark.shallow.scaling"),
        ("import benchmark.shallow.scaling", "benchmark.shallow.scaling"),
        ("from benchmark.shallow import *", "benchmark.shallow.scaling"),
        ("from benchmark import LabelSimilarity", "benchmark.similarity"),
        ("import benchmark", "benchmark.similarity"),
    ],
)
def test_however_a_plugin_imports_a_room_it_is_covered(tmp_path, line, covered):
    (tmp_path / "plain.py").write_text(f"{line}\n")
    assert covered in dict(fingerprint._sources(fingerprint.Module("plain", tmp_path / "plain.py")))


def test_seeds_depend_on_every_part():
    assert derive_seed("a", 1) == derive_seed("a", 1)
    assert len({derive_seed("a", 1), derive_seed("a", 2), derive_seed("b", 1), derive_seed("a1")}) == 4
